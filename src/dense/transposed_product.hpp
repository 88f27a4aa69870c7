// SPDX-License-Identifier: BSD-3-Clause
// transposed_product: D = scale A' G for two tall matrices A (I x J) and G (I x R), always summed in double.
// It gives the gradient of a FastTucker core matrix.
//
// As in gram (dense/gram.hpp), both matrices are read once. A team loads its chunk of rows into the scratch
// pad, one tile at a time. It sums the chunk's J x R numbers, several rows of a block at a time in registers.
// The chunks' sums are then added in a fixed order, so the result does not depend on timing. Bytes: I (J + R)
// s_r + chunks J R 8. Flops: 2 I J R. On a device, a BLAS computes wide products.
#pragma once

#include <Kokkos_Core.hpp>
#include <algorithm>
#include <type_traits>

#include "dense/blas.hpp"
#include "dense/dense_tuning.hpp"
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

/// The chunks' own sums, chunks x J x R, rounded up to whole blocks of columns.
template <class Space>
using TransposedProductWorkspace = Kokkos::View<double***, Kokkos::LayoutRight, typename Space::device_type>;

/// Scratch for matrices of at most J and R columns. \throws MemoryError
template <class Space>
TransposedProductWorkspace<Space> make_transposed_product_workspace(Space const& space, count_t J,
                                                                    count_t R) {
  count_t const rows    = ceil_div(J, 4) * 4;
  count_t const columns = ceil_div(R, full_block) * full_block;
  count_t const bytes   = checked_product("a core gradient's partial sums", rows * columns, sizeof(double));
  // A BLAS's floats take the room of one chunk for the sums and the rest for rows as doubles.
  count_t const least  = may_multiply_by_blas<Space> ? 2 : 1;
  count_t const chunks = std::max(partial_sums(space, bytes), least);
  expect_fits(space, "a core gradient's partial sums", chunks, bytes);
  return TransposedProductWorkspace<Space>(uninitialized(space, "polyad::transposed_product"), chunks, rows,
                                           columns);
}

/// The J x R sums of one team over tiles of rows: sums += A' G for the rows of A and G in the scratch pad. A
/// thread sums a few rows of a block at a time in registers. The sums of one tile are Scalars, those of all
/// tiles doubles.
template <class Space, class Scalar, int Block>
struct TileSums {
  using Row = TinyVec<Space, Scalar, Block>;
  /// Rows of the sums that a thread holds at the same time, and numbers of a row of A that it reads at once.
  static constexpr int height = transposed_rows<Space, Scalar>;
  static constexpr int pack   = transposed_pack<Space>;

  int J;  // rounded up to four: whole heights, and rows of the tile that begin at multiples of 16 bytes
  int R;  // rounded up to whole blocks

  TileSums(count_t columns_of_A, count_t columns_of_G)
      : J(static_cast<int>(ceil_div(columns_of_A, 4)) * 4),
        R(static_cast<int>(ceil_div(columns_of_G, Block)) * Block) {}

  /// All threads of the team call it, between two barriers. `first`: the sums begin with this tile.
  template <class Member>
  KOKKOS_FUNCTION void add(Member const& member, Scalar const* tile_A, Scalar const* tile_G, int rows,
                           bool first, double* sums, int stride) const {
    Kokkos::parallel_for(Kokkos::TeamThreadRange(member, J / height * (R / Block)), [&](int const item) {
      int const j     = item % (J / height) * height;
      int const block = item / (J / height) * Block;
      Kokkos::parallel_for(Kokkos::ThreadVectorRange(member, Row::lanes), [&](int const lane) {
        Columns const own{Row::columns(block, R, lane).first, Row::width};  // blocks are whole
        Row sum[height];
        unrolled<height>([&](auto h) { sum[h] = Row(Scalar(0)); });
        for (int t = 0; t < rows; ++t) {
          Row const row(tile_G + t * R, own);
          unrolled<height / pack>([&](auto p) {
            auto const a = *reinterpret_cast<Pack<Scalar, pack> const*>(tile_A + t * J + j + p * pack);
            unrolled<pack>([&](auto e) { sum[p * pack + e].multiply_add(a.element[e], row); });
          });
        }
        unrolled<height>([&](auto h) { add_to(sums + (j + h) * stride + own.first, sum[h], first); });
      });
    });
  }

  void expect_room(TransposedProductWorkspace<Space> const& workspace) const {
    POLYAD_EXPECTS(workspace.extent_int(1) >= J && workspace.extent_int(2) >= R,
                   "the workspace of a transposed product is too small");
  }

  /// Bytes of the given number of rows of both tiles.
  [[nodiscard]] KOKKOS_FUNCTION std::ptrdiff_t pad_bytes(int rows) const {
    return static_cast<std::ptrdiff_t>(rows) * (J + R) * sizeof(Scalar);
  }

private:
  /// Adds a lane's sums of one tile to those of all tiles.
  KOKKOS_FORCEINLINE_FUNCTION static void add_to(double* sums, Row tile, bool first) {
    constexpr Columns whole{0, Row::width};
    if constexpr (std::is_same_v<Scalar, double>) {
      if (!first) tile += Row(sums, whole);
      tile.store(sums, whole);
    } else {
      alignas(64) Scalar element[Row::width];
      tile.store(element, whole);
      for (int e = 0; e < Row::width; e += 2) {
        auto& total = *reinterpret_cast<Pack<double, 2>*>(sums + e);
        auto pair   = first ? Pack<double, 2>{{0, 0}} : total;
        pair.element[0] += element[e];
        pair.element[1] += element[e + 1];
        total = pair;
      }
    }
  }
};

template <class Space, class Scalar>
struct TransposedProductOfChunk {
  using Sums = TileSums<Space, double, 16>;  // in double whatever the matrices hold
  using Row  = typename Sums::Row;

  FactorMatrix<Scalar, Space> A;
  FactorMatrix<Scalar, Space> G;
  TransposedProductWorkspace<Space> partials;
  count_t chunk;  // rows of A and G
  Sums tile;
  int tile_rows;
  int scratch_level;

  /// Brings the rows first ... first + rows - 1 of a matrix into the pad, zeros right of its last column.
  template <class Member>
  KOKKOS_FUNCTION void fill(Member const& member, FactorMatrix<Scalar, Space> const& matrix, count_t first,
                            int rows, int width, double* target) const {
    int const columns = matrix.extent_int(1);
    Kokkos::parallel_for(Kokkos::TeamThreadRange(member, rows), [&](int const t) {
      Scalar const* const source = &matrix(first + t, 0);
      Kokkos::parallel_for(Kokkos::ThreadVectorRange(member, width),
                           [&](int const j) { target[t * width + j] = j < columns ? source[j] : 0.0; });
    });
  }

  template <class Member>
  KOKKOS_FUNCTION void operator()(Member const& member) const {
    count_t const begin  = member.league_rank() * chunk;
    count_t const end    = Kokkos::min(A.extent(0), begin + chunk);
    int const stride     = partials.extent_int(2);
    double* const output = &partials(member.league_rank(), 0, 0);
    auto* const tile_G   = static_cast<double*>(
        member.team_scratch(scratch_level).get_shmem_aligned(tile.pad_bytes(tile_rows), row_alignment));
    double* const tile_A = tile_G + tile_rows * tile.R;
    for (count_t first = begin; first == begin || first < end; first += tile_rows) {
      int const rows = first < end ? static_cast<int>(Kokkos::min<count_t>(end - first, tile_rows)) : 0;
      fill(member, A, first, rows, tile.J, tile_A);
      fill(member, G, first, rows, tile.R, tile_G);
      member.team_barrier();
      tile.add(member, tile_A, tile_G, rows, first == begin, output, stride);
      member.team_barrier();
    }
  }
};

/// D = scale times the sum over the chunks, always in the same order.
template <class Space, class Scalar>
struct AddChunks {
  TransposedProductWorkspace<Space> partials;
  count_t chunks;
  double scale;
  FactorMatrix<Scalar, Space> D;
  template <class Member>
  KOKKOS_FUNCTION void operator()(Member const& member) const {
    int const i = member.league_rank();
    Kokkos::parallel_for(Kokkos::TeamThreadRange(member, D.extent(1)), [&](count_t const j) {
      double sum = 0;
      Kokkos::parallel_reduce(
          Kokkos::ThreadVectorRange(member, chunks),
          [&](count_t const c, double& partial) { partial += partials(c, i, j); }, sum);
      Kokkos::single(Kokkos::PerThread(member), [&] { D(i, j) = static_cast<Scalar>(scale * sum); });
    });
  }
};

/// Gives each team of a launch the given bytes of scratch. Returns their level: 0 if they fit what a team may
/// use there, otherwise 1, global memory.
template <class Policy>
int set_pad(Policy& policy, std::ptrdiff_t bytes) {
  int const level = bytes > static_cast<std::ptrdiff_t>(device_team_scratch) ? 1 : 0;
  policy.set_scratch_size(level, Kokkos::PerTeam(bytes + row_alignment));
  return level;
}

/// D = scale times the sum of the first `chunks` partial sums. Launches on `space`.
template <class Space, class Scalar>
void add_sums(Space const& space, TransposedProductWorkspace<Space> const& workspace, count_t chunks,
              double scale, FactorMatrix<Scalar, Space> const& D) {
  LaunchShape const shape = launch_shape<Space>(D.extent(0), 8, 32);
  Kokkos::parallel_for("polyad::transposed_product_sum", team_policy(space, shape),
                       AddChunks<Space, Scalar>{workspace, chunks, scale, D});
}

/// The first partial sums = A' G by a BLAS of doubles, with the room of the others for rows as doubles.
template <class Space>
void blas_sums(Space const& space, FactorMatrix<float, Space> const& A, FactorMatrix<float, Space> const& G,
               TransposedProductWorkspace<Space> const& workspace) {
  count_t const chunk                    = workspace.extent(1) * workspace.extent(2);
  FactorMatrix<double, Space> const sums = Kokkos::subview(
      workspace, 0, Kokkos::make_pair(count_t(0), A.extent(1)), Kokkos::make_pair(count_t(0), G.extent(1)));
  Kokkos::View<double*, typename Space::device_type> const rest(workspace.data() + chunk,
                                                                workspace.size() - chunk);
  blas_transposed_product(space, A, G, rest, sums);
}

/// D (J x R) = scale A' G. Launches on `space` and returns without waiting. The result has the same bits in
/// every run on one device, and on hosts with any number of threads.
/// \throws UsageError when the shapes do not match
template <class Space, class Scalar>
void transposed_product(Space const& space, double scale, FactorMatrix<Scalar, Space> const& A,
                        FactorMatrix<Scalar, Space> const& G,
                        TransposedProductWorkspace<Space> const& workspace,
                        FactorMatrix<Scalar, Space> const& D) {
  POLYAD_EXPECTS(A.extent(0) == G.extent(0) && D.extent(0) == A.extent(1) && D.extent(1) == G.extent(1),
                 "A is ", A.extent(0), " x ", A.extent(1), ", G is ", G.extent(0), " x ", G.extent(1),
                 ", D is ", D.extent(0), " x ", D.extent(1), ": D = A' G has no meaning");
  if constexpr (may_multiply_by_blas<Space>)
    if (A.extent(0) > 0 && transposes_by_blas<Scalar>(A.extent(1), G.extent(1))) {
      if constexpr (std::is_same_v<Scalar, double>)
        return blas_transposed_product(space, scale, A, G, D);
      else {
        blas_sums(space, A, G, workspace);
        return add_sums(space, workspace, 1, scale, D);
      }
    }
  using Kernel        = detail::TransposedProductOfChunk<Space, Scalar>;
  constexpr int lanes = Kernel::Row::lanes;
  typename Kernel::Sums const tile(A.extent(1), G.extent(1));
  tile.expect_room(workspace);
  // A chunk of fewer than 32 rows would spend most of its time on the partial sums.
  count_t const chunks    = std::clamp<count_t>(A.extent(0) / 32, 1, workspace.extent(0));
  constexpr int pad_bytes = 32 * 1024;  // a tile's share of the scratch pad, leaving room for more teams
  int const tile_rows     = std::clamp(pad_bytes / static_cast<int>(tile.pad_bytes(1)), 4, 64);
  auto policy             = team_policy(space, LaunchShape{chunks, team_threads<Space>(lanes), lanes});
  int const level         = detail::set_pad(policy, tile.pad_bytes(tile_rows));
  detail::launch("polyad::transposed_product", policy,
                 Kernel{A, G, workspace, ceil_div(A.extent(0), chunks), tile, tile_rows, level});
  detail::add_sums(space, workspace, chunks, scale, D);
}

#define POLYAD_TRANSPOSED_PRODUCT(Scalar)                                                                    \
  template void transposed_product(CompiledSpace const&, double, FactorMatrix<Scalar, CompiledSpace> const&, \
                                   FactorMatrix<Scalar, CompiledSpace> const&,                               \
                                   TransposedProductWorkspace<CompiledSpace> const&,                         \
                                   FactorMatrix<Scalar, CompiledSpace> const&)
POLYAD_EACH_SCALAR(extern, POLYAD_TRANSPOSED_PRODUCT);

}  // namespace polyad::detail
