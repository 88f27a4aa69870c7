// SPDX-License-Identifier: BSD-3-Clause
#include "polyad/cp/factor_update.hpp"

#include <cmath>
#include <limits>

#include "cp/update_memory.hpp"
#include "polyad/core/error.hpp"
#include "polyad/core/instances.hpp"

namespace polyad {

using namespace detail;

ModeUpdate ridge(double penalty) {
  POLYAD_EXPECTS(std::isfinite(penalty) && penalty >= 0, "a ridge of ", penalty,
                 ": it is a finite number of at least 0");
  ModeUpdate update;
  update.m_penalty = penalty;
  return update;
}

ModeUpdate constrained(Constraints const& constraints, int inner_sweeps) {
  double const lower = constraints.lower, upper = constraints.upper;
  POLYAD_EXPECTS(lower <= upper && lower < std::numeric_limits<double>::infinity() &&
                     upper > -std::numeric_limits<double>::infinity(),
                 "bounds of ", lower, " and ", upper, ": no number is between them");
  for (double const penalty : {constraints.l1, constraints.ridge})
    POLYAD_EXPECTS(std::isfinite(penalty) && penalty >= 0, "a penalty of ", penalty,
                   ": it is a finite number of at least 0");
  POLYAD_EXPECTS(inner_sweeps >= 1, inner_sweeps, " sweeps of an update: it needs at least one");
  ModeUpdate update;
  update.m_constraints  = constraints;
  update.m_inner_sweeps = inner_sweeps;
  return update;
}

template <class Scalar, class Space>
void sum_update(Space const& space, ModeProblem<Space> const& problem, FactorMatrix<Scalar, Space> const& V,
                FactorMatrix<Scalar, Space> const& A, UpdateSums<Space> const& sums) {
  POLYAD_EXPECTS(V.extent(0) == A.extent(0) && V.extent(1) == A.extent(1), "V is ", V.extent(0), " x ",
                 V.extent(1), " and A is ", A.extent(0), " x ", A.extent(1));
  POLYAD_EXPECTS(sums.memory != nullptr, "the sums have no scratch: they are not those of a run");
  gram(space, A, sums.memory->gram_sums, sums.gram, Squares::in_any_range);
  if (sums.needs_inner_product())
    inner_product_of(space, V, A, inner_product_sums<Space>(sums, problem.weights));
}

POLYAD_EACH_SCALAR(, POLYAD_SUM_UPDATE);

}  // namespace polyad
