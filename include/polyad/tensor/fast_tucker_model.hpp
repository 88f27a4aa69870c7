// SPDX-License-Identifier: BSD-3-Clause
// FastTuckerModel: a Tucker model whose core is itself a Kruskal tensor of rank R (Li et al.,
// "cuFasterTucker", 2022, section 3), with a mean and biases added:
//
//   xhat(i_0, ..., i_{N-1}) = mean + sum_n bias^(n)(i_n) + sum_r prod_n C^(n)(i_n, r),   C^(n) = A^(n) B^(n)
//
// A^(n): I_n x J_n factors, B^(n): J_n x R core matrices. Mean and biases are not in the paper. The model is
// fitted to the observed entries; entries that are not stored are unknown, not zero.
//
// If a mode is marked as time, the biases of the others may drift. Then drift^(n)(i_n, b) is added, where b
// is the bin of the entry's time (after Koren, "Collaborative filtering with temporal dynamics", KDD 2009,
// section 3.1).
#pragma once

#include <Kokkos_Core.hpp>
#include <array>
#include <limits>
#include <span>
#include <string>

#include "polyad/tensor/factor_matrices.hpp"

namespace polyad {

/// bias^(n): I_n numbers.
template <class Scalar, class Space>
using BiasVector = Kokkos::View<Scalar*, typename Space::device_type>;

/// The range that predictions are clipped to; by default all numbers.
struct ValueRange {
  double lowest  = -std::numeric_limits<double>::infinity();
  double highest = std::numeric_limits<double>::infinity();
};

/// The bin of time t among `bins` bins of equal length over the times 0 to times - 1. Later times are in the
/// last bin. bins * times must fit count_t.
KOKKOS_INLINE_FUNCTION count_t time_bin(count_t t, count_t bins, count_t times) {
  return t < times ? t * bins / times : bins - 1;
}

/// Shares its Views when copied, as Views do.
template <class Scalar, class Space>
class FastTuckerModel {
public:
  using matrix_type = FactorMatrix<Scalar, Space>;
  using bias_type   = BiasVector<Scalar, Space>;

  FastTuckerModel() = default;

  /// Allocates A^(n) (I_n x J_n), B^(n) (J_n x R) and bias^(n) (I_n), all zero. Does not wait.
  /// \param J       J_n, one per mode
  /// \param biases  whether there are bias vectors; without them they have length 0
  /// \param rows    how many rows of A^(n) this rank has, one number per mode; empty: I_n
  /// \throws UsageError unless there are two modes or more, N numbers J_n, and they and R are 1 or more;
  ///         MemoryError before allocating
  FastTuckerModel(Space const& space, Extents const& extents, std::span<count_t const> J, count_t rank,
                  bool biases, std::span<count_t const> rows = {})
      : m_extents(extents), m_rank(rank), m_has_biases(biases) {
    POLYAD_EXPECTS(extents.order() >= 2, "a FastTucker model has two modes or more");
    POLYAD_EXPECTS(std::ssize(J) == extents.order(), J.size(), " column counts J for a model of ",
                   extents.order(), " modes");
    checked_rank(rank);
    for (int n = 0; n < order(); ++n) {
      count_t const columns = J[n];
      POLYAD_EXPECTS(columns >= 1, "J of mode ", n, " is 0: a factor has at least one column");
      checked_rank(columns);
      std::string const mode = std::to_string(n);
      A(n) = make_factor_matrix<Scalar>(space, "polyad::factor_" + mode, rows.empty() ? extents[n] : rows[n],
                                        columns);
      B(n) = make_factor_matrix<Scalar>(space, "polyad::core_" + mode, columns, rank);
      if (!biases) continue;
      expect_fits(space, "the biases of mode " + mode, extents[n], sizeof(Scalar));
      bias(n) = bias_type(Kokkos::view_alloc(space, "polyad::bias_" + mode), extents[n]);
    }
  }

  [[nodiscard]] Extents const& extents() const { return m_extents; }
  [[nodiscard]] int order() const { return m_extents.order(); }
  /// R
  [[nodiscard]] count_t rank() const { return m_rank; }
  /// J_n
  [[nodiscard]] count_t columns(int n) const { return A(n).extent(1); }
  [[nodiscard]] bool has_biases() const { return m_has_biases; }

  [[nodiscard]] matrix_type& A(int n) { return m_factors[n]; }
  [[nodiscard]] matrix_type const& A(int n) const { return m_factors[n]; }
  [[nodiscard]] matrix_type& B(int n) { return m_cores[n]; }
  [[nodiscard]] matrix_type const& B(int n) const { return m_cores[n]; }
  [[nodiscard]] bias_type& bias(int n) { return m_biases[n]; }
  [[nodiscard]] bias_type const& bias(int n) const { return m_biases[n]; }

  /// drift^(n): I_n x bins. If it has no columns, the biases of mode n do not drift.
  [[nodiscard]] matrix_type& drift(int n) { return m_drifts[n]; }
  [[nodiscard]] matrix_type const& drift(int n) const { return m_drifts[n]; }

  /// Takes over mean, biases and drifts of a model of the same extents; both then share their Views.
  void share_biases(FastTuckerModel const& other) {
    mean         = other.mean;
    time_mode    = other.time_mode;
    m_has_biases = other.m_has_biases;
    m_biases     = other.m_biases;
    m_drifts     = other.m_drifts;
  }

  double mean = 0;
  ValueRange range;
  int time_mode = -1;  // the mode of time; -1: no biases drift

private:
  Extents m_extents;
  count_t m_rank    = 0;
  bool m_has_biases = false;
  std::array<matrix_type, max_order> m_factors;
  std::array<matrix_type, max_order> m_cores;
  std::array<bias_type, max_order> m_biases;
  std::array<matrix_type, max_order> m_drifts;
};

}  // namespace polyad
