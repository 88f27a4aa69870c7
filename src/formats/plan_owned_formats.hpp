// SPDX-License-Identifier: BSD-3-Clause
// The memory of nonzeros that ranks exchange (distributed/exchange.hpp), and of the formats that a rank
// builds of the rows it owns (distributed/rows_by_cuts.hpp), in the order of their arrays.
#pragma once

#include <algorithm>
#include <span>
#include <utility>
#include <vector>

#include "formats/format_bytes.hpp"
#include "polyad/core/memory_plan.hpp"
#include "polyad/formats/tensor_by_rank.hpp"

namespace polyad::detail {

/// Nonzeros that all ranks together send at a time: their buffers stay small compared with a tensor that is
/// worth several ranks.
inline constexpr count_t sent_at_a_time = count_t(1) << 20;

/// Adds exchange() to the plan, and returns what is received.
/// \param sent, received  nonzeros of this rank
/// \param bytes  bytes per nonzero: its coordinates, and its value as a double
[[nodiscard]] inline MemoryPlan::Held plan_exchange(MemoryPlan& plan, count_t sent, count_t received,
                                                    count_t bytes, int ranks) {
  auto held = plan.hold("the nonzeros that were received", MemoryPlan::product({received, bytes}));
  count_t const a_block = std::min(sent, sent_at_a_time / ranks);
  plan.pass("the nonzeros on their way",
            MemoryPlan::product({std::min(received, sent_at_a_time) + a_block, bytes}));
  return held;
}

/// Adds the sort of sum_duplicates() to the plan.
inline void plan_sort_of_duplicates(MemoryPlan& plan, count_t nnz) {
  plan.pass("the sort that sums duplicates", MemoryPlan::product({nnz, 2 * (8 + 8)}));
}

/// The coordinates and values of the given number of nonzeros.
template <class Scalar, class Index>
[[nodiscard]] count_t bytes_of_nonzeros(count_t nnz, int order) {
  return MemoryPlan::product({nnz, order * sizeof(Index) + sizeof(Scalar)});
}

/// Adds an exchange whose nonzeros become a tensor, and returns the tensor.
template <class Scalar, class Index>
[[nodiscard]] MemoryPlan::Held plan_received_tensor(MemoryPlan& plan, count_t sent, count_t received,
                                                    int order, int ranks) {
  auto const as_sent = plan_exchange(plan, sent, received, bytes_of_nonzeros<double, Index>(1, order), ranks);
  return plan.hold("the coordinates of the owned rows", bytes_of_nonzeros<Scalar, Index>(received, order));
}

/// Adds RowsByCuts::by_rows to the plan, and returns the formats.
/// \param sent  nonzeros of this rank before the exchange
/// \param sorts  whether duplicates are summed by a sort
template <class Scalar, class Index, class Space>
[[nodiscard]] std::vector<MemoryPlan::Held> plan_owned_formats(MemoryPlan& plan, Space const& space,
                                                               Extents const& extents, OwnedRows const& owned,
                                                               count_t sent, AnyFormatOptions options,
                                                               bool sorts) {
  std::vector<MemoryPlan::Held> formats;
  for (int n = 0; n < extents.order(); ++n) {
    auto const& own  = owned.modes[n];
    auto coordinates = plan_received_tensor<Scalar, Index>(plan, sent, own.nnz, extents.order(), owned.ranks);
    if (sorts) plan_sort_of_duplicates(plan, own.nnz);
    std::vector<count_t> rows;
    for (int m = 0; m < extents.order(); ++m)
      rows.push_back(m == n ? std::max<count_t>(own.rows, 1) : extents[m]);
    options.only_mode = n;
    auto const format =
        format_bytes<Scalar, Index>(space, Extents(std::span<count_t const>(rows)), own.nnz, options);
    plan.pass("the build of " + format.name, format.built);
    formats.push_back(plan.hold("the owned nonzeros in " + format.name, format.stored));
    if (format.shares) formats.push_back(std::move(coordinates));
  }
  return formats;
}

}  // namespace polyad::detail
