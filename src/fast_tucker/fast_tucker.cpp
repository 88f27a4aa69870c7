// SPDX-License-Identifier: BSD-3-Clause
#include "polyad/fast_tucker/fast_tucker.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "fast_tucker/epochs.hpp"
#include "fast_tucker/kept_model.hpp"
#include "polyad/core/instances.hpp"

namespace polyad {

template <class Scalar, class Index, class Space>
FastTuckerResult fast_tucker(Space const& space, AnyFormat<Scalar, Index, Space> const& X,
                             FastTuckerData<Scalar, Index, Space> const& data,
                             FastTuckerOptions const& options, FastTuckerModel<Scalar, Space> const& model,
                             FastTuckerCallback const& callback) {
  FastTuckerEpochs<Scalar, Index, Space> epochs(space, X, model, options);
  auto const sums =
      make_error_sums(space, std::max({data.train.nnz(), data.validation.nnz(), data.test.nnz()}));
  detail::KeptModel<Scalar, Space> const kept(space, model);
  kept.keep(space, model);
  double const most = 10 * std::sqrt(X.norm_squared() / static_cast<double>(X.nnz()));
  bool const tells  = options.patience > 0 && data.validation.nnz() > 0;
  double best       = std::numeric_limits<double>::infinity();
  if (tells) {  // epoch 0 are mean and biases alone: no interaction, where no epoch is better
    auto none = epochs.intermediates();
    none[0]   = make_packed_matrix<Scalar>(space, "polyad::no_interaction", model.extents()[0], model.rank());
    best      = errors(space, model, none, data.validation, options.range, sums).rmse;
    Kokkos::deep_copy(space, kept.A[0], 0);
  }
  FastTuckerResult result;
  Kokkos::Timer const total;
  for (int epoch = 1; epoch <= options.max_epochs; ++epoch) {
    Kokkos::Timer const clock;
    epochs.run();
    space.fence("polyad::fast_tucker");
    double const seconds = clock.seconds();
    auto const& C        = epochs.intermediates();
    auto const errors_of = [&](auto const& entries) {
      return errors(space, model, C, entries, options.range, sums);
    };
    FastTuckerEpoch const report{epoch, errors_of(data.train), errors_of(data.validation),
                                 errors_of(data.test), seconds};
    if (!(report.train.rmse <= most || report.train.rmse == 0)) {  // written so that NaN diverges
      result.reason = FastTuckerStop::diverged;
      kept.restore(space, model);
      break;
    }
    result.epochs.push_back(report);
    if (!tells || report.validation.rmse < best) {
      best              = report.validation.rmse;
      result.kept_epoch = epoch;
      kept.keep(space, model);
    }
    if (callback && !callback(result.epochs.back())) {
      result.reason = FastTuckerStop::interrupted;
      break;
    }
    if (tells && epoch - result.kept_epoch >= options.patience) {
      result.reason = FastTuckerStop::early_stop;
      break;
    }
    if (total.seconds() >= options.time_limit_s) {
      result.reason = FastTuckerStop::time_limit;
      break;
    }
  }
  if (tells) kept.restore(space, model);
  space.fence("polyad::fast_tucker");
  return result;
}

#define POLYAD_FAST_TUCKER(Scalar, Index)                                                                   \
  template FastTuckerResult fast_tucker(                                                                    \
      Kokkos::DefaultExecutionSpace const&, AnyFormat<Scalar, Index, Kokkos::DefaultExecutionSpace> const&, \
      FastTuckerData<Scalar, Index, Kokkos::DefaultExecutionSpace> const&, FastTuckerOptions const&,        \
      FastTuckerModel<Scalar, Kokkos::DefaultExecutionSpace> const&, FastTuckerCallback const&)
POLYAD_EACH_SCALAR_AND_INDEX(, POLYAD_FAST_TUCKER);

}  // namespace polyad
