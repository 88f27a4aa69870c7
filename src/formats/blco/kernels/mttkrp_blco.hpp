// SPDX-License-Identifier: BSD-3-Clause
// The contract's mttkrp for BLCO: the launches that compute it, by the resolution of the mode's conflicts.
#pragma once

#include <Kokkos_Core.hpp>
#include <algorithm>

#include "formats/blco/build/resolve_blco.hpp"
#include "formats/blco/costs/blco_tuning.hpp"
#include "formats/blco/kernels/merge/merge_copies.hpp"
#include "formats/blco/kernels/merge/merge_long_rows.hpp"
#include "formats/blco/kernels/merge/private_output.hpp"
#include "formats/blco/kernels/mttkrp_blco_chunks.hpp"
#include "formats/blco/kernels/mttkrp_blco_tiles.hpp"
#include "formats/blco/kernels/nonzero_terms.hpp"
#include "formats/blco/storage/blco.hpp"
#include "formats/blco/storage/blco_tiles.hpp"
#include "kernel/launch.hpp"
#include "kernel/launch_shape.hpp"
#include "polyad/core/error.hpp"
#include "polyad/core/instances.hpp"
#include "polyad/core/spaces.hpp"
#include "polyad/core/types.hpp"
#include "polyad/formats/format.hpp"
#include "polyad/kernel/chunk_walk.hpp"
#include "polyad/kernel/other_factors.hpp"
#include "polyad/kernel/rank_dispatch.hpp"
#include "polyad/kernel/row_form.hpp"
#include "polyad/kernel/tiny_vec.hpp"
#include "polyad/tensor/factor_matrices.hpp"

namespace polyad::detail {

/// V, or its copies.
template <class Scalar>
struct BlcoOutput {
  Scalar* data;
  count_t stride;
  count_t rows;  // I_n
  int mode;
};

/// The orders that kernels are compiled for: 3, 4 and any.
template <int Order>
inline constexpr int blco_order = Order == 5 ? any_order : Order;

/// One launch over the tiles: V, or one of its copies, += the terms.
template <class Kernel, class Space, class Nonzeros, class Factors, class Output, class Term>
void launch_tiles(Space const& space, Nonzeros const& nonzeros, BlcoOptions const& options,
                  Factors const& factors, BlcoResolution const& resolution, ColumnBlocks blocks,
                  Output const& output, Term const& term) {
  int const order = nonzeros.encoding.order();
  TileShape const shape =
      tile_shape<Kernel>(space, nonzeros.nnz, order, output.rows, blocks, options.tile, options.team);
  count_t const tiles  = ceil_div(nonzeros.nnz, shape.tile);
  count_t const league = ceil_div(tiles, shape.tiles_per_team) * (blocks.count / shape.blocks_per_team);
  auto const bytes     = shape.bytes(Kernel::nonzero_bytes(order), sizeof(typename Kernel::Scalar));
  using Bounds         = Kokkos::LaunchBounds<blco_team_threads, Kernel::resident_teams>;
  auto policy          = team_policy<Bounds>(space, {league, shape.team, Kernel::Row::lanes});
  policy.set_scratch_size(0, Kokkos::PerTeam(bytes));
  detail::launch("polyad::mttkrp_blco_tiles", policy,
                 Kernel{nonzeros, factors, output.mode, shape, blocks, output.data, output.stride,
                        std::max<count_t>(resolution.copies, 1), output.rows, term});
}

/// The same. If the conflicts are resolved by a stash, it is in the teams' scratch memory.
template <class Row, int Order, class Space, class Scalar, class Index, class Term>
void add_tiles(Space const& space, BlcoNonzeros<Scalar, Index> const& nonzeros, BlcoOptions const& options,
               FactorMatrices<Scalar, Space> const& factors, BlcoResolution const& resolution,
               ColumnBlocks blocks, BlcoOutput<Scalar> const& output, Term const& term) {
  OtherFactors<Scalar, Order> const others(factors, output.mode);
  if (resolution.kind == Resolution::hierarchical)
    launch_tiles<MttkrpBlcoTiles<Row, Index, Order, true, Term>>(space, nonzeros, options, others, resolution,
                                                                 blocks, output, term);
  else
    launch_tiles<MttkrpBlcoTiles<Row, Index, Order, false, Term>>(space, nonzeros, options, others,
                                                                  resolution, blocks, output, term);
}

/// The walk over chunks: sets V and the chunks' copied rows to the terms of the nonzeros, then adds the
/// copies to V. The nonzeros are X's, possibly with other values.
template <class Row, int Order, class Space, class Scalar, class Index, class Term>
void launch_chunks(Space const& space, Blco<Scalar, Index, Space> const& X,
                   BlcoNonzeros<Scalar, Index> const& nonzeros, FactorMatrices<Scalar, Space> const& factors,
                   int mode, ColumnBlocks blocks, BlcoWorkspace<Scalar, Space> const& workspace,
                   FactorMatrix<Scalar, Space> const& V, Term const& term) {
  using Kernel         = MttkrpBlcoChunks<Row, Index, Order, Term>;
  auto const& own      = X.chunks().private_rows();
  bool const is_copied = own.copied_rows(mode) > 0;
  PrivateOutput<Scalar> const output{
      RowsAt<Scalar>(V), is_copied ? RowsAt<Scalar>(workspace.copies) : RowsAt<Scalar>(), own.of(mode)};
  auto const long_rows = X.chunks().long_rows().template sums<Scalar>(mode, workspace.long_rows);
  clear_private_output<Space, Scalar, Row::block>(space, output, V.extent(0), own.chunks(), blocks);
  ChunkWalk const walks{own.chunks(), 1, blocks};
  detail::launch(
      "polyad::mttkrp_blco_chunks", walks.template policy<Row>(space),
      Kernel{nonzeros, OtherFactors<Scalar, Order>(factors, mode), mode, output, long_rows, walks, term});
  if (is_copied)
    merge_private_rows<Space, Scalar, Row::block>(space, output, own.chunks(), own.merged(mode), blocks);
}

/// Calls walk(), which launches the walks over chunks of all blocks of columns, between the steps for the
/// doubles of long rows.
template <class Space, class Scalar, class Index, class Walk>
void walk_all_chunks(Space const& space, Blco<Scalar, Index, Space> const& X, int mode,
                     BlcoWorkspace<Scalar, Space> const& workspace, FactorMatrix<Scalar, Space> const& V,
                     Walk const& walk) {
  auto const& long_rows = X.chunks().long_rows();
  clear_long_rows(space, long_rows.slots(mode), workspace.long_rows);
  walk();
  merge_long_rows(space, long_rows, mode, workspace.long_rows, V);
}

/// V = the sum of its copies, for some blocks of columns.
template <class Space, class Scalar, int Block>
void launch_merge(Space const& space, count_t copies, FactorMatrix<Scalar, Space> const& rows,
                  ColumnBlocks blocks, FactorMatrix<Scalar, Space> const& V) {
  using Kernel = MergeCopies<Space, Scalar, Block>;
  ChunkWalk const walks{V.extent(0), items_per_thread<Space>(1, 256), blocks};
  detail::launch("polyad::merge_copies", walks.template policy<typename Kernel::Row>(space),
                 Kernel{rows.data(), rows.stride(0), copies, V.data(), V.stride(0), walks});
}

/// The target of the tiles' sums: V, or its copies in the workspace.
template <class Scalar, class Space>
FactorMatrix<Scalar, Space> tile_target(BlcoResolution const& resolution,
                                        FactorMatrix<Scalar, Space> const& copies, count_t rank,
                                        FactorMatrix<Scalar, Space> const& V) {
  POLYAD_EXPECTS(
      resolution.copied_rows == 0 || (copies.extent(0) >= resolution.copied_rows && copies.extent(1) >= rank),
      "a workspace of ", copies.extent(0), " x ", copies.extent(1), " for copies of ", resolution.copied_rows,
      " x ", rank);
  if (resolution.copies == 0) return V;
  return Kokkos::subview(copies, Kokkos::make_pair(count_t(0), resolution.copied_rows), Kokkos::ALL);
}

/// Adds the products of `nonzeros` to `target`, with one launch per kind of column block. Does not wait.
template <class Scalar, class Index, class Space>
void add_tile_products(Space const& space, BlcoNonzeros<Scalar, Index> const& nonzeros,
                       BlcoOptions const& options, FactorMatrices<Scalar, Space> const& factors, int mode,
                       BlcoResolution const& resolution, FactorMatrix<Scalar, Space> const& target) {
  BlcoOutput<Scalar> const output{target.data(), target.stride(0), factors[mode].extent(0), mode};
  constexpr bool any_order_only = sizeof(Index) == 8;
  with_order<any_order_only>(factors.order(), [&](auto given) {
    constexpr int order = blco_order<given()>;
    for_each_column_block(checked_rank(factors.rank()), [&](auto block, ColumnBlocks blocks) {
      add_tiles<TinyVec<Space, Scalar, block()>, order>(space, nonzeros, options, factors, resolution, blocks,
                                                        output, ProductTerm());
    });
  });
}

/// V = the sum of its copies. Does not wait.
template <class Scalar, class Space>
void merge_copies(Space const& space, count_t copies, FactorMatrix<Scalar, Space> const& rows,
                  FactorMatrix<Scalar, Space> const& V) {
  if (V.extent(0) == 0) return;
  for_each_column_block(checked_rank(V.extent(1)), [&](auto block, ColumnBlocks blocks) {
    launch_merge<Space, Scalar, block()>(space, copies, rows, blocks, V);
  });
}

/// The MTTKRP with `values` in place of X's own, in their order.
template <class Space, class Scalar, class Index>
void mttkrp_with_values(Space const& space, Blco<Scalar, Index, Space> const& X, Scalar const* values,
                        FactorMatrices<Scalar, Space> const& factors, int mode,
                        BlcoWorkspace<Scalar, Space> const& workspace, FactorMatrix<Scalar, Space> const& V) {
  BlcoResolution const resolution = X.resolve(space, mode);
  auto const target = tile_target<Scalar, Space>(resolution, workspace.copies, factors.rank(), V);
  auto nonzeros     = X.blocks().nonzeros();
  nonzeros.values   = values;
  if constexpr (BlcoStrategy<Space>::has_chunks)
    if (resolution.is_chunked)
      return walk_all_chunks(space, X, mode, workspace, V, [&] {
        with_order<sizeof(Index) == 8>(X.extents().order(), [&](auto given) {
          for_each_wide_block<Scalar, blco_order<given()> == any_order>(
              checked_rank(factors.rank()), [&](auto block, ColumnBlocks blocks) {
                launch_chunks<TinyVec<Space, Scalar, block()>, blco_order<given()>>(
                    space, X, nonzeros, factors, mode, blocks, workspace, V, ProductTerm());
              });
        });
      });
  zero_matrix(space, target);
  add_tile_products(space, nonzeros, X.options(), factors, mode, resolution, target);
  if (resolution.copies > 0) merge_copies(space, resolution.copies, workspace.copies, V);
}

template <class Space, class Scalar, class Index>
void mttkrp(Space const& space, Blco<Scalar, Index, Space> const& X,
            FactorMatrices<Scalar, Space> const& factors, int mode, BlcoWorkspace<Scalar, Space>& workspace,
            FactorMatrix<Scalar, Space> const& V) {
  expect_mttkrp_arguments(X.extents(), factors, mode, V);
  workspace.made_for.expect(X.identity(), factors.rank(), X.name);
  if (X.nnz() == 0) return zero_matrix(space, V);
  detail::mttkrp_with_values<Space, Scalar, Index>(space, X, X.blocks().values.data(), factors, mode,
                                                   workspace, V);
}

// The residual sweep and streamed-blco call these too, and so their sources need not compile the kernels
// again.
#define POLYAD_BLCO_WITH_VALUES(Scalar, Index)                                                               \
  template void detail::mttkrp_with_values(CompiledSpace const&, Blco<Scalar, Index, CompiledSpace> const&,  \
                                           Scalar const*, FactorMatrices<Scalar, CompiledSpace> const&, int, \
                                           BlcoWorkspace<Scalar, CompiledSpace> const&,                      \
                                           FactorMatrix<Scalar, CompiledSpace> const&)
#define POLYAD_ADD_TILE_PRODUCTS(Scalar, Index)                                                             \
  template void detail::add_tile_products(CompiledSpace const&, BlcoNonzeros<Scalar, Index> const&,         \
                                          BlcoOptions const&, FactorMatrices<Scalar, CompiledSpace> const&, \
                                          int, BlcoResolution const&,                                       \
                                          FactorMatrix<Scalar, CompiledSpace> const&)
#define POLYAD_MERGE_COPIES(Scalar)                                              \
  template void detail::merge_copies(CompiledSpace const&, count_t,              \
                                     FactorMatrix<Scalar, CompiledSpace> const&, \
                                     FactorMatrix<Scalar, CompiledSpace> const&)
POLYAD_EACH_SCALAR_AND_INDEX(extern, POLYAD_BLCO_WITH_VALUES);
POLYAD_EACH_SCALAR_AND_INDEX(extern, POLYAD_ADD_TILE_PRODUCTS);
POLYAD_EACH_SCALAR(extern, POLYAD_MERGE_COPIES);

}  // namespace polyad::detail
