// SPDX-License-Identifier: BSD-3-Clause
// CsfTree: a sparse tensor as a forest, slices -> ... -> fibers -> nonzeros (CSF; Nisa et al., IPDPS 2019,
// section III-B and Figure 1). Each level belongs to one mode: level 0 is the root, level N - 1 the leaf, and
// a node is a set of nonzeros that agree in the modes of its level and of those above.
//
//   pointers[l](k) ... pointers[l](k + 1)   the children of node k of level l; in the end the nonzeros
//   indices[l](k)                           its index in mode modes[l]
//
// Only the first `pointer_levels` levels have pointers. The indices of the other levels are stored per
// nonzero:
//
//   N - 1 levels   CSF: order 3 with S slices, F fibers and M nonzeros takes 2S + 2F + M words
//                  (and the two ends)
//   1              CSL, the compressed slice (section V-A): pointers from the slices to the nonzeros;
//                  2S + 2M words
//   0              coordinates (COO): 3M words
//
// Tensors of order 2 and 1 have slices and nonzeros only: one pointer level.
#pragma once

#include <Kokkos_Core.hpp>
#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <vector>

#include "polyad/core/error.hpp"
#include "polyad/core/types.hpp"

namespace polyad::detail {

/// As a threshold, it means that fibers, or slices, are not split.
inline constexpr std::int64_t no_split = std::numeric_limits<std::int64_t>::max();

template <class Scalar, class Index, class Space>
struct CsfTree {
  using array_type  = Kokkos::View<Index*, typename Space::device_type>;
  using values_type = Kokkos::View<Scalar*, typename Space::device_type>;

  int order          = 0;
  int pointer_levels = 0;
  Kokkos::Array<int, max_order> modes{};      // modes of the levels
  std::array<array_type, max_order> indices;  // [l]: nodes(l)
  // [l]: nodes(l) + 1. Index numbers the nonzeros too: 32 bits if there are fewer than 2^32.
  std::array<array_type, max_order> pointers;
  values_type values;      // M
  count_t duplicates = 0;  // nonzeros with all indices of an earlier one

  [[nodiscard]] count_t nnz() const { return values.extent(0); }
  /// Nodes of level l; nonzeros if it has no pointers.
  [[nodiscard]] count_t nodes(int l) const { return indices[l].extent(0); }
  [[nodiscard]] count_t slices() const { return nodes(0); }
  /// Fibers, those that were split counted by their segments.
  [[nodiscard]] count_t fibers() const { return nodes(std::max(pointer_levels - 1, 0)); }

  [[nodiscard]] count_t index_bytes() const {
    count_t words = 0;
    for (int l = 0; l < order; ++l) words += indices[l].extent(0) + pointers[l].extent(0);
    return words * sizeof(Index);
  }
  [[nodiscard]] count_t storage_bytes() const { return index_bytes() + nnz() * sizeof(Scalar); }
};

/// The modes of the levels in a tree rooted at `root`. The others are in the order of `inner`, or from the
/// shortest to the longest if `inner` is empty. The latter is the best on an H200, or within 3 % of it
/// (docs/developer/decisions.md).
/// \throws UsageError unless `root` is a mode and `inner` names every mode once (the root's place does not
///         matter)
inline Kokkos::Array<int, max_order> level_modes(Extents const& extents, int root,
                                                 std::vector<int> const& inner = {}) {
  expect_mode(root, extents);
  int const order = extents.order();
  std::vector<int> others;
  for (int n = 0; n < order; ++n) others.push_back(n);
  if (inner.empty()) {
    std::stable_sort(others.begin(), others.end(), [&](int a, int b) { return extents[a] < extents[b]; });
  } else {
    POLYAD_EXPECTS(std::is_permutation(others.begin(), others.end(), inner.begin(), inner.end()),
                   "the order of the levels must name each of the ", order, " modes once");
    others = inner;
  }
  Kokkos::Array<int, max_order> modes{};
  modes[0]        = root;
  std::size_t end = 1;
  for (int const n : others)
    if (n != root) modes[end++] = n;
  return modes;
}

}  // namespace polyad::detail
