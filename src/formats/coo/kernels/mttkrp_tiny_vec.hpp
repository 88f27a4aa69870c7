// SPDX-License-Identifier: BSD-3-Clause
// MTTKRP-B (GenTen, section 5, Figure 3). The product of a nonzero is formed in registers, in a TinyVec.
//
//   for each nonzero of the thread's chunk, some at a time        walk()
//     tmp = x                                                     add(): product[u]
//     tmp *= A^(m)(i_m, :) for each other mode m                  add(): the loop over m
//     V(i_n, :) += tmp, with atomics                              add(): atomic_add_to
//
// The walk is not WalkInOrder (formats/walks/walk_in_order.hpp): the nonzeros come in any order, so there is
// no row whose sum could be kept.
//
// Bytes per nonzero: s_r + N s_o for the nonzero (streamed), (N - 1) R s_r for the gathered rows, and an
// atomic row of R s_r. The atomic row costs more than the gathers if many nonzeros share few rows. Flops: N
// R.
#pragma once

#include <Kokkos_Core.hpp>

#include "formats/coo/storage/coo_tiny_vec.hpp"
#include "kernel/launch.hpp"
#include "kernel/launch_shape.hpp"
#include "kernel/rows_at.hpp"
#include "polyad/core/instances.hpp"
#include "polyad/kernel/chunk_walk.hpp"
#include "polyad/kernel/other_factors.hpp"
#include "polyad/kernel/row_form.hpp"
#include "polyad/kernel/tiny_vec.hpp"

namespace polyad::detail {

template <class Vec, class Index, int Order>
struct MttkrpTinyVec {
  using Row    = Vec;
  using Scalar = typename Row::scalar_type;

  /// Nonzeros whose rows are gathered at the same time (see permuted_batch).
  static constexpr int batch = rows_in_flight<typename Row::space_type>(4);

  Index const* indices;  // P x N
  Scalar const* values;
  OtherFactors<Scalar, Order> factors;
  int mode;
  RowsAt<Scalar> output;  // I_n x R
  ChunkWalk chunks;

  /// Adds the nonzeros p ... p + Count - 1.
  template <int Count>
  KOKKOS_FUNCTION void add(count_t p, Columns columns) const {
    count_t const order      = factors.size() + 1;
    Index const* const first = indices + p * order;
    Row product[Count];
    for (int u = 0; u < Count; ++u) product[u] = Row(values[p + u]);
    for (int m = 0; m < factors.size(); ++m)
      for (int u = 0; u < Count; ++u)
        product[u] *= Row(factors.row(m, first[u * order + factors.mode(m)]), columns);
    for (int u = 0; u < Count; ++u) {
      count_t const row = first[u * order + mode];
      product[u].atomic_add_to(output.row(row), columns);  // any thread may add to this row
    }
  }

  KOKKOS_FUNCTION void walk(count_t begin, count_t end, Columns columns) const {
    count_t p = begin;
    for (; p + batch <= end; p += batch) add<batch>(p, columns);
    for (; p < end; ++p) add<1>(p, columns);
  }

  template <class Member>
  KOKKOS_FUNCTION void operator()(Member const& member) const {
    chunks.template operator()<Row, Row::block>(
        member, [&](count_t begin, count_t end, Columns columns) { walk(begin, end, columns); });
  }
};

/// The contract's mttkrp (formats/format.hpp) by MTTKRP-B. `packed` chooses between the packed and GenTen's
/// strided TinyVec on a device, for comparison.
template <class Space, class Scalar, class Index>
void mttkrp(Space const& space, CooTinyVec<Scalar, Index, Space> const& X,
            FactorMatrices<Scalar, Space> const& factors, int mode, NoWorkspace& workspace,
            FactorMatrix<Scalar, Space> const& V, bool packed) {
  expect_mttkrp_arguments(X.extents(), factors, mode, V);
  workspace.expect(X.identity(), factors.rank(), X.name);
  zero_matrix(space, V);
  if (X.nnz() == 0) return;
  with_row_form<Space>(packed, [&](auto form) {
    constexpr bool rare_form =
        form() != RowForm::simd && (form() == RowForm::packed) != detail::tiny_vec_packs<Scalar>;
    constexpr bool any_order_only = sizeof(Index) == 8 || rare_form;
    with_order<any_order_only>(X.extents().order(), [&](auto order) {
      for_each_column_block(checked_rank(factors.rank()), [&](auto block, ColumnBlocks blocks) {
        using Row = TinyVec<Space, Scalar, block(), form()>;
        ChunkWalk const chunks{X.nnz(), chunk_length(space, X.nnz(), Row::lanes), blocks};
        detail::launch("polyad::mttkrp_tiny_vec", chunks.template policy<Row>(space),
                       MttkrpTinyVec<Row, Index, order()>{X.coo().indices().data(), X.coo().values().data(),
                                                          OtherFactors<Scalar, order()>(factors, mode), mode,
                                                          RowsAt<Scalar>(V), chunks});
      });
    });
  });
}

#define POLYAD_MTTKRP_TINY_VEC(Scalar, Index)                                                 \
  template void mttkrp(CompiledSpace const&, CooTinyVec<Scalar, Index, CompiledSpace> const&, \
                       FactorMatrices<Scalar, CompiledSpace> const&, int, NoWorkspace&,       \
                       FactorMatrix<Scalar, CompiledSpace> const&, bool)

}  // namespace polyad::detail
