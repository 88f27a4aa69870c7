// SPDX-License-Identifier: BSD-3-Clause
// LeafTrees: B-CSF for the FastTucker sweeps (formats/sgd_format.hpp), a tree per mode whose LEAF is that
// mode, so that the nonzeros of a fiber share all that their updates need but the row itself:
// FasterTucker_B-CSF and, with p and w formed once a fiber, FasterTucker (Li et al., "cuFasterTucker", 2022,
// section 4.3). The trees of `b-csf` are rooted at their modes, which is what an MTTKRP wants. Storage as
// there.
#pragma once

#include <Kokkos_Core.hpp>
#include <array>

#include "polyad/core/instances.hpp"
#include "polyad/formats/csf/b_csf.hpp"
#include "polyad/formats/sgd_format.hpp"

namespace polyad {

template <class Scalar, class Index, class Space>
class LeafTrees {
public:
  using scalar_type  = Scalar;
  using index_type   = Index;
  using space_type   = Space;
  using options_type = BCsfOptions;  // `levels` play no part

  static constexpr char const* name = "b-csf";

  /// Linear in the nonzeros; waits for `space`.
  /// \throws UsageError, before anything is allocated, when the tensor has one mode, a threshold is not
  ///         positive or Index cannot number the nonzeros; MemoryError
  static LeafTrees build(Space const& space, CooTensor<Scalar, Index, Space> const& coo,
                         options_type const& options = {});

  [[nodiscard]] Extents const& extents() const { return m_extents; }
  [[nodiscard]] count_t nnz() const { return m_nnz; }
  [[nodiscard]] double norm_squared() const { return m_norm_squared; }
  [[nodiscard]] count_t storage_bytes() const {
    count_t bytes = 0;
    for (auto const& binned : m_trees) bytes += binned.tree.storage_bytes();
    return bytes;
  }
  /// The tree whose leaf is mode n.
  [[nodiscard]] BinnedTree<Scalar, Index, Space> const& tree(int n) const {
    return m_trees[static_cast<std::size_t>(n)];
  }

private:
  /// The others from the shortest to the longest, then the leaf.
  static Kokkos::Array<int, max_order> levels(Extents const& extents, int leaf);

  Extents m_extents;
  count_t m_nnz         = 0;
  double m_norm_squared = 0;
  std::array<BinnedTree<Scalar, Index, Space>, max_order> m_trees;
};

#define POLYAD_LEAF_TREES(Scalar, Index) \
  template class LeafTrees<Scalar, Index, Kokkos::DefaultExecutionSpace>
POLYAD_EACH_SCALAR_AND_INDEX(extern, POLYAD_LEAF_TREES);

/// The FastTucker sweeps (formats/sgd_format.hpp) over the tree whose leaf is the mode, fiber by fiber. They
/// launch on `space` and return without waiting. \throws UsageError when the arguments do not fit each other
/// or, on devices, rows do not allow 16-byte packs
template <class Space, class Scalar, class Index>
void sgd_factor_sweep(Space const& space, LeafTrees<Scalar, Index, Space> const& X,
                      FastTuckerModel<Scalar, Space> const& model, FactorMatrices<Scalar, Space> const& C,
                      int mode, SgdStep rates, SgdForm form, SgdWorkspace<Scalar, Space> const& workspace);
template <class Space, class Scalar, class Index>
void sgd_core_sweep(Space const& space, LeafTrees<Scalar, Index, Space> const& X,
                    FastTuckerModel<Scalar, Space> const& model, FactorMatrices<Scalar, Space> const& C,
                    int mode, SgdForm form, SgdWorkspace<Scalar, Space> const& workspace);

}  // namespace polyad
