// SPDX-License-Identifier: BSD-3-Clause
// The rows that least squares solve for, and whether the arguments fit the tensor and each other.
#pragma once

#include <Kokkos_Core.hpp>

#include "polyad/formats/format.hpp"

namespace polyad::detail {

/// Consecutive rows of a mode, and the positions of their nonzeros in the mode's order.
struct SolvedRows {
  count_t const* starts;  // where the rows start, and the end of the last one
  count_t rows;
  count_t begin;       // the first position
  count_t end;         // one past the last
  count_t origin = 0;  // the position of the source's first nonzero
  count_t first  = 0;  // the number of the first row within the mode
  count_t least  = 0;  // rows of fewer nonzeros are left as they are
};

/// \throws UsageError
template <class F, class Scalar, class Space>
void expect_row_problem(F const& X, FactorMatrices<Scalar, Space> const& C, int mode,
                        RowProblem<Scalar, Space> const& problem, RowStarts<Space> const& starts,
                        FactorMatrix<Scalar, Space> const& A, RowShrinkage const& shrinkage) {
  Extents const& extents = X.extents();
  count_t const nnz      = X.nnz();
  expect_mode(mode, extents);
  expect_factors(C, extents);
  POLYAD_EXPECTS(extents.order() >= 2, "least squares for rows need a tensor of two modes or more");
  POLYAD_EXPECTS(problem.B.extent(1) == C.rank() && problem.transposed.extent(0) == C.rank() &&
                     problem.transposed.extent(1) == problem.B.extent(0),
                 "B is ", problem.B.extent(0), " x ", problem.B.extent(1), " for factors of rank ", C.rank());
  POLYAD_EXPECTS(A.extent(0) == extents[mode] && A.extent(1) == problem.B.extent(0),
                 "the rows to solve for are ", A.extent(0), " x ", A.extent(1), ", not ", extents[mode],
                 " x ", problem.B.extent(0));
  POLYAD_EXPECTS(problem.ridge >= 0, "the ridge ", problem.ridge, " is negative");
  POLYAD_EXPECTS(problem.squares == 0 || problem.B.extent(0) >= problem.B.extent(1),
                 "the columns of B are not orthogonal: it is ", problem.B.extent(0), " x ",
                 problem.B.extent(1));
  POLYAD_EXPECTS(problem.sums.extent(0) == 0 || problem.sums.extent(0) >= row_sums_size(nnz, C.rank()),
                 "the workspace for sums holds ", problem.sums.extent(0), " numbers, not ",
                 row_sums_size(nnz, C.rank()));
  POLYAD_EXPECTS(shrinkage.nonzeros >= 0 && shrinkage.share >= 0, "rows are shrunk by ", shrinkage.nonzeros,
                 " nonzeros and a share of ", shrinkage.share);
  POLYAD_EXPECTS(problem.alpha == 0 || (problem.alpha > 0 && problem.others.extent(0) == C.rank() &&
                                        problem.others.extent(1) == C.rank()),
                 "implicit feedback of weight ", problem.alpha, " has a sum over the other cells of ",
                 problem.others.extent(0), " x ", problem.others.extent(1), ", not of rank ", C.rank());
  POLYAD_EXPECTS(problem.steps >= 0, "there are ", problem.steps, " steps of conjugate gradients");
  POLYAD_EXPECTS(problem.steps == 0 || problem.alpha == 0 ||
                     (problem.rounded.extent(0) == C.rank() && problem.rounded.extent(1) == C.rank()),
                 "conjugate gradients read a sum over the other cells of ", problem.rounded.extent(0), " x ",
                 problem.rounded.extent(1), ", not of rank ", C.rank());
  starts.made_for.expect(X.identity(), 0, X.name);
  POLYAD_EXPECTS(starts[mode].extent(0) == extents[mode] + 1, "mode ", mode, " has no rows in ", X.name);
  for (int n = 0; n < C.order(); ++n) expect_packed_rows<Scalar, Space>(C[n]);
}

}  // namespace polyad::detail
