// SPDX-License-Identifier: BSD-3-Clause
// Compares the strategies of the families of formats. Each one is forced, including those that this backend
// does not use. In float with 32-bit indices, for any order and blocks of 32 columns. Run with --strategies.
#include <algorithm>
#include <string>
#include <vector>

#include "dense/update/update_factor.hpp"
#include "registration.hpp"
#include "support/forced_strategies.hpp"
#include "tensors.hpp"
#include "timing.hpp"

namespace polyad::perf {
namespace {

constexpr int block       = 32;
constexpr int factor_seed = 1;
using ForcedHere          = test::Forced<Space, block>;
using Matrix              = FactorMatrix<float, Space>;

template <class One>
void add_strategy(Session& session, TensorChoice const& choice, int rank) {
  auto const name = std::string("strategy<") + One::name() + "," + Space::name() + ",f32>/" + choice.label() +
                    "/R:" + std::to_string(rank);
  add(session, name, [&session, choice, rank](benchmark::State& state) {
    auto const coo = tensor_of<float>(session.space, choice.name, choice.scale);
    One const X(session.space, coo);
    FactorMatrices<float, Space> const factors(session.space, coo.extents(), static_cast<count_t>(rank));
    fill_random(session.space, factors, factor_seed);
    auto const workspace = X.make_workspace(session.space, static_cast<count_t>(rank));
    std::vector<Matrix> outputs;
    for (int n = 0; n < coo.order(); ++n)
      outputs.push_back(make_factor_matrix<float>(session.space, "polyad::perf_output", coo.extents()[n],
                                                  static_cast<count_t>(rank)));
    report(state, measure(session.space, session.options.samples, [&] {
             for (int n = 0; n < coo.order(); ++n)
               X.add(session.space, factors, n, outputs[static_cast<std::size_t>(n)], workspace);
           }));
  });
}

/// The dense part of an update of the longest mode.
template <class Strategy>
void add_update_strategy(Session& session, TensorChoice const& choice, char const* name, Strategy strategy,
                         int rank) {
  add(session,
      std::string("strategy<update:") + name + "," + Space::name() + ",f32>/" + choice.label() +
          "/R:" + std::to_string(rank),
      [&session, choice, strategy, rank](benchmark::State& state) {
        Extents const extents = tensor(session.space, choice.name, choice.scale).extents();
        count_t rows          = 0;
        for (int n = 0; n < extents.order(); ++n) rows = std::max(rows, extents[n]);
        auto const R = static_cast<count_t>(rank);
        FactorMatrices<float, Space> const factors(session.space, Extents{rows, rows, R}, R);
        fill_random(session.space, factors, factor_seed);
        GramWorkspace<Space> const workspace(session.space, R);
        GramMatrix<Space> const G("polyad::perf_gram", R, R);
        report(state, measure(session.space, session.options.samples, [&] {
                 update_factor_by(strategy, session.space, factors[0], factors[2], factors[1], workspace, G);
               }));
      });
}

}  // namespace

void register_strategies(Session& session, TensorChoice const& choice) {
  if (!session.options.strategies) return;
  for (int const rank : session.options.ranks) {
    ForcedHere::for_each(
        [&](auto identity) { add_strategy<typename decltype(identity)::type>(session, choice, rank); });
    if (rank > block) continue;
    add_update_strategy(session, choice, "fused", detail::FusedUpdate(), rank);
    add_update_strategy(session, choice, "separate", detail::SeparateUpdate(), rank);
  }
}

}  // namespace polyad::perf
