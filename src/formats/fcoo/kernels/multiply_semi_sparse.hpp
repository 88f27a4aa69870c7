// SPDX-License-Identifier: BSD-3-Clause
// Operations on semi-sparse tensors (tensor/semi_sparse_tensor.hpp), by F-COO's products. A semi-sparse
// tensor of K sparse modes is a sparse tensor of K + 1 modes times the matrix of its rows. The last mode of
// that sparse tensor numbers the rows, and all its values are 1. The products are therefore those of sparse
// tensors, with the matrix of rows among the factors.
#pragma once

#include <Kokkos_Core.hpp>
#include <algorithm>
#include <cstddef>
#include <memory>
#include <span>
#include <type_traits>
#include <vector>

#include "dense/intermediates.hpp"
#include "dense/transposed_product.hpp"
#include "formats/fcoo/build/build_flagged.hpp"
#include "formats/fcoo/kernels/mttkrp_fcoo.hpp"
#include "formats/fcoo/kernels/spttmc.hpp"
#include "formats/fcoo/storage/fcoo.hpp"
#include "formats/fcoo/storage/flagged_nonzeros.hpp"
#include "polyad/core/error.hpp"
#include "polyad/core/spaces.hpp"
#include "polyad/core/types.hpp"
#include "polyad/formats/format.hpp"
#include "polyad/formats/semi_sparse.hpp"
#include "polyad/kernel/other_factors.hpp"
#include "polyad/kernel/rank_dispatch.hpp"
#include "polyad/tensor/coo_tensor.hpp"
#include "polyad/tensor/factor_matrices.hpp"
#include "polyad/tensor/semi_sparse_tensor.hpp"
#include "tensor/coordinates_inside.hpp"

namespace polyad {

using namespace detail;
namespace detail {

/// Coordinates of row s, then s; value 1.
template <class Tensor, class Coo>
struct NumberRows {
  typename Tensor::coordinates_type coordinates;
  typename Coo::indices_type indices;
  typename Coo::values_type values;
  KOKKOS_FUNCTION void operator()(count_t s) const {
    count_t const sparse = coordinates.extent(0);
    for (count_t k = 0; k < sparse; ++k) indices(s, k) = coordinates(k, s);
    indices(s, sparse) = static_cast<typename Coo::index_type>(s);
    values(s)          = 1;
  }
};

/// The sparse tensor of order K + 1 described at the top of this file.
template <class Scalar, class Index, class Space>
CooTensor<Scalar, Index, Space> rows_as_mode(Space const& space,
                                             SemiSparseTensor<Scalar, Index, Space> const& Y) {
  using Tensor = SemiSparseTensor<Scalar, Index, Space>;
  using Coo    = CooTensor<Scalar, Index, Space>;
  std::vector<count_t> extents;
  for (int const n : Y.sparse_modes()) extents.push_back(Y.extents()[n]);
  extents.push_back(Y.rows());
  auto const coo =
      make_coo_tensor<Scalar, Index>(space, Extents(std::span<count_t const>(extents)), Y.rows());
  Kokkos::parallel_for("polyad::number_rows",
                       Kokkos::RangePolicy<Space, Kokkos::IndexType<count_t>>(space, 0, Y.rows()),
                       NumberRows<Tensor, Coo>{Y.coordinates(), coo.indices(), coo.values()});
  return coo;
}

/// W(q, r) = prod over the dense modes d != left_out of A^(d)(q_d, r), q the column of a row.
template <class Scalar, class Space>
struct DenseProducts {
  Kokkos::Array<FactorMatrix<Scalar, Space>, max_order> factors;  // the dense ones, in the order of a row
  int count;
  int left_out;  // -1: none
  FactorMatrix<Scalar, Space> W;
  KOKKOS_FUNCTION void operator()(count_t q) const {
    for (count_t r = 0; r < W.extent(1); ++r) {
      double product = 1;
      count_t rest   = q;
      for (int d = count - 1; d >= 0; --d) {
        auto const& A = factors[d];
        if (d != left_out) product *= A(rest % A.extent(0), r);
        rest /= A.extent(0);
      }
      W(q, r) = static_cast<Scalar>(product);
    }
  }
};

/// V(i, r) = sum over the columns q of a row with q_d = i of G(q, r) W(q, r).
template <class Scalar, class Space>
struct GatherDenseMode {
  FactorMatrix<Scalar, Space> G;
  FactorMatrix<Scalar, Space> W;
  count_t inner;  // columns of a row with the same indices of mode d and those before it
  FactorMatrix<Scalar, Space> V;
  KOKKOS_FUNCTION void operator()(count_t e) const {
    count_t const i = e / V.extent(1);
    count_t const r = e % V.extent(1);
    double sum      = 0;
    for (count_t outer = 0; outer < G.extent(0); outer += V.extent(0) * inner)
      for (count_t q = outer + i * inner; q < outer + (i + 1) * inner; ++q)
        sum += static_cast<double>(G(q, r)) * W(q, r);
    V(i, r) = static_cast<Scalar>(sum);
  }
};

/// The position of a mode in a list, or the length of the list if the mode is not in it.
inline std::size_t position_of(int mode, std::vector<int> const& modes) {
  return std::find(modes.begin(), modes.end(), mode) - modes.begin();
}

template <class Scalar, class Space>
FactorMatrix<Scalar, Space> dense_products(Space const& space, std::vector<int> const& modes,
                                           FactorMatrices<Scalar, Space> const& factors, count_t width,
                                           int left_out) {
  DenseProducts<Scalar, Space> kernel{
      {},
      static_cast<int>(modes.size()),
      left_out,
      make_factor_matrix<Scalar>(space, "polyad::dense_products", width, factors.rank())};
  for (std::size_t d = 0; d < modes.size(); ++d) kernel.factors[d] = factors[modes[d]];
  Kokkos::parallel_for("polyad::dense_products",
                       Kokkos::RangePolicy<Space, Kokkos::IndexType<count_t>>(space, 0, width), kernel);
  return kernel.W;
}

}  // namespace detail

template <class Scalar, class Index, class Space>
SpttmPlan<Scalar, Index, Space>::SpttmPlan(Space const& space, CooTensor<Scalar, Index, Space> const& X,
                                           int mode)
    : m_mode(mode) {
  expect_coordinates_inside(space, X);
  m_nonzeros = std::make_shared<FlaggedNonzeros<Scalar, Index, Space> const>(build_spttm(space, X, mode));
  space.fence("polyad::spttm");
}

template <class Scalar, class Index, class Space>
auto SpttmPlan<Scalar, Index, Space>::make_output(Space const& space, count_t columns) const -> Output {
  std::vector<count_t> extents;
  std::vector<int> sparse;
  for (int n = 0; n < m_nonzeros->extents.order(); ++n) {
    extents.push_back(n == m_mode ? columns : m_nonzeros->extents[n]);
    if (n != m_mode) sparse.push_back(n);
  }
  return {Extents(std::span<count_t const>(extents)),
          sparse,
          {m_mode},
          m_nonzeros->coordinates,
          make_factor_matrix<Scalar>(space, "polyad::fibers", m_nonzeros->segments, columns)};
}

template <class Scalar, class Index, class Space>
void SpttmPlan<Scalar, Index, Space>::multiply(Space const& space, FactorMatrix<Scalar, Space> const& U,
                                               Output const& Y) const {
  auto const rows = with_packed_rows<Scalar, Space>(space, U);
  spttm(space, *m_nonzeros, rows, Y.values());
  if (rows.data() != U.data()) space.fence("polyad::packed_rows");
}

template <class Scalar, class Index, class Space>
SemiSparseTensor<Scalar, Index, Space> spttm(Space const& space, CooTensor<Scalar, Index, Space> const& X,
                                             std::type_identity_t<FactorMatrix<Scalar, Space>> const& U,
                                             int mode) {
  SpttmPlan<Scalar, Index, Space> const plan(space, X, mode);
  auto const Y = plan.make_output(space, U.extent(1));
  plan.multiply(space, U, Y);
  space.fence("polyad::spttm");
  return Y;
}

template <class Scalar, class Index, class Space>
SemiSparseTensor<Scalar, Index, Space> spttm(Space const& space,
                                             SemiSparseTensor<Scalar, Index, Space> const& Y,
                                             std::type_identity_t<FactorMatrix<Scalar, Space>> const& U,
                                             int mode) {
  expect_mode(mode, Y.extents());
  std::size_t const k      = detail::position_of(mode, Y.sparse_modes());
  std::size_t const sparse = Y.sparse_modes().size();
  POLYAD_EXPECTS(k < sparse, "mode ", mode, " is dense already");
  POLYAD_EXPECTS(sparse > 1, "mode ", mode, " is the last sparse one");
  POLYAD_EXPECTS(U.extent(0) == Y.extents()[mode], "the matrix has ", U.extent(0), " rows, mode ", mode,
                 " has ", Y.extents()[mode]);
  checked_columns(U.extent(1));
  count_t const width = checked_product("a row of a semi-sparse tensor", U.extent(1), Y.width());
  checked_columns(width);

  // Index modes: the other sparse ones. Product modes: this one and the rows'.
  Kokkos::Array<int, max_order> modes{};
  std::size_t end = 0;
  std::vector<int> left;
  for (std::size_t m = 0; m < sparse; ++m) {
    if (m == k) continue;
    modes[end++] = static_cast<int>(m);
    left.push_back(Y.sparse_modes()[m]);
  }
  modes[end]          = static_cast<int>(k);
  modes[end + 1]      = static_cast<int>(sparse);
  auto const coo      = detail::rows_as_mode(space, Y);
  auto const nonzeros = make_flagged(space, coo, modes, static_cast<int>(end), FCooRows::of_segments,
                                     automatic_threadlen(space, coo.nnz()));
  auto const values   = make_factor_matrix<Scalar>(space, "polyad::fibers", nonzeros.segments, width);
  auto const rows     = with_packed_rows<Scalar, Space>(space, U);
  detail::kronecker_product(space, "polyad::spttm", nonzeros, {static_cast<int>(k), static_cast<int>(sparse)},
                            std::vector<FactorMatrix<Scalar, Space>>{rows, Y.values()}, {}, values);
  std::vector<count_t> extents;
  for (int n = 0; n < Y.order(); ++n) extents.push_back(n == mode ? U.extent(1) : Y.extents()[n]);
  std::vector<int> dense{mode};
  dense.insert(dense.end(), Y.dense_modes().begin(), Y.dense_modes().end());
  space.fence("polyad::spttm");
  return {Extents(std::span<count_t const>(extents)), left, dense, nonzeros.coordinates, values};
}

template <class Scalar, class Index, class Space>
void mttkrp(Space const& space, SemiSparseTensor<Scalar, Index, Space> const& Y,
            FactorMatrices<Scalar, Space> const& factors, int mode, FactorMatrix<Scalar, Space> const& V) {
  if (!rows_are_packed<Scalar, Space>(V) || !detail::rows_are_packed(factors))
    return detail::on_packed_rows(space, factors, V, [&](auto const& packed, auto const& output) {
      mttkrp(space, Y, packed, mode, output);
    });
  expect_mttkrp_arguments(Y.extents(), factors, mode, V);
  count_t const rank       = factors.rank();
  std::size_t const sparse = Y.sparse_modes().size();
  std::size_t const k      = detail::position_of(mode, Y.sparse_modes());
  if (Y.rows() == 0) return zero_matrix(space, V);
  auto const coo = detail::rows_as_mode(space, Y);
  FactorMatrices<Scalar, Space> row_factors(space, coo.extents(), rank);
  for (std::size_t m = 0; m < sparse; ++m) row_factors[m] = factors[Y.sparse_modes()[m]];
  auto const& rows    = row_factors[sparse];  // S x R
  int const threadlen = automatic_threadlen(space, coo.nnz());
  // The product of the sparse tensor of order K + 1 on its mode m.
  auto const multiply = [&](std::size_t m, FactorMatrix<Scalar, Space> const& output) {
    auto const nonzeros = make_flagged(space, coo, mode_first(coo.order(), static_cast<int>(m)), 1,
                                       FCooRows::of_mode, threadlen);
    detail::hadamard_product(space, "polyad::mttkrp_semi_sparse", nonzeros, row_factors, {}, output);
  };
  if (k < sparse) {
    // Each row times the dense modes' factors, then summed.
    intermediates(space, Y.values(), detail::dense_products(space, Y.dense_modes(), factors, Y.width(), -1),
                  rows);
    multiply(k, V);
  } else {
    // The sparse modes' factors for each row, then their products with the rows.
    multiply(sparse, rows);
    auto const& dense   = Y.dense_modes();
    std::size_t const d = detail::position_of(mode, dense);
    auto const G        = make_factor_matrix<Scalar>(space, "polyad::row_products", Y.width(), rank);
    transposed_product(space, 1, Y.values(), rows, make_transposed_product_workspace(space, Y.width(), rank),
                       G);
    count_t inner = 1;
    for (std::size_t m = d + 1; m < dense.size(); ++m) inner *= Y.extents()[dense[m]];
    Kokkos::parallel_for(
        "polyad::gather_dense_mode",
        Kokkos::RangePolicy<Space, Kokkos::IndexType<count_t>>(space, 0, V.extent(0) * rank),
        detail::GatherDenseMode<Scalar, Space>{
            G, detail::dense_products(space, dense, factors, Y.width(), static_cast<int>(d)), inner, V});
  }
  space.fence("polyad::mttkrp_semi_sparse");
}

#define POLYAD_MULTIPLY_SEMI_SPARSE(Scalar, Index)                                                  \
  template class SpttmPlan<Scalar, Index, CompiledSpace>;                                           \
  template SemiSparseTensor<Scalar, Index, CompiledSpace> spttm(                                    \
      CompiledSpace const&, CooTensor<Scalar, Index, CompiledSpace> const&,                         \
      std::type_identity_t<FactorMatrix<Scalar, CompiledSpace>> const&, int);                       \
  template SemiSparseTensor<Scalar, Index, CompiledSpace> spttm(                                    \
      CompiledSpace const&, SemiSparseTensor<Scalar, Index, CompiledSpace> const&,                  \
      std::type_identity_t<FactorMatrix<Scalar, CompiledSpace>> const&, int);                       \
  template void mttkrp(CompiledSpace const&, SemiSparseTensor<Scalar, Index, CompiledSpace> const&, \
                       FactorMatrices<Scalar, CompiledSpace> const&, int,                           \
                       FactorMatrix<Scalar, CompiledSpace> const&)

}  // namespace polyad
