// SPDX-License-Identifier: BSD-3-Clause
// A host's MTTKRP of BLCO: every thread walks its part of the nonzeros and adds each product at once to a copy
// of the rows that the part touches. In ALTO's order these rows, and those of the other factors, stay in a
// core's caches; summing runs in registers first cost 15 to 30 % there. And the merge of copies, a host's or a
// device's.
#pragma once

#include <Kokkos_Core.hpp>

#include "polyad/core/row_form.hpp"
#include "polyad/core/segmented_reduce.hpp"
#include "polyad/formats/blco/blco_resolution.hpp"
#include "polyad/formats/chunk_walk.hpp"
#include "polyad/formats/other_factors.hpp"

namespace polyad::detail {

template <class Space, class Scalar, class Index, int Block, int Order>
struct MttkrpBlcoParts {
  using Row = TinyVec<Space, Scalar, Block, RowForm::simd>;

  BlcoNonzeros<Scalar, Index> nonzeros;
  OtherFactors<Scalar, Order> factors;
  int mode;
  PartRows parts;
  ChunkWalk walks;  // over the parts
  Scalar* output;   // V where there is one part, else the copies of all parts
  count_t output_stride;
  count_t output_rows;  // of V, where there is one part

  /// Adds the nonzeros begin ... end - 1, which lie in one block. `low` is the index of the first row of `rows`.
  template <int Words>
  KOKKOS_FUNCTION void walk(count_t begin, count_t end, count_t block, Scalar* rows, count_t low,
                            Columns columns) const {
    BlcoEncoding const encoding = nonzeros.encoding;
    Index upper[max_order];
    for (int n = 0; n < encoding.order(); ++n) upper[n] = nonzeros.upper(block, n);
    AddPlainly<Scalar> const flush{rows, output_stride, columns};
    for (count_t p = begin; p < end; ++p) {
      auto const linear = nonzeros.template linear_index<Words>(p);
      Row product(nonzeros.values[p]);
      for (int m = 0; m < factors.size(); ++m) {
        int const n = factors.mode(m);
        product *= Row(factors.row(m, encoding.decode(n, linear) | upper[n]), columns);
      }
      flush((encoding.decode(mode, linear) | upper[mode]) - low, product);
    }
  }

  KOKKOS_FUNCTION void walk_part(count_t part, Columns columns) const {
    bool const alone    = parts.count == 1;
    count_t const low   = alone ? 0 : parts.lows[part];
    count_t const count = alone ? output_rows : parts.rows(part);
    Scalar* const rows  = output + (alone ? 0 : parts.firsts[part]) * output_stride;
    Row const zero(Scalar(0));
    for (count_t k = 0; k < count; ++k) zero.store(rows + k * output_stride, columns);
    count_t const end = parts.begins[part + 1];
    count_t begin     = parts.begins[part];
    for (count_t block = nonzeros.block_of(begin); begin < end; ++block) {
      count_t const block_end = Kokkos::min(end, nonzeros.begins[block + 1]);
      if (nonzeros.encoding.words() == 1)
        walk<1>(begin, block_end, block, rows, low, columns);
      else
        walk<2>(begin, block_end, block, rows, low, columns);
      begin = block_end;
    }
  }

  template <class Member>
  KOKKOS_FUNCTION void operator()(Member const& member) const {
    walks.template operator()<Row, Block>(
        member, [&](count_t part, count_t, Columns columns) { walk_part(part, columns); });
  }
};

/// V(k, :) = the sum of row k of all copies: whole ones, or those of a host's parts.
template <class Space, class Scalar, int Block, RowForm Form>
struct MergeCopies {
  using Row = TinyVec<Space, Scalar, Block, Form>;

  Scalar const* rows;
  count_t stride;
  count_t copies;
  PartRows parts;
  Scalar* output;
  count_t output_stride;
  ChunkWalk walks;  // over the rows of V

  KOKKOS_FUNCTION void merge(count_t k, Columns columns) const {
    Row sum(Scalar(0));
    for (count_t c = 0; c < copies; ++c) sum += Row(rows + (c * walks.nnz + k) * stride, columns);
    for (count_t part = 0; part < parts.count; ++part) {
      count_t const at = k - parts.lows[part];  // wraps round where k lies below
      if (at < parts.rows(part)) sum += Row(rows + (parts.firsts[part] + at) * stride, columns);
    }
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
