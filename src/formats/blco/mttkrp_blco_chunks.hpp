// SPDX-License-Identifier: BSD-3-Clause
// A host's MTTKRP of BLCO, and its residual sweep (formats/blco/nonzero_terms.hpp): every thread walks its
// chunk of the nonzeros and adds each product at once to its row of V, or to its own copy of a row that other
// chunks write too. In ALTO's order these rows, and those of the other factors, stay in a core's caches;
// summing runs in registers first cost 15 to 30 % there. And the merge of a device's copies of V.
#pragma once

#include <Kokkos_Core.hpp>

#include "formats/blco/blco_blocks.hpp"
#include "formats/blco/private_output.hpp"
#include "formats/blco/private_rows.hpp"
#include "polyad/core/types.hpp"
#include "polyad/kernel/chunk_walk.hpp"
#include "polyad/kernel/other_factors.hpp"
#include "polyad/kernel/tiny_vec.hpp"

namespace polyad::detail {

template <class Space, class Scalar, class Index, int Block, int Order, class Term>
struct MttkrpBlcoChunks {
  using Row = TinyVec<Space, Scalar, Block, RowForm::simd>;

  BlcoNonzeros<Scalar, Index> nonzeros;
  OtherFactors<Scalar, Order> factors;
  int mode;
  count_t const* begins;  // of the chunks, and P
  PrivateOutput<Scalar> output;
  ChunkWalk walks;  // over the chunks
  Term term;

  /// Adds the nonzeros begin ... end - 1, which lie in one block.
  template <int Words>
  void walk(count_t begin, count_t end, count_t block, PrivateRows const& own, Columns columns) const {
    BlcoEncoding const encoding = nonzeros.encoding;
    Index upper[max_order];
    for (int n = 0; n < encoding.order(); ++n) upper[n] = nonzeros.upper(block, n);
    for (count_t p = begin; p < end; ++p) {
      auto const linear = nonzeros.template linear_index<Words>(p);
      Scalar const x    = nonzeros.values[p];
      Row product(term.first_factor(x));
      for (int m = 0; m < factors.size(); ++m) {
        int const n = factors.mode(m);
        product *= Row(factors.row(m, encoding.decode(n, linear) | upper[n]), columns);
      }
      count_t const k      = encoding.decode(mode, linear) | upper[mode];
      Scalar* const target = output.row(own, k);
      term.complete(product, x, k, columns);
      product += Row(target, columns);
      product.store(target, columns);
    }
  }

  void walk_chunk(count_t chunk, Columns columns) const {
    PrivateRows const own = output.chunks[chunk];
    count_t const end     = begins[chunk + 1];
    count_t begin         = begins[chunk];
    for (count_t block = nonzeros.block_of(begin); begin < end; ++block) {
      count_t const block_end = Kokkos::min(end, nonzeros.begins[block + 1]);
      if (nonzeros.encoding.words() == 1)
        walk<1>(begin, block_end, block, own, columns);
      else
        walk<2>(begin, block_end, block, own, columns);
      begin = block_end;
    }
  }

  template <class Member>
  void operator()(Member const& member) const {
    walks.template operator()<Row, Block>(
        member, [&](count_t chunk, count_t, Columns columns) { walk_chunk(chunk, columns); });
  }
};

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
    for (count_t c = 0; c < copies; ++c) sum += Row(rows + (c * walks.nnz + k) * stride, columns);
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
