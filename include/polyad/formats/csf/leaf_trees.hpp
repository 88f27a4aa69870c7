// SPDX-License-Identifier: BSD-3-Clause
// LeafTrees: B-CSF for the FastTucker sweeps (formats/sgd_format.hpp), a tree per mode whose LEAF is that
// mode, so that the nonzeros of a fiber share all that their updates need but the row itself:
// FasterTucker_B-CSF and, with p and w formed once a fiber, FasterTucker (Li et al., "cuFasterTucker", 2022,
// section 4.3). The trees of `b-csf` are rooted at their modes, which is what an MTTKRP wants. Storage as
// there.
#pragma once

#include <Kokkos_Core.hpp>

#include "polyad/core/instances.hpp"
#include "polyad/formats/csf/b_csf.hpp"
#include "polyad/formats/csf/tree_fibers.hpp"
#include "polyad/formats/sgd_sweep.hpp"

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
                         options_type const& options = {}) {
    POLYAD_EXPECTS(coo.order() >= 2, "trees with fibers need a tensor of two modes or more");
    detail::expect_b_csf_options(coo, {{}, options.fiber_threshold, options.slice_threshold});
    LeafTrees format;
    format.m_extents      = coo.extents();
    format.m_nnz          = coo.nnz();
    format.m_norm_squared = polyad::norm_squared(space, coo);
    for (int n = 0; n < coo.order(); ++n)
      format.m_trees[static_cast<std::size_t>(n)] = detail::make_binned_tree(
          space, make_csf_tree(space, coo, levels(coo.extents(), n), options.fiber_threshold), options);
    return format;
  }

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
  static Kokkos::Array<int, max_order> levels(Extents const& extents, int leaf) {
    auto const rooted = level_modes(extents, leaf);
    Kokkos::Array<int, max_order> modes{};
    auto const last = static_cast<std::size_t>(extents.order() - 1);
    for (std::size_t l = 0; l < last; ++l) modes[l] = rooted[l + 1];
    modes[last] = leaf;
    return modes;
  }

  Extents m_extents;
  count_t m_nnz         = 0;
  double m_norm_squared = 0;
  std::array<BinnedTree<Scalar, Index, Space>, max_order> m_trees;
};

template <class Space, class Scalar, class Index>
void sgd_factor_sweep(Space const& space, LeafTrees<Scalar, Index, Space> const& X,
                      FastTuckerModel<Scalar, Space> const& model, FactorMatrices<Scalar, Space> const& C,
                      int mode, SgdStep rates, SgdForm form, SgdWorkspace<Scalar, Space> const& workspace) {
  detail::expect_sgd_arguments(X.extents(), model, C, mode, workspace);
  if (X.nnz() == 0) return;
  auto const& binned = X.tree(mode);
  detail::sweep_factors<Index>(space, detail::TreeFibers<Scalar, Index>(space, binned.tree, binned.bins),
                               binned.tree.modes, model, C, rates, form, workspace);
}

template <class Space, class Scalar, class Index>
void sgd_core_sweep(Space const& space, LeafTrees<Scalar, Index, Space> const& X,
                    FastTuckerModel<Scalar, Space> const& model, FactorMatrices<Scalar, Space> const& C,
                    int mode, SgdForm form, SgdWorkspace<Scalar, Space> const& workspace) {
  detail::expect_sgd_arguments(X.extents(), model, C, mode, workspace);
  if (X.nnz() == 0) return Kokkos::deep_copy(space, workspace.P, Scalar(0));
  auto const& binned = X.tree(mode);
  detail::sweep_cores<Index>(space, detail::TreeFibers<Scalar, Index>(space, binned.tree, binned.bins),
                             binned.tree.modes, model, C, form, workspace);
}

#define POLYAD_LEAF_TREES(Scalar, Index) \
  template class LeafTrees<Scalar, Index, Kokkos::DefaultExecutionSpace>
#define POLYAD_SGD_FACTOR_SWEEP_TREES(Scalar, Index)                                                         \
  template void sgd_factor_sweep(Kokkos::DefaultExecutionSpace const&,                                       \
                                 LeafTrees<Scalar, Index, Kokkos::DefaultExecutionSpace> const&,             \
                                 FastTuckerModel<Scalar, Kokkos::DefaultExecutionSpace> const&,              \
                                 FactorMatrices<Scalar, Kokkos::DefaultExecutionSpace> const&, int, SgdStep, \
                                 SgdForm, SgdWorkspace<Scalar, Kokkos::DefaultExecutionSpace> const&)
#define POLYAD_SGD_CORE_SWEEP_TREES(Scalar, Index)                                                         \
  template void sgd_core_sweep(Kokkos::DefaultExecutionSpace const&,                                       \
                               LeafTrees<Scalar, Index, Kokkos::DefaultExecutionSpace> const&,             \
                               FastTuckerModel<Scalar, Kokkos::DefaultExecutionSpace> const&,              \
                               FactorMatrices<Scalar, Kokkos::DefaultExecutionSpace> const&, int, SgdForm, \
                               SgdWorkspace<Scalar, Kokkos::DefaultExecutionSpace> const&)
POLYAD_EACH_SCALAR_AND_INDEX(extern, POLYAD_LEAF_TREES);
POLYAD_EACH_SCALAR_AND_INDEX(extern, POLYAD_SGD_FACTOR_SWEEP_TREES);
POLYAD_EACH_SCALAR_AND_INDEX(extern, POLYAD_SGD_CORE_SWEEP_TREES);

}  // namespace polyad
