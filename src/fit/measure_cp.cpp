// SPDX-License-Identifier: BSD-3-Clause
#include "fit/measure_cp.hpp"

#include <Kokkos_Core.hpp>
#include <algorithm>

#include "fit/cp_cells.hpp"
#include "fit/cp_norm.hpp"
#include "fit/exact_gram.hpp"
#include "fit/sum_cells.hpp"

namespace polyad::detail {
namespace {

template <class T, class Scalar, class Space>
Fit cp_fit_in(Space const& space, FormatInterface<Scalar, Space> const& X,
              StoredCp<Scalar, Space> const& model, double scale, RankSums const& ranks) {
  CpCells<Scalar, T> cells;
  cells.order = model.factors.order();
  cells.rank  = static_cast<int>(model.weights.size());
  std::vector<DoubleDouble> grams;
  for (int n = 0; n < cells.order; ++n) {
    cells.factors[n] = model.factors[n].data();
    cells.strides[n] = model.factors[n].stride(0);
    auto const gram  = exact_gram<T>(space, model.owned[n]);
    grams.insert(grams.end(), gram.begin(), gram.end());
  }
  sum_over_ranks(ranks, grams);
  Kokkos::View<double*, typename Space::device_type> const weights(
      uninitialized(space, "polyad::fit_weights"), model.weights.size());
  auto const host = Kokkos::create_mirror_view(weights);
  std::copy(model.weights.begin(), model.weights.end(), host.data());
  Kokkos::deep_copy(space, weights, host);
  cells.weights = weights.data();

  auto const norm = cp_norm(grams, model.weights);
  auto const sums = sum_cells(space, X, cells, scale, ranks);
  return fit_of(squares_of_cells<T>(sums, norm.squared, norm.components,
                                    {cells.roundings(), cells.order * gram_roundings}));
}

}  // namespace

template <class Scalar, class Space>
Fit measure_cp_fit(Space const& space, FormatInterface<Scalar, Space> const& X,
                   StoredCp<Scalar, Space> const& model, double scale, RankSums const& ranks) {
  return exact_fit<Scalar>([&]<class T>(T) { return cp_fit_in<T>(space, X, model, scale, ranks); });
}

POLYAD_EACH_SCALAR(, POLYAD_MEASURE_CP_FIT);

}  // namespace polyad::detail
