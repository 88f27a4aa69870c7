// SPDX-License-Identifier: BSD-3-Clause
// How Blco is built, and how its conflicts are resolved.
#pragma once

#include <Kokkos_Core.hpp>
#include <algorithm>

#include "formats/blco/build/build_blocks.hpp"
#include "formats/blco/build/resolve_blco.hpp"
#include "formats/blco/storage/blco.hpp"
#include "polyad/core/error.hpp"
#include "polyad/core/spaces.hpp"
#include "polyad/core/types.hpp"
#include "polyad/kernel/tiny_vec.hpp"
#include "polyad/tensor/coo_tensor.hpp"
#include "polyad/tensor/factor_matrices.hpp"

namespace polyad::detail {

/// \throws UsageError when the options of a launch are out of range
inline void expect_tile_options(BlcoOptions const& options) {
  POLYAD_EXPECTS(options.tile >= 0 && options.team >= 0 && options.team <= blco_team_threads, "a tile of ",
                 options.tile, " nonzeros, a team of ", options.team, " threads (at most ", blco_team_threads,
                 ")");
}

/// Memory for copies of rows of V.
/// \throws MemoryError before allocating
template <class Scalar, class Space>
FactorMatrix<Scalar, Space> make_copies_of_output(Space const& space, count_t rows, count_t rank) {
  return make_factor_matrix<Scalar>(space, "polyad::blco_copies", rows, rank);
}

template <class Scalar, class Index, class Space>
Blco<Scalar, Index, Space> Blco<Scalar, Index, Space>::build(Space const& space,
                                                             CooTensor<Scalar, Index, Space> const& coo,
                                                             options_type const& options) {
  using Strategy = BlcoStrategy<Space>;
  if (options.walk.empty() || options.walk == Strategy::walk) return build_for<Strategy>(space, coo, options);
  expect_in_library(options.walk, BlcoTiled::walk);  // which modes with many private rows take anyway
  return build_for<BlcoTiled>(space, coo, options);
}

template <class Scalar, class Index, class Space>
template <class Strategy>
Blco<Scalar, Index, Space> Blco<Scalar, Index, Space>::build_for(Space const& space,
                                                                 CooTensor<Scalar, Index, Space> const& coo,
                                                                 options_type const& options) {
  expect_tile_options(options);
  Blco format;
  format.describe(space, coo);
  format.m_options    = options;
  format.m_blocks     = make_blco_blocks(space, coo, options.max_block, options.index_bits);
  format.m_duplicates = count_repeated(space, format.m_blocks.nonzeros());
  if constexpr (Strategy::has_chunks) format.m_chunks = BlcoChunks<Space>(space, format.m_blocks.nonzeros());
  return format;
}

template <class Scalar, class Index, class Space>
BlcoResolution Blco<Scalar, Index, Space>::resolve(Space const& space, int mode) const {
  return BlcoResolution(space, m_options.resolution, m_extents[mode], sizeof(Scalar), nnz(), m_chunks, mode);
}

template <class Scalar, class Index, class Space>
auto Blco<Scalar, Index, Space>::make_workspace(Space const& space, count_t rank) const -> workspace_type {
  count_t rows  = 0;
  count_t slots = 0;
  for (int n = 0; n < m_extents.order() && nnz() > 0; ++n) {
    rows  = std::max(rows, resolve(space, n).copied_rows);
    slots = std::max(slots, m_chunks.long_rows().slots(n));
  }
  return {WorkspaceOwner(m_identity, rank), make_copies_of_output<Scalar>(space, rows, rank),
          make_factor_matrix<double>(space, "polyad::long_rows", slots, rank)};
}

}  // namespace polyad::detail
