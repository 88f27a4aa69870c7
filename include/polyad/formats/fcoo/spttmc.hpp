// SPDX-License-Identifier: BSD-3-Clause
// SpTTMc in one shot (Liu et al., equation 4): a nonzero's product is its value times the Kronecker product of the
// rows of all product modes, summed by segment without an intermediate tensor. For mode n of X
//
//   Y(k, :) = sum over the nonzeros with i_n = k of x U^(1)(i_1, :) (x) ... (x) U^(N)(i_N, :)   without U^(n)
//
// Y is I_n x D, D the product of the other matrices' columns; the last matrix's column runs fastest. A thread holds
// a tile of the row: a block of columns of the last matrix, spread over the lanes, times `tile` columns of the one
// before it, for one column of each matrix before those. Tiles change fastest over the league.
//
// Bytes a nonzero: s_r + M s_o + 1/8 streamed, the rows of all matrices gathered, both again for every tile of D.
// Flops: 2 D, from order 4 on little more.
#pragma once

#include <Kokkos_Core.hpp>
#include <string>
#include <vector>

#include "polyad/core/instances.hpp"
#include "polyad/core/row_form.hpp"
#include "polyad/core/tiny_vec.hpp"
#include "polyad/core/unrolled.hpp"
#include "polyad/formats/fcoo/fcoo.hpp"

namespace polyad {
namespace detail {

/// `Count` rows of Block columns: the sum of a tile. In scratch memory they lie one behind the other.
template <class Row, class Scalar, int Block, int Count>
struct RowTile {
  Row row[Count];

  KOKKOS_FUNCTION RowTile() = default;
  KOKKOS_FUNCTION explicit RowTile(Scalar value) {
    unrolled<Count>([&](auto t) { row[t] = Row(value); });
  }
  KOKKOS_FUNCTION RowTile(Scalar const* rows, Columns columns) {
    unrolled<Count>([&](auto t) { row[t] = Row(rows + t * Block, columns); });
  }
  KOKKOS_FUNCTION void store(Scalar* rows, Columns columns) const {
    unrolled<Count>([&](auto t) { row[t].store(rows + t * Block, columns); });
  }
  KOKKOS_FORCEINLINE_FUNCTION RowTile& operator+=(RowTile const& other) {
    unrolled<Count>([&](auto t) { row[t] += other.row[t]; });
    return *this;
  }
  /// A nonzero's part: a row of the last matrix with one coefficient for each row of the tile.
  struct Term {
    Row last;
    Scalar coefficient[Count];
  };
  KOKKOS_FORCEINLINE_FUNCTION RowTile& operator+=(Term const& term) {
    unrolled<Count>([&](auto t) { row[t].multiply_add(term.coefficient[t], term.last); });
    return *this;
  }
};

/// A lane's part of a tile.
struct TileColumns {
  Columns last;   // of the last matrix
  int count;      // how many of them: none, and the lane has nothing to do
  int own_first;  // the first of them, from the block's first one on
  int before;     // the tile's first column of the matrix before
  int rows;       // columns of it that exist
  int lead;       // columns of the matrices before that one, as one number
};

/// The matrices of the product modes in the order of the columns, as a kernel sees them. Modes is their number when
/// the kernel is compiled for it, or 0.
template <class Scalar, class Index, int Modes>
struct KroneckerMatrices {
  static constexpr int capacity = Modes > 0 ? Modes : max_order;
  Scalar const* data[capacity]{};
  Index const* index[capacity]{};  // of every nonzero, in that mode
  unsigned stride[capacity]{};     // of rows
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
  /// Entry of nonzero p's rows of all matrices but the last two, at the columns that `lead` numbers.
  [[nodiscard]] KOKKOS_FORCEINLINE_FUNCTION Scalar leading(count_t p, int lead) const {
    Scalar product(1);
    if constexpr (Modes == 3) {
      product = row(0, index[0][p])[lead];
    } else if constexpr (Modes == 0) {
      for (int m = size() - 3; m >= 0; --m) {
        product *= row(m, index[m][p])[lead % columns[m]];
        lead /= columns[m];
      }
    }
    return product;
  }
};

/// Products for SumFlagged: Kronecker products of two or more rows.
template <class Space, class Scalar, class Index, int Block, RowForm Form, int Modes>
struct KroneckerTerms {
  using Row = TinyVec<Space, Scalar, Block, Form>;
  /// Rows of a tile: of floats 8 take 32 registers of a lane, of doubles as many; on a host half of all registers.
  static constexpr int tile     = rows_at_once<Row>(8);
  using Sum                     = RowTile<Row, Scalar, Block, tile>;
  using Term                    = typename Sum::Term;
  static constexpr int block    = 1;  // a tile has one number
  static constexpr int elements = Block * tile;
  /// Two nonzeros of floats under way fit the registers beside the tile, of doubles one.
  static constexpr int batch = is_device_space<Space> && sizeof(Scalar) == 4 ? 2 : 1;

  /// The tile and its terms take more than the 80 registers of three.
  static constexpr int resident_teams = 2;

  KroneckerMatrices<Scalar, Index, Modes> matrices;
  Scalar const* values;
  Scalar* output;
  count_t output_stride;
  int tiles_last;    // blocks of the last matrix's columns
  int tiles_before;  // tiles of the one before

  [[nodiscard]] KOKKOS_FUNCTION TileColumns columns(int number, int lane) const {
    int const last_columns = matrices.columns[matrices.size() - 1];
    int const first        = number % tiles_last * Block;
    int const rest         = number / tiles_last;
    int const before       = rest % tiles_before * tile;
    Columns const last     = Row::columns(first, last_columns, lane);
    int const left         = matrices.columns[matrices.size() - 2] - before;
    return {last, last.count, last.first - first, before, left < tile ? left : tile, rest / tiles_before};
  }
  [[nodiscard]] KOKKOS_FUNCTION Columns own(TileColumns const& columns) const {
    return {columns.own_first, columns.count};
  }

  /// The coefficients of nonzero p: scale times the tile's entries of the matrix before the last.
  KOKKOS_FORCEINLINE_FUNCTION void set_coefficients(count_t p, Scalar scale, TileColumns const& columns,
                                                    Term& term) const {
    int const m              = matrices.size() - 2;
    Scalar const* const from = matrices.row(m, matrices.index[m][p]) + columns.before;
    if (columns.rows == tile) {
      unrolled<tile>([&](auto t) { term.coefficient[t] = scale * from[t]; });
    } else {
      unrolled<tile>([&](auto t) { term.coefficient[t] = t < columns.rows ? scale * from[t] : Scalar(0); });
    }
  }

  template <int Count, class Flush>
  KOKKOS_FORCEINLINE_FUNCTION void add(count_t p, unsigned ends, TileColumns const& columns, FlaggedSum<Sum>& sum,
                                       Flush const& flush) const {
    int const last = matrices.size() - 1;
    Term term[Count];
    for (int u = 0; u < Count; ++u) {
      count_t const nonzero = p + static_cast<unsigned>(u);
      term[u].last          = Row(matrices.row(last, matrices.index[last][nonzero]), columns.last);
      set_coefficients(nonzero, values[nonzero] * matrices.leading(nonzero, columns.lead), columns, term[u]);
    }
    for (int u = 0; u < Count; ++u) sum.add(term[u], (ends >> u & 1U) != 0, flush);
  }

  /// Row t of the tile, in the output.
  [[nodiscard]] KOKKOS_FUNCTION Scalar* target(Index row, TileColumns const& columns, int t) const {
    int const last   = matrices.columns[matrices.size() - 1];
    int const before = matrices.columns[matrices.size() - 2];
    return output + static_cast<count_t>(row) * output_stride +
           (columns.lead * before + columns.before + t) * last;
  }
  KOKKOS_FUNCTION void store(Index row, Sum const& sum, TileColumns const& columns) const {
    unrolled<tile>([&](auto t) {
      if (t < columns.rows) sum.row[t].store(target(row, columns, t), columns.last);
    });
  }
  KOKKOS_FUNCTION void add_to(Index row, Sum const& sum, TileColumns const& columns, int lane) const {
    int const last   = matrices.columns[matrices.size() - 1];
    bool const whole = columns.last.first - columns.own_first + Block <= last;
    unrolled<tile>([&](auto t) {
      if (t < columns.rows)
        AddAtomically<Scalar>{target(row, columns, t), 0, columns.last, lane, whole}(Index(0), sum.row[t]);
    });
  }
};

/// Calls f with the block for the last matrix: the narrowest that holds its columns, or as many of 32 as it takes.
template <class F>
void with_last_block(int columns, F&& f) {
  if (columns <= 8) return f(std::integral_constant<int, 8>{});
  if (columns <= 16) return f(std::integral_constant<int, 16>{});
  f(std::integral_constant<int, 32>{});
}

/// Y, a row for every row that X's operation has, is overwritten. matrices[m] belongs to product mode
/// `modes[m]` of X; there are two or more of them.
template <class Space, class Scalar, class Index>
void kronecker_product(Space const& space, std::string const& label, FlaggedNonzeros<Scalar, Index, Space> const& X,
                       std::vector<int> const& modes, std::vector<FactorMatrix<Scalar, Space>> const& matrices,
                       FCooShape const& shape, FactorMatrix<Scalar, Space> const& Y) {
  expect_shape(shape);
  if (X.nnz == 0) return Kokkos::deep_copy(space, Y, Scalar(0));
  auto const count          = matrices.size();
  int const last            = static_cast<int>(matrices.back().extent(1));
  int const before          = static_cast<int>(matrices[count - 2].extent(1));
  constexpr count_t pack    = row_alignment / sizeof(Scalar);
  auto const& last_matrix   = matrices.back();
  auto const stride         = static_cast<count_t>(Y.stride(0));
  // Every row of a tile begins at a multiple of the last matrix's columns.
  bool const aligned = last_matrix.extent(1) % pack == 0 && rows_are_aligned(Y.data(), stride, Y.extent(1)) &&
                       rows_are_aligned(last_matrix.data(), static_cast<count_t>(last_matrix.stride(0)),
                                        last_matrix.extent(1));
  with_row_form<Space>(rows_are_aligned(Y.data(), stride, Y.extent(1)), [&](auto form) {
    for_each_column_block(checked_rank(Y.extent(1)), [&](auto block, ColumnBlocks blocks) {
      clear_rows<Space, Scalar, Index, block(), form()>(space, X.cleared, blocks, Y);
    });
  });
  with_row_form<Space>(aligned, [&](auto form) {
    with_last_block(last, [&](auto block) {
      auto const launch = [&](auto number_of_modes) {
        using Terms = KroneckerTerms<Space, Scalar, Index, block(), form(), number_of_modes()>;
        Terms terms{{}, X.values.data(), Y.data(), stride, (last + block() - 1) / block(),
                    (before + Terms::tile - 1) / Terms::tile};
        int lead = 1;
        for (std::size_t m = 0; m < count; ++m) {
          int row = 0;  // of X.indices
          while (X.product_mode(row) != modes[m]) ++row;
          terms.matrices.data[m]    = matrices[m].data();
          terms.matrices.index[m]   = X.indices.data() + static_cast<count_t>(row) * X.indices.stride(0);
          terms.matrices.stride[m]  = static_cast<unsigned>(matrices[m].stride(0));
          terms.matrices.columns[m] = static_cast<int>(matrices[m].extent(1));
          if (m + 2 < count) lead *= terms.matrices.columns[m];
        }
        terms.matrices.count = static_cast<int>(count);
        int const tiles      = lead * terms.tiles_before * terms.tiles_last;
        sum_flagged(space, label, X, ColumnBlocks{0, tiles, static_cast<int>(Y.extent(1))}, shape, terms);
      };
      constexpr bool any_order_only = sizeof(Index) == 8 || form() == RowForm::strided;
      if constexpr (!any_order_only) {
        if (count == 2) return launch(std::integral_constant<int, 2>{});
        if (count == 3) return launch(std::integral_constant<int, 3>{});
      }
      launch(std::integral_constant<int, 0>{});
    });
  });
}

/// D, the columns of SpTTMc on mode n. \throws UsageError for a matrix of other than I_m rows or of no columns, and
/// beyond 2^20 columns
template <class Scalar, class Space>
count_t spttmc_columns(Extents const& extents, std::vector<FactorMatrix<Scalar, Space>> const& U, int mode) {
  expect_mode(mode, extents);
  POLYAD_EXPECTS(extents.order() >= 2, "a product with all other modes' matrices of a tensor of order 1");
  POLYAD_EXPECTS(U.size() == static_cast<std::size_t>(extents.order()), U.size(), " matrices for a tensor of order ",
                 extents.order());
  count_t columns = 1;
  for (int m = 0; m < extents.order(); ++m) {
    if (m == mode) continue;
    auto const& matrix = U[static_cast<std::size_t>(m)];
    POLYAD_EXPECTS(matrix.extent(0) == extents[m], "matrix ", m, " has ", matrix.extent(0), " rows, its mode has ",
                   extents[m]);
    POLYAD_EXPECTS(matrix.extent(1) >= 1, "matrix ", m, " has no columns");
    columns = checked_product("the output of SpTTMc on mode " + std::to_string(mode), columns, matrix.extent(1));
  }
  return columns;
}

}  // namespace detail

/// The output of SpTTMc on mode n: I_n x D.
/// \throws UsageError as spttmc; MemoryError with its bytes before it is allocated
template <class Space, class Scalar>
FactorMatrix<Scalar, Space> make_spttmc_output(Space const& space, Extents const& extents,
                                               std::vector<FactorMatrix<Scalar, Space>> const& U, int mode) {
  count_t const columns   = detail::spttmc_columns<Scalar, Space>(extents, U, mode);
  std::string const label = "the output of SpTTMc on mode " + std::to_string(mode);
  expect_fits(space, label, checked_product(label, extents[mode], padded_rank<Scalar>(columns)), sizeof(Scalar));
  checked_rank(columns);
  return make_factor_matrix<Scalar>(space, "polyad::spttmc_output", extents[mode], columns);
}

/// SpTTMc on mode n, see the top of this file. U[m] is I_m x R_m; U[n] plays no part. Y (I_n x D) is overwritten.
/// Launches on `space` and returns without waiting; allocates nothing on the device.
/// \throws UsageError when the shapes do not match
template <class Space, class Scalar, class Index>
void spttmc(Space const& space, FCoo<Scalar, Index, Space> const& X,
            std::vector<FactorMatrix<Scalar, Space>> const& U, int mode, FactorMatrix<Scalar, Space> const& Y) {
  count_t const columns = detail::spttmc_columns<Scalar, Space>(X.extents(), U, mode);
  POLYAD_EXPECTS(Y.extent(0) == X.extents()[mode] && Y.extent(1) == columns, "the output of mode ", mode, " is ",
                 Y.extent(0), " x ", Y.extent(1), ", not ", X.extents()[mode], " x ", columns);
  checked_rank(columns);
  auto const& nonzeros = X.nonzeros(mode);
  std::vector<int> modes;
  std::vector<FactorMatrix<Scalar, Space>> matrices;
  for (int m = 0; m < X.extents().order(); ++m) {
    if (m == mode) continue;
    modes.push_back(m);
    matrices.push_back(U[static_cast<std::size_t>(m)]);
  }
  if (matrices.size() > 1)
    return detail::kronecker_product(space, "polyad::spttmc", nonzeros, modes, matrices, X.options().shape, Y);
  auto const& matrix = matrices.front();
  bool const aligned =
      rows_are_aligned(matrix.data(), static_cast<count_t>(matrix.stride(0)), columns) &&
      rows_are_aligned(Y.data(), static_cast<count_t>(Y.stride(0)), columns);
  auto const make_factors = [&](auto order) { return OtherFactors<Scalar, order()>(matrix, modes.front()); };
  detail::hadamard_product(space, "polyad::spttmc", nonzeros, make_factors, X.options().shape, aligned, Y);
}

#define POLYAD_SPTTMC(Scalar, Index)                                                                       \
  template void spttmc(Kokkos::DefaultExecutionSpace const&,                                               \
                       FCoo<Scalar, Index, Kokkos::DefaultExecutionSpace> const&,                          \
                       std::vector<FactorMatrix<Scalar, Kokkos::DefaultExecutionSpace>> const&, int,       \
                       FactorMatrix<Scalar, Kokkos::DefaultExecutionSpace> const&)
// A semi-sparse tensor's product needs it by itself (semi_sparse.hpp).
#define POLYAD_KRONECKER_PRODUCT(Scalar, Index)                                                            \
  template void detail::kronecker_product(                                                                 \
      Kokkos::DefaultExecutionSpace const&, std::string const&,                                            \
      FlaggedNonzeros<Scalar, Index, Kokkos::DefaultExecutionSpace> const&, std::vector<int> const&,       \
      std::vector<FactorMatrix<Scalar, Kokkos::DefaultExecutionSpace>> const&, FCooShape const&,           \
      FactorMatrix<Scalar, Kokkos::DefaultExecutionSpace> const&)
POLYAD_EACH_SCALAR_AND_INDEX(extern, POLYAD_SPTTMC);
POLYAD_EACH_SCALAR_AND_INDEX(extern, POLYAD_KRONECKER_PRODUCT);

}  // namespace polyad
