// SPDX-License-Identifier: BSD-3-Clause
// The FastTucker sweeps on the formats of coordinates (formats/format.hpp): the paper's FastTucker, and with
// the reusable intermediates its FasterTucker_COO. A thread walks a chunk of consecutive nonzeros one by one:
// neighbours in a sorted copy share the row of its mode, but no fiber.
#pragma once

#include <Kokkos_Core.hpp>
#include <numeric>

#include "formats/coo/storage/coo_permuted.hpp"
#include "formats/coo/storage/coo_tiny_vec.hpp"
#include "formats/coo/storage/sorted.hpp"
#include "formats/walks/sgd_sweep.hpp"
#include "polyad/core/instances.hpp"

namespace polyad::detail {

/// Nonzeros as fibers of one nonzero (formats/walks/fiber_products.hpp). They are stored coordinate by
/// coordinate or column by column. Level m is the m-th column of indices, the leaf's not counted.
template <class Scalar, class Index>
struct CooFibers {
  struct Cursor {};

  Index const* data;  // nonzero i in column c: data[i * nonzero_step + c * column_step]
  Scalar const* values;
  count_t nnz;
  count_t chunk;
  count_t nonzero_step;
  count_t column_step;
  int leaf_column;
  count_t spread;  // without a common divisor with the number of bins

  [[nodiscard]] KOKKOS_FORCEINLINE_FUNCTION count_t bins() const { return ceil_div(nnz, chunk); }
  [[nodiscard]] KOKKOS_FORCEINLINE_FUNCTION count_t begin(count_t bin) const {
    return Kokkos::min(bin * chunk, nnz);
  }
  /// The bin that the thread of a factor sweep walks. In a sorted copy a row's nonzeros are adjacent. With
  /// bins in order, threads that run at the same time would all add to that row. Each step of a long row
  /// would start from the row before any of these steps. Spread over the order, threads meet as rarely as in
  /// the order of a file.
  [[nodiscard]] KOKKOS_FORCEINLINE_FUNCTION count_t walked(count_t bin) const {
    return bin * spread % bins();
  }
  [[nodiscard]] KOKKOS_FORCEINLINE_FUNCTION Cursor start(count_t) const { return {}; }
  KOKKOS_FORCEINLINE_FUNCTION void advance(Cursor&, count_t) const {}
  [[nodiscard]] KOKKOS_FORCEINLINE_FUNCTION count_t fiber_end(Cursor const&, count_t i) const {
    return i + 1;
  }
  [[nodiscard]] KOKKOS_FORCEINLINE_FUNCTION count_t column(count_t i, int c) const {
    return data[i * nonzero_step + c * column_step];
  }
  [[nodiscard]] KOKKOS_FORCEINLINE_FUNCTION count_t index(Cursor const&, count_t i, int m) const {
    return column(i, m < leaf_column ? m : m + 1);
  }
  [[nodiscard]] KOKKOS_FORCEINLINE_FUNCTION count_t leaf(count_t i) const { return column(i, leaf_column); }
  [[nodiscard]] KOKKOS_FORCEINLINE_FUNCTION Scalar value(count_t i) const { return values[i]; }
};

/// A number near 0.618 of the bins that is coprime to their number; 1 if products would overflow.
inline count_t spread_of(count_t bins) {
  if (bins < 3 || bins >> 32 != 0) return 1;
  count_t spread = bins / 1000 * 618 + bins % 1000 * 618 / 1000;
  while (std::gcd(spread, bins) != 1) ++spread;  // ends at bins - 1 at the latest
  return spread;
}

template <class Scalar, class Index, class Space>
CooFibers<Scalar, Index> coo_fibers(Space const& space, CooTensor<Scalar, Index, Space> const& coo,
                                    int mode) {
  return {coo.indices().data(),
          coo.values().data(),
          coo.nnz(),
          chunk_length(space, coo.nnz(), 8),
          static_cast<count_t>(coo.order()),
          1,
          mode,
          1};
}

template <class Scalar, class Index, class Space>
CooFibers<Scalar, Index> sorted_fibers(Space const& space, SortedCopy<Scalar, Index, Space> const& copy) {
  CooFibers<Scalar, Index> fibers{copy.indices.data(),
                                  copy.values.data(),
                                  copy.nnz,
                                  chunk_length(space, copy.nnz, 8),
                                  1,
                                  copy.indices.stride(0),
                                  0,
                                  1};
  fibers.spread = spread_of(fibers.bins());
  return fibers;
}

/// The levels' modes: all others in their order, then `mode`.
inline Kokkos::Array<int, max_order> coo_levels(int order, int mode) {
  Kokkos::Array<int, max_order> modes{};
  for (int m = 0; m < order - 1; ++m) modes[m] = m < mode ? m : m + 1;
  modes[order - 1] = mode;
  return modes;
}
/// The same for a sorted copy, whose first row of indices is the leaf's.
inline Kokkos::Array<int, max_order> sorted_levels(Kokkos::Array<int, max_order> const& copy, int order) {
  Kokkos::Array<int, max_order> modes{};
  for (int m = 0; m < order; ++m) modes[m] = copy[(m + 1) % order];
  return modes;
}

// Only sgd_coo.cpp compiles the kernels, for all three formats.
#define POLYAD_SWEEPS_OF_COO_FIBERS(Scalar, Index)                                                          \
  template void sweep_factors<Index>(                                                                       \
      CompiledSpace const&, CooFibers<Scalar, Index> const&, Kokkos::Array<int, max_order> const&,          \
      FastTuckerModel<Scalar, CompiledSpace> const&, FactorMatrices<Scalar, CompiledSpace> const&, SgdStep, \
      SgdForm, SgdWorkspace<Scalar, CompiledSpace> const&)
#define POLYAD_CORE_SWEEPS_OF_COO_FIBERS(Scalar, Index)                                                     \
  template void sweep_cores<Index>(                                                                         \
      CompiledSpace const&, CooFibers<Scalar, Index> const&, Kokkos::Array<int, max_order> const&,          \
      FastTuckerModel<Scalar, CompiledSpace> const&, FactorMatrices<Scalar, CompiledSpace> const&, SgdForm, \
      SgdWorkspace<Scalar, CompiledSpace> const&)
POLYAD_EACH_SCALAR_AND_INDEX(extern, POLYAD_SWEEPS_OF_COO_FIBERS);
POLYAD_EACH_SCALAR_AND_INDEX(extern, POLYAD_CORE_SWEEPS_OF_COO_FIBERS);

template <class Space, class Scalar, SweepsCoordinates F>
void sgd_factor_sweep(Space const& space, F const& X, FastTuckerModel<Scalar, Space> const& model,
                      FactorMatrices<Scalar, Space> const& C, int mode, SgdStep rates, SgdForm form,
                      SgdWorkspace<Scalar, Space> const& workspace) {
  expect_sgd_arguments(X.extents(), model, C, mode, workspace);
  if (X.nnz() == 0) return;
  sweep_factors<typename F::index_type>(space, coo_fibers(space, X.coo(), mode),
                                        coo_levels(X.extents().order(), mode), model, C, rates, form,
                                        workspace);
}

template <class Space, class Scalar, SweepsCoordinates F>
void sgd_core_sweep(Space const& space, F const& X, FastTuckerModel<Scalar, Space> const& model,
                    FactorMatrices<Scalar, Space> const& C, int mode, SgdForm form,
                    SgdWorkspace<Scalar, Space> const& workspace) {
  expect_sgd_arguments(X.extents(), model, C, mode, workspace);
  if (X.nnz() == 0) return zero_matrix(space, workspace.P);
  sweep_cores<typename F::index_type>(space, coo_fibers(space, X.coo(), mode),
                                      coo_levels(X.extents().order(), mode), model, C, form, workspace);
}

template <class Space, class Scalar, class Index>
void sgd_factor_sweep(Space const& space, Sorted<Scalar, Index, Space> const& X,
                      FastTuckerModel<Scalar, Space> const& model, FactorMatrices<Scalar, Space> const& C,
                      int mode, SgdStep rates, SgdForm form, SgdWorkspace<Scalar, Space> const& workspace) {
  if (X.permuted()) return sgd_factor_sweep(space, *X.permuted(), model, C, mode, rates, form, workspace);
  expect_sgd_arguments(X.extents(), model, C, mode, workspace);
  if (X.nnz() == 0) return;
  sweep_factors<Index>(space, sorted_fibers(space, X.copy(mode)),
                       sorted_levels(X.copy(mode).modes, X.extents().order()), model, C, rates, form,
                       workspace);
}

template <class Space, class Scalar, class Index>
void sgd_core_sweep(Space const& space, Sorted<Scalar, Index, Space> const& X,
                    FastTuckerModel<Scalar, Space> const& model, FactorMatrices<Scalar, Space> const& C,
                    int mode, SgdForm form, SgdWorkspace<Scalar, Space> const& workspace) {
  if (X.permuted()) return sgd_core_sweep(space, *X.permuted(), model, C, mode, form, workspace);
  expect_sgd_arguments(X.extents(), model, C, mode, workspace);
  if (X.nnz() == 0) return zero_matrix(space, workspace.P);
  sweep_cores<Index>(space, sorted_fibers(space, X.copy(mode)),
                     sorted_levels(X.copy(mode).modes, X.extents().order()), model, C, form, workspace);
}

}  // namespace polyad::detail
