// SPDX-License-Identifier: BSD-3-Clause
// The MTTKRP of a sorted copy: GenTen's MTTKRP-C (section 6) on streams in place of a permutation.
//
//   for each nonzero p of the thread's chunk, a pack at a time    walk()
//     tmp = x times the other factors' rows                       add(): product[u]
//     in the run's row k: sum += tmp                              add(), add_product()
//     otherwise write V(k, :) and begin the next row              change_row()
//
// With the strategy HoistRuns (sorted_tuning.hpp) the first of the other factors is left out of tmp. Its row
// h is the same for a run of nonzeros, so it is multiplied once per run: sum += h * run_sum, in
// add_product(). This is the reuse of a fiber's row in SPLATT and CSF, without a tree.
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
#include "formats/coo/storage/sorted.hpp"
#include "formats/walks/cleared_rows.hpp"
#include "kernel/launch.hpp"
#include "kernel/launch_shape.hpp"
#include "kernel/piece_sums.hpp"
#include "polyad/core/instances.hpp"
#include "polyad/kernel/chunk_walk.hpp"
#include "polyad/kernel/other_factors.hpp"
#include "polyad/kernel/row_form.hpp"
#include "polyad/kernel/team_sums.hpp"
#include "polyad/kernel/tiny_vec.hpp"

namespace polyad::detail {

template <class Vec, class Index, int Order, class Strategy, bool Together>
struct MttkrpSorted {
  using Row                   = Vec;
  using Scalar                = typename Row::scalar_type;
  static constexpr int Batch  = Strategy::batch;
  static constexpr bool Hoist = Strategy::hoists;

  /// The number of teams on a multiprocessor for which the compiler must leave registers. Without this bound
  /// it overlaps fewer gathers than fit (delicious: f32 6.98 ms, with four 6.58; f64 15.1, with six 12.9).
  static constexpr int teams = Order == 3 || sizeof(Scalar) == 8 ? 6 : 4;
  /// The first factor that is multiplied for every nonzero. The one before it is multiplied once per run.
  static constexpr int inner = Hoist ? 1 : 0;
  using Pieces               = PieceSums<Row>;

  Index const* indices;  // N x P, row-major
  count_t index_stride;
  Scalar const* values;
  OtherFactors<Scalar, Order> factors;
  RowWriter<Row, Scalar, Index> writer;
  ChunkWalk chunks;

  struct Run {
    Index row;
    Row sum;
    bool is_first;
    Index hoisted_index;
    Row hoisted;  // the factor's row at hoisted_index
    Row run_sum;  // over the nonzeros with this row and this hoisted_index
  };

  // Forced inline, here and below. GCC 12 did not inline operations on rows of 32 doubles. The run was then
  // in memory instead of registers, and the MTTKRP two to three times slower (uber, one thread of a 2-core
  // AMD EPYC).
  KOKKOS_FORCEINLINE_FUNCTION void start_run(Run& run, Index index, auto const& columns) const {
    run.hoisted_index = index;
    run.hoisted       = Row(factors.row(0, index), columns);
    run.run_sum       = Row(Scalar(0));
  }

  KOKKOS_FORCEINLINE_FUNCTION void change_row(Run& run, Pieces& pieces, Index row, count_t chunk,
                                              auto const& columns) const {
    run.sum = pieces.total(run.sum);
    if (run.is_first || (!Hoist && writer.blocked))
      writer.border(chunk, 0, run.row, run.sum, columns);
    else
      writer.store(run.row, run.sum, columns);
    run.row      = row;
    run.is_first = false;
    run.sum      = Row(Scalar(0));
  }

  /// Adds one product to the sum it belongs to.
  KOKKOS_FORCEINLINE_FUNCTION void add_product(Run& run, Pieces& pieces, Index row, Index index,
                                               Row const& product, count_t chunk, auto const& columns) const {
    if constexpr (Hoist) {
      if (row != run.row || index != run.hoisted_index) {
        run.sum.multiply_add(run.hoisted, run.run_sum);
        if (row != run.row) change_row(run, pieces, row, chunk, columns);
        start_run(run, index, columns);
      }
      run.run_sum += product;
    } else {
      if (row != run.row) change_row(run, pieces, row, chunk, columns);
      run.sum += product;
    }
  }

  /// Adds the nonzeros p ... p + Count - 1.
  template <int Count>
  KOKKOS_FORCEINLINE_FUNCTION void add(count_t p, Run& run, Pieces& pieces, count_t chunk,
                                       auto const& columns) const {
    using Indices  = Pack<Index, Count>;
    auto const row = *reinterpret_cast<Indices const*>(indices + p);
    auto const x   = *reinterpret_cast<Pack<Scalar, Count> const*>(values + p);
    Indices index{};
    if constexpr (Hoist) index = *reinterpret_cast<Indices const*>(indices + index_stride + p);
    Row product[Count];
    for (int u = 0; u < Count; ++u) product[u] = Row(x.element[u]);
    for (int m = inner; m < factors.size(); ++m) {
      auto const k = *reinterpret_cast<Indices const*>(indices + (m + 1) * index_stride + p);
      for (int u = 0; u < Count; ++u) product[u] *= Row(factors.row(m, k.element[u]), columns);
    }
    bool same = true;  // all belong to the run at hand
    for (int u = 0; u < Count; ++u)
      same = same && row.element[u] == run.row && (!Hoist || index.element[u] == run.hoisted_index);
    if (same) {
      for (int u = 0; u < Count; ++u) (Hoist ? run.run_sum : run.sum) += product[u];
    } else {
      for (int u = 0; u < Count; ++u)
        add_product(run, pieces, row.element[u], index.element[u], product[u], chunk, columns);
    }
  }

  template <class Last>
  KOKKOS_FORCEINLINE_FUNCTION void walk(count_t begin, count_t end, auto const& columns,
                                        Last const& last) const {
    count_t const chunk = begin / chunks.chunk;
    Run run;
    run.row      = indices[begin];
    run.sum      = Row(Scalar(0));
    run.is_first = true;
    if constexpr (Hoist) start_run(run, indices[index_stride + begin], columns);
    Pieces pieces;
    count_t p = begin;
    while (p < end) {
      count_t const piece_end = Pieces::piece_end(p, end);
      for (; p + Batch <= piece_end; p += Batch) add<Batch>(p, run, pieces, chunk, columns);
      for (; p < piece_end; ++p) add<1>(p, run, pieces, chunk, columns);
      if (!Pieces::is_used || p == end) break;
      if constexpr (Hoist) {
        run.sum.multiply_add(run.hoisted, run.run_sum);
        run.run_sum = Row(Scalar(0));
      }
      run.sum = pieces.take(run.sum);
    }
    if constexpr (Hoist) run.sum.multiply_add(run.hoisted, run.run_sum);
    run.sum = pieces.total(run.sum);
    if constexpr (Last::is_wanted)
      last.leave(run.row, run.sum, columns);
    else
      writer.last(chunk, run.is_first, run.row, run.sum, columns);
  }

  template <class Member>
  KOKKOS_FUNCTION void operator()(Member const& member) const {
    walk_with_team_sums<Together, Row, Row::block, Index>(
        chunks, member, writer.output.data, writer.output.stride,
        [&](count_t begin, count_t end, Columns columns, auto const& last) {
          with_cut_columns<Row>(columns, [&](auto const& own) { walk(begin, end, own, last); });
        });
  }
};

/// One launch over a copy, for several blocks of columns. In locality blocks rows are short, and there are no
/// team sums.
template <class Row, int Order, class Space, class Scalar, class Index>
void launch_sorted(Space const& space, SortedCopy<Scalar, Index, Space> const& copy, ChunkWalk const& walk,
                   FactorMatrices<Scalar, Space> const& factors,
                   RowWriter<Row, Scalar, Index> const& writer) {
  bool const adds      = copy.borders != Borders::merge && copy.block_rows == 0;
  count_t const adding = adds ? ceil_div(copy.nnz, copy.chunk) : 0;
  SortedTuning<Space, Scalar>::template with_strategy<Row>(copy.hoist, [&](auto strategy) {
    with_team_sums<Space, Scalar>(adding, copy.rows, [&](auto together) {
      using Kernel = MttkrpSorted<Row, Index, Order, decltype(strategy), together()>;
      using Bounds = Kokkos::LaunchBounds<device_team_threads, Kernel::teams>;
      launch_with_local_copy(
          "polyad::mttkrp_sorted",
          policy_with_team_sums<together(), Row, Row::block, Scalar, Index, Bounds>(space, walk),
          Kernel{copy.indices.data(), copy.indices.stride(0), copy.values.data(),
                 OtherFactors<Scalar, Order>(factors, copy.modes), writer, walk});
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

#define POLYAD_MTTKRP_SORTED(Scalar, Index)                                               \
  template void mttkrp(Kokkos::DefaultExecutionSpace const&,                              \
                       Sorted<Scalar, Index, Kokkos::DefaultExecutionSpace> const&,       \
                       FactorMatrices<Scalar, Kokkos::DefaultExecutionSpace> const&, int, \
                       SortedWorkspace<Scalar, Index, Kokkos::DefaultExecutionSpace>&,    \
                       FactorMatrix<Scalar, Kokkos::DefaultExecutionSpace> const&)

}  // namespace polyad::detail
