// SPDX-License-Identifier: BSD-3-Clause
// MergeCopies: the sum of the copies of V that tiles add to (BLCO, section 5.1, hierarchical resolution).
#pragma once

#include <Kokkos_Core.hpp>

#include "polyad/core/types.hpp"
#include "polyad/kernel/chunk_walk.hpp"
#include "polyad/kernel/row_form.hpp"
#include "polyad/kernel/tiny_vec.hpp"

namespace polyad::detail {

/// V(k, :) = the sum of row k of all copies of V.
template <class Space, class Scalar, int Block>
struct MergeCopies {
  using Row = TinyVec<Space, Scalar, Block>;

  Scalar const* rows;
  count_t stride;
  count_t copies;
  Scalar* output;
  count_t output_stride;
  ChunkWalk walks;  // over the rows of V

  KOKKOS_FUNCTION void merge(count_t k, Columns columns) const {
    Row sum(Scalar(0));
    for (count_t c = 0; c < copies; ++c) sum += Row(rows + (c * walks.items + k) * stride, columns);
    sum.store(output + k * output_stride, columns);
  }

  template <class Member>
  KOKKOS_FUNCTION void operator()(Member const& member) const {
    walks.template operator()<Row, Block>(member, [&](count_t begin, count_t end, Columns columns) {
      for (count_t k = begin; k < end; ++k) merge(k, columns);
    });
  }
};

}  // namespace polyad::detail
