// SPDX-License-Identifier: BSD-3-Clause
// The factor matrices that an MTTKRP of one mode reads, as a kernel sees them: pointers and row strides.
#pragma once

#include <type_traits>

#include "polyad/core/types.hpp"
#include "polyad/kernel/rank_dispatch.hpp"
#include "polyad/tensor/factor_matrices.hpp"

namespace polyad {

/// The factors of all modes but one, in the order of the modes unless another order is given. The parameter
/// Order is the tensor's number of modes N if the kernel is compiled for it, otherwise any_order.
template <class Scalar, int Order>
class OtherFactors {
public:
  template <class Space>
  OtherFactors(FactorMatrices<Scalar, Space> const& factors, int mode) {
    for (int n = 0; n < factors.order(); ++n)
      if (n != mode) append(factors[n], n);
  }
  /// The factors of modes[1], ..., modes[N - 1].
  template <class Space>
  OtherFactors(FactorMatrices<Scalar, Space> const& factors, Kokkos::Array<int, max_order> const& modes) {
    for (int m = 1; m < factors.order(); ++m) {
      int const n = modes[m];
      append(factors[n], n);
    }
  }

  /// One matrix, of the given mode.
  template <class... View>
  OtherFactors(Kokkos::View<Scalar**, View...> const& matrix, int mode) {
    append(matrix, mode);
  }

  /// N - 1
  [[nodiscard]] KOKKOS_FUNCTION int size() const {
    if constexpr (Order > 0)
      return Order - 1;
    else
      return m_size;
  }
  /// The mode of the m-th of them.
  [[nodiscard]] KOKKOS_FUNCTION int mode(int m) const { return m_mode[m]; }
  /// Row `index` of the m-th of them.
  [[nodiscard]] KOKKOS_FUNCTION Scalar const* row(int m, count_t index) const {
#ifdef KOKKOS_ENABLE_DEBUG
    KOKKOS_ASSERT(index < m_rows[m]);
#endif
    return m_data[m] + index * m_stride[m];
  }

private:
  template <class... View>
  void append(Kokkos::View<Scalar**, View...> const& matrix, int n) {
    m_data[m_size]   = matrix.data();
    m_stride[m_size] = matrix.stride(0);
    m_mode[m_size]   = n;
#ifdef KOKKOS_ENABLE_DEBUG
    m_rows[m_size] = matrix.extent(0);
#endif
    ++m_size;
  }

  static constexpr int capacity = Order > 0 ? Order - 1 : max_order;
  Scalar const* m_data[capacity]{};
  count_t m_stride[capacity]{};
  int m_mode[capacity]{};
  int m_size = 0;
#ifdef KOKKOS_ENABLE_DEBUG
  count_t m_rows[capacity]{};  // to check indices
#endif
};

/// Kernels are compiled for the orders 3, 4 and 5, and once for any order.
inline constexpr int any_order = 0;

/// Calls f(std::integral_constant<int, Order>) for the order of a tensor. Coordinates of 64 bits and rows
/// that are not aligned are rare enough to be served by the any-order kernel alone.
template <bool AnyOrderOnly, class F>
void with_order(int order, F&& f) {
  if constexpr (!AnyOrderOnly) {
    if (order == 3) return f(std::integral_constant<int, 3>{});
    if (order == 4) return f(std::integral_constant<int, 4>{});
    if (order == 5) return f(std::integral_constant<int, 5>{});
  }
  f(std::integral_constant<int, any_order>{});
}

/// Whether kernels for an order have a block of 12 columns: three registers of four numbers. Without it, ten
/// doubles take four of AVX2's registers, like sixteen.
template <class Scalar>
inline constexpr bool has_block_of_three =
    !takes_packed_rows<Kokkos::DefaultExecutionSpace> && simd_bytes / int(sizeof(Scalar)) == 4;

/// Calls f(order, block, blocks) for each width of blocks into which the columns of a rank are cut. Kernels
/// are compiled for these widths. A kernel for any order has no wide blocks, because such tensors are rare.
template <class Scalar, bool AnyOrderOnly, class F>
void for_each_kernel_shape(int order, count_t rank, F&& f) {
  with_order<AnyOrderOnly>(order, [&](auto order_constant) {
    if constexpr (order_constant() != any_order && has_block_of_three<Scalar>)
      if (rank > 8 && rank <= 12)
        return f(order_constant, std::integral_constant<int, 12>{}, ColumnBlocks{0, 1, int(rank)});
    for_each_wide_block<Scalar, order_constant() == any_order>(
        checked_rank(rank), [&](auto block, ColumnBlocks blocks) { f(order_constant, block, blocks); });
  });
}

}  // namespace polyad
