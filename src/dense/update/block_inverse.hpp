// SPDX-License-Identifier: BSD-3-Clause
// The inverse of a symmetric positive definite matrix H of many columns, by many teams. H = L D L' is
// Cholesky's factorisation without square roots (Golub & Van Loan, section 4.1.2), right-looking by blocks of
// 32 x 32 entries. Blocks above the diagonal are not stored.
//
//   for each block K of columns
//     H_KK = L_KK D_K L_KK', N = L_KK^-1                       FactorPanel, every team for itself: factor()
//     I > K: T_I = H_IK N', L_IK = T_I D_K^-1                  FactorPanel, a team for each block
//     J < K: Y_J = N M_KJ;  Y_K = N;  J > K: Y_J = T_J'        the same
//     I > K: H_IJ or M_IJ -= L_IK Y_J;  M_KJ = Y_J             UpdateBlocks, a team for each J <= I
//   H^-1 = M' D^-1 M                                           InvertBlocks, a team for each J <= I
//
// The row operations that eliminate H turn the identity into M = L^-1, which replaces the eliminated columns.
// If a pivot does not exceed the tolerance, H is singular to working precision. The flag then records it, and
// the remaining kernels do nothing. Bytes: R^3 / 4 and more, from a cache. Flops: 4/3 R^3.
#pragma once

#include <Kokkos_Core.hpp>

#include "kernel/launch.hpp"
#include "kernel/launch_shape.hpp"
#include "polyad/core/types.hpp"
#include "polyad/kernel/row_form.hpp"
#include "polyad/kernel/tiny_vec.hpp"
#include "polyad/kernel/unrolled.hpp"

namespace polyad::detail {

/// The matrix by blocks, and the workspace of its inversion, in one piece of memory.
struct BlockedMatrix {
  static constexpr int block   = 32;
  static constexpr int entries = block * block;

  int size;                      // whole blocks; right of and below the matrix is the identity
  double* H;                     // size x size
  double* L;                     // size x 32: the blocks L_IK, one below the other
  double* Y;                     // size x 32: the blocks Y_J
  double* reciprocal;            // the reciprocals of D, size numbers
  double* flag;                  // 1 where H is singular, 0 otherwise
  double const* used = nullptr;  // in host memory: the columns that are not the identity's; null: any

  static constexpr count_t padded(count_t rank) { return ceil_div(rank, block) * block; }
  /// Doubles of the memory for a matrix of R columns.
  static constexpr count_t memory(count_t rank) {
    count_t const size = padded(rank);
    return size * (size + 2 * block + 1) + 1;
  }
  /// `memory` begins at a multiple of 16 bytes.
  static BlockedMatrix in(double* memory, count_t rank) {
    count_t const size = padded(rank);
    double* const L    = memory + size * size;
    double* const Y    = L + size * block;
    double* const D    = Y + size * block;
    return {static_cast<int>(size), memory, L, Y, D, D + size};
  }
  [[nodiscard]] KOKKOS_FUNCTION int blocks() const { return size / block; }
  /// Blocks of columns that are not the identity's. The others stay as they are.
  [[nodiscard]] KOKKOS_FUNCTION int used_blocks() const {
    return used == nullptr ? blocks() : (static_cast<int>(*used) + block - 1) / block;
  }
  /// Row i of block (I, J).
  [[nodiscard]] KOKKOS_FUNCTION double* row(int I, int J, int i) const {
    return H + static_cast<count_t>(I * block + i) * size + J * block;
  }
  [[nodiscard]] KOKKOS_FUNCTION double* L_of(int I) const { return L + I * entries; }
  [[nodiscard]] KOKKOS_FUNCTION double* Y_of(int J) const { return Y + J * entries; }

  /// The block J <= I of a team: counted row by row.
  KOKKOS_FUNCTION static void find(int number, int& I, int& J) {
    I = 0;
    for (J = number; J > I; ++I) J -= I + 1;
  }
  /// f(i, j) for the entries of a block.
  template <class Member, class F>
  KOKKOS_FUNCTION static void for_each_entry(Member const& member, F const& f) {
    Kokkos::parallel_for(Kokkos::TeamVectorRange(member, int(entries)),
                         [&](int const e) { f(e / block, e % block); });
  }
};

/// Factors the diagonal block and forms the blocks left of it (L_IK) and above it (Y_J).
struct FactorPanel {
  static constexpr int block         = BlockedMatrix::block;
  static constexpr int scratch_bytes = (block + 3) * block * sizeof(double);

  BlockedMatrix matrix;
  int K;
  double tolerance;  // for a pivot

  template <class Member>
  KOKKOS_FUNCTION void operator()(Member const& member) const {
    // Another team of this launch may be setting it; it then finds the pivot that this one would find. One
    // thread looks for all: threads that looked for themselves could differ, and those that continued would
    // wait at a barrier for those that returned.
    double failed = 0;
    Kokkos::single(
        Kokkos::PerTeam(member), [&](double& flag) { flag = Kokkos::atomic_load(matrix.flag); }, failed);
    if (failed != 0 || Kokkos::max(K, member.league_rank()) >= matrix.used_blocks()) return;
    int const bytes = scratch_bytes;
    auto* const N   = static_cast<double*>(member.team_scratch(0).get_shmem(bytes));
    auto* const D   = N + block * block;
    if (!factor(member, N, D, D + block)) return;
    int const own   = member.league_rank();
    double* const L = matrix.L_of(own);
    double* const Y = matrix.Y_of(own);
    if (own == K) {
      BlockedMatrix::for_each_entry(member, [&](int const i, int const j) {
        Y[i * block + j] = j > i ? 0 : entry_of(N, i, j);
        if (j == 0) matrix.reciprocal[K * block + i] = 1 / D[i];
      });
    } else if (own < K) {
      BlockedMatrix::for_each_entry(member, [&](int const i, int const j) {
        double sum = matrix.row(K, own, i)[j];
        for (int k = 0; k < i; ++k) sum += N[i * block + k] * matrix.row(K, own, k)[j];
        Y[i * block + j] = sum;
      });
    } else {
      BlockedMatrix::for_each_entry(member, [&](int const i, int const j) {
        double const* const row = matrix.row(own, K, i);
        double sum              = row[j];
        for (int k = 0; k < j; ++k) sum += row[k] * N[j * block + k];
        L[i * block + j] = sum / D[j];
        Y[j * block + i] = sum;
      });
    }
  }

  /// N has ones on its diagonal, which are not stored.
  KOKKOS_FUNCTION static double entry_of(double const* N, int i, int j) {
    return i == j ? 1 : N[i * block + j];
  }

  /// Turns the diagonal block into N and D: N becomes L_KK^-1 below its diagonal. `columns` is scratch for 2
  /// x 32 numbers. Returns false if a pivot does not exceed the tolerance.
  template <class Member>
  KOKKOS_FUNCTION bool factor(Member const& member, double* N, double* D, double* columns) const {
    double* column      = columns;          // k of the block before step k
    double* next_column = columns + block;  // k + 1, filled during step k
    BlockedMatrix::for_each_entry(member, [&](int const i, int const j) {
      N[i * block + j] = matrix.row(K, K, i)[j];
      if (j == 0) column[i] = N[i * block];
    });
    member.team_barrier();
    for (int k = 0; k < block; ++k) {
      double const pivot = column[k];
      if (!(pivot > tolerance)) {
        Kokkos::single(Kokkos::PerTeam(member), [&] { Kokkos::atomic_store(matrix.flag, 1.0); });
        return false;
      }
      BlockedMatrix::for_each_entry(member, [&](int const i, int const j) {
        if (i == k && j == k) D[k] = pivot;
        if (i <= k || j > i) return;
        // Row k of N is stored left of column k. Right of it is the row of H, which equals the column of H.
        double const l   = column[i] / pivot;
        double const sum = j == k ? -l : N[i * block + j] - l * (j < k ? N[k * block + j] : column[j]);
        N[i * block + j] = sum;
        if (j == k + 1) next_column[i] = sum;
      });
      member.team_barrier();
      double* const done = column;
      column             = next_column;
      next_column        = done;
    }
    return true;
  }
};

/// Rows of a product of blocks of 32 x 32, some at a time in registers.
template <class Space>
struct BlockRows {
  static constexpr int block  = BlockedMatrix::block;
  static constexpr int height = 4;
  using Row                   = TinyVec<Space, double, block>;

  Row sum[height];

  /// Calls f(i, rows, columns) for the rows i ... i + height - 1, zero yet.
  template <class Member, class F>
  KOKKOS_FUNCTION static void for_each(Member const& member, F const& f) {
    Kokkos::parallel_for(Kokkos::TeamThreadRange(member, block / height), [&](int const group) {
      Kokkos::parallel_for(Kokkos::ThreadVectorRange(member, int(Row::lanes)), [&](int const lane) {
        BlockRows rows;
        unrolled<height>([&](auto h) { rows.sum[h] = Row(0.0); });
        f(group * height, rows, Row::columns(0, block, lane));
      });
    });
  }
};

/// The trailing blocks of H, and those of M.
template <class Space>
struct UpdateBlocks {
  static constexpr int block = BlockedMatrix::block;
  using Rows                 = BlockRows<Space>;
  using Row                  = typename Rows::Row;

  BlockedMatrix matrix;
  int K;

  template <class Member>
  KOKKOS_FUNCTION void operator()(Member const& member) const {
    if (*matrix.flag != 0) return;
    int I = 0;
    int J = 0;
    BlockedMatrix::find(member.league_rank(), I, J);
    if (I < K || I >= matrix.used_blocks()) return;
    double const* const Y = matrix.Y_of(J);
    if (I == K) {
      BlockedMatrix::for_each_entry(
          member, [&](int const i, int const j) { matrix.row(I, J, i)[j] = Y[i * block + j]; });
      return;
    }
    double const* const L = matrix.L_of(I);
    Rows::for_each(member, [&](int const i, Rows& rows, Columns columns) {
      for (int k = 0; k < block; ++k) {
        Row const y(Y + k * block, columns);
        unrolled<Rows::height>([&](auto h) { rows.sum[h].multiply_add(-L[(i + h) * block + k], y); });
      }
      unrolled<Rows::height>([&](auto h) {
        double* const to = matrix.row(I, J, i + h);
        if (J != K) rows.sum[h] += Row(to, columns);
        rows.sum[h].store(to, columns);
      });
    });
  }
};

/// put(i, j, entry (i, j) of H^-1) for j <= i < R.
template <class Space, class Put>
struct InvertBlocks {
  static constexpr int block         = BlockedMatrix::block;
  static constexpr int scratch_bytes = BlockedMatrix::entries * sizeof(double) + row_alignment;
  using Rows                         = BlockRows<Space>;
  using Row                          = typename Rows::Row;

  BlockedMatrix matrix;
  int rank;
  Put put;

  template <class Member>
  KOKKOS_FUNCTION void operator()(Member const& member) const {
    if (*matrix.flag != 0) return;
    int I = 0;
    int J = 0;
    BlockedMatrix::find(member.league_rank(), I, J);
    int const inverse = matrix.used_blocks();
    if (I >= inverse) return;
    int const bytes  = scratch_bytes - row_alignment;
    auto* const tile = static_cast<double*>(member.team_scratch(0).get_shmem_aligned(bytes, row_alignment));
    Rows::for_each(member, [&](int const i, Rows& rows, Columns columns) {
      for (int m = I; m < inverse; ++m)
        for (int k = 0; k < block; ++k) {
          Row const right(matrix.row(m, J, k), columns);
          double const* const left = matrix.row(m, I, k) + i;
          double const weight      = matrix.reciprocal[m * block + k];
          unrolled<Rows::height>([&](auto h) { rows.sum[h].multiply_add(left[h] * weight, right); });
        }
      unrolled<Rows::height>([&](auto h) { rows.sum[h].store(tile + (i + h) * block, columns); });
    });
    member.team_barrier();
    BlockedMatrix::for_each_entry(member, [&](int const i, int const j) {
      int const row    = I * block + i;
      int const column = J * block + j;
      if (column <= row && row < rank) put(row, column, tile[i * block + j]);
    });
  }
};

/// Inverts H, which is positive definite, with ones on its diagonal and flag 0. Calls put(i, j, entry) for j
/// <= i. If a pivot does not exceed the tolerance, the flag becomes 1 and put is not called. Launches on
/// `space` and returns without waiting.
template <class Space, class Put>
void invert_blocks(Space const& space, BlockedMatrix const& matrix, count_t rank, double tolerance,
                   Put const& put) {
  using Inverse       = InvertBlocks<Space, Put>;
  using Rows          = BlockRows<Space>;
  count_t const count = matrix.blocks();
  auto const panels   = team_policy(space, launch_shape<Space>(count, 8, 32))
                            .set_scratch_size(0, Kokkos::PerTeam(FactorPanel::scratch_bytes));
  auto const blocks   = team_policy(
      space, launch_shape<Space>(count * (count + 1) / 2, Rows::block / Rows::height, Rows::Row::lanes));
  for (int K = 0; K < matrix.used_blocks(); ++K) {
    detail::launch("polyad::factor_panel", panels, FactorPanel{matrix, K, tolerance});
    detail::launch("polyad::update_blocks", blocks, UpdateBlocks<Space>{matrix, K});
  }
  auto inverse = blocks;
  inverse.set_scratch_size(0, Kokkos::PerTeam(Inverse::scratch_bytes));
  detail::launch("polyad::invert_blocks", inverse, Inverse{matrix, static_cast<int>(rank), put});
}

}  // namespace polyad::detail
