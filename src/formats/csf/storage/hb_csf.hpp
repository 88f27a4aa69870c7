// SPDX-License-Identifier: BSD-3-Clause
// hb-csf: hybrid balanced CSF (Nisa et al., IPDPS 2019, section V). The slices of each mode are divided into
// three groups, each with the smallest storage for its slices:
//
//   COO     slices of one nonzero                  3M words (order 3, of M nonzeros in the group)
//   CSL     all fibers have one nonzero            2S + 2M words and an end
//   B-CSF   all others                             2S + 2F + M words and two ends
//
// Algorithm 5 does the same. Its line 10, `nnzSlice == 0`, means one nonzero, as the paper's text says.
// Slices of tensors of order 2 have no fibers: they are CSL, whatever their length.
#pragma once

#include <Kokkos_Core.hpp>
#include <array>

#include "formats/csf/storage/b_csf.hpp"
#include "formats/csf/storage/csf_tree.hpp"
#include "formats/stored_tensor.hpp"
#include "polyad/core/instances.hpp"
#include "polyad/formats/format.hpp"

namespace polyad::detail {

/// The groups of one mode. A group may be empty.
template <class Scalar, class Index, class Space>
struct HbCsfGroups {
  CsfTree<Scalar, Index, Space> coo;
  BinnedTree<Scalar, Index, Space> csl;
  BinnedTree<Scalar, Index, Space> b_csf;
  Kokkos::View<Index*, typename Space::device_type> cleared;  // rows that no worker of any group stores
  count_t duplicates = 0;  // nonzeros with the coordinates of an earlier one, in all groups

  [[nodiscard]] count_t storage_bytes() const {
    return coo.storage_bytes() + csl.tree.storage_bytes() + b_csf.tree.storage_bytes();
  }
};

enum class SliceGroup : unsigned char { coo, csl, b_csf };

template <class Scalar, class Index, class Space>
class HbCsf : public StoredTensor {
public:
  using scalar_type    = Scalar;
  using index_type     = Index;
  using space_type     = Space;
  using options_type   = BCsfOptions;
  using workspace_type = NoWorkspace;
  using groups_type    = HbCsfGroups<Scalar, Index, Space>;

  static constexpr char const* name = "hb-csf";

  /// Linear in the nonzeros; waits for `space`.
  /// \throws UsageError, before anything is allocated, when the levels are not the modes, a threshold is not
  ///         positive or Index cannot number the nonzeros; MemoryError
  static HbCsf build(Space const& space, CooTensor<Scalar, Index, Space> const& coo,
                     options_type const& options = {});

  /// How many nonzeros have the coordinates of an earlier one.
  [[nodiscard]] count_t duplicates() const { return groups(0).duplicates; }
  [[nodiscard]] count_t storage_bytes() const {
    count_t bytes = 0;
    for (auto const& groups : m_groups) bytes += groups.storage_bytes();
    return bytes;
  }

  /// The groups of the slices of mode n.
  [[nodiscard]] groups_type const& groups(int n) const { return m_groups[n]; }

private:
  static groups_type make_groups(Space const& space, CooTensor<Scalar, Index, Space> const& coo, int mode,
                                 options_type const& options);

  std::array<groups_type, max_order> m_groups;
};

#define POLYAD_HB_CSF(Scalar, Index) template class HbCsf<Scalar, Index, Kokkos::DefaultExecutionSpace>
POLYAD_EACH_SCALAR_AND_INDEX(extern, POLYAD_HB_CSF);

template <class Scalar, class Index, class Space>
inline constexpr bool has_rooted_trees<HbCsf<Scalar, Index, Space>> = true;

/// The contract's mttkrp (formats/format.hpp), with one launch per group. The groups have disjoint rows. V
/// (I_mode x R) is overwritten. Launches on `space` and returns without waiting.
/// \throws UsageError when shapes do not match
template <class Space, class Scalar, class Index>
void mttkrp(Space const& space, HbCsf<Scalar, Index, Space> const& X,
            FactorMatrices<Scalar, Space> const& factors, int mode, NoWorkspace& workspace,
            FactorMatrix<Scalar, Space> const& V);

/// The residual sweep (formats/format.hpp), as on `b-csf`: one walk per group, then the MTTKRP. Its scratch
/// comes from the make_residual_workspace of formats/csf/storage/b_csf.hpp. G (I_mode x R) is overwritten.
/// Launches on `space` and returns without waiting.
/// \throws UsageError when shapes do not match or, on devices, rows do not allow 16-byte packs
template <class Space, class Scalar, class Index>
void residual_mttkrp(Space const& space, HbCsf<Scalar, Index, Space> const& X,
                     FactorMatrices<Scalar, Space> const& C, int mode,
                     ResidualWorkspace<Scalar, NoWorkspace, Space>& workspace,
                     FactorMatrix<Scalar, Space> const& G);

/// The nonzeros (formats/format.hpp).
template <class Space, class Scalar, class Index>
void read_nonzeros(Space const& space, HbCsf<Scalar, Index, Space> const& X, count_t first,
                   NonzeroBlock<Scalar, Space> const& block);

}  // namespace polyad::detail
