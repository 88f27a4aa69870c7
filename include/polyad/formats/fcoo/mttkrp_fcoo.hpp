// SPDX-License-Identifier: BSD-3-Clause
// F-COO's SpMTTKRP and SpTTM: a nonzero's product is its value times the rows of all product modes, element
// by element (Liu et al., equations 3 and 6, section IV).
//
// Bytes a nonzero: s_r + M s_o + 1/8 streamed, M R s_r gathered. Flops: (M + 1) R. The output's rows are
// written once, those that cross a team's border a few times, and each segment's row number is read.
#pragma once

#include <Kokkos_Core.hpp>

#include "polyad/core/instances.hpp"
#include "polyad/core/row_form.hpp"
#include "polyad/core/tiny_vec.hpp"
#include "polyad/formats/fcoo/fcoo.hpp"
#include "polyad/formats/fcoo/sum_flagged.hpp"
#include "polyad/formats/other_factors.hpp"

namespace polyad {
namespace detail {

/// Products for SumFlagged: Order - 1 product modes, or any number of them.
template <class Space, class Scalar, class Index, int Block, RowForm Form, int Order>
struct HadamardTerms {
  using Row                     = TinyVec<Space, Scalar, Block, Form>;
  using Sum                     = Row;
  static constexpr int lanes    = Row::lanes;
  static constexpr int block    = Block;
  static constexpr int elements = Block;
  /// Nonzeros read and gathered at the same time: MttkrpSorted's choice, measured on the H200 there.
  static constexpr int batch = !is_device_space<Space> ? 1 : Block < 32 || sizeof(Scalar) == 4 ? 4 : 2;

  /// As many registers as MttkrpSorted has: 80.
  static constexpr int resident_teams  = 3;
  static constexpr int most_partitions = 1;

  Index const* indices;  // M x P, row-major
  count_t index_stride;
  Scalar const* values;
  OtherFactors<Scalar, Order> factors;
  Scalar* output;
  count_t output_stride;
  int rank;

  [[nodiscard]] KOKKOS_FUNCTION Columns columns(int first, int lane) const {
    return Row::columns(first, rank, lane);
  }
  /// Blocks begin at multiples of 32, and the last one at a multiple of 32 too (core/rank_dispatch.hpp).
  [[nodiscard]] KOKKOS_FUNCTION Columns own(Columns columns) const {
    return {columns.first % full_block, columns.count};
  }

  template <int Count, class Flush>
  KOKKOS_FORCEINLINE_FUNCTION void add(count_t p, unsigned ends, Columns columns, FlaggedSum<Row>& sum,
                                       Flush const& flush) const {
    using Indices = Pack<Index, Count>;
    auto const x  = *reinterpret_cast<Pack<Scalar, Count> const*>(values + p);
    Row product[Count];
    for (int u = 0; u < Count; ++u) product[u] = Row(x.element[u]);
    for (int m = 0; m < factors.size(); ++m) {
      auto const k = *reinterpret_cast<Indices const*>(indices + static_cast<count_t>(m) * index_stride + p);
      for (int u = 0; u < Count; ++u) product[u] *= Row(factors.row(m, k.element[u]), columns);
    }
    if ((ends & ((1U << Count) - 1U)) == 0) {
      for (int u = 0; u < Count; ++u) sum.sum += product[u];
    } else {
      for (int u = 0; u < Count; ++u) sum.add(product[u], (ends >> u & 1U) != 0, flush);
    }
  }

  KOKKOS_FUNCTION void store(Index row, Row const& sum, Columns columns) const {
    sum.store(output + static_cast<count_t>(row) * output_stride, columns);
  }
  KOKKOS_FUNCTION void add_to(Index row, Row const& sum, Columns columns, int lane) const {
    bool const whole = columns.first - columns.first % full_block + Block <= rank;
    AddAtomically<Scalar>{output, output_stride, columns, lane, whole}(row, sum);
  }
};

/// Order 2 is SpTTM of any tensor, besides SpMTTKRP of a matrix.
template <bool AnyOrderOnly, class F>
void with_flagged_order(int order, F&& f) {
  if constexpr (!AnyOrderOnly) {
    if (order == 2) return f(std::integral_constant<int, 2>{});
    if (order == 3) return f(std::integral_constant<int, 3>{});
    if (order == 4) return f(std::integral_constant<int, 4>{});
  }
  f(std::integral_constant<int, any_order>{});
}

/// Y, a row for every segment or row of the one index mode, is overwritten. make_factors(order) is the
/// product modes' OtherFactors for that many product modes and one.
template <class Space, class Scalar, class Index, class MakeFactors>
void hadamard_product(Space const& space, std::string const& label,
                      FlaggedNonzeros<Scalar, Index, Space> const& X, MakeFactors const& make_factors,
                      FCooShape const& shape, bool packed, FactorMatrix<Scalar, Space> const& Y) {
  expect_shape(shape);
  if (X.nnz == 0) return Kokkos::deep_copy(space, Y, Scalar(0));
  with_row_form<Space>(packed, [&](auto form) {
    constexpr bool any_order_only = sizeof(Index) == 8 || form() == RowForm::strided;
    with_flagged_order<any_order_only>(X.product_modes() + 1, [&](auto order) {
      for_each_column_block(checked_rank(Y.extent(1)), [&](auto block, ColumnBlocks blocks) {
        clear_rows<Space, Scalar, Index, block(), form()>(space, X.cleared, blocks, Y);
        using Terms = HadamardTerms<Space, Scalar, Index, block(), form(), order()>;
        sum_flagged(space, label, X, blocks, shape,
                    Terms{X.indices.data(), static_cast<count_t>(X.indices.stride(0)), X.values.data(),
                          make_factors(order), Y.data(), static_cast<count_t>(Y.stride(0)), blocks.rank});
      });
    });
  });
}

}  // namespace detail

/// The contract's mttkrp (formats/format.hpp). `packed = false` takes GenTen's strided TinyVec on a device,
/// for comparison.
template <class Space, class Scalar, class Index>
void mttkrp(Space const& space, FCoo<Scalar, Index, Space> const& X,
            FactorMatrices<Scalar, Space> const& factors, int mode, NoWorkspace&,
            FactorMatrix<Scalar, Space> const& V, bool packed = true) {
  expect_mttkrp_arguments(X.extents(), factors, mode, V);
  auto const& nonzeros    = X.nonzeros(mode);
  auto const make_factors = [&](auto order) {
    return OtherFactors<Scalar, order()>(factors, nonzeros.modes);
  };
  detail::hadamard_product(space, "polyad::mttkrp_fcoo", nonzeros, make_factors, X.options().shape,
                           packed && rows_are_aligned(factors, V), V);
}

/// SpTTM on mode n, Y = X x_n U: row s of `fibers` (S x R, overwritten) is the sum over the nonzeros of
/// segment s of x U(i_n, :). X keeps all modes but n (build_spttm). Launches on `space` and returns without
/// waiting; allocates nothing.
/// \throws UsageError when the shapes do not match
template <class Space, class Scalar, class Index>
void spttm(Space const& space, FlaggedNonzeros<Scalar, Index, Space> const& X,
           FactorMatrix<Scalar, Space> const& U, FactorMatrix<Scalar, Space> const& fibers,
           FCooShape const& shape = {}, bool packed = true) {
  POLYAD_EXPECTS(X.product_modes() == 1, "a product with one matrix of nonzeros of ", X.product_modes(),
                 " product modes");
  int const mode = X.product_mode(0);
  checked_rank(U.extent(1));
  POLYAD_EXPECTS(U.extent(0) == X.extents[mode], "the matrix has ", U.extent(0), " rows, mode ", mode,
                 " has ", X.extents[mode]);
  count_t const rows = X.output_rows();
  POLYAD_EXPECTS(fibers.extent(0) == rows && fibers.extent(1) == U.extent(1), "the output is ",
                 fibers.extent(0), " x ", fibers.extent(1), ", not ", rows, " x ", U.extent(1));
  bool const aligned = rows_are_aligned(U.data(), static_cast<count_t>(U.stride(0)), U.extent(1)) &&
                       rows_are_aligned(fibers.data(), static_cast<count_t>(fibers.stride(0)), U.extent(1));
  auto const make_factors = [&](auto order) { return OtherFactors<Scalar, order()>(U, mode); };
  detail::hadamard_product(space, "polyad::spttm", X, make_factors, shape, packed && aligned, fibers);
}

#define POLYAD_MTTKRP_FCOO(Scalar, Index)                                                               \
  template void mttkrp(Kokkos::DefaultExecutionSpace const&,                                            \
                       FCoo<Scalar, Index, Kokkos::DefaultExecutionSpace> const&,                       \
                       FactorMatrices<Scalar, Kokkos::DefaultExecutionSpace> const&, int, NoWorkspace&, \
                       FactorMatrix<Scalar, Kokkos::DefaultExecutionSpace> const&, bool)
#define POLYAD_SPTTM(Scalar, Index)                                                         \
  template void spttm(Kokkos::DefaultExecutionSpace const&,                                 \
                      FlaggedNonzeros<Scalar, Index, Kokkos::DefaultExecutionSpace> const&, \
                      FactorMatrix<Scalar, Kokkos::DefaultExecutionSpace> const&,           \
                      FactorMatrix<Scalar, Kokkos::DefaultExecutionSpace> const&, FCooShape const&, bool)
POLYAD_EACH_SCALAR_AND_INDEX(extern, POLYAD_MTTKRP_FCOO);
POLYAD_EACH_SCALAR_AND_INDEX(extern, POLYAD_SPTTM);

}  // namespace polyad
