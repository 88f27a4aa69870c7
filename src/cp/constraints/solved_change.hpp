// SPDX-License-Identifier: BSD-3-Clause
// SolvedChange: the part of the KKT violation of modes that least squares solves, in runs where other modes
// have bounds or l1. Their update says nothing about the factor that it replaces, so this looks at it before.
#pragma once

#include <Kokkos_Core.hpp>

#include "dense/hadamard_of_grams.hpp"
#include "polyad/core/types.hpp"
#include "polyad/cp/factor_update.hpp"
#include "polyad/tensor/factor_matrices.hpp"

namespace polyad::detail {

/// The norm by which the own update of an entry would change the model, of all entries of A (I x R).
template <class Space, class Scalar>
struct ChangeOfEntries {
  ModeProblem<Space> problem;
  FactorMatrix<Scalar, Space> V;
  FactorMatrix<Scalar, Space> A;
  DeviceNumbers<Space> weights;  // those of A; the problem has those of the next factor
  double ridge;

  KOKKOS_FUNCTION void operator()(count_t e, double& most) const {
    count_t const rank = A.extent(1), i = e / rank, r = e % rank;
    double const square = problem.H(r, r);
    double const ratio  = ridge == 0 ? 0 : problem.of_tensor * problem.scale(r) / problem.weights(r);
    double const added  = ridge * ratio * ratio;
    if (!(square + added >= 0x1p-1000)) return;  // the column stays
    double slope = static_cast<double>(V(i, r)) - added * weights(r) * static_cast<double>(A(i, r));
    for (count_t s = 0; s < rank; ++s) slope -= problem.H(r, s) * weights(s) * static_cast<double>(A(i, s));
    double const norm = Kokkos::abs(slope) / (square + added) * Kokkos::sqrt(square);
    if (norm > most) most = norm;
  }
};

template <class Space>
struct RaiseLargest {
  DeviceNumbers<Space> found;
  typename ModeProblem<Space>::Counter largest;

  KOKKOS_FUNCTION void operator()(count_t) const {
    if (found(0) > largest(0)) largest(0) = found(0);
  }
};

template <class Space>
class SolvedChange {
public:
  SolvedChange(Space const& space, count_t rank)
      : m_weights(Kokkos::view_alloc(space, "polyad::weights_before"), rank),
        m_found(Kokkos::view_alloc(space, "polyad::solved_change"), 1) {}

  /// Before the weights of the next factor are chosen. Launches on `space` and returns without waiting.
  void keep_weights(Space const& space, DeviceNumbers<Space> const& weights) const {
    Kokkos::deep_copy(space, m_weights, weights);
  }
  /// Before the update: raises problem.largest_change. Launches on `space` and returns without waiting.
  template <class Scalar>
  void measure(Space const& space, ModeProblem<Space> const& problem, FactorMatrix<Scalar, Space> const& V,
               FactorMatrix<Scalar, Space> const& A, double ridge) const {
    if (A.extent(0) == 0) return;
    using Range = Kokkos::RangePolicy<Space, Kokkos::IndexType<count_t>>;
    Kokkos::View<double, typename Space::memory_space> const found(m_found.data());
    Kokkos::parallel_reduce("polyad::solved_change", Range(space, 0, A.extent(0) * A.extent(1)),
                            ChangeOfEntries<Space, Scalar>{problem, V, A, m_weights, ridge},
                            Kokkos::Max<double, typename Space::memory_space>(found));
    Kokkos::parallel_for("polyad::raise_largest", Range(space, 0, 1),
                         RaiseLargest<Space>{m_found, problem.largest_change});
  }

private:
  DeviceNumbers<Space> m_weights;  // R
  DeviceNumbers<Space> m_found;    // 1
};

}  // namespace polyad::detail
