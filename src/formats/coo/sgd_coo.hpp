// SPDX-License-Identifier: BSD-3-Clause
// The FastTucker sweeps on plain coordinates (formats/format.hpp): the paper's FastTucker, and with the
// reusable intermediates its FasterTucker_COO. Chunks of consecutive nonzeros a thread, each nonzero for
// itself.
#pragma once

#include <Kokkos_Core.hpp>

#include "formats/coo/coo_tiny_vec.hpp"
#include "formats/sgd_sweep.hpp"
#include "polyad/core/instances.hpp"
#include "polyad/core/per_mode.hpp"

namespace polyad::detail {

/// Coordinates as fibers of one nonzero (formats/fiber_products.hpp). Level m is the m-th mode that is not
/// the leaf's.
template <class Scalar, class Index>
struct CooFibers {
  struct Cursor {};

  Index const* data;  // P x N
  Scalar const* values;
  count_t nnz;
  count_t chunk;
  int order;
  int mode;

  [[nodiscard]] KOKKOS_FORCEINLINE_FUNCTION count_t bins() const { return ceil_div(nnz, chunk); }
  [[nodiscard]] KOKKOS_FORCEINLINE_FUNCTION count_t begin(count_t bin) const {
    return Kokkos::min(bin * chunk, nnz);
  }
  [[nodiscard]] KOKKOS_FORCEINLINE_FUNCTION Cursor start(count_t) const { return {}; }
  KOKKOS_FORCEINLINE_FUNCTION void advance(Cursor&, count_t) const {}
  [[nodiscard]] KOKKOS_FORCEINLINE_FUNCTION count_t fiber_end(Cursor const&, count_t i) const {
    return i + 1;
  }
  [[nodiscard]] KOKKOS_FORCEINLINE_FUNCTION count_t index(Cursor const&, count_t i, int m) const {
    return data[i * static_cast<count_t>(order) + static_cast<count_t>(m < mode ? m : m + 1)];
  }
  [[nodiscard]] KOKKOS_FORCEINLINE_FUNCTION count_t leaf(count_t i) const {
    return data[i * static_cast<count_t>(order) + static_cast<count_t>(mode)];
  }
  [[nodiscard]] KOKKOS_FORCEINLINE_FUNCTION Scalar value(count_t i) const { return values[i]; }
};

template <class Scalar, class Index, class Space>
CooFibers<Scalar, Index> coo_fibers(Space const& space, CooTensor<Scalar, Index, Space> const& coo,
                                    int mode) {
  return {coo.indices().data(),
          coo.values().data(),
          coo.nnz(),
          chunk_length(space, coo.nnz(), 8),
          coo.order(),
          mode};
}

/// The levels' modes: all others in their order, then the one at hand.
inline Kokkos::Array<int, max_order> coo_levels(int order, int mode) {
  Kokkos::Array<int, max_order> modes{};
  for (int m = 0; m < order - 1; ++m) of_mode(modes, m) = m < mode ? m : m + 1;
  modes[static_cast<std::size_t>(order - 1)] = mode;
  return modes;
}

template <class Space, class Scalar, class Index>
void sgd_factor_sweep(Space const& space, CooTinyVec<Scalar, Index, Space> const& X,
                      FastTuckerModel<Scalar, Space> const& model, FactorMatrices<Scalar, Space> const& C,
                      int mode, SgdStep rates, SgdForm form, SgdWorkspace<Scalar, Space> const& workspace) {
  detail::expect_sgd_arguments(X.extents(), model, C, mode, workspace);
  if (X.nnz() == 0) return;
  detail::sweep_factors<Index>(space, detail::coo_fibers(space, X.coo(), mode),
                               detail::coo_levels(X.extents().order(), mode), model, C, rates, form,
                               workspace);
}

template <class Space, class Scalar, class Index>
void sgd_core_sweep(Space const& space, CooTinyVec<Scalar, Index, Space> const& X,
                    FastTuckerModel<Scalar, Space> const& model, FactorMatrices<Scalar, Space> const& C,
                    int mode, SgdForm form, SgdWorkspace<Scalar, Space> const& workspace) {
  detail::expect_sgd_arguments(X.extents(), model, C, mode, workspace);
  if (X.nnz() == 0) return zero_matrix(space, workspace.P);
  detail::sweep_cores<Index>(space, detail::coo_fibers(space, X.coo(), mode),
                             detail::coo_levels(X.extents().order(), mode), model, C, form, workspace);
}

#define POLYAD_SGD_FACTOR_SWEEP_COO(Scalar, Index)                                                           \
  template void sgd_factor_sweep(Kokkos::DefaultExecutionSpace const&,                                       \
                                 CooTinyVec<Scalar, Index, Kokkos::DefaultExecutionSpace> const&,            \
                                 FastTuckerModel<Scalar, Kokkos::DefaultExecutionSpace> const&,              \
                                 FactorMatrices<Scalar, Kokkos::DefaultExecutionSpace> const&, int, SgdStep, \
                                 SgdForm, SgdWorkspace<Scalar, Kokkos::DefaultExecutionSpace> const&)
#define POLYAD_SGD_CORE_SWEEP_COO(Scalar, Index)                                                           \
  template void sgd_core_sweep(Kokkos::DefaultExecutionSpace const&,                                       \
                               CooTinyVec<Scalar, Index, Kokkos::DefaultExecutionSpace> const&,            \
                               FastTuckerModel<Scalar, Kokkos::DefaultExecutionSpace> const&,              \
                               FactorMatrices<Scalar, Kokkos::DefaultExecutionSpace> const&, int, SgdForm, \
                               SgdWorkspace<Scalar, Kokkos::DefaultExecutionSpace> const&)

}  // namespace polyad::detail
