// SPDX-License-Identifier: BSD-3-Clause
// solve_rows: A = V H^-1, the rows of an ALS update, once H^-1 (R x R) is known. V is read and A written
// once; the inverse stays in the caches. Bytes: 2 I R s_r. Flops: 2 I R^2.
#pragma once

#include <Kokkos_Core.hpp>

#include "polyad/core/rank_dispatch.hpp"
#include "polyad/core/row_form.hpp"
#include "polyad/core/tiny_vec.hpp"
#include "polyad/core/unrolled.hpp"
#include "polyad/tensor/factor_matrices.hpp"

namespace polyad {
namespace detail {

template <class Space, class Scalar, int Block, RowForm Form>
struct SolveRows {
  using Row                   = TinyVec<Space, Scalar, Block, Form>;
  static constexpr int height = rows_at_once<Row>(4);  // rows that share each load of the inverse
  /// Rows of a thread: on a host many, so that its block of the inverse stays in the first-level cache.
  static constexpr int chunk = is_device_space<Space> ? height : 64 * height;

  Scalar const* input;  // V, I x R
  count_t input_stride;
  Scalar const* inverse;  // R x R
  count_t inverse_stride;
  Scalar* output;  // A, I x R
  count_t output_stride;
  count_t rows;
  ColumnBlocks blocks;

  /// The rows first ... first + Height - 1.
  template <int Height>
  KOKKOS_FORCEINLINE_FUNCTION void solve(count_t first, Columns columns) const {
    Row sum[Height];
    unrolled<Height>([&](auto h) { sum[h] = Row(Scalar(0)); });
    Scalar const* const v = input + first * input_stride;
    for (int k = 0; k < blocks.rank; ++k) {
      Row const row(inverse + static_cast<count_t>(k) * inverse_stride, columns);
      unrolled<Height>([&](auto h) {
        sum[h].multiply_add(v[static_cast<count_t>(h()) * input_stride + static_cast<count_t>(k)], row);
      });
    }
    unrolled<Height>([&](auto h) {
      sum[h].store(output + (first + static_cast<count_t>(h())) * output_stride, columns);
    });
  }

  template <class Member>
  KOKKOS_FUNCTION void operator()(Member const& member) const {
    auto const team      = static_cast<count_t>(member.league_rank());
    auto const per_block = static_cast<count_t>(blocks.count);
    int const block      = blocks.first + static_cast<int>(team % per_block) * Block;
    count_t const begin  = (team / per_block * static_cast<count_t>(member.team_size()) +
                           static_cast<count_t>(member.team_rank())) *
                          chunk;
    count_t const end = Kokkos::min(rows, begin + chunk);
    if (begin >= end) return;
    Kokkos::parallel_for(Kokkos::ThreadVectorRange(member, Row::lanes), [&](int const lane) {
      Columns const columns = Row::columns(block, blocks.rank, lane);
      if (columns.count <= 0) return;
      count_t i = begin;
      // A whole block is a constant, which spares the compiler the code for a part of one: with it the sums
      // went to memory on a host.
      if (columns.count == Row::width)
        for (; i + height <= end; i += height) solve<height>(i, Columns{columns.first, Row::width});
      for (; i < end; ++i) solve<1>(i, columns);
    });
  }
};

}  // namespace detail

/// A = V inverse, row by row; A and V are I x R and must not overlap. Launches on `space` and returns
/// without waiting.
template <class Space, class Scalar>
void solve_rows(Space const& space, FactorMatrix<Scalar, Space> const& V,
                FactorMatrix<Scalar, Space> const& inverse, FactorMatrix<Scalar, Space> const& A) {
  count_t const rank = inverse.extent(0);
  POLYAD_EXPECTS(
      inverse.extent(1) == rank && V.extent(1) == rank && A.extent(1) == rank && A.extent(0) == V.extent(0),
      "V is ", V.extent(0), " x ", V.extent(1), ", A is ", A.extent(0), " x ", A.extent(1),
      " and the inverse is ", rank, " x ", inverse.extent(1));
  count_t const rows = V.extent(0);
  if (rows == 0) return;
  bool const aligned = rows_are_aligned(inverse.data(), inverse.stride(0), rank) &&
                       rows_are_aligned(A.data(), A.stride(0), rank);
  with_row_form<Space>(aligned, [&](auto form) {
    for_each_column_block(checked_rank(rank), [&](auto block, ColumnBlocks blocks) {
      using Kernel        = detail::SolveRows<Space, Scalar, block(), form()>;
      constexpr int lanes = Kernel::Row::lanes;
      int const team      = is_device_space<Space> ? 128 / lanes : 1;
      count_t const teams = ceil_div(ceil_div(rows, Kernel::chunk), static_cast<count_t>(team));
      LaunchShape const shape{teams * static_cast<count_t>(blocks.count), team, lanes};
      Kokkos::parallel_for("polyad::solve_rows", team_policy(space, shape),
                           Kernel{V.data(), static_cast<count_t>(V.stride(0)), inverse.data(),
                                  static_cast<count_t>(inverse.stride(0)), A.data(),
                                  static_cast<count_t>(A.stride(0)), rows, blocks});
    });
  });
}

#define POLYAD_SOLVE_ROWS(Scalar)                                                      \
  template void solve_rows(Kokkos::DefaultExecutionSpace const&,                       \
                           FactorMatrix<Scalar, Kokkos::DefaultExecutionSpace> const&, \
                           FactorMatrix<Scalar, Kokkos::DefaultExecutionSpace> const&, \
                           FactorMatrix<Scalar, Kokkos::DefaultExecutionSpace> const&)
extern POLYAD_SOLVE_ROWS(float);
extern POLYAD_SOLVE_ROWS(double);

}  // namespace polyad
