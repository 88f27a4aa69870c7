// SPDX-License-Identifier: BSD-3-Clause
// The strategy TiledUpdate of update_factor (dense/update/update_factor.hpp), for hosts: A = V W, G = A' A
// and <V, A> in one pass over the rows.
//
//   each thread, over its chunk of rows, a tile of rows at a time
//     A's rows of the tile                                 MultiplyRows (dense/multiply_rows.hpp)
//     their sums to the chunk's G                          GramOfChunk (dense/gram.hpp)
//     their part of <V, A>                                 add_products()
//
// The tile is still in the first-level cache when it is read again. So V is read and A written once. The sums
// have the order of the separate passes, at any number of threads.
#pragma once

#include <Kokkos_Core.hpp>
#include <algorithm>

#include "dense/gram.hpp"
#include "dense/inner_product.hpp"
#include "dense/multiply_rows.hpp"
#include "kernel/launch.hpp"

namespace polyad::detail {

/// For R = Block.
template <class Space, class Scalar, int Block>
struct UpdateTiles {
  static constexpr int gram_block = std::min(Block, widest_gram_block<Space>);
  MultiplyRows<Space, Scalar, Block> product;
  GramOfChunk<Space, Scalar, gram_block> gram;
  InnerProductSums<Space> inner;

  /// Adds V(i, r) A(i, r) to products[r] for the rows i of a tile, which holds A's rows as doubles.
  KOKKOS_FORCEINLINE_FUNCTION void add_products(double const* tile, count_t first, int rows,
                                                double* products) const {
    for (int t = 0; t < rows; ++t) {
      Scalar const* const v = product.A + (first + t) * product.A_stride;
      double const* const a = tile + t * Block;
      for (int r = 0; r < Block; ++r) products[r] += v[r] * a[r];
    }
  }

  template <class Member>
  KOKKOS_FUNCTION void operator()(Member const& member) const {
    double* const tile     = gram.make_tile(member);
    count_t const begin    = member.league_rank() * gram.chunk;
    double products[Block] = {};
    gram.for_each_tile(member, [&](count_t first, int rows) {
      product.multiply_all(first, first + rows, Columns{0, Block});
      gram.add_tile(member, tile, first, rows, first == begin);
      if (inner.is_wanted()) add_products(tile, first, rows, products);
    });
    if (!inner.is_wanted()) return;
    double sum = 0;
    for (int r = 0; r < Block; ++r) sum += inner.weights(r) * products[r];
    inner.partials(member.league_rank()) = sum;
  }
};

template <class Space, class Scalar>
void update_factor_by(TiledUpdate, Space const& space, FactorMatrix<Scalar, Space> const& V,
                      FactorMatrix<Scalar, Space> const& W, FactorMatrix<Scalar, Space> const& A,
                      GramWorkspace<Space> const& workspace, GramMatrix<Space> const& G,
                      InnerProductSums<Space> const& inner = {}) {
  count_t const rows   = A.extent(0);
  count_t const rank   = W.extent(0);
  count_t const chunks = gram_chunks(rows, workspace);
  with_block(rank, [&](auto block) {
    using Kernel    = UpdateTiles<Space, Scalar, block()>;
    auto const gram = make_gram_of_chunk<Space, Scalar, Kernel::gram_block>(A, workspace, chunks);
    Kernel const kernel{{V.data(), V.stride(0), W.data(), W.stride(0), A.data(), A.stride(0), rows, rank,
                         ColumnBlocks{0, 1, block()}},
                        gram,
                        inner};
    detail::launch("polyad::update_tiles", gram_policy(space, gram, chunks), kernel);
  });
  sum_chunks(space, workspace, G, chunks, inner);
}

}  // namespace polyad::detail
