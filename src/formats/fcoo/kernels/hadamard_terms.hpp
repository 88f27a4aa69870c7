// SPDX-License-Identifier: BSD-3-Clause
// The terms of F-COO's SpMTTKRP and SpTTM. A nonzero's product is its value times the rows of all product
// modes, element by element (Liu et al., section II, equations 3 and 6; one-shot: section IV-C).
#pragma once

#include <Kokkos_Core.hpp>

#include "kernel/launch_shape.hpp"
#include "kernel/piece_sums.hpp"
#include "kernel/rows_at.hpp"
#include "polyad/core/spaces.hpp"
#include "polyad/core/types.hpp"
#include "polyad/kernel/other_factors.hpp"
#include "polyad/kernel/rank_dispatch.hpp"
#include "polyad/kernel/row_form.hpp"
#include "polyad/kernel/segmented_reduce.hpp"
#include "polyad/kernel/tiny_vec.hpp"

namespace polyad::detail {

/// Products for SumFlagged: Order - 1 product modes, or any number of them.
template <class Space, class Scalar, class Index, int Block, int Order>
struct HadamardTerms {
  using Row                     = TinyVec<Space, Scalar, Block>;
  using Sum                     = Row;
  using Pieces                  = PieceSums<Row>;
  static constexpr int lanes    = Row::lanes;
  static constexpr int block    = Block;
  static constexpr int elements = Block;
  /// Nonzeros read and gathered at the same time. The numbers are those of `sorted`, measured on the
  /// H200.
  static constexpr int batch = rows_in_flight<Space>(Block < 32 || sizeof(Scalar) == 4 ? 4 : 2);

  /// A thread then has 80 registers, as in the MTTKRP of `sorted` at order 3.
  static constexpr int resident_teams  = 3;
  static constexpr int most_partitions = 1;

  Index const* indices;  // M x P, row-major
  count_t index_stride;
  Scalar const* values;
  OtherFactors<Scalar, Order> factors;
  RowsAt<Scalar> output;
  int rank;

  [[nodiscard]] KOKKOS_FUNCTION Columns columns(int first, int lane) const {
    return Row::columns(first, rank, lane);
  }
  /// Blocks begin at multiples of 32, and the last one at a multiple of 32 too (kernel/rank_dispatch.hpp).
  [[nodiscard]] KOKKOS_FUNCTION Columns own(Columns columns) const {
    return {columns.first % full_block, columns.count};
  }

  template <int Count, class Flush>
  KOKKOS_FORCEINLINE_FUNCTION void add(count_t p, unsigned ends, Columns columns, FlaggedSum<Row>& sum,
                                       Flush const& flush) const {
    using Indices = Pack<Index, Count>;
    auto const x  = *reinterpret_cast<Pack<Scalar, Count> const*>(values + p);
    Row product[Count];
    for (int u = 0; u < Count; ++u) product[u] = Row(x.element[u]);
    for (int m = 0; m < factors.size(); ++m) {
      auto const k = *reinterpret_cast<Indices const*>(indices + m * index_stride + p);
      for (int u = 0; u < Count; ++u) product[u] *= Row(factors.row(m, k.element[u]), columns);
    }
    if ((ends & ((1U << Count) - 1U)) == 0) {
      for (int u = 0; u < Count; ++u) sum.sum += product[u];
    } else {
      for (int u = 0; u < Count; ++u) sum.add(product[u], (ends >> u & 1U) != 0, flush);
    }
  }

  KOKKOS_FUNCTION void store(Index row, Row const& sum, Columns columns) const {
    sum.store(output.row(row), columns);
  }
  KOKKOS_FUNCTION void add_to(Index row, Row const& sum, Columns columns, int lane) const {
    int const left = rank - (columns.first - columns.first % full_block);
    AddAtomically<Scalar>{output.data, output.stride, columns, lane, left}(row, sum);
  }
};

}  // namespace polyad::detail
