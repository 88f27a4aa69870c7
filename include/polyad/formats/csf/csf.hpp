// SPDX-License-Identifier: BSD-3-Clause
// csf: one CSF tree for all modes (formats/csf/csf_tree.hpp), for who has memory for one only: the root's
// mode is summed in registers, the others with atomics. Storage, order 3: s_r M + s_o (2S + 2F + M) bytes and
// an end a level.
#pragma once

#include <Kokkos_Core.hpp>
#include <optional>

#include "polyad/core/instances.hpp"
#include "polyad/formats/csf/mttkrp_levels.hpp"
#include "polyad/formats/csf/mttkrp_slices.hpp"
#include "polyad/formats/csf/mttkrp_tree.hpp"

namespace polyad {

struct CsfOptions {
  std::optional<int> root;  // the root's mode; without: the shortest, for the fewest nodes
  std::vector<int> levels;  // every mode once: the order of the levels below; empty: by size
  std::int64_t fiber_threshold = no_split;
};

template <class Scalar, class Index, class Space>
class Csf {
public:
  using scalar_type    = Scalar;
  using index_type     = Index;
  using space_type     = Space;
  using options_type   = CsfOptions;
  using workspace_type = NoWorkspace;
  using tree_type      = CsfTree<Scalar, Index, Space>;
  using bins_type      = CsfBins<Index, Space>;

  static constexpr char const* name = "csf";

  /// \throws UsageError, before anything is allocated, when the root or the levels are no modes, the
  /// threshold is not
  ///         positive or Index cannot number the nonzeros; MemoryError
  static Csf build(Space const& space, CooTensor<Scalar, Index, Space> const& coo,
                   options_type const& options = {});

  [[nodiscard]] Extents const& extents() const { return m_extents; }
  [[nodiscard]] count_t nnz() const { return m_tree.nnz(); }
  [[nodiscard]] double norm_squared() const { return m_norm_squared; }
  [[nodiscard]] count_t storage_bytes() const { return m_tree.storage_bytes(); }
  [[nodiscard]] workspace_type make_workspace(Space const&, count_t) const { return {}; }

  [[nodiscard]] tree_type const& tree() const { return m_tree; }
  [[nodiscard]] bins_type const& bins() const { return m_bins; }
  [[nodiscard]] bool reuse() const { return reuse_pays(m_tree.nnz(), m_tree.fibers()); }
  /// Rows of the root's mode that no worker stores.
  [[nodiscard]] Kokkos::View<Index*, typename Space::device_type> const& cleared() const { return m_cleared; }

private:
  Extents m_extents;
  double m_norm_squared = 0;
  tree_type m_tree;
  bins_type m_bins;
  Kokkos::View<Index*, typename Space::device_type> m_cleared;
};

template <class Scalar, class Index, class Space>
Csf<Scalar, Index, Space> Csf<Scalar, Index, Space>::build(Space const& space,
                                                           CooTensor<Scalar, Index, Space> const& coo,
                                                           options_type const& options) {
  auto const& extents = coo.extents();
  int root            = 0;
  for (int n = 1; n < coo.order(); ++n)
    if (extents[n] < extents[root]) root = n;
  auto const modes = level_modes(extents, options.root.value_or(root), options.levels);
  Csf format;
  format.m_extents      = extents;
  format.m_tree         = make_csf_tree(space, coo, modes, options.fiber_threshold);
  format.m_norm_squared = polyad::norm_squared(space, coo);
  count_t const slices  = std::max<count_t>(format.m_tree.slices(), 1);
  format.m_bins = make_csf_bins(space, format.m_tree, ordered_chunk(space, coo.nnz(), slices), true, true);
  auto const root_rows = extents[modes[0]];
  expect_fits(space, "the flags of a mode's rows", root_rows, 1);
  RowFlags<Space> const flags(Kokkos::view_alloc(space, "polyad::stored_rows"), root_rows);
  flag_stored_rows(space, format.m_tree, format.m_bins, flags);
  format.m_cleared = list_unflagged<Index>(space, flags);
  return format;
}

/// The contract's mttkrp (formats/format.hpp).
template <class Space, class Scalar, class Index>
void mttkrp(Space const& space, Csf<Scalar, Index, Space> const& X,
            FactorMatrices<Scalar, Space> const& factors, int mode, NoWorkspace&,
            FactorMatrix<Scalar, Space> const& V) {
  expect_mttkrp_arguments(X.extents(), factors, mode, V);
  auto const& tree = X.tree();
  int level        = 0;
  while (tree.modes[static_cast<std::size_t>(level)] != mode) ++level;
  if (level > 0) {
    Kokkos::deep_copy(space, V, Scalar(0));
    return mttkrp_level(space, tree, X.bins(), level, factors, V);
  }
  zero_rows(space, X.cleared(), factors, V);
  if (tree.pointer_levels > 1)
    mttkrp_tree(space, tree, X.bins(), X.reuse(), factors, V);
  else
    mttkrp_csl(space, tree, X.bins(), factors, V);
}

#define POLYAD_CSF(Scalar, Index) template class Csf<Scalar, Index, Kokkos::DefaultExecutionSpace>
POLYAD_EACH_SCALAR_AND_INDEX(extern, POLYAD_CSF);
#define POLYAD_MTTKRP_CSF(Scalar, Index)                                                                \
  template void mttkrp(Kokkos::DefaultExecutionSpace const&,                                            \
                       Csf<Scalar, Index, Kokkos::DefaultExecutionSpace> const&,                        \
                       FactorMatrices<Scalar, Kokkos::DefaultExecutionSpace> const&, int, NoWorkspace&, \
                       FactorMatrix<Scalar, Kokkos::DefaultExecutionSpace> const&)
POLYAD_EACH_SCALAR_AND_INDEX(extern, POLYAD_MTTKRP_CSF);

}  // namespace polyad
