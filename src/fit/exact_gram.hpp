// SPDX-License-Identifier: BSD-3-Clause
// Gram matrices for the fit: A' A of a factor, in doubles or DoubleDouble, from the entries as they are
// stored.
#pragma once

#include <Kokkos_Core.hpp>
#include <algorithm>
#include <vector>

#include "fit/double_double.hpp"
#include "polyad/core/spaces.hpp"
#include "polyad/core/types.hpp"
#include "polyad/tensor/factor_matrices.hpp"

namespace polyad::detail {

/// The product of two entries in T, without an error if T is DoubleDouble or the entries are floats.
template <class T>
[[nodiscard]] KOKKOS_INLINE_FUNCTION T exact_product(double a, double b) {
  if constexpr (sizeof(T) == sizeof(DoubleDouble))
    return DoubleDouble::product(a, b);
  else
    return a * b;
}

/// Rows whose products are summed in T before they are added to a DoubleDouble.
inline constexpr count_t gram_rows_in_type = 8;

/// Entries (r, s ... s + block - 1) of A' A over a chunk of rows, for s <= r.
template <class T, class Space, class Scalar>
struct ChunkGram {
  static constexpr int block = 8;

  FactorMatrix<Scalar, Space> A;
  Kokkos::View<DoubleDouble***, Kokkos::LayoutRight, typename Space::device_type> sums;  // chunks x R x R
  count_t chunk;
  count_t blocks;  // the number of blocks of columns

  KOKKOS_FUNCTION void operator()(count_t e) const {
    count_t const first = e % blocks * block;
    count_t const r     = e / blocks % A.extent(1);
    count_t const c     = e / blocks / A.extent(1);
    if (first > r) return;
    count_t const end = Kokkos::min(A.extent(0), (c + 1) * chunk);
    int const columns = static_cast<int>(Kokkos::min(count_t(block), A.extent(1) - first));
    DoubleDouble total[block];
    for (count_t begin = c * chunk; begin < end; begin += gram_rows_in_type) {
      T sum[block]{};
      for (count_t i = begin; i < Kokkos::min(end, begin + gram_rows_in_type); ++i) {
        double const a = A(i, r);
        for (int s = 0; s < columns; ++s) sum[s] += exact_product<T>(a, A(i, first + s));
      }
      for (int s = 0; s < columns; ++s) total[s] += DoubleDouble(sum[s]);
    }
    for (int s = 0; s < columns; ++s) sums(c, r, first + s) = total[s];
  }
};

/// Rounded operations for an entry of such a matrix: those of a product, and of the sums in T.
inline constexpr double gram_roundings = 1 + gram_rows_in_type;

/// A' A (R x R, row-major). Waits for `space`. \throws MemoryError
template <class T, class Scalar, class Space>
std::vector<DoubleDouble> exact_gram(Space const& space, FactorMatrix<Scalar, Space> const& A) {
  using Kernel       = ChunkGram<T, Space, Scalar>;
  count_t const rank = A.extent(1);
  std::vector<DoubleDouble> gram(rank * rank);
  if (A.extent(0) == 0) return gram;
  // As many chunks as fill a device, but no more than 2^20 sums in total, or than fit the memory.
  count_t const sums_that_fit =
      std::min(count_t(1) << 20, available_memory(space) / 4 / sizeof(DoubleDouble));
  count_t const most   = std::clamp<count_t>(sums_that_fit / (rank * rank), 1, 1024);
  count_t const chunks = std::min(ceil_div(A.extent(0), gram_rows_in_type), most);
  expect_fits(space, "Gram matrices for the fit", chunks * rank * rank, sizeof(DoubleDouble));
  decltype(Kernel::sums) const sums(uninitialized(space, "polyad::exact_gram"), chunks, rank, rank);
  count_t const blocks = ceil_div(rank, Kernel::block);
  Kokkos::parallel_for(
      "polyad::exact_gram",
      Kokkos::RangePolicy<Space, Kokkos::IndexType<count_t>>(space, 0, chunks * rank * blocks),
      Kernel{A, sums, ceil_div(A.extent(0), chunks), blocks});
  space.fence("polyad::fit");
  auto const host = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), sums);
  for (count_t r = 0; r < rank; ++r)
    for (count_t s = 0; s <= r; ++s) {
      DoubleDouble sum;
      for (count_t c = 0; c < chunks; ++c) sum += host(c, r, s);
      gram[r * rank + s] = gram[s * rank + r] = sum;
    }
  return gram;
}

}  // namespace polyad::detail
