// SPDX-License-Identifier: BSD-3-Clause
// UpdateTile: what the single-pass updates of a factor share. A team goes over its chunk of A's rows, a tile
// of rows at a time. The tile is in the scratch pad, in numbers of the type Sum, and the team sums A'A and
// <V, A> there:
//
//     a tile of V or A into the pad                                load()
//     G's parts on or below the diagonal, each of them over some   sum_all_parts()
//     of the tile's rows, its split
//     the splits' sums, added in double                            add_splits()
//   the chunk's G, and its <V, A>                                  store_sums()
//
// Neighbouring threads read packs of 16 bytes from neighbouring banks of the pad. Sums have a fixed order, so
// they do not depend on timing. Floats are summed in float over at most 32 rows.
#pragma once

#include <Kokkos_Core.hpp>
#include <algorithm>

#include "dense/dense_tuning.hpp"
#include "dense/gram.hpp"
#include "dense/inner_product.hpp"
#include "kernel/launch.hpp"
#include "polyad/core/types.hpp"
#include "polyad/kernel/columns.hpp"
#include "polyad/kernel/machine.hpp"
#include "polyad/kernel/rank_dispatch.hpp"
#include "polyad/kernel/unrolled.hpp"
#include "polyad/tensor/factor_matrices.hpp"

namespace polyad::detail {

/// Parts of height x width of a square matrix that hold entries on or below the diagonal.
constexpr int parts_on_or_below(int size, int height, int width) {
  int parts = 0;
  for (int i = 0; i < size; i += height) parts += (i + height + width - 1) / width;
  return parts;
}

template <class Space, class Sum, int Block, class TileShape = UpdateShape<Sum, Block>>
struct UpdateTile {
  using Shape                 = TileShape;
  static constexpr int height = Shape::height;
  static constexpr int width  = Shape::width;
  static constexpr int pack   = row_alignment / int(sizeof(Sum));
  using Pack16                = Pack<Sum, pack>;

  static constexpr int side       = Block / width;  // parts side by side in a row of A
  static constexpr int gram_parts = parts_on_or_below(Block, height, width);
  static constexpr int splits     = Shape::threads / gram_parts;
  static constexpr int workers    = splits * gram_parts;          // threads that compute
  static constexpr int sums       = gram_parts * height * width;  // entries of G that are summed

  /// Threads of the team. A host's single thread does the work of all workers in turn.
  static constexpr int team         = team_threads<Space>(1, Shape::threads);
  static constexpr int workers_each = (workers + team - 1) / team;
  static constexpr int sums_each    = (sums + team - 1) / team;

  static constexpr int stride = Block + pack;  // from row to row of the pad: rows begin in different banks
  /// Bytes of a tile with this number of rows, and of the parts of all workers.
  static constexpr int bytes_of_tile(int rows) {
    return std::max(rows * stride, workers * height * width) * int(sizeof(Sum));
  }

  typename GramWorkspace<Space>::partials_type partials;
  InnerProductSums<Space> inner;

  /// A thread's part of a tile.
  struct Part {
    Sum entry[height][width];
  };
  /// The place of a part of G: parts are counted row by row.
  struct Place {
    int i;
    int j;
  };
  KOKKOS_FORCEINLINE_FUNCTION static Place place_of(int part) {
    Place at{0, part};
    for (int in_row = (height + width - 1) / width; at.j >= in_row;
         in_row     = (at.i * height + height + width - 1) / width) {
      at.j -= in_row;
      ++at.i;
    }
    return at;
  }
  KOKKOS_FORCEINLINE_FUNCTION static Pack16 read(Sum const* at) {
    return *reinterpret_cast<Pack16 const*>(at);
  }

  /// Loads a tile of rows of a matrix, with zeros from row `end` on. A thread starts several loads before it
  /// stores the first.
  template <int Rows, class Scalar>
  KOKKOS_FORCEINLINE_FUNCTION static void load(Sum* tile, FactorMatrix<Scalar, Space> const& matrix,
                                               count_t first, count_t end, int rank, int thread) {
    constexpr int width_read = row_alignment / int(sizeof(Scalar));
    constexpr int in_row     = Block / width_read;
    constexpr int packs      = Rows * in_row;
    constexpr int batch      = 8;
    using Read               = Pack<Scalar, width_read>;
    for (int begin = thread; begin < packs; begin += batch * team) {
      Read entry[batch];
      unrolled<batch>([&](auto q) {
        int const e       = begin + q * team;
        int const column  = e % in_row * width_read;
        count_t const row = first + static_cast<count_t>(e / in_row);
        entry[q]          = Read{};
        if (e < packs && row < end && column < rank)
          entry[q] = read_columns<width_read>(matrix, row, column, rank);
      });
      unrolled<batch>([&](auto q) {
        int const e      = begin + q * team;
        int const column = e % in_row * width_read;
        unrolled<width_read>([&](auto c) {
          if (column + c >= rank) entry[q].element[c] = Scalar(0);
        });
        if (e >= packs) return;
        Sum* const to = tile + e / in_row * stride + column;
        unrolled<width_read / pack>([&](auto p) {
          Pack16 converted;
          unrolled<pack>(
              [&](auto c) { converted.element[c] = static_cast<Sum>(entry[q].element[p * pack + c]); });
          *reinterpret_cast<Pack16*>(to + p * pack) = converted;
        });
      });
    }
  }
  /// A pack of a row. Only packed rows are padded to whole packs. The entries beyond column R are zeroed
  /// later, since inspecting them here would delay the next reads.
  template <int Width, class Scalar>
  KOKKOS_FORCEINLINE_FUNCTION static Pack<Scalar, Width> read_columns(
      FactorMatrix<Scalar, Space> const& matrix, count_t row, int column, int rank) {
    Scalar const* const at = matrix.data() + row * static_cast<count_t>(matrix.stride(0)) + column;
    if constexpr (takes_packed_rows<Space>) return *reinterpret_cast<Pack<Scalar, Width> const*>(at);
    Pack<Scalar, Width> result{};
    for (int e = 0; e < Width && column + e < rank; ++e) result.element[e] = at[e];
    return result;
  }

  /// A part of G over the rows of a worker's split.
  template <int SplitRows>
  KOKKOS_FORCEINLINE_FUNCTION static Part sum_parts(Sum const* tile, int worker) {
    Place const at = place_of(worker % gram_parts);
    Sum const* row = tile + worker / gram_parts * SplitRows * stride;
    Part part{};
    for (int t = 0; t < SplitRows; ++t, row += stride) {
      Pack16 a[height / pack], b[width / pack];
      unrolled<height / pack>([&](auto p) { a[p] = read(row + at.i * height + p * pack); });
      unrolled<width / pack>([&](auto p) { b[p] = read(row + at.j * width + p * pack); });
      unrolled<height>([&](auto h) {
        unrolled<width>([&](auto e) {
          part.entry[h][e] += a[h / pack].element[h % pack] * b[e / pack].element[e % pack];
        });
      });
    }
    return part;
  }

  /// The parts of all workers that this thread is. A thread that is none sums the last one's: a conditional
  /// write would occupy the registers of `part` all through the kernel's loop over tiles.
  template <int SplitRows>
  KOKKOS_FORCEINLINE_FUNCTION static void sum_all_parts(Sum const* tile, Part (&part)[workers_each],
                                                        int thread) {
    for (int w = 0; w < workers_each; ++w)
      part[w] = sum_parts<SplitRows>(tile, Kokkos::min(thread + w * team, workers - 1));
  }

  /// Adds the sums of the splits. The pad holds the parts entry by entry, each entry for all workers.
  template <class Member>
  KOKKOS_FORCEINLINE_FUNCTION static void add_splits(Member const& member, Sum* pad,
                                                     Part const (&part)[workers_each],
                                                     double (&sum)[sums_each], int thread) {
    for (int w = 0; w < workers_each; ++w)
      if (thread + w * team < workers)
        unrolled<height>([&](auto h) {
          unrolled<width>(
              [&](auto e) { pad[(h * width + e) * workers + thread + w * team] = part[w].entry[h][e]; });
        });
    member.team_barrier();
    for (int q = 0; q < sums_each; ++q) {
      int const s = thread + q * team;
      if (s >= sums) break;
      Sum const* const of_split = pad + s / gram_parts * workers + s % gram_parts;
      for (int split = 0; split < splits; ++split)
        sum[q] += static_cast<double>(of_split[split * gram_parts]);
    }
  }

  template <class Member>
  KOKKOS_FORCEINLINE_FUNCTION void store_sums(Member const& member, Sum* pad, double const (&sum)[sums_each],
                                              double product, int thread) const {
    for (int q = 0; q < sums_each; ++q) {
      int const s = thread + q * team;
      if (s >= sums) break;
      Place const at = place_of(s % gram_parts);
      int const e    = s / gram_parts;
      int const i    = at.i * height + e / width;
      int const j    = at.j * width + e % width;
      if (j <= i && i < static_cast<int>(partials.extent(1))) partials(member.league_rank(), i, j) = sum[q];
    }
    if (!inner.is_wanted()) return;
    auto* const products = reinterpret_cast<double*>(pad);
    products[thread]     = product;
    member.team_barrier();
    Kokkos::single(Kokkos::PerTeam(member), [&] {
      double total = 0;
      for (int t = 0; t < team; ++t) total += products[t];
      inner.partials(member.league_rank()) = total;
    });
  }
};

/// Launches a single-pass update over the rows of A, and sums G and <V, A> over its chunks. All teams are
/// resident at once, because a second round would leave the machine half empty.
/// \param make  the kernel, a class derived from UpdateTile, for chunks of the given number of rows. It has
///              tile_rows and pad_bytes
template <class Kernel, class Space, class Make>
void update_by_tiles(Space const& space, char const* label, count_t rows,
                     GramWorkspace<Space> const& workspace, GramMatrix<Space> const& G,
                     InnerProductSums<Space> const& inner, Make&& make) {
  // A chunk is one tile at least.
  count_t const tiles    = ceil_div(std::max<count_t>(rows, 1), Kernel::tile_rows);
  count_t const resident = chunks_at_a_time(space, Kernel::Shape::teams);
  count_t const chunks   = std::min({tiles, resident, count_t(workspace.partials().extent(0))});
  using Policy           = TeamPolicy<Space, Kokkos::LaunchBounds<Kernel::team, Kernel::Shape::teams>>;
  Policy policy(space, static_cast<int>(chunks), Kernel::team, 1);
  policy.set_scratch_size(0, Kokkos::PerTeam(int(Kernel::pad_bytes)));
  detail::launch(label, without_waiting(policy), make(ceil_div(tiles, chunks) * Kernel::tile_rows));
  sum_chunks(space, workspace, G, chunks, inner);
}

}  // namespace polyad::detail
