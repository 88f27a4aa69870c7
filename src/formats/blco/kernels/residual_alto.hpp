// SPDX-License-Identifier: BSD-3-Clause
// The residual sweep (the concept ResidualFormat of formats/format.hpp) on `alto`, for every mode from the
// one copy. It uses the walks of the MTTKRP (formats/blco/kernels/mttkrp_alto.hpp) with e p in place of x p,
// so one walk forms both residuals and sums. A nonzero reads one additional row compared with the MTTKRP,
// C(k, :). Rows of more than 32 columns do not fit the registers. Their residuals are formed first and
// stored, and the MTTKRP uses them as values.
#pragma once

#include <Kokkos_Core.hpp>

#include "formats/blco/kernels/mttkrp_alto.hpp"
#include "formats/blco/kernels/nonzero_terms.hpp"
#include "formats/blco/storage/alto.hpp"
#include "formats/walks/form_residuals.hpp"
#include "kernel/launch.hpp"
#include "polyad/core/types.hpp"
#include "polyad/formats/format.hpp"
#include "polyad/kernel/chunk_walk.hpp"
#include "polyad/kernel/lanes.hpp"
#include "polyad/kernel/other_factors.hpp"
#include "polyad/kernel/rank_dispatch.hpp"
#include "polyad/kernel/tiny_vec.hpp"
#include "polyad/kernel/unrolled.hpp"
#include "polyad/kernel/whole_row_walk.hpp"
#include "polyad/tensor/factor_matrices.hpp"

namespace polyad::detail {

/// Private rows: the residuals of a thread's chunk, for rows of any length.
template <class Vec, class Index>
struct FormAltoResiduals {
  using Row    = Vec;
  using Scalar = typename Row::scalar_type;

  AltoFactors<Scalar, Index> inner;  // those of the modes read for every nonzero
  AltoFactors<Scalar, Index> outer;  // those read for every group
  Scalar const* values;
  Index const* starts;        // where groups start
  Index const* first_groups;  // the first group of each chunk
  int rank;
  WholeRowWalk walks;  // over the chunks
  Scalar* residuals;

  // Flattened as MttkrpAltoPrivate is.
  template <class Member>
  POLYAD_FLATTEN KOKKOS_FUNCTION void operator()(Member const& member) const {
    walks.template operator()<Row>(member, [&](count_t s, count_t, int lane) {
      count_t const last = first_groups[s + 1];
      for (count_t g = first_groups[s]; g < last; ++g)
        for (count_t p = starts[g]; p < starts[g + 1]; ++p) {
          Scalar const e = values[p] - interaction(g, p, lane);
          if (lane == 0) residuals[p] = e;
        }
    });
  }
  /// sum over r of the product of all rows, known to all lanes
  [[nodiscard]] KOKKOS_FORCEINLINE_FUNCTION Scalar interaction(count_t g, count_t p, int lane) const {
    Scalar sum = 0;
    for (int first = 0; first < rank; first += Row::block) {
      Columns const columns = columns_or_none<Row>(first, rank, lane);
      Row product(Scalar(1));
      for (int m = 0; m < outer.count; ++m) product *= Row(outer.factor[m].row(g), columns);
      for (int m = 0; m < inner.count; ++m) product *= Row(inner.factor[m].row(p), columns);
      sum += product.dot(Row(Scalar(1)), columns);
    }
    return sum_over_lanes<Row::lanes>(sum);
  }
};

/// Atomics: the nonzeros as form_residuals() reads them.
template <class Scalar, class Index>
struct AltoSource {
  Index const* data;  // N x P, row-major
  count_t stride;
  Scalar const* values;
  int mode;

  template <int Count>
  struct At {
    count_t first;
  };
  template <int Count>
  [[nodiscard]] KOKKOS_FORCEINLINE_FUNCTION At<Count> at(count_t p) const {
    return {p};
  }
  template <int Count>
  [[nodiscard]] KOKKOS_FORCEINLINE_FUNCTION Index row(At<Count> const& at, int u) const {
    return data[mode * stride + at.first + u];
  }
  template <int Count>
  [[nodiscard]] KOKKOS_FORCEINLINE_FUNCTION Scalar value(At<Count> const& at, int u) const {
    return values[at.first + u];
  }
  template <int Count>
  [[nodiscard]] KOKKOS_FORCEINLINE_FUNCTION Pack<Index, Count> indices(At<Count> const& at, int m) const {
    int const n = m < mode ? m : m + 1;
    return *reinterpret_cast<Pack<Index, Count> const*>(data + n * stride + at.first);
  }
  [[nodiscard]] KOKKOS_FORCEINLINE_FUNCTION count_t position(count_t p) const { return p; }
};

template <class Space, class Scalar, class Index>
void form_alto_residuals(AltoAtomics, Space const& space, Alto<Scalar, Index, Space> const& X,
                         FactorMatrices<Scalar, Space> const& C, int mode,
                         Kokkos::View<Scalar*, typename Space::device_type> const& residuals) {
  AltoSource<Scalar, Index> const source{X.indices().data(), X.indices().stride(0), X.values().data(), mode};
  WholeRowWalk const chunks{X.nnz(), chunk_length(space, X.nnz(), 8)};
  form_residuals(space, source, C, mode, OtherFactors<Scalar, any_order>(C, mode), chunks, residuals);
}

template <class Space, class Scalar, class Index>
void form_alto_residuals(AltoPrivateRows, Space const& space, Alto<Scalar, Index, Space> const& X,
                         FactorMatrices<Scalar, Space> const& C, int /*mode*/,
                         Kokkos::View<Scalar*, typename Space::device_type> const& residuals) {
  using Row = TinyVec<Space, Scalar, full_block>;
  expect_room_for_residuals(residuals.extent(0), X.nnz());
  AltoFactors<Scalar, Index> inner;
  AltoFactors<Scalar, Index> outer;
  for (int m = 0; m < X.extents().order(); ++m)
    (m < X.grouped() ? outer : inner).append(alto_factor(X, C, m));
  WholeRowWalk const walks{X.chunks(), 1};
  detail::launch("polyad::form_alto_residuals", walks.template policy<Row>(space),
                 FormAltoResiduals<Row, Index>{inner, outer, X.values().data(), X.starts().data(),
                                               X.first_groups().data(), checked_rank(C.rank()), walks,
                                               residuals.data()});
}

/// The sweep of rows that fit the registers, in one walk.
template <class Strategy, class Space, class Scalar, class Index>
void residual_mttkrp_at_once(Strategy strategy, Space const& space, Alto<Scalar, Index, Space> const& X,
                             FactorMatrices<Scalar, Space> const& C, int mode,
                             AltoWorkspace<Scalar, Space> const& workspace,
                             FactorMatrix<Scalar, Space> const& G) {
  int const rank = checked_rank(C.rank());
  ResidualTerm<Scalar> const term{C[mode].data(), C[mode].stride(0)};
  ColumnBlocks const blocks{0, 1, rank};
  auto const operands = alto_operands(strategy, space, X, C, mode, workspace, G);
  with_block(rank, [&](auto block) {
    launch_alto<TinyVec<Space, Scalar, block()>>(strategy, space, X, X.values().data(), operands, mode,
                                                 blocks, term);
  });
  finish_alto(strategy, space, X, mode, workspace, G);
}

template <class Space, class Scalar, class Index>
void residual_mttkrp(Space const& space, Alto<Scalar, Index, Space> const& X,
                     FactorMatrices<Scalar, Space> const& C, int mode,
                     ResidualWorkspace<Scalar, AltoWorkspace<Scalar, Space>, Space>& workspace,
                     FactorMatrix<Scalar, Space> const& G) {
  expect_residual_arguments(X.extents(), C, mode, G);
  workspace.format.made_for.expect(X.identity(), C.rank(), X.name);
  if (X.nnz() == 0) return zero_matrix(space, G);
  AltoStrategy<Space> const strategy;
  if (C.rank() <= full_block)
    return residual_mttkrp_at_once(strategy, space, X, C, mode, workspace.format, G);
  form_alto_residuals(strategy, space, X, C, mode, workspace.residuals);
  mttkrp_with_values<Space, Scalar, Index>(space, X, workspace.residuals.data(), C, mode, workspace.format,
                                           G);
}

}  // namespace polyad::detail
