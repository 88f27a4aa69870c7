// SPDX-License-Identifier: BSD-3-Clause
// LeadingScratch: the arrays of LeadingVectors. They are kept, so that an iteration of HOOI allocates
// nothing. The tall matrices of a mode reuse the memory of those of the mode before.
#pragma once

#include <Kokkos_Core.hpp>
#include <map>
#include <string>
#include <utility>

#include "dense/gram.hpp"
#include "polyad/core/rank.hpp"
#include "polyad/tensor/factor_matrices.hpp"
#include "tucker/wide_product.hpp"

namespace polyad::detail {

/// A matrix with packed rows that begins at `data`.
template <class Scalar, class Space>
FactorMatrix<Scalar, Space> matrix_at(Scalar* data, count_t rows, count_t columns) {
  FactorMatrix<Scalar, Space> const whole(data, rows, padded_rank<Scalar>(columns));
  return Kokkos::subview(whole, Kokkos::ALL, Kokkos::make_pair(count_t(0), columns));
}

/// Room for one matrix at a time, as large as the largest so far.
template <class Scalar, class Space>
class MatrixRoom {
public:
  explicit MatrixRoom(char const* label) : m_label(label) {}

  /// A matrix with packed rows, whose elements are not initialised. The matrix of the previous call is lost.
  /// \throws MemoryError
  [[nodiscard]] FactorMatrix<Scalar, Space> matrix(Space const& space, count_t rows, count_t columns) {
    count_t const stride = padded_rank<Scalar>(columns);
    if (rows > m_room.size() / stride) {
      m_room = {};  // before the larger one is allocated
      m_room = make_factor_matrix<Scalar>(space, m_label, rows, stride);
    }
    return matrix_at<Scalar, Space>(m_room.data(), rows, columns);
  }

private:
  std::string m_label;
  FactorMatrix<Scalar, Space> m_room;
};

/// For the eigenvectors of an L x L matrix.
template <class Scalar, class Space>
struct EigenScratch {
  EigenScratch(Space const& space, count_t L)
      : G(Kokkos::view_alloc(space, "polyad::range_gram"), L, L),
        V(Kokkos::view_alloc(space, "polyad::range_eigenvectors"), L, L),
        numbers(Kokkos::view_alloc(space, "polyad::range_scratch"), 3 * L),
        values(Kokkos::subview(numbers, Kokkos::make_pair(2 * L, 3 * L))),
        host_values(Kokkos::create_mirror_view(Kokkos::HostSpace(), values)),
        gram(space, L),
        m_turn(make_factor_matrix<Scalar>(space, "polyad::range_turn", L, L)) {}

  /// An L x `columns` matrix for the eigenvectors that are used, in the precision of the factors. A second
  /// call returns the same memory.
  [[nodiscard]] FactorMatrix<Scalar, Space> turn(count_t columns) const {
    return matrix_at<Scalar, Space>(m_turn.data(), G.extent(0), columns);
  }

  using Numbers = Kokkos::View<double*, typename Space::device_type>;
  GramMatrix<Space> G;
  GramMatrix<Space> V;
  Numbers numbers;  // 2 L of symmetric_eigen, then the eigenvalues
  Numbers values;
  Kokkos::View<double*, Kokkos::HostSpace> host_values;
  GramWorkspace<Space> gram;

private:
  FactorMatrix<Scalar, Space> m_turn;
};

template <class Scalar, class Space>
class LeadingScratch {
public:
  using matrix_type = FactorMatrix<Scalar, Space>;

  /// The arrays for Y (rows x width) and L columns.
  struct Arrays {
    matrix_type Q;  // rows x L
    matrix_type Z;  // rows x L
    matrix_type B;  // width x L
    matrix_type W;  // width x L
    TransposedProductWorkspace<Space> sums;
  };

  /// Allocates what was not there yet. Arrays of other shapes are lost. \throws MemoryError
  [[nodiscard]] Arrays arrays(Space const& space, count_t rows, count_t width, count_t L) {
    auto found = m_sums.find({width, L});
    if (found == m_sums.end())
      found = m_sums.emplace(std::pair(width, L), make_wide_product_workspace(space, width, L)).first;
    return {m_Q.matrix(space, rows, L), m_Z.matrix(space, rows, L), m_B.matrix(space, width, L),
            m_W.matrix(space, width, L), found->second};
  }

  /// \throws MemoryError
  [[nodiscard]] EigenScratch<Scalar, Space> const& eigen(Space const& space, count_t L) {
    return m_eigen.try_emplace(L, space, L).first->second;
  }

private:
  MatrixRoom<Scalar, Space> m_Q{"polyad::range"};
  MatrixRoom<Scalar, Space> m_Z{"polyad::range_product"};
  MatrixRoom<Scalar, Space> m_B{"polyad::range_rows"};
  MatrixRoom<Scalar, Space> m_W{"polyad::range_basis"};
  // They are small. There is one for each shape, so that the division of the sums into chunks does not depend
  // on the other shapes.
  std::map<std::pair<count_t, count_t>, TransposedProductWorkspace<Space>> m_sums;
  std::map<count_t, EigenScratch<Scalar, Space>> m_eigen;
};

}  // namespace polyad::detail
