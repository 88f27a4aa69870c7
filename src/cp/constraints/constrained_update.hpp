// SPDX-License-Identifier: BSD-3-Clause
// ConstrainedUpdate: the update of a mode with bounds, l1 and ridge by coordinate descent
// (cp/constraints/descend.hpp) or exactly (cp/constraints/solve_rows.hpp).
//
// A mode that has penalties or finite bounds other than 0 keeps its scale: its s is 1, and A is B. Bounds of
// 0 alone do not depend on the scale, so the run keeps such columns near their norm by powers of two.
#pragma once

#include <Kokkos_Core.hpp>
#include <algorithm>
#include <cmath>

#include "cp/constraints/descend.hpp"
#include "cp/constraints/solve_rows.hpp"
#include "polyad/core/error.hpp"
#include "polyad/core/spaces.hpp"
#include "polyad/cp/factor_update.hpp"

namespace polyad::detail {

/// The bounds as numbers of the precision Scalar. Rounding is monotone, so an entry within the bounds is
/// within these once it is rounded.
/// \throws UsageError for a finite bound that is infinite in this precision
template <class Scalar>
[[nodiscard]] Constraints rounded_bounds(Constraints constraints, int mode) {
  for (double* const bound : {&constraints.lower, &constraints.upper}) {
    if (std::isinf(*bound)) continue;
    POLYAD_EXPECTS(std::abs(*bound) <= Kokkos::Experimental::finite_max_v<Scalar>, "the bound ", *bound,
                   " of mode ", mode, " is outside the range of the precision");
    *bound = static_cast<Scalar>(*bound);
  }
  return constraints;
}

/// The largest magnitude that an entry reaches in one update if the run scales the column afterwards. The
/// best entry of a component that has almost vanished may be beyond the range of the precision. Every number
/// on the way to it improves the objective, and the next updates come closer. Its square is in the range of
/// the precision, and so are sums of squares.
template <class Scalar>
inline constexpr double reach_of_update = sizeof(Scalar) == sizeof(float) ? 0x1p48 : 0x1p400;

/// The same for a column that keeps its scale, as a multiple of the tensor's norm, if that is above 1.
template <class Scalar>
inline constexpr double reach_at_scale = sizeof(Scalar) == sizeof(float) ? 0x1p60 : 0x1p400;

template <class Scalar, class Space>
class ConstrainedUpdate final : public FactorUpdate<Scalar, Space> {
public:
  using Problem = ModeProblem<Space>;
  using Matrix  = FactorMatrix<Scalar, Space>;
  using Sums    = UpdateSums<Space>;

  /// \param sweeps  or exact_inner; \param row_memory  then memory_of_rows
  ConstrainedUpdate(Space const& space, UpdateSite const& site, Constraints const& constraints, int sweeps,
                    DeviceNumbers<Space> const& row_memory)
      : m_constraints(rounded_bounds<Scalar>(constraints, site.mode)),
        m_sweeps(sweeps),
        m_row_memory(row_memory),
        m_columns(Kokkos::view_alloc(space, "polyad::column_numbers"), column_numbers, site.rank) {}

  [[nodiscard]] bool keeps_scale() const override {
    return m_constraints.is_penalised() || !m_constraints.is_cone();
  }
  [[nodiscard]] bool keeps_signs() const override { return true; }
  [[nodiscard]] bool keeps_start() const override { return true; }
  [[nodiscard]] bool is_penalised() const override { return m_constraints.is_penalised(); }
  [[nodiscard]] bool limits_scale() const override {
    return m_constraints.is_penalised() || m_constraints.is_bounded();
  }

  void prepare(Space const& space, Problem const& problem) override {
    prepare_columns(space, problem, m_constraints, m_columns);
  }
  /// The same before the problem's H and weights are there, with what forms them.
  void prepare(Space const& space, Problem const& problem, HadamardOfGrams<Space> const& hadamard) {
    prepare_columns(space, problem, m_constraints, m_columns, &hadamard);
  }
  void apply(Space const& space, Problem const& problem, Matrix const& V, Matrix const& A,
             Sums const& sums) override {
    if (m_sweeps != exact_inner) {
      bool const is_in_range = !keeps_scale() && !sums.is_trial;
      return descend(space, problem, m_columns, within_reach(problem), m_sweeps, V, A, sums,
                     is_in_range ? Squares::in_range : Squares::in_any_range);
    }
    solve_rows(space, problem, m_columns, m_constraints, m_row_memory, V, A);
    sum_update(space, problem, V, A, sums);
  }

private:
  /// The bounds, where they are infinite replaced by the reach of an update.
  [[nodiscard]] Constraints within_reach(Problem const& problem) const {
    double const at_scale = reach_at_scale<Scalar> * std::max(1.0, problem.tensor_norm);
    double const reach    = keeps_scale() ? at_scale : reach_of_update<Scalar>;
    Constraints within    = m_constraints;
    if (std::isinf(within.lower)) within.lower = std::min(-reach, within.upper);
    if (std::isinf(within.upper)) within.upper = std::max(reach, within.lower);
    return within;
  }

  Constraints m_constraints;
  int m_sweeps;
  DeviceNumbers<Space> m_row_memory;
  ColumnNumbers<Space> m_columns;
};

}  // namespace polyad::detail
