// SPDX-License-Identifier: BSD-3-Clause
// core_step: one step of steepest descent for the core matrix B^(n), with the optimal step length. The loss
// is quadratic in B^(n) alone, so two residual sweeps determine it along a direction D:
//
//   P = A' G(B),   D = P - ridge B  (downhill),   P2 = A' G(B + D),
//   t = |D|^2 / (<D, P - P2> + ridge |D|^2),      B <- B + t D
//
// This holds because G is linear in C^(n): <D, P - P2> is the sum over the observations of (a . D p)^2.
// Solving for all J R unknowns at once would need (J R)^2 numbers and as much work for each row. A RowPenalty
// on the rows c of C^(n), weight |c - target|^2, has a linear gradient, too: weight (c - target) is
// subtracted from the rows of G.
#pragma once

#include <Kokkos_Core.hpp>

#include "dense/intermediates.hpp"
#include "dense/transposed_product.hpp"
#include "kernel/launch_shape.hpp"
#include "polyad/fast_tucker/predict.hpp"
#include "polyad/formats/format.hpp"
#include "run/row_distribution.hpp"

namespace polyad::detail {

/// A penalty on the rows of C^(n), with the positions where each row's observations begin.
template <class Space>
struct RowPenalty {
  RowShrinkage shrinkage;
  Kokkos::View<count_t*, typename Space::device_type> starts;
};

/// G -= weight (C - target), row by row.
template <class Scalar, class Space>
struct AddPenalty {
  FactorMatrix<Scalar, Space> C;
  RowPenalty<Space> penalty;
  FactorMatrix<Scalar, Space> G;
  KOKKOS_FUNCTION void operator()(count_t i) const {
    count_t const k = i / C.extent(1);
    count_t const r = i % C.extent(1);
    G(k, r) -= static_cast<Scalar>(penalty.shrinkage.weight(penalty.starts(k + 1) - penalty.starts(k))) *
               (C(k, r) - static_cast<Scalar>(penalty.shrinkage.target));
  }
};

/// D = P - ridge B and next = B + D.
template <class Scalar, class Space>
struct CoreDirection {
  FactorMatrix<Scalar, Space> P;
  FactorMatrix<Scalar, Space> B;
  Scalar ridge;
  FactorMatrix<Scalar, Space> D;
  FactorMatrix<Scalar, Space> next;
  KOKKOS_FUNCTION void operator()(count_t j) const {
    for (count_t r = 0; r < B.extent(1); ++r) {
      D(j, r)    = P(j, r) - ridge * B(j, r);
      next(j, r) = B(j, r) + D(j, r);
    }
  }
};

/// One team: B += t D.
template <class Scalar, class Space>
struct CoreStep {
  FactorMatrix<Scalar, Space> P;
  FactorMatrix<Scalar, Space> P2;
  FactorMatrix<Scalar, Space> D;
  double ridge;
  FactorMatrix<Scalar, Space> B;
  template <class Member>
  KOKKOS_FUNCTION void operator()(Member const& member) const {
    count_t const columns = B.extent(1);
    count_t const entries = B.extent(0) * columns;
    double slope          = 0;
    double curvature      = 0;
    Kokkos::parallel_reduce(
        Kokkos::TeamVectorRange(member, entries),
        [&](count_t const i, double& sum) {
          auto const d = static_cast<double>(D(i / columns, i % columns));
          sum += d * d;
        },
        slope);
    Kokkos::parallel_reduce(
        Kokkos::TeamVectorRange(member, entries),
        [&](count_t const i, double& sum) {
          count_t const j = i / columns;
          count_t const r = i % columns;
          sum +=
              static_cast<double>(D(j, r)) * (static_cast<double>(P(j, r)) - static_cast<double>(P2(j, r)));
        },
        curvature);
    curvature += ridge * slope;
    // Without curvature, D is rounding or a direction that no observation sees.
    double const t = curvature > 0 ? slope / curvature : 0;
    Kokkos::parallel_for(Kokkos::TeamVectorRange(member, entries), [&](count_t const i) {
      B(i / columns, i % columns) +=
          static_cast<Scalar>(t * static_cast<double>(D(i / columns, i % columns)));
    });
  }
};

/// Scratch of core_step for one mode.
template <class Scalar, class Space>
struct CoreStepWorkspace {
  CoreStepWorkspace() = default;
  /// \throws MemoryError
  CoreStepWorkspace(Space const& space, FastTuckerModel<Scalar, Space> const& model, int n)
      : sums(make_transposed_product_workspace(space, model.columns(n), model.rank())) {
    for (auto* matrix : {&P, &P2, &D, &next})
      *matrix = make_factor_matrix<Scalar>(space, "polyad::core_step", model.columns(n), model.rank());
    C = make_factor_matrix<Scalar>(space, "polyad::core_step_C", model.A(n).extent(0), model.rank());
  }
  TransposedProductWorkspace<Space> sums;
  FactorMatrix<Scalar, Space> P, P2, D, next;  // J x R
  FactorMatrix<Scalar, Space> C;               // A (B + D), I_n x R
};

/// The step for mode n. Afterwards C[n] is A^(n) times the new B^(n). A `penalty` without a unit has no
/// effect. G (I_n x R) is scratch. Launches on `space` and returns without waiting.
/// \param rows  how they are divided: A^(n), C^(n) and G have the owned ones
template <class F, class Workspace>
void core_step(typename F::space_type const& space, F const& X,
               FastTuckerModel<typename F::scalar_type, typename F::space_type> const& model, int n,
               double ridge, FactorMatrices<typename F::scalar_type, typename F::space_type> const& C,
               Workspace& workspace,
               CoreStepWorkspace<typename F::scalar_type, typename F::space_type> const& work,
               FactorMatrix<typename F::scalar_type, typename F::space_type> const& G,
               RowPenalty<typename F::space_type> const& penalty,
               RowDistribution<typename F::scalar_type, typename F::space_type> const& rows) {
  using Scalar = typename F::scalar_type;
  using Space  = typename F::space_type;
  // P = A' G
  auto const downhill = [&](FactorMatrices<Scalar, Space> const& at, FactorMatrix<Scalar, Space> const& P) {
    if (G.extent(0) == 0) return zero_matrix(space, P);
    residual_mttkrp(space, X, at, n, workspace, G);
    if (penalty.shrinkage.unit)
      Kokkos::parallel_for(
          "polyad::core_penalty",
          Kokkos::RangePolicy<Space, Kokkos::IndexType<count_t>>(space, 0, G.extent(0) * G.extent(1)),
          detail::AddPenalty<Scalar, Space>{at[n], penalty, G});
    transposed_product(space, 1.0, model.A(n), G, work.sums, P);
  };
  auto const downhill_of_all = [&](FactorMatrices<Scalar, Space> const& at,
                                   FactorMatrix<Scalar, Space> const& P) {
    downhill(at, P);
    rows.sum(P);
  };
  downhill_of_all(C, work.P);
  Kokkos::parallel_for("polyad::core_direction",
                       Kokkos::RangePolicy<Space, Kokkos::IndexType<count_t>>(space, 0, model.columns(n)),
                       detail::CoreDirection<Scalar, Space>{work.P, model.B(n), static_cast<Scalar>(ridge),
                                                            work.D, work.next});
  auto stepped = C;
  stepped[n]   = work.C;
  intermediates(space, model.A(n), work.next, work.C);
  downhill_of_all(stepped, work.P2);
  LaunchShape const shape = launch_shape<Space>(1, 8, 32);
  Kokkos::parallel_for("polyad::core_step", team_policy(space, shape),
                       detail::CoreStep<Scalar, Space>{work.P, work.P2, work.D, ridge, model.B(n)});
  form_intermediates(space, model, n, C);
}

}  // namespace polyad::detail
