// SPDX-License-Identifier: BSD-3-Clause
// ImplicitCells: what als needs of the cells without an entry, for implicit feedback (Hu, Koren & Volinsky,
// ICDM 2008; with more than two modes iTALS, Hidasi & Tikk, 2012). Each cell has weight 1 and target 0. With
// the Gram matrices G^(n) = C^(n)' C^(n) and the Hadamard product H^(n) of those of all other modes,
//
//   the sum of p p' over all cells of a row of mode n   is H^(n), where p is the product of the other rows
//   the sum of xhat^2 over all cells                    is the sum of the entries of G^(0) * ... * G^(N-1)
//
// Flops per mode: I_n R^2, and N R^2 for the product.
#pragma once

#include <Kokkos_Core.hpp>

#include "dense/gram.hpp"
#include "dense/update/hadamard_of_grams.hpp"
#include "polyad/core/instances.hpp"
#include "polyad/formats/format.hpp"
#include "polyad/tensor/factor_matrices.hpp"
#include "run/row_distribution.hpp"

namespace polyad::detail {

/// Doubles as Scalars.
template <class Scalar, class Space>
struct RoundNumbers {
  GramMatrix<Space> from;
  FactorMatrix<Scalar, Space> to;
  KOKKOS_FUNCTION void operator()(count_t e) const {
    count_t const r = e / from.extent(1), s = e % from.extent(1);
    to(r, s) = static_cast<Scalar>(from(r, s));
  }
};

/// The sum over r and s of the product over all modes of grams(n, r, s).
template <class Space>
struct SumOfSquaredScores {
  GramMatrices<Space> grams;
  KOKKOS_FUNCTION void operator()(count_t e, double& sum) const {
    count_t const r = e / grams.extent(2);
    count_t const s = e % grams.extent(2);
    double product  = 1;
    for (int n = 0; n < static_cast<int>(grams.extent(0)); ++n) product *= grams(n, r, s);
    sum += product;
  }
};

/// The sum of w |a|^2 over the rows a of a factor. w is 1, or the row's number of entries.
template <class Scalar, class Space>
struct SumOfSquaredRows {
  FactorMatrix<Scalar, Space> A;
  Kokkos::View<count_t*, typename Space::device_type> starts;
  bool per_entry;
  KOKKOS_FUNCTION void operator()(count_t k, double& sum) const {
    double squares = 0;
    for (count_t j = 0; j < A.extent(1); ++j) {
      auto const a = static_cast<double>(A(k, j));
      squares += a * a;
    }
    sum += per_entry ? static_cast<double>(starts(k + 1) - starts(k)) * squares : squares;
  }
};

/// Its functions launch on the space and return without waiting, except squared_scores.
template <class Scalar, class Space>
class ImplicitCells {
public:
  /// \throws MemoryError
  ImplicitCells(Space const& space, int order, count_t rank)
      : m_grams(Kokkos::view_alloc(space, "polyad::implicit_grams"), static_cast<std::size_t>(order), rank,
                rank),
        m_others(Kokkos::view_alloc(space, "polyad::implicit_others"), rank, rank),
        m_rounded(make_factor_matrix<Scalar>(space, "polyad::implicit_rounded", rank, rank)),
        m_sums(space, rank) {}

  /// Updates mode n. \param C  the rows of C^(n) that this rank owns
  void update(Space const& space, int n, FactorMatrix<Scalar, Space> const& C,
              RowDistribution<Scalar, Space> const& rows) const {
    GramMatrix<Space> const G = Kokkos::subview(m_grams, n, Kokkos::ALL, Kokkos::ALL);
    if (C.extent(0) == 0)
      Kokkos::deep_copy(space, G, 0.0);
    else
      gram(space, C, m_sums, G);
    rows.sum(G.data(), G.size());
  }

  /// H^(n), valid until the next call.
  [[nodiscard]] GramMatrix<Space> others(Space const& space, int n) const {
    Kokkos::parallel_for("polyad::implicit_others",
                         Kokkos::RangePolicy<Space, Kokkos::IndexType<count_t>>(space, 0, m_others.size()),
                         HadamardOfGrams<Space>{m_grams, n, 1.0, NextWeights{false, 0.0}, {}, m_others});
    return m_others;
  }

  /// The last matrix that others() returned, as Scalars. Valid until the next call.
  [[nodiscard]] FactorMatrix<Scalar, Space> rounded(Space const& space) const {
    Kokkos::parallel_for("polyad::round_others",
                         Kokkos::RangePolicy<Space, Kokkos::IndexType<count_t>>(space, 0, m_others.size()),
                         RoundNumbers<Scalar, Space>{m_others, m_rounded});
    return m_rounded;
  }

  /// The sum of xhat^2 over all cells. Waits.
  [[nodiscard]] double squared_scores(Space const& space) const {
    double sum = 0;
    Kokkos::parallel_reduce("polyad::implicit_scores",
                            Kokkos::RangePolicy<Space, Kokkos::IndexType<count_t>>(space, 0, m_others.size()),
                            SumOfSquaredScores<Space>{m_grams}, sum);
    return sum;
  }

private:
  GramMatrices<Space> m_grams;  // N x R x R
  GramMatrix<Space> m_others;
  FactorMatrix<Scalar, Space> m_rounded;
  GramWorkspace<Space> m_sums;
};

}  // namespace polyad::detail
