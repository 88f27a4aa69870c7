// SPDX-License-Identifier: BSD-3-Clause
// The strategies of the walks of trees on each machine. Each compiles for any backend. The library has only
// the strategies in use, and the tests also compile the others (docs/developer/strategies.md has the
// measured times).
#pragma once

#include "kernel/launch_shape.hpp"
#include "polyad/core/spaces.hpp"

namespace polyad::detail {

/// Nonzeros read and gathered at the same time: two for 32 doubles, and four otherwise. These were measured
/// for `sorted`, which has the same walk (docs/developer/decisions.md).
template <class Row>
inline constexpr int csf_batch = rows_in_flight<typename Row::space_type>(
    Row::block < 32 || sizeof(typename Row::scalar_type) == sizeof(float) ? 4 : 2);

/// A fiber's nonzeros are summed first, and its row is multiplied once per fiber (Nisa et al., Algorithm 3).
template <int Batch>
struct SumFibers {
  static constexpr bool sums_fibers = true;
  static constexpr int batch        = Batch;
};
/// Every nonzero is multiplied with all its rows, as in COO. If fibers are short, summing them first saves
/// nothing. On a device, handling a batch's fibers one after another costs more than reading all their rows
/// at once.
template <int Batch>
struct MultiplyEach {
  static constexpr bool sums_fibers = false;
  static constexpr int batch        = Batch;
};

/// Whether the library has MultiplyEach. It does not on a host, where short fibers are summed too.
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
