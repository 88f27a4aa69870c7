// SPDX-License-Identifier: BSD-3-Clause
// descend: an update by coordinate descent, with the sums that the run needs of it.
#pragma once

#include "cp/constraints/column_numbers.hpp"
#include "cp/constraints/descend_rows.hpp"
#include "cp/constraints/descend_tiles.hpp"
#include "cp/update_memory.hpp"
#include "dense/dense_tuning.hpp"
#include "dense/update/update_tile.hpp"
#include "polyad/core/types.hpp"
#include "polyad/cp/factor_update.hpp"
#include "polyad/kernel/rank_dispatch.hpp"
#include "polyad/tensor/constraints.hpp"
#include "polyad/tensor/factor_matrices.hpp"

namespace polyad::detail {

/// \sa cp/constraints/descend_tiles.hpp
template <class Number, bool IsShort, class Space, class Scalar>
void descend_by(DescentByTiles<Number, IsShort>, Space const& space, ModeProblem<Space> const& problem,
                ColumnNumbers<Space> const& columns, Constraints const& bounds, int sweeps,
                FactorMatrix<Scalar, Space> const& V, FactorMatrix<Scalar, Space> const& A,
                UpdateSums<Space> const& sums) {
  auto const inner      = inner_product_sums<Space>(sums, problem.weights);
  auto const& gram_sums = sums.memory->gram_sums;
  gram_sums.expect_rank(A.extent(1));
  with_block<8>(A.extent(1), [&](auto block) {
    using Kernel = DescendTiles<Space, Scalar, block(), Number, IsShort>;
    update_by_tiles<Kernel>(space, "polyad::descend_tiles", A.extent(0), gram_sums, sums.gram, inner,
                            [&](count_t chunk) {
                              return Kernel{{gram_sums.partials(), inner},
                                            V,
                                            A,
                                            problem.H,
                                            problem.largest_change,
                                            columns,
                                            static_cast<Number>(bounds.lower),
                                            static_cast<Number>(bounds.upper),
                                            sweeps,
                                            chunk};
                            });
  });
}

/// \sa cp/constraints/descend_rows.hpp
template <class Space, class Scalar>
void descend_by(DescentByRows, Space const& space, ModeProblem<Space> const& problem,
                ColumnNumbers<Space> const& columns, Constraints const& bounds, int sweeps,
                FactorMatrix<Scalar, Space> const& V, FactorMatrix<Scalar, Space> const& A,
                UpdateSums<Space> const& sums) {
  descend_rows(space, problem, columns, bounds, sweeps, V, A);
  sum_update(space, problem, V, A, sums);
}

/// `sweeps` sweeps over every row of A, and `sums` of the new A. Launches on `space` and returns without
/// waiting.
/// \param bounds   rounded to Scalar, on A
/// \param squares  those of the new A
/// \throws UsageError when shapes do not match
template <class Space, class Scalar>
void descend(Space const& space, ModeProblem<Space> const& problem, ColumnNumbers<Space> const& columns,
             Constraints const& bounds, int sweeps, FactorMatrix<Scalar, Space> const& V,
             FactorMatrix<Scalar, Space> const& A, UpdateSums<Space> const& sums,
             Squares squares = Squares::in_any_range) {
  count_t const rank = A.extent(1);
  POLYAD_EXPECTS(V.extent(0) == A.extent(0) && V.extent(1) == rank && problem.H.extent(0) == rank &&
                     columns.extent(1) == rank,
                 "V is ", V.extent(0), " x ", V.extent(1), ", A is ", A.extent(0), " x ", rank, " and H is ",
                 problem.H.extent(0), " x ", problem.H.extent(1));
  POLYAD_EXPECTS(sums.memory != nullptr, "the sums have no scratch: they are not those of a run");
  with_descent_strategy<Scalar>(space, A.extent(0), rank, squares, [&](auto strategy) {
    descend_by(strategy, space, problem, columns, bounds, sweeps, V, A, sums);
  });
}

}  // namespace polyad::detail
