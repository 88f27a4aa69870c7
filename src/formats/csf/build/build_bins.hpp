// SPDX-License-Identifier: BSD-3-Clause
// The builders of CsfBins, and the flags of rows that a single worker stores.
#pragma once

#include <Kokkos_Core.hpp>
#include <algorithm>

#include "formats/csf/build/build_tree.hpp"
#include "formats/csf/storage/csf_bins.hpp"
#include "formats/csf/storage/csf_tree.hpp"
#include "formats/walks/cleared_rows.hpp"
#include "polyad/core/spaces.hpp"
#include "polyad/core/types.hpp"

namespace polyad::detail {

/// The first position in [0, length] at which number(position) is above `value`. The numbers do not decrease.
template <class Number>
KOKKOS_FUNCTION count_t first_above(count_t length, count_t value, Number const& number) {
  count_t begin = 0, end = length;
  while (begin < end) {
    count_t const middle = begin + (end - begin) / 2;
    if (number(middle) > value)
      end = middle;
    else
      begin = middle + 1;
  }
  return begin;
}

template <class Array>
struct BinDivision {
  Kokkos::Array<Array, max_order> pointers;
  int levels;  // with pointers
  count_t nnz;
  count_t bin;
  bool split_fibers;
  bool split_slices;
  count_t bins;
  Array begins;
  Kokkos::Array<Array, max_order> nodes;
  Kokkos::View<unsigned char*, typename Array::device_type> starts_slice;

  [[nodiscard]] KOKKOS_FUNCTION count_t first_nonzero(int level, count_t node) const {
    for (int l = level; l < levels; ++l) node = pointers[l](node);
    return node;
  }
  /// The node of a level that holds a nonzero.
  [[nodiscard]] KOKKOS_FUNCTION count_t node_at(int level, count_t nonzero) const {
    count_t const nodes_of_level = pointers[level].extent(0) - 1;
    return first_above(nodes_of_level, nonzero, [&](count_t node) { return first_nonzero(level, node); }) - 1;
  }
  /// The start of a level's node at a nonzero, or the next such start after it.
  [[nodiscard]] KOKKOS_FUNCTION count_t next_start(int level, count_t nonzero) const {
    count_t const node = node_at(level, nonzero);
    return first_nonzero(level, node) == nonzero ? nonzero : first_nonzero(level, node + 1);
  }

  KOKKOS_FUNCTION void operator()(count_t b) const {
    count_t begin = Kokkos::min(b * bin, nnz);
    if (begin < nnz && !split_slices)
      begin = next_start(0, begin);
    else if (begin < nnz && !split_fibers)
      begin = next_start(levels - 1, begin);
    begins(b)   = static_cast<typename Array::value_type>(begin);
    bool starts = begin == nnz;
    for (int l = 0; l < levels && begin < nnz; ++l) {
      count_t const node = node_at(l, begin);
      if (b < bins) nodes[l](b) = static_cast<typename Array::value_type>(node);
      if (l == 0) starts = first_nonzero(0, node) == begin;
    }
    starts_slice(b) = starts ? 1 : 0;
  }
};

/// Flags the rows of a tree's slices.
template <class Array, class Flags>
struct FlagSlices {
  Array indices;
  Flags flags;
  KOKKOS_FUNCTION void operator()(count_t s) const { flags(indices(s)) = 1; }
};

/// Removes the flags of slices that belong to several bins. Only the second of these bins does it.
template <class Array, class Flags>
struct UnflagSharedSlices {
  Array indices;
  Array slices;  // slices of the bins
  Flags starts_slice;
  Flags flags;
  KOKKOS_FUNCTION void operator()(count_t b) const {
    if (starts_slice(b) == 0 && (starts_slice(b - 1) != 0 || slices(b - 1) != slices(b)))
      flags(indices(slices(b))) = 0;  // the first bin starts a slice: b > 0
  }
};

/// Divides a tree that has pointers into bins of `bin` nonzeros. Launches on `space`.
/// \throws MemoryError
template <class Scalar, class Index, class Space>
CsfBins<Index, Space> make_csf_bins(Space const& space, CsfTree<Scalar, Index, Space> const& tree,
                                    count_t bin, bool split_fibers, bool split_slices) {
  using Bins = CsfBins<Index, Space>;
  Bins bins;
  count_t const nnz = tree.nnz();
  if (nnz == 0) return bins;
  count_t const count = ceil_div(nnz, std::min(bin, nnz));
  bins.begins         = detail::make_csf_array<Index>(space, "the bins of a tree", count + 1);
  bins.starts_slice   = detail::make_csf_array<unsigned char>(space, "the bins of a tree", count + 1);
  detail::BinDivision<typename Bins::array_type> division{
      {},    tree.pointer_levels, nnz, std::min(bin, nnz), split_fibers, split_slices,
      count, bins.begins,         {},  bins.starts_slice};
  for (int l = 0; l < tree.pointer_levels; ++l) {
    bins.nodes[l]        = detail::make_csf_array<Index>(space, "the bins of a tree", count);
    division.pointers[l] = tree.pointers[l];
    division.nodes[l]    = bins.nodes[l];
  }
  Kokkos::parallel_for("polyad::csf_bins",
                       Kokkos::RangePolicy<Space, Kokkos::IndexType<count_t>>(space, 0, count + 1), division);
  return bins;
}

/// Flags the rows of the slices that a single worker stores. `bins` is empty for a tree without pointers,
/// whose slices have one nonzero each. Launches on `space`.
template <class Scalar, class Index, class Space>
void flag_stored_rows(Space const& space, CsfTree<Scalar, Index, Space> const& tree,
                      CsfBins<Index, Space> const& bins, RowFlags<Space> const& flags) {
  using Range = Kokkos::RangePolicy<Space, Kokkos::IndexType<count_t>>;
  using Array = typename CsfBins<Index, Space>::array_type;
  Kokkos::parallel_for("polyad::csf_flag_slices", Range(space, 0, tree.slices()),
                       detail::FlagSlices<Array, RowFlags<Space>>{tree.indices[0], flags});
  Kokkos::parallel_for("polyad::csf_unflag_shared_slices", Range(space, 0, bins.size()),
                       detail::UnflagSharedSlices<Array, RowFlags<Space>>{tree.indices[0], bins.nodes[0],
                                                                          bins.starts_slice, flags});
}

}  // namespace polyad::detail
