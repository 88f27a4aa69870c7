// SPDX-License-Identifier: BSD-3-Clause
// SemiSparseTensor: the product of a sparse tensor with dense matrices (Liu et al., F-COO, section II; the
// "sCOO" of ParTI). Some modes stay sparse, the others are dense. Each place of the sparse modes that has
// nonzeros has its coordinates and a dense row over all dense modes.
#pragma once

#include <Kokkos_Core.hpp>
#include <utility>
#include <vector>

#include "polyad/tensor/coo_tensor.hpp"
#include "polyad/tensor/factor_matrices.hpp"

namespace polyad {

/// S rows of D values. The dense modes run through a row in the order of dense_modes(), the last one fastest.
/// Shares its Views when copied, as Views do.
template <class Scalar, class Index, class Space>
class SemiSparseTensor {
public:
  using scalar_type      = Scalar;
  using index_type       = Index;
  using space_type       = Space;
  using coordinates_type = Kokkos::View<Index**, Kokkos::LayoutRight, typename Space::device_type>;
  using values_type      = FactorMatrix<Scalar, Space>;

  SemiSparseTensor() = default;

  /// \param extents      I_n of every sparse mode, and the columns of the matrix of every dense mode
  /// \param coordinates  K x S or more columns: row k holds those of the k-th mode of sparse_modes
  /// \param values       S x D
  /// \throws UsageError when a mode is missing or named twice, or the shapes do not match
  SemiSparseTensor(Extents const& extents, std::vector<int> sparse_modes, std::vector<int> dense_modes,
                   coordinates_type coordinates, values_type values)
      : m_extents(extents),
        m_sparse_modes(std::move(sparse_modes)),
        m_dense_modes(std::move(dense_modes)),
        m_coordinates(std::move(coordinates)),
        m_values(std::move(values)) {
    unsigned seen = 0;
    count_t width = 1;
    for (int const n : m_sparse_modes) {
      expect_mode(n, extents);
      seen |= 1U << n;
    }
    for (int const n : m_dense_modes) {
      expect_mode(n, extents);
      seen |= 1U << n;
      width = checked_product("a row of a semi-sparse tensor", width, extents[n]);
    }
    POLYAD_EXPECTS(std::ssize(m_sparse_modes) + std::ssize(m_dense_modes) == extents.order() &&
                       seen + 1 == 1U << extents.order(),
                   "every mode is either sparse or dense");
    POLYAD_EXPECTS(m_coordinates.extent(0) == m_sparse_modes.size() && m_coordinates.extent(1) >= rows(),
                   "coordinates of ", m_coordinates.extent(0), " x ", m_coordinates.extent(1), " for ",
                   rows(), " rows and ", m_sparse_modes.size(), " sparse modes");
    POLYAD_EXPECTS(m_values.extent(1) == width, "rows of ", m_values.extent(1), " values, not ", width);
  }

  [[nodiscard]] Extents const& extents() const { return m_extents; }
  [[nodiscard]] int order() const { return m_extents.order(); }
  [[nodiscard]] std::vector<int> const& sparse_modes() const { return m_sparse_modes; }
  [[nodiscard]] std::vector<int> const& dense_modes() const { return m_dense_modes; }
  /// S
  [[nodiscard]] count_t rows() const { return m_values.extent(0); }
  /// D
  [[nodiscard]] count_t width() const { return m_values.extent(1); }
  [[nodiscard]] coordinates_type const& coordinates() const { return m_coordinates; }
  [[nodiscard]] values_type const& values() const { return m_values; }

  /// Coordinates and values, rows with their padding.
  [[nodiscard]] count_t storage_bytes() const {
    return rows() * (m_sparse_modes.size() * sizeof(Index) + m_values.stride(0) * sizeof(Scalar));
  }

private:
  Extents m_extents;
  std::vector<int> m_sparse_modes;
  std::vector<int> m_dense_modes;
  coordinates_type m_coordinates;
  values_type m_values;
};

namespace detail {

template <class Values>
struct SumOfRowSquares {
  Values values;
  KOKKOS_FUNCTION void operator()(count_t e, double& sum) const {
    double const value = static_cast<double>(values(e / values.extent(1), e % values.extent(1)));
    sum += value * value;
  }
};

/// The place of entry e of all rows, and its value.
template <class Tensor, class Coo>
struct ExpandRows {
  typename Tensor::coordinates_type coordinates;
  typename Tensor::values_type values;
  typename Coo::indices_type indices;
  typename Coo::values_type coo_values;
  Extents extents;
  Kokkos::Array<int, max_order> modes;  // the sparse ones, then the dense ones
  KOKKOS_FUNCTION void operator()(count_t e) const {
    using Index       = typename Tensor::index_type;
    count_t const row = e / values.extent(1);
    count_t rest      = e % values.extent(1);
    coo_values(e)     = values(row, rest);
    auto const sparse = coordinates.extent_int(0);
    for (int k = 0; k < sparse; ++k) indices(e, modes[k]) = coordinates(k, row);
    for (int k = extents.order() - 1; k >= sparse; --k) {
      indices(e, modes[k]) = static_cast<Index>(rest % extents[modes[k]]);
      rest /= extents[modes[k]];
    }
  }
};

}  // namespace detail

/// ||Y||_F^2, summed in double. Waits for `space`.
template <class Scalar, class Index, class Space>
[[nodiscard]] double norm_squared(Space const& space, SemiSparseTensor<Scalar, Index, Space> const& tensor) {
  double sum = 0;
  Kokkos::parallel_reduce(
      "polyad::norm_squared",
      Kokkos::RangePolicy<Space, Kokkos::IndexType<count_t>>(space, 0, tensor.values().size()),
      detail::SumOfRowSquares<FactorMatrix<Scalar, Space>>{tensor.values()}, sum);
  return sum;
}

/// All S D values, also zeros, with their coordinates. Launches on `space` and returns without waiting.
/// \throws MemoryError before it allocates
template <class Scalar, class Index, class Space>
[[nodiscard]] CooTensor<Scalar, Index, Space> to_coo(Space const& space,
                                                     SemiSparseTensor<Scalar, Index, Space> const& tensor) {
  using Tensor      = SemiSparseTensor<Scalar, Index, Space>;
  using Coo         = CooTensor<Scalar, Index, Space>;
  count_t const nnz = checked_product("the tensor's coordinates and values", tensor.rows(), tensor.width());
  auto const coo    = make_coo_tensor<Scalar, Index>(space, tensor.extents(), nnz);
  detail::ExpandRows<Tensor, Coo> expand{tensor.coordinates(), tensor.values(),  coo.indices(),
                                         coo.values(),         tensor.extents(), {}};
  std::size_t end = 0;
  for (int const n : tensor.sparse_modes()) expand.modes[end++] = n;
  for (int const n : tensor.dense_modes()) expand.modes[end++] = n;
  Kokkos::parallel_for("polyad::expand_rows",
                       Kokkos::RangePolicy<Space, Kokkos::IndexType<count_t>>(space, 0, nnz), expand);
  return coo;
}

}  // namespace polyad
