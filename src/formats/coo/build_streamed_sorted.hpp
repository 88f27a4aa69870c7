// SPDX-License-Identifier: BSD-3-Clause
// How StreamedSorted is built by the host, and the buffers that a run needs.
#pragma once

#include <Kokkos_Core.hpp>
#include <algorithm>
#include <cstdint>

#include "core/host_side.hpp"
#include "core/space_instances.hpp"
#include "formats/coo/build_sorted_copy.hpp"
#include "formats/coo/row_starts.hpp"
#include "formats/coo/streamed_sorted.hpp"
#include "polyad/core/device_memory.hpp"
#include "polyad/core/error.hpp"
#include "polyad/tensor/sort_by_mode.hpp"

namespace polyad::detail {

/// The rows of a sorted copy, as make_row_starts reads them.
template <class Index>
struct SortedRows {
  Index const* rows;
  [[nodiscard]] KOKKOS_FUNCTION Index row(count_t p) const { return rows[p]; }
};

template <class Starts>
struct LongestRow {
  Starts starts;
  KOKKOS_FUNCTION void operator()(count_t k, count_t& longest) const {
    count_t const length = starts(k + 1) - starts(k);
    longest              = length > longest ? length : longest;
  }
};

template <class Scalar, class Index, class Space>
void StreamedSorted<Scalar, Index, Space>::build_on_host(Space const& space,
                                                         CooTensor<Scalar, Index, host_space> const& coo) {
  using Tensor = CooTensor<Scalar, Index, host_space>;
  using Range  = Kokkos::RangePolicy<host_space, Kokkos::IndexType<count_t>>;
  // 64 bits, whatever the coordinates have: the host's sort is compiled for these.
  using Order = Permutation<std::uint64_t, host_space>;
  DeviceMemoryAccount::HostArrays const on_host;
  auto const host = host_instance(space);
  int const order = coo.order();
  m_nnz           = coo.nnz();
  m_norm_squared  = polyad::norm_squared(host, coo);
  count_t bytes   = checked_product("the sorted copies in host memory", m_nnz,
                                    static_cast<count_t>(order) * nonzero_bytes() + 32);
  for (int n = 0; n < order; ++n)
    bytes += checked_product("where the rows of a mode begin", m_extents[n] + 1, sizeof(count_t));
  expect_fits(host, "the sorted copies in host memory", bytes, 1);
  for (int n = 0; n < order; ++n) {
    HostCopy& copy = of_mode(m_copies, n);
    copy.modes     = sorted_modes(m_extents, n);
    copy.indices =
        decltype(copy.indices)(Kokkos::view_alloc(Kokkos::WithoutInitializing, "polyad::streamed_indices"),
                               static_cast<count_t>(order), m_nnz);
    copy.values = decltype(copy.values)(
        Kokkos::view_alloc(Kokkos::WithoutInitializing, "polyad::streamed_values"), m_nnz);
    copy.starts = decltype(copy.starts)(
        Kokkos::view_alloc(Kokkos::WithoutInitializing, "polyad::streamed_starts"), m_extents[n] + 1);
    {
      auto const permutation = identity_permutation<std::uint64_t>(host, m_nnz);
      sort_by_modes(host, coo, copy.modes, order, permutation);
      Kokkos::parallel_for(
          "polyad::gather_sorted", Range(host, 0, m_nnz),
          GatherSorted<Tensor, HostCopy, Order>{coo.indices(), coo.values(), permutation, copy});
    }
    using Starts = decltype(copy.starts);
    using Rows   = SortedRows<Index>;
    Kokkos::parallel_for("polyad::find_row_starts", Range(host, 0, m_extents[n] + 1),
                         FindRowStarts<Rows, Starts>{Rows{copy.indices.data()}, copy.starts, m_nnz});
    using Indices = decltype(copy.indices);
    Kokkos::parallel_reduce("polyad::count_rows", Range(host, 0, m_nnz), CountRuns<Indices>{copy.indices, 1},
                            copy.rows);
    Kokkos::parallel_reduce("polyad::count_runs", Range(host, 0, m_nnz),
                            CountRuns<Indices>{copy.indices, std::min(order, 2)}, copy.runs);
    Kokkos::parallel_reduce("polyad::longest_row", Range(host, 0, m_extents[n]),
                            LongestRow<Starts>{copy.starts}, Kokkos::Max<count_t>(copy.longest));
    host.fence("polyad::streamed_sorted");
  }
}

template <class Scalar, class Index, class Space>
auto StreamedSorted<Scalar, Index, Space>::ready(Space const& space) const
    -> std::shared_ptr<Buffers> const& {
  auto& made = *m_buffers;
  if (made && made->space == space) return made;
  made.reset();
  constexpr count_t least = 256;                 // nonzeros in a buffer
  constexpr count_t most  = count_t(128) << 20;  // bytes: larger stretches hide the copies no better
  count_t longest         = 0;
  for (int n = 0; n < m_extents.order(); ++n) longest = std::max(longest, copy(n).longest);
  count_t const pair      = 2 * nonzero_bytes();
  count_t const available = available_memory(space);
  // What a run makes after them wants memory too.
  count_t const usual  = std::min(available / 4, std::max(most, longest * pair));
  count_t const bytes  = m_options.buffer_bytes > 0 ? std::min(m_options.buffer_bytes, available) : usual;
  count_t const wanted = std::min(bytes / pair, ceil_div(m_nnz, 2) + 4) / 4 * 4;  // whole packs
  auto buffers         = std::make_shared<Buffers>();
  buffers->space       = space;
  buffers->capacity =
      m_options.buffer_bytes > 0 ? wanted : std::max(wanted, std::min(least, m_nnz / 4 * 4 + 4));
  if (buffers->capacity == 0 || buffers->capacity * pair > available)
    throw MemoryError("the stream of nonzeros", std::max(buffers->capacity, count_t(4)) * pair,
                      "only " + std::to_string(bytes) + " bytes are left for them");
  auto const instances = make_instances(space, 2);
  for (std::size_t b = 0; b < 2; ++b) {
    auto& buffer    = buffers->buffers[b];
    buffer.instance = instances[b];
    buffer.indices  = decltype(buffer.indices)(
        Kokkos::view_alloc(space, Kokkos::WithoutInitializing, "polyad::stretch_indices"),
        static_cast<count_t>(m_extents.order()), buffers->capacity);
    buffer.values = decltype(buffer.values)(
        Kokkos::view_alloc(space, Kokkos::WithoutInitializing, "polyad::stretch_values"), buffers->capacity);
  }
  space.fence("polyad::streamed_sorted");
  made = std::move(buffers);
  return made;
}

template <class Scalar, class Index, class Space>
auto StreamedSorted<Scalar, Index, Space>::make_workspace(Space const& space, count_t) const
    -> workspace_type {
  auto const& made = ready(space);
  return {made, std::span(made->buffers)};
}

template <class Scalar, class Index, class Space>
RowStarts<Space> StreamedSorted<Scalar, Index, Space>::make_row_workspace(Space const& space) const {
  RowStarts<Space> result;
  for (int n = 0; n < m_extents.order(); ++n) {
    expect_fits(space, "where the rows of a mode begin", m_extents[n] + 1, sizeof(count_t));
    auto& starts = of_mode(result, n);
    starts       = std::remove_cvref_t<decltype(starts)>(
        Kokkos::view_alloc(space, Kokkos::WithoutInitializing, "polyad::row_starts"), m_extents[n] + 1);
    Kokkos::deep_copy(space, starts, copy(n).starts);
  }
  static_cast<void>(ready(space));
  return result;
}

}  // namespace polyad::detail
