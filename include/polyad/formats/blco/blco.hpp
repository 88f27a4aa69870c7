// SPDX-License-Identifier: BSD-3-Clause
// blco: one copy of the nonzeros for all modes (Nguyen et al., BLCO, ICS 2022). They stand in ALTO's order,
// each as one linear index and a value, in blocks that share the uppermost bits of all indices
// (blco_blocks.hpp); one MTTKRP serves every mode (mttkrp_blco.hpp). Storage: 8 + s_r bytes a nonzero (16 +
// s_r where blocks would be tiny), 8 + N s_o bytes a block, 8 bytes for every 256 nonzeros.
#pragma once

#include <Kokkos_Core.hpp>
#include <algorithm>

#include "polyad/core/instances.hpp"
#include "polyad/formats/blco/blco_blocks.hpp"
#include "polyad/formats/blco/blco_resolution.hpp"
#include "polyad/formats/format.hpp"

namespace polyad {

struct BlcoOptions {
  Resolution resolution = Resolution::automatic;
  count_t max_block     = count_t(1) << 27;  // nonzeros in a block (the paper's choice)
  int index_bits        = 0;  // of the linear index; 0: 64, or 128 where that takes fewer bytes
  int tile              = 0;  // nonzeros that a team groups by row; 0: by measurement (tile_shape)
  int team              = 0;  // GPU threads in a team, at most 256; 0: by measurement
  bool packed = true;  // rows in packs on a device, where they are aligned; false: GenTen's strided rows
};

/// \throws UsageError when the wishes for a launch are out of range
inline void expect_tile_options(BlcoOptions const& options) {
  POLYAD_EXPECTS(options.tile >= 0 && options.team >= 0 && options.team <= blco_team_threads, "a tile of ",
                 options.tile, " nonzeros, a team of ", options.team, " threads (at most ", blco_team_threads,
                 ")");
}

/// Room for copies of rows of V, in rows of whole packs, whatever the rows of the factors are.
/// \throws MemoryError before allocating
template <class Scalar, class Space>
FactorMatrix<Scalar, Space> make_copies_of_output(Space const& space, count_t rows, count_t rank) {
  count_t const pack = row_alignment / sizeof(Scalar);
  return make_factor_matrix<Scalar>(space, "polyad::blco_copies", rows, ceil_div(rank, pack) * pack);
}

/// Copies of V, or of the rows that a part of the nonzeros touches, until they are merged.
template <class Scalar, class Space>
struct BlcoWorkspace {
  FactorMatrix<Scalar, Space> copies;
};

template <class Scalar, class Index, class Space>
class Blco {
public:
  using scalar_type    = Scalar;
  using index_type     = Index;
  using space_type     = Space;
  using options_type   = BlcoOptions;
  using workspace_type = BlcoWorkspace<Scalar, Space>;
  using blocks_type    = BlcoBlocks<Scalar, Index, Space>;

  static constexpr char const* name = "blco";

  /// Linear in the nonzeros; needs no more than the tensor, the result, one position a nonzero and what the
  /// sort takes. Waits for `space`.
  /// \throws UsageError when Index cannot number the nonzeros, or an option is out of range; MemoryError
  static Blco build(Space const& space, CooTensor<Scalar, Index, Space> const& coo,
                    options_type const& options = {});

  [[nodiscard]] Extents const& extents() const { return m_extents; }
  [[nodiscard]] count_t nnz() const { return m_blocks.nnz(); }
  [[nodiscard]] double norm_squared() const { return m_norm_squared; }
  [[nodiscard]] count_t storage_bytes() const { return m_blocks.storage_bytes(); }

  /// Room for the copies of the mode that needs most of them.
  /// \throws MemoryError
  [[nodiscard]] workspace_type make_workspace(Space const& space, count_t rank) const {
    count_t rows = 0;
    for (int n = 0; n < m_extents.order() && nnz() > 0; ++n)
      rows = std::max(rows, resolve(space, n).copied_rows);
    return {make_copies_of_output<Scalar>(space, rows, rank)};
  }

  [[nodiscard]] blocks_type const& blocks() const { return m_blocks; }
  [[nodiscard]] options_type const& options() const { return m_options; }
  [[nodiscard]] BlcoParts const& parts() const { return m_parts; }
  /// How the conflicts of one mode are resolved, and what that needs.
  [[nodiscard]] BlcoResolution resolve(Space const& space, int mode) const {
    return BlcoResolution(space, m_options.resolution, m_extents[mode], sizeof(Scalar), nnz(), m_parts, mode);
  }

private:
  Extents m_extents;
  options_type m_options;
  double m_norm_squared = 0;
  blocks_type m_blocks;
  BlcoParts m_parts;
};

template <class Scalar, class Index, class Space>
Blco<Scalar, Index, Space> Blco<Scalar, Index, Space>::build(Space const& space,
                                                             CooTensor<Scalar, Index, Space> const& coo,
                                                             options_type const& options) {
  expect_tile_options(options);
  Blco format;
  format.m_extents      = coo.extents();
  format.m_options      = options;
  format.m_norm_squared = polyad::norm_squared(space, coo);
  format.m_blocks       = make_blco_blocks(space, coo, options.max_block, options.index_bits);
  format.m_parts        = BlcoParts(space, format.m_blocks.nonzeros());
  return format;
}

#define POLYAD_BLCO(Scalar, Index) template class Blco<Scalar, Index, Kokkos::DefaultExecutionSpace>
POLYAD_EACH_SCALAR_AND_INDEX(extern, POLYAD_BLCO);

}  // namespace polyad

#include "polyad/formats/blco/mttkrp_blco.hpp"
