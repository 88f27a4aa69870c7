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

#include <Kokkos_Core.hpp>
#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <vector>

#include "polyad/core/stop_reason.hpp"
#include "polyad/fast_tucker/predict.hpp"
#include "polyad/formats/any_format.hpp"
#include "polyad/formats/format.hpp"
#include "polyad/tensor/coo_tensor.hpp"
#include "polyad/tensor/fast_tucker_model.hpp"

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

/// Of the mean and the biases (fit_biases).
struct BiasOptions {
  int sweeps     = 10;
  double damping = 5;
};

struct FastTuckerOptions {
  // Of the start; one that is given has its own.
  count_t rank                 = 8;     // R
  std::vector<count_t> columns = {8};   // J_n: one number, or one a mode
  bool biases                  = true;  // a mean and biases, fitted first; without them as in the paper
  BiasOptions bias             = {};
  std::uint64_t seed           = 0;

  FastTuckerOptimizer optimizer = FastTuckerOptimizer::als;
  int max_epochs                = 20;
  Shrinkage shrinkage           = {};     // als, unless there is a ridge
  std::optional<double> ridge   = {};     // of a row of A^(n); adam and sgd take 5 where there is none
  bool ridge_per_entry          = false;  // times the row's observations, as in the paper (not for adam)
  double core_ridge             = 0;      // of B^(n)
  bool update_cores             = true;   // als: where J < R or there is a ridge
  AdamRates adam                = {};
  SgdRates sgd                  = {};
  int patience        = 0;  // epochs without a better validation RMSE that end the run; 0: they never do
  double time_limit_s = std::numeric_limits<double>::infinity();
  ValueRange range    = {};  // of predictions, within that of the start; the model keeps it
};

/// What the callback learns after each epoch.
struct FastTuckerEpoch {
  int epoch;  // counts from 1
  PredictionErrors train;
  PredictionErrors validation;  // no entries when there are none
  PredictionErrors test;
  double seconds;  // of the epoch, without the errors
};

template <class Scalar, class Space>
struct FastTuckerResult {
  /// Of the last epoch, or of the best one with `patience`.
  FastTuckerModel<Scalar, Space> model;
  std::vector<FastTuckerEpoch> history;
  StopReason reason = StopReason::max_iterations;
  /// The epoch whose model it is. 0 is the start: no epoch was sound, or with `patience` none was better than
  /// no interaction.
  int kept_epoch = 0;
};

/// Called after each epoch; false ends the run.
using FastTuckerCallback = std::function<bool(FastTuckerEpoch const&)>;

/// Entries as they are observed; all but the training set may be left out.
template <class Scalar, class Index, class Space>
struct FastTuckerData {
  CooTensor<Scalar, Index, Space> train;
  CooTensor<Scalar, Index, Space> validation = {};  // tells the best epoch
  CooTensor<Scalar, Index, Space> test       = {};  // is only reported
  /// The training set without the start's mean and biases (without_biases) in a format that is chosen
  /// already; without it the library chooses one.
  std::optional<AnyFormat<Scalar, Index, Space>> format = {};
};

/// What the optimiser asks of a format: any_format(space, coo, format_options(options)).
[[nodiscard]] AnyFormatOptions format_options(FastTuckerOptions const& options);

/// Fits a model to the training set. Waits for `space`.
///
/// When the training error stops being a number, or exceeds ten times that of mean and biases alone, the run
/// ends as diverged with the last model that was sound.
/// \param start  is overwritten by the result; its mean and biases stay as they are. Without it, mean and
///               biases are fitted to the training set, and fill_start makes the rest.
/// \throws UsageError when shapes or rates make no sense or the format lacks what the optimiser needs;
///         MemoryError before allocating; NumericalError when a value is not finite
template <class Scalar, class Index, class Space>
FastTuckerResult<Scalar, Space> fast_tucker(Space const& space,
                                            FastTuckerData<Scalar, Index, Space> const& data,
                                            FastTuckerOptions const& options,
                                            FastTuckerModel<Scalar, Space> const& start,
                                            FastTuckerCallback const& callback = {});
template <class Scalar, class Index, class Space>
FastTuckerResult<Scalar, Space> fast_tucker(Space const& space,
                                            FastTuckerData<Scalar, Index, Space> const& data,
                                            FastTuckerOptions const& options   = {},
                                            FastTuckerCallback const& callback = {});

/// The same of a training set alone; `rest` are the optional start and callback.
template <class Scalar, class Index, class Space, class... Rest>
FastTuckerResult<Scalar, Space> fast_tucker(Space const& space, CooTensor<Scalar, Index, Space> const& train,
                                            FastTuckerOptions const& options = {}, Rest const&... rest) {
  return fast_tucker(space, FastTuckerData<Scalar, Index, Space>{.train = train}, options, rest...);
}

/// A start of either sign, whose interactions have a tenth of the given deviation, with rows of A^(n) about
/// as long as those of C^(n). In all modes but the two longest the columns of C^(n) have means, all the same
/// and nine tenths of their squares: the model starts as an interaction of two modes that is much the same in
/// the rows of the others. (With means of zero in all modes the products of N - 1 of them are all chance, and
/// nothing was learned of planted tensors of order 6; with means of chance a column whose mean is near zero
/// starts late.) The same bits on every backend. Waits for `space`.
template <class Scalar, class Space>
void fill_start(Space const& space, FastTuckerModel<Scalar, Space> const& model, double deviation,
                std::uint64_t seed);

/// Fits model.mean and model.bias to the values of X, alone and first: what is left is what the factors then
/// explain. In turn for each mode n, with e = x - mean - sum over m != n of bias^(m)(i_m),
///
///   bias^(n)(k) = sum over observations with i_n = k of e / (damping + their number),
///
/// the minimiser of sum e^2 + damping |bias^(n)|^2 (not in Li et al., whose models have no biases). The
/// model's factors play no part. The same bits on every backend. Waits for `space`.
/// \throws UsageError when the model has no biases or other extents, the damping is negative or X is empty;
///         NumericalError when a value is not finite
template <class Space, class Scalar, class Index>
void fit_biases(Space const& space, CooTensor<Scalar, Index, Space> const& X, BiasOptions const& options,
                FastTuckerModel<Scalar, Space>& model);

/// X with the model's mean and biases taken from its values; shares X's coordinates. Launches on `space` and
/// returns without waiting. \throws UsageError when the extents differ; MemoryError
template <class Space, class Scalar, class Index>
CooTensor<Scalar, Index, Space> without_biases(Space const& space, CooTensor<Scalar, Index, Space> const& X,
                                               FastTuckerModel<Scalar, Space> const& model);

}  // namespace polyad
