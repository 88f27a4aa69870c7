// SPDX-License-Identifier: BSD-3-Clause
// scale_columns: multiplies the columns of A (I x R) by powers of two, so that their 2-norms come near a
// given number. Mantissas do not change, except those of subnormal numbers. Bytes: 2 I R s_r.
#pragma once

#include <Kokkos_Core.hpp>

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
/// not finite keeps its scale.
template <class Space>
struct ScaleGram {
  GramMatrix<Space> gram;
  ColumnNorm target;
  Kokkos::View<double*, typename Space::device_type> weights;
  Kokkos::View<double*, typename Space::device_type> scale;
  Kokkos::View<double*, typename Space::device_type> factors;

  template <class Member>
  KOKKOS_FUNCTION void operator()(Member const& member) const {
    int const rank = gram.extent_int(0);
    Kokkos::parallel_for(Kokkos::TeamThreadRange(member, rank), [&](int const r) {
      double const own = Kokkos::sqrt(gram(r, r));
      factors(r)       = is_scale(own) ? factor_for(power_of_two_below(own)) : 1;
      weights(r) /= factors(r);
      scale(r) /= factors(r);
    });
    member.team_barrier();
    Kokkos::parallel_for(Kokkos::TeamThreadRange(member, rank * rank), [&](int const e) {
      // The product of the factors of columns that have almost vanished may leave the range of doubles.
      double const row = factors(e / rank), column = factors(e % rank), both = row * column;
      double& entry = gram(e / rank, e % rank);
      entry         = is_scale(both) ? entry * both : entry * row * column;
    });
  }
  [[nodiscard]] KOKKOS_FUNCTION double factor_for(double own) const {
    double const factor = target.norm / own;
    return factor * target.slack >= 1 && factor <= target.slack ? 1 : factor;
  }
};

template <class Space, class Scalar>
struct ScaleEachColumn {
  FactorMatrix<Scalar, Space> matrix;
  Kokkos::View<double*, typename Space::device_type> factors;

  static constexpr count_t rows_per_team = 64;

  template <class Member>
  KOKKOS_FUNCTION void operator()(Member const& member) const {
    count_t const first = member.league_rank() * rows_per_team;
    count_t const rows  = Kokkos::min(count_t(rows_per_team), matrix.extent(0) - first);
    Kokkos::parallel_for(Kokkos::TeamThreadRange(member, rows), [&](count_t const i) {
      Scalar* const row = &matrix(first + i, 0);
      Kokkos::parallel_for(Kokkos::ThreadVectorRange(member, matrix.extent(1)), [&](count_t const r) {
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
  Kokkos::parallel_for("polyad::scale_gram", team_policy(space, launch_shape<Space>(1, 256, 1)),
                       detail::ScaleGram<Space>{G, target, weights, scale, factors});
  using Kernel     = detail::ScaleEachColumn<Space, Scalar>;
  int const vector = rank > 16 ? 32 : 16;
  LaunchShape const shape =
      launch_shape<Space>(ceil_div(A.extent(0), Kernel::rows_per_team), 256 / vector, vector);
  Kokkos::parallel_for("polyad::scale_rows", team_policy(space, shape), Kernel{A, factors});
}

#define POLYAD_SCALE_COLUMNS(Scalar)                                                            \
  template void scale_columns(CompiledSpace const&, FactorMatrix<Scalar, CompiledSpace> const&, \
                              GramMatrix<CompiledSpace> const&, ColumnNorm,                     \
                              Kokkos::View<double*, CompiledSpace::device_type> const&,         \
                              Kokkos::View<double*, CompiledSpace::device_type> const&,         \
                              Kokkos::View<double*, CompiledSpace::device_type> const&)
POLYAD_EACH_SCALAR(extern, POLYAD_SCALE_COLUMNS);

}  // namespace polyad::detail
