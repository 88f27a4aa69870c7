// SPDX-License-Identifier: BSD-3-Clause
// What every format knows of its tensor, whatever form the nonzeros have.
#pragma once

#include <concepts>

#include "polyad/core/instances.hpp"
#include "polyad/core/types.hpp"
#include "polyad/formats/format.hpp"
#include "polyad/tensor/coo_tensor.hpp"

namespace polyad::detail {

class StoredTensor {
public:
  [[nodiscard]] Extents const& extents() const { return m_extents; }
  [[nodiscard]] count_t nnz() const { return m_nnz; }
  [[nodiscard]] double norm_squared() const { return m_norm_squared; }
  /// The same for all copies of this format; workspaces keep it (formats/workspace_owner.hpp).
  [[nodiscard]] FormatIdentity identity() const { return m_identity; }
  /// The workspace of a format that needs none. Others have a function of their own.
  template <class Space>
  [[nodiscard]] NoWorkspace make_workspace(Space const&, count_t rank) const {
    return {WorkspaceOwner(m_identity, rank)};
  }

protected:
  /// Waits for `space`.
  template <class Space, class Scalar, class Index>
  void describe(Space const& space, CooTensor<Scalar, Index, Space> const& coo) {
    m_extents      = coo.extents();
    m_nnz          = coo.nnz();
    m_norm_squared = polyad::norm_squared(space, coo);
  }

  FormatIdentity m_identity;
  Extents m_extents;
  count_t m_nnz         = 0;
  double m_norm_squared = 0;
};

/// A tensor as plain coordinates and values, whose Views are kept.
template <class Scalar, class Index, class Space>
class PlainCoordinates : public StoredTensor {
public:
  using scalar_type    = Scalar;
  using index_type     = Index;
  using space_type     = Space;
  using workspace_type = NoWorkspace;
  struct options_type {};

  [[nodiscard]] count_t storage_bytes() const { return m_coo.storage_bytes(); }
  [[nodiscard]] CooTensor<Scalar, Index, Space> const& coo() const { return m_coo; }

protected:
  void keep(Space const& space, CooTensor<Scalar, Index, Space> const& coo) {
    describe(space, coo);
    m_coo = coo;
  }

private:
  CooTensor<Scalar, Index, Space> m_coo;
};

/// Formats that have the tensor's coordinates as they were given. Those with `sweeps_coordinates` also walk
/// them in FastTucker's sweeps.
template <class F>
concept KeepsCoordinates = std::derived_from<F, StoredTensor> && requires(F const& X) { X.coo(); };
template <class F>
concept SweepsCoordinates = KeepsCoordinates<F> && F::sweeps_coordinates;

/// The nonzeros (formats/format.hpp).
template <class Space, class Scalar, KeepsCoordinates F>
void read_nonzeros(Space const& space, F const& X, count_t first, NonzeroBlock<Scalar, Space> const& block);

/// The sweeps of FastTucker (formats/format.hpp), each nonzero by itself, in the order of the coordinates:
/// the paper's FastTucker, and with the reusable intermediates its FasterTucker_COO. In the order of the
/// permutations of coo-permuted the reads are scattered, and an epoch took 2.4 times as long (two threads of
/// a host).
template <class Space, class Scalar, SweepsCoordinates F>
void sgd_factor_sweep(Space const& space, F const& X, FastTuckerModel<Scalar, Space> const& model,
                      FactorMatrices<Scalar, Space> const& C, int mode, SgdStep rates, SgdForm form,
                      SgdWorkspace<Scalar, Space> const& workspace);
template <class Space, class Scalar, SweepsCoordinates F>
void sgd_core_sweep(Space const& space, F const& X, FastTuckerModel<Scalar, Space> const& model,
                    FactorMatrices<Scalar, Space> const& C, int mode, SgdForm form,
                    SgdWorkspace<Scalar, Space> const& workspace);

}  // namespace polyad::detail

/// Instantiations of the operations of a format.
#define POLYAD_MTTKRP(Format, Scalar, Index)                                              \
  template void mttkrp(CompiledSpace const&, Format<Scalar, Index, CompiledSpace> const&, \
                       FactorMatrices<Scalar, CompiledSpace> const&, int,                 \
                       Format<Scalar, Index, CompiledSpace>::workspace_type&,             \
                       FactorMatrix<Scalar, CompiledSpace> const&)
#define POLYAD_RESIDUAL_MTTKRP(Format, Scalar, Index)                                              \
  template void residual_mttkrp(CompiledSpace const&, Format<Scalar, Index, CompiledSpace> const&, \
                                FactorMatrices<Scalar, CompiledSpace> const&, int,                 \
                                residual_workspace<Format<Scalar, Index, CompiledSpace>>&,         \
                                FactorMatrix<Scalar, CompiledSpace> const&)
#define POLYAD_SGD_SWEEPS(Format, Scalar, Index)                                                      \
  template void sgd_factor_sweep(CompiledSpace const&, Format<Scalar, Index, CompiledSpace> const&,   \
                                 FastTuckerModel<Scalar, CompiledSpace> const&,                       \
                                 FactorMatrices<Scalar, CompiledSpace> const&, int, SgdStep, SgdForm, \
                                 SgdWorkspace<Scalar, CompiledSpace> const&);                         \
  template void sgd_core_sweep(CompiledSpace const&, Format<Scalar, Index, CompiledSpace> const&,     \
                               FastTuckerModel<Scalar, CompiledSpace> const&,                         \
                               FactorMatrices<Scalar, CompiledSpace> const&, int, SgdForm,            \
                               SgdWorkspace<Scalar, CompiledSpace> const&)
