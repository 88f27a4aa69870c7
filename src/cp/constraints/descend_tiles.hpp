// SPDX-License-Identifier: BSD-3-Clause
// The coordinate descent of cp/constraints/descend_rows.hpp in one pass, with A'A and <V, A>, for devices and
// R <= 32: V and A are read once, and A is written once.
//
//   each team, over its chunk of rows, a tile of rows at a time    operator()
//     the tile of A into the scratch pad; a row's x into the
//     registers of its thread
//     the tile of V into the pad; the sweeps over the row, whose   descend()
//     new numbers take V's place in the pad
//     A to memory                                                  store_tile()
//     A'A and <V, A>                                               dense/update/update_tile.hpp
//
// H is in the pad, where all threads of a warp read the same number. Columns beyond R are zero. All numbers
// of the pad are doubles, so that squares of floats stay in range.
//
// Bytes: 3 I R s_r. Flops: 2 (1 + sweeps) I B^2 + I B^2, B = 8, 16 or 32.
#pragma once

#include <Kokkos_Core.hpp>

#include "cp/constraints/column_numbers.hpp"
#include "cp/update_memory.hpp"
#include "dense/update/update_tile.hpp"
#include "polyad/core/types.hpp"
#include "polyad/cp/factor_update.hpp"
#include "polyad/kernel/lanes.hpp"
#include "polyad/kernel/rank_dispatch.hpp"
#include "polyad/kernel/unrolled.hpp"
#include "polyad/tensor/constraints.hpp"
#include "polyad/tensor/factor_matrices.hpp"

namespace polyad::detail {

template <class Space, class Scalar, int Block>
struct DescendTiles : UpdateTile<Space, double, Block> {
  using Tile = UpdateTile<Space, double, Block>;
  using Tile::pack, Tile::splits, Tile::workers, Tile::workers_each, Tile::sums_each, Tile::stride,
      Tile::team;
  using typename Tile::Pack16, typename Tile::Part;

  /// At most one row for each thread of a device's team. A host's single thread holds all rows.
  static constexpr int split_rows = Tile::Shape::threads / splits;
  static constexpr int tile_rows  = splits * split_rows;
  static constexpr int rows_each  = (tile_rows + team - 1) / team;

  static constexpr int tile_bytes    = Tile::bytes_of_tile(tile_rows);
  static constexpr int matrix_bytes  = Block * Block * int(sizeof(double));
  static constexpr int numbers_bytes = column_numbers * Block * int(sizeof(double));
  static constexpr int pad_bytes     = tile_bytes + matrix_bytes + numbers_bytes + 3 * row_alignment;
  static_assert(tile_bytes >= team * int(sizeof(double)));

  FactorMatrix<Scalar, Space> V;
  FactorMatrix<Scalar, Space> A;
  typename ModeProblem<Space>::Matrix H;
  typename ModeProblem<Space>::Counter largest_change;
  ColumnNumbers<Space> columns;
  double lower, upper;
  int sweeps;
  count_t chunk;  // rows

  template <class Member>
  KOKKOS_FUNCTION void operator()(Member const& member) const {
    // Copies, because get_shmem_aligned takes references: on a device, constants of a class have no address.
    int const bytes_of_tile = tile_bytes, bytes_of_matrix = matrix_bytes, bytes_of_numbers = numbers_bytes;
    auto const& pad     = member.team_scratch(0);
    auto* const tile    = static_cast<double*>(pad.get_shmem_aligned(bytes_of_tile, row_alignment));
    auto* const matrix  = static_cast<double*>(pad.get_shmem_aligned(bytes_of_matrix, row_alignment));
    auto* const numbers = static_cast<double*>(pad.get_shmem_aligned(bytes_of_numbers, row_alignment));
    int const rank      = static_cast<int>(A.extent(1));
    int const thread    = member.team_rank();
    count_t const begin = static_cast<count_t>(member.league_rank()) * chunk;
    count_t const end   = Kokkos::min(static_cast<count_t>(A.extent(0)), begin + chunk);

    load_problem(matrix, numbers, rank, thread);
    double sum[sums_each] = {};
    double product        = 0;
    double most           = 0;
    for (count_t first = begin; first < end; first += tile_rows) {
      Tile::template load<tile_rows>(tile, A, first, end, rank, thread);
      member.team_barrier();
      double x[rows_each][Block];
      for (int q = 0; q < rows_each; ++q)
        if (int const t = thread + q * team; t < tile_rows) read_row(tile + t * stride, numbers, x[q]);
      member.team_barrier();
      Tile::template load<tile_rows>(tile, V, first, end, rank, thread);
      member.team_barrier();
      for (int q = 0; q < rows_each; ++q) {
        int const t = thread + q * team;
        if (t < tile_rows && first + static_cast<count_t>(t) < end)
          descend(tile + t * stride, matrix, numbers, x[q], product, most);
      }
      member.team_barrier();
      store_tile(tile, first, end, rank, thread);
      Part part[workers_each];
      for (int w = 0; w < workers_each; ++w)
        if (thread + w * team < workers)
          part[w] = Tile::template sum_parts<split_rows>(tile, thread + w * team);
      member.team_barrier();
      Tile::add_splits(member, tile, part, sum, thread);
      member.team_barrier();
    }
    Tile::store_sums(member, tile, sum, product, thread);
    member.team_barrier();
    store_largest(member, tile, most, thread);
  }

  /// H and the numbers of the columns. A column beyond R is one that stays.
  KOKKOS_FUNCTION void load_problem(double* matrix, double* numbers, int rank, int thread) const {
    for (int e = thread; e < Block * Block; e += team) {
      int const i = e / Block, j = e % Block;
      matrix[e] = i < rank && j < rank ? H(i, j) : 0.0;
    }
    for (int e = thread; e < column_numbers * Block; e += team) {
      int const n = e / Block, r = e % Block;
      numbers[e] = r < rank ? columns(n, r) : n == inverse_curvature ? -1.0 : 0.0;
    }
  }

  KOKKOS_FORCEINLINE_FUNCTION static void read_row(double const* row, double const* numbers,
                                                   double (&x)[Block]) {
    double const* const weight = numbers + column_weight * Block;
    unrolled<Block / pack>([&](auto p) {
      Pack16 const a = Tile::read(row + p * pack);
      unrolled<pack>([&](auto e) { x[p * pack + e] = weight[p * pack + e] * a.element[e]; });
    });
  }

  /// The sweeps over a row, from x = w a and the row of V in the pad to the row's new a there.
  KOKKOS_FORCEINLINE_FUNCTION void descend(double* row, double const* matrix, double const* numbers,
                                           double (&x)[Block], double& product, double& most) const {
    double g[Block];  // v - H x
    unrolled<Block / pack>([&](auto p) {
      Pack16 const v = Tile::read(row + p * pack);
      unrolled<pack>([&](auto e) { g[p * pack + e] = v.element[e]; });
    });
    unrolled<Block>([&](auto s) { subtract(g, matrix + s * Block, x[s]); });
    for (int sweep = 0; sweep < sweeps; ++sweep)
      unrolled<Block>([&](auto r) {
        auto const number = [&](ColumnNumber n) { return numbers[n * Block + r]; };
        if (number(inverse_curvature) < 0) return;
        double const next = best_entry<Scalar>(g[r] + x[r] * matrix[r * Block + r], number, lower, upper);
        double const step = next - x[r];
        if (sweep == 0) most = Kokkos::max(most, Kokkos::abs(step) * number(column_length));
        subtract(g, matrix + r * Block, step);
        x[r] = next;
      });
    double const* const inverse = numbers + inverse_weight * Block;
    unrolled<Block / pack>([&](auto p) {
      Pack16 const v = Tile::read(row + p * pack);
      Pack16 a;
      unrolled<pack>([&](auto e) {
        product += x[p * pack + e] * v.element[e];
        a.element[e] = entry_in_range(x[p * pack + e] * inverse[p * pack + e], g[p * pack + e]);
      });
      *reinterpret_cast<Pack16*>(row + p * pack) = a;
    });
  }
  KOKKOS_FORCEINLINE_FUNCTION static void subtract(double (&g)[Block], double const* row_of_H,
                                                   double factor) {
    compiler_fence();  // H does not fit the registers, and must not be read ahead
    unrolled<Block / pack>([&](auto p) {
      Pack16 const h = Tile::read(row_of_H + p * pack);
      unrolled<pack>([&](auto e) { g[p * pack + e] -= factor * h.element[e]; });
    });
  }

  KOKKOS_FORCEINLINE_FUNCTION void store_tile(double const* tile, count_t first, count_t end, int rank,
                                              int thread) const {
    constexpr int width_stored = row_alignment / int(sizeof(Scalar));
    constexpr int in_row       = Block / width_stored;
    for (int e = thread; e < tile_rows * in_row; e += team) {
      int const column  = e % in_row * width_stored;
      count_t const row = first + static_cast<count_t>(e / in_row);
      if (row >= end || column >= rank) continue;
      double const* const from = tile + e / in_row * stride + column;
      Scalar* const to         = A.data() + row * static_cast<count_t>(A.stride(0)) + column;
      Pack<Scalar, width_stored> entry;
      unrolled<width_stored>([&](auto c) { entry.element[c] = static_cast<Scalar>(from[c]); });
      if (takes_packed_rows<Space> && column + width_stored <= rank)
        *reinterpret_cast<Pack<Scalar, width_stored>*>(to) = entry;
      else
        for (int c = 0; c < width_stored && column + c < rank; ++c) to[c] = entry.element[c];
    }
  }

  template <class Member>
  KOKKOS_FORCEINLINE_FUNCTION void store_largest(Member const& member, double* pad, double most,
                                                 int thread) const {
    pad[thread] = most;
    member.team_barrier();
    Kokkos::single(Kokkos::PerTeam(member), [&] {
      double largest = 0;
      for (int t = 0; t < team; ++t) largest = Kokkos::max(largest, pad[t]);
      // All teams write theirs. A maximum does not depend on the order.
      if (largest > 0) Kokkos::atomic_max(&largest_change(0), largest);
    });
  }
};

}  // namespace polyad::detail
