// SPDX-License-Identifier: BSD-3-Clause
// multiply_rows: C = A B for a tall matrix A (I x K) and a small one B (K x S). It computes the rows of an
// ALS update, the intermediates C^(n) = A^(n) B^(n) of FastTucker, and changes of basis. A is read and C
// written once; B stays in the caches. Bytes: I (K + S) s_r. Flops: 2 I K S. On a device, a BLAS computes
// wide products (dense/dense_tuning.hpp).
#pragma once

#include <Kokkos_Core.hpp>

#include "dense/blas.hpp"
#include "dense/dense_tuning.hpp"
#include "kernel/launch.hpp"
#include "kernel/launch_shape.hpp"
#include "polyad/core/instances.hpp"
#include "polyad/kernel/machine.hpp"
#include "polyad/kernel/rank_dispatch.hpp"
#include "polyad/kernel/row_form.hpp"
#include "polyad/kernel/tiny_vec.hpp"
#include "polyad/kernel/unrolled.hpp"
#include "polyad/tensor/factor_matrices.hpp"

namespace polyad::detail {

template <class Space, class Scalar, int Block>
struct MultiplyRows {
  using Row                   = TinyVec<Space, Scalar, Block>;
  static constexpr int height = rows_at_once<Row>(4);  // rows that share each load of B
  /// Rows of a thread: on a host many, so that its block of B stays in the first-level cache.
  static constexpr auto chunk = items_per_thread<Space>(height, 64 * height);

  Scalar const* A;  // I x K
  count_t A_stride;
  Scalar const* B;  // K x S
  count_t B_stride;
  Scalar* C;  // I x S
  count_t C_stride;
  count_t rows;
  count_t inner;        // K
  ColumnBlocks blocks;  // the blocks of S

  /// The rows first ... first + Height - 1.
  template <int Height>
  KOKKOS_FORCEINLINE_FUNCTION void multiply(count_t first, Columns columns) const {
    Row sum[Height];
    unrolled<Height>([&](auto h) { sum[h] = Row(Scalar(0)); });
    Scalar const* const a = A + first * A_stride;
    for (count_t k = 0; k < inner; ++k) {
      Row const row(B + k * B_stride, columns);
      unrolled<Height>([&](auto h) { sum[h].multiply_add(a[h() * A_stride + k], row); });
    }
    unrolled<Height>([&](auto h) { sum[h].store(C + (first + h()) * C_stride, columns); });
  }

  /// The rows first ... last - 1.
  KOKKOS_FORCEINLINE_FUNCTION void multiply_all(count_t first, count_t last, Columns columns) const {
    // A whole block has a constant width. Without this branch, the code for partial blocks made a host keep
    // the sums in memory.
    if (columns.count == Row::width)
      for (; first + height <= last; first += height)
        multiply<height>(first, Columns{columns.first, Row::width});
    for (; first < last; ++first) multiply<1>(first, columns);
  }

  template <class Member>
  KOKKOS_FUNCTION void operator()(Member const& member) const {
    count_t const team      = member.league_rank();
    count_t const per_block = blocks.count;
    int const block         = blocks.first + static_cast<int>(team % per_block) * Block;
    count_t const begin     = (team / per_block * member.team_size() + member.team_rank()) * chunk;
    count_t const end       = Kokkos::min(rows, begin + chunk);
    if (begin >= end) return;
    Kokkos::parallel_for(Kokkos::ThreadVectorRange(member, Row::lanes), [&](int const lane) {
      Columns const columns = Row::columns(block, blocks.rank, lane);
      if (columns.count > 0) multiply_all(begin, end, columns);
    });
  }
};

/// C (I x S) = A (I x K) B (K x S), row by row; C is overwritten and may not overlap A or B. Launches on
/// `space` and returns without waiting.
/// \throws UsageError when the shapes do not match
template <class Space, class Scalar>
void multiply_rows(Space const& space, FactorMatrix<Scalar, Space> const& A,
                   FactorMatrix<Scalar, Space> const& B, FactorMatrix<Scalar, Space> const& C) {
  POLYAD_EXPECTS(A.extent(1) == B.extent(0) && C.extent(0) == A.extent(0) && C.extent(1) == B.extent(1),
                 "A is ", A.extent(0), " x ", A.extent(1), ", B is ", B.extent(0), " x ", B.extent(1),
                 ", C is ", C.extent(0), " x ", C.extent(1), ": C = A B has no meaning");
  count_t const rows    = A.extent(0);
  count_t const columns = B.extent(1);
  if (rows == 0 || columns == 0) return;
  expect_packed_rows<Scalar, Space>(B);
  expect_packed_rows<Scalar, Space>(C);
  if constexpr (may_multiply_by_blas<Space>)
    if (multiplies_by_blas<Space>(rows, A.extent(1), columns)) return blas_product(space, A, B, C);
  for_each_column_block(checked_columns(columns), [&](auto block, ColumnBlocks blocks) {
    using Kernel        = detail::MultiplyRows<Space, Scalar, block()>;
    constexpr int lanes = Kernel::Row::lanes;
    int const team      = team_threads<Space>(lanes);
    count_t const teams = ceil_div(ceil_div(rows, Kernel::chunk), team);
    LaunchShape const shape{teams * blocks.count, team, lanes};
    detail::launch("polyad::multiply_rows", team_policy(space, shape),
                   Kernel{A.data(), A.stride(0), B.data(), B.stride(0), C.data(), C.stride(0), rows,
                          A.extent(1), blocks});
  });
}

#define POLYAD_MULTIPLY_ROWS(Scalar)                                                            \
  template void multiply_rows(CompiledSpace const&, FactorMatrix<Scalar, CompiledSpace> const&, \
                              FactorMatrix<Scalar, CompiledSpace> const&,                       \
                              FactorMatrix<Scalar, CompiledSpace> const&)
POLYAD_EACH_SCALAR(extern, POLYAD_MULTIPLY_ROWS);

}  // namespace polyad::detail
