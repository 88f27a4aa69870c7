// SPDX-License-Identifier: BSD-3-Clause
// The MTTKRP of a sorted copy: GenTen's MTTKRP-C (section 6) on streams in place of a permutation.
//
//   for each nonzero p of the thread's chunk, a pack at a time    WalkInOrder
//     tmp = x times the other factors' rows                       SortedSource, MttkrpTerm
//     in the run's row k: sum += tmp                              MttkrpTerm
//     otherwise write V(k, :) and begin the next row              RowWriter
//
// The loop itself is in formats/walks/walk_in_order.hpp, and is also that of mttkrp_permuted.hpp.
//
// With the strategy HoistRuns (sorted_tuning.hpp) the first of the other factors is left out of tmp. Its row
// h is the same for a run of nonzeros, so it is multiplied once per run: sum += h * run_sum (HoistedTerm).
// This is the reuse of a fiber's row in SPLATT and CSF, without a tree.
//
// The rows inside a chunk are stored plainly. Its first and its last row are shared with other chunks
// (border_rows.hpp). If rows are long, the team's threads first add up their last rows (team_sums.hpp). With
// locality blocks every row is shared, since it occurs in several blocks. On hosts, long rows of floats are
// summed in pieces (kernel/piece_sums.hpp). Bytes per nonzero: s_r + N s_o streamed and (N - 1) R s_r
// gathered, (N - 2) R s_r with runs. Flops: N R.
#pragma once

#include <Kokkos_Core.hpp>

#include "formats/coo/costs/sorted_tuning.hpp"
#include "formats/coo/storage/border_rows.hpp"
#include "formats/coo/storage/nonzero_sources.hpp"
#include "formats/coo/storage/sorted.hpp"
#include "formats/walks/cleared_rows.hpp"
#include "formats/walks/walk_in_order.hpp"
#include "kernel/launch.hpp"
#include "kernel/launch_shape.hpp"
#include "polyad/core/instances.hpp"
#include "polyad/kernel/chunk_walk.hpp"
#include "polyad/kernel/other_factors.hpp"
#include "polyad/kernel/row_form.hpp"
#include "polyad/kernel/team_sums.hpp"
#include "polyad/kernel/tiny_vec.hpp"

namespace polyad::detail {

/// The term with HoistRuns: the nonzeros of a run share h, which is multiplied once, at the end of the run.
template <class Row, class Index>
struct HoistedTerm {
  using row_type             = Row;
  using Scalar               = typename Row::scalar_type;
  static constexpr int inner = 1;

  struct Run {
    Index i;  // index in the first of the other modes
    Row h;    // its row of the factor
    Row sum;  // the run's products, added up without h
  };

  [[nodiscard]] KOKKOS_FORCEINLINE_FUNCTION Row begin_product(Scalar x, Index /*i*/, auto const& /*factors*/,
                                                              auto const& /*columns*/) const {
    return Row(x);
  }
  [[nodiscard]] KOKKOS_FORCEINLINE_FUNCTION bool continues(Run const& run, Index i) const {
    return i == run.i;
  }
  KOKKOS_FORCEINLINE_FUNCTION void begin_run(Run& run, Index /*row*/, Index i, auto const& factors,
                                             auto const& columns) const {
    run.i   = i;
    run.h   = Row(factors.row(0, i), columns);
    run.sum = Row(Scalar(0));
  }
  KOKKOS_FORCEINLINE_FUNCTION void end_run(Run& run, Row& sum) const {
    sum.multiply_add(run.h, run.sum);
    run.sum = Row(Scalar(0));
  }
  template <int Count>
  KOKKOS_FORCEINLINE_FUNCTION void add(Run& run, Row& /*sum*/, Scalar const* /*x*/, Row const* product,
                                       auto const& /*columns*/) const {
    for (int u = 0; u < Count; ++u) run.sum += product[u];
  }
};

/// The walk of a copy, by a strategy of sorted_tuning.hpp.
template <class Row, class Index, int Order, class Strategy, class Scalar = typename Row::scalar_type>
using SortedWalk =
    WalkInOrder<SortedSource<Scalar, Index>, OtherFactors<Scalar, Order>,
                std::conditional_t<Strategy::hoists, HoistedTerm<Row, Index>, MttkrpTerm<Row, Index>>,
                RowWriter<Row, Scalar, Index>, Strategy::batch>;

/// The number of teams on a multiprocessor for which the compiler must leave registers. Without this bound it
/// overlaps fewer gathers than fit (delicious: f32 6.98 ms, with four 6.58; f64 15.1, with six 12.9).
template <class Scalar, int Order>
using SortedBounds = Kokkos::LaunchBounds<device_team_threads, Order == 3 || sizeof(Scalar) == 8 ? 6 : 4>;

/// One launch over a copy, for several blocks of columns. In locality blocks rows are short, and there are no
/// team sums.
template <class Row, int Order, class Space, class Scalar, class Index>
void launch_sorted(Space const& space, SortedCopy<Scalar, Index, Space> const& copy, ChunkWalk const& chunks,
                   FactorMatrices<Scalar, Space> const& factors,
                   RowWriter<Row, Scalar, Index> const& writer) {
  bool const adds      = copy.borders != Borders::merge && copy.block_rows == 0;
  count_t const adding = adds ? ceil_div(copy.nnz, copy.chunk) : 0;
  SortedTuning<Space, Scalar>::template with_strategy<Row>(copy.hoist, [&](auto strategy) {
    with_team_sums<Space, Scalar>(adding, copy.rows, [&](auto together) {
      using Walk = SortedWalk<Row, Index, Order, decltype(strategy)>;
      launch_with_local_copy(
          "polyad::mttkrp_sorted",
          policy_with_team_sums<together(), Row, Row::block, Scalar, Index, SortedBounds<Scalar, Order>>(
              space, chunks),
          MttkrpInOrder<Walk, together()>{
              {SortedSource(copy), OtherFactors<Scalar, Order>(factors, copy.modes), {}, writer}, chunks});
    });
  });
}

/// The contract's mttkrp (formats/format.hpp).
template <class Space, class Scalar, class Index>
void mttkrp(Space const& space, Sorted<Scalar, Index, Space> const& X,
            FactorMatrices<Scalar, Space> const& factors, int mode,
            SortedWorkspace<Scalar, Index, Space>& workspace, FactorMatrix<Scalar, Space> const& V) {
  expect_mttkrp_arguments(X.extents(), factors, mode, V);
  workspace.made_for.expect(X.identity(), factors.rank(), X.name);
  if (X.permuted()) {
    NoWorkspace none;
    return mttkrp(space, *X.permuted(), factors, mode, none, V);
  }
  auto const& copy = X.copy(mode);
  if (X.nnz() == 0) return zero_matrix(space, V);
  bool const merge = copy.borders == Borders::merge;
  detail::BorderList<Scalar, Index> borders{nullptr, nullptr, 0};
  if (merge) borders = {workspace.rows.data(), workspace.sums.data(), workspace.sums.stride(0)};
  constexpr bool any_order_only = sizeof(Index) == 8;
  for_each_kernel_shape<Scalar, any_order_only>(
      X.extents().order(), factors.rank(), [&](auto order, auto block, ColumnBlocks blocks) {
        using Row = TinyVec<Space, Scalar, block()>;
        clear_rows<Space, Scalar, Index, block()>(space, copy.cleared, blocks, V);
        ChunkWalk const walk{copy.nnz, copy.chunk, blocks, walk_by_block(X.extents(), mode, factors, blocks)};
        launch_sorted<Row, order()>(
            space, copy, walk, factors,
            RowWriter<Row, Scalar, Index>{RowsAt<Scalar>(V), borders, copy.block_rows > 0});
        if (merge)
          merge_borders<Space, Scalar, Index, block()>(space, workspace, ceil_div(copy.nnz, copy.chunk),
                                                       blocks, V);
      });
}

}  // namespace polyad::detail
