// SPDX-License-Identifier: BSD-3-Clause
// FastTucker: the residual sweep of all modes, and whole epochs (errors not counted), J = R.
#include <type_traits>
#include <vector>

#include "polyad/fast_tucker/fast_tucker.hpp"
#include "polyad/formats/coo/sorted.hpp"
#include "registration.hpp"

namespace polyad::perf {
namespace {

template <class F>
std::string name_of(std::string const& group, TensorChoice const& choice, int rank) {
  return group + "<" + F::name + "," + Space::name() + "," + scalar_name<typename F::scalar_type> + ">/" +
         choice.label() + "/R:" + std::to_string(rank);
}

template <class F>
F build(Session& session, TensorChoice const& choice, bool rows_in_one_piece) {
  typename F::options_type options;
  if constexpr (requires { options.block_rows = 0; })
    if (rows_in_one_piece) options.block_rows = 0;
  return F::build(session.space, tensor_of<typename F::scalar_type>(session.space, choice.name, choice.scale), options);
}

template <class F>
FastTuckerModel<typename F::scalar_type, Space> start(Session& session, F const& X, int rank) {
  auto const R = static_cast<count_t>(rank);
  std::vector<count_t> const J(static_cast<std::size_t>(X.extents().order()), R);
  FastTuckerModel<typename F::scalar_type, Space> const model(session.space, X.extents(), J, R, false);
  fill_start(session.space, model, 1.0, 0);
  return model;
}

template <class F>
void add_residual(Session& session, TensorChoice const& choice, int rank) {
  add(session, name_of<F>("residual_mttkrp", choice, rank), [&session, choice, rank](benchmark::State& state) {
    F const X        = build<F>(session, choice, false);
    auto const C     = make_intermediates(session.space, start(session, X, rank));
    auto workspace   = make_residual_workspace(session.space, X, C.rank());
    int const order  = X.extents().order();
    count_t longest  = 0;
    for (int n = 0; n < order; ++n) longest = std::max(longest, X.extents()[n]);
    auto const G = make_packed_matrix<typename F::scalar_type>(session.space, "polyad::perf_output", longest, C.rank());
    report(state, measure(session.space, session.options.samples, [&] {
             for (int n = 0; n < order; ++n)
               residual_mttkrp(session.space, X, C, n, workspace,
                               FactorMatrix<typename F::scalar_type, Space>(Kokkos::subview(
                                   G, Kokkos::make_pair(count_t(0), X.extents()[n]), Kokkos::ALL)));
           }));
    state.counters["nnz"] = static_cast<double>(X.nnz());
  });
}

/// An epoch updates the factors and the cores of all modes; `cores` false leaves the cores out.
template <class F>
void add_epoch(Session& session, TensorChoice const& choice, int rank, FastTuckerOptimizer optimizer, bool cores) {
  std::string const group = optimizer == FastTuckerOptimizer::adam ? "adam_epoch" : cores ? "als_epoch" : "als_factors";
  add(session, name_of<F>(group, choice, rank), [&session, choice, rank, optimizer, cores](benchmark::State& state) {
    F const X = build<F>(session, choice, optimizer == FastTuckerOptimizer::als);
    FastTuckerOptions options;
    options.optimizer    = optimizer;
    options.update_cores = cores;
    FastTuckerEpochs<F> epochs(session.space, X, start(session, X, rank), options);
    report(state, measure(session.space, session.options.samples, [&] { epochs.run(); }));
    state.counters["nnz"] = static_cast<double>(X.nnz());
  });
}

template <class F>
void register_format(Session& session, TensorChoice const& choice) {
  auto const& formats = session.options.formats;
  if (!formats.empty() && std::find(formats.begin(), formats.end(), F::name) == formats.end()) return;
  for (int const rank : session.options.ranks) {
    add_residual<F>(session, choice, rank);
    add_epoch<F>(session, choice, rank, FastTuckerOptimizer::adam, true);
    add_epoch<F>(session, choice, rank, FastTuckerOptimizer::als, false);
    add_epoch<F>(session, choice, rank, FastTuckerOptimizer::als, true);
  }
}

}  // namespace

void register_fast_tucker(Session& session, TensorChoice const& choice) {
  for (auto const& scalar : session.options.scalars) {
    if (scalar == "f32") {
      register_format<Sorted<float, std::uint32_t, Space>>(session, choice);
      register_format<CooPermuted<float, std::uint32_t, Space>>(session, choice);
    } else {
      register_format<Sorted<double, std::uint32_t, Space>>(session, choice);
    }
  }
}

}  // namespace polyad::perf
