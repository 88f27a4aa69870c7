// SPDX-License-Identifier: BSD-3-Clause
// RunPenalties: what the modes' penalties add to the objective of a run: the sum over the modes of l1_n
// |B^(n)|_1 + ridge_n/2 ||B^(n)||^2. The Gram matrices have the squares; the magnitudes take a pass over each
// factor that has an l1.
#pragma once

#include <Kokkos_Core.hpp>
#include <algorithm>
#include <cmath>
#include <vector>

#include "cp/run/iteration_numbers.hpp"
#include "cp/run/numbers_on_host.hpp"
#include "dense/update/hadamard_of_grams.hpp"
#include "fit/sum_cells.hpp"
#include "kernel/launch_shape.hpp"
#include "polyad/core/types.hpp"
#include "polyad/cp/factor_update.hpp"
#include "polyad/tensor/factor_matrices.hpp"
#include "run/row_distribution.hpp"

namespace polyad::detail {

/// The sum of |A(i, r)| over a matrix.
template <class Space, class Scalar>
struct SumMagnitudes {
  using value_type                       = double;
  static constexpr count_t rows_per_team = 256;
  FactorMatrix<Scalar, Space> A;

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
                partial += Kokkos::abs(static_cast<double>(A(first + i, r)));
              },
              row_sum);
          Kokkos::single(Kokkos::PerThread(member), [&] { rows_sum += row_sum; });
        },
        team_sum);
    Kokkos::single(Kokkos::PerTeam(member), [&] { sum += team_sum; });
  }
};

/// numbers(n, k) are l1, ridge and the sum of magnitudes of mode n.
template <class Space>
struct SumPenalties {
  using value_type = double;
  DeviceNumbers<Space> l1, ridge, magnitudes;
  GramMatrices<Space> grams;
  DeviceNumbers<Space> scales;

  KOKKOS_FUNCTION void operator()(count_t e, double& sum) const {
    count_t const n = e / grams.extent(1), r = e % grams.extent(1);
    if (r == 0 && l1(n) > 0) sum += l1(n) * magnitudes(n);
    // s first: its square may leave the range of doubles.
    if (ridge(n) > 0) sum += ridge(n) / 2 * (scales(e) * grams(n, r, r)) * scales(e);
  }
};

/// The objective of a result with its fit, and the violation that the last iteration found.
/// \param numbers  FitNumber, in host memory
template <class Numbers, class Result>
void set_objective(Numbers const& numbers, ScaledNorm const& tensor, Result& result) {
  double const distance = (1 - result.fit) * std::sqrt(tensor.squared) / tensor.scale;
  double const change   = numbers(largest_change);
  result.objective      = distance * distance / 2 + numbers(penalties);
  result.kkt_violation  = change == 0 ? 0 : change / std::sqrt(tensor.squared);
}

template <class Scalar, class Space>
class RunPenalties {
public:
  /// \param choices  the update of each mode
  RunPenalties(Space const& space, std::vector<ModeUpdate> const& choices) {
    for (auto const& choice : choices) {
      m_of_l1.push_back(choice.constraints() ? choice.constraints()->l1 : 0);
      m_of_ridge.push_back(choice.constraints() ? choice.constraints()->ridge : choice.penalty());
    }
    auto const is_there = [](double penalty) { return penalty > 0; };
    m_is_any            = std::ranges::any_of(m_of_l1, is_there) || std::ranges::any_of(m_of_ridge, is_there);
    if (!m_is_any) return;
    for (auto* const numbers : {&m_l1, &m_ridge, &m_magnitudes})
      *numbers = DeviceNumbers<Space>(Kokkos::view_alloc(space, "polyad::penalties"), m_of_l1.size());
    to_device<Space>(space, m_of_l1, m_l1);
    to_device<Space>(space, m_of_ridge, m_ridge);
  }

  /// Writes their sum to result(0); without penalties it stays 0. Launches on `space` and returns without
  /// waiting for it.
  void sum(Space const& space, FactorMatrices<Scalar, Space> const& factors,
           RowDistribution<Scalar, Space> const& rows, GramMatrices<Space> const& grams,
           DeviceNumbers<Space> const& scales, DeviceNumbers<Space> const& result) const {
    if (!m_is_any) return;
    bool sums = false;
    for (int n = 0; n < std::ssize(m_of_l1); ++n) {
      if (m_of_l1[n] == 0) continue;
      auto const A  = rows.owned(n, factors[n]);
      auto const to = Kokkos::subview(m_magnitudes, n);
      sums          = true;
      // For a league of zero teams, Kokkos would write the result from the host.
      if (A.extent(0) == 0) {
        Kokkos::deep_copy(space, to, 0.0);
        continue;
      }
      using Kernel            = SumMagnitudes<Space, Scalar>;
      LaunchShape const shape = launch_shape<Space>(ceil_div(A.extent(0), Kernel::rows_per_team), 8, 32);
      Kokkos::parallel_reduce("polyad::sum_magnitudes", team_policy(space, shape), Kernel{A}, to);
    }
    if (sums) rows.sum(m_magnitudes.data(), m_magnitudes.extent(0));
    Kokkos::parallel_reduce(
        "polyad::sum_penalties",
        Kokkos::RangePolicy<Space, Kokkos::IndexType<count_t>>(space, 0, grams.extent(0) * grams.extent(1)),
        SumPenalties<Space>{m_l1, m_ridge, m_magnitudes, grams, scales}, Kokkos::subview(result, 0));
  }

private:
  std::vector<double> m_of_l1, m_of_ridge;
  bool m_is_any = false;
  DeviceNumbers<Space> m_l1, m_ridge, m_magnitudes;  // N each
};

}  // namespace polyad::detail
