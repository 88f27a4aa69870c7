// SPDX-License-Identifier: BSD-3-Clause
// arrange_components: the canonical form of a CP model. Components are sorted by decreasing weight. In every
// mode but the last, the entry of largest magnitude of each column is positive. The last mode gets the
// remaining signs, so that each component's product is unchanged. A mode may keep its signs instead; then the
// last of the others gets the remaining ones.
#pragma once

#include <Kokkos_Core.hpp>
#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "polyad/tensor/ktensor.hpp"

namespace polyad::detail {

/// extremes(c, r) = the entry of largest magnitude in column r of chunk c's rows; the first of equal ones.
template <class Space, class Scalar>
struct ColumnExtremes {
  FactorMatrix<Scalar, Space> matrix;
  Kokkos::View<Scalar**, Kokkos::LayoutRight, typename Space::device_type> extremes;
  count_t chunk;

  KOKKOS_FUNCTION void operator()(count_t e) const {
    count_t const c   = e / matrix.extent(1);
    count_t const r   = e % matrix.extent(1);
    count_t const end = Kokkos::min<count_t>(matrix.extent(0), (c + 1) * chunk);
    Scalar extreme    = 0;
    for (count_t i = c * chunk; i < end; ++i)
      if (Kokkos::abs(matrix(i, r)) > Kokkos::abs(extreme)) extreme = matrix(i, r);
    extremes(c, r) = extreme;
  }
};

/// Row by row: column r becomes sign(r) times the old column source(r).
template <class Space, class Scalar>
struct ArrangeColumns {
  FactorMatrix<Scalar, Space> matrix;
  FactorMatrix<Scalar, Space> copy;
  Kokkos::View<int*, typename Space::device_type> source;
  Kokkos::View<double*, typename Space::device_type> sign;

  KOKKOS_FUNCTION void operator()(count_t e) const {
    count_t const i = e / matrix.extent(1);
    count_t const r = e % matrix.extent(1);
    matrix(i, r)    = static_cast<Scalar>(sign(r)) * copy(i, source(r));
  }
};

/// +1 or -1 for each column: the sign of its entry of largest magnitude. Waits for `space`.
template <class Space, class Scalar>
std::vector<double> column_signs(Space const& space, FactorMatrix<Scalar, Space> const& matrix) {
  count_t const chunks = std::clamp<count_t>(matrix.extent(0) / 64, 1, 1024);
  Kokkos::View<Scalar**, Kokkos::LayoutRight, typename Space::device_type> extremes(
      uninitialized(space, "polyad::extremes"), chunks, matrix.extent(1));
  Kokkos::parallel_for(
      "polyad::column_extremes",
      Kokkos::RangePolicy<Space, Kokkos::IndexType<count_t>>(space, 0, chunks * matrix.extent(1)),
      ColumnExtremes<Space, Scalar>{matrix, extremes, ceil_div(matrix.extent(0), chunks)});
  space.fence("polyad::column_signs");
  auto const host = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), extremes);
  std::vector<double> signs(matrix.extent(1));
  for (std::size_t r = 0; r < signs.size(); ++r) {
    Scalar extreme = 0;
    for (std::size_t c = 0; c < chunks; ++c)
      if (std::abs(host(c, r)) > std::abs(extreme)) extreme = host(c, r);
    signs[r] = extreme < 0 ? -1 : 1;
  }
  return signs;
}

/// Brings a model into canonical form. Waits for `space`; needs a copy of the largest factor.
/// \param keeps_signs  one entry for each mode; empty: no mode keeps its signs
/// \param keeps_order  whether the components stay in their order
template <class Scalar, class Space>
void arrange_components(Space const& space, Ktensor<Scalar, Space>& model, std::vector<bool> keeps_signs = {},
                        bool keeps_order = false) {
  std::size_t const rank = model.factors.rank();
  std::vector<int> source(rank);
  std::iota(source.begin(), source.end(), 0);
  if (!keeps_order)
    std::stable_sort(source.begin(), source.end(),
                     [&](int a, int b) { return model.weights[a] > model.weights[b]; });
  std::vector<double> remaining(rank, 1.0);
  int const order = model.factors.order();
  keeps_signs.resize(order);
  int last = order - 1;
  while (last >= 0 && keeps_signs[last]) --last;
  for (int n = 0; n < order; ++n) {
    auto const& matrix = model.factors[n];
    std::vector<double> sign(rank), own(rank, 1.0);
    if (!keeps_signs[n]) own = n == last ? remaining : detail::column_signs(space, matrix);
    for (std::size_t r = 0; r < rank; ++r) {
      sign[r] = own[source[r]];
      if (n != last) remaining[r] *= own[r];
    }
    auto const copy = make_factor_matrix<Scalar>(space, "polyad::arranged", matrix.extent(0), rank);
    detail::copy_matrix(space, copy, matrix);
    Kokkos::View<int*, typename Space::device_type> device_source(uninitialized(space, "polyad::source"),
                                                                  rank);
    Kokkos::View<double*, typename Space::device_type> device_sign(uninitialized(space, "polyad::sign"),
                                                                   rank);
    auto const host_source = Kokkos::create_mirror_view(device_source);
    auto const host_sign   = Kokkos::create_mirror_view(device_sign);
    std::copy(source.begin(), source.end(), host_source.data());
    std::copy(sign.begin(), sign.end(), host_sign.data());
    Kokkos::deep_copy(space, device_source, host_source);
    Kokkos::deep_copy(space, device_sign, host_sign);
    Kokkos::parallel_for(
        "polyad::arrange_columns",
        Kokkos::RangePolicy<Space, Kokkos::IndexType<count_t>>(space, 0, matrix.extent(0) * rank),
        detail::ArrangeColumns<Space, Scalar>{matrix, copy, device_source, device_sign});
    space.fence("polyad::arrange_components");
  }
  std::vector<double> weights(rank);
  for (std::size_t r = 0; r < rank; ++r) weights[r] = model.weights[source[r]];
  model.weights = weights;
}

}  // namespace polyad::detail
