// SPDX-License-Identifier: BSD-3-Clause
// solve_rows: the exact minimum of each row of A (I x R) under bounds, l1 and ridge (active_set.hpp).
//
// A thread and its lanes solve a row at a time. Its triangle and vectors (R^2/2 + 6.5 R doubles) are in the
// team's scratch memory if they fit, with fewer rows in flight the longer they are, otherwise in memory of
// the run for a number of rows. All arithmetic is in double, in an order that depends only on R: every run
// gives the same bits.
#pragma once

#include <Kokkos_Core.hpp>
#include <algorithm>
#include <cstddef>

#include "cp/constraints/active_set.hpp"
#include "cp/constraints/column_numbers.hpp"
#include "dense/update/hadamard_of_grams.hpp"
#include "kernel/launch.hpp"
#include "kernel/launch_shape.hpp"
#include "polyad/core/error.hpp"
#include "polyad/core/spaces.hpp"
#include "polyad/core/types.hpp"
#include "polyad/cp/factor_update.hpp"
#include "polyad/kernel/machine.hpp"
#include "polyad/tensor/constraints.hpp"
#include "polyad/tensor/factor_matrices.hpp"

namespace polyad::detail {

template <class Space, class Scalar>
struct SolveRows {
  static constexpr LaunchShape most      = launch_shape<Space>(1, 8, 16);
  static constexpr int lanes             = most.vector;
  static constexpr count_t rows_per_team = 64;
  using Row                              = ActiveSet<Space, Scalar, lanes>;

  FactorMatrix<Scalar, Space> V;
  FactorMatrix<Scalar, Space> A;
  typename ModeProblem<Space>::Matrix H;
  typename ModeProblem<Space>::Numbers weights;
  typename ModeProblem<Space>::Counter largest_change;
  ColumnNumbers<Space> columns;
  double lower, upper;
  DeviceNumbers<Space> memory;  // the rows in flight, one after the other; none: they are in team scratch

  static count_t row_bytes(count_t rank) { return Row::doubles(rank) * sizeof(double); }
  static count_t team_bytes(count_t rank, int team) { return team * row_bytes(rank) + 2 * row_alignment; }
  /// The threads of a team whose rows fit its scratch memory; 0: not a single one.
  static int team_that_fits(count_t rank) {
    int team = most.team;
    while (team > 0 && team_bytes(rank, team) > team_scratch<Space>()) team /= 2;
    return team;
  }

  template <class Member>
  KOKKOS_FUNCTION void operator()(Member const& member) const {
    bool const is_shared         = memory.data() == nullptr;
    std::ptrdiff_t const doubles = Row::doubles(A.extent(1));
    count_t const team           = member.team_size();
    count_t const league         = member.league_rank();
    count_t const thread         = member.team_rank();
    double* own                  = nullptr;
    if (is_shared) {
      int const bytes = member.team_size() * static_cast<int>(doubles * sizeof(double));
      own             = static_cast<double*>(member.team_scratch(0).get_shmem_aligned(bytes, row_alignment)) +
                        member.team_rank() * doubles;
    } else {
      own = memory.data() + (league * team + thread) * doubles;
    }
    count_t const first = is_shared ? league * rows_per_team : league * team;
    count_t const step  = is_shared ? team : member.league_size() * team;
    count_t const end   = is_shared ? Kokkos::min<count_t>(A.extent(0), first + rows_per_team) : A.extent(0);
    double found        = 0;
    for (count_t i = first + thread; i < end; i += step)
      Kokkos::parallel_for(Kokkos::ThreadVectorRange(member, lanes), [&](int const lane) {
        Row row(H.data(), columns, weights, lower, upper, own, lane);
        double const change = row.solve(&V(i, 0), &A(i, 0));
        if (change > found) found = change;
      });
    // Other threads of all teams write their rows' largest changes. A maximum does not depend on the order.
    Kokkos::single(Kokkos::PerThread(member), [&] {
      if (found > 0) Kokkos::atomic_max(&largest_change(0), found);
    });
  }
};

/// Memory for rows in flight that no team's scratch memory holds; empty if they fit there.
/// \param rows  the number of rows of the longest mode
/// \throws MemoryError before allocating
template <class Scalar, class Space>
[[nodiscard]] DeviceNumbers<Space> memory_of_rows(Space const& space, count_t rows, count_t rank) {
  using Kernel = SolveRows<Space, Scalar>;
  if (Kernel::team_that_fits(rank) > 0) return {};
  // Four rows for each multiprocessor of a device, or one for each of a host's threads, but not much more
  // than a gigabyte.
  count_t const wanted = multiprocessors(space) * items_per_thread<Space>(4, 1);
  count_t const most   = std::max<count_t>(1, (count_t(1) << 30) / Kernel::row_bytes(rank));
  count_t const flying = std::max<count_t>(1, std::min({rows, wanted, most}));
  expect_fits(space, "the scratch of exact rows", flying * Kernel::Row::doubles(rank), sizeof(double));
  return DeviceNumbers<Space>(uninitialized(space, "polyad::exact_row_scratch"),
                              flying * Kernel::Row::doubles(rank));
}

/// Solves every row of A, whose numbers are the start of the search. \param bounds  rounded to Scalar, on A
/// \param memory  memory_of_rows
/// Launches on `space` and returns without waiting.
template <class Space, class Scalar>
void solve_rows(Space const& space, ModeProblem<Space> const& problem, ColumnNumbers<Space> const& columns,
                Constraints const& bounds, DeviceNumbers<Space> const& memory,
                FactorMatrix<Scalar, Space> const& V, FactorMatrix<Scalar, Space> const& A) {
  using Kernel       = SolveRows<Space, Scalar>;
  count_t const rank = A.extent(1);
  POLYAD_EXPECTS(V.extent(0) == A.extent(0) && V.extent(1) == rank && problem.H.extent(0) == rank &&
                     columns.extent(1) == rank,
                 "V is ", V.extent(0), " x ", V.extent(1), ", A is ", A.extent(0), " x ", rank, " and H is ",
                 problem.H.extent(0), " x ", problem.H.extent(1));
  if (A.extent(0) == 0) return;
  Kernel const kernel{
      V, A, problem.H, problem.weights, problem.largest_change, columns, bounds.lower, bounds.upper, memory};
  auto shape           = Kernel::most;
  bool const is_shared = memory.extent(0) == 0;
  shape.team           = is_shared ? Kernel::team_that_fits(rank) : 1;
  shape.league         = is_shared ? ceil_div(A.extent(0), Kernel::rows_per_team)
                                   : memory.extent(0) / Kernel::Row::doubles(rank);
  auto policy          = team_policy(space, shape);
  if (is_shared) policy.set_scratch_size(0, Kokkos::PerTeam(Kernel::team_bytes(rank, shape.team)));
  detail::launch("polyad::solve_rows", policy, kernel);
}

}  // namespace polyad::detail
