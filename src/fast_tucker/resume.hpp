// SPDX-License-Identifier: BSD-3-Clause
// Converts between FastTuckerState and the objects of a run: options, mean and biases, errors.
#pragma once

#include <Kokkos_Core.hpp>
#include <algorithm>
#include <string>
#include <vector>

#include "polyad/fast_tucker/fast_tucker.hpp"
#include "polyad/tensor/fast_tucker_model.hpp"
#include "polyad/tensor/fast_tucker_state.hpp"
#include "run/run_ranks.hpp"

namespace polyad::detail {

/// The options that determine the iterates: "rank 8; columns 8,8; ...".
[[nodiscard]] std::string asked_text(FastTuckerOptions const& options);

/// Replaces all but the matrices by what the first rank has. Other ranks get as many empty matrices.
void share_facts(RunRanks const& ranks, FastTuckerState& state);

/// \throws InputError if the state is from a file, else UsageError
[[noreturn]] void refuse_state(FastTuckerState const& state, std::string const& what);

/// \throws as refuse_state, naming the first option that differs
void expect_asked(FastTuckerState const& state, std::string const& asked);

/// Copies the choice from a run's options into its state, and from a state into the options of a resumed run.
void put_chosen(FastTuckerOptions const& chosen, FastTuckerState& state);
[[nodiscard]] FastTuckerOptions with_chosen(FastTuckerOptions options, FastTuckerState const& state);

/// Copies a vector of biases to the host. Waits.
template <class Scalar, class Space>
std::vector<double> biases_to_host(Space const& space, BiasVector<Scalar, Space> const& bias) {
  auto const host = Kokkos::create_mirror_view(bias);
  Kokkos::deep_copy(space, host, bias);
  space.fence("polyad::biases_to_host");
  return {host.data(), host.data() + host.size()};
}

/// Mean, biases and drifts. Waits.
template <class Scalar, class Space>
void put_biases(Space const& space, FastTuckerModel<Scalar, Space> const& model, FastTuckerState& state) {
  state.mean      = model.mean;
  state.time_mode = model.time_mode;
  for (int n = 0; n < model.order(); ++n) {
    if (model.has_biases()) state.biases.push_back(biases_to_host<Scalar>(space, model.bias(n)));
    if (model.time_mode < 0) continue;
    state.bins.push_back(model.drift(n).extent(1));
    state.drifts.emplace_back();
    if (state.bins.back() > 0) state.drifts.back() = to_host<Scalar>(space, model.drift(n));
  }
}

/// Fills the mean and the biases of a model of the state's shape. Waits.
/// \throws as refuse_state if arrays have other sizes; MemoryError
template <class Scalar, class Space>
void set_biases(Space const& space, FastTuckerState const& state, FastTuckerModel<Scalar, Space>& model) {
  Extents const& extents = model.extents();
  auto const order       = static_cast<std::size_t>(extents.order());
  auto const fits        = [&](std::size_t count) { return count == 0 || count == order; };
  bool const timed       = state.time_mode >= 0;
  if (!fits(state.biases.size()) || state.bins.size() != (timed ? order : 0) ||
      state.drifts.size() != state.bins.size() || state.time_mode >= extents.order())
    refuse_state(state, "has biases of another number of modes");
  model.mean      = state.mean;
  model.time_mode = state.time_mode;
  for (int n = 0; n < extents.order(); ++n) {
    if (!state.biases.empty()) {
      auto const& biases = state.biases[n];
      if (biases.size() != extents[n]) refuse_state(state, "has biases of other extents");
      auto const host = Kokkos::create_mirror_view(model.bias(n));
      std::transform(biases.begin(), biases.end(), host.data(),
                     [](double b) { return static_cast<Scalar>(b); });
      Kokkos::deep_copy(space, model.bias(n), host);
      space.fence("polyad::set_biases");
    }
    if (!timed || state.bins[n] == 0) continue;
    if (n == state.time_mode || state.bins[n] > extents[state.time_mode])
      refuse_state(state, "has drifts that make no sense");
    model.drift(n) = make_factor_matrix<Scalar>(space, "polyad::drift", extents[n], state.bins[n]);
    from_host<Scalar>(space, state.drifts[n], model.drift(n));
  }
}

}  // namespace polyad::detail
