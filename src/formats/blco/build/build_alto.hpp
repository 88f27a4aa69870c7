// SPDX-License-Identifier: BSD-3-Clause
// Building the format alto: the order of the nonzeros, the groups, the chunks and their private rows.
#pragma once

#include <Kokkos_Core.hpp>
#include <algorithm>
#include <limits>
#include <span>
#include <string>

#include "core/host_side.hpp"
#include "formats/blco/build/fastest_order.hpp"
#include "formats/blco/build/find_long_rows.hpp"
#include "formats/blco/build/touched_rows.hpp"
#include "formats/blco/storage/alto.hpp"
#include "formats/blco/storage/long_row_stops.hpp"
#include "kernel/piece_sums.hpp"
#include "polyad/core/error.hpp"
#include "polyad/core/spaces.hpp"
#include "polyad/core/types.hpp"
#include "polyad/tensor/coo_tensor.hpp"
#include "polyad/tensor/sort_by_mode.hpp"
#include "tensor/linearize.hpp"

namespace polyad::detail {

template <class Coo, class Format, class Permutation>
struct CopyAltoNonzeros {
  typename Coo::indices_type coo_indices;
  typename Coo::values_type coo_values;
  Permutation permutation;
  Kokkos::Array<int, max_order> modes;  // modes of the rows of `indices`
  typename Format::indices_type indices;
  typename Format::values_type values;

  KOKKOS_FUNCTION void operator()(count_t i) const {
    if (i >= permutation.extent(0)) {
      for (count_t m = 0; m < indices.extent(0); ++m) indices(m, i) = 0;
      values(i) = 0;
      return;
    }
    count_t const p = permutation(i);
    for (count_t m = 0; m < indices.extent(0); ++m) indices(m, i) = coo_indices(p, modes[m]);
    values(i) = coo_values(p);
  }
};

/// Counts the groups; in the second pass it also writes them. A group ends at the border of a chunk, and
/// where an index of a grouped mode changes.
template <class Coo, class Format, class Permutation>
struct ListGroups {
  typename Coo::indices_type coo_indices;
  Permutation permutation;
  Kokkos::Array<int, max_order> modes;
  int grouped;
  count_t chunk;
  bool write;
  typename Format::starts_type starts;
  typename Format::indices_type group_indices;
  typename Format::starts_type first_groups;

  KOKKOS_FUNCTION void operator()(count_t i, count_t& group, bool final) const {
    using Index       = typename Format::index_type;
    bool const border = i % chunk == 0;
    bool begins       = border;
    for (int m = 0; m < grouped && !begins; ++m)
      begins = coo_indices(permutation(i), modes[m]) != coo_indices(permutation(i - 1), modes[m]);
    if (!begins) return;
    if (final && write) {
      starts(group) = static_cast<Index>(i);
      for (int m = 0; m < grouped; ++m) group_indices(m, group) = coo_indices(permutation(i), modes[m]);
      if (border) first_groups(i / chunk) = static_cast<Index>(group);
    }
    ++group;
  }
};

/// Counts the nonzeros with all indices of the one before. The copied indices differ at nearly all of them,
/// so that few coordinates are looked up.
template <class Coo, class Format, class Order>
struct CountRepeatedNonzeros {
  typename Coo::indices_type coo_indices;
  Order order;
  typename Format::indices_type indices;  // those of the modes that are not grouped
  KOKKOS_FUNCTION void operator()(count_t i, count_t& repeated) const {
    if (i == 0) return;
    for (count_t m = 0; m < indices.extent(0); ++m)
      if (indices(m, i) != indices(m, i - 1)) return;
    for (count_t n = 0; n < coo_indices.extent(1); ++n)
      if (coo_indices(order(i), n) != coo_indices(order(i - 1), n)) return;
    ++repeated;
  }
};

/// Writes the ends of the last group and of the last chunk.
template <class Starts>
struct EndGroups {
  Starts starts;
  Starts first_groups;

  KOKKOS_FUNCTION void operator()(count_t nnz) const {
    using Index                              = typename Starts::value_type;
    starts(starts.extent(0) - 1)             = static_cast<Index>(nnz);
    first_groups(first_groups.extent(0) - 1) = static_cast<Index>(starts.extent(0) - 1);
  }
};

/// The lowest and the highest row of a mode in a chunk. The indices are those of the groups or of the
/// nonzeros.
template <class Index>
struct FindTouchedRows {
  Index const* indices;
  Index const* first_groups;  // the first group of each chunk
  Index const* starts;        // where groups start; null if the indices are the groups'
  RowRange* touched;

  KOKKOS_FUNCTION void operator()(count_t s) const {
    count_t begin = first_groups[s];
    count_t end   = first_groups[s + 1];
    if (starts != nullptr) begin = starts[begin], end = starts[end];
    RowRange range;
    for (count_t i = begin; i < end; ++i) range.include(indices[i]);
    touched[s] = range;
  }
};

/// The grouped modes first, then the others in their own order.
template <class Scalar, class Index, class Space>
void Alto<Scalar, Index, Space>::arrange_modes() {
  count_t end = 0;
  for (bool const grouped : {true, false})
    for (int n = 0; n < m_extents.order(); ++n)
      if ((m_order.grouped >> n & 1U) == (grouped ? 1U : 0U)) m_modes[end++] = n;
  for (int n = 0; n < m_extents.order(); ++n) m_grouped += m_order.grouped >> n & 1U ? 1 : 0;
  POLYAD_EXPECTS(m_grouped < m_extents.order(), "at least one mode must stay out of the groups");
}

template <class Scalar, class Index, class Space>
void Alto<Scalar, Index, Space>::copy_nonzeros(Space const& space, CooTensor<Scalar, Index, Space> const& coo,
                                               Permutation<Index, Space> const& order) {
  using Coo               = CooTensor<Scalar, Index, Space>;
  count_t const ungrouped = m_extents.order() - m_grouped;
  // Rows consist of whole packs: a device reads four indices at once.
  count_t const stored = ceil_div(m_nnz + alto_padding, 4) * 4;
  expect_fits(space, "the nonzeros in linear order", stored, sizeof(Scalar) + ungrouped * sizeof(Index));
  m_indices = indices_type(uninitialized(space, "polyad::alto_indices"), ungrouped, stored);
  m_values  = values_type(uninitialized(space, "polyad::alto_values"), stored);
  CopyAltoNonzeros<Coo, Alto, Permutation<Index, Space>> copy{coo.indices(), coo.values(), order, {},
                                                              m_indices,     m_values};
  for (count_t m = 0; m < ungrouped; ++m) copy.modes[m] = m_modes[m_grouped + m];
  Kokkos::parallel_for("polyad::alto_copy",
                       Kokkos::RangePolicy<Space, Kokkos::IndexType<count_t>>(space, 0, stored), copy);
  space.fence("polyad::alto_build");  // before the order is freed
}

/// The chunks, and the groups within them.
template <class Scalar, class Index, class Space>
void Alto<Scalar, Index, Space>::list_groups(Space const& space, CooTensor<Scalar, Index, Space> const& coo,
                                             Permutation<Index, Space> const& order,
                                             options_type const& options) {
  using Range     = Kokkos::RangePolicy<Space, Kokkos::IndexType<count_t>>;
  using Coo       = CooTensor<Scalar, Index, Space>;
  auto const made = [&](char const* label) { return uninitialized(space, label); };
  // With a fixed number of chunks the sums do not depend on the number of threads. 16 chunks keep most hosts
  // busy.
  count_t wanted = options.deterministic ? count_t(16) : private_chunks(space, m_nnz);
  if (options.chunks > 0) wanted = options.chunks;
  count_t const chunk = ceil_div(m_nnz, std::min(wanted, m_nnz));
  ListGroups<Coo, Alto, Permutation<Index, Space>> list{coo.indices(), order, m_modes, m_grouped, chunk,
                                                        false,         {},    {},      {}};
  count_t groups = 0;
  Kokkos::parallel_scan("polyad::alto_count_groups", Range(space, 0, m_nnz), list, groups);
  space.fence("polyad::alto_build");
  expect_fits(space, "the groups of nonzeros", groups + 1, (1 + m_grouped) * sizeof(Index));
  m_starts           = starts_type(made("polyad::alto_groups"), groups + 1);
  m_group_indices    = indices_type(made("polyad::alto_group_indices"), m_grouped, groups);
  m_first_groups     = starts_type(made("polyad::alto_chunks"), ceil_div(m_nnz, chunk) + 1);
  list.write         = true;
  list.starts        = m_starts;
  list.group_indices = m_group_indices;
  list.first_groups  = m_first_groups;
  Kokkos::parallel_scan("polyad::alto_list_groups", Range(space, 0, m_nnz), list, groups);
  Kokkos::parallel_for("polyad::alto_end_groups", Range(space, m_nnz, m_nnz + 1),
                       EndGroups<starts_type>{m_starts, m_first_groups});
  space.fence("polyad::alto_build");
}

/// With the stops for long rows, which depend on whether rows are locked.
template <class Scalar, class Index, class Space>
void Alto<Scalar, Index, Space>::find_private_rows(Space const& space, options_type const& options) {
  count_t const count = chunks();
  int const modes     = m_extents.order();
  count_t const allowed =
      options.most_private_rows > 0 ? options.most_private_rows : detail::most_private_rows(m_nnz);
  Kokkos::View<RowRange*, typename Space::device_type> const touched(
      uninitialized(space, "polyad::alto_touched"), count);
  m_private   = PrivateRowTable<Space>(space, modes, count);
  m_long_rows = LongRowStops<Space>(modes);
  m_merge_lists.resize(modes);
  for (int m = 0; m < modes; ++m) {
    bool const of_groups       = m < m_grouped;
    auto const& stored         = of_groups ? m_group_indices : m_indices;
    Index const* const indices = stored.data() + (of_groups ? m : m - m_grouped) * stored.stride(0);
    Kokkos::parallel_for("polyad::alto_touched_rows",
                         Kokkos::RangePolicy<Space, Kokkos::IndexType<count_t>>(space, 0, count),
                         FindTouchedRows<Index>{indices, m_first_groups.data(),
                                                of_groups ? nullptr : m_starts.data(), touched.data()});
    int const n = m_modes[m];
    // One copied row per sixteen nonzeros: zeroing and adding the copies then takes a few hundredths of the
    // walk's time.
    m_private.enter(space, n, touched, m_nnz / count / 16);
    if (!options.deterministic && m_private.copied_rows(n) > allowed) m_locked |= 1U << n;
    if (!locked(n)) {
      auto const own = on_host(space, "the private rows of chunks", m_private.rows(n));
      m_merge_lists[n] =
          MergeLists<Space>(m_private.merged(n), std::span<PrivateRows const>(own.data(), count));
    }
    if constexpr (sums_in_pieces<Scalar> && AltoStrategy<Space>::has_chunks) {
      // All chunks add to the same float of a locked row. So each of them stops earlier.
      count_t const terms    = locked(n) ? std::max<count_t>(16, terms_of_a_piece / count) : terms_of_a_piece;
      auto const chunk_start = [&](count_t s) { return static_cast<count_t>(m_starts(m_first_groups(s))); };
      m_long_rows.enter(
          n, find_long_rows(
                 space, touched, terms, [&](count_t s) { return chunk_start(s + 1) - chunk_start(s); },
                 [&](count_t s, auto const& visit) {
                   for (count_t g = m_first_groups(s); g < m_first_groups(s + 1); ++g)
                     for (count_t p = m_starts(g); p < m_starts(g + 1); ++p)
                       visit(p, static_cast<count_t>(indices[of_groups ? g : p]));
                 }));
    }
  }
}

template <class Scalar, class Index, class Space>
Alto<Scalar, Index, Space> Alto<Scalar, Index, Space>::build(Space const& space,
                                                             CooTensor<Scalar, Index, Space> const& coo,
                                                             options_type const& options) {
  using Strategy = AltoStrategy<Space>;
  if (!options.walk.empty()) expect_in_library(options.walk, Strategy::walk);
  return build_for<Strategy>(space, coo, options);
}

template <class Scalar, class Index, class Space>
template <class Strategy>
Alto<Scalar, Index, Space> Alto<Scalar, Index, Space>::build_for(Space const& space,
                                                                 CooTensor<Scalar, Index, Space> const& coo,
                                                                 options_type const& options) {
  POLYAD_EXPECTS(coo.nnz() < std::numeric_limits<Index>::max(), coo.nnz(),
                 " nonzeros need 64-bit indices in this format");
  POLYAD_EXPECTS(Strategy::has_chunks || !options.deterministic,
                 "alto adds with atomics here: it is not deterministic");
  Alto format;
  format.describe(space, coo);
  if constexpr (Strategy::has_chunks) {
    using Host = HostOf<Space>;
    if (options.choice == AltoOptions::Order::given) format.m_order = options.order;
    if (options.choice == AltoOptions::Order::fastest)
      format.m_order = fastest_order(host_instance(space), download<Host>(space, coo));
  }
  format.arrange_modes();
  auto const& chosen = format.m_order;
  auto const order   = linear_order<Index>(
      space, coo, LinearLayout(coo.extents(), chosen.grouped, chosen.slab, chosen.slab_bits));
  format.copy_nonzeros(space, coo, order);
  using Coo = CooTensor<Scalar, Index, Space>;
  Kokkos::parallel_reduce(
      "polyad::count_repeated",
      Kokkos::RangePolicy<Space, Kokkos::IndexType<count_t>>(space, 0, format.m_nnz),
      CountRepeatedNonzeros<Coo, Alto, Permutation<Index, Space>>{coo.indices(), order, format.m_indices},
      format.m_duplicates);
  if constexpr (Strategy::has_chunks)
    if (format.m_nnz > 0) {
      format.list_groups(space, coo, order, options);
      format.find_private_rows(space, options);
    }
  return format;
}

// The class is not instantiated as a whole: some members are for private rows only.
#define POLYAD_ALTO(Scalar, Index)                                                       \
  template Alto<Scalar, Index, CompiledSpace> Alto<Scalar, Index, CompiledSpace>::build( \
      CompiledSpace const&, CooTensor<Scalar, Index, CompiledSpace> const&, AltoOptions const&)

}  // namespace polyad::detail
