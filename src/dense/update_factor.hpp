// SPDX-License-Identifier: BSD-3-Clause
// update_factor: A = V W and G = A' A in one pass: V is read once, A written once, and A's Gram matrix is
// summed from the tile that is still in the scratch pad. The whole dense part of an ALS update but its R x R
// algebra.
//
// That is the strategy FusedUpdate (dense/dense_tuning.hpp). A team walks a chunk of rows tile by tile. Its
// threads divide a tile of A, and then the R x R Gram matrix, into parts (of 4 x 4 entries on a device); a
// thread keeps its part of G in registers for all tiles. The rows
// and the columns of a part are spread out evenly, so that neighbouring threads read neighbouring entries of
// the pad: with 4 x 4 entries side by side, read 16 bytes at a time, the pad's banks were the limit
// (delicious, R = 32: 9.3 ms in f64). Sums of G are made in double and in a fixed order, so they do not
// depend on timing. Bytes: 2 I R s_r. Flops: 4 I R^2.
#pragma once

#include <Kokkos_Core.hpp>
#include <algorithm>

#include "dense/dense_tuning.hpp"
#include "dense/gram.hpp"
#include "dense/solve_rows.hpp"
#include "kernel/launch.hpp"
#include "polyad/core/instances.hpp"
#include "polyad/kernel/machine.hpp"
#include "polyad/kernel/rank_dispatch.hpp"

namespace polyad::detail {

/// Parts in a row of a matrix of Block columns, so that a team's threads have one each: of 4 columns or more.
constexpr int parts_side_by_side(int columns, int team) {
  int parts = columns / 4;
  while (parts * parts > team) parts /= 2;
  return parts;
}

template <class Space, class Scalar, int Block>
struct UpdateFactor {
  static constexpr int team      = team_threads<Space>(1);
  static constexpr int groups    = parts_side_by_side(Block, team);
  static constexpr int part      = Block / groups;  // rows and columns of a thread's part
  static constexpr int tile_rows = part * team / groups;
  static constexpr int splits    = team / (groups * groups);  // threads that share a part of G, rows divided
  static constexpr int stride    = Block + 1;  // of the pad's rows: columns lie in different banks

  static constexpr int tile_bytes   = tile_rows * stride * int(sizeof(Scalar));
  static constexpr int matrix_bytes = Block * stride * int(sizeof(Scalar));
  static constexpr int sums_bytes =
      std::max(tile_rows * stride, splits * Block * Block) * int(sizeof(double));
  static constexpr int pad_bytes = tile_bytes + matrix_bytes + sums_bytes + 3 * 16;

  FactorMatrix<Scalar, Space> V;
  FactorMatrix<Scalar, Space> W;
  FactorMatrix<Scalar, Space> A;
  typename GramWorkspace<Space>::partials_type partials;
  count_t chunk;  // rows

  template <class Member>
  KOKKOS_FUNCTION void operator()(Member const& member) const {
    // Copies: get_shmem_aligned takes references, which constants of a class do not have on a device.
    int const bytes_of_tile   = tile_bytes;
    int const bytes_of_matrix = matrix_bytes;
    int const bytes_of_sums   = sums_bytes;
    auto const& pad           = member.team_scratch(0);
    auto* const tile          = static_cast<Scalar*>(pad.get_shmem_aligned(bytes_of_tile, 16));
    auto* const matrix        = static_cast<Scalar*>(pad.get_shmem_aligned(bytes_of_matrix, 16));
    auto* const solved        = static_cast<double*>(pad.get_shmem_aligned(bytes_of_sums, 16));
    int const rank            = static_cast<int>(W.extent(0));
    int const thread          = member.team_rank();
    count_t const begin       = static_cast<count_t>(member.league_rank()) * chunk;
    count_t const end         = Kokkos::min(static_cast<count_t>(A.extent(0)), begin + chunk);

    for (int e = thread; e < Block * Block; e += team) {
      int const i            = e / Block;
      int const j            = e % Block;
      matrix[i * stride + j] = i < rank && j < rank ? W(i, j) : Scalar(0);
    }
    double sum[part][part] = {};
    for (count_t first = begin; first < end; first += tile_rows) {
      load_tile(tile, first, end, rank, thread);
      member.team_barrier();
      solve_tile(tile, matrix, solved, first, end, rank, thread);
      member.team_barrier();
      add_gram(solved, sum, thread);
    }
    member.team_barrier();
    store_gram(member, solved, sum);
  }

  /// V's rows, zeros beyond them. All of a thread's loads are under way before the first is stored.
  KOKKOS_FUNCTION void load_tile(Scalar* tile, count_t first, count_t end, int rank, int thread) const {
    constexpr int loads = tile_rows * Block / team;
    Scalar entry[loads];
    for (int q = 0; q < loads; ++q) {
      int const e       = thread + q * team;
      count_t const row = first + static_cast<count_t>(e / Block);
      entry[q]          = row < end && e % Block < rank ? V(row, e % Block) : Scalar(0);
    }
    for (int q = 0; q < loads; ++q) {
      int const e                          = thread + q * team;
      tile[e / Block * stride + e % Block] = entry[q];
    }
  }

  /// A's rows, to A and to the pad.
  KOKKOS_FUNCTION void solve_tile(Scalar const* tile, Scalar const* matrix, double* solved, count_t first,
                                  count_t end, int rank, int thread) const {
    constexpr int row_step   = tile_rows / part;
    Scalar const* const v    = tile + thread / groups * stride;
    Scalar const* const w    = matrix + thread % groups;
    Scalar entry[part][part] = {};
    for (int k = 0; k < rank; ++k)
      for (int h = 0; h < part; ++h)
        for (int c = 0; c < part; ++c)
          entry[h][c] += v[h * row_step * stride + k] * w[k * stride + c * groups];
    for (int h = 0; h < part; ++h)
      for (int c = 0; c < part; ++c) {
        int const i            = thread / groups + h * row_step;
        int const j            = thread % groups + c * groups;
        solved[i * stride + j] = static_cast<double>(entry[h][c]);
        count_t const row      = first + static_cast<count_t>(i);
        if (row < end && j < rank) A(row, j) = entry[h][c];
      }
  }

  /// Adds this thread's share of the tile's rows to its part of G.
  KOKKOS_FUNCTION void add_gram(double const* solved, double (&sum)[part][part], int thread) const {
    constexpr int rows = tile_rows / splits;
    int const index    = thread % (groups * groups);
    double const* row  = solved + thread / (groups * groups) * rows * stride;
    for (int t = 0; t < rows; ++t, row += stride)
      for (int h = 0; h < part; ++h)
        for (int c = 0; c < part; ++c)
          sum[h][c] += row[index / groups + h * groups] * row[index % groups + c * groups];
  }

  /// Sums the splits and writes the chunk's G.
  template <class Member>
  KOKKOS_FUNCTION void store_gram(Member const& member, double* pad, double const (&sum)[part][part]) const {
    int const thread = member.team_rank();
    int const index  = thread % (groups * groups);
    double* const G  = pad + thread / (groups * groups) * Block * Block;
    for (int h = 0; h < part; ++h)
      for (int c = 0; c < part; ++c)
        G[(index / groups + h * groups) * Block + index % groups + c * groups] = sum[h][c];
    member.team_barrier();
    for (int e = thread; e < Block * Block; e += team) {
      double total = 0;
      for (int split = 0; split < splits; ++split) total += pad[split * Block * Block + e];
      int const i = e / Block;
      int const j = e % Block;
      if (j <= i && i < static_cast<int>(partials.extent(1))) partials(member.league_rank(), i, j) = total;
    }
  }
};

template <int Block, class Space, class Scalar>
void update_and_sum(Space const& space, FactorMatrix<Scalar, Space> const& V,
                    FactorMatrix<Scalar, Space> const& W, FactorMatrix<Scalar, Space> const& A,
                    GramWorkspace<Space> const& workspace, GramMatrix<Space> const& G) {
  using Kernel = UpdateFactor<Space, Scalar, Block>;
  // A chunk is one tile at least.
  count_t const tiles  = ceil_div(std::max<count_t>(A.extent(0), 1), Kernel::tile_rows);
  count_t const chunks = std::min<count_t>(tiles, workspace.partials().extent(0));
  // Four teams on a multiprocessor hide each other's loads; without the bound the compiler leaves room for
  // two.
  using Policy = TeamPolicy<Space, Kokkos::LaunchBounds<Kernel::team, 4>>;
  Policy policy(space, static_cast<int>(chunks), Kernel::team, 1);
  policy.set_scratch_size(0, Kokkos::PerTeam(int(Kernel::pad_bytes)));
  detail::launch("polyad::update_factor", policy,
                 Kernel{V, W, A, workspace.partials(), ceil_div(tiles, chunks) * Kernel::tile_rows});
  sum_chunks(space, workspace, G, chunks);
}

/// R up to 32, for which W and a tile fit a scratch pad together.
template <class Space, class Scalar>
void update_factor_by(FusedUpdate, Space const& space, FactorMatrix<Scalar, Space> const& V,
                      FactorMatrix<Scalar, Space> const& W, FactorMatrix<Scalar, Space> const& A,
                      GramWorkspace<Space> const& workspace, GramMatrix<Space> const& G) {
  with_block<8>(W.extent(0), [&](auto block) { update_and_sum<block()>(space, V, W, A, workspace, G); });
}

template <class Space, class Scalar>
void update_factor_by(SeparateUpdate, Space const& space, FactorMatrix<Scalar, Space> const& V,
                      FactorMatrix<Scalar, Space> const& W, FactorMatrix<Scalar, Space> const& A,
                      GramWorkspace<Space> const& workspace, GramMatrix<Space> const& G) {
  solve_rows(space, V, W, A);
  gram(space, A, workspace, G);
}

/// A (I x R) = V (I x R) W (R x R) and G (R x R) = A' A. Launches on `space` and returns without waiting.
/// \throws UsageError when shapes do not match
template <class Space, class Scalar>
void update_factor(Space const& space, FactorMatrix<Scalar, Space> const& V,
                   FactorMatrix<Scalar, Space> const& W, FactorMatrix<Scalar, Space> const& A,
                   GramWorkspace<Space> const& workspace, GramMatrix<Space> const& G) {
  count_t const rank = W.extent(0);
  POLYAD_EXPECTS(W.extent(1) == rank && V.extent(1) == rank && A.extent(1) == rank &&
                     A.extent(0) == V.extent(0) && G.extent(0) == rank && G.extent(1) == rank,
                 "V is ", V.extent(0), " x ", V.extent(1), ", W is ", rank, " x ", W.extent(1), ", A is ",
                 A.extent(0), " x ", A.extent(1), " and G is ", G.extent(0), " x ", G.extent(1));
  workspace.expect_rank(rank);
  with_update_strategy<Space>(
      rank, [&](auto strategy) { update_factor_by(strategy, space, V, W, A, workspace, G); });
}

#define POLYAD_UPDATE_FACTOR(Scalar)                                                                    \
  template void update_factor(                                                                          \
      Kokkos::DefaultExecutionSpace const&, FactorMatrix<Scalar, Kokkos::DefaultExecutionSpace> const&, \
      FactorMatrix<Scalar, Kokkos::DefaultExecutionSpace> const&,                                       \
      FactorMatrix<Scalar, Kokkos::DefaultExecutionSpace> const&,                                       \
      GramWorkspace<Kokkos::DefaultExecutionSpace> const&, GramMatrix<Kokkos::DefaultExecutionSpace> const&)
POLYAD_EACH_SCALAR(extern, POLYAD_UPDATE_FACTOR);

}  // namespace polyad::detail
