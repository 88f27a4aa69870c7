// SPDX-License-Identifier: BSD-3-Clause
// scale_columns: multiplies the columns of A (I x R) by powers of two, so that their 2-norms come near a
// given number. Mantissas do not change, except those of subnormal numbers. Bytes: 2 I R s_r.
#pragma once

#include <Kokkos_Core.hpp>
#include <algorithm>

#include "dense/dense_tuning.hpp"
#include "dense/gram.hpp"
#include "dense/power_of_two.hpp"
#include "kernel/launch_shape.hpp"
#include "polyad/core/instances.hpp"

namespace polyad::detail {

/// Which columns scale_columns leaves: those whose norm is between norm / slack and norm * slack. Powers of
/// two; 1: those whose norm is at least `norm` and less than twice as much.
struct ColumnNorm {
  double norm;
  double slack = 1;
};

/// factors(r) = the power of two for column r, whose norm is on G's diagonal. G becomes the Gram matrix of
/// the scaled columns, and weights(r) and scale(r) are divided by the factor. A column whose norm is zero or
/// not finite keeps its scale. A column whose weight would underflow becomes zero: under penalties the size
/// of a component that vanishes may be squared in each iteration. One team, which also scales the columns of
/// a small matrix.
template <class Space, class Scalar>
struct ScaleGram {
  GramMatrix<Space> gram;
  ColumnNorm target;
  Kokkos::View<double*, typename Space::device_type> weights;
  Kokkos::View<double*, typename Space::device_type> scale;
  Kokkos::View<double*, typename Space::device_type> factors;
  FactorMatrix<Scalar, Space> matrix;  // or no rows

  template <class Member>
  KOKKOS_FUNCTION void operator()(Member const& member) const {
    int const rank = gram.extent_int(0);
    int changed    = 0;
    Kokkos::parallel_reduce(
        Kokkos::TeamThreadRange(member, rank),
        [&](int const r, int& count) {
          double const own = Kokkos::sqrt(gram(r, r));
          factors(r)       = is_scale(own) ? factor_for(power_of_two_below(own)) : 1;
          if (factors(r) == 1) return;  // mostly: divisions are slow
          ++count;
          double const weight = weights(r) / factors(r);
          if (weight < 0x1p-1022) {
            factors(r) = 0;
            return;
          }
          weights(r) = weight;
          scale(r) /= factors(r);
        },
        changed);
    if (changed == 0) return;
    member.team_barrier();
    Kokkos::parallel_for(Kokkos::TeamThreadRange(member, rank * rank), [&](int const e) {
      // The product of the factors of columns that have almost vanished may leave the range of doubles.
      double const row = factors(e / rank), column = factors(e % rank), both = row * column;
      double& entry = gram(e / rank, e % rank);
      entry         = is_scale(both) ? entry * both : entry * row * column;
    });
    Kokkos::parallel_for(Kokkos::TeamThreadRange(member, matrix.extent(0) * rank), [&](count_t const e) {
      Scalar& entry = matrix(e / rank, e % rank);
      entry         = static_cast<Scalar>(entry * factors(e % rank));
    });
  }
  [[nodiscard]] KOKKOS_FUNCTION double factor_for(double own) const {
    double const factor = target.norm / own;
    return factor * target.slack >= 1 && factor <= target.slack ? 1 : factor;
  }
};

/// Each team scales a chunk of rows. Mostly no column changes, and the teams end at once.
template <class Space, class Scalar>
struct ScaleEachColumn {
  FactorMatrix<Scalar, Space> matrix;
  Kokkos::View<double*, typename Space::device_type> factors;
  count_t chunk;  // rows

  template <class Member>
  KOKKOS_FUNCTION void operator()(Member const& member) const {
    int const rank = matrix.extent_int(1);
    int changed    = 0;
    Kokkos::parallel_reduce(
        Kokkos::TeamVectorRange(member, rank), [&](int const r, int& count) { count += factors(r) != 1; },
        changed);
    if (changed == 0) return;
    count_t const first = member.league_rank() * chunk;
    count_t const rows  = Kokkos::min(chunk, matrix.extent(0) - first);
    Kokkos::parallel_for(Kokkos::TeamThreadRange(member, rows), [&](count_t const i) {
      Scalar* const row = &matrix(first + i, 0);
      Kokkos::parallel_for(Kokkos::ThreadVectorRange(member, rank), [&](int const r) {
        double const factor = factors(r);
        if (factor != 1) row[r] = static_cast<Scalar>(row[r] * factor);
      });
    });
  }
};

/// Multiplies A(:, r) by 2^k so that its norm is at least target.norm, a power of two, and less than twice
/// as much. Multiplies weights(r) and scale(r) by 2^-k, and updates G = A' A. `factors` is scratch for R
/// numbers. Launches on `space` and returns without waiting.
template <class Space, class Scalar>
void scale_columns(Space const& space, FactorMatrix<Scalar, Space> const& A, GramMatrix<Space> const& G,
                   ColumnNorm target, Kokkos::View<double*, typename Space::device_type> const& weights,
                   Kokkos::View<double*, typename Space::device_type> const& scale,
                   Kokkos::View<double*, typename Space::device_type> const& factors) {
  count_t const rank = A.extent(1);
  POLYAD_EXPECTS(G.extent(0) == rank && G.extent(1) == rank && weights.extent(0) == rank &&
                     scale.extent(0) == rank && factors.extent(0) >= rank,
                 "a matrix of ", rank, " columns, a Gram matrix of ", G.extent(0), " x ", G.extent(1), ", ",
                 weights.extent(0), " weights, ", scale.extent(0), " scales and scratch for ",
                 factors.extent(0), " numbers");
  bool const is_small = scales_in_one_launch<Space>(A.size());
  auto const small    = is_small ? A : FactorMatrix<Scalar, Space>();
  Kokkos::parallel_for("polyad::scale_gram", team_policy(space, launch_shape<Space>(1, 256, 1)),
                       detail::ScaleGram<Space, Scalar>{G, target, weights, scale, factors, small});
  if (is_small) return;
  count_t const tiles = std::max<count_t>(ceil_div(A.extent(0), 64), 1);
  count_t const teams = std::min(tiles, chunks_at_a_time(space, 8));
  count_t const chunk = ceil_div(tiles, teams) * 64;
  int const vector    = rank > 16 ? 32 : 16;
  Kokkos::parallel_for(
      "polyad::scale_rows",
      team_policy(space, launch_shape<Space>(ceil_div(A.extent(0), chunk), 256 / vector, vector)),
      detail::ScaleEachColumn<Space, Scalar>{A, factors, chunk});
}

#define POLYAD_SCALE_COLUMNS(Scalar)                                                            \
  template void scale_columns(CompiledSpace const&, FactorMatrix<Scalar, CompiledSpace> const&, \
                              GramMatrix<CompiledSpace> const&, ColumnNorm,                     \
                              Kokkos::View<double*, CompiledSpace::device_type> const&,         \
                              Kokkos::View<double*, CompiledSpace::device_type> const&,         \
                              Kokkos::View<double*, CompiledSpace::device_type> const&)
POLYAD_EACH_SCALAR(extern, POLYAD_SCALE_COLUMNS);

}  // namespace polyad::detail
