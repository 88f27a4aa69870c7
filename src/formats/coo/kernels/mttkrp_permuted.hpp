// SPDX-License-Identifier: BSD-3-Clause
// MTTKRP-C (GenTen, section 6, Figure 4). A permutation visits the nonzeros in the order of the output mode's
// index. A row's products are summed in registers, and the row is written once.
//
//   for each position p of the thread's chunk, some at a time     walk()
//     i = permutation(p)                                          add(): nonzero[u]
//     tmp = x_i times A^(m)(i_m, :) for each other mode m         add(): product[u]
//     where i is still in the run's row k: sum += tmp             add(): the last loop
//     otherwise write V(k, :) and begin a new run                 finish()
//       inside the chunk: a plain store
//       the chunk's first and last row: with atomics, since neighbours add to them too
//
// If rows are long, the threads of a team first add up the sums of their last rows (team_sums.hpp). On hosts,
// long rows of floats are summed in pieces (kernel/piece_sums.hpp). Bytes per nonzero: s_o for the
// permutation; s_r + N s_o for the nonzero itself, scattered, so whole 32-byte sectors on a GPU; (N - 1) R
// s_r for the gathered rows, which dominate. Flops: N R.
#pragma once

#include <Kokkos_Core.hpp>

#include "formats/coo/storage/coo_permuted.hpp"
#include "kernel/launch.hpp"
#include "kernel/launch_shape.hpp"
#include "kernel/piece_sums.hpp"
#include "kernel/rows_at.hpp"
#include "polyad/core/instances.hpp"
#include "polyad/kernel/chunk_walk.hpp"
#include "polyad/kernel/other_factors.hpp"
#include "polyad/kernel/row_form.hpp"
#include "polyad/kernel/team_sums.hpp"
#include "polyad/kernel/tiny_vec.hpp"

namespace polyad::detail {

template <class Vec, class Index, int Order, bool Together>
struct MttkrpPermuted {
  using Row    = Vec;
  using Scalar = typename Row::scalar_type;

  /// Nonzeros whose rows are gathered at the same time. Four was best on the H200. Eight always lost, because
  /// of the registers.
  static constexpr int batch = rows_in_flight<typename Row::space_type>(4);
  using Pieces               = PieceSums<Row>;

  Index const* permutation;
  Index const* indices;  // P x N
  Scalar const* values;
  OtherFactors<Scalar, Order> factors;
  int mode;
  RowsAt<Scalar> output;  // I_n x R
  ChunkWalk chunks;

  /// The sum of the current row of the output while a chunk is walked.
  struct Run {
    Index row;
    Row sum;
    bool is_shared;  // the chunk's first or last row: a neighbour may add to it too
  };

  [[nodiscard]] KOKKOS_FUNCTION count_t coordinates(count_t nonzero) const {
    return nonzero * (factors.size() + 1);
  }

  /// Writes the sum of a row over this chunk. Only the rows at a chunk's borders are shared with other
  /// threads.
  KOKKOS_FORCEINLINE_FUNCTION void finish(Run const& run, auto const& columns) const {
    Scalar* const target = output.row(run.row);
    if (run.is_shared)
      run.sum.atomic_add_to(target, columns);
    else
      run.sum.store(target, columns);
  }

  /// Adds the nonzeros at positions p ... p + Count - 1 of the permutation. Forced inline: otherwise GCC
  /// would keep the run in memory.
  template <int Count>
  KOKKOS_FORCEINLINE_FUNCTION void add(count_t p, Run& run, Pieces& pieces, auto const& columns) const {
    Index nonzero[Count];
    Index row[Count];
    Row product[Count];
    for (int u = 0; u < Count; ++u) nonzero[u] = permutation[p + u];
    for (int u = 0; u < Count; ++u) {
      row[u]     = indices[coordinates(nonzero[u]) + mode];
      product[u] = Row(values[nonzero[u]]);
    }
    for (int m = 0; m < factors.size(); ++m)
      for (int u = 0; u < Count; ++u)
        product[u] *= Row(factors.row(m, indices[coordinates(nonzero[u]) + factors.mode(m)]), columns);
    for (int u = 0; u < Count; ++u) {
      if (row[u] == run.row) {
        run.sum += product[u];
      } else {
        run.sum = pieces.total(run.sum);
        finish(run, columns);
        run = {row[u], product[u], false};
      }
    }
  }

  template <class Last>
  KOKKOS_FORCEINLINE_FUNCTION void walk(count_t begin, count_t end, auto const& columns,
                                        Last const& last) const {
    Run run{indices[coordinates(permutation[begin]) + mode], Row(Scalar(0)), true};
    Pieces pieces;
    count_t p = begin;
    while (p < end) {
      count_t const piece_end = Pieces::piece_end(p, end);
      for (; p + batch <= piece_end; p += batch) add<batch>(p, run, pieces, columns);
      for (; p < piece_end; ++p) add<1>(p, run, pieces, columns);
      if (!Pieces::is_used || p == end) break;
      run.sum = pieces.take(run.sum);
    }
    run.sum       = pieces.total(run.sum);
    run.is_shared = true;
    if constexpr (Last::is_wanted)
      last.leave(run.row, run.sum, columns);
    else
      finish(run, columns);
  }

  template <class Member>
  KOKKOS_FUNCTION void operator()(Member const& member) const {
    walk_with_team_sums<Together, Row, Row::block, Index>(
        chunks, member, output.data, output.stride,
        [&](count_t begin, count_t end, Columns columns, auto const& last) {
          with_cut_columns<Row>(columns, [&](auto const& own) { walk(begin, end, own, last); });
        });
  }
};

/// One launch, for several blocks of columns.
template <class Row, int Order, class Space, class Scalar, class Index>
void launch_permuted(Space const& space, CooPermuted<Scalar, Index, Space> const& X,
                     FactorMatrices<Scalar, Space> const& factors, int mode, ColumnBlocks blocks,
                     FactorMatrix<Scalar, Space> const& V) {
  ChunkWalk const walk{X.nnz(), chunk_length(space, X.nnz(), Row::lanes), blocks};
  count_t const chunks = ceil_div(X.nnz(), walk.chunk);
  with_team_sums<Space, Scalar, Row::form>(chunks, X.extents()[mode], [&](auto together) {
    launch_with_local_copy("polyad::mttkrp_permuted",
                           policy_with_team_sums<together(), Row, Row::block, Scalar, Index>(space, walk),
                           MttkrpPermuted<Row, Index, Order, together()>{
                               X.permutation(mode).data(), X.coo().indices().data(), X.coo().values().data(),
                               OtherFactors<Scalar, Order>(factors, mode), mode, RowsAt<Scalar>(V), walk});
  });
}

/// The contract's mttkrp (formats/format.hpp) by MTTKRP-C. `packed = false` uses GenTen's strided TinyVec on
/// a device, for comparison.
template <class Space, class Scalar, class Index>
void mttkrp(Space const& space, CooPermuted<Scalar, Index, Space> const& X,
            FactorMatrices<Scalar, Space> const& factors, int mode, NoWorkspace& workspace,
            FactorMatrix<Scalar, Space> const& V, bool packed) {
  expect_mttkrp_arguments(X.extents(), factors, mode, V);
  workspace.expect(X.identity(), factors.rank(), X.name);
  zero_matrix(space, V);
  if (X.nnz() == 0) return;
  with_row_form<Space>(packed, [&](auto form) {
    constexpr bool any_order_only = sizeof(Index) == 8 || form() == RowForm::strided;
    for_each_kernel_shape<Scalar, any_order_only>(
        X.extents().order(), factors.rank(), [&](auto order, auto block, ColumnBlocks blocks) {
          launch_permuted<TinyVec<Space, Scalar, block(), form()>, order()>(space, X, factors, mode, blocks,
                                                                            V);
        });
  });
}

#define POLYAD_MTTKRP_PERMUTED(Scalar, Index)                                                           \
  template void mttkrp(Kokkos::DefaultExecutionSpace const&,                                            \
                       CooPermuted<Scalar, Index, Kokkos::DefaultExecutionSpace> const&,                \
                       FactorMatrices<Scalar, Kokkos::DefaultExecutionSpace> const&, int, NoWorkspace&, \
                       FactorMatrix<Scalar, Kokkos::DefaultExecutionSpace> const&, bool)

}  // namespace polyad::detail
