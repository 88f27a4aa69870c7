// SPDX-License-Identifier: BSD-3-Clause
// The strategy BlcoChunked of BLCO (formats/blco/costs/blco_tuning.hpp): its MTTKRP and its residual sweep
// (formats/blco/kernels/nonzero_terms.hpp).
//
//   for each nonzero of the thread's chunk, block by block          walk_chunk(), walk()
//     its indices by shift and mask (BLCO, section 4.1)             walk(): decode(), upper
//     tmp = x * the other modes' rows                               walk()
//     V(k, :) += tmp, or the chunk's private copy of row k += tmp   PrivateOutput::row
//     where a row has summed enough floats: its doubles += the row  LongRowSums::move
//
// In ALTO's order the rows of V and of the other factors stay in a core's caches. Summing runs in registers
// first cost 15 to 30 % there. No other thread writes the thread's rows of V, so no atomics are needed.
#pragma once

#include <Kokkos_Core.hpp>
#include <type_traits>

#include "formats/blco/kernels/merge/private_output.hpp"
#include "formats/blco/kernels/nonzero_terms.hpp"
#include "formats/blco/storage/blco_blocks.hpp"
#include "formats/blco/storage/blco_resolution.hpp"
#include "formats/blco/storage/long_row_stops.hpp"
#include "formats/blco/storage/private_rows.hpp"
#include "polyad/core/types.hpp"
#include "polyad/kernel/chunk_walk.hpp"
#include "polyad/kernel/other_factors.hpp"
#include "polyad/kernel/tiny_vec.hpp"

namespace polyad::detail {

template <class Vec, class Index, int Order, class Term>
struct MttkrpBlcoChunks {
  using Row    = Vec;
  using Scalar = typename Row::scalar_type;

  BlcoNonzeros<Scalar, Index> nonzeros;
  OtherFactors<Scalar, Order> factors;
  int mode;
  PrivateOutput<Scalar> output;
  LongRowSums<Scalar> long_rows;
  ChunkWalk walks;  // over the chunks
  Term term;

  /// Adds the nonzeros begin ... end - 1, which belong to one block.
  template <int Words>
  KOKKOS_FUNCTION void walk(count_t begin, count_t end, count_t block, PrivateRows const& own,
                            auto const& columns) const {
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
      if constexpr (std::is_same_v<decltype(columns), Columns const&>) {
        product += Row(target, columns);
        product.store(target, columns);
      } else {  // the product is zero right of column R
        product += Row::with_padding(target, columns);
        product.store_with_padding(target, columns);
      }
    }
  }

  KOKKOS_FUNCTION void walk_chunk(count_t chunk, auto const& columns) const {
    PrivateRows const own   = output.chunks[chunk];
    count_t const end       = chunk_begin(nonzeros.nnz, walks.items, chunk + 1);
    count_t const last_stop = long_rows.begin(chunk + 1);
    count_t begin           = chunk_begin(nonzeros.nnz, walks.items, chunk);
    count_t block           = nonzeros.block_of(begin);
    for (count_t stop = long_rows.begin(chunk);; ++stop) {
      walk_blocks(begin, stop < last_stop ? long_rows.stops[stop].end : end, block, own, columns);
      if (stop == last_stop) return;
      long_rows.template move<Row>(stop, output.row(own, long_rows.stops[stop].row), columns);
    }
  }
  /// Adds the nonzeros from `begin` to `end` - 1, block by block. Afterwards `begin` is `end`, and `block`
  /// its block.
  KOKKOS_FORCEINLINE_FUNCTION void walk_blocks(count_t& begin, count_t end, count_t& block,
                                               PrivateRows const& own, auto const& columns) const {
    while (begin < end) {
      count_t const next      = nonzeros.begins[block + 1];
      count_t const block_end = Kokkos::min(end, next);
      if (nonzeros.encoding.words() == 1)
        walk<1>(begin, block_end, block, own, columns);
      else
        walk<2>(begin, block_end, block, own, columns);
      begin = block_end;
      if (begin == next) ++block;
    }
  }

  /// Whether the walk may write whole registers of a block that is cut off (TinyVec::store_with_padding). A
  /// product without rows is not cut off.
  [[nodiscard]] KOKKOS_FUNCTION bool writes_padding([[maybe_unused]] Columns columns) const {
    if constexpr (Row::form == RowForm::simd && !Term::is_residual)
      return columns.count < Row::width && columns.count >= Row::width - most_cut_columns(Row::width) &&
             factors.size() > 0 && output.output.is_roomy() && output.copies.is_roomy();
    else
      return false;
  }

  template <class Member>
  KOKKOS_FUNCTION void operator()(Member const& member) const {
    walk_chunks<Row, Term>(walks, member, [&](count_t chunk, count_t, Columns columns) {
      if constexpr (Row::form == RowForm::simd && !Term::is_residual)
        if (writes_padding(columns)) return walk_chunk(chunk, typename Row::CutColumns(columns));
      walk_chunk(chunk, columns);
    });
  }
};

}  // namespace polyad::detail
