// SPDX-License-Identifier: BSD-3-Clause
// correct_rows: least squares where H is singular or nearly so, from the factor A (I x R) that the update
// replaces:
//
//   x <- x + (v - x (H + D)) W    for each row, x = diag(w) a, with the inverse W and the ridge's D
//
// The usual update is x = v W (dense/update/update_factor.hpp). Its rounding error is at most about
// u ||X|| trace(C^-1) as a norm of the model, where u is the unit roundoff and C is H scaled to a unit
// diagonal: the entries of C^-1 are rounded, and their errors meet directions of full curvature. So the
// objective may rise by u^2 ||X||^2 trace(C^-1)^2. This exceeds the rounding of its own terms, u ||X||^2, if
// the trace exceeds u^(-1/2), 2^12 for floats and 2^26 for doubles: an exact fit would be lost. An H counts
// as nearly singular if an entry of the diagonal exceeds 2^10 or 2^20, as there are R of them
// (dense/update/normal_equations.hpp). A pseudo-inverse also drops the directions whose curvature is below
// rounding, and A may have large numbers there that matter to the next modes.
//
// Here x keeps what it has in these directions, and W multiplies a residual, which is small near a solution.
// The step is repeated, since each one corrects the rounding of W in the one before. A row takes a step only
// if its objective falls, so it never rises.
//
// Bytes: 3 I R s_r. Flops: 4 I R^2 for each step, and 2 I R^2.
#pragma once

#include <Kokkos_Core.hpp>
#include <cstddef>

#include "dense/update/hadamard_of_grams.hpp"
#include "kernel/launch.hpp"
#include "kernel/launch_shape.hpp"
#include "polyad/core/types.hpp"
#include "polyad/cp/factor_update.hpp"
#include "polyad/kernel/lanes.hpp"
#include "polyad/kernel/machine.hpp"
#include "polyad/tensor/factor_matrices.hpp"

namespace polyad::detail {

template <class Space, class Scalar>
struct CorrectRows {
  static constexpr LaunchShape shape     = launch_shape<Space>(1, 8, 16);
  static constexpr int lanes             = shape.vector;
  static constexpr count_t rows_per_team = 64;
  static constexpr int most_steps        = 3;

  ModeProblem<Space> problem;
  double ridge;
  FactorMatrix<Scalar, Space> inverse;  // W diag(1 / w)
  FactorMatrix<Scalar, Space> V;
  FactorMatrix<Scalar, Space> A;
  int level;  // scratch level; each thread has 4 R numbers there

  static count_t row_bytes(count_t rank) {
    return shape.team * 4 * rank * sizeof(double) + 2 * row_alignment;
  }

  template <class Member>
  KOKKOS_FUNCTION void operator()(Member const& member) const {
    int const rank      = A.extent_int(1);
    count_t const first = member.league_rank() * rows_per_team;
    count_t const end   = Kokkos::min<count_t>(A.extent(0), first + rows_per_team);
    int const bytes     = member.team_size() * 4 * rank * static_cast<int>(sizeof(double));
    auto* const rows =
        static_cast<double*>(member.team_scratch(level).get_shmem_aligned(bytes, row_alignment));
    double* const x = rows + static_cast<std::ptrdiff_t>(member.team_rank()) * 4 * rank;
    for (count_t i = first + member.team_rank(); i < end; i += member.team_size())
      Kokkos::parallel_for(Kokkos::ThreadVectorRange(member, lanes),
                           [&](int const lane) { correct(i, x, rank, lane); });
  }

  /// All lanes of a thread call it together, and take the same branches.
  KOKKOS_FUNCTION void correct(count_t i, double* x, int rank, int lane) const {
    double *const g = x + rank, *const step = g + rank, *const change = step + rank;  // v - x (H + D)
    for (int t = lane; t < rank; t += lanes) {
      // The column of a component that has vanished becomes zero. A start's first update begins at zero.
      double const weight = problem.H(t, t) == 0 ? 0.0 : problem.weights_before(t);
      x[t]                = weight == 0 ? 0.0 : weight * static_cast<double>(A(i, t));
      g[t]                = static_cast<double>(V(i, t));
    }
    sync_lanes<lanes>();
    multiply(x, change, rank, lane);
    for (int t = lane; t < rank; t += lanes) g[t] -= change[t];
    sync_lanes<lanes>();
    for (int k = 0; k < most_steps; ++k) {
      for (int t = lane; t < rank; t += lanes) {
        double entry = x[t] / problem.weights(t);
        for (int s = 0; s < rank; ++s) entry += g[s] * static_cast<double>(inverse(s, t));
        step[t] = problem.weights(t) * static_cast<double>(static_cast<Scalar>(entry)) - x[t];
      }
      sync_lanes<lanes>();
      multiply(step, change, rank, lane);
      double gain = 0;  // by which the objective falls; NaN if a number has left the range
      for (int t = 0; t < rank; ++t) gain += step[t] * (g[t] - change[t] / 2);
      if (gain <= 0) break;
      sync_lanes<lanes>();
      for (int t = lane; t < rank; t += lanes) {
        x[t] += step[t];
        g[t] -= change[t];
      }
      sync_lanes<lanes>();
    }
    for (int t = lane; t < rank; t += lanes) A(i, t) = static_cast<Scalar>(x[t] / problem.weights(t));
    sync_lanes<lanes>();  // before the next row overwrites x
  }
  /// product = y (H + D). \param y, product  R numbers of the scratch
  KOKKOS_FUNCTION void multiply(double const* y, double* product, int rank, int lane) const {
    for (int t = lane; t < rank; t += lanes) {
      double sum = added(t) * y[t];
      for (int s = 0; s < rank; ++s) sum += y[s] * problem.H(s, t);
      product[t] = sum;
    }
    sync_lanes<lanes>();
  }
  /// The ridge's part of the diagonal.
  [[nodiscard]] KOKKOS_FUNCTION double added(int t) const {
    if (ridge == 0) return 0;
    double const ratio = problem.of_tensor * problem.scale(t) / problem.weights(t);
    return Kokkos::fmin(ridge * ratio * ratio, 0x1p1000);
  }
};

/// \param problem  it has weights_before
/// \param inverse  by normal_equations
/// Launches on `space` and returns without waiting.
template <class Space, class Scalar>
void correct_rows(Space const& space, ModeProblem<Space> const& problem, double ridge,
                  FactorMatrix<Scalar, Space> const& inverse, FactorMatrix<Scalar, Space> const& V,
                  FactorMatrix<Scalar, Space> const& A) {
  using Kernel        = CorrectRows<Space, Scalar>;
  count_t const bytes = Kernel::row_bytes(A.extent(1));
  int const level     = bytes <= team_scratch<Space>() ? 0 : 1;
  auto shape          = Kernel::shape;
  shape.league        = ceil_div(A.extent(0), Kernel::rows_per_team);
  auto policy         = team_policy(space, shape);
  policy.set_scratch_size(level, Kokkos::PerTeam(bytes));
  detail::launch("polyad::correct_rows", policy, Kernel{problem, ridge, inverse, V, A, level});
}

}  // namespace polyad::detail
