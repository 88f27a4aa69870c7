// SPDX-License-Identifier: BSD-3-Clause
// CsfBins: the division of a tree's nonzeros among workers (slc-split, Nisa et al., section IV-A). The paper
// bins the slices by their nonzeros and gives a heavy one several thread blocks. Here a worker is a thread of
// a team. It walks one bin of about `bin` consecutive nonzeros, a part of a heavy slice or several light
// ones. All workers thus have the same work. A slice that belongs to several bins is joined with atomics; the
// others are stored.
//
//   both splits       a bin begins after every `bin` nonzeros, inside a fiber too: its parts add up
//   fibers unsplit    it begins at the next fiber
//   slices unsplit    it begins at the next slice: a heavy slice has one worker, as in plain CSF
#pragma once

#include <Kokkos_Core.hpp>
#include <array>

#include "polyad/core/types.hpp"

namespace polyad::detail {

template <class Index, class Space>
struct CsfBins {
  using array_type = Kokkos::View<Index*, typename Space::device_type>;
  using flags_type = Kokkos::View<unsigned char*, typename Space::device_type>;

  array_type begins;                        // B + 1: the first nonzero of each bin; a bin may be empty
  std::array<array_type, max_order> nodes;  // [l], B: the node of level l at the bin's first nonzero
  flags_type starts_slice;                  // B + 1: whether a slice begins there

  [[nodiscard]] count_t size() const { return begins.extent(0) == 0 ? 0 : begins.extent(0) - 1; }
  /// Bytes in addition to those of the tree.
  [[nodiscard]] count_t storage_bytes() const {
    count_t words = begins.extent(0);
    for (auto const& level : nodes) words += level.extent(0);
    return words * sizeof(Index) + starts_slice.extent(0);
  }
};

/// Whether forming a fiber's inner product first pays. It does from four nonzeros per fiber on, as for the
/// runs of `sorted` (docs/developer/decisions.md).
inline bool summing_fibers_pays(count_t nnz, count_t fibers) {
  return nnz >= 4 * fibers;
}

}  // namespace polyad::detail
