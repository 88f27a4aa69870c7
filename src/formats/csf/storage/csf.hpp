// SPDX-License-Identifier: BSD-3-Clause
// csf: one CSF tree for all modes (formats/csf/storage/csf_tree.hpp), for machines with memory for only one
// tree. The root's mode is summed in registers, and the others with atomics. Storage, order 3: s_r M + s_o
// (2S + 2F + M) bytes and an end per level.
#pragma once

#include <Kokkos_Core.hpp>
#include <cstdint>
#include <optional>
#include <vector>

#include "formats/csf/storage/csf_bins.hpp"
#include "formats/csf/storage/csf_tree.hpp"
#include "formats/stored_tensor.hpp"
#include "polyad/core/instances.hpp"
#include "polyad/formats/format.hpp"
#include "polyad/formats/option_text.hpp"

namespace polyad::detail {

struct CsfOptions {
  std::optional<int> root;  // the root's mode; without: the shortest, for the fewest nodes
  std::vector<int> levels;  // every mode once: the order of the levels below; empty: by size
  std::int64_t fiber_threshold = no_split;

  void read(OptionText& text) {
    text.read("root", root);
    text.read("fiber_threshold", fiber_threshold);
  }
};

template <class Scalar, class Index, class Space>
class Csf : public StoredTensor {
public:
  using scalar_type    = Scalar;
  using index_type     = Index;
  using space_type     = Space;
  using options_type   = CsfOptions;
  using workspace_type = NoWorkspace;
  using tree_type      = CsfTree<Scalar, Index, Space>;
  using bins_type      = CsfBins<Index, Space>;

  static constexpr char const* name = "csf";

  /// \throws UsageError, before anything is allocated, if the root or the levels are not modes, the
  ///         threshold is not positive or Index cannot number the nonzeros; MemoryError
  static Csf build(Space const& space, CooTensor<Scalar, Index, Space> const& coo,
                   options_type const& options = {});

  /// How many nonzeros have the coordinates of an earlier one.
  [[nodiscard]] count_t duplicates() const { return m_tree.duplicates; }
  [[nodiscard]] count_t storage_bytes() const { return m_tree.storage_bytes(); }

  [[nodiscard]] tree_type const& tree() const { return m_tree; }
  [[nodiscard]] bins_type const& bins() const { return m_bins; }
  [[nodiscard]] bool sums_fibers() const { return summing_fibers_pays(m_tree.nnz(), m_tree.fibers()); }
  /// Rows of the root's mode that no worker stores.
  [[nodiscard]] Kokkos::View<Index*, typename Space::device_type> const& cleared() const { return m_cleared; }

private:
  tree_type m_tree;
  bins_type m_bins;
  Kokkos::View<Index*, typename Space::device_type> m_cleared;
};

#define POLYAD_CSF(Scalar, Index) template class Csf<Scalar, Index, Kokkos::DefaultExecutionSpace>
POLYAD_EACH_SCALAR_AND_INDEX(extern, POLYAD_CSF);

/// The contract's mttkrp (formats/format.hpp). V (I_mode x R) is overwritten. Launches on `space` and
/// returns without waiting. \throws UsageError when shapes do not match
template <class Space, class Scalar, class Index>
void mttkrp(Space const& space, Csf<Scalar, Index, Space> const& X,
            FactorMatrices<Scalar, Space> const& factors, int mode, NoWorkspace& workspace,
            FactorMatrix<Scalar, Space> const& V);

/// The nonzeros (formats/format.hpp).
template <class Space, class Scalar, class Index>
void read_nonzeros(Space const& space, Csf<Scalar, Index, Space> const& X, count_t first,
                   NonzeroBlock<Scalar, Space> const& block);

}  // namespace polyad::detail
