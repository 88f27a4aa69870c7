// SPDX-License-Identifier: BSD-3-Clause
// Scales values so large or small that their products leave the range of floats, and models of such values.
#include <Kokkos_Core.hpp>
#include <algorithm>
#include <cmath>
#include <span>
#include <vector>

#include "core/host_side.hpp"
#include "fast_tucker/entries.hpp"
#include "fast_tucker/largest_entry.hpp"
#include "polyad/core/instances.hpp"
#include "polyad/fast_tucker/fast_tucker.hpp"

namespace polyad {

using namespace detail;
namespace {

/// to[i * stride + j] = factor * from[i * stride + j] for j < columns; both may be the same array.
template <class Scalar>
struct ScaleNumbers {
  Scalar const* from;
  Scalar* to;
  count_t columns;
  count_t stride;
  double factor;
  KOKKOS_FUNCTION void operator()(count_t i) const {
    count_t const at = i / columns * stride + i % columns;
    to[at]           = static_cast<Scalar>(static_cast<double>(from[at]) * factor);
  }
};

template <class Space, class Scalar>
void scale_numbers(Space const& space, double factor, Scalar const* from, Scalar* to, count_t rows,
                   count_t columns, count_t stride) {
  Kokkos::parallel_for("polyad::scale_numbers",
                       Kokkos::RangePolicy<Space, Kokkos::IndexType<count_t>>(space, 0, rows * columns),
                       ScaleNumbers<Scalar>{from, to, columns, stride, factor});
}

template <class Space, class Scalar, class Index>
CooTensor<Scalar, Index, Space> scaled_entries(Space const& space, CooTensor<Scalar, Index, Space> const& X,
                                               double factor) {
  using Values = typename CooTensor<Scalar, Index, Space>::values_type;
  if (X.nnz() == 0) return X;
  expect_fits(space, "scaled values", X.nnz(), sizeof(Scalar));
  Values const values(uninitialized(space, "polyad::scaled_values"), X.nnz());
  scale_numbers(space, factor, static_cast<Scalar const*>(X.values().data()), values.data(), X.nnz(), 1, 1);
  return {X.extents(), X.indices(), values};
}

}  // namespace

template <class Scalar, class Index, class Space>
TrainingSet<Scalar, Index, Space> detail::scaled(Space const& space,
                                                 TrainingSet<Scalar, Index, Space> const& X, double factor) {
  if (!X.on_host()) return TrainingSet<Scalar, Index, Space>(scaled_entries(space, X.tensor(), factor));
  auto const values = make_pinned_values<Scalar, Space>(X.nnz());
  auto const host   = host_instance(space);
  scale_numbers(host, factor, static_cast<Scalar const*>(X.pinned().values.data()), values.data(), X.nnz(), 1,
                1);
  host.fence("polyad::scaled");
  return {{X.extents(), X.pinned().indices, values}, X.buffers()};
}

template <class Scalar, class Index, class Space>
double detail::value_scale(Space const& space, TrainingSet<Scalar, Index, Space> const& X,
                           FastTuckerOptions const& options, RunRanks const& ranks) {
  double const largest = ranks.largest(largest_value(space, X));
  if (!draws_rows(options) || !std::isfinite(largest) || largest == 0) return 1;
  int const exponent = std::clamp(std::ilogb(largest), -1000, 1000);
  return std::abs(exponent) < 30 ? 1 : std::ldexp(1.0, -exponent);
}

template <class Scalar, class Index, class Space>
double value_scale(Space const& space, CooTensor<Scalar, Index, Space> const& X,
                   FastTuckerOptions const& options) {
  return detail::value_scale(space, TrainingSet<Scalar, Index, Space>(X), options, RunRanks());
}

template <class Scalar, class Index, class Space>
FastTuckerData<Scalar, Index, Space> scaled(Space const& space,
                                            FastTuckerData<Scalar, Index, Space> const& data, double factor) {
  return {scaled_entries(space, data.train, factor), scaled_entries(space, data.validation, factor),
          scaled_entries(space, data.test, factor)};
}

template <class Scalar, class Space>
void scale_predictions(Space const& space, double factor, FastTuckerModel<Scalar, Space>& model,
                       std::span<RowTarget const> targets) {
  POLYAD_EXPECTS(factor > 0 && factor == std::ldexp(1.0, std::ilogb(factor)), factor,
                 " is not a power of two");
  POLYAD_EXPECTS(targets.empty() || targets.size() == static_cast<std::size_t>(model.order()), "there are ",
                 targets.size(), " targets for ", model.order(), " modes");
  auto const scale = [&](auto const& matrix, double by, count_t columns, count_t stride) {
    scale_numbers(space, by, static_cast<Scalar const*>(matrix.data()), matrix.data(), matrix.extent(0),
                  columns, stride);
  };
  model.mean *= factor;
  model.range.lowest *= factor;
  model.range.highest *= factor;
  std::vector<int> modes;
  for (int n = 0; n < model.order(); ++n)
    if (targets.empty() || targets[n] == RowTarget::zero) modes.push_back(n);
  if (modes.empty()) modes.push_back(0);
  int left = std::ilogb(factor);  // the rest of the exponent
  for (std::size_t i = 0; i < modes.size(); ++i) {
    int const share = left / static_cast<int>(modes.size() - i);
    auto const& A   = model.A(modes[i]);
    scale(A, std::ldexp(1.0, share), A.extent(1), static_cast<count_t>(A.stride(0)));
    left -= share;
  }
  for (int n = 0; n < model.order(); ++n) {
    auto const& drift = model.drift(n);
    if (drift.extent(1) > 0) scale(drift, factor, drift.extent(1), static_cast<count_t>(drift.stride(0)));
    if (model.has_biases()) scale(model.bias(n), factor, 1, 1);
  }
  space.fence("polyad::scale_predictions");
}

#define POLYAD_VALUE_SCALE(Scalar, Index)                                                           \
  template double value_scale(CompiledSpace const&, CooTensor<Scalar, Index, CompiledSpace> const&, \
                              FastTuckerOptions const&);                                            \
  template FastTuckerData<Scalar, Index, CompiledSpace> scaled(                                     \
      CompiledSpace const&, FastTuckerData<Scalar, Index, CompiledSpace> const&, double);           \
  template double detail::value_scale(CompiledSpace const&,                                         \
                                      TrainingSet<Scalar, Index, CompiledSpace> const&,             \
                                      FastTuckerOptions const&, RunRanks const&);                   \
  template TrainingSet<Scalar, Index, CompiledSpace> detail::scaled(                                \
      CompiledSpace const&, TrainingSet<Scalar, Index, CompiledSpace> const&, double)
#define POLYAD_SCALE_PREDICTIONS(Scalar)                                                                 \
  template void scale_predictions(CompiledSpace const&, double, FastTuckerModel<Scalar, CompiledSpace>&, \
                                  std::span<RowTarget const>)
POLYAD_EACH_SCALAR_AND_INDEX(, POLYAD_VALUE_SCALE);
POLYAD_EACH_SCALAR(, POLYAD_SCALE_PREDICTIONS);

}  // namespace polyad
