// SPDX-License-Identifier: BSD-3-Clause
// Building StreamedSorted on the host, and the buffers that a run needs.
#pragma once

#include <Kokkos_Core.hpp>
#include <algorithm>
#include <cstdint>

#include "core/host_side.hpp"
#include "core/space_instances.hpp"
#include "formats/coo/build/build_sorted_copy.hpp"
#include "formats/coo/costs/sorted_tuning.hpp"
#include "formats/coo/storage/border_rows.hpp"
#include "formats/coo/storage/row_starts.hpp"
#include "formats/coo/storage/streamed_sorted.hpp"
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

/// Copies the indices of the short modes to 16 bits.
template <class Copy>
struct ShortenIndices {
  Copy copy;
  count_t modes;
  KOKKOS_FUNCTION void operator()(count_t p) const {
    for (count_t m = 0; m < modes; ++m)
      copy.shorts(m, p) = static_cast<std::uint16_t>(copy.indices(m + 1, p));
  }
};

/// Divides the rows of a mode into stretches of at most `capacity` nonzeros. A longer row is a separate
/// stretch.
template <class Starts>
std::vector<StretchRows> cut_by_rows(Starts const& starts, int mode, count_t rows, count_t capacity) {
  std::vector<StretchRows> list;
  for (count_t first = 0; first < rows;) {
    // The last row that ends within the buffer. Rows without nonzeros count too.
    auto const* const past =
        std::upper_bound(starts.data() + first + 1, starts.data() + rows + 1, starts(first) + capacity);
    count_t const last = std::max<count_t>(past - starts.data() - 1, first + 1);
    list.push_back({first, last, {mode, starts(first), starts(last)}});
    first = last;
  }
  return list;
}

/// The first of the shortest modes.
inline int shortest_mode(Extents const& extents) {
  int shortest = 0;
  for (int n = 1; n < extents.order(); ++n)
    if (extents[n] < extents[shortest]) shortest = n;
  return shortest;
}

template <class Scalar, class Index, class Space>
void StreamedSorted<Scalar, Index, Space>::build_on_host(Space const& space,
                                                         CooTensor<Scalar, Index, host_space> const& coo) {
  using Tensor = CooTensor<Scalar, Index, host_space>;
  using Range  = Kokkos::RangePolicy<host_space, Kokkos::IndexType<count_t>>;
  // 64 bits for coordinates of any width: the host's sort is compiled only for these.
  using Order = Permutation<std::uint64_t, host_space>;
  DeviceMemoryAccount::HostArrays const on_host;
  auto const host = host_instance(space);
  int const order = coo.order();
  describe(host, coo);
  count_t bytes = checked_product("the sorted copies in host memory", m_nnz, order * nonzero_bytes() + 40);
  for (int n = 0; n < order; ++n) {
    bytes += m_nnz * short_modes(n) * sizeof(std::uint16_t);
    bytes += checked_product("where the rows of a mode begin", m_extents[n] + 1, sizeof(count_t));
  }
  expect_fits(host, "the sorted copies in host memory", bytes, 1);
  // One sort by all modes, from the shortest on. The sorts are stable, so another one by a copy's own mode
  // gives that copy's order.
  auto const by_length = identity_permutation<std::uint64_t>(host, m_nnz);
  int const shortest   = shortest_mode(m_extents);
  sort_by_modes(host, coo, sorted_modes(m_extents, shortest), order, by_length);
  for (int n = 0; n < order; ++n) {
    HostCopy& copy = m_copies[n];
    copy.modes     = sorted_modes(m_extents, n);
    copy.indices   = decltype(copy.indices)(
        Kokkos::view_alloc(Kokkos::WithoutInitializing, "polyad::streamed_indices"), order, m_nnz);
    copy.values = decltype(copy.values)(
        Kokkos::view_alloc(Kokkos::WithoutInitializing, "polyad::streamed_values"), m_nnz);
    copy.shorts = decltype(copy.shorts)(
        Kokkos::view_alloc(Kokkos::WithoutInitializing, "polyad::streamed_short_indices"), short_modes(n),
        m_nnz);
    copy.starts = decltype(copy.starts)(
        Kokkos::view_alloc(Kokkos::WithoutInitializing, "polyad::streamed_starts"), m_extents[n] + 1);
    {
      auto permutation = by_length;
      if (n != shortest) {
        permutation = Order(uninitialized(host, "polyad::permutation"), m_nnz);
        Kokkos::deep_copy(host, permutation, by_length);
        sort_by_modes(host, coo, copy.modes, 1, permutation);
      }
      Kokkos::parallel_for(
          "polyad::gather_sorted", Range(host, 0, m_nnz),
          GatherSorted<Tensor, HostCopy, Order>{coo.indices(), coo.values(), permutation, copy});
    }
    Kokkos::parallel_for("polyad::shorten_indices", Range(host, 0, m_nnz),
                         ShortenIndices<HostCopy>{copy, short_modes(n)});
    using Starts = decltype(copy.starts);
    using Rows   = SortedRows<Index>;
    Kokkos::parallel_for("polyad::find_row_starts", Range(host, 0, m_extents[n] + 1),
                         FindRowStarts<Rows, Starts>{Rows{copy.indices.data()}, copy.starts, m_nnz});
    using Indices = decltype(copy.indices);
    Kokkos::parallel_reduce("polyad::count_rows", Range(host, 0, m_nnz), CountRuns<Indices>{copy.indices, 1},
                            copy.rows);
    Kokkos::parallel_reduce("polyad::count_runs", Range(host, 0, m_nnz),
                            CountRuns<Indices>{copy.indices, std::min(order, 2)}, copy.runs);
    if (n == 0) {
      count_t distinct = 0;
      Kokkos::parallel_reduce("polyad::count_distinct", Range(host, 0, m_nnz),
                              CountRuns<Indices>{copy.indices, order}, distinct);
      m_duplicates = m_nnz - distinct;
    }
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
  count_t const all       = stretch_buffers * buffer_bytes();
  count_t const available = available_memory(space);
  auto const packs        = [](count_t nonzeros) { return ceil_div(nonzeros, 4) * 4; };
  auto buffers            = std::make_shared<Buffers>();
  buffers->space          = space;
  count_t limit           = available;
  if (m_options.buffer_bytes > 0) {
    limit             = std::min(m_options.buffer_bytes, available);
    buffers->capacity = std::min(limit / all / 4 * 4, packs(m_nnz) + 4);
  } else if (m_options
                 .deterministic) {  // the sums depend on the stretches: free memory must not change these
    buffers->capacity = packs(std::max({least, longest, std::min(most / all, m_nnz / 16)}));
  } else {  // a run allocates more memory after them
    limit                = std::min(available / 4, std::max(most, longest * all));
    count_t const wanted = std::max(ceil_div(m_nnz, stretch_buffers), longest) + 4;
    buffers->capacity    = std::max(std::min(limit / all, wanted) / 4 * 4, packs(std::min(least, m_nnz + 1)));
  }
  if (buffers->capacity == 0 || buffers->capacity * all > available)
    throw MemoryError("the stream of nonzeros", std::max(buffers->capacity, count_t(4)) * all,
                      "only " + std::to_string(limit) + " bytes are left for them");
  if (m_options.deterministic && buffers->capacity < longest)
    throw MemoryError("the stream of nonzeros", packs(longest) * all,
                      "a row of " + std::to_string(longest) +
                          " nonzeros, which is summed in a fixed order, has to fit a buffer");
  for (int n = 0; n < m_extents.order(); ++n) {
    expect_fits(space, "where the rows of a mode begin", m_extents[n] + 1, sizeof(count_t));
    auto& starts = buffers->starts[n];
    starts =
        std::remove_cvref_t<decltype(starts)>(uninitialized(space, "polyad::row_starts"), m_extents[n] + 1);
    Kokkos::deep_copy(space, starts, copy(n).starts);
    buffers->stretches[n] = cut_by_rows(copy(n).starts, n, m_extents[n], buffers->capacity);
  }
  count_t shorts = 0;
  for (int n = 0; n < m_extents.order(); ++n) shorts = std::max(shorts, short_modes(n));
  auto const instances = make_instances(space, stretch_buffers);
  for (std::size_t b = 0; b < stretch_buffers; ++b) {
    auto& buffer    = buffers->buffers[b];
    buffer.instance = instances[b];
    buffer.indices  = decltype(buffer.indices)(uninitialized(space, "polyad::stretch_indices"),
                                               m_extents.order(), buffers->capacity);
    buffer.shorts   = decltype(buffer.shorts)(uninitialized(space, "polyad::stretch_short_indices"), shorts,
                                              buffers->capacity);
    buffer.values =
        decltype(buffer.values)(uninitialized(space, "polyad::stretch_values"), buffers->capacity);
  }
  space.fence("polyad::streamed_sorted");
  made = std::move(buffers);
  return made;
}

/// The walk of a stretch with this many nonzeros.
template <class Scalar, class Index, class Space>
SortedTuning<Space, Scalar> tuning_of(StreamedSorted<Scalar, Index, Space> const& X, int mode, count_t nnz) {
  auto const& copy      = X.copy(mode);
  double const share    = static_cast<double>(nnz) / static_cast<double>(std::max<count_t>(X.nnz(), 1));
  auto const of_stretch = [&](count_t whole) {
    return std::max<count_t>(1, static_cast<count_t>(share * static_cast<double>(whole)));
  };
  return {nnz, of_stretch(copy.rows), of_stretch(copy.runs)};
}

template <class Scalar, class Index, class Space>
auto StreamedSorted<Scalar, Index, Space>::make_workspace(Space const& space, count_t rank) const
    -> workspace_type {
  auto const& made = ready(space);
  WorkspaceOwner const made_for(m_identity, rank);
  workspace_type workspace{made_for, made, std::span(made->buffers), {}};
  for (auto& borders : workspace.borders) borders.made_for = made_for;
  if (!m_options.deterministic) return workspace;
  count_t entries = 0;
  for (int n = 0; n < m_extents.order(); ++n)
    for (auto const& rows : made->stretches[n]) {
      count_t const nnz = rows.nonzeros.end - rows.nonzeros.begin;
      if (nnz > 0)
        entries =
            std::max(entries, border_entries(ceil_div(nnz, tuning_of(*this, n, nnz).chunk(space, true))));
    }
  expect_fits(space, "the borders of the stretches' chunks", stretch_buffers * entries,
              sizeof(Index) + padded_rank<Scalar>(rank) * sizeof(Scalar));
  for (auto& borders : workspace.borders)
    borders = {made_for,
               Kokkos::View<Index*, typename Space::device_type>(uninitialized(space, "polyad::border_rows"),
                                                                 entries),
               make_factor_matrix<Scalar>(space, "polyad::border_sums", entries, rank)};
  return workspace;
}

template <class Scalar, class Index, class Space>
RowStarts<Space> StreamedSorted<Scalar, Index, Space>::make_row_workspace(Space const& space) const {
  auto starts     = ready(space)->starts;
  starts.made_for = {m_identity, 0};
  return starts;
}

}  // namespace polyad::detail
