// SPDX-License-Identifier: BSD-3-Clause
// blco: one copy of the nonzeros for all modes (Nguyen et al., BLCO, ICS 2022). The nonzeros are in ALTO's
// order. Each has one linear index and a value. Blocks of nonzeros share the uppermost bits of all indices
// (blco_blocks.hpp). One MTTKRP serves every mode (mttkrp_blco.hpp). Storage: 8 + s_r bytes per nonzero (16 +
// s_r where blocks would be tiny), 8 + N s_o bytes per block, 8 bytes for every 256 nonzeros; on hosts and
// for floats at most N 24 bytes for every 255 nonzeros (long_row_stops.hpp).
#pragma once

#include <Kokkos_Core.hpp>
#include <string>

#include "formats/blco/costs/blco_tuning.hpp"
#include "formats/blco/storage/blco_blocks.hpp"
#include "formats/blco/storage/blco_resolution.hpp"
#include "formats/stored_tensor.hpp"
#include "polyad/core/instances.hpp"
#include "polyad/core/types.hpp"
#include "polyad/formats/format.hpp"
#include "polyad/formats/option_text.hpp"
#include "polyad/tensor/coo_tensor.hpp"
#include "polyad/tensor/factor_matrices.hpp"

namespace polyad::detail {

struct BlcoOptions {
  Resolution resolution = Resolution::automatic;
  count_t max_block     = count_t(1) << 27;  // nonzeros in a block (the paper's choice)
  int index_bits        = 0;   // length of the linear index; 0: 64, or 128 if that takes fewer bytes
  int tile              = 0;   // nonzeros that a team groups by row; 0: by measurement (tile_shape)
  int team              = 0;   // GPU threads in a team, at most 256; 0: by measurement
  std::string walk      = {};  // "tiles" or "chunks"; empty: the faster one on the machine (blco_tuning.hpp)

  void read(OptionText& text) {
    std::string conflicts;
    text.read("resolution", conflicts, {"registers", "hierarchical", "privatised"});
    if (conflicts == "registers") resolution = Resolution::registers;
    if (conflicts == "hierarchical") resolution = Resolution::hierarchical;
    if (conflicts == "privatised") resolution = Resolution::privatised;
    text.read("walk", walk, {BlcoTiled::walk, BlcoChunked::walk});
    text.read("max_block", max_block);
    text.read("index_bits", index_bits);
    text.read("tile", tile);
    text.read("team", team);
  }
};

/// Copies of V, or of the rows that a chunk of the nonzeros touches. They are merged into V at the end.
template <class Scalar, class Space>
struct BlcoWorkspace {
  WorkspaceOwner made_for;
  FactorMatrix<Scalar, Space> copies;
  FactorMatrix<double, Space>
      long_rows;  // the slots of the mode that has most (formats/blco/storage/long_row_stops.hpp)
};

template <class Scalar, class Index, class Space>
class Blco : public StoredTensor {
public:
  using scalar_type    = Scalar;
  using index_type     = Index;
  using space_type     = Space;
  using options_type   = BlcoOptions;
  using workspace_type = BlcoWorkspace<Scalar, Space>;
  using blocks_type    = BlcoBlocks<Scalar, Index, Space>;

  static constexpr char const* name = "blco";

  /// Linear in the nonzeros. In addition to the tensor and the result it needs one position per nonzero and
  /// the memory of the sort. Waits for `space`.
  /// \throws UsageError when Index cannot number the nonzeros, or an option is out of range; MemoryError
  static Blco build(Space const& space, CooTensor<Scalar, Index, Space> const& coo,
                    options_type const& options = {});
  /// The same for a strategy of formats/blco/costs/blco_tuning.hpp, which build() chooses by the machine.
  template <class Strategy>
  static Blco build_for(Space const& space, CooTensor<Scalar, Index, Space> const& coo,
                        options_type const& options = {});

  /// How many nonzeros have the coordinates of an earlier one.
  [[nodiscard]] count_t duplicates() const { return m_duplicates; }
  [[nodiscard]] count_t storage_bytes() const { return m_blocks.storage_bytes() + m_chunks.storage_bytes(); }

  /// Memory for the copies, and for the doubles of long rows, of the modes that need most of them.
  /// \throws MemoryError
  [[nodiscard]] workspace_type make_workspace(Space const& space, count_t rank) const;

  [[nodiscard]] blocks_type const& blocks() const { return m_blocks; }
  [[nodiscard]] options_type const& options() const { return m_options; }
  [[nodiscard]] BlcoChunks<Space> const& chunks() const { return m_chunks; }
  /// The resolution of one mode's conflicts, and the copies that it needs.
  [[nodiscard]] BlcoResolution resolve(Space const& space, int mode) const;

private:
  options_type m_options;
  count_t m_duplicates = 0;
  blocks_type m_blocks;
  BlcoChunks<Space> m_chunks;
};

#define POLYAD_BLCO(Scalar, Index) template class Blco<Scalar, Index, Kokkos::DefaultExecutionSpace>
POLYAD_EACH_SCALAR_AND_INDEX(extern, POLYAD_BLCO);

/// The contract's mttkrp (formats/format.hpp): V (I_mode x R) is overwritten. Does not wait.
/// \throws UsageError when shapes do not match, or the workspace was made for another format or rank
template <class Space, class Scalar, class Index>
void mttkrp(Space const& space, Blco<Scalar, Index, Space> const& X,
            FactorMatrices<Scalar, Space> const& factors, int mode, BlcoWorkspace<Scalar, Space>& workspace,
            FactorMatrix<Scalar, Space> const& V);

/// The residual sweep (the concept ResidualFormat of formats/format.hpp): G (I_mode x R) is overwritten. Does
/// not wait.
/// \throws UsageError when shapes do not match, or the workspace was made for another format or rank
template <class Space, class Scalar, class Index>
void residual_mttkrp(Space const& space, Blco<Scalar, Index, Space> const& X,
                     FactorMatrices<Scalar, Space> const& C, int mode,
                     ResidualWorkspace<Scalar, BlcoWorkspace<Scalar, Space>, Space>& workspace,
                     FactorMatrix<Scalar, Space> const& G);

/// The nonzeros (formats/format.hpp).
template <class Space, class Scalar, class Index>
void read_nonzeros(Space const& space, Blco<Scalar, Index, Space> const& X, count_t first,
                   NonzeroBlock<Scalar, Space> const& block);

}  // namespace polyad::detail
