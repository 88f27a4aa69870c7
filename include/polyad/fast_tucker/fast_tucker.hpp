// SPDX-License-Identifier: BSD-3-Clause
// fast_tucker: fits a FastTucker model to observed entries (Li et al., "cuFasterTucker", 2022), by
//
//   als   in turn for each mode: the rows of A^(n) by least squares, each with all its observations, and one
//         step of best length for B^(n). Converges in few epochs. Rows are drawn to zero as Shrinkage
//         says, or by a ridge.
//   adam  in turn for each mode: one residual sweep gives the gradients of A^(n) and of B^(n), Adam the step.
//   sgd   the paper's own: an update for every observation, then the cores.
//
// A ridge is a constant for each row unless it is asked for per entry, as the paper has it: multiplied by a
// row's count it drives the factors to zero (docs/fast-tucker.md).
#pragma once

#include <cmath>
#include <functional>
#include <limits>
#include <optional>
#include <vector>

#include "polyad/fast_tucker/predict.hpp"
#include "polyad/fast_tucker/start.hpp"
#include "polyad/formats/any_format.hpp"
#include "polyad/formats/format.hpp"

namespace polyad {

/// The rates of adam (Kingma & Ba, ICLR 2015, Algorithm 1).
struct AdamRates {
  double step    = 0.01;   // alpha
  double first   = 0.9;    // beta_1
  double second  = 0.999;  // beta_2
  double epsilon = 1e-8;
};

/// The rates of sgd (Li et al., Algorithms 1 and 2): gamma / (1 + decay t^1.5) after t epochs.
struct SgdRates {
  double step      = 0.01;  // gamma_A, for every observation
  double core_step = 0.1;   // gamma_B, for the mean over all of them
  double decay     = 0.1;
  SgdForm form     = {};

  /// What both rates are multiplied by in an epoch, which count from 1.
  [[nodiscard]] double share(int epoch) const { return 1 / (1 + decay * std::pow(epoch - 1, 1.5)); }
};

/// How als draws a row towards zero: as so many observations more, and by a share of its own
/// (docs/fast-tucker.md).
struct Shrinkage {
  double observations = 10;
  double share        = 0.05;
};

enum class FastTuckerOptimizer { als, adam, sgd };

/// AnyFormatOptions::needs for that optimiser.
[[nodiscard]] inline std::vector<Capability> needs_of(FastTuckerOptimizer optimizer) {
  if (optimizer == FastTuckerOptimizer::sgd) return {Capability::sgd};
  if (optimizer == FastTuckerOptimizer::adam) return {Capability::residual_sweep};
  return {Capability::residual_sweep, Capability::row_least_squares};
}

struct FastTuckerOptions {
  FastTuckerOptimizer optimizer = FastTuckerOptimizer::als;
  int max_epochs                = 20;
  Shrinkage shrinkage;           // als, unless there is a ridge
  std::optional<double> ridge;   // of a row of A^(n); adam and sgd take 5 where there is none
  bool ridge_per_entry = false;  // times the row's observations, as in the paper (not for adam)
  double core_ridge    = 0;      // of B^(n)
  bool update_cores    = true;   // als: where J < R or there is a ridge
  AdamRates adam;
  SgdRates sgd;
  int patience        = 0;  // epochs without a better validation RMSE that end the run; 0: they never do
  double time_limit_s = std::numeric_limits<double>::infinity();
  ValueRange range;  // of predictions, for the errors
};

/// What the callback learns after each epoch.
struct FastTuckerEpoch {
  int epoch;  // counts from 1
  PredictionErrors train;
  PredictionErrors validation;  // no entries when there are none
  PredictionErrors test;
  double seconds;  // of the epoch, without the errors
};

enum class FastTuckerStop { max_epochs, early_stop, time_limit, interrupted, diverged };

inline char const* to_string(FastTuckerStop reason) {
  switch (reason) {
    case FastTuckerStop::max_epochs:
      return "epoch limit";
    case FastTuckerStop::early_stop:
      return "no better validation error";
    case FastTuckerStop::time_limit:
      return "time limit";
    case FastTuckerStop::interrupted:
      return "interrupted";
    case FastTuckerStop::diverged:
      return "diverged";
  }
  return "unknown";
}

struct FastTuckerResult {
  FastTuckerStop reason = FastTuckerStop::max_epochs;
  /// The epoch whose model is returned: the last, or the best with `patience`. 0 is the start: no epoch was
  /// sound, or with `patience` none was better than no interaction.
  int kept_epoch = 0;
  std::vector<FastTuckerEpoch> epochs;
};

/// Called after each epoch; false ends the run.
using FastTuckerCallback = std::function<bool(FastTuckerEpoch const&)>;

/// Entries as they are observed; all but the training set may be empty. The validation set tells the best
/// epoch, the test set is only reported.
template <class Scalar, class Index, class Space>
struct FastTuckerData {
  CooTensor<Scalar, Index, Space> train;
  CooTensor<Scalar, Index, Space> validation;
  CooTensor<Scalar, Index, Space> test;
};

/// Fits `model`, which holds the start and becomes the result, to X: the training set, without the model's
/// mean and biases where it has them (without_biases), in some storage format. Waits for `space`.
///
/// When the training error stops being a number, or exceeds ten times that of mean and biases alone, the run
/// ends as diverged with the last model that was sound.
/// \throws UsageError when shapes or rates make no sense or the format lacks what the optimiser needs;
///         MemoryError before allocating
template <class Scalar, class Index, class Space>
FastTuckerResult fast_tucker(Space const& space, AnyFormat<Scalar, Index, Space> const& X,
                             FastTuckerData<Scalar, Index, Space> const& data,
                             FastTuckerOptions const& options, FastTuckerModel<Scalar, Space> const& model,
                             FastTuckerCallback const& callback = {});

/// The same of a tensor in any format of one's own, or of the library's by its class.
template <Format F>
FastTuckerResult fast_tucker(
    typename F::space_type const& space, F const& X,
    FastTuckerData<typename F::scalar_type, typename F::index_type, typename F::space_type> const& data,
    FastTuckerOptions const& options,
    FastTuckerModel<typename F::scalar_type, typename F::space_type> const& model,
    FastTuckerCallback const& callback = {}) {
  return fast_tucker(space, any_format(space, X), data, options, model, callback);
}

}  // namespace polyad
