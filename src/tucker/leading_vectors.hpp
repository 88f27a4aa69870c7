// SPDX-License-Identifier: BSD-3-Clause
// The leading left singular vectors of a matrix Y (I x D), for the factors of HOOI. The method is a
// randomised range finder with subspace iteration (Halko, Martinsson & Tropp, SIAM Review 53(2), 2011,
// algorithms 4.4 and 5.1).
//
// With L = R + oversampling columns, B = Y' Q and Z = Y B are orthonormalised in turn. This ends when the
// squares of the leading R singular values captured by Q no longer change. Q starts from the previous factor,
// which is nearly right from the second iteration of HOOI on. Only L x L matrices are decomposed, by Jacobi
// rotations of one team (dense/jacobi_eigen.hpp). A Gram matrix of I or D rows is never formed. Y is read
// twice an iteration.
#pragma once

#include <Kokkos_Core.hpp>
#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "dense/gram.hpp"
#include "dense/intermediates.hpp"
#include "dense/jacobi_eigen.hpp"
#include "kernel/launch_shape.hpp"
#include "polyad/tensor/factor_matrices.hpp"
#include "polyad/tucker/tucker.hpp"
#include "tucker/wide_product.hpp"

namespace polyad::detail {

/// Eigenvectors of a symmetric matrix by one team, the largest eigenvalue first: T = V diag(scale). For a
/// basis scale is 1 / sqrt(eigenvalue), or 0 if the eigenvalue may be a rounding error. Otherwise it is 1.
template <class Scalar, class Space>
struct SortedEigenvectors {
  GramMatrix<Space> G;  // overwritten
  GramMatrix<Space> V;
  Kokkos::View<double*, typename Space::device_type> scratch;  // L + 1, then L eigenvalues, decreasing
  FactorMatrix<Scalar, Space> T;                               // L x (L or fewer)
  bool basis;

  template <class Member>
  KOKKOS_FUNCTION void operator()(Member const& member) const {
    int const size = static_cast<int>(G.extent(0));
    jacobi_eigen(member, SquareMatrix{G.data(), size, static_cast<int>(G.stride(0))},
                 SquareMatrix{V.data(), size, static_cast<int>(V.stride(0))}, scratch.data());
    member.team_barrier();
    double* const values = scratch.data() + size + 1;
    Kokkos::parallel_for(Kokkos::TeamVectorRange(member, size), [&](int const i) {
      double const value = G(i, i);
      int rank           = 0;  // of this eigenvalue among all, the largest first; ties by number
      double largest     = 0;
      for (int j = 0; j < size; ++j) {
        double const other = G(j, j);
        if (other > value || (other == value && j < i)) ++rank;
        if (other > largest) largest = other;
      }
      values[rank] = value;
      if (rank >= static_cast<int>(T.extent(1))) return;
      double const negligible = 1e-14 * largest;
      double const scale      = !basis ? 1 : value > negligible ? 1 / Kokkos::sqrt(value) : 0;
      for (int j = 0; j < size; ++j) T(j, rank) = static_cast<Scalar>(V(j, i) * scale);
    });
  }
};

/// Columns that are zero become random numbers.
template <class Scalar, class Space>
struct FillZeroColumns {
  FactorMatrix<Scalar, Space> Q;
  Kokkos::View<double*, typename Space::device_type> values;  // eigenvalues of the columns, decreasing
  std::uint64_t seed;
  KOKKOS_FUNCTION void operator()(count_t i) const {
    for (count_t l = 0; l < Q.extent(1); ++l)
      if (!(values(l) > 1e-14 * values(0)))
        Q(i, l) = static_cast<Scalar>(counter_uniform(seed, 0, i, l) - 0.5);
  }
};

/// Makes orthonormal bases, and finds leading vectors, of matrices with up to L columns. Keeps its scratch.
template <class Scalar, class Space>
class LeadingVectors {
public:
  using matrix_type = FactorMatrix<Scalar, Space>;

  explicit LeadingVectors(Space const& space, LeadingVectorsOptions const& options = {})
      : m_space(space), m_options(options) {}

  /// Q = an orthonormal basis of the columns of Z (I x L, L <= I), with random directions where Z has fewer
  /// independent ones. Z is overwritten. Waits.
  void orthonormalize(matrix_type const& Z, matrix_type const& Q) {
    // Two passes, since the Gram matrix of the first resolves only half of the digits. More passes only after
    // columns had to be filled in.
    auto from     = Z;
    auto to       = Q;
    int remaining = 2;
    for (int pass = 0; remaining > 0 && pass < 8; ++pass, --remaining) {
      if (eigenvectors(from, true, to) < from.extent(1)) remaining = 3;
      std::swap(from, to);
    }
    if (from.data() != Q.data()) copy_matrix(m_space, Q, from);
  }

  /// U (I x R, R <= I and R <= D) = the leading R left singular vectors of Y (I x D). On entry U holds
  /// orthonormal columns to start from. Returns the sum of the squares of the leading R singular values.
  /// Waits.
  /// \throws MemoryError
  double find(matrix_type const& Y, matrix_type const& U) {
    count_t const rows  = Y.extent(0);
    count_t const width = Y.extent(1);
    count_t const rank  = U.extent(1);
    POLYAD_EXPECTS(rank <= std::min(rows, width), "a matrix of ", rows, " x ", width, " has no ", rank,
                   " left singular vectors");
    count_t const L = std::min(rank + m_options.oversampling, std::min(rows, width));
    auto const Q    = matrix("polyad::range", rows, L);
    auto const Z    = matrix("polyad::range_product", rows, L);
    auto const B    = matrix("polyad::range_rows", width, L);
    auto const W    = matrix("polyad::range_basis", width, L);
    auto const sums = make_wide_product_workspace(m_space, width, L);
    // The start, and random directions beside it.
    Kokkos::parallel_for("polyad::fill_range",
                         Kokkos::RangePolicy<Space, Kokkos::IndexType<count_t>>(m_space, 0, rows),
                         detail::FillRandom<Scalar, Space>{Z, 1, 0});
    copy_matrix(m_space, matrix_type(Kokkos::subview(Z, Kokkos::ALL, Kokkos::make_pair(count_t(0), rank))),
                U);
    orthonormalize(Z, Q);
    double captured = 0;
    for (int iteration = 0; iteration < m_options.max_iterations; ++iteration) {
      wide_transposed_product(m_space, Y, Q, sums, B);  // B = Y' Q, D x L
      // The singular values captured by Q are those of B. Its right singular vectors turn Q into U.
      auto const turn = matrix("polyad::range_turn", L, rank);
      decompose(B, false, turn);
      intermediates(m_space, Q, turn, U);
      double const before = captured;
      captured            = leading_sum(rank);
      // The tolerance is at least half of the scalar's epsilon.
      double const tolerance =
          std::max(m_options.tolerance, static_cast<double>(std::numeric_limits<Scalar>::epsilon()) / 2);
      if (!(captured - before > tolerance * captured)) break;
      orthonormalize(B, W);
      intermediates(m_space, Y, W, Z);
      orthonormalize(Z, Q);
    }
    return captured;
  }

private:
  [[nodiscard]] matrix_type matrix(char const* label, count_t rows, count_t columns) const {
    return make_factor_matrix<Scalar>(m_space, label, rows, columns);
  }
  [[nodiscard]] double leading_sum(count_t rank) const {
    double sum = 0;
    for (count_t l = 0; l < rank; ++l) sum += m_values[l];
    return sum;
  }
  /// T = the eigenvectors of M'M, scaled for a basis or not. The eigenvalues come to the host.
  void decompose(matrix_type const& M, bool basis, matrix_type const& T) {
    count_t const L = M.extent(1);
    GramMatrix<Space> const G(Kokkos::view_alloc(m_space, "polyad::range_gram"), L, L);
    GramMatrix<Space> const V(Kokkos::view_alloc(m_space, "polyad::range_eigenvectors"), L, L);
    Kokkos::View<double*, typename Space::device_type> const scratch(
        Kokkos::view_alloc(m_space, "polyad::range_scratch"), 2 * L + 1);
    gram(m_space, M, GramWorkspace<Space>(m_space, L), G);
    Kokkos::parallel_for("polyad::range_eigenvectors", team_policy(m_space, launch_shape<Space>(1, 8, 32)),
                         detail::SortedEigenvectors<Scalar, Space>{G, V, scratch, T, basis});
    m_device_values = Kokkos::subview(scratch, Kokkos::make_pair(L + 1, 2 * L + 1));
    auto const host = Kokkos::create_mirror_view(Kokkos::HostSpace(), m_device_values);
    Kokkos::deep_copy(m_space, host, m_device_values);
    m_space.fence("polyad::leading_vectors");
    m_values.assign(host.data(), host.data() + L);
  }
  /// to = from times its eigenvectors, scaled. Returns the number of independent columns; the others are
  /// filled in.
  count_t eigenvectors(matrix_type const& from, bool basis, matrix_type const& to) {
    count_t const L = from.extent(1);
    auto const T    = matrix("polyad::range_basis", L, L);
    decompose(from, basis, T);
    intermediates(m_space, from, T, to);
    count_t independent = 0;
    while (independent < L && m_values[independent] > 1e-14 * m_values[0]) ++independent;
    if (independent < L)
      Kokkos::parallel_for("polyad::fill_zero_columns",
                           Kokkos::RangePolicy<Space, Kokkos::IndexType<count_t>>(m_space, 0, to.extent(0)),
                           detail::FillZeroColumns<Scalar, Space>{to, m_device_values, ++m_fills});
    return independent;
  }

  Space m_space;
  LeadingVectorsOptions m_options;
  std::vector<double> m_values;  // of the last decomposition, decreasing
  Kokkos::View<double*, typename Space::device_type> m_device_values;
  std::uint64_t m_fills = 0;
};

}  // namespace polyad::detail
