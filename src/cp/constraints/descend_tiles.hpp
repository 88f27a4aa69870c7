// SPDX-License-Identifier: BSD-3-Clause
// The coordinate descent of cp/constraints/descend_rows.hpp in one pass, with A'A and <V, A>, for devices and
// R <= 32: V and A are read once, and A is written once.
//
//   each team, over its chunk of rows, a tile of rows at a time    operator()
//     the tile of V into the scratch pad, and A's rows into the
//     registers of their threads                                   read_rows()
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
// waited for the code.) Registers have no index that is only known at run time, so x is an array whose first
// four numbers are the next group's: each step moves it on by four. The rows of H in the pad begin with their
// own group, too.
//
// A thread has several rows, which share each number of H that it reads from the pad: a read takes as long as
// four multiplications.
//
// The numbers of a row are y = diag(d) x, d_r = the power of two below H_rr^(1/2), and H' = H_rs / (d_r d_s).
// So |H'_rs| < 4, and floats do with floats where the squares of A are in their range. Elsewhere all numbers
// are doubles.
//
// No array of registers is written conditionally, because it would then occupy its registers all through the
// loop over tiles. Columns beyond R are zero.
//
// Bytes: 3 I R s_r. Flops: 2 sweeps I R B + I B^2, B = 8, 16 or 32.
#pragma once

#include <Kokkos_Core.hpp>

#include "cp/constraints/column_numbers.hpp"
#include "cp/constraints/descent_tuning.hpp"
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

/// \tparam Number   of y, H' and the sums
/// \tparam IsShort  for a matrix of few rows
template <class Space, class Scalar, int Block, class Number, bool IsShort>
struct DescendTiles : UpdateTile<Space, Number, Block, DescentShape<Number, Block, IsShort>> {
  using Tile = UpdateTile<Space, Number, Block, DescentShape<Number, Block, IsShort>>;
  using Tile::pack, Tile::splits, Tile::workers, Tile::workers_each, Tile::sums_each, Tile::stride,
      Tile::team;
  using typename Tile::Shape, typename Tile::Pack16, typename Tile::Part;

  /// Rows of a thread: those of a set, which are `sets` rows from each other. A host's single thread has all
  /// sets.
  static constexpr int at_once   = Shape::rows;
  static constexpr int sets      = Shape::threads;
  static constexpr int sets_each = sets / team;
  static constexpr int tile_rows = at_once * sets;
  /// A'A is summed over splits of equal size: the rows after the tile's are zero.
  static constexpr int split_rows = (tile_rows + splits - 1) / splits;
  static constexpr int pad_rows   = splits * split_rows;

  static constexpr int group = 4;  // columns

  /// What a step of column r needs. It takes a from z / d.
  enum StepNumber : int {
    step_length,     // d / ((H_rr + ridge) w); negative: the column stays
    step_threshold,  // the t of soft(z / d, t)
    step_norm,       // a change of y by 1 changes the model by this number, from 1 to 2
    step_weight,     // d w: y = d w a
    step_numbers
  };
  /// What the other loops need of the columns.
  enum ScaleNumber : int { inverse_of_root, inverse_of_weight, scale_numbers };

  static constexpr int tile_bytes   = Tile::bytes_of_tile(pad_rows);
  static constexpr int matrix_bytes = Block * Block * int(sizeof(Number));
  static constexpr int of_steps = step_numbers, of_scales = scale_numbers;
  static constexpr int numbers_bytes = (of_steps + of_scales) * Block * int(sizeof(Number));
  static constexpr int pad_bytes     = tile_bytes + matrix_bytes + numbers_bytes + 3 * row_alignment;
  static_assert(tile_bytes >= team * int(sizeof(double)));
  static_assert(pad_bytes <= device_team_scratch);

  FactorMatrix<Scalar, Space> V;
  FactorMatrix<Scalar, Space> A;
  typename ModeProblem<Space>::Matrix H;
  typename ModeProblem<Space>::Counter largest_change;
  ColumnNumbers<Space> columns;
  Number lower, upper;
  int sweeps;
  count_t chunk;  // rows

  /// What all rows share, in the pad.
  struct Shared {
    Number* matrix;  // row r: H'_rs for s = g ... Block - 1, 0 ... g - 1 and 0 for s = r; g: r's group begins
    Number* steps;   // StepNumber n of column r is r * step_numbers + n
    Number* scales;  // ScaleNumber n of column r is n * Block + r
  };

  template <class Member>
  KOKKOS_FUNCTION void operator()(Member const& member) const {
    // Copies, because get_shmem_aligned takes references: on a device, constants of a class have no address.
    int const bytes_of_tile = tile_bytes, bytes_of_matrix = matrix_bytes, bytes_of_numbers = numbers_bytes;
    auto const& pad   = member.team_scratch(0);
    auto* const tile  = static_cast<Number*>(pad.get_shmem_aligned(bytes_of_tile, row_alignment));
    auto* const steps = static_cast<Number*>(pad.get_shmem_aligned(bytes_of_numbers, row_alignment));
    Shared const shared{static_cast<Number*>(pad.get_shmem_aligned(bytes_of_matrix, row_alignment)), steps,
                        steps + step_numbers * Block};
    int const rank      = static_cast<int>(A.extent(1));
    int const thread    = member.team_rank();
    count_t const begin = static_cast<count_t>(member.league_rank()) * chunk;
    count_t const end   = Kokkos::min(static_cast<count_t>(A.extent(0)), begin + chunk);
    // Another sweep needs y as it was at first, which it is again after a whole block.
    int const moved = sweeps == 1 ? rank : Block;

    load_shared(shared, rank, thread);
    double sum[sums_each] = {};
    double product        = 0;
    Number most           = 0;
    for (count_t first = begin; first < end; first += tile_rows) {
      count_t const rows = Kokkos::min<count_t>(tile_rows, end - first);
      Tile::template load<pad_rows>(tile, V, first, first + rows, rank, thread);
      member.team_barrier();
      for (int q = 0; q < sets_each; ++q) {
        int const set = thread + q * team;
        Number y[at_once][Block];
        read_rows(first + static_cast<count_t>(set), first + rows, shared.steps, rank, y);
        for (int sweep = 0; sweep < sweeps; ++sweep)
          for (int column = 0; column < moved; column += group) {
            if (column < rank)
              descend_group(tile, set, static_cast<int>(rows), column, sweep, shared, y, product, most);
            move_on(y);
          }
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
    store_largest(member, most);
  }

  /// H' and the numbers of the steps. A column beyond R is one that stays.
  KOKKOS_FORCEINLINE_FUNCTION void load_shared(Shared const& shared, int rank, int thread) const {
    for (int e = thread; e < Block * Block; e += team) {
      int const r = e / Block, s = (e % Block + r / group * group) % Block;
      double entry = 0;
      if (r != s && r < rank && s < rank)
        entry = H(r, s) * columns(inverse_root, r) * columns(inverse_root, s);
      shared.matrix[e] = static_cast<Number>(entry);
    }
    for (int r = thread; r < Block; r += team) {
      auto const number = [&](ColumnNumber n, double beyond) { return r < rank ? columns(n, r) : beyond; };
      double const d    = number(column_root, 1);
      double const d_inverse         = number(inverse_root, 1);
      double const curvature_inverse = number(inverse_curvature, -1);
      double const weight_inverse    = number(inverse_weight, 0);
      // In the order of StepNumber and of ScaleNumber.
      double const of_step[step_numbers] = {
          curvature_inverse < 0 ? -1.0 : d * curvature_inverse * weight_inverse,
          number(threshold, 0) * d_inverse, number(column_length, 0) * d_inverse,
          d * number(column_weight, 0)};
      double const scales[scale_numbers] = {d_inverse, weight_inverse * d_inverse};
      for (int n = 0; n < step_numbers; ++n)
        shared.steps[r * step_numbers + n] = static_cast<Number>(of_step[n]);
      for (int n = 0; n < scale_numbers; ++n) shared.scales[n * Block + r] = static_cast<Number>(scales[n]);
    }
  }

  /// Row `i` of a set in the pad.
  KOKKOS_FORCEINLINE_FUNCTION static Number* row_at(Number* tile, int set, int i) {
    return tile + (set + i * sets) * stride;
  }
  /// The y of the rows of a set, the first of which is row `row` of A. It is zero from row `end` on, where
  /// other rows are read and their numbers replaced.
  KOKKOS_FORCEINLINE_FUNCTION void read_rows(count_t row, count_t end, Number const* steps, int rank,
                                             Number (&y)[at_once][Block]) const {
    constexpr int width = row_alignment / int(sizeof(Scalar));
    unrolled<at_once>([&](auto i) {
      count_t const wanted = row + static_cast<count_t>(i * sets);
      count_t const at     = Kokkos::min<count_t>(wanted, end - 1);
      unrolled<Block / width>([&](auto p) {
        int const column = p * width < rank ? p * width : 0;
        auto const a     = Tile::template read_columns<width>(A, at, column, rank);
        unrolled<width>([&](auto e) {
          constexpr int s   = p * width + e;
          Number const read = steps[s * step_numbers + step_weight] * static_cast<Number>(a.element[e]);
          y[i][s]           = wanted < end && s < rank ? read : Number(0);
        });
      });
    });
  }
  /// Makes the next group's columns the first ones of y.
  KOKKOS_FORCEINLINE_FUNCTION static void move_on(Number (&y)[at_once][Block]) {
    unrolled<at_once>([&](auto i) {
      Number first[group];
      unrolled<group>([&](auto c) { first[c] = y[i][c]; });
      unrolled<Block - group>([&](auto s) { y[i][s] = y[i][s + group]; });
      unrolled<group>([&](auto c) { y[i][Block - group + c] = first[c]; });
    });
  }

  /// The steps of a sweep on the columns `first` ... first + 3 of a set of rows. The last sweep replaces
  /// their v in the pad by their new a.
  /// \param rows  of the tile: the others stay zero
  KOKKOS_FORCEINLINE_FUNCTION void descend_group(Number* tile, int set, int rows, int first, int sweep,
                                                 Shared const& shared, Number (&y)[at_once][Block],
                                                 double& product, Number& most) const {
    Number z[at_once][group];
    read_group(tile, set, first, shared, z);
    Number const* const matrix = shared.matrix + first * Block;
    unrolled<(Block - group) / pack>([&](auto p) {
      compiler_fence();  // H does not fit the registers, and must not be read ahead
      unrolled<group>([&](auto c) {
        Pack16 const h = Tile::read(matrix + c * Block + group + p * pack);
        unrolled<at_once>([&](auto i) {
          unrolled<pack>([&](auto e) { z[i][c] -= h.element[e] * y[i][group + p * pack + e]; });
        });
      });
    });
    unrolled<group>([&](auto c) {
      unrolled<group / pack>([&](auto p) {
        Pack16 const h = Tile::read(matrix + c * Block + p * pack);
        unrolled<at_once>([&](auto i) {
          unrolled<pack>([&](auto e) {
            z[i][c] -= h.element[e] * y[i][p * pack + e];  // H'_rr is 0
          });
        });
      });
      Number step[step_numbers];
      unrolled<step_numbers / pack>([&](auto p) {
        Pack16 const read = Tile::read(shared.steps + (first + c) * step_numbers + p * pack);
        unrolled<pack>([&](auto e) { step[p * pack + e] = read.element[e]; });
      });
      unrolled<at_once>([&](auto i) {
        Number const best = softened(z[i][c], step[step_threshold]) * step[step_length];
        bool const stays  = step[step_length] < 0 || set + i * sets >= rows;
        Number const next = stays ? y[i][c] : step[step_weight] * entry_within<Scalar>(best, lower, upper);
        if (sweep == 0) most = Kokkos::max(most, Kokkos::abs(next - y[i][c]) * step[step_norm]);
        y[i][c] = next;
      });
    });
    if (sweep + 1 == sweeps) finish_group(tile, set, first, shared, y, z, product);
  }
  /// v / d of a group of columns.
  KOKKOS_FORCEINLINE_FUNCTION static void read_group(Number* tile, int set, int first, Shared const& shared,
                                                     Number (&v)[at_once][group]) {
    unrolled<group / pack>([&](auto p) {
      Pack16 const inverse = Tile::read(shared.scales + inverse_of_root * Block + first + p * pack);
      unrolled<at_once>([&](auto i) {
        Pack16 const read = Tile::read(row_at(tile, set, i) + first + p * pack);
        unrolled<pack>([&](auto e) { v[i][p * pack + e] = read.element[e] * inverse.element[e]; });
      });
    });
  }
  /// Replaces v in the pad by the group's a, and adds to <V, A>.
  KOKKOS_FORCEINLINE_FUNCTION void finish_group(Number* tile, int set, int first, Shared const& shared,
                                                Number const (&y)[at_once][Block],
                                                Number const (&z)[at_once][group], double& product) const {
    if (Tile::inner.is_wanted()) {
      Number v[at_once][group];
      read_group(tile, set, first, shared, v);
      unrolled<at_once>([&](auto i) {
        unrolled<group>([&](auto c) {
          double const number = v[i][c];  // the product of floats may leave their range
          product += number * y[i][c];
        });
      });
    }
    unrolled<group / pack>([&](auto p) {
      Pack16 const inverse = Tile::read(shared.scales + inverse_of_weight * Block + first + p * pack);
      unrolled<at_once>([&](auto i) {
        Pack16 a;
        unrolled<pack>([&](auto e) {
          constexpr int c = p * pack + e;
          a.element[e]    = entry_in_range(y[i][c] * inverse.element[e], z[i][c]);
        });
        *reinterpret_cast<Pack16*>(row_at(tile, set, i) + first + p * pack) = a;
      });
    });
  }

  KOKKOS_FORCEINLINE_FUNCTION void store_tile(Number const* tile, count_t first, count_t end, int rank,
                                              int thread) const {
    constexpr int width_stored = row_alignment / int(sizeof(Scalar));
    constexpr int in_row       = Block / width_stored;
    for (int e = thread; e < tile_rows * in_row; e += team) {
      int const column  = e % in_row * width_stored;
      count_t const row = first + static_cast<count_t>(e / in_row);
      if (row >= end || column >= rank) continue;
      Number const* const from = tile + e / in_row * stride + column;
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
  KOKKOS_FORCEINLINE_FUNCTION void store_largest(Member const& member, double most) const {
    member.team_reduce(Kokkos::Max<double>(most));
    Kokkos::single(Kokkos::PerTeam(member), [&] {
      // All teams write theirs. A maximum does not depend on the order.
      if (most > 0) Kokkos::atomic_max(&largest_change(0), most);
    });
  }
};

}  // namespace polyad::detail
