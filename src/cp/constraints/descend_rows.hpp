// SPDX-License-Identifier: BSD-3-Clause
// descend_rows: cyclic coordinate descent over the columns of each row of A (I x R), HALS (Cichocki & Phan,
// IEICE Trans. E92-A, 2009, algorithm 2), with bounds, l1 and ridge, which are all separable over entries.
// Each step is therefore the exact minimum of one entry:
//
//   for k = 1 ... inner:  for r = 1 ... R:
//     a_r <- clip(soft(v_r - sum_{s != r} a_s H_sr, l1) / (H_rr + ridge))
//   where soft(z, t) = sign(z) max(|z| - t, 0)
//
// The kernel keeps x = diag(w) a and the gradient's negative g = v - H x of a row in scratch. A step that
// changes x_r subtracts a row of H from g, so the zeros of sparse rows cost nothing. All arithmetic is in
// double, in an order that depends on R alone: every run gives the same bits. An entry is rounded to Scalar
// before the next one is computed, which therefore corrects the rounding.
//
// Bytes: 3 I R s_r. Flops: at most 2 (1 + inner) I R^2.
#pragma once

#include <Kokkos_Core.hpp>

#include "cp/constraints/column_numbers.hpp"
#include "dense/gram.hpp"
#include "dense/update/hadamard_of_grams.hpp"
#include "kernel/launch.hpp"
#include "kernel/launch_shape.hpp"
#include "polyad/core/types.hpp"
#include "polyad/cp/factor_update.hpp"
#include "polyad/kernel/lanes.hpp"
#include "polyad/kernel/machine.hpp"
#include "polyad/tensor/constraints.hpp"
#include "polyad/tensor/factor_matrices.hpp"

namespace polyad::detail {

template <class Space, class Scalar>
struct DescendRows {
  static constexpr LaunchShape shape     = launch_shape<Space>(1, 8, 16);
  static constexpr int lanes             = shape.vector;
  static constexpr count_t rows_per_team = 64;

  FactorMatrix<Scalar, Space> V;
  FactorMatrix<Scalar, Space> A;
  typename ModeProblem<Space>::Matrix H;
  typename ModeProblem<Space>::Counter largest_change;
  ColumnNumbers<Space> columns;
  double lower, upper;
  int sweeps;
  int row_level;  // the scratch level that has x and g
  bool copies_H;  // to scratch at level 0

  static count_t row_bytes(count_t rank) {
    return shape.team * 2 * rank * sizeof(double) + 2 * row_alignment;
  }
  static count_t matrix_bytes(count_t rank) { return rank * rank * sizeof(double) + 2 * row_alignment; }

  template <class Member>
  KOKKOS_FUNCTION void operator()(Member const& member) const {
    int const rank      = A.extent_int(1);
    count_t const first = member.league_rank() * rows_per_team;
    count_t const end   = Kokkos::min<count_t>(A.extent(0), first + rows_per_team);
    int const row_size  = member.team_size() * 2 * rank * static_cast<int>(sizeof(double));
    auto* const rows =
        static_cast<double*>(member.team_scratch(row_level).get_shmem_aligned(row_size, row_alignment));
    double const* const matrix = matrix_for(member, rank);
    double* const x            = rows + member.team_rank() * 2 * rank;
    double most                = 0;
    // Each thread of the team has rows of its own: `most` is that of the thread.
    for (count_t i = first + member.team_rank(); i < end; i += member.team_size())
      Kokkos::parallel_for(Kokkos::ThreadVectorRange(member, lanes), [&](int const lane) {
        double const change = descend(i, matrix, x, x + rank, rank, lane);
        if (change > most) most = change;
      });
    // Other threads of all teams write their rows' largest changes. A maximum does not depend on the order.
    Kokkos::single(Kokkos::PerThread(member), [&] {
      if (most > 0) Kokkos::atomic_max(&largest_change(0), most);
    });
  }

  /// H, R x R without gaps, as the team reads it.
  template <class Member>
  KOKKOS_FUNCTION double const* matrix_for(Member const& member, int rank) const {
    if (!copies_H) return H.data();
    int const bytes    = rank * rank * static_cast<int>(sizeof(double));
    auto* const matrix = static_cast<double*>(member.team_scratch(0).get_shmem_aligned(bytes, row_alignment));
    Kokkos::parallel_for(Kokkos::TeamVectorRange(member, rank * rank),
                         [&](int const e) { matrix[e] = H.data()[e]; });
    member.team_barrier();
    return matrix;
  }

  /// Updates row i. Returns the largest change of the model by an entry of the first sweep. All lanes of a
  /// thread call it together and get the same number.
  KOKKOS_FUNCTION double descend(count_t i, double const* matrix, double* x, double* g, int rank,
                                 int lane) const {
    Scalar const* const v = &V(i, 0);
    Scalar* const a       = &A(i, 0);
    for (int t = lane; t < rank; t += lanes) {
      x[t] = columns(column_weight, t) * a[t];
      g[t] = v[t];
    }
    sync_lanes<lanes>();
    for (int s = 0; s < rank; ++s)
      if (x[s] != 0) subtract(g, matrix + row_of(s, rank), x[s], rank, lane);
    sync_lanes<lanes>();
    double most = 0;
    for (int sweep = 0; sweep < sweeps; ++sweep)
      for (int r = 0; r < rank; ++r) {
        if (columns(inverse_curvature, r) < 0) continue;
        double const* const row = matrix + row_of(r, rank);
        double const old        = x[r];
        double const best       = softened(g[r] + old * row[r], columns(threshold, r)) *
                                  columns(inverse_curvature, r) * columns(inverse_weight, r);
        double const next       = columns(column_weight, r) * entry_within<Scalar>(best, lower, upper);
        double const step       = next - old;
        sync_lanes<lanes>();  // all lanes have read g[r] and x[r]
        if (step == 0) continue;
        if (sweep == 0) most = Kokkos::max(most, Kokkos::abs(step) * columns(column_length, r));
        subtract(g, row, step, rank, lane);
        if (lane == 0) x[r] = next;
        sync_lanes<lanes>();
      }
    for (int t = lane; t < rank; t += lanes)
      a[t] = static_cast<Scalar>(entry_in_range(x[t] * columns(inverse_weight, t), g[t]));
    sync_lanes<lanes>();  // before the next row overwrites x
    return most;
  }
  KOKKOS_FORCEINLINE_FUNCTION static std::ptrdiff_t row_of(int r, int rank) {
    return static_cast<std::ptrdiff_t>(r) * rank;
  }
  KOKKOS_FORCEINLINE_FUNCTION static void subtract(double* KOKKOS_RESTRICT g,
                                                   double const* KOKKOS_RESTRICT row, double factor, int rank,
                                                   int lane) {
    for (int t = lane; t < rank; t += lanes) g[t] -= factor * row[t];
  }
};

/// `sweeps` sweeps over every row of A. \param bounds  rounded to Scalar, on A
/// Launches on `space` and returns without waiting.
template <class Space, class Scalar>
void descend_rows(Space const& space, ModeProblem<Space> const& problem, ColumnNumbers<Space> const& columns,
                  Constraints const& bounds, int sweeps, FactorMatrix<Scalar, Space> const& V,
                  FactorMatrix<Scalar, Space> const& A) {
  using Kernel        = DescendRows<Space, Scalar>;
  count_t const rank  = A.extent(1);
  count_t const fast  = team_scratch<Space>();
  int const row_level = Kernel::row_bytes(rank) <= fast ? 0 : 1;
  count_t const left  = row_level == 0 ? fast - Kernel::row_bytes(rank) : fast;
  // A copy of H pays off only if several threads of a team share it.
  bool const copies_H = Kernel::shape.team > 1 && Kernel::matrix_bytes(rank) <= left;
  Kernel const kernel{
      V,      A,         problem.H, problem.largest_change, columns, bounds.lower, bounds.upper,
      sweeps, row_level, copies_H};
  auto shape            = Kernel::shape;
  shape.league          = ceil_div(A.extent(0), Kernel::rows_per_team);
  auto policy           = team_policy(space, shape);
  count_t const of_rows = Kernel::row_bytes(rank), of_H = copies_H ? Kernel::matrix_bytes(rank) : 0;
  policy.set_scratch_size(0, Kokkos::PerTeam((row_level == 0 ? of_rows : 0) + of_H));
  if (row_level == 1) policy.set_scratch_size(1, Kokkos::PerTeam(of_rows));
  detail::launch("polyad::descend_rows", policy, kernel);
}

}  // namespace polyad::detail
