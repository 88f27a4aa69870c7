// SPDX-License-Identifier: BSD-3-Clause
// The coordinate descent of cp/constraints/descend_rows.hpp in one pass, with A'A and <V, A>, for devices and
// R <= 32: V and A are read once, and A is written once.
//
//   each team, over its chunk of rows, a tile of rows at a time    operator()
//     the tile of V into the scratch pad, and A's rows into the
//     registers of their threads
//     the sweeps over the rows, four columns at a time, whose new  descend_group()
//     numbers take V's place in the pad
//     A to memory                                                  store_tile()
//     A'A and <V, A>                                               dense/update/update_tile.hpp
//
// The steps of four columns r = g ... g + 3 begin with the columns s of the other groups, whose x does not
// change:
//
//   z_r = v_r - sum over s of H_rs x_s
//
// Then one column after the other subtracts those of its own group, and takes its step. The loop over the
// groups has little code, which stays in the instruction cache. (With all columns unrolled, a small matrix
// waited for the code.) A thread has two rows, which share each number of H that it reads from the pad: a
// read takes as long as four multiplications.
//
// No array of registers is written conditionally, because it would then occupy its registers all through the
// loop over tiles. Columns beyond R are zero. All numbers of the pad are doubles, so that squares of floats
// stay in range.
//
// Bytes: 3 I R s_r. Flops: 2 sweeps I R B + I B^2, B = 8, 16 or 32.
#pragma once

#include <Kokkos_Core.hpp>

#include "cp/constraints/column_numbers.hpp"
#include "cp/update_memory.hpp"
#include "dense/dense_tuning.hpp"
#include "dense/update/update_tile.hpp"
#include "polyad/core/types.hpp"
#include "polyad/cp/factor_update.hpp"
#include "polyad/kernel/lanes.hpp"
#include "polyad/kernel/machine.hpp"
#include "polyad/kernel/rank_dispatch.hpp"
#include "polyad/kernel/unrolled.hpp"
#include "polyad/tensor/constraints.hpp"
#include "polyad/tensor/factor_matrices.hpp"

namespace polyad::detail {

template <class Space, class Scalar, int Block>
struct DescendTiles : UpdateTile<Space, double, Block, DescentShape<Block>> {
  using Tile = UpdateTile<Space, double, Block, DescentShape<Block>>;
  using Tile::pack, Tile::splits, Tile::workers, Tile::workers_each, Tile::sums_each, Tile::stride,
      Tile::team;
  using typename Tile::Pack16, typename Tile::Part;

  /// Rows of a thread. A host's single thread has all pairs of rows.
  static constexpr int at_once    = 2;
  static constexpr int pairs      = DescentShape<Block>::threads;
  static constexpr int pairs_each = pairs / team;
  static constexpr int tile_rows  = at_once * pairs;
  /// A'A is summed over splits of equal size: the rows after the tile's are zero.
  static constexpr int split_rows = (tile_rows + splits - 1) / splits;
  static constexpr int pad_rows   = splits * split_rows;

  static constexpr int group = 4;  // columns

  static constexpr int tile_bytes     = Tile::bytes_of_tile(pad_rows);
  static constexpr int matrix_bytes   = Block * Block * int(sizeof(double));
  static constexpr int diagonal_bytes = Block * group * int(sizeof(double));
  static constexpr int numbers_bytes  = column_numbers * Block * int(sizeof(double));
  static constexpr int pad_bytes =
      tile_bytes + matrix_bytes + diagonal_bytes + numbers_bytes + 4 * row_alignment;
  static_assert(tile_bytes >= team * int(sizeof(double)));
  static_assert(pad_bytes <= device_team_scratch);

  FactorMatrix<Scalar, Space> V;
  FactorMatrix<Scalar, Space> A;
  typename ModeProblem<Space>::Matrix H;
  typename ModeProblem<Space>::Counter largest_change;
  ColumnNumbers<Space> columns;
  double lower, upper;
  int sweeps;
  count_t chunk;  // rows

  /// What all rows share, in the pad.
  struct Shared {
    double* matrix;    // H, with zeros in place of the groups on its diagonal
    double* diagonal;  // these groups: row r has the H_rs of its group's four columns s, and 0 for H_rr
    double* numbers;   // the numbers of the columns
  };

  template <class Member>
  KOKKOS_FUNCTION void operator()(Member const& member) const {
    // Copies, because get_shmem_aligned takes references: on a device, constants of a class have no address.
    int const bytes_of_tile = tile_bytes, bytes_of_matrix = matrix_bytes;
    int const bytes_of_diagonal = diagonal_bytes, bytes_of_numbers = numbers_bytes;
    auto const& pad  = member.team_scratch(0);
    auto* const tile = static_cast<double*>(pad.get_shmem_aligned(bytes_of_tile, row_alignment));
    Shared const shared{static_cast<double*>(pad.get_shmem_aligned(bytes_of_matrix, row_alignment)),
                        static_cast<double*>(pad.get_shmem_aligned(bytes_of_diagonal, row_alignment)),
                        static_cast<double*>(pad.get_shmem_aligned(bytes_of_numbers, row_alignment))};
    int const rank      = static_cast<int>(A.extent(1));
    int const thread    = member.team_rank();
    count_t const begin = static_cast<count_t>(member.league_rank()) * chunk;
    count_t const end   = Kokkos::min(static_cast<count_t>(A.extent(0)), begin + chunk);

    load_shared(shared, rank, thread);
    double sum[sums_each] = {};
    double product        = 0;
    double most           = 0;
    for (count_t first = begin; first < end; first += tile_rows) {
      count_t const rows = Kokkos::min<count_t>(tile_rows, end - first);
      Tile::template load<pad_rows>(tile, V, first, first + rows, rank, thread);
      member.team_barrier();
      for (int q = 0; q < pairs_each; ++q) {
        int const pair = thread + q * team;
        double x[at_once][Block];
        read_rows(first + static_cast<count_t>(pair), first + rows, shared.numbers, rank, x);
        for (int sweep = 0; sweep < sweeps; ++sweep)
          for (int column = 0; column < rank; column += group)
            descend_group(tile, pair, static_cast<int>(rows), column, sweep, shared, x, product, most);
      }
      member.team_barrier();
      store_tile(tile, first, end, rank, thread);
      Part part[workers_each];
      Tile::template sum_all_parts<split_rows>(tile, part, thread);
      member.team_barrier();
      Tile::add_splits(member, tile, part, sum, thread);
      member.team_barrier();
    }
    Tile::store_sums(member, tile, sum, product, thread);
    member.team_barrier();
    store_largest(member, tile, most, thread);
  }

  /// H and the numbers of the columns. A column beyond R is one that stays.
  KOKKOS_FUNCTION void load_shared(Shared const& shared, int rank, int thread) const {
    for (int e = thread; e < Block * Block; e += team) {
      int const r = e / Block, s = e % Block;
      double const h   = r < rank && s < rank ? H(r, s) : 0.0;
      bool const is_in = r / group == s / group;
      shared.matrix[e] = is_in ? 0.0 : h;
      if (is_in) shared.diagonal[r * group + s % group] = r == s ? 0.0 : h;
    }
    for (int e = thread; e < column_numbers * Block; e += team) {
      int const n = e / Block, r = e % Block;
      shared.numbers[e] = r < rank ? columns(n, r) : n == inverse_curvature ? -1.0 : 0.0;
    }
  }

  /// Row `i` of a pair of rows in the pad.
  KOKKOS_FORCEINLINE_FUNCTION static double* row_at(double* tile, int pair, int i) {
    return tile + (pair + i * pairs) * stride;
  }
  /// The x of row `row` of A and of the other one of the pair; zeros from row `end` on, where other rows are
  /// read and their numbers replaced.
  KOKKOS_FORCEINLINE_FUNCTION void read_rows(count_t row, count_t end, double const* numbers, int rank,
                                             double (&x)[at_once][Block]) const {
    constexpr int width = row_alignment / int(sizeof(Scalar));
    unrolled<at_once>([&](auto i) {
      count_t const wanted = row + static_cast<count_t>(i * pairs);
      count_t const at     = Kokkos::min<count_t>(wanted, end - 1);
      unrolled<Block / width>([&](auto p) {
        int const column = p * width < rank ? p * width : 0;
        auto const a     = Tile::template read_columns<width>(A, at, column, rank);
        unrolled<width>([&](auto e) {
          constexpr int s   = p * width + e;
          double const read = numbers[column_weight * Block + s] * static_cast<double>(a.element[e]);
          x[i][s]           = wanted < end && s < rank ? read : 0.0;
        });
      });
    });
  }

  /// The steps of a sweep on the columns `first` ... first + 3 of a pair of rows. The last sweep replaces
  /// their v in the pad by their new a.
  /// \param rows  of the tile: the others stay zero
  KOKKOS_FORCEINLINE_FUNCTION void descend_group(double* tile, int pair, int rows, int first, int sweep,
                                                 Shared const& shared, double (&x)[at_once][Block],
                                                 double& product, double& most) const {
    double z[at_once][group], y[at_once][group];  // y: the group's x
    unrolled<at_once>([&](auto i) {
      unrolled<group / pack>([&](auto p) {
        Pack16 const read = Tile::read(row_at(tile, pair, i) + first + p * pack);
        unrolled<pack>([&](auto e) { z[i][p * pack + e] = read.element[e]; });
      });
      // Registers have no index that is only known at run time.
      unrolled<Block>([&](auto s) {
        y[i][s % group] = s < group || first == s / group * group ? x[i][s] : y[i][s % group];
      });
    });
    unrolled<Block / pack>([&](auto p) {
      compiler_fence();  // H does not fit the registers, and must not be read ahead
      unrolled<group>([&](auto c) {
        Pack16 const h = Tile::read(shared.matrix + (first + c) * Block + p * pack);
        unrolled<at_once>(
            [&](auto i) { unrolled<pack>([&](auto e) { z[i][c] -= h.element[e] * x[i][p * pack + e]; }); });
      });
    });
    unrolled<group>([&](auto c) {
      auto const number = [&](ColumnNumber n) { return shared.numbers[n * Block + first + c]; };
      double d[group];
      unrolled<group / pack>([&](auto p) {
        Pack16 const read = Tile::read(shared.diagonal + (first + c) * group + p * pack);
        unrolled<pack>([&](auto e) { d[p * pack + e] = read.element[e]; });
      });
      unrolled<at_once>([&](auto i) {
        unrolled<group>([&](auto s) { z[i][c] -= d[s] * y[i][s]; });
        bool const stays = number(inverse_curvature) < 0 || pair + i * pairs >= rows;
        if (stays) return;
        double const next = best_entry<Scalar>(z[i][c], number, lower, upper);
        if (sweep == 0) most = Kokkos::max(most, Kokkos::abs(next - y[i][c]) * number(column_length));
        y[i][c] = next;
      });
    });
    bool const is_last = sweep + 1 == sweeps;
    unrolled<at_once>([&](auto i) {
      unrolled<Block>([&](auto s) {
        if (first == s / group * group) x[i][s] = y[i][s % group];
      });
      if (!is_last) return;
      unrolled<group / pack>([&](auto p) {
        double* const at = row_at(tile, pair, i) + first + p * pack;
        Pack16 const v   = Tile::read(at);
        Pack16 a;
        unrolled<pack>([&](auto e) {
          constexpr int c = p * pack + e;
          product += y[i][c] * v.element[e];
          a.element[e] =
              entry_in_range(y[i][c] * shared.numbers[inverse_weight * Block + first + c], z[i][c]);
        });
        *reinterpret_cast<Pack16*>(at) = a;
      });
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
