// SPDX-License-Identifier: BSD-3-Clause
// MTTKRP-C (GenTen, section 6, Figure 4). A permutation visits the nonzeros in the order of the output mode's
// index. A row's products are summed in registers, and the row is written once.
//
//   for each position p of the thread's chunk, some at a time     WalkInOrder
//     i = permutation(p)                                          PermutedSource
//     tmp = x_i times A^(m)(i_m, :) for each other mode m         MttkrpTerm
//     where i is still in the run's row k: sum += tmp             MttkrpTerm
//     otherwise write V(k, :) and begin a new run                 AtomicBorders
//       inside the chunk: a plain store
//       the chunk's first and last row: with atomics, since neighbours add to them too
//
// The loop itself is in formats/walks/walk_in_order.hpp, which is worth reading next to the paper's figure.
//
// If rows are long, the threads of a team first add up the sums of their last rows (team_sums.hpp). On hosts,
// long rows of floats are summed in pieces (kernel/piece_sums.hpp). Bytes per nonzero: s_o for the
// permutation; s_r + N s_o for the nonzero itself, scattered, so whole 32-byte sectors on a GPU; (N - 1) R
// s_r for the gathered rows, which dominate. Flops: N R.
#pragma once

#include <Kokkos_Core.hpp>

#include "formats/coo/storage/border_rows.hpp"
#include "formats/coo/storage/coo_permuted.hpp"
#include "formats/coo/storage/nonzero_sources.hpp"
#include "formats/walks/walk_in_order.hpp"
#include "kernel/launch.hpp"
#include "kernel/launch_shape.hpp"
#include "kernel/rows_at.hpp"
#include "polyad/core/instances.hpp"
#include "polyad/kernel/chunk_walk.hpp"
#include "polyad/kernel/other_factors.hpp"
#include "polyad/kernel/row_form.hpp"
#include "polyad/kernel/team_sums.hpp"
#include "polyad/kernel/tiny_vec.hpp"

namespace polyad::detail {

/// Nonzeros whose rows are gathered at the same time. Four was best on the H200. Eight always lost, because
/// of the registers.
template <class Space>
inline constexpr int permuted_batch = rows_in_flight<Space>(4);

template <class Row, class Index, int Order, class Scalar = typename Row::scalar_type>
using PermutedWalk =
    WalkInOrder<PermutedSource<Scalar, Index, Order>, OtherFactors<Scalar, Order>, MttkrpTerm<Row, Index>,
                AtomicBorders<Row, Scalar>, permuted_batch<typename Row::space_type>>;

/// One launch, for several blocks of columns.
template <class Row, int Order, class Space, class Scalar, class Index>
void launch_permuted(Space const& space, CooPermuted<Scalar, Index, Space> const& X,
                     FactorMatrices<Scalar, Space> const& factors, int mode, ColumnBlocks blocks,
                     FactorMatrix<Scalar, Space> const& V) {
  ChunkWalk const chunks{X.nnz(), chunk_length(space, X.nnz(), Row::lanes), blocks};
  with_team_sums<Space, Scalar, Row::form>(
      ceil_div(chunks.items, chunks.chunk), X.extents()[mode], [&](auto together) {
        using Walk = PermutedWalk<Row, Index, Order>;
        launch_with_local_copy(
            "polyad::mttkrp_permuted",
            policy_with_team_sums<together(), Row, Row::block, Scalar, Index>(space, chunks),
            MttkrpInOrder<Walk, together()>{{typename Walk::Source(X, mode),
                                             OtherFactors<Scalar, Order>(factors, mode),
                                             {},
                                             {RowsAt<Scalar>(V)}},
                                            chunks});
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

#define POLYAD_MTTKRP_PERMUTED(Scalar, Index)                                                  \
  template void mttkrp(CompiledSpace const&, CooPermuted<Scalar, Index, CompiledSpace> const&, \
                       FactorMatrices<Scalar, CompiledSpace> const&, int, NoWorkspace&,        \
                       FactorMatrix<Scalar, CompiledSpace> const&, bool)

}  // namespace polyad::detail
