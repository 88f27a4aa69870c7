// SPDX-License-Identifier: BSD-3-Clause
// <V, A> with a weight for each column: the sum over i and r of weights(r) V(i, r) A(i, r). The fit of a CP
// model needs it for the last factor, where V is the mode's MTTKRP (cp/run/iteration_numbers.hpp). If
// update_factor has a single pass, it sums <V, A> too; otherwise inner_product_of reads V and A again.
#pragma once

#include <Kokkos_Core.hpp>

#include "kernel/launch_shape.hpp"
#include "polyad/core/types.hpp"
#include "polyad/tensor/factor_matrices.hpp"

namespace polyad::detail {

/// The arrays of an inner product. Without `result` none is computed.
template <class Space>
struct InnerProductSums {
  using Numbers = Kokkos::View<double*, typename Space::device_type>;
  Kokkos::View<double const*, typename Space::device_type> weights;  // R
  Numbers partials;  // one per chunk of rows: as many as the Gram workspace has
  Numbers result;    // one number

  [[nodiscard]] KOKKOS_FUNCTION bool is_wanted() const { return result.data() != nullptr; }
};

/// Sum over the rows of V(i, :) . (weights * A(i, :)).
template <class Space, class Scalar>
struct InnerProduct {
  using value_type = double;
  FactorMatrix<Scalar, Space> V;
  FactorMatrix<Scalar, Space> A;
  Kokkos::View<double const*, typename Space::device_type> weights;
  static constexpr count_t rows_per_team = 256;

  template <class Member>
  KOKKOS_FUNCTION void operator()(Member const& member, double& sum) const {
    count_t const first = member.league_rank() * rows_per_team;
    count_t const rows  = Kokkos::min(count_t(rows_per_team), A.extent(0) - first);
    double team_sum     = 0;
    Kokkos::parallel_reduce(
        Kokkos::TeamThreadRange(member, rows),
        [&](count_t const i, double& rows_sum) {
          double row_sum = 0;
          Kokkos::parallel_reduce(
              Kokkos::ThreadVectorRange(member, A.extent(1)),
              [&](count_t const r, double& partial) {
                partial += weights(r) * V(first + i, r) * A(first + i, r);
              },
              row_sum);
          Kokkos::single(Kokkos::PerThread(member), [&] { rows_sum += row_sum; });
        },
        team_sum);
    Kokkos::single(Kokkos::PerTeam(member), [&] { sum += team_sum; });
  }
};

/// inner.result(0) = <V, A>. Launches on `space` and returns without waiting.
template <class Space, class Scalar>
void inner_product_of(Space const& space, FactorMatrix<Scalar, Space> const& V,
                      FactorMatrix<Scalar, Space> const& A, InnerProductSums<Space> const& inner) {
  // For a league of zero teams, Kokkos would write the result from the host.
  if (A.extent(0) == 0) return Kokkos::deep_copy(space, inner.result, 0.0);
  using Kernel            = InnerProduct<Space, Scalar>;
  LaunchShape const shape = launch_shape<Space>(ceil_div(A.extent(0), Kernel::rows_per_team), 8, 32);
  Kokkos::parallel_reduce("polyad::inner_product", team_policy(space, shape), Kernel{V, A, inner.weights},
                          Kokkos::subview(inner.result, 0));
}

}  // namespace polyad::detail
