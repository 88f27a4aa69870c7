// SPDX-License-Identifier: BSD-3-Clause
// update_factor: A = V W and G = A' A in one pass: V is read once, A written once, and A's Gram matrix is
// summed from the tile that is still in the scratch pad. The whole dense part of an ALS update but its R x R
// algebra.
//
// A team walks a chunk of rows tile by tile. Its threads divide a tile of A into blocks of 4 rows x Micro
// columns, then the R x R Gram matrix into blocks of 4 x Micro; a thread keeps its part of G in registers for
// all tiles. Sums of G are made in double and in a fixed order, chunk by chunk, so they do not depend on
// timing. Bytes: 2 I R s_r. Flops: 4 I R^2.
#pragma once

#include <Kokkos_Core.hpp>
#include <algorithm>

#include "polyad/dense/gram.hpp"
#include "polyad/dense/solve_rows.hpp"

namespace polyad {
namespace detail {

template <class Space, class Scalar, int Block>
struct UpdateFactor {
  static constexpr bool device     = is_device_space<Space>;
  static constexpr int team        = device ? 128 : 1;
  static constexpr int height      = 4;  // rows of a thread's block
  static constexpr int width       = device || Block < 8 ? 4 : 8;
  static constexpr int groups      = Block / width;  // of columns
  static constexpr int tile_rows   = device ? height * team / groups : 64;
  static constexpr int tile_blocks = tile_rows / height * groups;  // of A; one a thread on a device
  static constexpr int gram_blocks = Block / height * groups;      // of G
  /// On a device several threads share a block of G, each with a part of the tile's rows.
  static constexpr int splits     = device ? team / gram_blocks : 1;
  static constexpr int per_thread = device ? 1 : gram_blocks;
  /// From row to row of a tile: rows start at multiples of 16 bytes and in different banks of the pad.
  static constexpr int stride = Block + 16 / int(sizeof(Scalar));

  /// Neighbours in a row of the pad, read 16 bytes at a time.
  template <int Count>
  struct Entries {
    static constexpr int per_pack = std::min(Count, 16 / int(sizeof(Scalar)));
    Pack<Scalar, per_pack> packs[Count / per_pack];
    KOKKOS_FUNCTION explicit Entries(Scalar const* first) {
      for (int p = 0; p < Count / per_pack; ++p)
        packs[p] = reinterpret_cast<Pack<Scalar, per_pack> const*>(first)[p];
    }
    KOKKOS_FUNCTION Scalar operator[](int e) const { return packs[e / per_pack].element[e % per_pack]; }
  };

  FactorMatrix<Scalar, Space> V;
  FactorMatrix<Scalar, Space> W;
  FactorMatrix<Scalar, Space> A;
  typename GramWorkspace<Space>::partials_type partials;
  count_t chunk;  // rows

  static constexpr int tile_bytes =
      std::max(tile_rows * stride * int(sizeof(Scalar)), splits* Block* Block * 8);
  static constexpr int pad_bytes = tile_bytes + Block * stride * int(sizeof(Scalar)) + 2 * 16;

  template <class Member>
  KOKKOS_FUNCTION void operator()(Member const& member) const {
    // Copies: get_shmem_aligned takes references, which constants of a class do not have on a device.
    int const bytes_of_tile   = tile_bytes;
    int const bytes_of_matrix = Block * stride * int(sizeof(Scalar));
    auto* const tile    = static_cast<Scalar*>(member.team_scratch(0).get_shmem_aligned(bytes_of_tile, 16));
    auto* const matrix  = static_cast<Scalar*>(member.team_scratch(0).get_shmem_aligned(bytes_of_matrix, 16));
    int const rank      = static_cast<int>(W.extent(0));
    count_t const begin = static_cast<count_t>(member.league_rank()) * chunk;
    count_t const end   = Kokkos::min(static_cast<count_t>(A.extent(0)), begin + chunk);
    int const thread    = member.team_rank();

    for (int e = thread; e < Block * Block; e += team) {
      int const i            = e / Block;
      int const j            = e % Block;
      matrix[i * stride + j] = i < rank && j < rank ? W(i, j) : Scalar(0);
    }
    double sums[per_thread][height][width] = {};
    for (count_t first = begin; first < end; first += tile_rows) {
      member.team_barrier();  // the tile before has been summed
      for (int e = thread; e < tile_rows * Block; e += team) {
        int const i          = e / Block;
        int const j          = e % Block;
        bool const inside    = first + static_cast<count_t>(i) < end && j < rank;
        tile[i * stride + j] = inside ? V(first + static_cast<count_t>(i), j) : Scalar(0);
      }
      member.team_barrier();
      solve_tile(member, tile, matrix, first, end, rank);
      member.team_barrier();
      for (int q = 0; q < per_thread; ++q) add_gram(tile, sums[q], thread + q * team);
    }
    member.team_barrier();
    store_gram(member, reinterpret_cast<double*>(tile), sums);
  }

  /// The tile's rows times W, in place and to A.
  template <class Member>
  KOKKOS_FUNCTION void solve_tile(Member const& member, Scalar* tile, Scalar const* matrix, count_t first,
                                  count_t end, int rank) const {
    // On a device a thread has one block, which it can hold until all have read the tile. On a host the
    // blocks of the same rows follow each other: they are read together before any of them is written.
    constexpr int together = device ? 1 : groups;
    for (int item = member.team_rank(); item < tile_blocks / together; item += team) {
      int const row                         = device ? item / groups : item * height;  // of the tile
      int const step                        = device ? tile_rows / height : 1;  // between the block's rows
      int const group                       = device ? item % groups : 0;
      Scalar block[together][height][width] = {};
      for (int k = 0; k < rank; ++k)
        for (int g = 0; g < together; ++g) {
          Entries<width> const w_row(matrix + k * stride + (group + g) * width);
          for (int h = 0; h < height; ++h) {
            Scalar const v = tile[(row + h * step) * stride + k];
            for (int w = 0; w < width; ++w) block[g][h][w] += v * w_row[w];
          }
        }
      if constexpr (device) member.team_barrier();
      for (int g = 0; g < together; ++g)
        for (int h = 0; h < height; ++h)
          for (int w = 0; w < width; ++w) {
            int const j                         = (group + g) * width + w;
            tile[(row + h * step) * stride + j] = block[g][h][w];
            count_t const i                     = first + static_cast<count_t>(row + h * step);
            if (i < end && j < rank) A(i, j) = block[g][h][w];
          }
    }
  }

  /// Adds this thread's share of the tile's rows to block `item` of G.
  KOKKOS_FUNCTION void add_gram(Scalar const* tile, double (&sum)[height][width], int item) const {
    int const block = item % gram_blocks;
    int const split = item / gram_blocks;
    int const i     = block / groups * height;
    int const j     = block % groups * width;
    if (!device && j >= i + height) return;  // above the diagonal
    constexpr int rows = tile_rows / splits;
    for (int t = split * rows; t < (split + 1) * rows; ++t) {
      Entries<height> const a(tile + t * stride + i);
      Entries<width> const b(tile + t * stride + j);
      for (int h = 0; h < height; ++h)
        for (int w = 0; w < width; ++w) sum[h][w] += static_cast<double>(a[h]) * static_cast<double>(b[w]);
    }
  }

  /// Sums the splits and writes the chunk's G.
  template <class Member>
  KOKKOS_FUNCTION void store_gram(Member const& member, double* pad,
                                  double (&sums)[per_thread][height][width]) const {
    for (int q = 0; q < per_thread; ++q) {
      int const item  = member.team_rank() + q * team;
      int const block = item % gram_blocks;
      double* const G = pad + item / gram_blocks * Block * Block;
      for (int h = 0; h < height; ++h)
        for (int w = 0; w < width; ++w)
          G[(block / groups * height + h) * Block + block % groups * width + w] = sums[q][h][w];
    }
    member.team_barrier();
    for (int e = member.team_rank(); e < Block * Block; e += team) {
      double sum = 0;
      for (int split = 0; split < splits; ++split) sum += pad[split * Block * Block + e];
      int const i = e / Block;
      int const j = e % Block;
      if (j <= i && i < static_cast<int>(partials.extent(1))) partials(member.league_rank(), i, j) = sum;
    }
  }
};

template <class Space, class Scalar, int Block>
void update_and_sum(Space const& space, FactorMatrix<Scalar, Space> const& V,
                    FactorMatrix<Scalar, Space> const& W, FactorMatrix<Scalar, Space> const& A,
                    GramWorkspace<Space> const& workspace, count_t chunks) {
  using Kernel = UpdateFactor<Space, Scalar, Block>;
  auto policy  = team_policy(space, LaunchShape{chunks, Kernel::team, 1});
  policy.set_scratch_size(0, Kokkos::PerTeam(Kernel::pad_bytes));
  count_t const chunk = ceil_div(ceil_div(A.extent(0), chunks), Kernel::tile_rows) * Kernel::tile_rows;
  Kokkos::parallel_for("polyad::update_factor", policy, Kernel{V, W, A, workspace.partials(), chunk});
}

}  // namespace detail

/// A (I x R) = V (I x R) W (R x R) and G (R x R) = A' A. On a device one pass for R up to 32, where W and a
/// tile fit a scratch pad together, and two (solve_rows and gram) beyond; two on a host, where registers hold
/// less. Launches on `space` and returns without waiting. \throws UsageError when shapes do not match
template <class Space, class Scalar>
void update_factor(Space const& space, FactorMatrix<Scalar, Space> const& V,
                   FactorMatrix<Scalar, Space> const& W, FactorMatrix<Scalar, Space> const& A,
                   GramWorkspace<Space> const& workspace, GramMatrix<Space> const& G) {
  count_t const rank = W.extent(0);
  POLYAD_EXPECTS(W.extent(1) == rank && V.extent(1) == rank && A.extent(1) == rank &&
                     A.extent(0) == V.extent(0) && G.extent(0) == rank && G.extent(1) == rank,
                 "V is ", V.extent(0), " x ", V.extent(1), ", W is ", rank, " x ", W.extent(1), ", A is ",
                 A.extent(0), " x ", A.extent(1), " and G is ", G.extent(0), " x ", G.extent(1));
  if (rank > 32 || !is_device_space<Space>) {
    solve_rows(space, V, W, A);
    gram(space, A, workspace, G);
    return;
  }
  // A chunk is one tile at least.
  count_t const chunks = std::clamp<count_t>(A.extent(0) / 64, 1, workspace.partials().extent(0));
  if (rank > 16)
    detail::update_and_sum<Space, Scalar, 32>(space, V, W, A, workspace, chunks);
  else if (rank > 8)
    detail::update_and_sum<Space, Scalar, 16>(space, V, W, A, workspace, chunks);
  else
    detail::update_and_sum<Space, Scalar, 8>(space, V, W, A, workspace, chunks);
  detail::sum_chunks(space, workspace, G, chunks);
}

#define POLYAD_UPDATE_FACTOR(Scalar)                                                                    \
  template void update_factor(                                                                          \
      Kokkos::DefaultExecutionSpace const&, FactorMatrix<Scalar, Kokkos::DefaultExecutionSpace> const&, \
      FactorMatrix<Scalar, Kokkos::DefaultExecutionSpace> const&,                                       \
      FactorMatrix<Scalar, Kokkos::DefaultExecutionSpace> const&,                                       \
      GramWorkspace<Kokkos::DefaultExecutionSpace> const&, GramMatrix<Kokkos::DefaultExecutionSpace> const&)
extern POLYAD_UPDATE_FACTOR(float);
extern POLYAD_UPDATE_FACTOR(double);

}  // namespace polyad
