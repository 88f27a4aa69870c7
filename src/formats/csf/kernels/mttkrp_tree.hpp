// SPDX-License-Identifier: BSD-3-Clause
// The MTTKRP of the root's mode of a CSF tree (Nisa et al., Algorithm 3, and section IV for the splits). A
// thread walks one bin of consecutive nonzeros. With the strategy SumFibers
// (formats/csf/costs/csf_tuning.hpp):
//
//   for each slice i of the bin                                   writer.next() where one ends
//     for each of its fibers j                                    enter_next_fiber()
//       h = the rows of the levels between slice and fiber        rows_above(); order 4 and more
//       s = sum over its nonzeros of x * C(k, :)                  walk_singly(), or add() in batches
//       sum += s * h * B(j, :)                                    one multiply per fiber
//     V(i, :) = sum; slices that bins share are added             SliceWriter
//
// With MultiplyEach every nonzero takes all its rows: add_each(). On hosts, long fibers and long slices of
// floats are summed in pieces (kernel/piece_sums.hpp).
//
// Bytes per nonzero: s_r + s_o streamed and R s_r gathered; per fiber: 2 s_o and R s_r; per slice: 2 s_o and
// R s_r.
#pragma once

#include <Kokkos_Core.hpp>

#include "formats/csf/kernels/csf_walk.hpp"
#include "kernel/piece_sums.hpp"
#include "polyad/core/instances.hpp"
#include "polyad/formats/format.hpp"
#include "polyad/kernel/chunk_walk.hpp"
#include "polyad/kernel/other_factors.hpp"
#include "polyad/kernel/row_form.hpp"
#include "polyad/kernel/team_sums.hpp"

namespace polyad::detail {

template <class Vec, class Index, int Order, class Strategy, bool Together>
struct MttkrpTree {
  using Row                     = Vec;
  using Scalar                  = typename Row::scalar_type;
  using Sum                     = SliceSum<Row, Index>;
  static constexpr int Batch    = Strategy::batch;
  static constexpr int capacity = TreeArrays<Scalar, Index, Order>::capacity;
  using Pieces                  = PieceSums<Row>;

  TreeArrays<Scalar, Index, Order> tree;
  BinArrays<Index, Order> bins;
  OtherFactors<Scalar, Order> factors;  // factors of the levels 1 ... N - 1
  SliceWriter<Row, Scalar, Index> writer;
  ChunkWalk workers;  // one bin each

  /// N - 2
  [[nodiscard]] KOKKOS_FUNCTION int fiber_level() const { return factors.size() - 1; }
  /// The row of a level's factor for one of its nodes.
  [[nodiscard]] KOKKOS_FUNCTION Row row(int level, Index node, auto const& columns) const {
    return Row(factors.row(level - 1, tree.indices[level][node]), columns);
  }

  // ---- SumFibers

  /// The position of a walk: a node of each level, and the end of its children.
  struct Path {
    Index node[capacity];
    Index end[capacity];
  };

  KOKKOS_FORCEINLINE_FUNCTION void enter(Path& path, int level, Index node) const {
    path.node[level] = node;
    path.end[level]  = tree.pointers[level][node + 1];
  }
  /// Enters the next fiber, and the nodes above that begin with it. Returns whether there are any.
  KOKKOS_FORCEINLINE_FUNCTION bool enter_next_fiber(Path& path, Sum& run, Pieces& pieces,
                                                    auto const& columns) const {
    enter(path, fiber_level(), path.node[fiber_level()] + 1);
    int level = fiber_level() - 1;
    for (; level >= 0 && path.node[level + 1] == path.end[level]; --level) {
      enter(path, level, path.node[level] + 1);
      if (level == 0) {
        run.sum = pieces.total(run.sum);
        writer.next(run, columns);
      }
    }
    return level < fiber_level() - 1;
  }
  /// The product of the rows of the levels between slice and fiber, for order 4 and more.
  KOKKOS_FORCEINLINE_FUNCTION Row rows_above(Path const& path, auto const& columns) const {
    Row above(Scalar(1));
    for (int l = 1; l < fiber_level(); ++l) above *= row(l, path.node[l], columns);
    return above;
  }

  /// The sum of the nonzeros p ... stop - 1 of one fiber, in pieces. Few fibers are long, so it is not
  /// inlined: it would take registers from the walk.
  [[nodiscard, gnu::noinline]] Row sum_of_long_fiber(Index p, Index stop, auto const& columns) const {
    int const leaf = fiber_level() + 1;
    Pieces pieces;
    Row sum(Scalar(0));
    for (;;) {
      for (Index const piece = Pieces::piece_end(p, stop); p < piece; ++p)
        sum.multiply_add(tree.values[p], Row(factors.row(leaf - 1, tree.indices[leaf][p]), columns));
      if (p == stop) return pieces.total(sum);
      sum = pieces.take(sum);
    }
  }

  /// The walk for hosts, one fiber and one nonzero after the other. Every kind of row is constructed in one
  /// place. Otherwise GCC does not inline the construction, and the sums go through memory (uber, R = 16, one
  /// core of an AMD EPYC: 50 ms, not 12).
  KOKKOS_FORCEINLINE_FUNCTION void walk_singly(Path& path, Index p, Index end, Sum& run,
                                               auto const& columns) const {
    int const leaf = fiber_level() + 1;
    Pieces of_slice;
    int added = 0;  // fibers to run.sum, since it was last taken
    Row above;
    for (bool entered = true;; entered = enter_next_fiber(path, run, of_slice, columns)) {
      if (entered && fiber_level() > 1) above = rows_above(path, columns);
      Index const stop = Kokkos::min(path.end[fiber_level()], end);
      Row fiber_sum(Scalar(0));
      if constexpr (Pieces::is_used)
        if (stop - p > Index(Pieces::terms)) [[unlikely]] {
          fiber_sum = sum_of_long_fiber(p, stop, columns);
          p         = stop;
        }
      for (; p < stop; ++p)
        fiber_sum.multiply_add(tree.values[p], Row(factors.row(leaf - 1, tree.indices[leaf][p]), columns));
      fiber_sum *= row(fiber_level(), path.node[fiber_level()], columns);
      if (fiber_level() > 1) fiber_sum *= above;
      run.sum += fiber_sum;
      if (p == end) break;
      if constexpr (Pieces::is_used)
        if (++added == Pieces::terms) {
          run.sum = of_slice.take(run.sum);
          added   = 0;
        }
    }
    run.sum = of_slice.total(run.sum);
  }

  /// The current fiber of a walk in batches.
  struct Fiber {
    Row above;
    Row row;  // its own, times `above`
    Row sum;
  };

  KOKKOS_FORCEINLINE_FUNCTION void start(Fiber& fiber, Path const& path, bool entered,
                                         auto const& columns) const {
    if (entered) fiber.above = rows_above(path, columns);
    fiber.row = row(fiber_level(), path.node[fiber_level()], columns);
    if (fiber_level() > 1) fiber.row *= fiber.above;
    fiber.sum = Row(Scalar(0));
  }

  /// Adds the nonzeros p ... p + Count - 1.
  template <int Count>
  KOKKOS_FORCEINLINE_FUNCTION void add(Index p, Path& path, Fiber& fiber, Sum& run,
                                       auto const& columns) const {
    Pieces none;  // devices have no pieces
    int const leaf = fiber_level() + 1;
    auto const k   = *reinterpret_cast<Pack<Index, Count> const*>(tree.indices[leaf] + p);
    auto const x   = *reinterpret_cast<Pack<Scalar, Count> const*>(tree.values + p);
    Row product[Count];
    for (int u = 0; u < Count; ++u) {
      product[u] = Row(factors.row(leaf - 1, k.element[u]), columns);
      product[u] *= Row(x.element[u]);
    }
    if (path.end[fiber_level()] - p >= Count) {
      for (int u = 0; u < Count; ++u) fiber.sum += product[u];
    } else {
      for (int u = 0; u < Count; ++u) {
        if (p + u == path.end[fiber_level()]) {
          run.sum.multiply_add(fiber.row, fiber.sum);
          bool const entered = enter_next_fiber(path, run, none, columns);
          start(fiber, path, entered, columns);
        }
        fiber.sum += product[u];
      }
    }
  }

  KOKKOS_FORCEINLINE_FUNCTION void walk_in_batches(Path& path, Index p, Index end, Sum& run,
                                                   auto const& columns) const {
    Fiber fiber;
    start(fiber, path, true, columns);
    while (p < end) {
      if (p % Batch == 0 && end - p >= Batch) {
        add<Batch>(p, path, fiber, run, columns);
        p += Batch;
      } else {
        add<1>(p, path, fiber, run, columns);
        ++p;
      }
    }
    run.sum.multiply_add(fiber.row, fiber.sum);
  }

  KOKKOS_FORCEINLINE_FUNCTION void walk_fibers(count_t bin, Index begin, Index end, Sum& run,
                                               auto const& columns) const {
    Path path;
    for (int l = 0; l <= fiber_level(); ++l) enter(path, l, bins.nodes[l][bin]);
    if constexpr (Batch == 1)
      walk_singly(path, begin, end, run, columns);
    else
      walk_in_batches(path, begin, end, run, columns);
  }

  // ---- MultiplyEach

  /// The position of such a walk: a node of each level, and the end of the slice's children.
  struct Nodes {
    Index node[capacity];
    Index slice_end;
  };

  /// Adds the nonzeros p ... p + Count - 1, each with the rows of all its nodes. `nodes` are those of p, and
  /// afterwards those of p + Count. The walk goes up level by level from the fibers: between p and p + u at
  /// most u nodes end.
  template <int Count>
  KOKKOS_FORCEINLINE_FUNCTION void add_each(Index p, Nodes& nodes, Sum& run, auto const& columns) const {
    int const leaf = fiber_level() + 1;
    auto const k   = *reinterpret_cast<Pack<Index, Count> const*>(tree.indices[leaf] + p);
    auto const x   = *reinterpret_cast<Pack<Scalar, Count> const*>(tree.values + p);
    Row product[Count];
    for (int u = 0; u < Count; ++u) {
      product[u] = Row(x.element[u]);
      product[u] *= Row(factors.row(leaf - 1, k.element[u]), columns);
    }
    Index at[Count + 1];  // the nonzeros' nodes of one level; the nonzeros themselves to begin with
    for (int u = 0; u <= Count; ++u) at[u] = p + u;
    for (int l = fiber_level(); l > 0; --l) {
      Index end[Count];  // ends of this node and the next ones
      for (int u = 0; u < Count; ++u)
        end[u] = tree.pointers[l][Kokkos::min<Index>(nodes.node[l] + u + 1, tree.nodes[l])];
      Index above[Count + 1];
      for (int u = 0; u <= Count; ++u) {
        above[u] = nodes.node[l];
        for (int e = 0; e < u; ++e) above[u] += at[u] >= end[e] ? 1 : 0;
      }
      for (int u = 0; u < Count; ++u) product[u] *= row(l, above[u], columns);
      for (int u = 0; u <= Count; ++u) at[u] = above[u];
      nodes.node[l] = above[Count];
    }
    if (at[Count - 1] < nodes.slice_end) {  // the last one decides for all
      for (int u = 0; u < Count; ++u) run.sum += product[u];
    } else {
      for (int u = 0; u < Count; ++u) {
        if (at[u] == nodes.slice_end) {
          writer.next(run, columns);
          nodes.slice_end = tree.pointers[0][run.slice + 1];
        }
        run.sum += product[u];
      }
    }
  }

  KOKKOS_FORCEINLINE_FUNCTION void walk_each(count_t bin, Index begin, Index end, Sum& run,
                                             auto const& columns) const {
    Nodes nodes;
    for (int l = 1; l <= fiber_level(); ++l) nodes.node[l] = bins.nodes[l][bin];
    nodes.slice_end = tree.pointers[0][run.slice + 1];
    for (Index p = begin; p < end;) {
      if (p % Batch == 0 && end - p >= Batch) {
        add_each<Batch>(p, nodes, run, columns);
        p += Batch;
      } else {
        add_each<1>(p, nodes, run, columns);
        ++p;
      }
    }
  }

  template <class Last>
  KOKKOS_FUNCTION void walk(count_t bin, auto const& columns, Last const& last) const {
    Index const begin = bins.begins[bin], end = bins.begins[bin + 1];
    if (begin == end) return last.leave_nothing();
    Sum run{bins.nodes[0][bin], bins.starts_slice[bin] == 0, Row(Scalar(0))};
    if constexpr (Strategy::sums_fibers)
      walk_fibers(bin, begin, end, run, columns);
    else
      walk_each(bin, begin, end, run, columns);
    writer.last(run, bins.starts_slice[bin + 1] == 0, columns, last);
  }

  template <class Member>
  KOKKOS_FUNCTION void operator()(Member const& member) const {
    walk_with_team_sums<Together, Row, Row::block, Index>(
        workers, member, writer.output.data, writer.output.stride,
        [&](count_t bin, count_t, Columns columns, auto const& last) {
          with_cut_columns<Row>(columns, [&](auto const& own) { walk(bin, own, last); });
        });
  }
};

/// One launch, for some blocks of columns.
template <class Row, int Order, class Space, class Scalar, class Index>
void launch_tree(Space const& space, CsfTree<Scalar, Index, Space> const& tree,
                 CsfBins<Index, Space> const& bins, bool sums_fibers,
                 FactorMatrices<Scalar, Space> const& factors, ColumnBlocks blocks,
                 FactorMatrix<Scalar, Space> const& V) {
  with_tree_strategy<Row>(sums_fibers, [&](auto strategy) {
    with_team_sums<Space, Scalar>(bins.size(), tree.nodes(0), [&](auto together) {
      using Kernel = MttkrpTree<Row, Index, Order, decltype(strategy), together()>;
      launch_bins<Kernel, together(), Order>("polyad::mttkrp_csf_tree", space, tree, bins, factors, blocks,
                                             V);
    });
  });
}

/// Adds or stores the slices of a tree of order 3 or more. The rows of slices that `bins` share must be zero
/// before. `sums_fibers`: whether fibers are long enough to be summed first. Launches one kernel per kind of
/// block. The caller has checked the arguments.
template <class Space, class Scalar, class Index>
void mttkrp_tree(Space const& space, CsfTree<Scalar, Index, Space> const& tree,
                 CsfBins<Index, Space> const& bins, bool sums_fibers,
                 FactorMatrices<Scalar, Space> const& factors, FactorMatrix<Scalar, Space> const& V) {
  if (tree.nnz() == 0) return;
  constexpr bool any_order_only = sizeof(Index) == 8;
  for_each_kernel_shape<Scalar, any_order_only>(tree.order, factors.rank(),
                                                [&](auto order, auto block, ColumnBlocks blocks) {
                                                  launch_tree<TinyVec<Space, Scalar, block()>, order()>(
                                                      space, tree, bins, sums_fibers, factors, blocks, V);
                                                });
}

#define POLYAD_MTTKRP_CSF_TREE(Scalar, Index)                                                   \
  template void mttkrp_tree(CompiledSpace const&, CsfTree<Scalar, Index, CompiledSpace> const&, \
                            CsfBins<Index, CompiledSpace> const&, bool,                         \
                            FactorMatrices<Scalar, CompiledSpace> const&,                       \
                            FactorMatrix<Scalar, CompiledSpace> const&)
POLYAD_EACH_SCALAR_AND_INDEX(extern, POLYAD_MTTKRP_CSF_TREE);

}  // namespace polyad::detail
