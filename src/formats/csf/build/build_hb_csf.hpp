// SPDX-License-Identifier: BSD-3-Clause
// HbCsf::build: classifies the slices of each mode, and builds the tree that each group needs.
#pragma once

#include <Kokkos_Core.hpp>
#include <algorithm>
#include <cstdint>
#include <iterator>

#include "formats/csf/build/build_b_csf.hpp"
#include "formats/csf/build/build_bins.hpp"
#include "formats/csf/build/build_tree.hpp"
#include "formats/csf/storage/hb_csf.hpp"
#include "formats/walks/cleared_rows.hpp"
#include "polyad/core/spaces.hpp"
#include "polyad/tensor/coo_tensor.hpp"
#include "polyad/tensor/sort_by_mode.hpp"

namespace polyad::detail {

/// A scan that writes where each slice begins, counted in nonzeros and in fibers.
template <class Flags, class Array>
struct WriteSlices {
  using value_type = NodeAndChild;
  Flags starts;
  int fiber_level;
  Array nonzeros;
  Array fibers;
  KOKKOS_FUNCTION void operator()(count_t i, NodeAndChild& at, bool final) const {
    if (starts(i) == 0) {
      if (final) {
        nonzeros(at.node) = static_cast<typename Array::value_type>(i);
        fibers(at.node)   = static_cast<typename Array::value_type>(at.child);
      }
      ++at.node;
    }
    if (starts(i) <= fiber_level) ++at.child;
  }
};

/// The number of nonzeros of each group.
struct GroupSizes {
  count_t nnz[3] = {0, 0, 0};
  KOKKOS_FUNCTION GroupSizes& operator+=(GroupSizes const& other) {
    for (int g = 0; g < 3; ++g) nnz[g] += other.nnz[g];
    return *this;
  }
};

/// The group of each slice, and how many nonzeros each group gets.
template <class Flags, class Array>
struct ClassifySlices {
  using value_type = GroupSizes;
  Array nonzeros;  // S + 1
  Array fibers;    // S + 1
  Flags groups;
  KOKKOS_FUNCTION void operator()(count_t s, GroupSizes& sizes) const {
    auto const length = nonzeros(s + 1) - nonzeros(s);
    SliceGroup group  = SliceGroup::b_csf;
    if (length == 1)
      group = SliceGroup::coo;
    else if (length == fibers(s + 1) - fibers(s))
      group = SliceGroup::csl;
    groups(s) = static_cast<unsigned char>(group);
    sizes.nnz[static_cast<int>(group)] += length;
  }
};

/// A scan over the nonzeros that gives each nonzero the group of its slice.
template <class Flags>
struct SpreadGroups {
  Flags starts;
  Flags slice_groups;
  Flags groups;
  KOKKOS_FUNCTION void operator()(count_t i, count_t& slices, bool final) const {
    if (starts(i) == 0) ++slices;
    if (final) groups(i) = slice_groups(slices - 1);
  }
};

/// A scan that extracts the nonzeros of one group, in their order.
template <class Flags, class Positions>
struct GatherGroup {
  Flags groups;
  unsigned char group;
  Positions permutation;
  Flags starts;
  Positions taken;
  Flags taken_starts;
  KOKKOS_FUNCTION void operator()(count_t i, count_t& at, bool final) const {
    if (groups(i) != group) return;
    if (final) {
      taken(at)        = permutation(i);
      taken_starts(at) = starts(i);
    }
    ++at;
  }
};

template <class Space>
struct SliceGroups {
  GroupSizes sizes;
  NodeStarts<Space> of_nonzeros;  // empty where one group has them all
};

/// The group of each nonzero's slice. Waits for `space`. \throws MemoryError
template <class Index, class Space>
SliceGroups<Space> find_slice_groups(Space const& space, int order, NodeStarts<Space> const& starts) {
  using Range = Kokkos::RangePolicy<Space, Kokkos::IndexType<count_t>>;
  using Array = Permutation<Index, Space>;
  using Flags = NodeStarts<Space>;
  // Orders 2 and 1: each nonzero counts as a fiber. All slices of several nonzeros are then CSL.
  int const fiber_level = order < 3 ? max_order + 1 : order - 2;
  count_t const nnz     = starts.extent(0);
  count_t const slices  = count_nodes(space, starts, 0);
  auto const nonzeros   = make_csf_array<Index>(space, "the slices' nonzeros", slices + 1);
  auto const fibers     = make_csf_array<Index>(space, "the slices' fibers", slices + 1);
  Kokkos::parallel_scan("polyad::csf_write_slices", Range(space, 0, nnz),
                        WriteSlices<Flags, Array>{starts, fiber_level, nonzeros, fibers});
  Kokkos::deep_copy(space, Kokkos::subview(nonzeros, slices), static_cast<Index>(nnz));
  Kokkos::deep_copy(space, Kokkos::subview(fibers, slices),
                    static_cast<Index>(count_nodes(space, starts, fiber_level)));
  auto const slice_groups = make_csf_array<unsigned char>(space, "the groups of slices", slices);
  SliceGroups<Space> groups;
  Kokkos::parallel_reduce("polyad::csf_classify_slices", Range(space, 0, slices),
                          ClassifySlices<Flags, Array>{nonzeros, fibers, slice_groups}, groups.sizes);
  auto const& sizes = groups.sizes.nnz;
  if (std::find(std::begin(sizes), std::end(sizes), nnz) != std::end(sizes)) return groups;
  groups.of_nonzeros = make_csf_array<unsigned char>(space, "the groups of nonzeros", nnz);
  Kokkos::parallel_scan("polyad::csf_spread_groups", Range(space, 0, nnz),
                        SpreadGroups<Flags>{starts, slice_groups, groups.of_nonzeros});
  space.fence("polyad::find_slice_groups");
  return groups;
}

/// The tree of one group's nonzeros. An empty group has a tree without arrays. Waits for `space`. \throws
/// MemoryError
template <class Scalar, class Index, class Space>
CsfTree<Scalar, Index, Space> make_group(Space const& space, CooTensor<Scalar, Index, Space> const& coo,
                                         Permutation<Index, Space> const& permutation,
                                         NodeStarts<Space> const& starts, SliceGroups<Space> const& groups,
                                         SliceGroup group, Kokkos::Array<int, max_order> const& modes,
                                         std::int64_t fiber_threshold) {
  using Range              = Kokkos::RangePolicy<Space, Kokkos::IndexType<count_t>>;
  using Flags              = NodeStarts<Space>;
  auto const number        = static_cast<unsigned char>(group);
  count_t const nnz        = groups.sizes.nnz[number];
  int const pointer_levels = group == SliceGroup::coo   ? 0
                             : group == SliceGroup::csl ? 1
                                                        : tree_pointer_levels(coo.order());
  if (nnz == 0) {  // not even arrays of no entries: on a device each costs an allocation
    CsfTree<Scalar, Index, Space> none;
    none.order          = coo.order();
    none.pointer_levels = pointer_levels;
    none.modes          = modes;
    return none;
  }
  auto taken        = permutation;  // where the group has all nonzeros
  auto taken_starts = starts;
  if (nnz < starts.extent(0)) {
    taken        = make_csf_array<Index>(space, "a permutation of a group", nnz);
    taken_starts = make_csf_array<unsigned char>(space, "the starts of a group's nodes", nnz);
    Kokkos::parallel_scan("polyad::csf_take_group", Range(space, 0, starts.extent(0)),
                          GatherGroup<Flags, Permutation<Index, Space>>{
                              groups.of_nonzeros, number, permutation, starts, taken, taken_starts});
  }
  if (group == SliceGroup::b_csf) split_fibers(space, coo.order(), fiber_threshold, taken_starts);
  return make_tree(space, coo, taken, taken_starts, modes, pointer_levels);
}

template <class Scalar, class Index, class Space>
auto HbCsf<Scalar, Index, Space>::make_groups(Space const& space, CooTensor<Scalar, Index, Space> const& coo,
                                              int mode, options_type const& options) -> groups_type {
  auto const modes       = level_modes(coo.extents(), mode, options.levels);
  auto const permutation = identity_permutation<Index>(space, coo.nnz());
  sort_by_modes(space, coo, modes, coo.order(), permutation);
  auto const starts       = detail::find_node_starts(space, coo, permutation, modes);
  auto const repeated     = detail::count_repeated(space, coo.order(), starts);
  auto const slice_groups = detail::find_slice_groups<Index>(space, coo.order(), starts);
  auto const tree_of      = [&](SliceGroup group) {
    return detail::make_group(space, coo, permutation, starts, slice_groups, group, modes,
                              options.fiber_threshold);
  };
  groups_type groups;
  groups.duplicates = repeated;
  groups.coo        = tree_of(SliceGroup::coo);
  groups.csl        = detail::make_binned_tree(space, tree_of(SliceGroup::csl), options);
  groups.b_csf      = detail::make_binned_tree(space, tree_of(SliceGroup::b_csf), options);

  expect_fits(space, "the flags of a mode's rows", coo.extents()[mode], 1);
  RowFlags<Space> const flags(Kokkos::view_alloc(space, "polyad::stored_rows"), coo.extents()[mode]);
  flag_stored_rows(space, groups.coo, {}, flags);
  flag_stored_rows(space, groups.csl.tree, groups.csl.bins, flags);
  flag_stored_rows(space, groups.b_csf.tree, groups.b_csf.bins, flags);
  groups.cleared = list_unflagged<Index>(space, flags);
  return groups;
}

template <class Scalar, class Index, class Space>
HbCsf<Scalar, Index, Space> HbCsf<Scalar, Index, Space>::build(Space const& space,
                                                               CooTensor<Scalar, Index, Space> const& coo,
                                                               options_type const& options) {
  detail::expect_b_csf_options(coo, options);
  POLYAD_EXPECTS(!options.leaves, "hb-csf has its modes at the roots");
  HbCsf format;
  format.describe(space, coo);
  for (int n = 0; n < coo.order(); ++n) format.m_groups[n] = make_groups(space, coo, n, options);
  return format;
}

}  // namespace polyad::detail
