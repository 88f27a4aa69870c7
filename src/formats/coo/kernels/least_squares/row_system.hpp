// SPDX-License-Identifier: BSD-3-Clause
// solve_row_system: one symmetric system, solved by a team in its scratch memory, for the least squares for
// rows.
#pragma once

#include <Kokkos_Core.hpp>

#include "polyad/core/types.hpp"

namespace polyad::detail {

/// Doubles that a system of n unknowns and two vectors needs.
[[nodiscard]] KOKKOS_INLINE_FUNCTION count_t row_system_doubles(int n) {
  count_t const unknowns = n;
  return (unknowns + 1) * (unknowns | 1) + 2 * (unknowns + 1);
}

/// Solves M a = rhs for a symmetric M. The rows 0 ... n - 1 of `system` hold the lower triangle of M, in rows
/// of n | 1 numbers. Row n holds rhs, and then a. The method is elimination without square roots (Golub & Van
/// Loan, section 4.1.2), with the right-hand side as one more row of the matrix. A pivot below n epsilon of
/// its diagonal entry is a rounding error: its unknown becomes zero. The two vectors follow the system in
/// memory.
template <class Member>
KOKKOS_FUNCTION void solve_row_system(Member const& member, int n, double epsilon, double* system) {
  int const stride      = n | 1;
  double* const z       = system + n * stride;
  double* const column  = z + stride;
  double* const inverse = column + n + 1;
  Kokkos::parallel_for(Kokkos::TeamVectorRange(member, n),
                       [&](int const k) { inverse[k] = n * epsilon * system[k * stride + k]; });
  member.team_barrier();
  for (int k = 0; k < n; ++k) {
    Kokkos::parallel_for(Kokkos::TeamVectorRange(member, k, n + 1),
                         [&](int const i) { column[i] = system[i * stride + k]; });
    member.team_barrier();
    double const pivot      = column[k];
    double const reciprocal = pivot > inverse[k] ? 1 / pivot : 0.0;
    Kokkos::parallel_for(Kokkos::TeamThreadRange(member, k + 1, n + 1), [&](int const i) {
      double const l = column[i] * reciprocal;
      Kokkos::parallel_for(Kokkos::ThreadVectorRange(member, k + 1, Kokkos::min(i + 1, n)),
                           [&](int const j) { system[i * stride + j] -= l * column[j]; });
    });
    member.team_barrier();
    Kokkos::single(Kokkos::PerTeam(member), [&] { inverse[k] = reciprocal; });
  }
  member.team_barrier();
  for (int k = n - 1; k >= 0; --k) {
    double const a = inverse[k] * z[k];
    member.team_barrier();
    Kokkos::parallel_for(Kokkos::TeamVectorRange(member, k),
                         [&](int const m) { z[m] -= system[k * stride + m] * a; });
    Kokkos::single(Kokkos::PerTeam(member), [&] { z[k] = a; });
    member.team_barrier();
  }
}

}  // namespace polyad::detail
