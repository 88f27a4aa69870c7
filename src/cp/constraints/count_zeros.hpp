// SPDX-License-Identifier: BSD-3-Clause
// The exact zeros of a model: how many each factor has, and which components vanish.
#pragma once

#include <Kokkos_Core.hpp>
#include <algorithm>
#include <numeric>
#include <vector>

#include "polyad/core/types.hpp"
#include "polyad/cp/cp_als.hpp"
#include "polyad/tensor/ktensor.hpp"

namespace polyad::detail {

/// zeros(c, r) = the zeros in column r among chunk c's rows.
template <class Space, class Scalar>
struct ZerosOfChunk {
  FactorMatrix<Scalar, Space> matrix;
  Kokkos::View<count_t**, Kokkos::LayoutRight, typename Space::device_type> zeros;
  count_t chunk;

  KOKKOS_FUNCTION void operator()(count_t e) const {
    count_t const c = e / matrix.extent(1), r = e % matrix.extent(1);
    count_t const end = Kokkos::min<count_t>(matrix.extent(0), (c + 1) * chunk);
    count_t count     = 0;
    for (count_t i = c * chunk; i < end; ++i)
      if (matrix(i, r) == Scalar(0)) ++count;
    zeros(c, r) = count;
  }
};

/// The zeros of each column. Waits for `space`.
template <class Space, class Scalar>
[[nodiscard]] std::vector<count_t> zeros_of_columns(Space const& space,
                                                    FactorMatrix<Scalar, Space> const& matrix) {
  count_t const chunks = std::clamp<count_t>(matrix.extent(0) / 64, 1, 1024);
  Kokkos::View<count_t**, Kokkos::LayoutRight, typename Space::device_type> zeros(
      uninitialized(space, "polyad::zeros"), chunks, matrix.extent(1));
  Kokkos::parallel_for(
      "polyad::count_zeros",
      Kokkos::RangePolicy<Space, Kokkos::IndexType<count_t>>(space, 0, chunks * matrix.extent(1)),
      ZerosOfChunk<Space, Scalar>{matrix, zeros, ceil_div(matrix.extent(0), chunks)});
  space.fence("polyad::count_zeros");
  auto const host = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), zeros);
  std::vector<count_t> counts(matrix.extent(1), 0);
  for (count_t c = 0; c < chunks; ++c)
    for (std::size_t r = 0; r < counts.size(); ++r) counts[r] += host(c, r);
  return counts;
}

/// Counts the zeros of a result's model. Of several ranks, those without the model count none. Waits.
template <class Scalar, class Space>
void count_zeros(Space const& space, CpAlsResult<Scalar, Space>& result) {
  auto const& model = result.model;
  std::vector<bool> is_zero(model.weights.size());
  for (std::size_t r = 0; r < is_zero.size(); ++r) is_zero[r] = model.weights[r] == 0;
  for (int n = 0; n < model.factors.order(); ++n) {
    auto const columns = zeros_of_columns<Space, Scalar>(space, model.factors[n]);
    for (std::size_t r = 0; r < columns.size(); ++r)
      if (columns[r] == model.factors[n].extent(0)) is_zero[r] = true;
    result.zeros.push_back(std::accumulate(columns.begin(), columns.end(), count_t(0)));
  }
  for (std::size_t r = 0; r < is_zero.size(); ++r)
    if (is_zero[r]) result.zero_components.push_back(static_cast<int>(r));
}

}  // namespace polyad::detail
