// SPDX-License-Identifier: BSD-3-Clause
// The residual sweep of one mode on `sorted` and `coo-permuted` (the concept ResidualFormat of
// formats/format.hpp). It is the MTTKRP of the residual e in place of the values:
//
//   for each nonzero of the thread's chunk, k its row in the mode   WalkInOrder, the walk of the MTTKRP
//     p = the product of the other modes' rows of C                 PermutedSource
//     e = x - p . C(k, :)                                           ResidualSweepTerm: e[u]
//     sum += e p                                                    ResidualSweepTerm
//     where k changes, G(k, :) is written                           AtomicBorders
//
// `sorted` has the same loop in residual_sorted.hpp, which says why.
//
// The gradients of a FastTucker model are two small products of G (fast_tucker/optimizers/gradients.hpp). A
// nonzero therefore costs no J x R operations. In Li et al. it does ("cuFasterTucker", 2022, section 4).
//
// Both C(k, :) and the sum stay in registers. If rows are long, the threads of a team first add up the
// floats' sums of their last rows (team_sums.hpp). As many bytes are read for each nonzero as in the MTTKRP.
// Rows of more than 32 columns do not fit the registers: their residuals are formed first and kept, and the
// MTTKRP of this format does the rest.
#pragma once

#include <Kokkos_Core.hpp>

#include "formats/coo/kernels/residual_sorted.hpp"
#include "formats/coo/storage/border_rows.hpp"
#include "formats/coo/storage/coo_permuted.hpp"
#include "formats/coo/storage/nonzero_sources.hpp"
#include "formats/coo/storage/sorted.hpp"
#include "formats/walks/cleared_rows.hpp"
#include "formats/walks/form_residuals.hpp"
#include "formats/walks/walk_in_order.hpp"
#include "kernel/launch.hpp"
#include "kernel/launch_shape.hpp"
#include "kernel/rows_at.hpp"
#include "polyad/core/instances.hpp"
#include "polyad/kernel/chunk_walk.hpp"
#include "polyad/kernel/lanes.hpp"
#include "polyad/kernel/rank_dispatch.hpp"
#include "polyad/kernel/row_form.hpp"
#include "polyad/kernel/team_sums.hpp"
#include "polyad/kernel/whole_row_walk.hpp"

namespace polyad::detail {

/// The term of the residual sweep: e p. C(k, :) stays in registers for a run, which is a row.
template <class Row, class Index>
struct ResidualSweepTerm {
  using row_type             = Row;
  using Scalar               = typename Row::scalar_type;
  static constexpr int inner = 1;

  RowsAt<Scalar> C;  // the output mode's, I_n x R

  struct Run {
    Row c;  // C(k, :)
  };

  [[nodiscard]] KOKKOS_FORCEINLINE_FUNCTION Row begin_product(Scalar /*x*/, Index i, auto const& factors,
                                                              Columns columns) const {
    return Row(factors.row(0, i), columns);
  }
  [[nodiscard]] KOKKOS_FORCEINLINE_FUNCTION bool continues(Run const& /*run*/, Index /*i*/) const {
    return true;
  }
  KOKKOS_FORCEINLINE_FUNCTION void begin_run(Run& run, Index row, Index /*i*/, auto const& /*factors*/,
                                             Columns columns) const {
    run.c = Row(C.row(row), columns);
  }
  KOKKOS_FORCEINLINE_FUNCTION void end_run(Run& /*run*/, Row& /*sum*/) const {}
  template <int Count>
  KOKKOS_FORCEINLINE_FUNCTION void add(Run& run, Row& sum, Scalar const* x, Row const* product,
                                       Columns columns) const {
    // The sums over the lanes for several nonzeros overlap.
    Scalar e[Count];
    for (int u = 0; u < Count; ++u) e[u] = x[u] - sum_over_lanes<Row::lanes>(product[u].dot(run.c, columns));
    for (int u = 0; u < Count; ++u) sum.multiply_add(e[u], product[u]);
  }
};

/// The kernel on `coo-permuted`.
template <class Vec, class Index, bool Together>
struct ResidualPermuted {
  using Row        = Vec;
  using Scalar     = typename Row::scalar_type;
  using index_type = Index;
  using Walk       = WalkInOrder<PermutedSource<Scalar, Index>, OtherFactors<Scalar, any_order>,
                                 ResidualSweepTerm<Row, Index>, AtomicBorders<Row, Scalar>,
                                 residual_batch<typename Row::space_type>>;

  Walk walk;
  int rank;
  WholeRowWalk chunks;

  template <class Member>
  KOKKOS_FUNCTION void operator()(Member const& member) const {
    walk_residuals<Row, Index, Together>(member, chunks, rank, walk.writer.output,
                                         [&](count_t begin, count_t end, int lane, auto const& last) {
                                           walk(begin, end, begin / chunks.chunk,
                                                columns_or_none<Row>(0, rank, lane), last);
                                         });
  }
};

/// with_team_sums for floats, which lose digits in long rows without them. Doubles have enough digits.
template <class Space, class Scalar, class F>
void with_residual_team_sums(count_t chunks, count_t rows, F&& f) {
  if constexpr (sizeof(Scalar) < sizeof(double))
    with_team_sums<Space, Scalar>(chunks, rows, f);
  else
    f(std::false_type{});
}

template <class Kernel, bool Together, class Space>
void launch_residual(char const* label, Space const& space, Kernel const& kernel) {
  using Row   = typename Kernel::Row;
  auto policy = kernel.chunks.template policy<Row>(space);
  if constexpr (Together)
    reserve_team_sums<Row, Row::block, typename Kernel::Scalar, typename Kernel::index_type>(policy);
  launch_with_local_copy(label, policy, kernel);
}

/// Kernels for orders 3 and 4, and one for any order.
template <bool AnyOrderOnly, class F>
void with_residual_order(int order, F&& f) {
  if constexpr (!AnyOrderOnly) {
    if (order == 3) return f(std::integral_constant<int, 3>{});
    if (order == 4) return f(std::integral_constant<int, 4>{});
  }
  f(std::integral_constant<int, any_order>{});
}

/// The residual sweep on `sorted`. Hot borders are merged. With
/// SortedOptions::deterministic the bits are the same at every run, and on hosts at any thread count.
template <class Space, class Scalar, class Index>
void residual_mttkrp(Space const& space, Sorted<Scalar, Index, Space> const& X,
                     FactorMatrices<Scalar, Space> const& C, int mode,
                     ResidualWorkspace<Scalar, SortedWorkspace<Scalar, Index, Space>, Space>& workspace,
                     FactorMatrix<Scalar, Space> const& G) {
  expect_residual_arguments(X.extents(), C, mode, G);
  workspace.format.made_for.expect(X.identity(), C.rank(), X.name);
  if (X.permuted()) {
    ResidualWorkspace<Scalar, NoWorkspace, Space> permuted{{}, workspace.residuals};
    return residual_mttkrp(space, *X.permuted(), C, mode, permuted, G);
  }
  auto const& copy = X.copy(mode);
  if (X.nnz() == 0) return zero_matrix(space, G);
  detail::SortedSource<Scalar, Index> const source(copy);
  WholeRowWalk const chunks{copy.nnz, copy.chunk};
  int const rank = checked_rank(C.rank());
  if (rank > full_block) {
    detail::form_residuals<Space, Scalar>(
        space, source, C, mode, OtherFactors<Scalar, any_order>(C, copy.modes), chunks, workspace.residuals);
    return mttkrp(space, X.with_values(mode, workspace.residuals), C, mode, workspace.format, G);
  }
  bool const merge = copy.borders != Borders::atomics;
  detail::BorderList<Scalar, Index> borders{nullptr, nullptr, 0};
  if (merge)
    borders = {workspace.format.rows.data(), workspace.format.sums.data(), workspace.format.sums.stride(0)};
  // In locality blocks rows are short.
  count_t const adding = merge || copy.block_rows > 0 ? 0 : chunks.chunks();
  detail::with_residual_order<sizeof(Index) == 8>(X.extents().order(), [&](auto order) {
    with_block(rank, [&](auto block) {
      ColumnBlocks const blocks{0, 1, rank};
      detail::clear_rows<Space, Scalar, Index, block()>(space, copy.cleared, blocks, G);
      with_residual_team_sums<Space, Scalar>(adding, copy.rows, [&](auto together) {
        using Kernel = ResidualSorted<TinyVec<Space, Scalar, block()>, Index, order(), together()>;
        launch_residual<Kernel, together()>("polyad::residual_mttkrp_sorted", space,
                                            Kernel{source,
                                                   RowsAt<Scalar>(C[mode]),
                                                   OtherFactors<Scalar, order()>(C, copy.modes),
                                                   {RowsAt<Scalar>(G), borders, copy.block_rows > 0},
                                                   rank,
                                                   chunks});
      });
      if (merge)
        detail::merge_borders<Space, Scalar, Index, block()>(space, workspace.format, chunks.chunks(), blocks,
                                                             G);
    });
  });
}

/// The residual sweep on `coo-permuted`. Rows inside a chunk are stored. Rows at its two ends are added with
/// atomics, since neighbouring chunks add to them too.
template <class Space, class Scalar, class Index>
void residual_mttkrp(Space const& space, CooPermuted<Scalar, Index, Space> const& X,
                     FactorMatrices<Scalar, Space> const& C, int mode,
                     ResidualWorkspace<Scalar, NoWorkspace, Space>& workspace,
                     FactorMatrix<Scalar, Space> const& G) {
  expect_residual_arguments(X.extents(), C, mode, G);
  workspace.format.expect(X.identity(), C.rank(), X.name);
  zero_matrix(space, G);
  if (X.nnz() == 0) return;
  using Source   = detail::PermutedSource<Scalar, Index>;
  int const rank = checked_rank(C.rank());
  Source const source(X, mode);
  OtherFactors<Scalar, any_order> const others(C, mode);
  WholeRowWalk const chunks{X.nnz(), chunk_length(space, X.nnz(), 8)};
  if (rank > full_block) {
    detail::form_residuals<Space, Scalar>(space, source, C, mode, others, chunks, workspace.residuals);
    return mttkrp(space, X.with_values(workspace.residuals), C, mode, workspace.format, G, true);
  }
  with_block(rank, [&](auto block) {
    with_residual_team_sums<Space, Scalar>(chunks.chunks(), X.extents()[mode], [&](auto together) {
      using Row    = TinyVec<Space, Scalar, block()>;
      using Kernel = ResidualPermuted<Row, Index, together()>;
      launch_residual<Kernel, together()>(
          "polyad::residual_mttkrp_permuted", space,
          Kernel{{source, others, {RowsAt<Scalar>(C[mode])}, {RowsAt<Scalar>(G)}}, rank, chunks});
    });
  });
}

}  // namespace polyad::detail
