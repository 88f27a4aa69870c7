// SPDX-License-Identifier: BSD-3-Clause
// The pseudo-inverse of a symmetric positive semidefinite matrix H (R x R) of low rank r, by many teams. H
// has ones or zeros on its diagonal.
//
//   H = Z Z', Z is R x r           Cholesky's factorisation with complete pivoting, a column at a time
//                                  (Higham, "Accuracy and Stability of Numerical Algorithms", 2nd ed.,
//                                  section 10.3). Rows are not exchanged: a row that was the pivot has only
//                                  zeros from then on                                       PivotedColumns
//   Z = Q D, ||Q(:, k)|| = 1                                                                 NormalizePivots
//   G = Q' Q, W = G^-1             dense/update/block_inverse.hpp                BlockProducts, invert_blocks
//   B = Q W D^-1, H^+ = B B'       H^+ = Z (Z'Z)^-2 Z'                     TransposedProducts, BlockProducts
//
// r is where the largest entry of the remaining diagonal does not exceed R epsilon w. Here w = sum of the
// squared eigenvalues over their sum, which the entries of H give. It is at most the largest eigenvalue, and
// equals it where all r are the same. If the columns of Q are dependent to working precision, a flag becomes
// 1, and the caller's eigenvectors give the pseudo-inverse.
//
// For hosts, whose kernels have ended when their launch returns. So the launches can depend on r. The first
// columns of Z take little work: one team forms them in a single launch. Flops: R r^2 4 and less.
#pragma once

#include <Kokkos_Core.hpp>
#include <algorithm>

#include "dense/update/block_inverse.hpp"
#include "kernel/launch.hpp"
#include "kernel/launch_shape.hpp"
#include "polyad/core/types.hpp"
#include "polyad/kernel/row_form.hpp"
#include "polyad/kernel/tiny_vec.hpp"
#include "polyad/kernel/unrolled.hpp"

namespace polyad::detail {

/// The workspace, in one piece of memory after that of a BlockedMatrix, which the steps use too.
struct LowRankMatrix {
  static constexpr int block = BlockedMatrix::block;

  BlockedMatrix matrix;  // G; its flag is 0 while no step has failed
  double* Z;             // size x size, then Q
  double* W;             // size x size
  double* norms;         // D
  double* squares;       // the sum of squares of each row of H
  double* remaining;     // 2 x size: the diagonal of H - Z Z' before a step, and after it. -1 for pivots
  double* tolerance;     // that a pivot must exceed. NaN if H is not finite
  double* rank;          // r so far

  static constexpr count_t even(count_t number) { return (number + 1) / 2 * 2; }
  /// Doubles of the memory for a matrix of R columns.
  static constexpr count_t memory(count_t rank) {
    count_t const size = BlockedMatrix::padded(rank);
    return even(BlockedMatrix::memory(rank)) + size * (2 * size + 4) + 3;
  }
  /// \param memory  that of the BlockedMatrix `failed`, whose inversion has set its flag
  static LowRankMatrix in(double* memory, BlockedMatrix const& failed, count_t rank) {
    count_t const size      = BlockedMatrix::padded(rank);
    double* const Z         = memory + even(BlockedMatrix::memory(rank));
    double* const norms     = Z + 2 * size * size;
    double* const tolerance = norms + 4 * size;
    BlockedMatrix matrix    = failed;
    matrix.flag             = tolerance + 2;
    matrix.used             = tolerance + 1;
    return {matrix, Z, Z + size * size, norms, norms + size, norms + 2 * size, tolerance, tolerance + 1};
  }
  [[nodiscard]] KOKKOS_FUNCTION double* row(double* of, int i) const {
    return of + static_cast<count_t>(i) * matrix.size;
  }
};

/// The diagonal of H and the sums of squares, a team for each row.
template <class Entries>
struct StartLowRank {
  LowRankMatrix steps;
  Entries H;
  int size;

  template <class Member>
  KOKKOS_FUNCTION void operator()(Member const& member) const {
    int const i    = member.league_rank();
    double squares = 0;
    Kokkos::parallel_reduce(
        Kokkos::TeamVectorRange(member, size),
        [&](int const j, double& sum) {
          double const entry = H(i, j);
          sum += entry * entry;
        },
        squares);
    Kokkos::single(Kokkos::PerTeam(member), [&] {
      steps.squares[i]   = squares;
      steps.remaining[i] = H(i, i);
    });
  }
};

/// The tolerance. One team.
struct BoundPivots {
  LowRankMatrix steps;
  int size;
  double epsilon;

  template <class Member>
  KOKKOS_FUNCTION void operator()(Member const& member) const {
    Kokkos::single(Kokkos::PerTeam(member), [&] {
      *steps.matrix.flag = 0;
      *steps.rank        = 0;
      double squares     = 0;
      double trace       = 0;
      for (int i = 0; i < size; ++i) {
        squares += steps.squares[i];
        trace += steps.remaining[i];
      }
      double const largest = trace == 0 ? 0 : squares / trace;
      *steps.tolerance     = size * epsilon * largest + (squares - squares);
    });
  }
};

/// Columns first ... last - 1 of Z: one team for several columns, or some teams for one. Each team looks for
/// the pivot itself. Fewer columns are formed if no pivot is left.
template <class Entries>
struct PivotedColumns {
  static constexpr int rows_of_team = 64;  // where teams share a column
  static constexpr int width        = 32;  // sums of a row's product at the same time

  LowRankMatrix steps;
  Entries H;
  int size;
  int first;
  int last;

  template <class Member>
  KOKKOS_FUNCTION void operator()(Member const& member) const {
    bool const alone = member.league_size() == 1;
    int const begin  = alone ? 0 : member.league_rank() * rows_of_team;
    int const end    = alone ? size : Kokkos::min(size, begin + rows_of_team);
    for (int k = first; k < last; ++k) {
      if (!form(member, k, begin, end)) return;
      member.team_barrier();
    }
  }

  /// The rows begin ... end - 1 of column k. Returns false if there is no pivot.
  template <class Member>
  KOKKOS_FUNCTION bool form(Member const& member, int k, int begin, int end) const {
    double const* const before = steps.remaining + k % 2 * steps.matrix.size;
    double* const after        = steps.remaining + (k + 1) % 2 * steps.matrix.size;
    using Largest              = Kokkos::MaxLoc<double, int>;
    typename Largest::value_type pivot;
    Kokkos::parallel_reduce(
        Kokkos::TeamVectorRange(member, size),
        [&](int const i, typename Largest::value_type& most) {
          if (before[i] > most.val || (before[i] == most.val && i < most.loc)) most = {before[i], i};
        },
        Largest(pivot));
    if (!(pivot.val > *steps.tolerance)) return false;
    double const root     = Kokkos::sqrt(pivot.val);
    double const* const p = steps.row(steps.Z, pivot.loc);
    Kokkos::parallel_for(Kokkos::TeamThreadRange(member, begin, end), [&](int const i) {
      Kokkos::single(Kokkos::PerThread(member), [&] {
        double* const row = steps.row(steps.Z, i);
        bool const done   = before[i] < 0;
        double entry      = done ? 0 : root;
        if (!done && i != pivot.loc) entry = (H(i, pivot.loc) - product(row, p, k)) / root;
        row[k]   = entry;
        after[i] = done || i == pivot.loc ? -1 : Kokkos::max(before[i] - entry * entry, 0.0);
      });
    });
    if (member.league_rank() == 0) Kokkos::single(Kokkos::PerTeam(member), [&] { *steps.rank = k + 1; });
    return true;
  }

  /// The product of the first k columns of two rows.
  [[nodiscard]] KOKKOS_FUNCTION static double product(double const* a, double const* b, int k) {
    double sums[width] = {};
    int c              = 0;
    for (; c + width <= k; c += width)
      for (int l = 0; l < width; ++l) sums[l] += a[c + l] * b[c + l];
    for (int l = 0; c + l < k; ++l) sums[l] += a[c + l] * b[c + l];
    double sum = 0;
    for (double const part : sums) sum += part;
    return sum;
  }
};

/// Q and D: a team for each block of columns. Columns of the last block beyond r become zeros.
struct NormalizePivots {
  LowRankMatrix steps;
  int size;

  template <class Member>
  KOKKOS_FUNCTION void operator()(Member const& member) const {
    int const own = member.league_rank();
    if (*steps.matrix.flag != 0 || own >= steps.matrix.used_blocks()) return;
    int const rank = static_cast<int>(*steps.rank);
    Kokkos::parallel_for(Kokkos::TeamVectorRange(member, int(LowRankMatrix::block)), [&](int const l) {
      int const k = own * LowRankMatrix::block + l;
      double sum  = 0;
      for (int i = 0; i < size && k < rank; ++i) sum += steps.row(steps.Z, i)[k] * steps.row(steps.Z, i)[k];
      double const norm = k < rank ? Kokkos::sqrt(sum) : 1;
      for (int i = 0; i < size; ++i) {
        double& entry = steps.row(steps.Z, i)[k];
        entry         = k < rank ? entry / norm : 0;
      }
      steps.norms[k] = norm;
    });
  }
};

/// put(i, j, entry) for all entries of the blocks (I, J), J <= I, of A'A, for the first rows of A.
template <class Space, class Put>
struct BlockProducts {
  static constexpr int block         = BlockedMatrix::block;
  static constexpr int scratch_bytes = BlockedMatrix::entries * sizeof(double) + row_alignment;
  using Rows                         = BlockRows<Space>;
  using Row                          = typename Rows::Row;

  LowRankMatrix steps;
  double* A;
  int rows;  // that are multiplied; 0: those of all blocks in use
  Put put;

  template <class Member>
  KOKKOS_FUNCTION void operator()(Member const& member) const {
    if (*steps.matrix.flag != 0) return;
    int I = 0;
    int J = 0;
    BlockedMatrix::find(member.league_rank(), I, J);
    int const used = steps.matrix.used_blocks();
    if (rows > 0 && I >= used) return;
    int const count  = rows > 0 ? rows : used * block;
    int const bytes  = scratch_bytes - row_alignment;
    auto* const tile = static_cast<double*>(member.team_scratch(0).get_shmem_aligned(bytes, row_alignment));
    Rows::for_each(member, [&](int const i, Rows& products, Columns columns) {
      for (int k = 0; k < count; ++k) {
        double const* const row = steps.row(A, k);
        Row const right(row + J * block, columns);
        double const* const left = row + I * block + i;
        unrolled<Rows::height>([&](auto h) { products.sum[h].multiply_add(left[h], right); });
      }
      unrolled<Rows::height>([&](auto h) { products.sum[h].store(tile + (i + h) * block, columns); });
    });
    member.team_barrier();
    BlockedMatrix::for_each_entry(
        member, [&](int const i, int const j) { put(I * block + i, J * block + j, tile[i * block + j]); });
  }
};

/// B' by blocks, in the memory of G.
template <class Space>
struct TransposedProducts {
  static constexpr int block         = BlockedMatrix::block;
  static constexpr int scratch_bytes = BlockedMatrix::entries * sizeof(double) + row_alignment;
  using Rows                         = BlockRows<Space>;
  using Row                          = typename Rows::Row;

  LowRankMatrix steps;

  template <class Member>
  KOKKOS_FUNCTION void operator()(Member const& member) const {
    int const used = steps.matrix.used_blocks();
    int const I    = member.league_rank() % steps.matrix.blocks();
    int const J    = member.league_rank() / steps.matrix.blocks();
    if (*steps.matrix.flag != 0 || J >= used) return;
    int const bytes  = scratch_bytes - row_alignment;
    auto* const tile = static_cast<double*>(member.team_scratch(0).get_shmem_aligned(bytes, row_alignment));
    Rows::for_each(member, [&](int const i, Rows& products, Columns columns) {
      double const* const left = steps.row(steps.Z, I * block + i);
      for (int k = 0; k < used * block; ++k) {
        Row const right(steps.row(steps.W, k) + J * block, columns);
        unrolled<Rows::height>(
            [&](auto h) { products.sum[h].multiply_add(left[h * steps.matrix.size + k], right); });
      }
      unrolled<Rows::height>([&](auto h) { products.sum[h].store(tile + (i + h) * block, columns); });
    });
    member.team_barrier();
    BlockedMatrix::for_each_entry(member, [&](int const j, int const i) {
      double* const to  = steps.row(steps.matrix.H, J * block + j);
      to[I * block + i] = tile[i * block + j] / steps.norms[J * block + j];
    });
  }
};

/// An entry of G. Beyond r it is the identity.
struct StoreProduct {
  LowRankMatrix steps;
  KOKKOS_FUNCTION void operator()(int i, int j, double entry) const {
    steps.row(steps.matrix.H, i)[j] = i == j ? 1 : entry;
  }
};

/// An entry of W, and the one that mirrors it.
struct StoreSymmetric {
  LowRankMatrix steps;
  KOKKOS_FUNCTION void operator()(int i, int j, double entry) const {
    steps.row(steps.W, i)[j] = entry;
    steps.row(steps.W, j)[i] = entry;
  }
};

/// An entry of the pseudo-inverse for j <= i < R.
template <class Put>
struct StoreLowerTriangle {
  LowRankMatrix steps;
  int size;
  Put put;
  KOKKOS_FUNCTION void operator()(int i, int j, double entry) const {
    // The difference is NaN if H is not finite, and 0 otherwise.
    if (j <= i && i < size) put(i, j, entry + (*steps.tolerance - *steps.tolerance));
  }
};

/// Forms the pseudo-inverse of H, whose inversion has failed.
/// Calls put(i, j, entry) for j <= i. If the flag of steps.matrix becomes 1, put is not called.
/// \param H        H(i, j) gives an entry
/// \param epsilon  pivots up to R times this are the rounding errors of H, relative to its eigenvalues
template <class Space, class Entries, class Put>
void invert_low_rank(Space const& space, LowRankMatrix const& steps, count_t rank, double epsilon,
                     Entries const& H, Put const& put) {
  auto const size      = static_cast<int>(rank);
  count_t const blocks = steps.matrix.blocks();
  detail::launch("polyad::start_low_rank", team_policy(space, launch_shape<Space>(rank, 4, 32)),
                 StartLowRank<Entries>{steps, H, size});
  detail::launch("polyad::bound_pivots", team_policy(space, launch_shape<Space>(1, 1, 1)),
                 BoundPivots{steps, size, epsilon});
  using Columns = PivotedColumns<Entries>;
  // 2^19 multiplications take one thread about 0.2 ms, a hundred times as long as a launch.
  int const alone = static_cast<int>(std::min(rank, (count_t(1) << 19) / rank + 1));
  detail::launch("polyad::pivoted_columns", team_policy(space, launch_shape<Space>(1, 64, 1)),
                 Columns{steps, H, size, 0, alone});
  auto const shared = team_policy(space, launch_shape<Space>(ceil_div(rank, Columns::rows_of_team), 64, 1));
  for (int k = alone; k < size && static_cast<int>(*steps.rank) == k; ++k)
    detail::launch("polyad::pivoted_columns", shared, Columns{steps, H, size, k, k + 1});
  detail::launch("polyad::normalize_pivots", team_policy(space, launch_shape<Space>(blocks, 1, 32)),
                 NormalizePivots{steps, size});
  using Products    = BlockProducts<Space, StoreProduct>;
  using Transposed  = TransposedProducts<Space>;
  using Inverse     = BlockProducts<Space, StoreLowerTriangle<Put>>;
  using Rows        = BlockRows<Space>;
  auto const policy = [&](count_t teams) {
    return team_policy(space, launch_shape<Space>(teams, Rows::block / Rows::height, Rows::Row::lanes))
        .set_scratch_size(0, Kokkos::PerTeam(Products::scratch_bytes));
  };
  count_t const triangle = blocks * (blocks + 1) / 2;
  detail::launch("polyad::low_rank_gram", policy(triangle), Products{steps, steps.Z, size, {steps}});
  invert_blocks(space, steps.matrix, steps.matrix.size,
                8 * static_cast<double>(rank) * Kokkos::Experimental::epsilon_v<double>,
                StoreSymmetric{steps});
  detail::launch("polyad::low_rank_product", policy(blocks * blocks), Transposed{steps});
  detail::launch("polyad::low_rank_inverse", policy(triangle),
                 Inverse{steps, steps.matrix.H, 0, {steps, size, put}});
}

}  // namespace polyad::detail
