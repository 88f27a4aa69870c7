// SPDX-License-Identifier: BSD-3-Clause
// The MTTKRP of HB-CSF's two groups without fibers (Nisa et al., section V). CSL stores slice pointers, and
// the other N - 1 indices with each nonzero. COO stores all N indices.
//
//   CSL (Algorithm 4)                                             MttkrpCsl
//     for each slice i of the thread's bin                        walk(): writer.next() where one ends
//       sum += x * B(j, :) * C(k, :) for each of its nonzeros     add(), multiply_rows()
//       V(i, :) = sum; slices that bins share are added           SliceWriter
//   COO: a slice has one nonzero                                  MttkrpSingles
//     V(i, :) = x * B(j, :) * C(k, :)                             store()
//
// The walk is not WalkInOrder (formats/walks/walk_in_order.hpp): pointers say where a slice ends, so it reads
// no index of the output's mode for a nonzero.
//
// On hosts, long slices of floats are summed in pieces (kernel/piece_sums.hpp).
//
// CSL also serves tensors of order 2 and 1 whole: their slices have no fibers. Bytes per nonzero: s_r + (N -
// 1) s_o streamed, (N - 1) R s_r gathered; per slice: 2 s_o and R s_r.
#pragma once

#include <Kokkos_Core.hpp>

#include "formats/csf/kernels/csf_walk.hpp"
#include "formats/walks/cleared_rows.hpp"
#include "kernel/launch.hpp"
#include "kernel/launch_shape.hpp"
#include "kernel/piece_sums.hpp"
#include "kernel/rows_at.hpp"
#include "polyad/core/instances.hpp"
#include "polyad/formats/format.hpp"
#include "polyad/kernel/chunk_walk.hpp"
#include "polyad/kernel/other_factors.hpp"
#include "polyad/kernel/row_form.hpp"
#include "polyad/kernel/team_sums.hpp"

namespace polyad::detail {

/// x times the rows of the levels 1 ... N - 1, for the nonzeros p ... p + Count - 1.
template <int Count, class Row, class Scalar, class Index, int Order>
KOKKOS_FORCEINLINE_FUNCTION void multiply_rows(TreeArrays<Scalar, Index, Order> const& tree,
                                               OtherFactors<Scalar, Order> const& factors, count_t p,
                                               Row (&product)[Count], auto const& columns) {
  auto const x = *reinterpret_cast<Pack<Scalar, Count> const*>(tree.values + p);
  for (int u = 0; u < Count; ++u) product[u] = Row(x.element[u]);
  for (int m = 0; m < factors.size(); ++m) {
    auto const k = *reinterpret_cast<Pack<Index, Count> const*>(tree.indices[m + 1] + p);
    for (int u = 0; u < Count; ++u) product[u] *= Row(factors.row(m, k.element[u]), columns);
  }
}

template <class Vec, class Index, int Order, bool Together>
struct MttkrpCsl {
  using Row                  = Vec;
  using Scalar               = typename Row::scalar_type;
  using Sum                  = SliceSum<Row, Index>;
  using Pieces               = PieceSums<Row>;
  static constexpr int Batch = csf_batch<Row>;

  TreeArrays<Scalar, Index, Order> tree;
  BinArrays<Index, Order> bins;
  OtherFactors<Scalar, Order> factors;
  SliceWriter<Row, Scalar, Index> writer;
  ChunkWalk workers;  // one bin each

  /// Adds the nonzeros p ... p + Count - 1. `slice_end` is where the current slice ends.
  template <int Count>
  KOKKOS_FORCEINLINE_FUNCTION void add(Index p, Index& slice_end, Sum& run, Pieces& pieces,
                                       auto const& columns) const {
    Row product[Count];
    multiply_rows<Count>(tree, factors, p, product, columns);
    if (slice_end - p >= Count) {
      for (int u = 0; u < Count; ++u) run.sum += product[u];
    } else {
      for (int u = 0; u < Count; ++u) {
        if (p + u == slice_end) {
          run.sum = pieces.total(run.sum);
          writer.next(run, columns);
          slice_end = tree.pointers[0][run.slice + 1];
        }
        run.sum += product[u];
      }
    }
  }

  template <class Last>
  KOKKOS_FUNCTION void walk(count_t bin, auto const& columns, Last const& last) const {
    Index const begin = bins.begins[bin], end = bins.begins[bin + 1];
    if (begin == end) return last.leave_nothing();
    Sum run{bins.nodes[0][bin], bins.starts_slice[bin] == 0, Row(Scalar(0))};
    Index slice_end = tree.pointers[0][run.slice + 1];
    Pieces pieces;
    for (Index p = begin; p < end;) {
      for (Index const piece_end = Pieces::piece_end(p, end); p < piece_end;) {
        if (p % Batch == 0 && piece_end - p >= Batch) {
          add<Batch>(p, slice_end, run, pieces, columns);
          p += Batch;
        } else {
          add<1>(p, slice_end, run, pieces, columns);
          ++p;
        }
      }
      if (!Pieces::is_used || p == end) break;
      run.sum = pieces.take(run.sum);
    }
    run.sum = pieces.total(run.sum);
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

template <class Vec, class Index, int Order>
struct MttkrpSingles {
  using Row                  = Vec;
  using Scalar               = typename Row::scalar_type;
  static constexpr int Batch = csf_batch<Row>;

  TreeArrays<Scalar, Index, Order> tree;
  OtherFactors<Scalar, Order> factors;
  RowsAt<Scalar> output;
  ChunkWalk chunks;

  template <int Count>
  KOKKOS_FORCEINLINE_FUNCTION void store(count_t p, auto const& columns) const {
    Row product[Count];
    multiply_rows<Count>(tree, factors, p, product, columns);
    for (int u = 0; u < Count; ++u) product[u].store(output.row(tree.indices[0][p + u]), columns);
  }

  template <class Member>
  KOKKOS_FUNCTION void operator()(Member const& member) const {
    chunks.template operator()<Row, Row::block>(member, [&](count_t begin, count_t end, Columns columns) {
      with_cut_columns<Row>(columns, [&](auto const& own) {
        count_t p = begin;  // a multiple of four
        for (; p + Batch <= end; p += Batch) store<Batch>(p, own);
        for (; p < end; ++p) store<1>(p, own);
      });
    });
  }
};

/// Adds or stores the slices of a tree with pointers from its slices to its nonzeros (CSL). The rows of
/// slices that `bins` share must be zero before. Launches one kernel per kind of block. The caller has
/// checked the arguments.
template <class Space, class Scalar, class Index>
void mttkrp_csl(Space const& space, CsfTree<Scalar, Index, Space> const& tree,
                CsfBins<Index, Space> const& bins, FactorMatrices<Scalar, Space> const& factors,
                FactorMatrix<Scalar, Space> const& V) {
  if (tree.nnz() == 0) return;
  constexpr bool any_order_only = sizeof(Index) == 8;
  for_each_kernel_shape<Scalar, any_order_only>(
      tree.order, factors.rank(), [&](auto order, auto block, ColumnBlocks blocks) {
        with_team_sums<Space, Scalar>(bins.size(), tree.nodes(0), [&](auto together) {
          using Kernel = MttkrpCsl<TinyVec<Space, Scalar, block()>, Index, order(), together()>;
          launch_bins<Kernel, together(), order()>("polyad::mttkrp_csl", space, tree, bins, factors, blocks,
                                                   V);
        });
      });
}

/// Stores the slices of a tree without pointers, with one nonzero each. Launches one kernel per kind of
/// block. The caller has checked the arguments.
template <class Space, class Scalar, class Index>
void mttkrp_singles(Space const& space, CsfTree<Scalar, Index, Space> const& tree,
                    FactorMatrices<Scalar, Space> const& factors, FactorMatrix<Scalar, Space> const& V) {
  if (tree.nnz() == 0) return;
  constexpr bool any_order_only = sizeof(Index) == 8;
  for_each_kernel_shape<Scalar, any_order_only>(
      tree.order, factors.rank(), [&](auto order, auto block, ColumnBlocks blocks) {
        using Row    = TinyVec<Space, Scalar, block()>;
        using Bounds = CsfBounds<Scalar, order()>;
        // Few nonzeros per thread: nothing is summed, so only latencies matter.
        ChunkWalk const chunks{tree.nnz(), items_per_thread<Space>(16, 1024), blocks};
        detail::launch("polyad::mttkrp_singles", chunks.template policy<Row, Bounds>(space),
                       MttkrpSingles<Row, Index, order()>{TreeArrays<Scalar, Index, order()>(tree),
                                                          OtherFactors<Scalar, order()>(factors, tree.modes),
                                                          RowsAt<Scalar>(V), chunks});
      });
}

/// Zeroes the listed rows of V. The factors only determine the form of rows that the other kernels use.
template <class Space, class Scalar, class Index>
void zero_rows(Space const& space, Kokkos::View<Index*, typename Space::device_type> const& rows,
               FactorMatrices<Scalar, Space> const& factors, FactorMatrix<Scalar, Space> const& V) {
  for_each_column_block(checked_rank(factors.rank()), [&](auto block, ColumnBlocks blocks) {
    detail::clear_rows<Space, Scalar, Index, block()>(space, rows, blocks, V);
  });
}

#define POLYAD_MTTKRP_CSL(Scalar, Index)                                                       \
  template void mttkrp_csl(CompiledSpace const&, CsfTree<Scalar, Index, CompiledSpace> const&, \
                           CsfBins<Index, CompiledSpace> const&,                               \
                           FactorMatrices<Scalar, CompiledSpace> const&,                       \
                           FactorMatrix<Scalar, CompiledSpace> const&)
POLYAD_EACH_SCALAR_AND_INDEX(extern, POLYAD_MTTKRP_CSL);

#define POLYAD_MTTKRP_SINGLES(Scalar, Index)                                                       \
  template void mttkrp_singles(CompiledSpace const&, CsfTree<Scalar, Index, CompiledSpace> const&, \
                               FactorMatrices<Scalar, CompiledSpace> const&,                       \
                               FactorMatrix<Scalar, CompiledSpace> const&)
POLYAD_EACH_SCALAR_AND_INDEX(extern, POLYAD_MTTKRP_SINGLES);

#define POLYAD_ZERO_ROWS(Scalar, Index)                                                                  \
  template void zero_rows(CompiledSpace const&, Kokkos::View<Index*, CompiledSpace::device_type> const&, \
                          FactorMatrices<Scalar, CompiledSpace> const&,                                  \
                          FactorMatrix<Scalar, CompiledSpace> const&)
POLYAD_EACH_SCALAR_AND_INDEX(extern, POLYAD_ZERO_ROWS);

}  // namespace polyad::detail
