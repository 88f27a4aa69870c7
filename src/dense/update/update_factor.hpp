// SPDX-License-Identifier: BSD-3-Clause
// update_factor: A = V W and G = A' A, the dense part of an ALS update except its R x R algebra. On request
// also the inner product <V, A>, which the fit needs.
//
// The strategy FusedUpdate (dense/dense_tuning.hpp) does it in one pass. V is read once and A written once.
//
//   each team, over its chunk of rows, a tile of rows at a time    operator()
//     the tile of V into the scratch pad                           UpdateTile::load()
//     A = V W; a thread has height x width, interleaved            multiply_tile()
//     <V, A> of that part                                          add_inner_product()
//     A into the pad, in place of V, and to memory                 store_tile()
//     G and <V, A>                                                 dense/update/update_tile.hpp
//
// Bytes: 2 I R s_r. Flops: 3 I R^2 and some.
#pragma once

#include <Kokkos_Core.hpp>
#include <algorithm>

#include "dense/dense_tuning.hpp"
#include "dense/gram.hpp"
#include "dense/inner_product.hpp"
#include "dense/update/solve_rows.hpp"
#include "dense/update/tiled_update.hpp"
#include "dense/update/update_tile.hpp"
#include "kernel/launch.hpp"
#include "polyad/core/instances.hpp"
#include "polyad/kernel/columns.hpp"
#include "polyad/kernel/machine.hpp"
#include "polyad/kernel/rank_dispatch.hpp"
#include "polyad/kernel/unrolled.hpp"

namespace polyad::detail {

template <class Space, class Scalar, int Block>
struct UpdateFactor : UpdateTile<Space, Scalar, Block> {
  using Tile = UpdateTile<Space, Scalar, Block>;
  using Tile::height, Tile::width, Tile::pack, Tile::side, Tile::splits, Tile::workers, Tile::workers_each;
  using Tile::sums_each, Tile::stride, Tile::team, Tile::read, Tile::inner;
  using typename Tile::Pack16, typename Tile::Part;

  static constexpr int groups     = workers / side;  // groups of rows
  static constexpr int tile_rows  = groups * height;
  static constexpr int split_rows = tile_rows / splits;
  static_assert(workers % side == 0 && tile_rows % splits == 0 && split_rows <= 32);

  static constexpr int tile_bytes   = Tile::bytes_of_tile(tile_rows);
  static constexpr int matrix_bytes = Block * stride * int(sizeof(Scalar));
  static constexpr int pad_bytes    = tile_bytes + matrix_bytes + 2 * row_alignment;
  static_assert(tile_bytes >= team * sizeof(double));

  FactorMatrix<Scalar, Space> V;
  FactorMatrix<Scalar, Space> W;
  FactorMatrix<Scalar, Space> A;
  count_t chunk;  // rows

  /// The column of entry e of a row of part c: packs of neighbouring parts are neighbours.
  KOKKOS_FORCEINLINE_FUNCTION static constexpr int column_of(int c, int e) {
    return (e / pack * side + c) * pack + e % pack;
  }
  /// The row in the tile of row h of a worker's part.
  KOKKOS_FORCEINLINE_FUNCTION static constexpr int row_of(int worker, int h) {
    return h * groups + worker / side;
  }

  template <class Member>
  KOKKOS_FUNCTION void operator()(Member const& member) const {
    // Copies, because get_shmem_aligned takes references: on a device, constants of a class have no address.
    int const bytes_of_tile   = tile_bytes;
    int const bytes_of_matrix = matrix_bytes;
    auto const& pad           = member.team_scratch(0);
    auto* const tile          = static_cast<Scalar*>(pad.get_shmem_aligned(bytes_of_tile, row_alignment));
    auto* const matrix        = static_cast<Scalar*>(pad.get_shmem_aligned(bytes_of_matrix, row_alignment));
    int const rank            = W.extent_int(0);
    int const thread          = member.team_rank();
    count_t const begin       = member.league_rank() * chunk;
    count_t const end         = Kokkos::min(A.extent(0), begin + chunk);

    for (int e = thread; e < Block * Block; e += team) {
      int const i            = e / Block;
      int const j            = e % Block;
      matrix[i * stride + j] = i < rank && j < rank ? W(i, j) : Scalar(0);
    }
    double sum[sums_each] = {};
    double product        = 0;
    for (count_t first = begin; first < end; first += tile_rows) {
      Tile::template load<tile_rows>(tile, V, first, end, rank, thread);
      member.team_barrier();
      Part part[workers_each];
      for (int w = 0; w < workers_each; ++w) {
        int const worker = Kokkos::min(thread + w * team, workers - 1);
        part[w]          = multiply_tile(tile, matrix, worker);
        if (inner.is_wanted() && thread + w * team < workers)
          product += add_inner_product(tile, part[w], worker, rank);
      }
      member.team_barrier();
      for (int w = 0; w < workers_each; ++w)
        if (thread + w * team < workers) store_tile(tile, part[w], thread + w * team, first, end, rank);
      member.team_barrier();
      Tile::template sum_all_parts<split_rows>(tile, part, thread);
      member.team_barrier();
      Tile::add_splits(member, tile, part, sum, thread);
      member.team_barrier();
    }
    Tile::store_sums(member, tile, sum, product, thread);
  }

  KOKKOS_FORCEINLINE_FUNCTION Part multiply_tile(Scalar const* tile, Scalar const* matrix, int worker) const {
    int const c = worker % side;
    Part part{};
    for (int k = 0; k < Block; k += pack) {
      Pack16 v[height];
      unrolled<height>([&](auto h) { v[h] = read(tile + row_of(worker, h) * stride + k); });
      unrolled<pack>([&](auto q) {
        Pack16 w[width / pack];
        unrolled<width / pack>(
            [&](auto p) { w[p] = read(matrix + (k + q) * stride + column_of(c, p * pack)); });
        unrolled<height>([&](auto h) {
          unrolled<width>(
              [&](auto e) { part.entry[h][e] += v[h].element[q] * w[e / pack].element[e % pack]; });
        });
      });
    }
    return part;
  }

  /// The weighted sum of V(i, r) A(i, r) over a part. In double, because products of floats may leave their
  /// range.
  KOKKOS_FORCEINLINE_FUNCTION double add_inner_product(Scalar const* tile, Part const& part, int worker,
                                                       int rank) const {
    int const c = worker % side;
    double sum  = 0;
    unrolled<width / pack>([&](auto p) {
      double dot[pack] = {};
      unrolled<height>([&](auto h) {
        Pack16 const v = read(tile + row_of(worker, h) * stride + column_of(c, p * pack));
        unrolled<pack>([&](auto e) {
          dot[e] += static_cast<double>(v.element[e]) * static_cast<double>(part.entry[h][p * pack + e]);
        });
      });
      unrolled<pack>([&](auto e) {
        int const r = column_of(c, p * pack + e);
        if (r < rank) sum += inner.weights(r) * dot[e];
      });
    });
    return sum;
  }

  KOKKOS_FORCEINLINE_FUNCTION void store_tile(Scalar* tile, Part const& part, int worker, count_t first,
                                              count_t end, int rank) const {
    int const c = worker % side;
    unrolled<height>([&](auto h) {
      int const i       = row_of(worker, h);
      count_t const row = first + i;
      Scalar* const to  = A.data() + row * A.stride(0);
      unrolled<width / pack>([&](auto p) {
        int const j = column_of(c, p * pack);
        Pack16 entry;
        unrolled<pack>([&](auto e) { entry.element[e] = part.entry[h][p * pack + e]; });
        *reinterpret_cast<Pack16*>(tile + i * stride + j) = entry;
        if (row >= end) return;
        if (takes_packed_rows<Space> && j + pack <= rank)
          *reinterpret_cast<Pack16*>(to + j) = entry;
        else
          for (int e = 0; e < pack && j + e < rank; ++e) to[j + e] = entry.element[e];
      });
    });
  }
};

template <int Block, class Space, class Scalar>
void update_and_sum(Space const& space, FactorMatrix<Scalar, Space> const& V,
                    FactorMatrix<Scalar, Space> const& W, FactorMatrix<Scalar, Space> const& A,
                    GramWorkspace<Space> const& workspace, GramMatrix<Space> const& G,
                    InnerProductSums<Space> const& inner) {
  using Kernel = UpdateFactor<Space, Scalar, Block>;
  expect_packed_rows<Scalar, Space>(V);
  expect_packed_rows<Scalar, Space>(A);
  update_by_tiles<Kernel>(
      space, "polyad::update_factor", A.extent(0), workspace, G, inner,
      [&](count_t chunk) { return Kernel{{workspace.partials(), inner}, V, W, A, chunk}; });
}

/// R up to 32, where W and a tile fit the scratch pad together.
template <class Space, class Scalar>
void update_factor_by(FusedUpdate, Space const& space, FactorMatrix<Scalar, Space> const& V,
                      FactorMatrix<Scalar, Space> const& W, FactorMatrix<Scalar, Space> const& A,
                      GramWorkspace<Space> const& workspace, GramMatrix<Space> const& G,
                      InnerProductSums<Space> const& inner = {}) {
  with_block<8>(W.extent(0),
                [&](auto block) { update_and_sum<block()>(space, V, W, A, workspace, G, inner); });
}

template <class Space, class Scalar>
void update_factor_by(SeparateUpdate, Space const& space, FactorMatrix<Scalar, Space> const& V,
                      FactorMatrix<Scalar, Space> const& W, FactorMatrix<Scalar, Space> const& A,
                      GramWorkspace<Space> const& workspace, GramMatrix<Space> const& G,
                      InnerProductSums<Space> const& inner = {}, Squares squares = Squares::in_range) {
  solve_rows(space, V, W, A);
  gram(space, A, workspace, G, squares);
  if (inner.is_wanted()) inner_product_of(space, V, A, inner);
}

/// A (I x R) = V (I x R) W (R x R) and G (R x R) = A' A. If `inner` is requested, also the sum over all i and
/// r of weights(r) V(i, r) A(i, r). For floats, the squares of A's entries must be in the range of floats:
/// the single pass forms them in float. Launches on `space` and returns without waiting.
/// \throws UsageError when shapes do not match
template <class Space, class Scalar>
void update_factor(Space const& space, FactorMatrix<Scalar, Space> const& V,
                   FactorMatrix<Scalar, Space> const& W, FactorMatrix<Scalar, Space> const& A,
                   GramWorkspace<Space> const& workspace, GramMatrix<Space> const& G,
                   InnerProductSums<Space> const& inner = {}) {
  count_t const rank = W.extent(0);
  POLYAD_EXPECTS(W.extent(1) == rank && V.extent(1) == rank && A.extent(1) == rank &&
                     A.extent(0) == V.extent(0) && G.extent(0) == rank && G.extent(1) == rank,
                 "V is ", V.extent(0), " x ", V.extent(1), ", W is ", rank, " x ", W.extent(1), ", A is ",
                 A.extent(0), " x ", A.extent(1), " and G is ", G.extent(0), " x ", G.extent(1));
  POLYAD_EXPECTS(!inner.is_wanted() || inner.weights.extent(0) == rank, inner.weights.extent(0),
                 " weights for the rank ", rank);
  workspace.expect_rank(rank);
  with_update_strategy<Space, Scalar>(V.extent(0), rank, inner.is_wanted(), [&](auto strategy) {
    update_factor_by(strategy, space, V, W, A, workspace, G, inner);
  });
}

#define POLYAD_UPDATE_FACTOR(Scalar)                                                                 \
  template void update_factor(CompiledSpace const&, FactorMatrix<Scalar, CompiledSpace> const&,      \
                              FactorMatrix<Scalar, CompiledSpace> const&,                            \
                              FactorMatrix<Scalar, CompiledSpace> const&,                            \
                              GramWorkspace<CompiledSpace> const&, GramMatrix<CompiledSpace> const&, \
                              InnerProductSums<CompiledSpace> const&)
POLYAD_EACH_SCALAR(extern, POLYAD_UPDATE_FACTOR);

}  // namespace polyad::detail
