// SPDX-License-Identifier: BSD-3-Clause
// Eigenvalues and eigenvectors of a symmetric R x R matrix by cyclic Jacobi rotations (Golub & Van Loan,
// Matrix Computations, 4th ed., section 8.5), called by one team of threads. In each of R - 1 rounds of a
// sweep R / 2 disjoint pairs are rotated at the same time (section 8.5.6, the round-robin order).
#pragma once

#include <Kokkos_Core.hpp>

namespace polyad::detail {

/// The matrices as a team sees them: R x R, row-major, in scratch or global memory.
struct SquareMatrix {
  double* data;
  int size;
  int stride;  // from row to row
  KOKKOS_FUNCTION double& operator()(int i, int j) const { return data[i * stride + j]; }
};

/// Calls f(i, j) for all entries of an R x R matrix: rows over the threads of a team, columns over lanes.
template <class Member, class F>
KOKKOS_FUNCTION void for_each_entry(Member const& member, int size, F const& f) {
  Kokkos::parallel_for(Kokkos::TeamThreadRange(member, size), [&](int const i) {
    Kokkos::parallel_for(Kokkos::ThreadVectorRange(member, size), [&](int const j) { f(i, j); });
  });
}

/// Overwrites H by a matrix whose diagonal holds the eigenvalues, and Q's columns by the eigenvectors.
/// `rotations` is scratch for R + 1 numbers. All threads of the team call it together.
/// A matrix that is not finite ends after the last sweep with a result that is not finite.
template <class Member>
KOKKOS_FUNCTION void jacobi_eigen(Member const& member, SquareMatrix H, SquareMatrix Q, double* rotations) {
  constexpr int max_sweeps   = 40;  // quadratic convergence: 6 to 10 sweeps in practice
  constexpr double precision = 1e-15;
  int const size             = H.size;
  int const even             = size + size % 2;  // an odd matrix gets a dummy row that is never rotated
  int const pairs            = even / 2;
  double* const cosine       = rotations;
  double* const sine         = rotations + pairs;

  for_each_entry(member, size, [&](int const i, int const j) { Q(i, j) = i == j ? 1.0 : 0.0; });
  // The two rows of pair i in a round: one stays, the others move round a circle of even - 1 places.
  auto const first  = [&](int round, int i) { return (round + i) % (even - 1); };
  auto const second = [&](int round, int i) {
    return i == 0 ? even - 1 : (round - i + even - 1) % (even - 1);
  };
  for (int sweep = 0; sweep < max_sweeps && size > 1; ++sweep) {
    double off_diagonal = 0;
    double diagonal     = 0;
    member.team_barrier();
    Kokkos::parallel_reduce(
        Kokkos::TeamVectorRange(member, size * size),
        [&](int const e, double& sum) {
          double const entry = H(e / size, e % size);
          sum += e / size == e % size ? 0.0 : entry * entry;
        },
        off_diagonal);
    Kokkos::parallel_reduce(
        Kokkos::TeamVectorRange(member, size), [&](int const i, double& sum) { sum += H(i, i) * H(i, i); },
        diagonal);
    if (off_diagonal <= precision * precision * diagonal) break;
    for (int round = 0; round < even - 1; ++round) {
      Kokkos::parallel_for(Kokkos::TeamVectorRange(member, pairs), [&](int const i) {
        int const p = first(round, i);
        int const q = second(round, i);
        cosine[i]   = 1;
        sine[i]     = 0;
        if (p >= size || q >= size || H(p, q) == 0.0) return;
        double const theta = (H(q, q) - H(p, p)) / (2 * H(p, q));
        double const t     = (theta >= 0 ? 1 : -1) / (Kokkos::abs(theta) + Kokkos::sqrt(1 + theta * theta));
        cosine[i]          = 1 / Kokkos::sqrt(1 + t * t);
        sine[i]            = t * cosine[i];
      });
      member.team_barrier();
      auto const rotate = [&](int i, double& a, double& b) {
        double const rotated = cosine[i] * a - sine[i] * b;
        b                    = sine[i] * a + cosine[i] * b;
        a                    = rotated;
      };
      Kokkos::parallel_for(Kokkos::TeamThreadRange(member, pairs), [&](int const i) {  // columns of H and Q
        int const p = first(round, i);
        int const q = second(round, i);
        if (p >= size || q >= size) return;
        Kokkos::parallel_for(Kokkos::ThreadVectorRange(member, size), [&](int const k) {
          rotate(i, H(k, p), H(k, q));
          rotate(i, Q(k, p), Q(k, q));
        });
      });
      member.team_barrier();
      Kokkos::parallel_for(Kokkos::TeamThreadRange(member, pairs), [&](int const i) {  // rows of H
        int const p = first(round, i);
        int const q = second(round, i);
        if (p >= size || q >= size) return;
        Kokkos::parallel_for(Kokkos::ThreadVectorRange(member, size),
                             [&](int const k) { rotate(i, H(p, k), H(q, k)); });
      });
      member.team_barrier();
    }
  }
}

}  // namespace polyad::detail
