// SPDX-License-Identifier: BSD-3-Clause
// The strategy GramByParts of gram (dense/gram.hpp): G = A' A for matrices of many columns.
//
//   each team, for one block (I, J) of 64 x 64 entries of G, J <= I, and one chunk of A's rows
//     for each tile of 32 rows                                       operator()
//       A's columns of the blocks I and J into the pad, as doubles   load()
//       G(i, j) += A(t, i) A(t, j) for the rows t of the tile       add_rows(): 8 x 8 entries a thread, and
//                                                                   some of the rows where threads are left
//     the threads' sums, split by split, to the chunk's own block    operator(), after the loop
//
// The chunks' blocks are then summed in a fixed order. Of a block on the diagonal only the parts on or below
// it are summed. Bytes: A is read once for each block of 64 columns. Flops: rows x R^2.
#pragma once

#include <Kokkos_Core.hpp>
#include <algorithm>

#include "dense/gram.hpp"
#include "kernel/launch.hpp"
#include "polyad/kernel/columns.hpp"
#include "polyad/kernel/machine.hpp"
#include "polyad/kernel/unrolled.hpp"

namespace polyad::detail {

template <class Space, class Scalar>
struct GramOfParts {
  static constexpr int block     = 64;
  static constexpr int size      = 8;  // of a part
  static constexpr int side      = block / size;
  static constexpr int threads   = device_team_threads;
  static constexpr int tile_rows = 32;
  static constexpr int stride    = block + 2;  // of the pad's rows: they begin in different banks
  static constexpr int pad_bytes = 2 * tile_rows * stride * int(sizeof(double));
  static_assert(pad_bytes >= block * block * int(sizeof(double)));
  /// Of the team; a host's one thread does the work of all threads in turn.
  static constexpr int team      = team_threads<Space>(1, threads);
  static constexpr int work_each = threads / team;
  static constexpr int pack      = row_alignment / int(sizeof(Scalar));
  using Pair                     = Pack<double, 2>;

  FactorMatrix<Scalar, Space> A;
  typename GramWorkspace<Space>::partials_type partials;
  count_t chunk;  // rows
  int blocks;     // of G that are summed
  bool packed;    // rows of A: read 16 bytes at a time

  /// Entries of a block that a thread sums.
  struct Part {
    int number;
    int i;
    int j;
    int split;  // rows t with t % splits == split
  };
  /// The sums of a thread's part.
  struct Sums {
    double entry[size][size];
  };

  /// Parts on or below the diagonal are counted row by row.
  KOKKOS_FORCEINLINE_FUNCTION static void find_in_triangle(int number, int& i, int& j) {
    i = 0;
    for (j = number; j > i; ++i) j -= i + 1;
  }
  KOKKOS_FORCEINLINE_FUNCTION static Part part_of(int thread, bool is_diagonal, int parts) {
    Part part{thread % parts, 0, 0, thread / parts};
    if (is_diagonal) {
      find_in_triangle(part.number, part.i, part.j);
    } else {
      part.i = part.number / side;
      part.j = part.number % side;
    }
    return part;
  }

  /// The columns of one block of 32 rows of A, zeros beyond them.
  KOKKOS_FORCEINLINE_FUNCTION void load(double* tile, int first_column, count_t first, count_t end,
                                        int thread) const {
    int const rank       = static_cast<int>(A.extent(1));
    constexpr int in_row = block / pack;
    constexpr int batch  = 4;
    for (int begin = thread; begin < tile_rows * in_row; begin += batch * team) {
      Pack<Scalar, pack> entry[batch];
      unrolled<batch>([&](auto q) {
        int const e       = begin + q * team;
        int const column  = first_column + e % in_row * pack;
        count_t const row = first + static_cast<count_t>(e / in_row);
        entry[q]          = {};
        if (row < end && column < rank) entry[q] = read_columns(row, column, rank);
      });
      unrolled<batch>([&](auto q) {
        int const e = begin + q * team;
        unrolled<pack>([&](auto c) {
          tile[e / in_row * stride + e % in_row * pack + c] = static_cast<double>(entry[q].element[c]);
        });
      });
    }
  }
  KOKKOS_FORCEINLINE_FUNCTION Pack<Scalar, pack> read_columns(count_t row, int column, int rank) const {
    Scalar const* const at = A.data() + row * static_cast<count_t>(A.stride(0)) + column;
    Pack<Scalar, pack> result{};
    if (packed && column + pack <= rank) return *reinterpret_cast<Pack<Scalar, pack> const*>(at);
    for (int e = 0; e < pack && column + e < rank; ++e) result.element[e] = at[e];
    return result;
  }

  KOKKOS_FORCEINLINE_FUNCTION static void add_rows(double const* left, double const* right, Part const& part,
                                                   int splits, Sums& sums) {
    for (int t = part.split; t < tile_rows; t += splits) {
      Pair a[size / 2], b[size / 2];
      unrolled<size / 2>([&](auto p) {
        a[p] = *reinterpret_cast<Pair const*>(left + t * stride + part.i * size + 2 * p);
        b[p] = *reinterpret_cast<Pair const*>(right + t * stride + part.j * size + 2 * p);
      });
      unrolled<size>([&](auto h) {
        unrolled<size>(
            [&](auto k) { sums.entry[h][k] += a[h / 2].element[h % 2] * b[k / 2].element[k % 2]; });
      });
    }
  }

  template <class Member>
  KOKKOS_FUNCTION void operator()(Member const& member) const {
    int const bytes  = pad_bytes;
    auto* const left = static_cast<double*>(member.team_scratch(0).get_shmem_aligned(bytes, row_alignment));
    int const thread = member.team_rank();
    int const c      = member.league_rank() / blocks;
    int I            = 0;
    int J            = 0;
    find_in_triangle(member.league_rank() % blocks, I, J);
    bool const is_diagonal = I == J;
    double* const right    = is_diagonal ? left : left + tile_rows * stride;
    int const parts        = is_diagonal ? side * (side + 1) / 2 : side * side;
    int const splits       = threads / parts;
    count_t const begin    = static_cast<count_t>(c) * chunk;
    count_t const end      = Kokkos::min(static_cast<count_t>(A.extent(0)), begin + chunk);

    Sums sums[work_each] = {};
    for (count_t first = begin; first < end; first += tile_rows) {
      load(left, I * block, first, end, thread);
      if (!is_diagonal) load(right, J * block, first, end, thread);
      member.team_barrier();
      for (int w = 0; w < work_each; ++w) {
        Part const part = part_of(thread + w * team, is_diagonal, parts);
        if (part.split < splits) add_rows(left, right, part, splits, sums[w]);
      }
      member.team_barrier();
    }
    // Entry e of all parts, one behind the other.
    for (int split = 0; split < splits; ++split) {
      for (int w = 0; w < work_each; ++w) {
        Part const part = part_of(thread + w * team, is_diagonal, parts);
        if (part.split != split) continue;
        unrolled<size>([&](auto h) {
          unrolled<size>([&](auto k) {
            double& sum = left[(h * size + k) * parts + part.number];
            sum         = split == 0 ? sums[w].entry[h][k] : sum + sums[w].entry[h][k];
          });
        });
      }
      member.team_barrier();
    }
    for (int s = thread; s < parts * size * size; s += team) {
      Part const part  = part_of(s % parts, is_diagonal, parts);
      int const row    = I * block + part.i * size + s / parts / size;
      int const column = J * block + part.j * size + s / parts % size;
      if (column <= row && row < static_cast<int>(partials.extent(1))) partials(c, row, column) = left[s];
    }
  }
};

template <class Space, class Scalar>
void gram_by(GramByParts, Space const& space, FactorMatrix<Scalar, Space> const& A,
             GramWorkspace<Space> const& workspace, GramMatrix<Space> const& G) {
  using Kernel = GramOfParts<Space, Scalar>;
  // Two teams of a multiprocessor have all its registers; more chunks than that make the last round shorter.
  constexpr count_t rounds = 4;
  int const in_row         = static_cast<int>(ceil_div(A.extent(1), count_t(Kernel::block)));
  int const blocks         = in_row * (in_row + 1) / 2;
  count_t const teams      = 2 * rounds * multiprocessors(space);
  count_t const tiles      = ceil_div(std::max<count_t>(A.extent(0), 1), Kernel::tile_rows);
  count_t const chunks =
      std::min({tiles, workspace.partials().extent(0), ceil_div(teams, static_cast<count_t>(blocks))});
  using Policy = TeamPolicy<Space, Kokkos::LaunchBounds<Kernel::team, 2>>;
  Policy policy(space, static_cast<int>(chunks) * blocks, Kernel::team, 1);
  policy.set_scratch_size(0, Kokkos::PerTeam(int(Kernel::pad_bytes) + row_alignment));
  detail::launch("polyad::gram_of_parts", policy,
                 Kernel{A, workspace.partials(), ceil_div(tiles, chunks) * Kernel::tile_rows, blocks,
                        rows_are_aligned(A.data(), static_cast<count_t>(A.stride(0)), A.extent(1))});
  sum_chunks(space, workspace, G, chunks);
}

}  // namespace polyad::detail
