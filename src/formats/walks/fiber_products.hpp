// SPDX-License-Identifier: BSD-3-Clause
// The parts common to the FastTucker walks over fibers (formats/walks/sgd_sweep.hpp, the residuals of
// formats/csf/kernels/residual_trees.hpp). The nonzeros of a fiber agree in all modes but that of the last
// level, the leaf. Plain coordinates are fibers of one nonzero. The product of a fiber is
//
//   p(r) = prod over the levels above the leaf of C^(m)(i_m, r),    C^(m) = A^(m) B^(m)
//
// A walk takes its nonzeros from a Source, in bins of consecutive ones:
//
//   source.bins(), source.begin(b)     bin b holds the nonzeros begin(b) ... begin(b + 1) - 1
//   auto at = source.start(b)          a cursor at the bin's first nonzero
//   source.fiber_end(at, i)            one past the last nonzero of i's fiber
//   source.index(at, i, m)             index of nonzero i in the mode of level m, 0 ... N - 2
//   source.leaf(i), source.value(i)
//   source.advance(at, i)              moves the cursor from i - 1 to i
//
// p is in the team's scratch pad, one row per thread. So R and J are free, and later steps read p(r) from all
// lanes.
#pragma once

#include <Kokkos_Core.hpp>

#include "kernel/launch_shape.hpp"
#include "polyad/kernel/lanes.hpp"
#include "polyad/kernel/rank_dispatch.hpp"
#include "polyad/kernel/row_form.hpp"
#include "polyad/kernel/whole_row_walk.hpp"
#include "polyad/tensor/fast_tucker_model.hpp"

namespace polyad::detail {

/// A lane's columns of x M: x a row of `length` numbers, M a matrix with rows of `stride`.
template <class Row, class Scalar>
KOKKOS_FORCEINLINE_FUNCTION Row row_times_matrix(Scalar const* x, int length, Scalar const* M, count_t stride,
                                                 Columns columns) {
  Row sum(Scalar(0));
  for (int k = 0; k < length; ++k) sum.multiply_add(x[k], Row(M + k * stride, columns));
  return sum;
}

/// The rows of C of each level: read if C is kept, otherwise formed from A and B (J R multiplications per
/// row).
template <class Scalar>
struct LevelRows {
  Scalar const* rows[max_order]{};   // rows of C^(m), or of A^(m)
  Scalar const* cores[max_order]{};  // B^(m)
  unsigned stride[max_order]{};      // stride of `rows`
  int columns[max_order]{};          // J_m
  unsigned core_stride = 0;          // the same for all B
  int levels           = 0;          // above the leaf: N - 1
  bool formed          = false;

  /// Rows to read: of the modes of the levels, the leaf's last.
  template <class Space>
  LevelRows(FactorMatrices<Scalar, Space> const& C, Kokkos::Array<int, max_order> const& modes)
      : levels(C.order() - 1) {
    for (int l = 0; l <= levels; ++l) {
      auto const n = modes[l];
      rows[l]      = C[n].data();
      stride[l]    = static_cast<unsigned>(C[n].stride(0));
    }
  }
  /// Rows to form.
  template <class Space>
  LevelRows(FastTuckerModel<Scalar, Space> const& model, Kokkos::Array<int, max_order> const& modes)
      : core_stride(static_cast<unsigned>(model.B(0).stride(0))), levels(model.order() - 1), formed(true) {
    for (int l = 0; l <= levels; ++l) {
      auto const n = modes[l];
      rows[l]      = model.A(n).data();
      stride[l]    = static_cast<unsigned>(model.A(n).stride(0));
      cores[l]     = model.B(n).data();
      columns[l]   = static_cast<int>(model.columns(n));
    }
  }

  /// A lane's columns of row `index` of level l.
  template <class Row>
  [[nodiscard]] KOKKOS_FORCEINLINE_FUNCTION Row row(int l, count_t index, Columns lane_columns) const {
    Scalar const* const start = rows[l] + index * stride[l];
    return formed ? row_times_matrix<Row>(start, columns[l], cores[l], core_stride, lane_columns)
                  : Row(start, lane_columns);
  }
};

/// Entries of a thread's row in the scratch pad: whole blocks and one additional pack. The rows of a warp's
/// threads are read at the same time, and the additional pack makes them begin in different banks.
template <class Scalar>
KOKKOS_INLINE_FUNCTION constexpr int pad_row(int length, int block) {
  return (length + block - 1) / block * block + row_alignment / static_cast<int>(sizeof(Scalar));
}

/// A lane's columns of p of nonzero i's fiber.
template <class Row, class Scalar, class Source>
KOKKOS_FORCEINLINE_FUNCTION Row fiber_product(Source const& source, typename Source::Cursor const& at,
                                              count_t i, LevelRows<Scalar> const& factors, Columns columns) {
  Row product = factors.template row<Row>(0, source.index(at, i, 0), columns);
  for (int l = 1; l < factors.levels; ++l)
    product *= factors.template row<Row>(l, source.index(at, i, l), columns);
  return product;
}

/// Writes p of nonzero i's fiber into the thread's row of the pad. All lanes call it together; when it
/// returns, all may read all of p.
template <class Row, class Scalar, class Source>
KOKKOS_FORCEINLINE_FUNCTION void form_fiber_product(Source const& source, typename Source::Cursor const& at,
                                                    count_t i, LevelRows<Scalar> const& factors, int rank,
                                                    int block, Scalar* p, int lane) {
  sync_lanes<Row::lanes>();  // the others are done with the p of the fiber before
  for (int first = 0; first < rank; first += block) {
    Columns const columns = columns_or_none<Row>(first, rank, lane);
    fiber_product<Row>(source, at, i, factors, columns).store(p, columns);
  }
  sync_lanes<Row::lanes>();
}

/// Sum over r of p(r) c(r), known to all lanes: c row `index` of the leaf's C.
template <class Row, class Scalar>
KOKKOS_FORCEINLINE_FUNCTION Scalar interaction(LevelRows<Scalar> const& factors, count_t index,
                                               Scalar const* p, int rank, int block, int lane) {
  Scalar sum = 0;
  for (int first = 0; first < rank; first += block) {
    Columns const columns = columns_or_none<Row>(first, rank, lane);
    sum += factors.template row<Row>(factors.levels, index, columns).dot(Row(p, columns), columns);
  }
  return sum_over_lanes<Row::lanes>(sum);
}

/// Calls f(std::integral_constant<int, Block>). Block is 16 if all rows are that short, and 8 on hosts if
/// rows are even shorter. Otherwise, and for coordinates of 64 bits, it is 32.
template <class Space, class Index, class F>
void with_fiber_block(count_t longest_row, F&& f) {
  constexpr int narrowest = sizeof(Index) == 8 ? full_block : narrowest_block<Space>(16, 8);
  with_block<narrowest>(longest_row, f);
}

}  // namespace polyad::detail
