// SPDX-License-Identifier: BSD-3-Clause
// The strategy AltoPrivateRows of the format alto (formats/blco/costs/blco_tuning.hpp): its MTTKRP and its
// residual sweep, which is the same walk with another term (formats/blco/kernels/nonzero_terms.hpp).
//
//   for each group g of the thread's chunk                        walk()
//     h = the product of the grouped modes' rows                  walk(): hoisted, or at last group_sum
//     where the output's mode is not grouped:
//       for each nonzero p, k its row: V(k, :) += x * h * tmp     add_term(); tmp: the other modes' rows
//     where it is grouped, k the group's row:
//       sum += x * tmp for each nonzero, in registers             add_term(), group_sum
//       V(k, :) += h * sum
//
// For every nonzero a row of V is read, added to and written. In this order the row is in cache. Summing runs
// of equal rows in registers first cost 15 to 30 %. Rows that other chunks write too go to the chunk's own
// copies (formats/blco/storage/private_rows.hpp), which are added to V at the end. If there would be too many
// copies, the mode has none, and every addition to V locks its row (kernel/row_locks.hpp).
//
// Floats are summed in pieces. Where a row has taken enough terms, the walk stops, inside a group too, and
// moves the row into doubles (formats/blco/storage/long_row_stops.hpp).
//
// Bytes per nonzero, G modes being grouped: s_r + (N - G) s_o streamed and (N + 1) R s_r from and to cache.
// Flops: N R.
#pragma once

#include <Kokkos_Core.hpp>

#include "formats/blco/kernels/merge/merge_long_rows.hpp"
#include "formats/blco/kernels/merge/private_output.hpp"
#include "formats/blco/kernels/nonzero_terms.hpp"
#include "formats/blco/storage/alto.hpp"
#include "formats/blco/storage/long_row_stops.hpp"
#include "formats/blco/storage/private_rows.hpp"
#include "kernel/launch.hpp"
#include "kernel/prefetch.hpp"
#include "kernel/row_locks.hpp"
#include "kernel/rows_at.hpp"
#include "polyad/core/error.hpp"
#include "polyad/core/instances.hpp"
#include "polyad/core/types.hpp"
#include "polyad/formats/format.hpp"
#include "polyad/kernel/chunk_walk.hpp"
#include "polyad/kernel/other_factors.hpp"
#include "polyad/kernel/rank_dispatch.hpp"
#include "polyad/kernel/row_form.hpp"
#include "polyad/kernel/tiny_vec.hpp"
#include "polyad/kernel/unrolled.hpp"
#include "polyad/tensor/factor_matrices.hpp"

namespace polyad::detail {

/// The destination of a chunk's products.
enum class AltoTarget {
  rows,           // a row for every nonzero; no modes are grouped
  rows_of_group,  // the same; the product of the grouped modes' rows is the same for a whole group
  group           // one row a group
};

/// A factor and the index of its row for every nonzero, or every group.
template <class Scalar, class Index>
struct AltoFactor {
  RowsAt<Scalar> matrix;
  Index const* indices;
  [[nodiscard]] KOKKOS_FORCEINLINE_FUNCTION Scalar const* row(count_t i) const {
    return matrix.row(indices[i]);
  }
};

/// Up to max_order of them.
template <class Scalar, class Index>
struct AltoFactors {
  AltoFactor<Scalar, Index> factor[max_order];
  int count = 0;
  void append(AltoFactor<Scalar, Index> const& another) { factor[count++] = another; }
};

inline constexpr int any_inner = -1;

/// The loop over a chunk. Each kind has its own code. The compiler runs out of registers for the careful
/// loop: used for all chunks, it made every nonzero a quarter slower (uber, R = 16).
enum class AltoLoop {
  whole,        // whole blocks of columns, rows alike
  cut,          // a block that is cut off at column R, roomy rows alike; terms are zeros right of it
  careful,      // anything: rows of which some are private, locks
  careful_cut,  // the same with roomy rows, which are written whole as by `cut`
};

[[nodiscard]] constexpr bool is_careful(AltoLoop loop) {
  return loop == AltoLoop::careful || loop == AltoLoop::careful_cut;
}
[[nodiscard]] constexpr bool writes_padding(AltoLoop loop) {
  return loop == AltoLoop::cut || loop == AltoLoop::careful_cut;
}

/// \tparam Vec    a block's columns; a walk over fewer has a shorter Row
/// \tparam Inner  the number of factors read for every nonzero, or any_inner
template <class Vec, class Index, int Inner, AltoTarget Target, class Term>
struct MttkrpAltoPrivate {
  using Scalar = typename Vec::scalar_type;

  /// Nonzeros between a prefetch and the use of its rows.
  static constexpr count_t ahead = 8;
  static_assert(ahead <= alto_padding);

  AltoFactors<Scalar, Index> inner;  // read for every nonzero
  AltoFactors<Scalar, Index> outer;  // read for every group
  Index const* rows;                 // output rows: for every nonzero, or for every group
  Scalar const* values;
  Index const* starts;        // where groups start
  Index const* first_groups;  // the first group of each chunk
  PrivateOutput<Scalar> output;
  LongRowSums<Scalar> long_rows;
  RowLocks locks;
  bool prefetch;
  ChunkWalk walks;  // over the chunks
  Term term;

  [[nodiscard]] KOKKOS_FORCEINLINE_FUNCTION int inner_count() const {
    if constexpr (Inner == any_inner)
      return inner.count;
    else
      return Inner;
  }

  /// sum += x * the inner factors' rows of nonzero p (* hoisted)
  template <class Row, class SomeColumns>
  KOKKOS_FORCEINLINE_FUNCTION void add_product(Row& sum, count_t p, Row const& hoisted,
                                               SomeColumns const& columns) const {
    constexpr bool times_hoisted = Target == AltoTarget::rows_of_group;
    int const count              = inner_count();
    Scalar const x               = values[p];
    if (count == 0) {
      if constexpr (times_hoisted)
        sum.multiply_add(x, hoisted);
      else
        sum += Row(x);
    } else if (count == 1 && !times_hoisted) {
      sum.multiply_add(x, Row(inner.factor[0].row(p), columns));
    } else {
      Row product(x);
      int const multiplied = times_hoisted ? count : count - 1;
      for (int m = 0; m < multiplied; ++m) product *= Row(inner.factor[m].row(p), columns);
      if constexpr (times_hoisted)
        sum.multiply_add(product, hoisted);
      else
        sum.multiply_add(product, Row(inner.factor[count - 1].row(p), columns));
    }
  }

  /// sum += e p for nonzero p of row k. If the whole group adds to one row, `hoisted` is that row of C times
  /// the group's rows. The sum is then multiplied by the group's rows at the end.
  template <class Row, class SomeColumns>
  KOKKOS_FORCEINLINE_FUNCTION void add_residual(Row& sum, count_t p, Index k, Row const& hoisted,
                                                SomeColumns const& columns) const {
    Row product = Target == AltoTarget::rows_of_group ? hoisted : Row(Scalar(1));
    for (int m = 0; m < inner_count(); ++m) product *= Row(inner.factor[m].row(p), columns);
    Row const own = Target == AltoTarget::group ? hoisted : Row(term.row(k), columns);
    sum.multiply_add(values[p] - sum_over_lanes<Row::lanes>(product.dot(own, columns)), product);
  }
  template <class Row, class SomeColumns>
  KOKKOS_FORCEINLINE_FUNCTION void add_term(Row& sum, count_t p, [[maybe_unused]] Index k, Row const& hoisted,
                                            SomeColumns const& columns) const {
    if constexpr (Term::is_residual)
      add_residual(sum, p, k, hoisted, columns);
    else
      add_product(sum, p, hoisted, columns);
  }

  template <class Row, AltoLoop Loop, class SomeColumns>
  KOKKOS_FORCEINLINE_FUNCTION void walk(count_t s, PrivateRows const& own, SomeColumns const& columns) const {
    constexpr bool careful      = is_careful(Loop);
    constexpr bool with_padding = writes_padding(Loop);
    RowsAt<Scalar> const target = output.alike(own);  // unless careful
    auto const row_of           = [&](Index row) {
      if constexpr (careful)
        return output.row(own, row);
      else
        return target.row(row);
    };
    count_t const chunk_end = starts[first_groups[s + 1]];
    count_t const last_stop = long_rows.begin(s + 1);
    count_t g               = first_groups[s];
    count_t p               = starts[g];
    for (count_t stop = long_rows.begin(s);; ++stop) {
      count_t const piece_end = stop < last_stop ? long_rows.stops[stop].end : chunk_end;
      while (p < piece_end) {
        count_t const group_end = starts[g + 1];
        count_t const end       = Kokkos::min(group_end, piece_end);
        Row hoisted(Scalar(1));  // rows_of_group: the product of the group's rows; of a residual also C(k, :)
        Row group_sum(Scalar(0));
        if constexpr (Target == AltoTarget::group && Term::is_residual)
          hoisted = Row(term.row(rows[g]), columns);
        if constexpr (Target == AltoTarget::rows_of_group || Term::is_residual)
          for (int m = 0; m < outer.count; ++m) hoisted *= Row(outer.factor[m].row(g), columns);
        for (; p < end; ++p) {
          if (!careful && prefetch) {
            for (int m = 0; m < inner_count(); ++m) prefetch_row<Row>(inner.factor[m].row(p + ahead));
            if constexpr (Target != AltoTarget::group) prefetch_row<Row>(target.row(rows[p + ahead]));
            if constexpr (Target != AltoTarget::group && Term::is_residual)
              prefetch_row<Row>(term.row(rows[p + ahead]));
          }
          if constexpr (Target == AltoTarget::group) {
            add_term(group_sum, p, rows[g], hoisted, columns);
          } else if (careful && locks.in_use()) {
            Row sum(Scalar(0));
            add_term(sum, p, rows[p], hoisted, columns);
            locks.add(rows[p], sum, row_of(rows[p]), columns);
          } else {
            Scalar* const row = row_of(rows[p]);
            if constexpr (with_padding) {
              Row sum = Row::with_padding(row, columns);
              add_term(sum, p, rows[p], hoisted, columns);
              sum.store_with_padding(row, columns);
            } else {
              Row sum(row, columns);
              add_term(sum, p, rows[p], hoisted, columns);
              sum.store(row, columns);
            }
          }
        }
        if constexpr (Target == AltoTarget::group) {
          for (int m = 0; m < outer.count; ++m) group_sum *= Row(outer.factor[m].row(g), columns);
          Scalar* const row = row_of(rows[g]);
          if constexpr (with_padding) group_sum.zero_padding(columns);
          if (careful && locks.in_use()) {
            locks.add(rows[g], group_sum, row, columns);
          } else if constexpr (with_padding) {
            group_sum += Row::with_padding(row, columns);
            group_sum.store_with_padding(row, columns);
          } else {
            group_sum += Row(row, columns);
            group_sum.store(row, columns);
          }
        }
        if (end == group_end) ++g;
      }
      if (stop == last_stop) return;
      auto const row = static_cast<Index>(long_rows.stops[stop].row);
      if constexpr (careful) locks.template acquire<Row>(row);
      long_rows.template move<Row>(stop, row_of(row), columns);
      if constexpr (careful) locks.template release<Row>(row);
    }
  }

  /// A block that is cut off, with no more registers than its columns need: with AVX2, ten doubles take three
  /// of the four of a block of 16. If all formats had blocks of 12 and 20 columns, they would compile longer.
  template <class Row>
  KOKKOS_FORCEINLINE_FUNCTION void walk_cut(count_t s, PrivateRows const& own, int count) const {
    constexpr int step  = Row::pack_width > 4 ? Row::pack_width : 4;
    constexpr int most  = Row::pack_width > 1 ? step - 1 : most_cut_columns(Row::width);
    constexpr int fewer = Row::width - step;
    if constexpr (Row::pack_width > 1 && fewer > 0 && fewer >= Vec::width - most_cut_columns(Vec::width))
      if (count <= fewer) return walk_cut<TinyVec<typename Row::space_type, Scalar, fewer>>(s, own, count);
    if constexpr (!is_tight_block(Vec::width))
      if (count == Row::width) return walk<Row, AltoLoop::whole>(s, own, Columns{0, Row::width});
    walk<Row, AltoLoop::cut>(s, own, typename Row::template CutBy<most>(Columns{0, count}));
  }

  KOKKOS_FORCEINLINE_FUNCTION void walk_chunk(count_t s, Columns columns) const {
    PrivateRows const own = locks.in_use() ? PrivateRows{} : output.chunks[s];
    // Makes a copy whose rows begin at these columns. The copy is local for another reason too. The compiler
    // must assume that a store to the output changes the members of *this, and would reload them for every
    // nonzero.
    MttkrpAltoPrivate self = *this;
    for (int m = 0; m < inner.count; ++m) self.inner.factor[m].matrix.data += columns.first;
    for (int m = 0; m < outer.count; ++m) self.outer.factor[m].matrix.data += columns.first;
    self.output.output.data += columns.first;
    self.output.copies.data += columns.first;
    self.long_rows.slots.data += columns.first;
    self.term           = term.from_column(columns.first);
    bool const is_alike = own.alike && !locks.in_use();
    if constexpr (!is_tight_block(Vec::width) || Vec::form != RowForm::simd)
      if (is_alike && columns.count == Vec::width)
        return self.template walk<Vec, AltoLoop::whole>(s, own, Columns{0, Vec::width});
    if constexpr (Vec::form == RowForm::simd)
      if (columns.count >= Vec::width - most_cut_columns(Vec::width) && self.output.are_roomy(own) &&
          !(Target == AltoTarget::rows && inner_count() == 0)) {  // a term without a row is not cut
        if (is_alike) return self.template walk_cut<Vec>(s, own, columns.count);
        if (columns.count < Vec::width)
          return self.template walk<Vec, AltoLoop::careful_cut>(
              s, own, typename Vec::CutColumns(Columns{0, columns.count}));
      }
    self.template walk<Vec, AltoLoop::careful>(s, own, Columns{0, columns.count});
  }

  // Flattened: GCC otherwise does not inline the operations of short rows (docs/developer/decisions.md).
  template <class Member>
  POLYAD_FLATTEN KOKKOS_FUNCTION void operator()(Member const& member) const {
    walk_chunks<Vec, Term>(walks, member,
                           [&](count_t s, count_t, Columns columns) { walk_chunk(s, columns); });
  }
};

/// Calls f(std::integral_constant<int, Inner>). Kernels are compiled for the numbers of inner factors that
/// occur with three and four modes. With 64-bit indices there is only the kernel for any number.
template <class Index, AltoTarget Target, class F>
void with_inner(int inner, F&& f) {
  if constexpr (sizeof(Index) == 4) {
    if constexpr (Target == AltoTarget::rows_of_group)
      if (inner == 0) return f(std::integral_constant<int, 0>{});
    if constexpr (Target != AltoTarget::rows)
      if (inner == 1) return f(std::integral_constant<int, 1>{});
    if (inner == 2) return f(std::integral_constant<int, 2>{});
    if constexpr (Target != AltoTarget::rows_of_group)
      if (inner == 3) return f(std::integral_constant<int, 3>{});
  }
  f(std::integral_constant<int, any_inner>{});
}

/// The factor of mode X.modes()[m], and the indices of that mode in X.
template <class Space, class Scalar, class Index>
AltoFactor<Scalar, Index> alto_factor(Alto<Scalar, Index, Space> const& X,
                                      FactorMatrices<Scalar, Space> const& factors, int m) {
  int const n                = X.modes()[m];
  bool const is_grouped      = m < X.grouped();
  auto const& stored         = is_grouped ? X.group_indices() : X.indices();
  Index const* const indices = stored.data() + (is_grouped ? m : m - X.grouped()) * stored.stride(0);
  return {RowsAt<Scalar>(factors[n]), indices};
}

/// What the walks of one mode read and write.
template <class Scalar, class Index>
struct AltoOperands {
  AltoFactors<Scalar, Index> inner;
  AltoFactors<Scalar, Index> outer;
  Index const* rows;
  bool of_group;  // the mode is grouped
  PrivateOutput<Scalar> output;
  LongRowSums<Scalar> long_rows;
  bool has_copies;
  RowLocks locks;
};

/// Zeroes the doubles of long rows. \param workspace  of this format and rank
template <class Space, class Scalar, class Index>
AltoOperands<Scalar, Index> alto_operands(AltoPrivateRows, Space const& space,
                                          Alto<Scalar, Index, Space> const& X,
                                          FactorMatrices<Scalar, Space> const& factors, int mode,
                                          AltoWorkspace<Scalar, Space> const& workspace,
                                          FactorMatrix<Scalar, Space> const& V) {
  clear_long_rows(space, X.long_rows().slots(mode), workspace.long_rows);
  bool const has_copies = X.copied_rows(mode) > 0;
  AltoFactors<Scalar, Index> inner;
  AltoFactors<Scalar, Index> outer;
  Index const* rows = nullptr;
  bool of_group     = false;
  for (int m = 0; m < X.extents().order(); ++m) {
    auto const factor     = alto_factor(X, factors, m);
    bool const is_grouped = m < X.grouped();
    if (X.modes()[m] == mode) {
      rows     = factor.indices;
      of_group = is_grouped;
    } else {
      (is_grouped ? outer : inner).append(factor);
    }
  }
  PrivateOutput<Scalar> const output{RowsAt<Scalar>(V),
                                     has_copies ? RowsAt<Scalar>(workspace.copies) : RowsAt<Scalar>(),
                                     X.private_rows().of(mode)};
  return {inner,      outer,
          rows,       of_group,
          output,     X.long_rows().template sums<Scalar>(mode, workspace.long_rows),
          has_copies, RowLocks(X.locked(mode) ? workspace.locks.data() : nullptr)};
}

/// V = the terms of X's nonzeros with these values, for some blocks of columns. Does not wait.
template <class Row, class Space, class Scalar, class Index, class Term>
void launch_alto(AltoPrivateRows, Space const& space, Alto<Scalar, Index, Space> const& X,
                 Scalar const* values, AltoOperands<Scalar, Index> const& operands, int mode,
                 ColumnBlocks blocks, Term const& term) {
  count_t const chunks = X.chunks();
  clear_private_output<Space, Scalar, Row::block>(space, operands.output, X.extents()[mode], chunks, blocks);
  ChunkWalk const walks{chunks, 1, blocks};
  auto const launch = [&](auto target) {
    with_inner<Index, target()>(operands.inner.count, [&](auto inner_count) {
      using Kernel = MttkrpAltoPrivate<Row, Index, inner_count(), target(), Term>;
      detail::launch("polyad::mttkrp_alto", walks.template policy<Row>(space),
                     Kernel{operands.inner, operands.outer, operands.rows, values, X.starts().data(),
                            X.first_groups().data(), operands.output, operands.long_rows, operands.locks,
                            X.order().prefetch, walks, term});
    });
  };
  if (X.grouped() == 0)
    launch(std::integral_constant<AltoTarget, AltoTarget::rows>{});
  else if (operands.of_group)
    launch(std::integral_constant<AltoTarget, AltoTarget::group>{});
  else
    launch(std::integral_constant<AltoTarget, AltoTarget::rows_of_group>{});
  if (operands.has_copies)
    merge_listed_rows<Space, Scalar, Row::block>(space, operands.output, X.merge_list(mode),
                                                 X.private_rows().merged(mode), blocks);
}

/// After the launches of all blocks of columns: adds the doubles of long rows to V.
template <class Space, class Scalar, class Index>
void finish_alto(AltoPrivateRows, Space const& space, Alto<Scalar, Index, Space> const& X, int mode,
                 AltoWorkspace<Scalar, Space> const& workspace, FactorMatrix<Scalar, Space> const& V) {
  merge_long_rows(space, X.long_rows(), mode, workspace.long_rows, V);
}

}  // namespace polyad::detail
