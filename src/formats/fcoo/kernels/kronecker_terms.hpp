// SPDX-License-Identifier: BSD-3-Clause
// The terms of SpTTMc (spttmc.hpp). A nonzero's product is its value times the Kronecker product of the rows
// of all product modes (Liu et al., section II, equation 4).
//
// A thread sums a tile of the row. The tile has `tile` columns of the second last matrix times a block of the
// last one's, for one column of each other matrix. Its lanes divide the tile in both directions. On a device
// a lane reads 8 numbers of one row and 8 floats (4 doubles) of the other with 16-byte loads. It forms 64
// (32) products of them, so its work is mostly arithmetic. Tiles change fastest over the league.
#pragma once

#include <Kokkos_Core.hpp>

#include "formats/fcoo/costs/fcoo_tuning.hpp"
#include "kernel/launch_shape.hpp"
#include "kernel/piece_sums.hpp"
#include "polyad/core/spaces.hpp"
#include "polyad/core/types.hpp"
#include "polyad/kernel/row_form.hpp"
#include "polyad/kernel/segmented_reduce.hpp"
#include "polyad/kernel/tiny_vec.hpp"
#include "polyad/kernel/unrolled.hpp"

namespace polyad::detail {

/// A lane's part of a tile: Rows rows of Packs packs, with the packs Block / Packs columns apart. In scratch
/// memory the tile's rows of Block columns follow each other.
template <class Row, class Scalar, int Block, int Rows, int Packs>
struct TilePart {
  static constexpr int step = Block / Packs;
  Row row[Rows][Packs];

  /// Calls f(t, q) for pack q of row t.
  template <class F>
  KOKKOS_FORCEINLINE_FUNCTION static void for_each_pack(F const& f) {
    unrolled<Rows>([&](auto t) { unrolled<Packs>([&](auto q) { f(t, q); }); });
  }

  KOKKOS_FUNCTION TilePart() = default;
  KOKKOS_FUNCTION explicit TilePart(Scalar value) {
    for_each_pack([&](auto t, auto q) { row[t][q] = Row(value); });
  }
  KOKKOS_FUNCTION TilePart(Scalar const* rows, Columns columns) {
    for_each_pack([&](auto t, auto q) { row[t][q] = Row(rows + t * Block + q * step, columns); });
  }
  KOKKOS_FUNCTION void store(Scalar* rows, Columns columns) const {
    for_each_pack([&](auto t, auto q) { row[t][q].store(rows + t * Block + q * step, columns); });
  }
  KOKKOS_FORCEINLINE_FUNCTION TilePart& operator+=(TilePart const& other) {
    for_each_pack([&](auto t, auto q) { row[t][q] += other.row[t][q]; });
    return *this;
  }
  /// The contribution of a nonzero: a row of the last matrix, and one coefficient for each row of the tile.
  struct Term {
    Row last[Packs];
    Scalar coefficient[Rows];
  };
  KOKKOS_FORCEINLINE_FUNCTION TilePart& operator+=(Term const& term) {
    for_each_pack([&](auto t, auto q) { row[t][q].multiply_add(term.coefficient[t], term.last[q]); });
    return *this;
  }
};

/// The matrices of the product modes in the order of the columns, as a kernel sees them. Modes is their
/// number if the kernel is compiled for it, or 0.
template <class Scalar, class Index, int Modes>
struct KroneckerMatrices {
  static constexpr int capacity = Modes > 0 ? Modes : max_order;
  Scalar const* data[capacity]{};
  Index const* index[capacity]{};  // indices of all nonzeros in that mode
  unsigned stride[capacity]{};     // between rows
  int columns[capacity]{};
  int count = 0;

  [[nodiscard]] KOKKOS_FUNCTION int size() const {
    if constexpr (Modes > 0)
      return Modes;
    else
      return count;
  }
  [[nodiscard]] KOKKOS_FUNCTION Scalar const* row(int m, Index i) const {
    return data[m] + static_cast<count_t>(i) * stride[m];
  }
  /// A column of every matrix but the last two.
  struct Lead {
    int column[Modes == 0 ? capacity - 2 : 1];
  };
  /// The columns of the lead with this number. It is computed once for a tile: a division for each nonzero
  /// and matrix took half of a host's time.
  [[nodiscard]] KOKKOS_FUNCTION Lead lead(count_t number) const {
    Lead result{};
    if constexpr (Modes == 3) {
      result.column[0] = static_cast<int>(number);
    } else if constexpr (Modes == 0) {
      for (int m = size() - 3; m >= 0; --m) {
        count_t const size = columns[m];
        result.column[m]   = static_cast<int>(number % size);
        number /= size;
      }
    }
    return result;
  }
  /// The factor from all matrices but the last two: the product of nonzero p's entries at the columns of
  /// `lead`.
  [[nodiscard]] KOKKOS_FORCEINLINE_FUNCTION Scalar leading(count_t p, Lead const& lead) const {
    Scalar product(1);
    if constexpr (Modes == 3) {
      product = row(0, index[0][p])[lead.column[0]];
    } else if constexpr (Modes == 0) {
      for (int m = size() - 3; m >= 0; --m) product *= row(m, index[m][p])[lead.column[m]];
    }
    return product;
  }
};

/// Products for SumFlagged: Kronecker products of two or more rows.
template <class Vec, class Index, int Modes>
struct KroneckerTerms {
  using Space                   = typename Vec::space_type;
  using Scalar                  = typename Vec::scalar_type;
  static constexpr int Block    = Vec::block;
  static constexpr RowForm Form = Vec::form;
  /// Packs of the last matrix's row in a lane. With the columns of the second last matrix a lane has 64
  /// floats or 32 doubles, which are 64 registers.
  static constexpr int packs = Form == RowForm::packed && Block > 8 ? 2 : 1;
  using Row                  = TinyVec<Space, Scalar, Block / packs, Form>;
  static constexpr int rows  = rows_at_once<Row>(8);
  using Sum                  = TilePart<Row, Scalar, Block, rows, packs>;
  using Term                 = typename Sum::Term;

  static constexpr int tile     = tile_height<Space>(Block, rows);
  static constexpr int lanes    = Row::lanes * (tile / rows);
  static constexpr int block    = 1;  // a tile has one number
  static constexpr int elements = Block * tile;
  using Pieces                  = PieceSumsOf<Sum, Scalar, Form, elements, Row::width>;
  /// Nonzeros under way. Registers have room for two and the sums; for doubles, only if there are half as
  /// many sums.
  static constexpr int batch = rows_in_flight<Space>(sizeof(Scalar) == 4 || packs == 1 ? 2 : 1);
  /// Sums and terms take more than the 80 registers that three teams would allow.
  static constexpr int resident_teams = 2;
  /// At the end of a chunk a whole tile goes to the scratch pad and to memory.
  static constexpr int most_partitions = 4;

  KroneckerMatrices<Scalar, Index, Modes> matrices;
  Scalar const* values;
  Scalar* output;
  count_t output_stride;
  int tiles_last;          // blocks of the last matrix's columns
  int tiles_before;        // tiles of the one before
  count_t first_lead = 0;  // first of this launch: one launch may not hold all tiles
  int first_tile     = 0;  // among those of one lead

  /// A lane's part of a tile.
  struct TileColumns {
    Columns last[packs];  // columns of the last matrix
    Columns read[packs];  // the same, or the first pack if there are none, which is then not stored
    int count;            // columns of the first pack; 0: the lane has nothing to do
    int own_first;        // where its part begins in the tile
    int lane;             // among those that share a row
    int before;           // its first column of the matrix before
    int rows;             // how many of them exist
    count_t lead;         // columns of the matrices before that one, as one number,
    typename KroneckerMatrices<Scalar, Index, Modes>::Lead leads;  // and each
  };

  [[nodiscard]] KOKKOS_FUNCTION TileColumns columns(int number, int lane) const {
    int const last_columns = matrices.columns[matrices.size() - 1];
    int const tile_number  = number + first_tile;
    int const first        = tile_number % tiles_last * Block;
    int const rest         = tile_number / tiles_last;
    int const group        = lane / Row::lanes * rows;
    TileColumns result;
    result.lane = lane % Row::lanes;
    for (int q = 0; q < packs; ++q) {
      result.last[q] = Row::columns(first + q * Sum::step, last_columns, result.lane);
      result.read[q] = result.last[result.last[q].count > 0 ? q : 0];
    }
    result.own_first = group * Block + result.last[0].first - first;
    result.before    = rest % tiles_before * tile + group;
    result.rows      = Kokkos::min(matrices.columns[matrices.size() - 2] - result.before,
                                   rows + 0);  // + 0: min takes references
    result.count     = result.rows > 0 ? result.last[0].count : 0;
    result.lead      = first_lead + (rest / tiles_before);
    result.leads     = matrices.lead(result.lead);
    return result;
  }
  /// In scratch memory a tile is whole.
  [[nodiscard]] KOKKOS_FUNCTION Columns own(TileColumns const& columns) const {
    return {columns.own_first, Row::width};
  }

  /// Reads the entries of the second last matrix for nonzeros with index i there.
  KOKKOS_FORCEINLINE_FUNCTION void set_coefficients(Index i, TileColumns const& columns, Term& term) const {
    Scalar const* const from = matrices.row(matrices.size() - 2, i) + columns.before;
    if constexpr (Form == RowForm::packed) {
      constexpr int width = Row::width;
      unrolled<rows / width>([&](auto k) {
        // As above: in place of columns that do not exist it reads the first pack, which is not stored.
        int const first  = k * width < columns.rows ? k * width : 0;
        auto const& pack = *reinterpret_cast<Pack<Scalar, width> const*>(from + first);
        unrolled<width>([&](auto e) { term.coefficient[k * width + e] = pack.element[e]; });
      });
    } else if (columns.rows == rows) {
      unrolled<rows>([&](auto t) { term.coefficient[t] = from[t]; });
    } else {
      unrolled<rows>([&](auto t) { term.coefficient[t] = t < columns.rows ? from[t] : Scalar(0); });
    }
  }

  template <int Count, class Flush>
  KOKKOS_FORCEINLINE_FUNCTION void add(count_t p, unsigned ends, TileColumns const& columns,
                                       FlaggedSum<Sum>& sum, Flush const& flush) const {
    using Indices = Pack<Index, Count>;
    int const m   = matrices.size() - 1;
    auto const x  = *reinterpret_cast<Pack<Scalar, Count> const*>(values + p);
    auto const i  = *reinterpret_cast<Indices const*>(matrices.index[m - 1] + p);
    auto const j  = *reinterpret_cast<Indices const*>(matrices.index[m] + p);
    Term term[Count];
    unrolled<Count>([&](auto u) {
      Scalar const scale = x.element[u] * matrices.leading(p + static_cast<unsigned>(u()), columns.leads);
      Scalar const* const last = matrices.row(m, j.element[u]);
      unrolled<packs>([&](auto q) {
        term[u].last[q] = Row(scale);
        term[u].last[q] *= Row(last, columns.read[q]);
      });
      set_coefficients(i.element[u], columns, term[u]);
    });
    if ((ends & ((1U << Count) - 1U)) == 0) {
      unrolled<Count>([&](auto u) { sum.sum += term[u]; });
    } else {
      unrolled<Count>([&](auto u) { sum.add(term[u], (ends >> u & 1U) != 0, flush); });
    }
  }

  /// Row t of the lane's part, in the output.
  [[nodiscard]] KOKKOS_FUNCTION Scalar* target(Index row, TileColumns const& columns, int t) const {
    count_t const last   = matrices.columns[matrices.size() - 1];
    count_t const before = matrices.columns[matrices.size() - 2];
    return output + row * output_stride + (columns.lead * before + (columns.before + t)) * last;
  }
  KOKKOS_FUNCTION void store(Index row, Sum const& sum, TileColumns const& columns) const {
    Sum::for_each_pack([&](auto t, auto q) {
      if (t < columns.rows) sum.row[t][q].store(target(row, columns, t), columns.last[q]);
    });
  }
  KOKKOS_FUNCTION void add_to(Index row, Sum const& sum, TileColumns const& columns, int /*lane*/) const {
    int const last = matrices.columns[matrices.size() - 1];
    Sum::for_each_pack([&](auto t, auto q) {
      // Columns from the first one of the lanes that share the row.
      int const left = last - (columns.last[q].first - columns.lane * Row::width);
      if (t < columns.rows)
        AddAtomically<Scalar>{target(row, columns, t), 0, columns.last[q], columns.lane, left}(Index(0),
                                                                                               sum.row[t][q]);
    });
  }
};

}  // namespace polyad::detail
