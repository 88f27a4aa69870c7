// SPDX-License-Identifier: BSD-3-Clause
// The residual sweep (the concept ResidualFormat of formats/format.hpp) on `blco`, for every mode from the
// one copy. It takes the walks of the MTTKRP over tiles or chunks (formats/blco/kernels/mttkrp_blco.hpp) and
// its resolution of conflicts, with e p in place of x p. A nonzero reads one more row than in the MTTKRP,
// C(k, :). Rows of more than 32 columns do not fit the registers. Their residuals are formed first and
// stored, and the MTTKRP takes them as values.
#pragma once

#include <Kokkos_Core.hpp>

#include "formats/blco/kernels/mttkrp_blco.hpp"
#include "formats/blco/kernels/nonzero_terms.hpp"
#include "formats/blco/storage/blco.hpp"
#include "formats/walks/form_residuals.hpp"
#include "polyad/core/spaces.hpp"
#include "polyad/core/types.hpp"
#include "polyad/formats/format.hpp"
#include "polyad/kernel/chunk_walk.hpp"
#include "polyad/kernel/other_factors.hpp"
#include "polyad/kernel/rank_dispatch.hpp"
#include "polyad/kernel/tiny_vec.hpp"
#include "polyad/kernel/whole_row_walk.hpp"
#include "polyad/tensor/factor_matrices.hpp"

namespace polyad::detail {

/// The nonzeros as form_residuals() reads them, one at a time: an index is a shift and a mask.
template <class Scalar, class Index>
struct BlcoSource {
  BlcoNonzeros<Scalar, Index> nonzeros;
  int mode;

  template <int Count>
  struct At {
    static_assert(Count == 1);
    count_t p;
    count_t block;
  };
  template <int Count>
  [[nodiscard]] KOKKOS_FORCEINLINE_FUNCTION At<Count> at(count_t p) const {
    return {p, nonzeros.block_of(p)};
  }
  [[nodiscard]] KOKKOS_FORCEINLINE_FUNCTION Index row(At<1> const& at, int) const {
    return nonzeros.index(at.p, at.block, mode);
  }
  [[nodiscard]] KOKKOS_FORCEINLINE_FUNCTION Scalar value(At<1> const& at, int) const {
    return nonzeros.values[at.p];
  }
  template <int Count>
  [[nodiscard]] KOKKOS_FORCEINLINE_FUNCTION Pack<Index, Count> indices(At<Count> const& at, int m) const {
    return {{nonzeros.index(at.p, at.block, m < mode ? m : m + 1)}};
  }
  [[nodiscard]] KOKKOS_FORCEINLINE_FUNCTION count_t position(count_t p) const { return p; }
};

/// The sweep of rows that fit the registers, in one walk.
template <class Space, class Scalar, class Index>
void residual_mttkrp_at_once(Space const& space, Blco<Scalar, Index, Space> const& X,
                             FactorMatrices<Scalar, Space> const& C, int mode,
                             BlcoWorkspace<Scalar, Space> const& workspace,
                             FactorMatrix<Scalar, Space> const& G) {
  int const rank                  = checked_rank(C.rank());
  auto const nonzeros             = X.blocks().nonzeros();
  BlcoResolution const resolution = X.resolve(space, mode);
  auto const target               = tile_target<Scalar, Space>(resolution, workspace.copies, C.rank(), G);
  ResidualTerm<Scalar> const term{C[mode].data(), C[mode].stride(0)};
  ColumnBlocks const blocks{0, 1, rank};
  if constexpr (BlcoStrategy<Space>::has_chunks)
    if (resolution.is_chunked)
      return walk_all_chunks(space, X, mode, workspace, G, [&] {
        with_block(rank, [&](auto block) {
          launch_chunks<TinyVec<Space, Scalar, block()>, any_order>(space, X, nonzeros, C, mode, blocks,
                                                                    workspace, G, term);
        });
      });
  zero_matrix(space, target);
  BlcoOutput<Scalar> const output{target.data(), target.stride(0), G.extent(0), mode};
  with_block(rank, [&](auto block) {
    add_tiles<TinyVec<Space, Scalar, block()>, any_order>(space, nonzeros, X.options(), C, resolution, blocks,
                                                          output, term);
  });
  if (resolution.copies > 0) merge_copies(space, resolution.copies, workspace.copies, G);
}

template <class Space, class Scalar, class Index>
void residual_mttkrp(Space const& space, Blco<Scalar, Index, Space> const& X,
                     FactorMatrices<Scalar, Space> const& C, int mode,
                     ResidualWorkspace<Scalar, BlcoWorkspace<Scalar, Space>, Space>& workspace,
                     FactorMatrix<Scalar, Space> const& G) {
  expect_residual_arguments(X.extents(), C, mode, G);
  workspace.format.made_for.expect(X.identity(), C.rank(), X.name);
  if (X.nnz() == 0) return zero_matrix(space, G);
  if (C.rank() <= full_block)
    return residual_mttkrp_at_once<Space, Scalar, Index>(space, X, C, mode, workspace.format, G);
  BlcoSource<Scalar, Index> const source{X.blocks().nonzeros(), mode};
  WholeRowWalk const chunks{X.nnz(), chunk_length(space, X.nnz(), 8)};
  form_residuals(space, source, C, mode, OtherFactors<Scalar, any_order>(C, mode), chunks,
                 workspace.residuals);
  mttkrp_with_values<Space, Scalar, Index>(space, X, workspace.residuals.data(), C, mode, workspace.format,
                                           G);
}

}  // namespace polyad::detail
