// SPDX-License-Identifier: BSD-3-Clause
// normalize_columns: divides the columns of A by their 2-norms, which are the square roots of the diagonal of
// A's Gram matrix, and adjusts the Gram matrix. Bytes: 2 I R s_r.
#pragma once

#include <Kokkos_Core.hpp>

#include "dense/gram.hpp"
#include "kernel/launch_shape.hpp"
#include "polyad/core/instances.hpp"

namespace polyad::detail {

/// weights(r) = sqrt(G(r, r)); G becomes the Gram matrix of the normalised columns. A column of zeros
/// gets weight 0 and stays.
template <class Space>
struct NormalizeGram {
  GramMatrix<Space> gram;
  Kokkos::View<double*, typename Space::device_type> weights;

  template <class Member>
  KOKKOS_FUNCTION void operator()(Member const& member) const {
    int const rank = gram.extent_int(0);
    Kokkos::parallel_for(Kokkos::TeamThreadRange(member, rank),
                         [&](int const r) { weights(r) = Kokkos::sqrt(gram(r, r)); });
    member.team_barrier();
    Kokkos::parallel_for(Kokkos::TeamThreadRange(member, rank * rank), [&](int const e) {
      double const norms = weights(e / rank) * weights(e % rank);
      if (norms != 0) gram(e / rank, e % rank) /= norms;
    });
  }
};

template <class Space, class Scalar>
struct DivideColumns {
  FactorMatrix<Scalar, Space> matrix;
  Kokkos::View<double*, typename Space::device_type> weights;

  template <class Member>
  KOKKOS_FUNCTION void operator()(Member const& member) const {
    count_t const first = member.league_rank() * rows_per_team;
    count_t const rows  = Kokkos::min(count_t(rows_per_team), matrix.extent(0) - first);
    Kokkos::parallel_for(Kokkos::TeamThreadRange(member, rows), [&](count_t const i) {
      Scalar* const row = &matrix(first + i, 0);
      Kokkos::parallel_for(Kokkos::ThreadVectorRange(member, matrix.extent(1)), [&](count_t const r) {
        double const weight = weights(r);
        if (weight != 0) row[r] = static_cast<Scalar>(row[r] / static_cast<Scalar>(weight));
      });
    });
  }
  static constexpr count_t rows_per_team = 64;
};

/// Normalises A (I x R) whose Gram matrix is G; the norms go to `weights` (R). Launches on `space` and
/// returns without waiting.
template <class Space, class Scalar>
void normalize_columns(Space const& space, FactorMatrix<Scalar, Space> const& A, GramMatrix<Space> const& G,
                       Kokkos::View<double*, typename Space::device_type> const& weights) {
  count_t const rank = A.extent(1);
  POLYAD_EXPECTS(G.extent(0) == rank && G.extent(1) == rank && weights.extent(0) == rank, "a matrix of ",
                 rank, " columns, a Gram matrix of ", G.extent(0), " x ", G.extent(1), " and ",
                 weights.extent(0), " weights");
  Kokkos::parallel_for("polyad::normalize_gram", team_policy(space, launch_shape<Space>(1, 256, 1)),
                       detail::NormalizeGram<Space>{G, weights});
  using Kernel     = detail::DivideColumns<Space, Scalar>;
  int const vector = rank > 16 ? 32 : 16;
  LaunchShape const shape =
      launch_shape<Space>(ceil_div(A.extent(0), Kernel::rows_per_team), 256 / vector, vector);
  Kokkos::parallel_for("polyad::divide_columns", team_policy(space, shape), Kernel{A, weights});
}

#define POLYAD_NORMALIZE_COLUMNS(Scalar)                                                            \
  template void normalize_columns(CompiledSpace const&, FactorMatrix<Scalar, CompiledSpace> const&, \
                                  GramMatrix<CompiledSpace> const&,                                 \
                                  Kokkos::View<double*, CompiledSpace::device_type> const&)
POLYAD_EACH_SCALAR(extern, POLYAD_NORMALIZE_COLUMNS);

}  // namespace polyad::detail
