// SPDX-License-Identifier: BSD-3-Clause
// update_factor: A = V W and G = A' A, the dense part of an ALS update except its R x R algebra. On request
// also the inner product <V, A>, which the fit needs.
//
// The strategy FusedUpdate (dense/dense_tuning.hpp) does it in one pass. V is read once and A written once.
//
//   each team, over its chunk of rows, a tile of rows at a time    operator()
//     the tile of V into the scratch pad                           load_tile()
//     A = V W; a thread has height x width, interleaved            multiply_tile()
//     <V, A> of that part                                          add_inner_product()
//     A into the pad, in place of V, and to memory                 store_tile()
//     G's parts on or below the diagonal, each of them over some   sum_parts()
//     of the tile's rows, its split
//     the splits' sums, added in double                            add_splits()
//   the chunk's G, and its <V, A>                                  store_sums()
//
// Neighbouring threads read packs of 16 bytes from neighbouring banks of the pad. Sums have a fixed order, so
// they do not depend on timing. Floats are summed in float over at most 32 rows. Bytes: 2 I R s_r. Flops: 3 I
// R^2 and some.
#pragma once

#include <Kokkos_Core.hpp>
#include <algorithm>

#include "dense/dense_tuning.hpp"
#include "dense/gram.hpp"
#include "dense/inner_product.hpp"
#include "dense/solve_rows.hpp"
#include "dense/tiled_update.hpp"
#include "kernel/launch.hpp"
#include "polyad/core/instances.hpp"
#include "polyad/kernel/columns.hpp"
#include "polyad/kernel/machine.hpp"
#include "polyad/kernel/rank_dispatch.hpp"
#include "polyad/kernel/unrolled.hpp"

namespace polyad::detail {

/// Parts of height x width of a square matrix that hold entries on or below the diagonal.
constexpr int parts_on_or_below(int size, int height, int width) {
  int parts = 0;
  for (int i = 0; i < size; i += height) parts += (i + height + width - 1) / width;
  return parts;
}

template <class Space, class Scalar, int Block>
struct UpdateFactor {
  using Shape                 = UpdateShape<Scalar, Block>;
  static constexpr int height = Shape::height;
  static constexpr int width  = Shape::width;
  static constexpr int pack   = row_alignment / sizeof(Scalar);
  using Pack16                = Pack<Scalar, pack>;

  static constexpr int side       = Block / width;  // parts side by side in a row of A
  static constexpr int gram_parts = parts_on_or_below(Block, height, width);
  static constexpr int splits     = Shape::threads / gram_parts;
  static constexpr int workers    = splits * gram_parts;  // threads that compute
  static constexpr int groups     = workers / side;       // of rows
  static constexpr int tile_rows  = groups * height;
  static constexpr int split_rows = tile_rows / splits;
  static constexpr int sums       = gram_parts * height * width;  // entries of G that are summed
  static_assert(workers % side == 0 && tile_rows % splits == 0 && split_rows <= 32);

  /// Threads of the team. A host's single thread does the work of all workers in turn.
  static constexpr int team         = team_threads<Space>(1, Shape::threads);
  static constexpr int workers_each = (workers + team - 1) / team;
  static constexpr int sums_each    = (sums + team - 1) / team;

  static constexpr int stride       = Block + pack;  // the rows of the pad begin in different banks
  static constexpr int tile_bytes   = std::max(tile_rows * stride, workers * height * width) * sizeof(Scalar);
  static constexpr int matrix_bytes = Block * stride * sizeof(Scalar);
  static constexpr int pad_bytes    = tile_bytes + matrix_bytes + 2 * row_alignment;
  static_assert(tile_bytes >= team * sizeof(double));

  FactorMatrix<Scalar, Space> V;
  FactorMatrix<Scalar, Space> W;
  FactorMatrix<Scalar, Space> A;
  typename GramWorkspace<Space>::partials_type partials;
  InnerProductSums<Space> inner;
  count_t chunk;  // rows

  /// A thread's part of a tile.
  struct Part {
    Scalar entry[height][width];
  };
  /// The column of entry e of a row of part c: packs of neighbouring parts are neighbours.
  KOKKOS_FORCEINLINE_FUNCTION static constexpr int column_of(int c, int e) {
    return (e / pack * side + c) * pack + e % pack;
  }
  /// The row in the tile of row h of a worker's part.
  KOKKOS_FORCEINLINE_FUNCTION static constexpr int row_of(int worker, int h) {
    return h * groups + worker / side;
  }
  KOKKOS_FORCEINLINE_FUNCTION static Pack16 read(Scalar const* at) {
    return *reinterpret_cast<Pack16 const*>(at);
  }
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

  template <class Member>
  KOKKOS_FUNCTION void operator()(Member const& member) const {
    // Copies, because get_shmem_aligned takes references: on a device, constants of a class have no address.
    int const bytes_of_tile   = tile_bytes;
    int const bytes_of_matrix = matrix_bytes;
    auto const& pad           = member.team_scratch(0);
    auto* const tile          = static_cast<Scalar*>(pad.get_shmem_aligned(bytes_of_tile, row_alignment));
    auto* const matrix        = static_cast<Scalar*>(pad.get_shmem_aligned(bytes_of_matrix, row_alignment));
    int const rank            = W.extent_int(0);
    int const thread          = member.team_rank();
    count_t const begin       = member.league_rank() * chunk;
    count_t const end         = Kokkos::min(A.extent(0), begin + chunk);

    for (int e = thread; e < Block * Block; e += team) {
      int const i            = e / Block;
      int const j            = e % Block;
      matrix[i * stride + j] = i < rank && j < rank ? W(i, j) : Scalar(0);
    }
    double sum[sums_each] = {};
    double product        = 0;
    for (count_t first = begin; first < end; first += tile_rows) {
      load_tile(tile, first, end, rank, thread);
      member.team_barrier();
      Part part[workers_each];
      for (int w = 0; w < workers_each; ++w) {
        int const worker = thread + w * team;
        if (worker >= workers) break;
        part[w] = multiply_tile(tile, matrix, worker);
        if (inner.is_wanted()) product += add_inner_product(tile, part[w], worker, rank);
      }
      member.team_barrier();
      for (int w = 0; w < workers_each; ++w)
        if (thread + w * team < workers) store_tile(tile, part[w], thread + w * team, first, end, rank);
      member.team_barrier();
      for (int w = 0; w < workers_each; ++w)
        if (thread + w * team < workers) part[w] = sum_parts(tile, thread + w * team);
      member.team_barrier();
      add_splits(member, tile, part, sum, thread);
      member.team_barrier();
    }
    store_sums(member, tile, sum, product, thread);
  }

  /// Loads V's rows, with zeros beyond the last row. A thread starts several loads before it stores the
  /// first.
  KOKKOS_FORCEINLINE_FUNCTION void load_tile(Scalar* tile, count_t first, count_t end, int rank,
                                             int thread) const {
    constexpr int in_row = Block / pack;
    constexpr int packs  = tile_rows * in_row;
    constexpr int batch  = 8;
    for (int begin = thread; begin < packs; begin += batch * team) {
      Pack16 entry[batch];
      unrolled<batch>([&](auto q) {
        int const e       = begin + q * team;
        int const column  = e % in_row * pack;
        count_t const row = first + (e / in_row);
        entry[q]          = Pack16{};
        if (e < packs && row < end && column < rank) entry[q] = read_columns(row, column, rank);
      });
      unrolled<batch>([&](auto q) {
        int const e      = begin + q * team;
        int const column = e % in_row * pack;
        unrolled<pack>([&](auto c) {
          if (column + c >= rank) entry[q].element[c] = Scalar(0);
        });
        if (e < packs) *reinterpret_cast<Pack16*>(tile + e / in_row * stride + column) = entry[q];
      });
    }
  }
  /// A pack of V. Only packed rows are padded to whole packs. The entries beyond column R are zeroed later,
  /// since inspecting them here would delay the next reads.
  KOKKOS_FORCEINLINE_FUNCTION Pack16 read_columns(count_t row, int column, int rank) const {
    Scalar const* const at = V.data() + row * V.stride(0) + column;
    if constexpr (takes_packed_rows<Space>) return read(at);
    Pack16 result{};
    for (int e = 0; e < pack && column + e < rank; ++e) result.element[e] = at[e];
    return result;
  }

  KOKKOS_FORCEINLINE_FUNCTION Part multiply_tile(Scalar const* tile, Scalar const* matrix, int worker) const {
    int const c = worker % side;
    Part part{};
    for (int k = 0; k < Block; k += pack) {
      Pack16 v[height];
      unrolled<height>([&](auto h) { v[h] = read(tile + row_of(worker, h) * stride + k); });
      unrolled<pack>([&](auto q) {
        Pack16 w[width / pack];
        unrolled<width / pack>(
            [&](auto p) { w[p] = read(matrix + (k + q) * stride + column_of(c, p * pack)); });
        unrolled<height>([&](auto h) {
          unrolled<width>(
              [&](auto e) { part.entry[h][e] += v[h].element[q] * w[e / pack].element[e % pack]; });
        });
      });
    }
    return part;
  }

  /// The weighted sum of V(i, r) A(i, r) over a part. In double, because products of floats may leave their
  /// range.
  KOKKOS_FORCEINLINE_FUNCTION double add_inner_product(Scalar const* tile, Part const& part, int worker,
                                                       int rank) const {
    int const c = worker % side;
    double sum  = 0;
    unrolled<width / pack>([&](auto p) {
      double dot[pack] = {};
      unrolled<height>([&](auto h) {
        Pack16 const v = read(tile + row_of(worker, h) * stride + column_of(c, p * pack));
        unrolled<pack>([&](auto e) {
          dot[e] += static_cast<double>(v.element[e]) * static_cast<double>(part.entry[h][p * pack + e]);
        });
      });
      unrolled<pack>([&](auto e) {
        int const r = column_of(c, p * pack + e);
        if (r < rank) sum += inner.weights(r) * dot[e];
      });
    });
    return sum;
  }

  KOKKOS_FORCEINLINE_FUNCTION void store_tile(Scalar* tile, Part const& part, int worker, count_t first,
                                              count_t end, int rank) const {
    int const c = worker % side;
    unrolled<height>([&](auto h) {
      int const i       = row_of(worker, h);
      count_t const row = first + i;
      Scalar* const to  = A.data() + row * A.stride(0);
      unrolled<width / pack>([&](auto p) {
        int const j = column_of(c, p * pack);
        Pack16 entry;
        unrolled<pack>([&](auto e) { entry.element[e] = part.entry[h][p * pack + e]; });
        *reinterpret_cast<Pack16*>(tile + i * stride + j) = entry;
        if (row >= end) return;
        if (takes_packed_rows<Space> && j + pack <= rank)
          *reinterpret_cast<Pack16*>(to + j) = entry;
        else
          for (int e = 0; e < pack && j + e < rank; ++e) to[j + e] = entry.element[e];
      });
    });
  }

  /// A part of G over the rows of a worker's split.
  KOKKOS_FORCEINLINE_FUNCTION Part sum_parts(Scalar const* tile, int worker) const {
    Place const at    = place_of(worker % gram_parts);
    Scalar const* row = tile + worker / gram_parts * split_rows * stride;
    Part part{};
    for (int t = 0; t < split_rows; ++t, row += stride) {
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

  /// Adds the sums of the splits. The pad holds the parts entry by entry, each entry for all workers.
  template <class Member>
  KOKKOS_FORCEINLINE_FUNCTION void add_splits(Member const& member, Scalar* pad,
                                              Part const (&part)[workers_each], double (&sum)[sums_each],
                                              int thread) const {
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
      Scalar const* const of_split = pad + s / gram_parts * workers + s % gram_parts;
      for (int split = 0; split < splits; ++split) sum[q] += of_split[split * gram_parts];
    }
  }

  template <class Member>
  KOKKOS_FORCEINLINE_FUNCTION void store_sums(Member const& member, Scalar* pad,
                                              double const (&sum)[sums_each], double product,
                                              int thread) const {
    for (int q = 0; q < sums_each; ++q) {
      int const s = thread + q * team;
      if (s >= sums) break;
      Place const at = place_of(s % gram_parts);
      int const e    = s / gram_parts;
      int const i    = at.i * height + e / width;
      int const j    = at.j * width + e % width;
      if (j <= i && i < partials.extent_int(1)) partials(member.league_rank(), i, j) = sum[q];
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

template <int Block, class Space, class Scalar>
void update_and_sum(Space const& space, FactorMatrix<Scalar, Space> const& V,
                    FactorMatrix<Scalar, Space> const& W, FactorMatrix<Scalar, Space> const& A,
                    GramWorkspace<Space> const& workspace, GramMatrix<Space> const& G,
                    InnerProductSums<Space> const& inner) {
  using Kernel = UpdateFactor<Space, Scalar, Block>;
  expect_packed_rows<Scalar, Space>(V);
  expect_packed_rows<Scalar, Space>(A);
  // A chunk is one tile at least.
  count_t const tiles = ceil_div(std::max<count_t>(A.extent(0), 1), Kernel::tile_rows);
  // All teams are resident at once, because a second round would leave the machine half empty.
  count_t const resident = chunks_at_a_time(space, Kernel::Shape::teams);
  count_t const chunks   = std::min({tiles, resident, count_t(workspace.partials().extent(0))});
  using Policy           = TeamPolicy<Space, Kokkos::LaunchBounds<Kernel::team, Kernel::Shape::teams>>;
  Policy policy(space, static_cast<int>(chunks), Kernel::team, 1);
  policy.set_scratch_size(0, Kokkos::PerTeam(Kernel::pad_bytes));
  detail::launch("polyad::update_factor", policy,
                 Kernel{V, W, A, workspace.partials(), inner, ceil_div(tiles, chunks) * Kernel::tile_rows});
  sum_chunks(space, workspace, G, chunks, inner);
}

/// R up to 32, where W and a tile fit the scratch pad together.
template <class Space, class Scalar>
void update_factor_by(FusedUpdate, Space const& space, FactorMatrix<Scalar, Space> const& V,
                      FactorMatrix<Scalar, Space> const& W, FactorMatrix<Scalar, Space> const& A,
                      GramWorkspace<Space> const& workspace, GramMatrix<Space> const& G,
                      InnerProductSums<Space> const& inner = {}) {
  with_block<8>(W.extent(0),
                [&](auto block) { update_and_sum<block()>(space, V, W, A, workspace, G, inner); });
}

template <class Space, class Scalar>
void update_factor_by(SeparateUpdate, Space const& space, FactorMatrix<Scalar, Space> const& V,
                      FactorMatrix<Scalar, Space> const& W, FactorMatrix<Scalar, Space> const& A,
                      GramWorkspace<Space> const& workspace, GramMatrix<Space> const& G,
                      InnerProductSums<Space> const& inner = {}, Squares squares = Squares::in_range) {
  solve_rows(space, V, W, A);
  gram(space, A, workspace, G, squares);
  if (inner.is_wanted()) inner_product_of(space, V, A, inner);
}

/// A (I x R) = V (I x R) W (R x R) and G (R x R) = A' A. If `inner` is requested, also the sum over all i and
/// r of weights(r) V(i, r) A(i, r). For floats, the squares of A's entries must be in the range of floats:
/// the single pass forms them in float. Launches on `space` and returns without waiting.
/// \throws UsageError when shapes do not match
template <class Space, class Scalar>
void update_factor(Space const& space, FactorMatrix<Scalar, Space> const& V,
                   FactorMatrix<Scalar, Space> const& W, FactorMatrix<Scalar, Space> const& A,
                   GramWorkspace<Space> const& workspace, GramMatrix<Space> const& G,
                   InnerProductSums<Space> const& inner = {}) {
  count_t const rank = W.extent(0);
  POLYAD_EXPECTS(W.extent(1) == rank && V.extent(1) == rank && A.extent(1) == rank &&
                     A.extent(0) == V.extent(0) && G.extent(0) == rank && G.extent(1) == rank,
                 "V is ", V.extent(0), " x ", V.extent(1), ", W is ", rank, " x ", W.extent(1), ", A is ",
                 A.extent(0), " x ", A.extent(1), " and G is ", G.extent(0), " x ", G.extent(1));
  POLYAD_EXPECTS(!inner.is_wanted() || inner.weights.extent(0) == rank, inner.weights.extent(0),
                 " weights for the rank ", rank);
  workspace.expect_rank(rank);
  with_update_strategy<Space, Scalar>(V.extent(0), rank, inner.is_wanted(), [&](auto strategy) {
    update_factor_by(strategy, space, V, W, A, workspace, G, inner);
  });
}

#define POLYAD_UPDATE_FACTOR(Scalar)                                                                         \
  template void update_factor(                                                                               \
      Kokkos::DefaultExecutionSpace const&, FactorMatrix<Scalar, Kokkos::DefaultExecutionSpace> const&,      \
      FactorMatrix<Scalar, Kokkos::DefaultExecutionSpace> const&,                                            \
      FactorMatrix<Scalar, Kokkos::DefaultExecutionSpace> const&,                                            \
      GramWorkspace<Kokkos::DefaultExecutionSpace> const&, GramMatrix<Kokkos::DefaultExecutionSpace> const&, \
      InnerProductSums<Kokkos::DefaultExecutionSpace> const&)
POLYAD_EACH_SCALAR(extern, POLYAD_UPDATE_FACTOR);

}  // namespace polyad::detail
