// SPDX-License-Identifier: BSD-3-Clause
// The inverse of a symmetric positive definite matrix H of many columns, by many teams: the symmetric sweep
// operator (Goodnight, "A tutorial on the SWEEP operator", The American Statistician 33(3), 1979) for blocks
// of 32 x 32 entries. Blocks above the diagonal are not stored.
//
//   for each block K of columns
//     E_I = H_IK for all I                                          SweepPivot, a team for each I
//     P = H_KK^-1, by sweeps of single columns                      SweepPivot, one team more: invert()
//     H_IJ = H_IJ - E_I P E_J', H_IK = E_I P, H_KK = -P             SweepBlocks, a team for each J <= I
//
// H ends as -H^-1. Its pivots are those of Cholesky's factorisation H = L D L'. Where one is not above the
// tolerance, H is singular to working precision: the team notes it, and what follows does nothing. Bytes:
// R^3 / 4, from a cache. Flops: 2 R^3, half of them for E_I P, which every team forms for itself.
#pragma once

#include <Kokkos_Core.hpp>

#include "kernel/launch.hpp"
#include "kernel/launch_shape.hpp"
#include "polyad/core/types.hpp"
#include "polyad/kernel/row_form.hpp"
#include "polyad/kernel/tiny_vec.hpp"
#include "polyad/kernel/unrolled.hpp"

namespace polyad::detail {

/// Columns of a block.
inline constexpr int sweep_block = 32;

/// The matrix and the workspace of its sweeps, in one piece of memory.
struct SweptMatrix {
  int size;      // whole blocks; right of and below the matrix stands the identity
  double* H;     // size x size
  double* E;     // size x 32: the blocks E_I, one below the other
  double* E_T;   // their transposes
  double* P;     // 32 x 32
  double* flag;  // 1 where H is singular, 0 otherwise

  /// Doubles of the memory for a matrix of R columns.
  static constexpr count_t memory(count_t rank) {
    count_t const size = padded(rank);
    return size * (size + 2 * sweep_block) + sweep_block * sweep_block + 1;
  }
  static constexpr count_t padded(count_t rank) { return ceil_div(rank, count_t(sweep_block)) * sweep_block; }
  /// `memory` begins at a multiple of 16 bytes.
  static SweptMatrix in(double* memory, count_t rank) {
    count_t const size = padded(rank);
    double* const E    = memory + size * size;
    double* const E_T  = E + size * sweep_block;
    double* const P    = E_T + size * sweep_block;
    return {static_cast<int>(size), memory, E, E_T, P, P + sweep_block * sweep_block};
  }
  [[nodiscard]] KOKKOS_FUNCTION int blocks() const { return size / sweep_block; }
  [[nodiscard]] KOKKOS_FUNCTION double* row(int i) const { return H + static_cast<count_t>(i) * size; }
  /// Entry (i, j), or (j, i) where that is the stored one.
  [[nodiscard]] KOKKOS_FUNCTION double entry(int i, int j) const { return i >= j ? row(i)[j] : row(j)[i]; }
};

/// Panel K, and the inverse of its pivot block.
struct SweepPivot {
  SweptMatrix matrix;
  int K;
  double tolerance;  // of a pivot

  template <class Member>
  KOKKOS_FUNCTION void operator()(Member const& member) const {
    if (*matrix.flag != 0) return;
    int const I = member.league_rank();
    if (I == matrix.blocks()) return invert(member);
    Kokkos::parallel_for(Kokkos::TeamVectorRange(member, sweep_block * sweep_block), [&](int const e) {
      int const i                             = e / sweep_block;
      int const k                             = e % sweep_block;
      double const entry                      = matrix.entry(I * sweep_block + i, K * sweep_block + k);
      int const first                         = I * sweep_block * sweep_block;
      matrix.E[first + e]                     = entry;
      matrix.E_T[first + k * sweep_block + i] = entry;
    });
  }

  static constexpr int scratch_bytes = sweep_block * (sweep_block + 2) * int(sizeof(double));

  template <class Member>
  KOKKOS_FUNCTION void invert(Member const& member) const {
    int const bytes        = scratch_bytes;
    auto* const B          = static_cast<double*>(member.team_scratch(0).get_shmem(bytes));
    double* column         = B + sweep_block * sweep_block;  // k of B before sweep k
    double* next_column    = column + sweep_block;           // k + 1, filled during sweep k
    int const first        = K * sweep_block;
    auto const for_entries = [&](auto const& f) {
      Kokkos::parallel_for(Kokkos::TeamVectorRange(member, sweep_block * sweep_block),
                           [&](int const e) { f(e / sweep_block, e % sweep_block); });
      member.team_barrier();
    };
    for_entries([&](int const i, int const j) {
      double const entry     = matrix.entry(first + i, first + j);
      B[i * sweep_block + j] = entry;
      if (j == 0) column[i] = entry;
    });
    for (int k = 0; k < sweep_block; ++k) {
      double const pivot = column[k];
      if (!(pivot > tolerance)) {
        Kokkos::single(Kokkos::PerTeam(member), [&] { *matrix.flag = 1; });
        return;
      }
      for_entries([&](int const i, int const j) {
        double& entry = B[i * sweep_block + j];
        if (i == k && j == k)
          entry = -1 / pivot;
        else if (i == k || j == k)
          entry = column[i == k ? j : i] / pivot;
        else
          entry -= column[i] * column[j] / pivot;
        if (j == k + 1) next_column[i] = entry;
      });
      double* const done = column;
      column             = next_column;
      next_column        = done;
    }
    for_entries([&](int const i, int const j) { matrix.P[i * sweep_block + j] = -B[i * sweep_block + j]; });
  }
};

template <class Space>
struct SweepBlocks {
  using Row                          = TinyVec<Space, double, sweep_block>;
  static constexpr int height        = 4;  // rows that a thread has at a time
  static constexpr int scratch_bytes = sweep_block * sweep_block * int(sizeof(double)) + row_alignment;

  SweptMatrix matrix;
  int K;

  template <class Member>
  KOKKOS_FUNCTION void operator()(Member const& member) const {
    if (*matrix.flag != 0) return;
    int I = 0;
    int J = member.league_rank();
    for (; J > I; ++I) J -= I + 1;
    int const bytes = scratch_bytes - row_alignment;
    auto* const T   = static_cast<double*>(member.team_scratch(0).get_shmem_aligned(bytes, row_alignment));
    // Of row K the panel is E_J, whose product is transposed: P is symmetric.
    bool const is_row_K = I == K && J != K;
    multiply(member, matrix.E + (is_row_K ? J : I) * sweep_block * sweep_block, matrix.P,
             [&](int const i, Row const& sum, Columns columns) { sum.store(T + i * sweep_block, columns); });
    member.team_barrier();
    if (I == K || J == K) {
      Kokkos::parallel_for(Kokkos::TeamVectorRange(member, sweep_block * sweep_block), [&](int const e) {
        int const i = e / sweep_block;
        int const j = e % sweep_block;
        matrix.row(I * sweep_block + i)[J * sweep_block + j] =
            I == J ? -matrix.P[e] : T[is_row_K ? j * sweep_block + i : e];
      });
      return;
    }
    multiply(member, T, matrix.E_T + J * sweep_block * sweep_block,
             [&](int const i, Row const& sum, Columns columns) {
               double* const to = matrix.row(I * sweep_block + i) + J * sweep_block;
               Row entries(to, columns);
               entries.multiply_add(-1.0, sum);
               entries.store(to, columns);
             });
  }

  /// put(i, row i of X Y, columns) for two blocks of 32 x 32.
  template <class Member, class Put>
  KOKKOS_FUNCTION void multiply(Member const& member, double const* X, double const* Y,
                                Put const& put) const {
    Kokkos::parallel_for(Kokkos::TeamThreadRange(member, sweep_block / height), [&](int const group) {
      Kokkos::parallel_for(Kokkos::ThreadVectorRange(member, Row::lanes), [&](int const lane) {
        Columns const columns = Row::columns(0, sweep_block, lane);
        Row sum[height];
        unrolled<height>([&](auto h) { sum[h] = Row(0.0); });
        for (int k = 0; k < sweep_block; ++k) {
          Row const row(Y + k * sweep_block, columns);
          unrolled<height>(
              [&](auto h) { sum[h].multiply_add(X[(group * height + h) * sweep_block + k], row); });
        }
        unrolled<height>([&](auto h) { put(group * height + h, sum[h], columns); });
      });
    });
  }
};

/// Overwrites H, positive definite with ones on its diagonal, by -H^-1, or notes that a pivot is not above
/// the tolerance. Launches on `space` and returns without waiting.
template <class Space>
void sweep_blocks(Space const& space, SweptMatrix const& matrix, double tolerance) {
  using Kernel     = SweepBlocks<Space>;
  auto const count = static_cast<count_t>(matrix.blocks());
  auto pivot       = team_policy(space, launch_shape<Space>(count + 1, 8, 32));
  auto blocks      = team_policy(
      space, launch_shape<Space>(count * (count + 1) / 2, sweep_block / Kernel::height, Kernel::Row::lanes));
  pivot.set_scratch_size(0, Kokkos::PerTeam(int(SweepPivot::scratch_bytes)));
  blocks.set_scratch_size(0, Kokkos::PerTeam(int(Kernel::scratch_bytes)));
  for (int K = 0; K < matrix.blocks(); ++K) {
    detail::launch("polyad::sweep_pivot", pivot, SweepPivot{matrix, K, tolerance});
    detail::launch("polyad::sweep_blocks", blocks, Kernel{matrix, K});
  }
}

}  // namespace polyad::detail
