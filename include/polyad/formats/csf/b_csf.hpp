// SPDX-License-Identifier: BSD-3-Clause
// b-csf: balanced CSF (Nisa et al., IPDPS 2019, section IV), a tree per mode, rooted there. Long fibers are
// split into segments (fbr-split), heavy slices are given several workers (slc-split:
// formats/csf/csf_bins.hpp). Storage, order 3: per mode s_r M + s_o (2S + 2F + M) bytes and an end a level, F
// counted after the split.
#pragma once

#include <Kokkos_Core.hpp>
#include <optional>

#include "polyad/core/instances.hpp"
#include "polyad/formats/csf/mttkrp_slices.hpp"
#include "polyad/formats/csf/mttkrp_tree.hpp"

namespace polyad {

struct BCsfOptions {
  std::vector<int> levels;             // every mode once: the order of the levels below the root;
                                       // empty: from the shortest mode to the longest
  std::int64_t fiber_threshold = 128;  // the paper's best; or no_split
  std::optional<std::int64_t>
      slice_threshold;  // nonzeros of a worker, or no_split; without: ordered_chunk's choice
};

/// A tree with its workers.
template <class Scalar, class Index, class Space>
struct BinnedTree {
  CsfTree<Scalar, Index, Space> tree;
  CsfBins<Index, Space> bins;
  bool reuse = false;  // fibers are long enough to be summed first
};

namespace detail {

template <class Scalar, class Index, class Space>
BinnedTree<Scalar, Index, Space> make_binned_tree(Space const& space, CsfTree<Scalar, Index, Space> tree,
                                                  BCsfOptions const& options) {
  bool const split_slices = options.slice_threshold != no_split;
  count_t bin             = ordered_chunk(space, tree.nnz(), std::max<count_t>(tree.slices(), 1));
  if (options.slice_threshold && split_slices) bin = static_cast<count_t>(*options.slice_threshold);
  auto bins        = make_csf_bins(space, tree, bin, options.fiber_threshold != no_split, split_slices);
  bool const reuse = reuse_pays(tree.nnz(), tree.fibers());
  return {std::move(tree), std::move(bins), reuse};
}

/// \throws UsageError when an option has no meaning for the tensor
template <class Scalar, class Index, class Space>
void expect_b_csf_options(CooTensor<Scalar, Index, Space> const& coo, BCsfOptions const& options) {
  expect_countable<Index>(coo.nnz());
  expect_threshold("fiber", options.fiber_threshold);
  if (options.slice_threshold) expect_threshold("slice", *options.slice_threshold);
  level_modes(coo.extents(), 0, options.levels);
}

}  // namespace detail

template <class Scalar, class Index, class Space>
class BCsf {
public:
  using scalar_type    = Scalar;
  using index_type     = Index;
  using space_type     = Space;
  using options_type   = BCsfOptions;
  using workspace_type = NoWorkspace;
  using rows_type      = Kokkos::View<Index*, typename Space::device_type>;

  static constexpr char const* name = "b-csf";

  /// Linear in the nonzeros; waits for `space`.
  /// \throws UsageError, before anything is allocated, when the levels are not the modes, a threshold is not
  /// positive
  ///         or Index cannot number the nonzeros; MemoryError
  static BCsf build(Space const& space, CooTensor<Scalar, Index, Space> const& coo,
                    options_type const& options = {});

  [[nodiscard]] Extents const& extents() const { return m_extents; }
  [[nodiscard]] count_t nnz() const { return m_nnz; }
  [[nodiscard]] double norm_squared() const { return m_norm_squared; }
  [[nodiscard]] count_t storage_bytes() const {
    count_t bytes = 0;
    for (auto const& binned : m_trees) bytes += binned.tree.storage_bytes();
    return bytes;
  }
  [[nodiscard]] workspace_type make_workspace(Space const&, count_t) const { return {}; }

  /// The tree that is rooted at mode n.
  [[nodiscard]] BinnedTree<Scalar, Index, Space> const& tree(int n) const {
    return m_trees[static_cast<std::size_t>(n)];
  }
  /// Rows of mode n that no worker stores.
  [[nodiscard]] rows_type const& cleared(int n) const { return m_cleared[static_cast<std::size_t>(n)]; }

private:
  Extents m_extents;
  count_t m_nnz         = 0;
  double m_norm_squared = 0;
  std::array<BinnedTree<Scalar, Index, Space>, max_order> m_trees;
  std::array<rows_type, max_order> m_cleared;
};

template <class Scalar, class Index, class Space>
BCsf<Scalar, Index, Space> BCsf<Scalar, Index, Space>::build(Space const& space,
                                                             CooTensor<Scalar, Index, Space> const& coo,
                                                             options_type const& options) {
  detail::expect_b_csf_options(coo, options);
  BCsf format;
  format.m_extents      = coo.extents();
  format.m_nnz          = coo.nnz();
  format.m_norm_squared = polyad::norm_squared(space, coo);
  for (int n = 0; n < coo.order(); ++n) {
    auto const modes = level_modes(coo.extents(), n, options.levels);
    auto const at    = static_cast<std::size_t>(n);
    format.m_trees[at] =
        detail::make_binned_tree(space, make_csf_tree(space, coo, modes, options.fiber_threshold), options);
    expect_fits(space, "the flags of a mode's rows", coo.extents()[n], 1);
    RowFlags<Space> const flags(Kokkos::view_alloc(space, "polyad::stored_rows"), coo.extents()[n]);
    flag_stored_rows(space, format.m_trees[at].tree, format.m_trees[at].bins, flags);
    format.m_cleared[at] = list_unflagged<Index>(space, flags);
  }
  return format;
}

namespace detail {

template <class Space, class Scalar, class Index>
void mttkrp_binned(Space const& space, BinnedTree<Scalar, Index, Space> const& X,
                   FactorMatrices<Scalar, Space> const& factors, FactorMatrix<Scalar, Space> const& V) {
  if (X.tree.pointer_levels > 1)
    mttkrp_tree(space, X.tree, X.bins, X.reuse, factors, V);
  else
    mttkrp_csl(space, X.tree, X.bins, factors, V);
}

}  // namespace detail

/// The contract's mttkrp (formats/format.hpp).
template <class Space, class Scalar, class Index>
void mttkrp(Space const& space, BCsf<Scalar, Index, Space> const& X,
            FactorMatrices<Scalar, Space> const& factors, int mode, NoWorkspace&,
            FactorMatrix<Scalar, Space> const& V) {
  expect_mttkrp_arguments(X.extents(), factors, mode, V);
  zero_rows(space, X.cleared(mode), factors, V);
  detail::mttkrp_binned(space, X.tree(mode), factors, V);
}

#define POLYAD_B_CSF(Scalar, Index) template class BCsf<Scalar, Index, Kokkos::DefaultExecutionSpace>
POLYAD_EACH_SCALAR_AND_INDEX(extern, POLYAD_B_CSF);

}  // namespace polyad
