// SPDX-License-Identifier: BSD-3-Clause
// The strategies GramByParts and GramInFloats of gram (dense/gram.hpp): G = A' A for many columns.
//
//   each team, for one block (I, J) of 64 x 64 entries of G, J <= I, and one chunk of A's rows
//     for each tile of rows                                          operator()
//       A's columns of the blocks I and J into the pad               load()
//       G(i, j) += A(t, i) A(t, j) for the rows t of its split       add_tile(): 8 x 8 entries a thread
//     the threads' sums, split by split, to the chunk's own block    operator(), after the loop
//
// The rows of a tile are divided into splits, one for each thread that sums the same part of 8 x 8 entries.
// GramInFloats multiplies in float and sums the 32 rows of a split in float, then continues in double. A
// device has twice as many units for floats, and floats take half the room in the pad. GramByParts converts
// all entries to double. The chunks' blocks are summed in a fixed order. In a block on the diagonal, only the
// parts on or below the diagonal are summed. Bytes: A is read once for each block of 64 columns. Flops: rows
// x R^2.
#pragma once

#include <Kokkos_Core.hpp>
#include <algorithm>

#include "dense/gram.hpp"
#include "kernel/launch.hpp"
#include "polyad/kernel/columns.hpp"
#include "polyad/kernel/machine.hpp"
#include "polyad/kernel/unrolled.hpp"

namespace polyad::detail {

/// Term: the type of the products and of their sums over a split's rows.
template <class Space, class Scalar, class Term>
struct GramOfParts {
  static constexpr int block      = 64;
  static constexpr int size       = 8;  // side of a part
  static constexpr int side       = block / size;
  static constexpr int threads    = device_team_threads;
  static constexpr bool in_floats = sizeof(Term) == sizeof(float);
  static constexpr int pack       = row_alignment / sizeof(Term);
  static constexpr int stride     = block + pack;  // the pad's rows begin in different banks
  /// Parts of a block below the diagonal, and of one on it; the splits of a tile for each.
  static constexpr int parts_below  = side * side;
  static constexpr int parts_on     = side * (side + 1) / 2;
  static constexpr int splits_below = threads / parts_below;
  static constexpr int splits_on    = threads / parts_on;
  static constexpr int split_rows   = in_floats ? 32 : 16;
  static constexpr int pad_bytes = std::max(2 * splits_below, splits_on) * split_rows * stride * sizeof(Term);
  static_assert(pad_bytes >= block * block * sizeof(double));
  static_assert(pad_bytes + row_alignment <= device_team_scratch);
  /// Threads of the team. A host's single thread does the work of all threads in turn.
  static constexpr int team      = team_threads<Space>(1, threads);
  static constexpr int work_each = threads / team;
  using Terms                    = Pack<Term, pack>;
  using Entries                  = Pack<Scalar, pack>;

  FactorMatrix<Scalar, Space> A;
  typename GramWorkspace<Space>::partials_type partials;
  count_t chunk;  // rows
  int blocks;     // blocks of G that are summed
  bool packed;    // rows of A: read 16 bytes at a time

  /// Entries of a block that a thread sums.
  struct Part {
    int number;
    int i;
    int j;
    int split;
  };
  /// Sums of a thread's part.
  template <class Number>
  struct Sums {
    Number entry[size][size];
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

  /// Entry e of part i in a block's columns. The packs that neighbouring threads read are neighbours.
  KOKKOS_FORCEINLINE_FUNCTION static constexpr int column_of(int i, int e) {
    return (e / pack * side + i) * pack + e % pack;
  }

  /// The columns of one block of a tile's rows, zeros beyond them.
  KOKKOS_FORCEINLINE_FUNCTION void load(Term* tile, int rows, int first_column, count_t first, count_t end,
                                        int thread) const {
    int const rank       = A.extent_int(1);
    constexpr int in_row = block / pack;
    constexpr int batch  = 8;
    for (int begin = thread; begin < rows * in_row; begin += batch * team) {
      Entries entry[batch];
      unrolled<batch>([&](auto q) {
        int const e       = begin + q * team;
        int const column  = first_column + e % in_row * pack;
        count_t const row = first + (e / in_row);
        entry[q]          = Entries{};
        if (e < rows * in_row && row < end && column < rank) entry[q] = read_columns(row, column, rank);
      });
      unrolled<batch>([&](auto q) {
        int const e = begin + q * team;
        Terms terms;
        unrolled<pack>([&](auto c) { terms.element[c] = static_cast<Term>(entry[q].element[c]); });
        if (e < rows * in_row)
          *reinterpret_cast<Terms*>(tile + e / in_row * stride + e % in_row * pack) = terms;
      });
    }
  }
  KOKKOS_FORCEINLINE_FUNCTION Entries read_columns(count_t row, int column, int rank) const {
    Scalar const* const at = A.data() + row * A.stride(0) + column;
    Entries result{};
    if (packed && column + pack <= rank) return *reinterpret_cast<Entries const*>(at);
    for (int e = 0; e < pack && column + e < rank; ++e) result.element[e] = at[e];
    return result;
  }

  template <class Number>
  KOKKOS_FORCEINLINE_FUNCTION static void add_rows(Term const* left, Term const* right, Part const& part,
                                                   Sums<Number>& sums) {
    Term const* i = left + part.split * split_rows * stride + part.i * pack;
    Term const* j = right + part.split * split_rows * stride + part.j * pack;
    for (int t = 0; t < split_rows; ++t, i += stride, j += stride) {
      Terms a[size / pack], b[size / pack];
      unrolled<size / pack>([&](auto p) {
        a[p] = *reinterpret_cast<Terms const*>(i + p * side * pack);
        b[p] = *reinterpret_cast<Terms const*>(j + p * side * pack);
      });
      unrolled<size>([&](auto h) {
        unrolled<size>([&](auto k) {
          sums.entry[h][k] += a[h / pack].element[h % pack] * b[k / pack].element[k % pack];
        });
      });
    }
  }
  /// The rows of the part's split.
  KOKKOS_FORCEINLINE_FUNCTION static void add_tile(Term const* left, Term const* right, Part const& part,
                                                   Sums<double>& sums) {
    if constexpr (in_floats) {
      Sums<Term> of_split{};
      add_rows(left, right, part, of_split);
      unrolled<size>(
          [&](auto h) { unrolled<size>([&](auto k) { sums.entry[h][k] += of_split.entry[h][k]; }); });
    } else {
      add_rows(left, right, part, sums);
    }
  }

  template <class Member>
  KOKKOS_FUNCTION void operator()(Member const& member) const {
    int const bytes  = pad_bytes;
    auto* const left = static_cast<Term*>(member.team_scratch(0).get_shmem_aligned(bytes, row_alignment));
    int const thread = member.team_rank();
    int const c      = member.league_rank() / blocks;
    int I            = 0;
    int J            = 0;
    find_in_triangle(member.league_rank() % blocks, I, J);
    bool const is_diagonal = I == J;
    int const parts        = is_diagonal ? parts_on : parts_below;
    int const splits       = is_diagonal ? splits_on : splits_below;
    int const tile_rows    = splits * split_rows;
    Term* const right      = is_diagonal ? left : left + tile_rows * stride;
    count_t const begin    = c * chunk;
    count_t const end      = Kokkos::min(A.extent(0), begin + chunk);

    Sums<double> sums[work_each] = {};
    for (count_t first = begin; first < end; first += tile_rows) {
      load(left, tile_rows, I * block, first, end, thread);
      if (!is_diagonal) load(right, tile_rows, J * block, first, end, thread);
      member.team_barrier();
      for (int w = 0; w < work_each; ++w) {
        Part const part = part_of(thread + w * team, is_diagonal, parts);
        if (part.split < splits) add_tile(left, right, part, sums[w]);
      }
      member.team_barrier();
    }
    // The sums are stored entry by entry: entry e of all parts, then the next entry.
    auto* const block_sums = reinterpret_cast<double*>(left);
    for (int split = 0; split < splits; ++split) {
      for (int w = 0; w < work_each; ++w) {
        Part const part = part_of(thread + w * team, is_diagonal, parts);
        if (part.split != split) continue;
        unrolled<size>([&](auto h) {
          unrolled<size>([&](auto k) {
            double& sum = block_sums[(h * size + k) * parts + part.number];
            sum         = split == 0 ? sums[w].entry[h][k] : sum + sums[w].entry[h][k];
          });
        });
      }
      member.team_barrier();
    }
    for (int s = thread; s < parts * size * size; s += team) {
      Part const part  = part_of(s % parts, is_diagonal, parts);
      int const row    = I * block + column_of(part.i, s / parts / size);
      int const column = J * block + column_of(part.j, s / parts % size);
      // In a block on the diagonal, part (i, j) also represents (j, i).
      if (row < column && part.i == part.j) continue;
      int const lower = Kokkos::max(row, column);
      if (lower < partials.extent_int(1)) partials(c, lower, Kokkos::min(row, column)) = block_sums[s];
    }
  }
};

template <class Term, class Space, class Scalar>
void gram_of_parts(Space const& space, FactorMatrix<Scalar, Space> const& A,
                   GramWorkspace<Space> const& workspace, GramMatrix<Space> const& G) {
  using Kernel = GramOfParts<Space, Scalar, Term>;
  // Two teams occupy all registers of a multiprocessor. More chunks shorten the last, partly filled round.
  constexpr count_t rounds = 4;
  int const in_row         = static_cast<int>(ceil_div(A.extent(1), count_t(Kernel::block)));
  int const blocks         = in_row * (in_row + 1) / 2;
  count_t const teams      = 2 * rounds * multiprocessors(space);
  count_t const splits     = ceil_div(std::max<count_t>(A.extent(0), 1), Kernel::split_rows);
  count_t const chunks     = std::min({splits, workspace.partials().extent(0), ceil_div(teams, blocks)});
  using Policy             = TeamPolicy<Space, Kokkos::LaunchBounds<Kernel::team, 2>>;
  Policy policy(space, static_cast<int>(chunks) * blocks, Kernel::team, 1);
  policy.set_scratch_size(0, Kokkos::PerTeam(int(Kernel::pad_bytes) + row_alignment));
  detail::launch("polyad::gram_of_parts", policy,
                 Kernel{A, workspace.partials(), ceil_div(splits, chunks) * Kernel::split_rows, blocks,
                        rows_are_aligned(A.data(), A.stride(0), A.extent(1))});
  sum_chunks(space, workspace, G, chunks);
}

template <class Space, class Scalar>
void gram_by(GramByParts, Space const& space, FactorMatrix<Scalar, Space> const& A,
             GramWorkspace<Space> const& workspace, GramMatrix<Space> const& G) {
  gram_of_parts<double>(space, A, workspace, G);
}

template <class Space>
void gram_by(GramInFloats, Space const& space, FactorMatrix<float, Space> const& A,
             GramWorkspace<Space> const& workspace, GramMatrix<Space> const& G) {
  gram_of_parts<float>(space, A, workspace, G);
}

}  // namespace polyad::detail
