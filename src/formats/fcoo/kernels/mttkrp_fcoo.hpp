// SPDX-License-Identifier: BSD-3-Clause
// F-COO's SpMTTKRP and SpTTM: sums of Hadamard products (hadamard_terms.hpp).
//
// Bytes per nonzero: s_r + M s_o + 1/8 streamed, M R s_r gathered. Flops: (M + 1) R. Rows of the output are
// written once. Rows that cross a team's border are written a few times. The row number of each segment is
// read.
#pragma once

#include <Kokkos_Core.hpp>
#include <string>
#include <type_traits>

#include "formats/fcoo/kernels/hadamard_terms.hpp"
#include "formats/fcoo/kernels/sum_flagged.hpp"
#include "formats/fcoo/storage/fcoo.hpp"
#include "formats/fcoo/storage/flagged_nonzeros.hpp"
#include "formats/walks/cleared_rows.hpp"
#include "polyad/core/error.hpp"
#include "polyad/core/instances.hpp"
#include "polyad/core/types.hpp"
#include "polyad/formats/format.hpp"
#include "polyad/kernel/other_factors.hpp"
#include "polyad/kernel/rank_dispatch.hpp"
#include "polyad/kernel/row_form.hpp"
#include "polyad/tensor/factor_matrices.hpp"

namespace polyad::detail {

/// Overwrites Y, which has a row for every segment, or for every row of the only index mode. `factors` are
/// those of the product modes.
template <int Order, class Space, class Scalar, class Index>
void launch_hadamard(Space const& space, char const* label, FlaggedNonzeros<Scalar, Index, Space> const& X,
                     OtherFactors<Scalar, Order> const& factors, FCooShape const& shape,
                     FactorMatrix<Scalar, Space> const& Y) {
  for_each_column_block(checked_columns(Y.extent(1)), [&](auto block, ColumnBlocks blocks) {
    clear_rows<Space, Scalar, Index, block()>(space, X.cleared, blocks, Y);
    using Terms = HadamardTerms<Space, Scalar, Index, block(), Order>;
    sum_flagged(space, label, X, blocks, shape,
                Terms{X.indices.data(), X.indices.stride(0), X.values.data(), factors, RowsAt<Scalar>(Y),
                      blocks.rank});
  });
}

/// The orders for which kernels are compiled: 3, 4 and any, and with 64-bit indices only any. One product
/// mode has a kernel too: SpTTM's, for a tensor of any order.
template <class Index>
inline constexpr bool flagged_any_order_only = sizeof(Index) == 8;

/// The products with one matrix, of X's only product mode. Does not wait.
template <class Space, class Scalar, class Index>
void matrix_product(Space const& space, char const* label, FlaggedNonzeros<Scalar, Index, Space> const& X,
                    FactorMatrix<Scalar, Space> const& U, FCooShape const& shape,
                    FactorMatrix<Scalar, Space> const& Y) {
  expect_shape(shape);
  POLYAD_EXPECTS(X.product_modes() == 1, "a product with one matrix of nonzeros of ", X.product_modes(),
                 " product modes");
  if (X.nnz == 0) return zero_matrix(space, Y);
  constexpr int order = flagged_any_order_only<Index> ? any_order : 2;
  launch_hadamard<order>(space, label, X, OtherFactors<Scalar, order>(U, X.product_mode(0)), shape, Y);
}

/// The products with the factors of all product modes, in the order of X.modes. Does not wait.
template <class Space, class Scalar, class Index>
void hadamard_product(Space const& space, char const* label, FlaggedNonzeros<Scalar, Index, Space> const& X,
                      FactorMatrices<Scalar, Space> const& factors, FCooShape const& shape,
                      FactorMatrix<Scalar, Space> const& Y) {
  if (X.product_modes() == 1) return matrix_product(space, label, X, factors[X.product_mode(0)], shape, Y);
  expect_shape(shape);
  if (X.nnz == 0) return zero_matrix(space, Y);
  auto const launch = [&](auto order) {
    launch_hadamard<order()>(space, label, X, OtherFactors<Scalar, order()>(factors, X.modes), shape, Y);
  };
  if constexpr (!flagged_any_order_only<Index>) {
    if (X.product_modes() == 2) return launch(std::integral_constant<int, 3>{});
    if (X.product_modes() == 3) return launch(std::integral_constant<int, 4>{});
  }
  launch(std::integral_constant<int, any_order>{});
}

template <class Space, class Scalar, class Index>
void mttkrp(Space const& space, FCoo<Scalar, Index, Space> const& X,
            FactorMatrices<Scalar, Space> const& factors, int mode, NoWorkspace& workspace,
            FactorMatrix<Scalar, Space> const& V) {
  expect_mttkrp_arguments(X.extents(), factors, mode, V);
  workspace.expect(X.identity(), factors.rank(), X.name);
  hadamard_product(space, "polyad::mttkrp_fcoo", X.nonzeros(mode), factors, X.options().shape, V);
}

template <class Space, class Scalar, class Index>
void spttm(Space const& space, FlaggedNonzeros<Scalar, Index, Space> const& X,
           FactorMatrix<Scalar, Space> const& U, FactorMatrix<Scalar, Space> const& fibers,
           FCooShape const& shape) {
  POLYAD_EXPECTS(X.product_modes() == 1, "a product with one matrix of nonzeros of ", X.product_modes(),
                 " product modes");
  int const mode = X.product_mode(0);
  checked_columns(U.extent(1));
  POLYAD_EXPECTS(U.extent(0) == X.extents[mode], "the matrix has ", U.extent(0), " rows, mode ", mode,
                 " has ", X.extents[mode]);
  count_t const rows = X.output_rows();
  POLYAD_EXPECTS(fibers.extent(0) == rows && fibers.extent(1) == U.extent(1), "the output is ",
                 fibers.extent(0), " x ", fibers.extent(1), ", not ", rows, " x ", U.extent(1));
  expect_packed_rows<Scalar, Space>(U);
  expect_packed_rows<Scalar, Space>(fibers);
  matrix_product(space, "polyad::spttm", X, U, shape, fibers);
}

#define POLYAD_SPTTM(Scalar, Index)                                                               \
  template void spttm(CompiledSpace const&, FlaggedNonzeros<Scalar, Index, CompiledSpace> const&, \
                      FactorMatrix<Scalar, CompiledSpace> const&,                                 \
                      FactorMatrix<Scalar, CompiledSpace> const&, FCooShape const&)
// SpTTMc of a matrix calls it, and so its sources need not compile the kernels again.
#define POLYAD_MATRIX_PRODUCT(Scalar, Index)                                                 \
  template void matrix_product(CompiledSpace const&, char const*,                            \
                               FlaggedNonzeros<Scalar, Index, CompiledSpace> const&,         \
                               FactorMatrix<Scalar, CompiledSpace> const&, FCooShape const&, \
                               FactorMatrix<Scalar, CompiledSpace> const&)
POLYAD_EACH_SCALAR_AND_INDEX(extern, POLYAD_MATRIX_PRODUCT);

}  // namespace polyad::detail
