// SPDX-License-Identifier: BSD-3-Clause
// b-csf: balanced CSF (Nisa et al., IPDPS 2019, section IV), with one tree per mode, rooted at that mode.
// Long fibers are split into segments (fbr-split), and heavy slices get several workers (slc-split:
// formats/csf/storage/csf_bins.hpp). Storage, order 3: per mode s_r M + s_o (2S + 2F + M) bytes and an end
// per level, with F counted after the split.
#pragma once

#include <Kokkos_Core.hpp>
#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "formats/csf/storage/csf_bins.hpp"
#include "formats/csf/storage/csf_tree.hpp"
#include "formats/stored_tensor.hpp"
#include "polyad/core/instances.hpp"
#include "polyad/core/spaces.hpp"
#include "polyad/formats/format.hpp"
#include "polyad/formats/option_text.hpp"

namespace polyad::detail {

struct BCsfOptions {
  /// The order of the levels below the root, with every mode once. Empty: from the shortest mode to the
  /// longest.
  std::vector<int> levels      = {};
  std::int64_t fiber_threshold = 128;  // the paper's best; or no_split
  /// Nonzeros of a worker, or no_split. Unset: chosen by ordered_chunk.
  std::optional<std::int64_t> slice_threshold = {};
  /// The tree of a mode has that mode at its leaves instead of its root, as FastTucker's SGD needs it (Li et
  /// al., section 4.3). The updates of a fiber's nonzeros then share everything but the row itself. An MTTKRP
  /// adds each nonzero with atomics, and `levels` is ignored.
  bool leaves = false;
  /// "summed" or "each" (formats/csf/costs/csf_tuning.hpp). Empty: chosen by the length of the fibers and the
  /// machine.
  std::string fibers = {};

  void read(OptionText& text) {
    text.read("fiber_threshold", fiber_threshold);
    text.read("slice_threshold", slice_threshold);
    text.read("leaves", leaves);
    text.read("fibers", fibers, {"summed", "each"});
  }
  void serve(FormatRequest const& request) { leaves = leaves || request.wants(Capability::sgd); }
};

/// A tree with its workers.
template <class Scalar, class Index, class Space>
struct BinnedTree {
  CsfTree<Scalar, Index, Space> tree;
  CsfBins<Index, Space> bins;
  bool sums_fibers = false;  // fibers are long enough to be summed first
};

template <class Scalar, class Index, class Space>
class BCsf : public StoredTensor {
public:
  using scalar_type    = Scalar;
  using index_type     = Index;
  using space_type     = Space;
  using options_type   = BCsfOptions;
  using workspace_type = NoWorkspace;
  using rows_type      = Kokkos::View<Index*, typename Space::device_type>;

  static constexpr char const* name = "b-csf";
  /// FasterTucker's kernels are made for the fibers of this format.
  static constexpr bool default_for(Capability capability) { return capability == Capability::sgd; }

  /// Linear in the nonzeros; waits for `space`.
  /// \throws UsageError, before anything is allocated, when the levels are not the modes, a threshold is not
  ///         positive, leaves are asked of a tensor of one mode, or Index cannot number the nonzeros;
  ///         MemoryError
  static BCsf build(Space const& space, CooTensor<Scalar, Index, Space> const& coo,
                    options_type const& options = {});

  /// How many nonzeros have the coordinates of an earlier one.
  [[nodiscard]] count_t duplicates() const { return tree(0).tree.duplicates; }
  [[nodiscard]] count_t storage_bytes() const {
    count_t bytes = 0;
    for (auto const& binned : m_trees) bytes += binned.tree.storage_bytes();
    return bytes;
  }

  /// SGD needs the modes at the leaves, and the residual sweep needs them at the roots.
  [[nodiscard]] bool supports(Capability capability) const {
    return capability == Capability::sgd              ? m_leaves
           : capability == Capability::residual_sweep ? !m_leaves
                                                      : true;
  }
  [[nodiscard]] bool leaves() const { return m_leaves; }
  /// The tree of mode n: its root, or its leaf.
  [[nodiscard]] BinnedTree<Scalar, Index, Space> const& tree(int n) const { return m_trees[n]; }
  /// Rows of mode n that no worker stores. If the mode is a leaf, no row is stored.
  [[nodiscard]] rows_type const& cleared(int n) const { return m_cleared[n]; }

private:
  bool m_leaves = false;
  std::array<BinnedTree<Scalar, Index, Space>, max_order> m_trees;
  std::array<rows_type, max_order> m_cleared;
};

#define POLYAD_B_CSF(Scalar, Index) template class BCsf<Scalar, Index, Kokkos::DefaultExecutionSpace>
POLYAD_EACH_SCALAR_AND_INDEX(extern, POLYAD_B_CSF);

/// A format of trees rooted at the output's mode.
template <class F>
inline constexpr bool has_rooted_trees = false;
template <class Scalar, class Index, class Space>
inline constexpr bool has_rooted_trees<BCsf<Scalar, Index, Space>> = true;
template <class F>
concept RootedTrees = has_rooted_trees<F>;

/// The contract's mttkrp (formats/format.hpp). V (I_mode x R) is overwritten. Launches on `space` and
/// returns without waiting. \throws UsageError when shapes do not match
template <class Space, class Scalar, class Index>
void mttkrp(Space const& space, BCsf<Scalar, Index, Space> const& X,
            FactorMatrices<Scalar, Space> const& factors, int mode, NoWorkspace& workspace,
            FactorMatrix<Scalar, Space> const& V);

/// The residuals of up to three trees, each in whole packs of four.
inline constexpr count_t residual_padding = 3 * 4;

/// All scratch of a residual sweep on trees. The sweep stores the residuals for any rank. \throws MemoryError
template <detail::RootedTrees F>
residual_workspace<F> make_residual_workspace(typename F::space_type const& space, F const& format,
                                              count_t rank) {
  using Scalar         = typename F::scalar_type;
  count_t const length = format.nnz() + residual_padding;
  expect_fits(space, "the residuals", length, sizeof(Scalar));
  return {format.make_workspace(space, rank), Kokkos::View<Scalar*, typename F::space_type::device_type>(
                                                  uninitialized(space, "polyad::residuals"), length)};
}

/// The residual sweep (formats/format.hpp): one walk over the mode's tree forms the residuals, and the MTTKRP
/// takes them in place of the values. G (I_mode x R) is overwritten. Launches on `space` and returns without
/// waiting.
/// \throws UsageError when shapes do not match, the modes are at the leaves or, on devices, rows do not allow
///         16-byte packs
template <class Space, class Scalar, class Index>
void residual_mttkrp(Space const& space, BCsf<Scalar, Index, Space> const& X,
                     FactorMatrices<Scalar, Space> const& C, int mode,
                     ResidualWorkspace<Scalar, NoWorkspace, Space>& workspace,
                     FactorMatrix<Scalar, Space> const& G);

/// The FastTucker sweeps (formats/format.hpp) over the tree whose leaf is the mode, fiber by fiber:
/// FasterTucker_B-CSF and, with p and w formed once per fiber, FasterTucker. They launch on `space` and
/// return without waiting.
/// \throws UsageError when the arguments do not fit each other, the modes are at the roots or, on devices,
///         rows do not allow 16-byte packs
template <class Space, class Scalar, class Index>
void sgd_factor_sweep(Space const& space, BCsf<Scalar, Index, Space> const& X,
                      FastTuckerModel<Scalar, Space> const& model, FactorMatrices<Scalar, Space> const& C,
                      int mode, SgdStep rates, SgdForm form, SgdWorkspace<Scalar, Space> const& workspace);
template <class Space, class Scalar, class Index>
void sgd_core_sweep(Space const& space, BCsf<Scalar, Index, Space> const& X,
                    FastTuckerModel<Scalar, Space> const& model, FactorMatrices<Scalar, Space> const& C,
                    int mode, SgdForm form, SgdWorkspace<Scalar, Space> const& workspace);

/// The nonzeros (formats/format.hpp).
template <class Space, class Scalar, class Index>
void read_nonzeros(Space const& space, BCsf<Scalar, Index, Space> const& X, count_t first,
                   NonzeroBlock<Scalar, Space> const& block);

}  // namespace polyad::detail
