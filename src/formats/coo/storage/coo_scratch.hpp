// SPDX-License-Identifier: BSD-3-Clause
// coo-scratch: plain coordinates and values for MTTKRP-A, which forms each nonzero's product in
// a team scratch pad and adds it to the output with atomics (GenTen, section 4.1).
// Storage: (s_r + N s_o) bytes per nonzero.
#pragma once

#include <Kokkos_Core.hpp>

#include "polyad/formats/format.hpp"

namespace polyad::detail {

template <class Scalar, class Index, class Space>
class CooScratch {
public:
  using scalar_type    = Scalar;
  using index_type     = Index;
  using space_type     = Space;
  using workspace_type = NoWorkspace;
  struct options_type {};

  static constexpr char const* name = "coo-scratch";

  /// Keeps the tensor's Views; copies and sorts nothing.
  static CooScratch build(Space const& space, CooTensor<Scalar, Index, Space> const& coo,
                          options_type const& = {}) {
    CooScratch format;
    format.m_coo          = coo;
    format.m_norm_squared = polyad::norm_squared(space, coo);
    return format;
  }

  [[nodiscard]] Extents const& extents() const { return m_coo.extents(); }
  [[nodiscard]] count_t nnz() const { return m_coo.nnz(); }
  [[nodiscard]] count_t storage_bytes() const { return m_coo.storage_bytes(); }
  [[nodiscard]] double norm_squared() const { return m_norm_squared; }
  [[nodiscard]] workspace_type make_workspace(Space const&, count_t rank) const {
    return {WorkspaceOwner(m_identity, rank)};
  }
  /// The same for all copies of this format; workspaces keep it (formats/workspace_owner.hpp).
  [[nodiscard]] FormatIdentity identity() const { return m_identity; }

  [[nodiscard]] CooTensor<Scalar, Index, Space> const& coo() const { return m_coo; }

private:
  FormatIdentity m_identity;
  CooTensor<Scalar, Index, Space> m_coo;
  double m_norm_squared = 0;
};

/// The contract's mttkrp (formats/format.hpp) by MTTKRP-A.
template <class Space, class Scalar, class Index>
void mttkrp(Space const& space, CooScratch<Scalar, Index, Space> const& X,
            FactorMatrices<Scalar, Space> const& factors, int mode, NoWorkspace& workspace,
            FactorMatrix<Scalar, Space> const& V);

/// The nonzeros (formats/format.hpp).
template <class Space, class Scalar, class Index>
void read_nonzeros(Space const& space, CooScratch<Scalar, Index, Space> const& X, count_t first,
                   NonzeroBlock<Scalar, Space> const& block);

}  // namespace polyad::detail
