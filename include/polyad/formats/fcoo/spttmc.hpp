// SPDX-License-Identifier: BSD-3-Clause
// SpTTMc in one shot (Liu et al., equation 4): a nonzero's product is its value times the Kronecker product
// of the rows of all product modes, summed by segment without an intermediate tensor. For mode n of X
//
//   Y(k, :) = sum over the nonzeros with i_n = k of x U^(1)(i_1, :) (x) ... (x) U^(N)(i_N, :)   without U^(n)
//
// Y is I_n x D, D the product of the other matrices' columns; the last matrix's column runs fastest. A thread
// sums a tile of the row, `tile` columns of the matrix before the last times a block of the last one's, for
// one column of each matrix before those. Its lanes share the tile out in both directions: on a device a lane
// reads 8 numbers of one row and 8 floats (4 doubles) of the other with 16-byte loads and makes 64 (32)
// products of them, so that arithmetic is most of what it does. Tiles change fastest over the league.
//
// Bytes a nonzero: s_r + M s_o + 1/8 streamed, the rows of all matrices gathered, both again for every tile
// of D. Flops: 2 D, from order 4 on little more.
#pragma once

#include <Kokkos_Core.hpp>
#include <algorithm>
#include <string>
#include <vector>

#include "polyad/core/instances.hpp"
#include "polyad/core/row_form.hpp"
#include "polyad/core/tiny_vec.hpp"
#include "polyad/core/unrolled.hpp"
#include "polyad/formats/fcoo/fcoo.hpp"

namespace polyad {
namespace detail {

/// What a lane sums of a tile: Rows rows of Packs packs, the packs Block / Packs columns apart. In scratch
/// memory the tile's rows of Block columns lie one behind the other.
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
  /// A nonzero's part: a row of the last matrix with one coefficient for each row of the tile.
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
/// number when the kernel is compiled for it, or 0.
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
  /// A column of every matrix but the last two.
  struct Lead {
    int column[Modes == 0 ? capacity - 2 : 1];
  };
  /// Those that `number` numbers. Found once for a tile: a division a nonzero and matrix took half of a
  /// host's time.
  [[nodiscard]] KOKKOS_FUNCTION Lead lead(int number) const {
    Lead result{};
    if constexpr (Modes == 3) {
      result.column[0] = number;
    } else if constexpr (Modes == 0) {
      for (int m = size() - 3; m >= 0; --m) {
        result.column[m] = number % columns[m];
        number /= columns[m];
      }
    }
    return result;
  }
  /// Entry of nonzero p's rows of all matrices but the last two, at the columns of `lead`.
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
template <class Space, class Scalar, class Index, int Block, RowForm Form, int Modes>
struct KroneckerTerms {
  /// Packs of the last matrix's row that a lane holds, and columns of the matrix before: 64 floats or 32
  /// doubles are 64 registers.
  static constexpr int packs = Form == RowForm::packed && Block > 8 ? 2 : 1;
  using Row                  = TinyVec<Space, Scalar, Block / packs, Form>;
  static constexpr int rows  = rows_at_once<Row>(8);
  using Sum                  = TilePart<Row, Scalar, Block, rows, packs>;
  using Term                 = typename Sum::Term;

  static constexpr int tile     = is_device_space<Space> ? Block : rows;
  static constexpr int lanes    = Row::lanes * (tile / rows);
  static constexpr int block    = 1;  // a tile has one number
  static constexpr int elements = Block * tile;
  /// Two nonzeros under way fit the registers beside the sums, of doubles only beside half of them.
  static constexpr int batch = is_device_space<Space> && (sizeof(Scalar) == 4 || packs == 1) ? 2 : 1;
  /// Sums and terms take more than the 80 registers of three.
  static constexpr int resident_teams = 2;
  /// A whole tile goes to the scratch pad and to memory at the end of a stretch.
  static constexpr int most_partitions = 4;

  KroneckerMatrices<Scalar, Index, Modes> matrices;
  Scalar const* values;
  Scalar* output;
  count_t output_stride;
  int tiles_last;    // blocks of the last matrix's columns
  int tiles_before;  // tiles of the one before

  /// A lane's part of a tile.
  struct TileColumns {
    Columns last[packs];  // of the last matrix
    Columns read[packs];  // the same, or the first pack where there are none: what is read is not stored
    int count;            // how many of the first pack: none, and the lane has nothing to do
    int own_first;        // where its part begins in the tile
    int lane;             // among those that share a row
    int before;           // its first column of the matrix before
    int rows;             // how many of them exist
    int lead;             // columns of the matrices before that one, as one number,
    typename KroneckerMatrices<Scalar, Index, Modes>::Lead leads;  // and each
  };

  [[nodiscard]] KOKKOS_FUNCTION TileColumns columns(int number, int lane) const {
    int const last_columns = matrices.columns[matrices.size() - 1];
    int const first        = number % tiles_last * Block;
    int const rest         = number / tiles_last;
    int const group        = lane / Row::lanes * rows;
    TileColumns result;
    result.lane = lane % Row::lanes;
    for (int q = 0; q < packs; ++q) {
      result.last[q] = Row::columns(first + q * Sum::step, last_columns, result.lane);
      result.read[q] = result.last[result.last[q].count > 0 ? q : 0];
    }
    result.own_first = group * Block + result.last[0].first - first;
    result.before    = rest % tiles_before * tile + group;
    result.rows      = Kokkos::min(matrices.columns[matrices.size() - 2] - result.before, rows + 0);
    result.count     = result.rows > 0 ? result.last[0].count : 0;
    result.lead      = rest / tiles_before;
    result.leads     = matrices.lead(result.lead);
    return result;
  }
  /// In scratch memory a tile is whole.
  [[nodiscard]] KOKKOS_FUNCTION Columns own(TileColumns const& columns) const {
    return {columns.own_first, Row::width};
  }

  /// The entries of the matrix before the last for nonzeros with index i there.
  KOKKOS_FORCEINLINE_FUNCTION void set_coefficients(Index i, TileColumns const& columns, Term& term) const {
    Scalar const* const from = matrices.row(matrices.size() - 2, i) + columns.before;
    if constexpr (Form == RowForm::packed) {
      constexpr int width = Row::width;
      unrolled<rows / width>([&](auto k) {
        // As above: what does not exist is the first pack instead, and is not stored.
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
    int const last   = matrices.columns[matrices.size() - 1];
    int const before = matrices.columns[matrices.size() - 2];
    return output + static_cast<count_t>(row) * output_stride +
           (columns.lead * before + columns.before + t) * last;
  }
  KOKKOS_FUNCTION void store(Index row, Sum const& sum, TileColumns const& columns) const {
    Sum::for_each_pack([&](auto t, auto q) {
      if (t < columns.rows) sum.row[t][q].store(target(row, columns, t), columns.last[q]);
    });
  }
  KOKKOS_FUNCTION void add_to(Index row, Sum const& sum, TileColumns const& columns, int /*lane*/) const {
    int const last = matrices.columns[matrices.size() - 1];
    Sum::for_each_pack([&](auto t, auto q) {
      // Whether all lanes that share the row have columns here.
      bool const whole = columns.last[q].first - columns.lane * Row::width + Sum::step <= last;
      if (t < columns.rows)
        AddAtomically<Scalar>{target(row, columns, t), 0, columns.last[q], columns.lane, whole}(
            Index(0), sum.row[t][q]);
    });
  }
};

/// Calls f with the block of a tile. A device's is as high as it is wide: the narrowest that holds the
/// columns of one of the two matrices, or 32. A host's rows are few, so it is the narrowest that holds the
/// last one's.
template <class Space, class F>
void with_tile_block(int before, int last, F&& f) {
  int const columns = is_device_space<Space> ? std::min(before, last) : last;
  if (columns <= 8) return f(std::integral_constant<int, 8>{});
  if (columns <= 16) return f(std::integral_constant<int, 16>{});
  f(std::integral_constant<int, 32>{});
}

/// Y, a row for every row that X's operation has, is overwritten. matrices[m] belongs to product mode
/// `modes[m]` of X; there are two or more of them.
template <class Space, class Scalar, class Index>
void kronecker_product(Space const& space, std::string const& label,
                       FlaggedNonzeros<Scalar, Index, Space> const& X, std::vector<int> const& modes,
                       std::vector<FactorMatrix<Scalar, Space>> const& matrices, FCooShape const& shape,
                       FactorMatrix<Scalar, Space> const& Y) {
  expect_shape(shape);
  if (X.nnz == 0) return Kokkos::deep_copy(space, Y, Scalar(0));
  auto const count            = matrices.size();
  int const last              = static_cast<int>(matrices.back().extent(1));
  int const before            = static_cast<int>(matrices[count - 2].extent(1));
  constexpr count_t pack      = row_alignment / sizeof(Scalar);
  auto const stride           = static_cast<count_t>(Y.stride(0));
  auto const rows_allow_packs = [](FactorMatrix<Scalar, Space> const& matrix) {
    return rows_are_aligned(matrix.data(), static_cast<count_t>(matrix.stride(0)), matrix.extent(1));
  };
  // Every row of a tile begins at a multiple of the last matrix's columns.
  bool const aligned = last % static_cast<int>(pack) == 0 && rows_allow_packs(Y) &&
                       rows_allow_packs(matrices.back()) && rows_allow_packs(matrices[count - 2]);
  with_row_form<Space>(rows_allow_packs(Y), [&](auto form) {
    for_each_column_block(checked_rank(Y.extent(1)), [&](auto block, ColumnBlocks blocks) {
      clear_rows<Space, Scalar, Index, block(), form()>(space, X.cleared, blocks, Y);
    });
  });
  with_row_form<Space>(aligned, [&](auto form) {
    with_tile_block<Space>(before, last, [&](auto block) {
      auto const launch = [&](auto number_of_modes) {
        using Terms            = KroneckerTerms<Space, Scalar, Index, block(), form(), number_of_modes()>;
        int const tiles_last   = (last + block() - 1) / block();
        int const tiles_before = (before + Terms::tile - 1) / Terms::tile;
        Terms terms{{}, X.values.data(), Y.data(), stride, tiles_last, tiles_before};
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
        int const tiles      = lead * tiles_before * tiles_last;
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

/// D, the columns of SpTTMc on mode n. \throws UsageError for a matrix of other than I_m rows or of no
/// columns, and beyond 2^20 columns
template <class Scalar, class Space>
count_t spttmc_columns(Extents const& extents, std::vector<FactorMatrix<Scalar, Space>> const& U, int mode) {
  expect_mode(mode, extents);
  POLYAD_EXPECTS(extents.order() >= 2, "a product with all other modes' matrices of a tensor of order 1");
  POLYAD_EXPECTS(U.size() == static_cast<std::size_t>(extents.order()), U.size(),
                 " matrices for a tensor of order ", extents.order());
  count_t columns = 1;
  for (int m = 0; m < extents.order(); ++m) {
    if (m == mode) continue;
    auto const& matrix = U[static_cast<std::size_t>(m)];
    POLYAD_EXPECTS(matrix.extent(0) == extents[m], "matrix ", m, " has ", matrix.extent(0),
                   " rows, its mode has ", extents[m]);
    POLYAD_EXPECTS(matrix.extent(1) >= 1, "matrix ", m, " has no columns");
    columns =
        checked_product("the output of SpTTMc on mode " + std::to_string(mode), columns, matrix.extent(1));
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
  expect_fits(space, label, checked_product(label, extents[mode], padded_rank<Scalar>(columns)),
              sizeof(Scalar));
  checked_rank(columns);
  return make_factor_matrix<Scalar>(space, "polyad::spttmc_output", extents[mode], columns);
}

/// SpTTMc on mode n, see the top of this file. U[m] is I_m x R_m; U[n] plays no part. Y (I_n x D) is
/// overwritten. Launches on `space` and returns without waiting; allocates nothing on the device.
/// \throws UsageError when the shapes do not match
template <class Space, class Scalar, class Index>
void spttmc(Space const& space, FCoo<Scalar, Index, Space> const& X,
            std::vector<FactorMatrix<Scalar, Space>> const& U, int mode,
            FactorMatrix<Scalar, Space> const& Y) {
  count_t const columns = detail::spttmc_columns<Scalar, Space>(X.extents(), U, mode);
  POLYAD_EXPECTS(Y.extent(0) == X.extents()[mode] && Y.extent(1) == columns, "the output of mode ", mode,
                 " is ", Y.extent(0), " x ", Y.extent(1), ", not ", X.extents()[mode], " x ", columns);
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
    return detail::kronecker_product(space, "polyad::spttmc", nonzeros, modes, matrices, X.options().shape,
                                     Y);
  auto const& matrix = matrices.front();
  bool const aligned = rows_are_aligned(matrix.data(), static_cast<count_t>(matrix.stride(0)), columns) &&
                       rows_are_aligned(Y.data(), static_cast<count_t>(Y.stride(0)), columns);
  auto const make_factors = [&](auto order) { return OtherFactors<Scalar, order()>(matrix, modes.front()); };
  detail::hadamard_product(space, "polyad::spttmc", nonzeros, make_factors, X.options().shape, aligned, Y);
}

#define POLYAD_SPTTMC(Scalar, Index)                                                                 \
  template void spttmc(Kokkos::DefaultExecutionSpace const&,                                         \
                       FCoo<Scalar, Index, Kokkos::DefaultExecutionSpace> const&,                    \
                       std::vector<FactorMatrix<Scalar, Kokkos::DefaultExecutionSpace>> const&, int, \
                       FactorMatrix<Scalar, Kokkos::DefaultExecutionSpace> const&)
// A semi-sparse tensor's product needs it by itself (semi_sparse.hpp).
#define POLYAD_KRONECKER_PRODUCT(Scalar, Index)                                                      \
  template void detail::kronecker_product(                                                           \
      Kokkos::DefaultExecutionSpace const&, std::string const&,                                      \
      FlaggedNonzeros<Scalar, Index, Kokkos::DefaultExecutionSpace> const&, std::vector<int> const&, \
      std::vector<FactorMatrix<Scalar, Kokkos::DefaultExecutionSpace>> const&, FCooShape const&,     \
      FactorMatrix<Scalar, Kokkos::DefaultExecutionSpace> const&)
POLYAD_EACH_SCALAR_AND_INDEX(extern, POLYAD_SPTTMC);
POLYAD_EACH_SCALAR_AND_INDEX(extern, POLYAD_KRONECKER_PRODUCT);

}  // namespace polyad
