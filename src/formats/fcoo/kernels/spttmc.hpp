// SPDX-License-Identifier: BSD-3-Clause
// SpTTMc in one shot (Liu et al., equation 4): a nonzero's product is its value times the Kronecker product
// of the rows of all product modes, summed by segment without an intermediate tensor. For mode n of X
//
//   Y(k, :) = sum over the nonzeros with i_n = k of x U^(1)(i_1, :) (x) ... (x) U^(N)(i_N, :)   without U^(n)
//
// Y is I_n x D, D the product of the other matrices' columns; the last matrix's column runs fastest. A thread
// sums a tile of the row (kronecker_terms.hpp).
//
// Bytes per nonzero: s_r + M s_o + 1/8 streamed, and the rows of all matrices gathered, both again for every
// tile of D. Flops: 2 D, and a little more from order 4 on.
#pragma once

#include <Kokkos_Core.hpp>
#include <algorithm>
#include <cstddef>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "formats/fcoo/costs/fcoo_tuning.hpp"
#include "formats/fcoo/kernels/kronecker_terms.hpp"
#include "formats/fcoo/kernels/mttkrp_fcoo.hpp"
#include "formats/fcoo/kernels/sum_flagged.hpp"
#include "formats/fcoo/storage/fcoo.hpp"
#include "formats/fcoo/storage/flagged_nonzeros.hpp"
#include "formats/walks/cleared_rows.hpp"
#include "polyad/core/error.hpp"
#include "polyad/core/instances.hpp"
#include "polyad/core/spaces.hpp"
#include "polyad/core/types.hpp"
#include "polyad/kernel/other_factors.hpp"
#include "polyad/kernel/rank_dispatch.hpp"
#include "polyad/kernel/row_form.hpp"
#include "polyad/kernel/tiny_vec.hpp"
#include "polyad/tensor/factor_matrices.hpp"

namespace polyad::detail {

/// Columns of Y that one launch clears. Y may have more columns than an int can count.
inline constexpr count_t most_cleared_columns = count_t(1) << 30;

/// The most teams in one launch: Kokkos counts them in an int.
inline constexpr count_t most_launched_teams = count_t(1) << 30;

/// Tiles that one launch sums, if each lead has `tiles` of them: those of several whole leads, or some of one
/// lead. A team walks at least one partition of the nonzeros.
inline count_t tiles_of_launch(count_t partitions, count_t tiles, count_t most_teams) {
  count_t const most = std::max<count_t>(most_teams / std::max<count_t>(partitions, 1), 1);
  return most > tiles ? most / tiles * tiles : most;
}

/// Calls f(std::integral_constant<int, Modes>), with the number of product modes if a kernel is compiled for
/// it, and 0 for any number. Strided rows and 64-bit indices are rare: they have only the kernel for any
/// number.
template <bool AnyOnly, class F>
void with_product_modes(std::size_t count, F&& f) {
  if constexpr (!AnyOnly) {
    if (count == 2) return f(std::integral_constant<int, 2>{});
    if (count == 3) return f(std::integral_constant<int, 3>{});
  }
  f(std::integral_constant<int, 0>{});
}

/// The matrices of the product modes `modes` as a kernel sees them.
template <int Modes, class Space, class Scalar, class Index>
KroneckerMatrices<Scalar, Index, Modes> kronecker_matrices(
    FlaggedNonzeros<Scalar, Index, Space> const& X, std::vector<int> const& modes,
    std::vector<FactorMatrix<Scalar, Space>> const& matrices) {
  KroneckerMatrices<Scalar, Index, Modes> result;
  for (std::size_t m = 0; m < matrices.size(); ++m) {
    int row = 0;  // row of X.indices
    while (X.product_mode(row) != modes[m]) ++row;
    result.data[m]    = matrices[m].data();
    result.index[m]   = X.indices.data() + row * X.indices.stride(0);
    result.stride[m]  = static_cast<unsigned>(matrices[m].stride(0));
    result.columns[m] = matrices[m].extent_int(1);
  }
  result.count = static_cast<int>(matrices.size());
  return result;
}

/// Launches the kernel for all tiles of all leads, with at most `most_teams` teams each. The last matrix is
/// read and Y is written in the form of Row. The other arguments are kronecker_product's.
template <class Row, class Space, class Scalar, class Index>
void launch_kronecker(Space const& space, char const* label, FlaggedNonzeros<Scalar, Index, Space> const& X,
                      std::vector<int> const& modes, std::vector<FactorMatrix<Scalar, Space>> const& matrices,
                      FCooShape const& shape, FactorMatrix<Scalar, Space> const& Y, count_t most_teams) {
  constexpr bool any_only = sizeof(Index) == 8 || Row::form == RowForm::strided;
  with_product_modes<any_only>(matrices.size(), [&](auto number) {
    using Terms            = KroneckerTerms<Row, Index, number()>;
    auto const count       = matrices.size();
    int const last         = matrices[count - 1].extent_int(1);
    int const before       = matrices[count - 2].extent_int(1);
    int const tiles_last   = (last + Row::block - 1) / Row::block;
    int const tiles_before = (before + Terms::tile - 1) / Terms::tile;
    count_t leads          = 1;
    for (std::size_t m = 0; m + 2 < count; ++m) leads *= matrices[m].extent(1);
    count_t const tiles = static_cast<count_t>(tiles_before) * tiles_last;
    count_t const most  = tiles_of_launch(ceil_div(X.nnz, X.threadlen), tiles, most_teams);
    Terms terms{kronecker_matrices<number()>(X, modes, matrices),
                X.values.data(),
                Y.data(),
                Y.stride(0),
                tiles_last,
                tiles_before};
    for (count_t first = 0; first < leads * tiles;) {
      terms.first_lead   = first / tiles;
      terms.first_tile   = static_cast<int>(first % tiles);
      count_t const left = most < tiles ? tiles - first % tiles : leads * tiles - first;
      auto const here    = static_cast<int>(std::min(most, left));
      sum_flagged(space, label, X, ColumnBlocks{0, here, here}, shape, terms);
      first += here;
    }
  });
}

/// Overwrites Y, which has a row for every row of X's operation. matrices[m] belongs to product mode
/// `modes[m]` of X. There are at least two of them.
template <class Space, class Scalar, class Index>
void kronecker_product(Space const& space, char const* label, FlaggedNonzeros<Scalar, Index, Space> const& X,
                       std::vector<int> const& modes,
                       std::vector<FactorMatrix<Scalar, Space>> const& matrices, FCooShape const& shape,
                       FactorMatrix<Scalar, Space> const& Y, count_t most_teams = most_launched_teams) {
  expect_shape(shape);
  if (X.nnz == 0) return zero_matrix(space, Y);
  auto const count       = matrices.size();
  int const last         = matrices.back().extent_int(1);
  int const before       = matrices[count - 2].extent_int(1);
  constexpr count_t pack = row_alignment / sizeof(Scalar);
  for (auto const& matrix : matrices) expect_packed_rows<Scalar, Space>(matrix);
  expect_packed_rows<Scalar, Space>(Y);
  // The rows of a tile begin at multiples of the last matrix's number of columns. They may therefore be
  // unaligned even though Y's rows are packed. GenTen's strided form serves these.
  bool const aligned = last % static_cast<int>(pack) == 0;
  for (count_t first = 0; first < Y.extent(1); first += most_cleared_columns) {
    count_t const end                      = std::min(first + most_cleared_columns, count_t(Y.extent(1)));
    FactorMatrix<Scalar, Space> const part = Kokkos::subview(Y, Kokkos::ALL, Kokkos::make_pair(first, end));
    for_each_column_block(static_cast<int>(end - first), [&](auto block, ColumnBlocks blocks) {
      clear_rows<Space, Scalar, Index, block()>(space, X.cleared, blocks, part);
    });
  }
  with_row_form<Space>(aligned, [&](auto form) {
    with_tile_block<Space>(before, last, [&](auto block) {
      launch_kronecker<TinyVec<Space, Scalar, block(), form()>>(space, label, X, modes, matrices, shape, Y,
                                                                most_teams);
    });
  });
}

/// "the output of SpTTMc on mode n, I_n rows x R_0 x ... columns", for messages.
template <class Scalar, class Space>
std::string spttmc_label(Extents const& extents, std::vector<FactorMatrix<Scalar, Space>> const& U,
                         int mode) {
  std::string text = "the output of SpTTMc on mode " + std::to_string(mode) + ", " +
                     std::to_string(extents[mode]) + " rows of";
  char const* sign = " ";
  for (int m = 0; m < extents.order(); ++m)
    if (m != mode) text += std::exchange(sign, " x ") + std::to_string(U[m].extent(1));
  return text + " columns,";
}

/// D, the columns of SpTTMc on mode n. \throws UsageError for a matrix of other than I_m rows, or of no
/// columns or 2^20; MemoryError when D does not fit 64 bits
template <class Scalar, class Space>
count_t spttmc_columns(Extents const& extents, std::vector<FactorMatrix<Scalar, Space>> const& U, int mode) {
  expect_mode(mode, extents);
  POLYAD_EXPECTS(extents.order() >= 2, "a product with all other modes' matrices of a tensor of order 1");
  POLYAD_EXPECTS(std::ssize(U) == extents.order(), U.size(), " matrices for a tensor of order ",
                 extents.order());
  count_t columns = 1;
  for (int m = 0; m < extents.order(); ++m) {
    if (m == mode) continue;
    auto const& matrix = U[m];
    POLYAD_EXPECTS(matrix.extent(0) == extents[m], "matrix ", m, " has ", matrix.extent(0),
                   " rows, its mode has ", extents[m]);
    POLYAD_EXPECTS(matrix.extent(1) >= 1, "matrix ", m, " has no columns");
    checked_columns(matrix.extent(1));
  }
  for (int m = 0; m < extents.order(); ++m)
    if (m != mode)
      columns = checked_product(spttmc_label<Scalar, Space>(extents, U, mode), columns, U[m].extent(1));
  return columns;
}

}  // namespace polyad::detail

namespace polyad {

template <class Space, class Scalar>
FactorMatrix<Scalar, Space> make_spttmc_output(Space const& space, Extents const& extents,
                                               std::vector<FactorMatrix<Scalar, Space>> const& U, int mode) {
  count_t const columns   = detail::spttmc_columns<Scalar, Space>(extents, U, mode);
  std::string const label = detail::spttmc_label<Scalar, Space>(extents, U, mode);
  expect_fits(space, label, checked_product(label, extents[mode], padded_rank<Scalar>(columns)),
              sizeof(Scalar));
  return make_factor_matrix<Scalar>(space, "polyad::spttmc_output", extents[mode], columns);
}

}  // namespace polyad

namespace polyad::detail {

template <class Space, class Scalar, class Index>
void spttmc(Space const& space, FCoo<Scalar, Index, Space> const& X,
            std::vector<FactorMatrix<Scalar, Space>> const& U, int mode,
            FactorMatrix<Scalar, Space> const& Y) {
  count_t const columns = detail::spttmc_columns<Scalar, Space>(X.extents(), U, mode);
  POLYAD_EXPECTS(Y.extent(0) == X.extents()[mode] && Y.extent(1) == columns, "the output of mode ", mode,
                 " is ", Y.extent(0), " x ", Y.extent(1), ", not ", X.extents()[mode], " x ", columns);
  auto const& nonzeros = X.nonzeros(mode);
  std::vector<int> modes;
  std::vector<FactorMatrix<Scalar, Space>> matrices;
  for (int m = 0; m < X.extents().order(); ++m) {
    if (m == mode) continue;
    modes.push_back(m);
    matrices.push_back(U[m]);
  }
  if (matrices.size() > 1)
    return detail::kronecker_product(space, "polyad::spttmc", nonzeros, modes, matrices, X.options().shape,
                                     Y);
  auto const& matrix = matrices.front();
  expect_packed_rows<Scalar, Space>(matrix);
  expect_packed_rows<Scalar, Space>(Y);
  matrix_product(space, "polyad::spttmc", nonzeros, matrix, X.options().shape, Y);
}

#define POLYAD_SPTTMC(Scalar, Index)                                                    \
  template void spttmc(CompiledSpace const&, FCoo<Scalar, Index, CompiledSpace> const&, \
                       std::vector<FactorMatrix<Scalar, CompiledSpace>> const&, int,    \
                       FactorMatrix<Scalar, CompiledSpace> const&)
#define POLYAD_SPTTMC_COLUMNS(Scalar)                     \
  template count_t spttmc_columns<Scalar, CompiledSpace>( \
      Extents const&, std::vector<FactorMatrix<Scalar, CompiledSpace>> const&, int)
// In namespace polyad: it is public (formats/format.hpp).
#define POLYAD_SPTTMC_OUTPUT(Scalar)                                                      \
  template FactorMatrix<Scalar, CompiledSpace> make_spttmc_output<CompiledSpace, Scalar>( \
      CompiledSpace const&, Extents const&, std::vector<FactorMatrix<Scalar, CompiledSpace>> const&, int)
// A semi-sparse tensor's product calls it directly (multiply_semi_sparse.hpp).
#define POLYAD_KRONECKER_PRODUCT(Scalar, Index)                                                           \
  template void detail::kronecker_product(                                                                \
      CompiledSpace const&, char const*, FlaggedNonzeros<Scalar, Index, CompiledSpace> const&,            \
      std::vector<int> const&, std::vector<FactorMatrix<Scalar, CompiledSpace>> const&, FCooShape const&, \
      FactorMatrix<Scalar, CompiledSpace> const&, count_t)
POLYAD_EACH_SCALAR_AND_INDEX(extern, POLYAD_KRONECKER_PRODUCT);

}  // namespace polyad::detail
