// SPDX-License-Identifier: BSD-3-Clause
// The walk over nonzeros that come in the order of their output rows. It is the loop of GenTen's MTTKRP-C
// (section 6, Figure 4), and of all kernels that sum a row in registers and write it once:
//
//   for each nonzero of the thread's chunk, some at a time        WalkInOrder::operator()
//     tmp = x times the other factors' rows                       add(): product[u], Term::begin_product()
//     in the run's row k: sum += tmp                              add(), Term::add()
//     otherwise write row k of the output and begin a new run     change_row(), Writer
//
// Three small classes say what differs between the kernels: where the nonzeros are (a Source), what each adds
// to its row (a Term), and how the sum of a row reaches the output (a Writer).
//
//   kernel of formats/coo/kernels    Source           Term                      Writer
//   mttkrp_permuted.hpp              PermutedSource   MttkrpTerm                AtomicBorders
//   mttkrp_sorted.hpp                SortedSource     MttkrpTerm, HoistedTerm   RowWriter
//   residual_mttkrp.hpp              PermutedSource   ResidualSweepTerm         AtomicBorders
//
// Sources are in formats/coo/storage/nonzero_sources.hpp, writers in formats/coo/storage/border_rows.hpp.
// MttkrpTerm below says what a term offers; the other terms are next to their kernels.
//
// On hosts, long rows of floats are summed in pieces (kernel/piece_sums.hpp).
#pragma once

#include <Kokkos_Core.hpp>

#include "kernel/piece_sums.hpp"
#include "polyad/core/types.hpp"
#include "polyad/kernel/chunk_walk.hpp"
#include "polyad/kernel/row_form.hpp"
#include "polyad/kernel/team_sums.hpp"
#include "polyad/kernel/tiny_vec.hpp"

namespace polyad::detail {

/// The term of the MTTKRP: x times the product of the other factors' rows. A term works on runs: nonzeros
/// that follow each other in one row, and for which continues() holds.
template <class Row, class Index>
struct MttkrpTerm {
  using row_type = Row;
  using Scalar   = typename Row::scalar_type;

  /// The first of the other factors whose rows the walk multiplies for every nonzero. If it is not the very
  /// first one, the functions get that one's index i.
  static constexpr int inner = 0;

  /// What the term keeps while a run lasts.
  struct Run {};

  /// What a nonzero's product begins with.
  [[nodiscard]] KOKKOS_FORCEINLINE_FUNCTION Row begin_product(Scalar x, Index /*i*/, auto const& /*factors*/,
                                                              auto const& /*columns*/) const {
    return Row(x);
  }
  /// Whether a nonzero of the same row belongs to the same run.
  [[nodiscard]] KOKKOS_FORCEINLINE_FUNCTION bool continues(Run const& /*run*/, Index /*i*/) const {
    return true;
  }
  KOKKOS_FORCEINLINE_FUNCTION void begin_run(Run& /*run*/, Index /*row*/, Index /*i*/,
                                             auto const& /*factors*/, auto const& /*columns*/) const {}
  /// Adds what the run has kept to the sum of its row.
  KOKKOS_FORCEINLINE_FUNCTION void end_run(Run& /*run*/, Row& /*sum*/) const {}
  /// Adds the terms of `Count` nonzeros of the run.
  template <int Count>
  KOKKOS_FORCEINLINE_FUNCTION void add(Run& /*run*/, Row& sum, Scalar const* /*x*/, Row const* product,
                                       auto const& /*columns*/) const {
    for (int u = 0; u < Count; ++u) sum += product[u];
  }
};

/// Batch is the number of nonzeros whose rows are gathered at the same time.
template <class Nonzeros, class OtherModes, class RowTerm, class RowSums, int Batch>
struct WalkInOrder {
  using Row    = typename RowTerm::row_type;
  using Scalar = typename Row::scalar_type;
  using Source = Nonzeros;
  using Index  = typename Source::index_type;
  using Term   = RowTerm;
  using Writer = RowSums;
  using Pieces = PieceSums<Row>;

  Source source;
  OtherModes factors;
  Term term;
  Writer writer;

  /// The row at hand.
  struct Current {
    Index row;
    Row sum;
    bool is_first;  // in this chunk
    count_t chunk;
    typename Term::Run run;
  };

  // Forced inline, here and below. GCC 12 did not inline operations on rows of 32 doubles. The sum was then
  // in memory instead of registers, and the MTTKRP two to three times slower (uber, one thread of a 2-core
  // AMD EPYC).
  KOKKOS_FORCEINLINE_FUNCTION void change_row(Current& current, Pieces& pieces, Index row,
                                              auto const& columns) const {
    current.sum = pieces.total(current.sum);
    if (current.is_first || writer.blocked)
      writer.border(current.chunk, 0, current.row, current.sum, columns);
    else
      writer.store(current.row, current.sum, columns);
    current.row      = row;
    current.is_first = false;
    current.sum      = Row(Scalar(0));
  }

  /// Adds the nonzeros at positions p ... p + Count - 1 of the order.
  template <int Count>
  KOKKOS_FORCEINLINE_FUNCTION void add(count_t p, Current& current, Pieces& pieces,
                                       auto const& columns) const {
    auto const at = source.template at<Count>(p);
    Pack<Index, Count> i{};  // indices in the first of the other modes
    if constexpr (Term::inner > 0) i = source.template indices<Count>(at, 0);
    Index row[Count];
    Scalar x[Count];
    Row product[Count];
    for (int u = 0; u < Count; ++u) {
      row[u]     = source.row(at, u);
      x[u]       = source.value(at, u);
      product[u] = term.begin_product(x[u], i.element[u], factors, columns);
    }
    for (int m = Term::inner; m < factors.size(); ++m) {
      auto const k = source.template indices<Count>(at, m);
      for (int u = 0; u < Count; ++u) product[u] *= Row(factors.row(m, k.element[u]), columns);
    }
    bool same = true;  // all belong to the run at hand
    for (int u = 0; u < Count; ++u)
      same = same && row[u] == current.row && term.continues(current.run, i.element[u]);
    if (same) return term.template add<Count>(current.run, current.sum, x, product, columns);
    for (int u = 0; u < Count; ++u) {
      if (row[u] != current.row || !term.continues(current.run, i.element[u])) {
        term.end_run(current.run, current.sum);
        if (row[u] != current.row) change_row(current, pieces, row[u], columns);
        term.begin_run(current.run, row[u], i.element[u], factors, columns);
      }
      term.template add<1>(current.run, current.sum, x + u, product + u, columns);
    }
  }

  /// add_until() for hosts: run by run, with a loop for the nonzeros of a run, in which GCC keeps the sum in
  /// registers. In the loop over all nonzeros it kept it in memory (sorted on uber, R = 24, f64, one core of
  /// an AMD EPYC with AVX2: 12.9 ms, not 6.2).
  KOKKOS_FORCEINLINE_FUNCTION count_t add_runs(count_t p, count_t stop, Current& current, Pieces& pieces,
                                               auto const& columns) const {
    while (p < stop) {
      auto at = source.template at<1>(p);
      Pack<Index, 1> i{};
      if constexpr (Term::inner > 0) i = source.template indices<1>(at, 0);
      Index row = source.row(at, 0);
      if (row != current.row || !term.continues(current.run, i.element[0])) {
        term.end_run(current.run, current.sum);
        if (row != current.row) change_row(current, pieces, row, columns);
        term.begin_run(current.run, row, i.element[0], factors, columns);
      }
      do {
        Scalar const x = source.value(at, 0);
        Row product    = term.begin_product(x, i.element[0], factors, columns);
        for (int m = Term::inner; m < factors.size(); ++m)
          product *= Row(factors.row(m, source.template indices<1>(at, m).element[0]), columns);
        term.template add<1>(current.run, current.sum, &x, &product, columns);
        if (++p == stop) break;
        at = source.template at<1>(p);
        if constexpr (Term::inner > 0) i = source.template indices<1>(at, 0);
        row = source.row(at, 0);
      } while (row == current.row && term.continues(current.run, i.element[0]));
    }
    return p;
  }

  /// Adds the nonzeros at positions p ... stop - 1. Returns `stop`.
  KOKKOS_FORCEINLINE_FUNCTION count_t add_until(count_t p, count_t stop, Current& current, Pieces& pieces,
                                                auto const& columns) const {
    if constexpr (Batch == 1 && Row::form == RowForm::simd) {
      return add_runs(p, stop, current, pieces, columns);
    } else {
      for (; p + Batch <= stop; p += Batch) add<Batch>(p, current, pieces, columns);
      for (; p < stop; ++p) add<1>(p, current, pieces, columns);
      return p;
    }
  }

  /// Walks one chunk. `last` gets the sum of its last row, if the team adds these up (team_sums.hpp).
  template <class Last>
  KOKKOS_FORCEINLINE_FUNCTION void operator()(count_t begin, count_t end, count_t chunk, auto const& columns,
                                              Last const& last) const {
    auto const first = source.template at<1>(begin);
    Index i{};
    if constexpr (Term::inner > 0) i = source.template indices<1>(first, 0).element[0];
    Current current;
    current.row      = source.row(first, 0);
    current.sum      = Row(Scalar(0));
    current.is_first = true;
    current.chunk    = chunk;
    term.begin_run(current.run, current.row, i, factors, columns);
    Pieces pieces;
    count_t p = begin;
    // Without pieces the loop is a plain one: the other one needed four more registers on a device, and the
    // residual sweep took 1.2 times as long (doubles, R = 16).
    if constexpr (Pieces::is_used) {
      while (true) {
        p = add_until(p, Pieces::piece_end(p, end), current, pieces, columns);
        if (p == end) break;
        term.end_run(current.run, current.sum);
        current.sum = pieces.take(current.sum);
      }
    } else {
      add_until(p, end, current, pieces, columns);
    }
    term.end_run(current.run, current.sum);
    current.sum = pieces.total(current.sum);
    if constexpr (Last::is_wanted)
      last.leave(current.row, current.sum, columns);
    else
      writer.last(chunk, current.is_first, current.row, current.sum, columns);
  }
};

/// The kernel of an MTTKRP: the chunks of ChunkWalk, walked in order. With Together, the threads of a team
/// add up the sums of their last rows.
template <class Walk, bool Together>
struct MttkrpInOrder {
  using Row    = typename Walk::Row;
  using Scalar = typename Walk::Scalar;

  Walk walk;
  ChunkWalk chunks;

  template <class Member>
  KOKKOS_FUNCTION void operator()(Member const& member) const {
    walk_with_team_sums<Together, Row, Row::block, typename Walk::Index>(
        chunks, member, walk.writer.output.data, walk.writer.output.stride,
        [&](count_t begin, count_t end, Columns columns, auto const& last) {
          with_cut_columns<Row>(columns,
                                [&](auto const& own) { walk(begin, end, begin / chunks.chunk, own, last); });
        });
  }
};

}  // namespace polyad::detail
