// SPDX-License-Identifier: BSD-3-Clause
// The terms that nonzeros add to a row k of the output. The term is a policy of the walks of `blco` and
// `alto`. One walk then serves both the MTTKRP and the residual sweep (the concept ResidualFormat of
// formats/format.hpp):
//
//   ProductTerm    x p, with p the product of the other modes' rows
//   ResidualTerm   e p, e = x - C(k, :) . p
//
// A walk starts a product with term.first_factor(x), multiplies it by the rows, and calls complete().
#pragma once

#include <Kokkos_Core.hpp>

#include "polyad/core/types.hpp"
#include "polyad/kernel/chunk_walk.hpp"
#include "polyad/kernel/lanes.hpp"
#include "polyad/kernel/tiny_vec.hpp"
#include "polyad/kernel/whole_row_walk.hpp"

namespace polyad::detail {

struct ProductTerm {
  static constexpr bool is_residual = false;

  template <class Scalar>
  [[nodiscard]] KOKKOS_FORCEINLINE_FUNCTION static Scalar first_factor(Scalar x) {
    return x;
  }
  template <class Row, class Scalar>
  KOKKOS_FORCEINLINE_FUNCTION void complete(Row& /*product*/, Scalar /*x*/, count_t /*k*/, Columns) const {}
  /// For columns that are counted from `first`.
  [[nodiscard]] KOKKOS_FORCEINLINE_FUNCTION ProductTerm from_column(int /*first*/) const { return {}; }
};

/// The row of C is read for every nonzero, like the rows of the other modes. Nonzeros of one row are
/// adjacent, so it comes from the first-level cache. The load can start before the walk knows whether the row
/// has changed. A residual needs whole rows and all lanes of the thread. Lanes right of column R add nothing
/// to it.
template <class Scalar>
struct ResidualTerm {
  static constexpr bool is_residual = true;

  Scalar const* C;  // that of the output's mode, I_n x R
  count_t stride;

  [[nodiscard]] KOKKOS_FORCEINLINE_FUNCTION static Scalar first_factor(Scalar /*x*/) { return Scalar(1); }
  [[nodiscard]] KOKKOS_FORCEINLINE_FUNCTION Scalar const* row(count_t k) const { return C + k * stride; }
  [[nodiscard]] KOKKOS_FORCEINLINE_FUNCTION ResidualTerm from_column(int first) const {
    return {C + first, stride};
  }
  /// From p to e p.
  template <class Row>
  KOKKOS_FORCEINLINE_FUNCTION void complete(Row& product, Scalar x, count_t k, Columns columns) const {
    product *= Row(x - sum_over_lanes<Row::lanes>(product.dot(Row(row(k), columns), columns)));
  }
};

/// Calls walk(begin, end, columns) once for each thread's chunk, on the lanes that have columns. A residual
/// needs all lanes, since all take part in its sum.
template <class Row, class Term, class Member, class Walk>
KOKKOS_FORCEINLINE_FUNCTION void walk_chunks(ChunkWalk const& chunks, Member const& member,
                                             Walk const& walk) {
  if constexpr (Term::is_residual)
    WholeRowWalk{chunks.items, chunks.chunk}.template operator()<Row>(
        member, [&](count_t begin, count_t end, int lane) {
          walk(begin, end, columns_or_none<Row>(0, chunks.blocks.rank, lane));
        });
  else
    chunks.template operator()<Row, Row::block>(member, walk);
}

}  // namespace polyad::detail
