// SPDX-License-Identifier: BSD-3-Clause
// The leading left singular vectors of a matrix Y (I x D), for the factors of HOOI. The method is a
// randomised range finder with subspace iteration (Halko, Martinsson & Tropp, SIAM Review 53(2), 2011,
// algorithms 4.4 and 5.1).
//
// With L = R + oversampling columns, B = Y' Q and Z = Y B are orthonormalised in turn. This ends when the
// squares of the leading R singular values captured by Q no longer change. Q starts from the previous factor,
// which is nearly right from the second iteration of HOOI on. Only L x L matrices are decomposed, by one team
// (dense/symmetric_eigen.hpp). A Gram matrix of I or D rows is never formed. Y is read twice in an iteration.
//
// On several ranks each has some rows of Y, Q, Z and U, and all of B. They add up B and the Gram matrices.
// They take the eigenvectors of the root: where eigenvalues are nearly equal, a rounding error turns them.
#pragma once

#include <Kokkos_Core.hpp>
#include <algorithm>
#include <limits>

#include "dense/gram.hpp"
#include "dense/intermediates.hpp"
#include "dense/symmetric_eigen.hpp"
#include "kernel/launch_shape.hpp"
#include "polyad/tensor/factor_matrices.hpp"
#include "polyad/tucker/tucker.hpp"
#include "run/row_distribution.hpp"
#include "tucker/leading_scratch.hpp"
#include "tucker/wide_product.hpp"

namespace polyad::detail {

/// The eigenvalue of an L x L matrix that may be a rounding error of the largest one.
KOKKOS_INLINE_FUNCTION double negligible_eigenvalue(double largest, count_t L) {
  return largest * Kokkos::max(1e-14, Kokkos::Experimental::epsilon_v<double> * static_cast<double>(L));
}

/// Eigenvectors of a symmetric matrix by one team, the largest eigenvalue first: T = V diag(scale). For a
/// basis scale is 1 / sqrt(eigenvalue), or 0 if the eigenvalue may be a rounding error. Otherwise it is 1.
template <class Scalar, class Space>
struct SortedEigenvectors {
  GramMatrix<Space> G;  // overwritten
  GramMatrix<Space> V;
  Kokkos::View<double*, typename Space::device_type> scratch;  // 2 L, then L eigenvalues, decreasing
  FactorMatrix<Scalar, Space> T;                               // L x (L or fewer)
  bool basis;

  template <class Member>
  KOKKOS_FUNCTION void operator()(Member const& member) const {
    int const size            = G.extent_int(0);
    double const* const found = scratch.data();
    double* const values      = scratch.data() + 2 * size;
    symmetric_eigen(member, SquareMatrix{G.data(), size, static_cast<int>(G.stride(0))},
                    SquareMatrix{V.data(), size, static_cast<int>(V.stride(0))}, scratch.data());
    Kokkos::parallel_for(Kokkos::TeamVectorRange(member, size), [&](int const i) {
      double const value = found[i];
      int rank           = 0;  // rank of this eigenvalue, the largest first; ties by number
      double largest     = 0;
      for (int j = 0; j < size; ++j) {
        double const other = found[j];
        if (other > value || (other == value && j < i)) ++rank;
        if (other > largest) largest = other;
      }
      values[rank] = value;
      if (rank >= T.extent_int(1)) return;
      double const negligible = negligible_eigenvalue(largest, G.extent(0));
      double const scale      = !basis ? 1 : value > negligible ? 1 / Kokkos::sqrt(value) : 0;
      for (int j = 0; j < size; ++j) T(j, rank) = static_cast<Scalar>(V(i, j) * scale);
    });
  }
};

/// Columns that are zero become random numbers.
template <class Scalar, class Space>
struct FillZeroColumns {
  FactorMatrix<Scalar, Space> Q;
  Kokkos::View<double*, typename Space::device_type> values;  // eigenvalues of the columns, decreasing
  std::uint64_t seed;
  count_t first_row;  // the number of Q's first row among those of all ranks
  KOKKOS_FUNCTION void operator()(count_t i) const {
    double const negligible = negligible_eigenvalue(values(0), Q.extent(1));
    for (count_t l = 0; l < Q.extent(1); ++l)
      if (!(values(l) > negligible))
        Q(i, l) = static_cast<Scalar>(counter_uniform(seed, 0, first_row + i, l) - 0.5);
  }
};

/// Makes orthonormal bases, and finds leading vectors, of matrices with up to L columns. Keeps its arrays.
template <class Scalar, class Space>
class LeadingVectors {
public:
  using matrix_type = FactorMatrix<Scalar, Space>;

  /// \param rows  how they are divided: of several ranks all call all functions together
  LeadingVectors(Space const& space, LeadingVectorsOptions const& options,
                 std::shared_ptr<RowDistribution<Scalar, Space> const> rows)
      : m_space(space), m_options(options), m_division(std::move(rows)) {}
  /// The same on one rank.
  explicit LeadingVectors(Space const& space, LeadingVectorsOptions const& options = {})
      : LeadingVectors(space, options,
                       std::make_shared<RowDistribution<Scalar, Space> const>(space, Extents())) {}

  /// Q = an orthonormal basis of the columns of Z (I x L, L <= I), with random directions where Z has fewer
  /// independent ones. Z is overwritten. On several ranks both have the owned rows of mode n. Waits.
  /// \throws MemoryError, on all ranks
  void orthonormalize(matrix_type const& Z, matrix_type const& Q, int n = 0) {
    m_fills = 0;
    m_division->together([&] { static_cast<void>(m_scratch.eigen(m_space, Z.extent(1))); });
    make_basis(Z, Q, rows_of(n));
  }

  /// Allocates what find needs for a Y of this shape, of `all` rows on all ranks, and R columns of U.
  /// \throws MemoryError
  void reserve(count_t rows, count_t width, count_t rank, count_t all) {
    count_t const L = sampled_columns(all, width, rank);
    static_cast<void>(m_scratch.arrays(m_space, rows, width, L));
    static_cast<void>(m_scratch.eigen(m_space, L));
  }

  /// U (I x R, R <= I and R <= D) = the leading R left singular vectors of Y (I x D). On entry U holds
  /// orthonormal columns to start from. Returns the sum of the squares of the leading R singular values. On
  /// several ranks Y has the owned rows of mode n, and these rows of U change. Waits.
  /// \throws MemoryError, unless reserve was called for this shape
  double find(matrix_type const& Y, matrix_type const& whole, int n = 0) {
    count_t const all   = whole.extent(0);  // I; `rows` are here
    auto const U        = m_division->owned(n, whole);
    count_t const rows  = Y.extent(0);
    count_t const width = Y.extent(1);
    count_t const rank  = U.extent(1);
    POLYAD_EXPECTS(rank <= std::min(all, width), "a matrix of ", all, " x ", width, " has no ", rank,
                   " left singular vectors");
    count_t const L               = sampled_columns(all, width, rank);
    auto const [Q, Z, B, W, sums] = m_scratch.arrays(m_space, rows, width, L);
    m_fills                       = 0;
    // The start, and random directions in addition.
    fill_random_rows(m_space, Z, 1, 0, rows_of(n).first);
    copy_matrix(m_space, matrix_type(Kokkos::subview(Z, Kokkos::ALL, Kokkos::make_pair(count_t(0), rank))),
                U);
    make_basis(Z, Q, rows_of(n));
    double captured = 0;
    for (int iteration = 0; iteration < m_options.max_iterations; ++iteration) {
      wide_transposed_product(m_space, Y, Q, sums, B);  // B = Y' Q, D x L
      m_division->sum(B);
      // The singular values captured by Q are those of B. Its right singular vectors turn Q into U.
      auto const& right = decompose(B, false, rank, Rows{});
      intermediates(m_space, Q, right.turn(rank), U);
      double const before = captured;
      captured            = 0;
      for (count_t l = 0; l < rank; ++l) captured += right.host_values(l);
      // The tolerance is at least half of the scalar's epsilon.
      double const tolerance =
          std::max(m_options.tolerance, static_cast<double>(std::numeric_limits<Scalar>::epsilon()) / 2);
      if (!(captured - before > tolerance * captured)) break;
      make_basis(B, W, Rows{});
      intermediates(m_space, Y, W, Z);
      make_basis(Z, Q, rows_of(n));
    }
    return captured;
  }

private:
  /// The rows of a matrix: all of them, or those of a mode that this rank owns, from `first` on.
  struct Rows {
    bool of_mode  = false;
    count_t first = 0;
  };
  [[nodiscard]] Rows rows_of(int n) const { return {true, m_division->first_row(n)}; }

  void make_basis(matrix_type const& Z, matrix_type const& Q, Rows rows) {
    // Two passes, since the Gram matrix of the first resolves only half of the digits. More passes only after
    // columns had to be filled in.
    auto from     = Z;
    auto to       = Q;
    int remaining = 2;
    for (int pass = 0; remaining > 0 && pass < 8; ++pass, --remaining) {
      if (eigenvectors(from, true, to, rows) < from.extent(1)) remaining = 3;
      std::swap(from, to);
    }
    if (from.data() != Q.data()) copy_matrix(m_space, Q, from);
  }

  /// L: more columns than requested, since the rate of convergence depends on the singular values beyond
  /// them.
  [[nodiscard]] count_t sampled_columns(count_t rows, count_t width, count_t rank) const {
    return std::min(rank + m_options.oversampling, std::min(rows, width));
  }
  /// Returns the scratch with the leading eigenvectors of M'M in its turn, scaled for a basis or not, and all
  /// eigenvalues, decreasing, on the host too.
  EigenScratch<Scalar, Space> const& decompose(matrix_type const& M, bool basis, count_t columns, Rows rows) {
    auto const& scratch = m_scratch.eigen(m_space, M.extent(1));
    auto const T        = scratch.turn(columns);
    gram(m_space, M, scratch.gram, scratch.G);
    if (rows.of_mode) m_division->sum(scratch.G.data(), scratch.G.size());
    Kokkos::parallel_for(
        "polyad::range_eigenvectors", team_policy(m_space, launch_shape<Space>(1, 8, 32)),
        detail::SortedEigenvectors<Scalar, Space>{scratch.G, scratch.V, scratch.numbers, T, basis});
    m_division->broadcast_from_root(T);
    m_division->broadcast_on_device(scratch.values.data(), scratch.values.size());
    Kokkos::deep_copy(m_space, scratch.host_values, scratch.values);
    m_space.fence("polyad::leading_vectors");
    return scratch;
  }
  /// to = from times its eigenvectors, scaled. Returns the number of independent columns; the others are
  /// filled in.
  count_t eigenvectors(matrix_type const& from, bool basis, matrix_type const& to, Rows rows) {
    count_t const L     = from.extent(1);
    auto const& scratch = decompose(from, basis, L, rows);
    intermediates(m_space, from, scratch.turn(L), to);
    double const negligible = detail::negligible_eigenvalue(scratch.host_values(0), L);
    count_t independent     = 0;
    while (independent < L && scratch.host_values(independent) > negligible) ++independent;
    if (independent < L)
      Kokkos::parallel_for("polyad::fill_zero_columns",
                           Kokkos::RangePolicy<Space, Kokkos::IndexType<count_t>>(m_space, 0, to.extent(0)),
                           detail::FillZeroColumns<Scalar, Space>{to, scratch.values, ++m_fills, rows.first});
    return independent;
  }

  Space m_space;
  LeadingVectorsOptions m_options;
  std::shared_ptr<RowDistribution<Scalar, Space> const> m_division;
  LeadingScratch<Scalar, Space> m_scratch;
  /// Counted within a call: results do not depend on earlier calls, which a resumed run has not made.
  std::uint64_t m_fills = 0;
};

}  // namespace polyad::detail
