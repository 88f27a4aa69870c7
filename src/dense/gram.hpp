// SPDX-License-Identifier: BSD-3-Clause
// gram: G = A' A for a tall matrix A (I x R), always summed in double. dense_tuning.hpp selects the strategy
// for a machine.
//
// GramByRows, in this file, reads A once. A is cut into chunks of rows, one for each team. The team loads its
// chunk into the scratch pad, one tile at a time. It sums the chunk's lower triangle, several rows of a block
// at a time in registers. The triangles are then summed in a fixed order, so the result does not depend on
// timing. On hosts several teams share a chunk if there are fewer chunks than threads: each sums some parts
// of the triangle. Bytes: I R s_r + chunks R^2 8. Flops: I R^2.
#pragma once

#include <Kokkos_Core.hpp>
#include <algorithm>

#include "dense/blas.hpp"
#include "dense/dense_tuning.hpp"
#include "dense/inner_product.hpp"
#include "kernel/launch.hpp"
#include "kernel/launch_shape.hpp"
#include "polyad/core/instances.hpp"
#include "polyad/kernel/machine.hpp"
#include "polyad/kernel/rank_dispatch.hpp"
#include "polyad/kernel/row_form.hpp"
#include "polyad/kernel/tiny_vec.hpp"
#include "polyad/kernel/unrolled.hpp"
#include "polyad/tensor/factor_matrices.hpp"

namespace polyad::detail {

/// R x R matrix in double on the device of Space: a Gram matrix.
template <class Space>
using GramMatrix = Kokkos::View<double**, Kokkos::LayoutRight, typename Space::device_type>;

/// Scratch of gram for one rank: the chunks' own sums, chunks x rows x columns, both padded.
template <class Space>
class GramWorkspace {
public:
  using partials_type = Kokkos::View<double***, Kokkos::LayoutRight, typename Space::device_type>;

  /// \throws MemoryError before allocating
  GramWorkspace(Space const& space, count_t rank) {
    count_t const rows    = padded_rows(rank);
    count_t const columns = padded_columns(rank);
    count_t const bytes   = checked_product("the Gram matrix's partial sums", rows * columns, sizeof(double));
    count_t const chunks  = partial_sums(space, bytes);
    expect_fits(space, "the Gram matrix's partial sums", chunks, bytes);
    m_partials = partials_type(uninitialized(space, "polyad::gram_partials"), chunks, rows, columns);
  }
  [[nodiscard]] partials_type const& partials() const { return m_partials; }

  /// Throws UsageError unless the workspace was made for this rank.
  void expect_rank(count_t rank) const {
    POLYAD_EXPECTS(m_partials.extent(1) == padded_rows(rank) && m_partials.extent(2) == padded_columns(rank),
                   "the workspace of a Gram matrix was made for another rank than ", rank);
  }

  /// Columns of the blocks that G is cut into.
  static int block(count_t rank) { return std::min(block_for(rank), widest_gram_block<Space>); }
  /// R rounded up to whole blocks of columns.
  static count_t padded_columns(count_t rank) {
    count_t const columns = block(rank);
    return ceil_div(rank, columns) * columns;
  }
  /// R rounded up to the most rows that a thread sums at the same time.
  static count_t padded_rows(count_t rank) {
    count_t const height = most_gram_rows<Space>(rank);
    return ceil_div(rank, height) * height;
  }

private:
  partials_type m_partials;
};

template <class Space, class Scalar, int Block>
struct GramOfChunk {
  using Row                   = TinyVec<Space, double, Block>;
  static constexpr int height = rows_at_once<Row>(4);  // rows of G that a thread sums
  FactorMatrix<Scalar, Space> matrix;
  typename GramWorkspace<Space>::partials_type partials;
  count_t chunk;  // rows of A in a chunk
  int tile_rows;
  int scratch_level;
  int teams = 1;  // that share a chunk; each sums some parts of the triangle. One on a device

  /// The chunk of a team, and the team's number among those of the chunk.
  template <class Member>
  [[nodiscard]] KOKKOS_FUNCTION int chunk_of(Member const& member) const {
    return shares_gram_chunks<Space> ? member.league_rank() / teams : member.league_rank();
  }
  template <class Member>
  [[nodiscard]] KOKKOS_FUNCTION int number_in_chunk(Member const& member) const {
    return shares_gram_chunks<Space> ? member.league_rank() % teams : 0;
  }
  /// Bytes of scratch for a tile of rows x columns doubles whose rows start at multiples of 16 bytes.
  static count_t scratch_bytes(count_t rows, count_t columns) {
    return rows * columns * sizeof(double) + row_alignment;
  }

  [[nodiscard]] KOKKOS_FUNCTION int columns() const { return partials.extent_int(2); }
  /// The tile in a team's scratch memory.
  template <class Member>
  [[nodiscard]] KOKKOS_FUNCTION double* make_tile(Member const& member) const {
    return static_cast<double*>(
        member.team_scratch(scratch_level)
            .get_shmem_aligned(static_cast<std::ptrdiff_t>(tile_rows * columns()) * sizeof(double),
                               row_alignment));
  }

  /// Copies `rows` rows of A, from number `first` on, to the tile, and adds their sums to the chunk's own.
  /// The first tile of a chunk sets these.
  template <class Member>
  KOKKOS_FUNCTION void add_tile(Member const& member, double* tile, count_t first, int rows,
                                bool is_first) const {
    int const rank       = matrix.extent_int(1);
    int const width      = columns();
    int const per_block  = partials.extent_int(1) / height;
    int const number     = number_in_chunk(member);
    double* const output = &partials(chunk_of(member), 0, 0);
    Kokkos::parallel_for(Kokkos::TeamThreadRange(member, rows), [&](int const t) {
      Scalar const* const source = &matrix(first + t, 0);
      double* const target       = tile + t * width;
      Kokkos::parallel_for(Kokkos::ThreadVectorRange(member, rank),
                           [&](int const r) { target[r] = source[r]; });
      Kokkos::parallel_for(Kokkos::ThreadVectorRange(member, rank, width),
                           [&](int const r) { target[r] = 0; });
    });
    member.team_barrier();
    Kokkos::parallel_for(Kokkos::TeamThreadRange(member, per_block * (width / Block)), [&](int const item) {
      int const k     = item % per_block * height;
      int const block = item / per_block * Block;
      if (block > k + height - 1) return;  // above the diagonal
      if (shares_gram_chunks<Space> && item % teams != number) return;
      Kokkos::parallel_for(Kokkos::ThreadVectorRange(member, Row::lanes), [&](int const lane) {
        Columns const own{Row::columns(block, width, lane).first, Row::width};  // blocks are whole
        Row sum[height];
        unrolled<height>([&](auto h) { sum[h] = is_first ? Row(0.0) : Row(output + (k + h) * width, own); });
        for (int t = 0; t < rows; ++t) {
          Row const row(tile + t * width, own);
          unrolled<height>([&](auto h) { sum[h].multiply_add(tile[t * width + k + h], row); });
        }
        unrolled<height>([&](auto h) { sum[h].store(output + (k + h) * width, own); });
      });
    });
    member.team_barrier();
  }

  /// Calls f(first, rows) for each tile of the chunk, at least once.
  template <class Member, class F>
  KOKKOS_FUNCTION void for_each_tile(Member const& member, F const& f) const {
    count_t const begin = chunk_of(member) * chunk;
    count_t const end   = Kokkos::min(matrix.extent(0), begin + chunk);
    for (count_t first = begin; first == begin || first < end; first += tile_rows)
      f(first, first < end ? static_cast<int>(Kokkos::min<count_t>(end - first, tile_rows)) : 0);
  }

  template <class Member>
  KOKKOS_FUNCTION void operator()(Member const& member) const {
    double* const tile  = make_tile(member);
    count_t const begin = chunk_of(member) * chunk;
    for_each_tile(member,
                  [&](count_t first, int rows) { add_tile(member, tile, first, rows, first == begin); });
  }
};

/// G(i, j) = G(j, i) = sum over the chunks, always in the same order. One more team sums an inner product.
template <class Space>
struct SumOfChunks {
  typename GramWorkspace<Space>::partials_type partials;
  GramMatrix<Space> gram;
  InnerProductSums<Space> inner;
  count_t chunks;

  template <class Member>
  KOKKOS_FUNCTION void operator()(Member const& member) const {
    int const i = member.league_rank();
    if (i == gram.extent_int(0)) {
      Kokkos::single(Kokkos::PerTeam(member), [&] {
        double sum = 0;
        for (count_t c = 0; c < chunks; ++c) sum += inner.partials(c);
        inner.result(0) = sum;
      });
      return;
    }
    Kokkos::parallel_for(Kokkos::TeamThreadRange(member, i + 1), [&](int const j) {
      double sum = 0;
      Kokkos::parallel_reduce(
          Kokkos::ThreadVectorRange(member, chunks),
          [&](count_t const c, double& partial) { partial += partials(c, i, j); }, sum);
      Kokkos::single(Kokkos::PerThread(member), [&] { gram(i, j) = gram(j, i) = sum; });
    });
  }
};

/// G, and the inner product if there is one, from the chunks' sums.
template <class Space>
void sum_chunks(Space const& space, GramWorkspace<Space> const& workspace, GramMatrix<Space> const& G,
                count_t chunks, InnerProductSums<Space> const& inner = {}) {
  LaunchShape const shape = launch_shape<Space>(G.extent(0) + (inner.is_wanted() ? 1 : 0), 8, 32);
  Kokkos::parallel_for("polyad::gram_sum", team_policy(space, shape),
                       SumOfChunks<Space>{workspace.partials(), G, inner, chunks});
}

/// The kernel for the given number of chunks.
template <class Space, class Scalar, int Block>
GramOfChunk<Space, Scalar, Block> make_gram_of_chunk(FactorMatrix<Scalar, Space> const& matrix,
                                                     GramWorkspace<Space> const& workspace, count_t chunks) {
  constexpr int pad_bytes   = 32 * 1024;  // a tile's share of the scratch pad, leaving room for more teams
  constexpr int level_bytes = 96 * 1024;  // beyond it scratch comes from global memory
  int const row_bytes       = static_cast<int>(workspace.partials().extent(2) * sizeof(double));
  int const tile_rows       = std::clamp(pad_bytes / row_bytes, 4, 64);
  return {matrix, workspace.partials(), ceil_div(matrix.extent(0), chunks), tile_rows,
          tile_rows * row_bytes > level_bytes ? 1 : 0};
}

/// Chunks of A's rows. One of fewer than 32 rows would spend most of its time on the partial sums.
template <class Space>
count_t gram_chunks(count_t rows, GramWorkspace<Space> const& workspace) {
  return std::clamp<count_t>(rows / 32, 1, workspace.partials().extent(0));
}

/// Teams that share a chunk, so that all threads of a host have work. A team sums at least 16 parts of the
/// triangle's square. Each entry is summed in the same order, whatever the number of teams.
template <class Space, class Kernel>
int gram_teams(Space const& space, Kernel const& kernel, count_t chunks) {
  if (!shares_gram_chunks<Space>) return 1;
  count_t const parts =
      kernel.partials.extent(1) / Kernel::height * (kernel.partials.extent(2) / Kernel::Row::block);
  return static_cast<int>(
      std::clamp<count_t>(ceil_div(4 * multiprocessors(space), chunks), 1, std::max<count_t>(parts / 16, 1)));
}

/// The given number of teams, with the kernel's scratch.
template <class Space, class Kernel>
auto gram_policy(Space const& space, Kernel const& kernel, count_t teams) {
  constexpr int lanes = Kernel::Row::lanes;
  auto policy         = team_policy(space, LaunchShape{teams, team_threads<Space>(lanes), lanes});
  policy.set_scratch_size(kernel.scratch_level,
                          Kokkos::PerTeam(Kernel::scratch_bytes(kernel.tile_rows, kernel.columns())));
  return policy;
}

template <class Space, class Scalar, int Block>
void gram_of_chunks(Space const& space, FactorMatrix<Scalar, Space> const& matrix,
                    GramWorkspace<Space> const& workspace, count_t chunks) {
  auto kernel  = make_gram_of_chunk<Space, Scalar, Block>(matrix, workspace, chunks);
  kernel.teams = gram_teams(space, kernel, chunks);
  detail::launch("polyad::gram_of_chunks", gram_policy(space, kernel, chunks * kernel.teams), kernel);
}

template <class Space, class Scalar>
void gram_by(GramByParts, Space const& space, FactorMatrix<Scalar, Space> const& A,
             GramWorkspace<Space> const& workspace, GramMatrix<Space> const& G);  // dense/gram_by_parts.hpp
template <class Space>
void gram_by(GramInFloats, Space const& space, FactorMatrix<float, Space> const& A,
             GramWorkspace<Space> const& workspace, GramMatrix<Space> const& G);  // dense/gram_by_parts.hpp

template <class Space, class Scalar>
void gram_by(GramByRows, Space const& space, FactorMatrix<Scalar, Space> const& A,
             GramWorkspace<Space> const& workspace, GramMatrix<Space> const& G) {
  count_t const chunks = gram_chunks(A.extent(0), workspace);
  int const block      = GramWorkspace<Space>::block(A.extent(1));
  if constexpr (widest_gram_block<Space> == 32) {
    if (block == 32) gram_of_chunks<Space, Scalar, 32>(space, A, workspace, chunks);
  }
  if (block == 16) gram_of_chunks<Space, Scalar, 16>(space, A, workspace, chunks);
  if (block == 8) gram_of_chunks<Space, Scalar, 8>(space, A, workspace, chunks);
  if (block == 4) gram_of_chunks<Space, Scalar, 4>(space, A, workspace, chunks);
  sum_chunks(space, workspace, G, chunks);
}

/// G(j, i) = G(i, j) for j < i: a BLAS may sum the two in different orders.
template <class Space>
struct MirrorLowerTriangle {
  GramMatrix<Space> gram;
  KOKKOS_FUNCTION void operator()(count_t e) const {
    count_t const i = e / gram.extent(1);
    count_t const j = e % gram.extent(1);
    if (j < i) gram(j, i) = gram(i, j);
  }
};

template <class Space>
void gram_by(GramByBlas, Space const& space, FactorMatrix<double, Space> const& A,
             GramWorkspace<Space> const& /*workspace*/, GramMatrix<Space> const& G) {
  if (A.extent(0) == 0) return Kokkos::deep_copy(space, G, 0.0);
  blas_gram(space, A, G);
  Kokkos::parallel_for("polyad::gram_mirror",
                       Kokkos::RangePolicy<Space, Kokkos::IndexType<count_t>>(space, 0, G.size()),
                       MirrorLowerTriangle<Space>{G});
}

/// G = A' A (R x R), in double. Launches on `space` and returns without waiting.
/// \param squares  whether squares of A's entries are known to lie in the range of Scalar
template <class Space, class Scalar>
void gram(Space const& space, FactorMatrix<Scalar, Space> const& matrix,
          GramWorkspace<Space> const& workspace, GramMatrix<Space> const& G,
          Squares squares = Squares::in_any_range) {
  POLYAD_EXPECTS(G.extent(0) == matrix.extent(1) && G.extent(1) == matrix.extent(1), "the Gram matrix is ",
                 G.extent(0), " x ", G.extent(1), ", not R x R with R = ", matrix.extent(1));
  workspace.expect_rank(matrix.extent(1));
  with_gram_strategy<Space, Scalar>(matrix.extent(0), matrix.extent(1), squares,
                                    [&](auto strategy) { gram_by(strategy, space, matrix, workspace, G); });
}

#define POLYAD_GRAM(Scalar)                                                            \
  template void gram(CompiledSpace const&, FactorMatrix<Scalar, CompiledSpace> const&, \
                     GramWorkspace<CompiledSpace> const&, GramMatrix<CompiledSpace> const&, Squares)
POLYAD_EACH_SCALAR(extern, POLYAD_GRAM);

}  // namespace polyad::detail
