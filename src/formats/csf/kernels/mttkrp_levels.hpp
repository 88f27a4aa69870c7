// SPDX-License-Identifier: BSD-3-Clause
// The MTTKRP of a CSF tree for a mode other than its root's: one tree for all modes. It is SPLATT's ONEMODE,
// which Nisa et al. describe in section VI-A; they measure ALLMODE, one tree per mode.
//
//   for each fiber and nonzero of the thread's bin                walk()
//     h = the rows above the output's node                        Path::above
//     b = the rows between that node and the leaf                 Path::below
//     an internal mode: s += x * b * C(k, :)                      add_nonzero()
//       where the output's node j ends: V(j, :) += h * s          end_node(), with atomics
//     the leaf's mode: V(k, :) += x * h                           add_nonzero(), with atomics
//
// A node of a lower level occurs in many slices. Every sum is therefore added with atomics: one per node, or
// one per nonzero in the leaf mode. That is the price of a single tree; b-csf keeps one per mode. Bytes:
// s_r + s_o + R s_r a nonzero, R s_r for each node, and 2 R s_r for each sum that is added. Flops: 2 R a
// nonzero and R for each node. On hosts, the sums of long nodes of floats are formed in pieces
// (kernel/piece_sums.hpp), but not those of the nodes of one row.
#pragma once

#include <Kokkos_Core.hpp>

#include "formats/csf/kernels/csf_walk.hpp"
#include "kernel/launch.hpp"
#include "kernel/piece_sums.hpp"
#include "kernel/rows_at.hpp"
#include "polyad/core/instances.hpp"
#include "polyad/formats/format.hpp"
#include "polyad/kernel/chunk_walk.hpp"
#include "polyad/kernel/other_factors.hpp"
#include "polyad/kernel/row_form.hpp"

namespace polyad::detail {

template <class Space, class Scalar, class Index, int Block>
struct MttkrpLevel {
  using Row    = TinyVec<Space, Scalar, Block>;
  using Pieces = PieceSums<Row>;

  TreeArrays<Scalar, Index, any_order> tree;
  BinArrays<Index, any_order> bins;
  OtherFactors<Scalar, any_order> factors;  // factors of all modes
  Kokkos::Array<int, max_order> modes;      // modes of the levels
  int level;                                // level of the output's mode: 1 ... N - 1
  int pointer_levels;
  RowsAt<Scalar> output;
  ChunkWalk workers;  // one bin each

  /// The position of a walk.
  struct Path {
    Index node[max_order];
    Index end[max_order];
    Row above;  // the product of the rows of the levels above the output's
    Row below;  // the product of those between it and the leaf
    Row sum;    // the sum of x times the rows below the output's node
  };

  [[nodiscard]] KOKKOS_FUNCTION int fiber_level() const { return pointer_levels - 1; }
  [[nodiscard]] KOKKOS_FUNCTION bool is_leaf_mode() const { return level == pointer_levels; }
  [[nodiscard]] KOKKOS_FUNCTION Row row(int l, Index node, Columns columns) const {
    return Row(factors.row(modes[l], tree.indices[l][node]), columns);
  }
  /// The product of the rows of the levels first ... last - 1 on the path.
  [[nodiscard]] KOKKOS_FUNCTION Row product(Path const& path, int first, int last, Columns columns) const {
    Row rows(Scalar(1));
    for (int l = first; l < last; ++l) rows *= row(l, path.node[l], columns);
    return rows;
  }
  KOKKOS_FUNCTION void enter(Path& path, int l, Index node) const {
    path.node[l] = node;
    path.end[l]  = tree.pointers[l][node + 1];
  }
  KOKKOS_FUNCTION void add_to(Index index, Row const& row, Columns columns) const {
    row.atomic_add_to(output.row(index), columns);  // other bins and nodes add too
  }

  KOKKOS_FUNCTION void add_nonzero(Path& path, Index p, Columns columns) const {
    Index const k = tree.indices[pointer_levels][p];
    if (is_leaf_mode()) {
      Row value = path.above;
      value *= Row(tree.values[p]);
      add_to(k, value, columns);
    } else {
      Row value = path.below;
      value *= Row(factors.row(modes[pointer_levels], k), columns);
      path.sum.multiply_add(tree.values[p], value);
    }
  }
  KOKKOS_FUNCTION void end_node(Path& path, Pieces& pieces, Columns columns) const {
    if (is_leaf_mode()) return;
    path.sum = pieces.total(path.sum);
    path.sum *= path.above;
    add_to(tree.indices[level][path.node[level]], path.sum, columns);
    path.sum = Row(Scalar(0));
  }
  KOKKOS_FUNCTION void next_fiber(Path& path, Pieces& pieces, Columns columns) const {
    int changed = fiber_level();  // the highest level whose node ends here
    while (changed > 0 && path.node[changed] + 1 == path.end[changed - 1]) --changed;
    if (changed <= level) end_node(path, pieces, columns);
    for (int l = changed; l <= fiber_level(); ++l) enter(path, l, path.node[l] + 1);
    if (changed < level) path.above = product(path, 0, level, columns);
    path.below = product(path, level + 1, pointer_levels, columns);
  }

  KOKKOS_FUNCTION void walk(count_t bin, Columns columns) const {
    Index const begin = bins.begins[bin], end = bins.begins[bin + 1];
    if (begin == end) return;
    Path path;
    for (int l = 0; l < pointer_levels; ++l) enter(path, l, bins.nodes[l][bin]);
    path.above = product(path, 0, level, columns);
    path.below = product(path, level + 1, pointer_levels, columns);
    path.sum   = Row(Scalar(0));
    Pieces pieces;
    for (Index p = begin; p < end;) {
      for (Index const piece_end = Pieces::piece_end(p, end); p < piece_end; ++p) {
        if (p == path.end[fiber_level()]) next_fiber(path, pieces, columns);
        add_nonzero(path, p, columns);
      }
      path.sum = pieces.take(path.sum);
    }
    end_node(path, pieces, columns);
  }

  template <class Member>
  KOKKOS_FUNCTION void operator()(Member const& member) const {
    workers.template operator()<Row, Block>(
        member, [&](count_t bin, count_t, Columns columns) { walk(bin, columns); });
  }
};

/// Adds to V the MTTKRP of the mode of `level`, from 1 to N - 1. Launches one kernel per kind of block. The
/// caller has checked the arguments.
template <class Space, class Scalar, class Index>
void mttkrp_level(Space const& space, CsfTree<Scalar, Index, Space> const& tree,
                  CsfBins<Index, Space> const& bins, int level, FactorMatrices<Scalar, Space> const& factors,
                  FactorMatrix<Scalar, Space> const& V) {
  if (tree.nnz() == 0) return;
  for_each_column_block(checked_rank(factors.rank()), [&](auto block, ColumnBlocks blocks) {
    using Kernel      = detail::MttkrpLevel<Space, Scalar, Index, block()>;
    constexpr int all = -1;  // no mode is left out
    using Bounds      = detail::CsfBounds<Scalar, any_order>;
    ChunkWalk const workers{bins.size(), 1, blocks};
    detail::launch(
        "polyad::mttkrp_csf_level", workers.template policy<typename Kernel::Row, Bounds>(space),
        Kernel{detail::TreeArrays<Scalar, Index, any_order>(tree), detail::BinArrays<Index, any_order>(bins),
               OtherFactors<Scalar, any_order>(factors, all), tree.modes, level, tree.pointer_levels,
               RowsAt<Scalar>(V), workers});
  });
}

#define POLYAD_MTTKRP_CSF_LEVEL(Scalar, Index)                                                   \
  template void mttkrp_level(CompiledSpace const&, CsfTree<Scalar, Index, CompiledSpace> const&, \
                             CsfBins<Index, CompiledSpace> const&, int,                          \
                             FactorMatrices<Scalar, CompiledSpace> const&,                       \
                             FactorMatrix<Scalar, CompiledSpace> const&)
POLYAD_EACH_SCALAR_AND_INDEX(extern, POLYAD_MTTKRP_CSF_LEVEL);

}  // namespace polyad::detail
