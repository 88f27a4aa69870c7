// SPDX-License-Identifier: BSD-3-Clause
// The factors of several ranks on the first one, in blocks of rows.
#pragma once

#include <Kokkos_Core.hpp>
#include <algorithm>
#include <span>
#include <utility>
#include <vector>

#include "cp/shared_rows.hpp"
#include "polyad/core/types.hpp"
#include "polyad/tensor/factor_matrices.hpp"

namespace polyad::detail {

template <class Scalar, class Space>
[[nodiscard]] FactorMatrix<Scalar, Space> rows_of(FactorMatrix<Scalar, Space> const& matrix, count_t first,
                                                  count_t count) {
  return Kokkos::subview(matrix, Kokkos::make_pair(first, first + count), Kokkos::ALL);
}

/// Calls f(first row, rows) for blocks of the whole factor of mode n, of which A has this rank's rows. The
/// first rank gets the rows.
template <class Scalar, class Space, class F>
void for_each_block_on_root(SharedRows<Scalar, Space>& ranks, int n, FactorMatrix<Scalar, Space> const& A,
                            F const& f) {
  constexpr count_t elements = count_t(1) << 16;
  count_t const most         = std::max<count_t>(1, elements / std::max<count_t>(1, A.extent(1)));
  count_t const rows         = ranks.rows(n);
  for (count_t first = 0; first < rows; first += most)
    f(first, ranks.rows_to_root(n, A, first, std::min(most, rows - first)));
}

/// The whole factors on the first rank, nothing on the others. Gives up this rank's rows. \throws MemoryError
template <class Scalar, class Space>
[[nodiscard]] FactorMatrices<Scalar, Space> whole_factors(Space const& space,
                                                          SharedRows<Scalar, Space>& ranks,
                                                          FactorMatrices<Scalar, Space>& factors) {
  count_t const rank = factors.rank();
  FactorMatrices<Scalar, Space> whole;
  if (ranks.is_root()) {
    std::vector<count_t> rows;
    for (int n = 0; n < factors.order(); ++n) rows.push_back(ranks.rows(n));
    whole = FactorMatrices<Scalar, Space>(space, Extents(std::span<count_t const>(rows)), rank);
  }
  for (int n = 0; n < factors.order(); ++n) {
    for_each_block_on_root(ranks, n, factors[n], [&](count_t first, std::vector<double> const& rows) {
      if (ranks.is_root())
        from_host<Scalar>(space, rows, rows_of<Scalar, Space>(whole[n], first, rows.size() / rank));
    });
    factors[n] = {};
  }
  return whole;
}

}  // namespace polyad::detail
