// SPDX-License-Identifier: BSD-3-Clause
#include "polyad/fast_tucker/predict.hpp"

#include <cmath>

namespace polyad {
namespace {

template <class Space, class Scalar, class Index>
void launch(Space const& space, FastTuckerModel<Scalar, Space> const& model,
            FactorMatrices<Scalar, Space> const& C, CooTensor<Scalar, Index, Space> const& X,
            ValueRange const& range, Scalar* predictions, double* sums) {
  POLYAD_EXPECTS(X.order() == model.order(), "entries of order ", X.order(), " for a model of order ",
                 model.order());
  for (int n = 0; n < model.order(); ++n) {
    POLYAD_EXPECTS(X.extents()[n] <= model.extents()[n], "mode ", n, " of the entries has ", X.extents()[n],
                   " rows, but the model has ", model.extents()[n]);
    POLYAD_EXPECTS(
        C[n].stride(0) == C[0].stride(0) && rows_are_aligned(C[n].data(), C[n].stride(0), C.rank()),
        "the rows of C", n, " do not allow packs of 16 bytes");
  }
  expect_factors(C, model.extents());
  if (X.nnz() == 0) return;
  int const rank = checked_rank(C.rank());
  with_row_block(rank, [&](auto block) {
    using Kernel = detail::PredictEntries<Space, Scalar, Index, block()>;
    Kernel kernel{};
    kernel.indices = X.indices().data();
    kernel.values  = X.values().data();
    for (int n = 0; n < model.order(); ++n) {
      kernel.C[n]    = C[n].data();
      kernel.bias[n] = model.bias(n).data();
    }
    kernel.stride      = C[0].stride(0);
    kernel.order       = model.order();
    kernel.rank        = rank;
    kernel.has_biases  = model.has_biases();
    kernel.mean        = model.mean;
    kernel.range       = range;
    kernel.predictions = predictions;
    kernel.sums        = sums;
    kernel.entries     = {X.nnz(), detail::predict_chunk<Space>};
    Kokkos::parallel_for("polyad::predict", kernel.entries.template policy<typename Kernel::Row>(space),
                         kernel);
  });
}

}  // namespace

template <class Space, class Scalar, class Index>
void predict(Space const& space, FastTuckerModel<Scalar, Space> const& model,
             FactorMatrices<Scalar, Space> const& C, CooTensor<Scalar, Index, Space> const& places,
             ValueRange const& range, Kokkos::View<Scalar*, typename Space::device_type> const& predictions) {
  POLYAD_EXPECTS(predictions.extent(0) == places.nnz(), "room for ", predictions.extent(0),
                 " predictions of ", places.nnz(), " entries");
  launch(space, model, C, places, range, predictions.data(), static_cast<double*>(nullptr));
}

template <class Space, class Scalar, class Index>
PredictionErrors errors(Space const& space, FastTuckerModel<Scalar, Space> const& model,
                        FactorMatrices<Scalar, Space> const& C, CooTensor<Scalar, Index, Space> const& X,
                        ValueRange const& range, ErrorSums<Space> const& sums) {
  if (X.nnz() == 0) return {};
  count_t const chunks = ceil_div(X.nnz(), detail::predict_chunk<Space>);
  POLYAD_EXPECTS(sums.extent(0) > chunks, "the sums of errors have ", sums.extent(0), " rows, not ",
                 chunks + 1);
  launch(space, model, C, X, range, static_cast<Scalar*>(nullptr), sums.data());
  Kokkos::View<double*, typename Space::device_type> const totals(sums.data() + 2 * chunks, 2);
  LaunchShape const shape = is_device_space<Space> ? LaunchShape{1, 32, 32} : LaunchShape{1, 1, 1};
  Kokkos::parallel_for("polyad::add_error_sums", team_policy(space, shape),
                       detail::AddErrorSums<Space>{sums, chunks, totals});
  double host[2] = {};
  Kokkos::deep_copy(space, Kokkos::View<double*, Kokkos::HostSpace>(host, 2), totals);
  space.fence("polyad::errors");
  auto const count = static_cast<double>(X.nnz());
  return {X.nnz(), std::sqrt(host[0] / count), host[1] / count};
}

POLYAD_PREDICT(float, std::uint32_t);
POLYAD_PREDICT(float, std::uint64_t);
POLYAD_PREDICT(double, std::uint32_t);
POLYAD_PREDICT(double, std::uint64_t);
POLYAD_ERRORS(float, std::uint32_t);
POLYAD_ERRORS(float, std::uint64_t);
POLYAD_ERRORS(double, std::uint32_t);
POLYAD_ERRORS(double, std::uint64_t);

}  // namespace polyad
