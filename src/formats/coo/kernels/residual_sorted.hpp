// SPDX-License-Identifier: BSD-3-Clause
// The kernel of the residual sweep on `sorted` (formats/coo/kernels/residual_mttkrp.hpp):
//
//   for each nonzero of the thread's chunk, k its row in the mode   walk()
//     p = the product of the other modes' rows of C                 add(): product[u]
//     e = x - p . C(k, :)                                           add(): e[u], a sum over the lanes
//     sum += e p; where k changes, G(k, :) is written               add()
//
// It has a walk of its own. With WalkInOrder, which loads rows and values before the products, the sweep took
// 1.07 times as long in floats and 1.06 times in doubles on an H200, and 1.24 times on uber in floats
// (R = 16 and 20). `coo-permuted` gains by it: 0.85.
#pragma once

#include <Kokkos_Core.hpp>

#include "formats/coo/storage/border_rows.hpp"
#include "formats/coo/storage/nonzero_sources.hpp"
#include "kernel/launch_shape.hpp"
#include "kernel/piece_sums.hpp"
#include "kernel/rows_at.hpp"
#include "polyad/core/types.hpp"
#include "polyad/kernel/chunk_walk.hpp"
#include "polyad/kernel/lanes.hpp"
#include "polyad/kernel/row_form.hpp"
#include "polyad/kernel/team_sums.hpp"
#include "polyad/kernel/whole_row_walk.hpp"

namespace polyad::detail {

/// Nonzeros that a residual sweep gathers at the same time. Two were best on the H200, because of the
/// registers (four for the plain MTTKRP).
template <class Space>
inline constexpr int residual_batch = rows_in_flight<Space>(2);

/// The kernel of a residual sweep: `walk` for the chunks of this thread. All lanes take part, since they sum
/// residuals together. With Together, the threads of a team add up the sums of their last rows.
/// \param walk  (begin, end, lane, last)
template <class Row, class Index, bool Together, class Member, class Output, class Walk>
KOKKOS_FORCEINLINE_FUNCTION void walk_residuals(Member const& member, WholeRowWalk const& chunks, int rank,
                                                Output const& output, Walk const& walk) {
  auto const walk_chunk = [&](auto const& last) {
    chunks.template operator()<Row>(
        member, [&](count_t begin, count_t end, int lane) { walk(begin, end, lane, last); });
  };
  if constexpr (Together)
    walk_with_team_sum<Row, Row::block, Index>(member, chunks.first_of(member) < chunks.nnz, {0, rank},
                                               output.data, output.stride, walk_chunk);
  else
    walk_chunk(NoTeamSum{});
}

template <class Vec, class Index, int Order, bool Together>
struct ResidualSorted {
  using Row        = Vec;
  using Scalar     = typename Row::scalar_type;
  using index_type = Index;

  static constexpr int batch = residual_batch<typename Row::space_type>;

  using Pieces = PieceSums<Row>;

  SortedSource<Scalar, Index> source;
  RowsAt<Scalar> C;  // the output mode's, I_n x R
  OtherFactors<Scalar, Order> factors;
  RowWriter<Row, Scalar, Index> writer;
  int rank;
  WholeRowWalk chunks;

  struct Run {
    Index row;
    Row c;    // C(row, :)
    Row sum;  // residuals times products, summed so far
    bool is_first;
  };

  KOKKOS_FORCEINLINE_FUNCTION void start(Run& run, Index row, Columns columns) const {
    run.row = row;
    run.c   = Row(C.row(row), columns);
    run.sum = Row(Scalar(0));
  }
  KOKKOS_FORCEINLINE_FUNCTION void add_one(Run& run, Scalar x, Row const& product, Columns columns) const {
    run.sum.multiply_add(x - sum_over_lanes<Row::lanes>(product.dot(run.c, columns)), product);
  }

  template <int Count>
  KOKKOS_FORCEINLINE_FUNCTION void add(count_t p, Run& run, Pieces& pieces, count_t chunk,
                                       Columns columns) const {
    auto const at = source.template at<Count>(p);
    Row product[Count];
    auto const first = source.template indices<Count>(at, 0);
    for (int u = 0; u < Count; ++u) product[u] = Row(factors.row(0, first.element[u]), columns);
    for (int m = 1; m < factors.size(); ++m) {
      auto const k = source.template indices<Count>(at, m);
      for (int u = 0; u < Count; ++u) product[u] *= Row(factors.row(m, k.element[u]), columns);
    }
    bool same = true;
    for (int u = 0; u < Count; ++u) same = same && source.row(at, u) == run.row;
    if (same) {
      // The sums over the lanes for several nonzeros overlap.
      Scalar e[Count];
      for (int u = 0; u < Count; ++u)
        e[u] = source.value(at, u) - sum_over_lanes<Row::lanes>(product[u].dot(run.c, columns));
      for (int u = 0; u < Count; ++u) run.sum.multiply_add(e[u], product[u]);
      return;
    }
    for (int u = 0; u < Count; ++u) {
      if (source.row(at, u) != run.row) {
        run.sum = pieces.total(run.sum);
        if (run.is_first || writer.blocked)
          writer.border(chunk, 0, run.row, run.sum, columns);
        else
          writer.store(run.row, run.sum, columns);
        run.is_first = false;
        start(run, source.row(at, u), columns);
      }
      add_one(run, source.value(at, u), product[u], columns);
    }
  }

  template <class Last>
  KOKKOS_FUNCTION void walk(count_t begin, count_t end, int lane, Last const& last) const {
    Columns const columns = columns_or_none<Row>(0, rank, lane);
    count_t const chunk   = begin / chunks.chunk;
    Run run;
    run.is_first = true;
    start(run, source.row(begin), columns);
    Pieces pieces;
    count_t p = begin;
    // Without pieces the loop is a plain one: the other one needed four more registers on a device, and the
    // sweep took 1.2 times as long (doubles, R = 16).
    auto const add_until = [&](count_t stop) {
      for (; p + batch <= stop; p += batch) add<batch>(p, run, pieces, chunk, columns);
      for (; p < stop; ++p) add<1>(p, run, pieces, chunk, columns);
    };
    if constexpr (Pieces::is_used) {
      while (true) {
        add_until(Pieces::piece_end(p, end));
        if (p == end) break;
        run.sum = pieces.take(run.sum);
      }
    } else {
      add_until(end);
    }
    run.sum = pieces.total(run.sum);
    if constexpr (Last::is_wanted)
      last.leave(run.row, run.sum, columns);
    else
      writer.last(chunk, run.is_first, run.row, run.sum, columns);
  }

  template <class Member>
  KOKKOS_FUNCTION void operator()(Member const& member) const {
    walk_residuals<Row, Index, Together>(
        member, chunks, rank, writer.output,
        [&](count_t begin, count_t end, int lane, auto const& last) { walk(begin, end, lane, last); });
  }
};

}  // namespace polyad::detail
