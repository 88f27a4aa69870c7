// SPDX-License-Identifier: BSD-3-Clause
// What a nonzero adds to its row k of the output. The walks of `blco` and `alto` take it as a policy, so that
// one walk serves the MTTKRP and the residual sweep (the concept ResidualFormat of formats/format.hpp):
//
//   ProductTerm    x p, with p the product of the other modes' rows
//   ResidualTerm   e p, e = x - C(k, :) . p
//
// A walk starts a product with term.first_factor(x), multiplies it by the rows, and calls complete().
#pragma once

#include <Kokkos_Core.hpp>

#include "polyad/core/types.hpp"
#include "polyad/kernel/lanes.hpp"
#include "polyad/kernel/tiny_vec.hpp"

namespace polyad::detail {

struct ProductTerm {
  static constexpr bool is_residual = false;

  template <class Scalar>
  [[nodiscard]] KOKKOS_FORCEINLINE_FUNCTION static Scalar first_factor(Scalar x) {
    return x;
  }
  template <class Row, class Scalar>
  KOKKOS_FORCEINLINE_FUNCTION void complete(Row& /*product*/, Scalar /*x*/, count_t /*k*/, Columns) const {}
};

/// The row of C is read for every nonzero, like those of the other modes: nonzeros of one row stand together,
/// so that it comes from the first-level cache, and its load need not wait for the walk to know whether the
/// row is a new one. A thread needs whole rows, and all of its lanes: those right of column R add nothing to
/// the residual.
template <class Scalar>
struct ResidualTerm {
  static constexpr bool is_residual = true;

  Scalar const* C;  // of the output's mode, I_n x R
  count_t stride;

  [[nodiscard]] KOKKOS_FORCEINLINE_FUNCTION static Scalar first_factor(Scalar /*x*/) { return Scalar(1); }
  [[nodiscard]] KOKKOS_FORCEINLINE_FUNCTION Scalar const* row(count_t k) const { return C + k * stride; }
  /// From p to e p.
  template <class Row>
  KOKKOS_FORCEINLINE_FUNCTION void complete(Row& product, Scalar x, count_t k, Columns columns) const {
    product *= Row(x - sum_over_lanes<Row::lanes>(product.dot(Row(row(k), columns), columns)));
  }
};

}  // namespace polyad::detail
