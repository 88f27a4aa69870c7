// SPDX-License-Identifier: BSD-3-Clause
// Which strategies the walks of trees take on a machine. Each compiles for any backend; the library has those
// that are taken, the tests the others too (CONTRIBUTING.md, "Strategies", has the measured times).
#pragma once

#include "kernel/launch_shape.hpp"
#include "polyad/core/spaces.hpp"

namespace polyad::detail {

/// Nonzeros read and gathered at the same time, as measured for `sorted`, whose walk is the same
/// (docs/design-notes.md): two for 32 doubles and four otherwise.
template <class Row>
inline constexpr int csf_batch = rows_in_flight<typename Row::space_type>(
    Row::block < 32 || sizeof(typename Row::scalar_type) == sizeof(float) ? 4 : 2);

/// A fiber's nonzeros are summed, and its row is multiplied once a fiber (Nisa et al., Algorithm 3).
template <int Batch>
struct SumFibers {
  static constexpr bool sums_fibers = true;
  static constexpr int batch        = Batch;
};
/// Every nonzero takes all its rows, as in COO: where fibers are short that saves nothing, and on a device a
/// batch's fibers one after another cost more than their rows side by side.
template <int Batch>
struct MultiplyEach {
  static constexpr bool sums_fibers = false;
  static constexpr int batch        = Batch;
};

/// Whether the library has MultiplyEach: a host sums short fibers too.
template <class Space>
inline constexpr bool multiplies_each = is_device_space<Space>;

/// Calls f(strategy) for a tree whose fibers are long enough to be summed, or not.
template <class Row, class F>
void with_tree_strategy(bool sums_fibers, F&& f) {
  constexpr int batch = csf_batch<Row>;
  if constexpr (multiplies_each<typename Row::space_type>)
    if (!sums_fibers) return f(MultiplyEach<batch>{});
  f(SumFibers<batch>{});
}

}  // namespace polyad::detail
