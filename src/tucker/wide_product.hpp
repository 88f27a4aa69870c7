// SPDX-License-Identifier: BSD-3-Clause
// wide_transposed_product: D = A' G where A or G is an output of SpTTMc. Its columns are a product of ranks
// and may be millions. The product of dense/transposed_product.hpp keeps J x R sums for each chunk of rows,
// so this takes a few thousand columns at a time. Then all chunks have room for sums of their own.
#pragma once

#include <Kokkos_Core.hpp>
#include <algorithm>

#include "dense/transposed_product.hpp"
#include "polyad/tensor/factor_matrices.hpp"

namespace polyad::detail {

/// With 32 columns of the other matrix, a chunk has 1 MiB of sums, which allows 64 chunks.
inline constexpr count_t most_product_columns = 4096;

/// Scratch for matrices of J and R columns, however many. \throws MemoryError
template <class Space>
TransposedProductWorkspace<Space> make_wide_product_workspace(Space const& space, count_t J, count_t R) {
  return make_transposed_product_workspace(space, std::min(J, most_product_columns),
                                           std::min(R, most_product_columns));
}

/// D (J x R) = A' G. Launches on `space` and returns without waiting.
/// \throws UsageError when the shapes do not match
template <class Space, class Scalar>
void wide_transposed_product(Space const& space, FactorMatrix<Scalar, Space> const& A,
                             FactorMatrix<Scalar, Space> const& G,
                             TransposedProductWorkspace<Space> const& workspace,
                             FactorMatrix<Scalar, Space> const& D) {
  using Matrix        = FactorMatrix<Scalar, Space>;
  auto const piece_of = [](count_t first, count_t columns) {
    return Kokkos::make_pair(first, std::min(first + most_product_columns, columns));
  };
  for (count_t j = 0; j < A.extent(1); j += most_product_columns)
    for (count_t r = 0; r < G.extent(1); r += most_product_columns) {
      auto const J = piece_of(j, A.extent(1));
      auto const R = piece_of(r, G.extent(1));
      transposed_product(space, 1, Matrix(Kokkos::subview(A, Kokkos::ALL, J)),
                         Matrix(Kokkos::subview(G, Kokkos::ALL, R)), workspace,
                         Matrix(Kokkos::subview(D, J, R)));
    }
}

}  // namespace polyad::detail
