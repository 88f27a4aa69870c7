// SPDX-License-Identifier: BSD-3-Clause
// TreeFibers: a CSF tree of any depth as a Source of fibers (formats/walks/fiber_products.hpp). If the levels
// above the leaf have no pointers (CSL, COO), a fiber is one nonzero.
#pragma once

#include <Kokkos_Core.hpp>

#include "formats/csf/kernels/csf_walk.hpp"
#include "formats/csf/storage/csf_bins.hpp"
#include "formats/csf/storage/csf_tree.hpp"
#include "polyad/kernel/chunk_walk.hpp"
#include "polyad/kernel/other_factors.hpp"

namespace polyad::detail {

template <class Scalar, class Index>
struct TreeFibers {
  /// A node of each level that has pointers, and the end of its children.
  struct Cursor {
    Index node[max_order];
    Index end[max_order];
  };

  TreeArrays<Scalar, Index, any_order> tree;
  BinArrays<Index, any_order> binned;
  Index const* leaves;
  count_t nnz;
  count_t chunk;  // nonzeros of a bin, for trees without pointers, which have no bins
  count_t bin_count;
  int levels;  // above the leaf: N - 1
  int pointer_levels;

  template <class Space>
  TreeFibers(Space const& space, CsfTree<Scalar, Index, Space> const& X,
             CsfBins<Index, Space> const& bins_of_X)
      : tree(X),
        binned(bins_of_X),
        leaves(X.indices[X.order - 1].data()),
        nnz(X.nnz()),
        chunk(chunk_length(space, nnz, 8)),
        bin_count(X.pointer_levels > 0 ? bins_of_X.size() : ceil_div(nnz, chunk)),
        levels(X.order - 1),
        pointer_levels(X.pointer_levels) {}

  [[nodiscard]] KOKKOS_FORCEINLINE_FUNCTION count_t bins() const { return bin_count; }
  [[nodiscard]] KOKKOS_FORCEINLINE_FUNCTION count_t begin(count_t bin) const {
    return pointer_levels > 0 ? binned.begins[bin] : Kokkos::min(bin * chunk, nnz);
  }
  [[nodiscard]] KOKKOS_FORCEINLINE_FUNCTION Cursor start(count_t bin) const {
    Cursor at;
    for (int l = 0; l < pointer_levels; ++l) enter(at, l, binned.nodes[l][bin]);
    return at;
  }
  /// If the children of the lowest level's node end, enters its next node, and the nodes above that end with
  /// it.
  KOKKOS_FORCEINLINE_FUNCTION void advance(Cursor& at, count_t i) const {
    if (pointer_levels == 0 || i < at.end[pointer_levels - 1]) return;
    enter(at, pointer_levels - 1, at.node[pointer_levels - 1] + 1);
    for (int l = pointer_levels - 2; l >= 0 && at.node[l + 1] == at.end[l]; --l) enter(at, l, at.node[l] + 1);
  }
  [[nodiscard]] KOKKOS_FORCEINLINE_FUNCTION count_t fiber_end(Cursor const& at, count_t i) const {
    return pointer_levels == levels ? at.end[levels - 1] : i + 1;
  }
  [[nodiscard]] KOKKOS_FORCEINLINE_FUNCTION count_t index(Cursor const& at, count_t i, int l) const {
    return tree.indices[l][l < pointer_levels ? at.node[l] : i];
  }
  [[nodiscard]] KOKKOS_FORCEINLINE_FUNCTION count_t leaf(count_t i) const { return leaves[i]; }
  [[nodiscard]] KOKKOS_FORCEINLINE_FUNCTION Scalar value(count_t i) const { return tree.values[i]; }

private:
  KOKKOS_FORCEINLINE_FUNCTION void enter(Cursor& at, int level, Index node) const {
    at.node[level] = node;
    at.end[level]  = tree.pointers[level][node + 1];
  }
};

}  // namespace polyad::detail
