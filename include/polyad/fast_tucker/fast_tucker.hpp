// SPDX-License-Identifier: BSD-3-Clause
// fast_tucker: fits a FastTucker model to observed entries (Li et al., "cuFasterTucker", 2022), by
//
//   als   in turn for each mode: the rows of A^(n) by least squares, each with all its observations, and one
//         step of best length for B^(n). Converges in few epochs. Rows are drawn to zero or to one as
//         Shrinkage says, or to zero by a ridge. Unless told, choose_fast_tucker finds how by held-out
//         entries.
//   adam  in turn for each mode: one residual sweep gives the gradients of A^(n) and of B^(n), Adam the step.
//   sgd   the paper's own: an update for every observation, then the cores.
//
// A ridge is a constant for each row. The paper multiplies it by the row's number of observations
// (ridge_per_entry), which drives the factors to zero (docs/fast-tucker.md).
#pragma once

#include <Kokkos_Core.hpp>
#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "polyad/core/stop_reason.hpp"
#include "polyad/fast_tucker/predict.hpp"
#include "polyad/formats/any_format.hpp"
#include "polyad/formats/format.hpp"
#include "polyad/tensor/coo_tensor.hpp"
#include "polyad/tensor/fast_tucker_model.hpp"
#include "polyad/tensor/fast_tucker_state.hpp"

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

  /// What both rates are multiplied by in an epoch; epochs count from 1.
  [[nodiscard]] double share(int epoch) const { return 1 / (1 + decay * std::pow(epoch - 1, 1.5)); }
};

/// What als draws the rows of C^(n) to. A mode that tells little of the interaction would kill the product if
/// it were drawn to zero.
enum class RowTarget {
  zero,
  one,
  left_out,  // not fitted: ones, as fill_start makes them, so that the mode has no part in the product
};

/// How als draws a row of n observations to zero: with the weight of observations + share n of them; to one:
/// with the weight of to_one (docs/fast-tucker.md). None is negative.
struct Shrinkage {
  double observations = 10;
  double share        = 0.05;  // a fraction
  double to_one       = 1000;
};

enum class FastTuckerOptimizer { als, adam, sgd };

/// How a mode's biases drift: one number in each bin of time, damped by so many observations.
struct BiasDrift {
  count_t bins   = 0;  // of equal length; 0: the biases stay as they are
  double damping = 30;
};

/// For fit_biases, which fits the mean and the biases.
struct BiasOptions {
  int sweeps     = 10;
  double damping = 5;
  /// The mode of time, over which the biases of the others drift; -1: none.
  int time_mode = -1;
  /// Of each mode but that of time; none: chosen by choose_fast_tucker, or 30 bins, fewer for sparse rows.
  std::vector<BiasDrift> drift = {};
};

struct FastTuckerOptions {
  // These make the start; one that is given has its own.
  count_t rank                 = 0;     // R; 0: J, or with neither chosen, or 8
  std::vector<count_t> columns = {};    // J_n: one number, or one per mode; none: R
  bool biases                  = true;  // a mean and biases, fitted first; without them as in the paper
  BiasOptions bias             = {};
  std::uint64_t seed           = 0;

  FastTuckerOptimizer optimizer = FastTuckerOptimizer::als;
  int max_epochs                = 20;
  // als, with neither a ridge nor ridge_per_entry; unset: chosen, or where a start is given the usual one.
  std::optional<Shrinkage> shrinkage = {};
  std::vector<RowTarget> targets     = {};  // of als, one a mode; none: chosen, or zero
  std::optional<double> ridge = {};     // of a row of A^(n); unset: 5, but for als without ridge_per_entry
  bool ridge_per_entry        = false;  // times the row's observations, as in the paper (not for adam)
  double core_ridge           = 0;      // of B^(n)
  bool update_cores           = true;   // with shrinkage only of modes with J_n < R
  AdamRates adam              = {};
  SgdRates sgd                = {};
  int patience        = 0;  // epochs without a better validation RMSE that end the run; 0: they never do
  double time_limit_s = std::numeric_limits<double>::infinity();
  ValueRange range    = {};  // of predictions, within that of the start; the model keeps it
};

/// What choose_fast_tucker found.
template <class Scalar, class Space>
struct FastTuckerChoice {
  FastTuckerOptions options;  // nothing in them is left to choose; few epochs, as they go on from `start`
  /// The best candidate, with mean and biases of the entries that were not held out.
  FastTuckerModel<Scalar, Space> start;
  bool learns = true;       // false: on the held-out entries nothing was better than mean and biases
  PredictionErrors biases;  // of mean and biases alone, drifting ones too, on the held-out entries
  PredictionErrors model;   // of the best candidate there
  int candidates = 0;
  double seconds = 0;
};

/// What the callback learns after each epoch.
struct FastTuckerEpoch {
  int epoch;  // counts from 1
  PredictionErrors train;
  PredictionErrors validation;  // no entries when there are none
  PredictionErrors test;
  double seconds;  // of the epoch, without the errors
};

/// Of a set that is left out they have no entries.
struct FastTuckerErrors {
  PredictionErrors train, validation, test;
};

/// The format that the training set was kept in, as AnyFormat tells.
struct FormatFacts {
  std::string chosen, because;
  count_t storage_bytes                   = 0;
  double build_s                          = 0;
  std::vector<FormatCandidate> candidates = {};
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
  FastTuckerErrors errors;  // of the kept epoch; no entries without one
  FastTuckerErrors biases;  // of mean and biases alone
  FormatFacts format;       // without a name where the model is mean and biases alone
  /// Where something was left to choose. A model that is mean and biases alone has kept_epoch 0.
  std::optional<FastTuckerChoice<Scalar, Space>> choice;
};

/// Called after each epoch; false ends the run.
using FastTuckerCallback = std::function<bool(FastTuckerEpoch const&)>;

/// Writes and takes up the state of a run. A run that goes on from a state comes to the same bits as one that
/// never stopped, where the format sums in a fixed order.
struct FastTuckerCheckpoints {
  /// Called after every `every` epochs, after the last one, and with what a search has chosen; none: never.
  std::function<void(FastTuckerState const&)> save;
  int every = 10;
  /// Goes on from it: nothing is chosen and no biases are fitted again, and epochs count on. The options have
  /// to be those of its run, but for epochs and time. The result's choice then has no start.
  FastTuckerState const* resume = nullptr;
};

/// Entries as they are observed; all but the training set may be left out.
template <class Scalar, class Index, class Space>
struct FastTuckerData {
  CooTensor<Scalar, Index, Space> train;
  CooTensor<Scalar, Index, Space> validation = {};  // its error decides which epoch is the best
  CooTensor<Scalar, Index, Space> test       = {};  // is only reported
  /// The training set without the start's mean and biases (without_biases), in a format that is chosen
  /// already. Needs a start: fast_tucker throws UsageError without one. Unset: the library chooses.
  std::optional<AnyFormat<Scalar, Index, Space>> format = {};
  /// In place of train: a training set that the device takes in stretches (als and adam).
  CooTensor<Scalar, Index, HostOf<Space>> train_on_host = {};
};

/// The options with R, and J of each mode: without R the largest J, or 8; without J R.
/// \throws MemoryError when als would hold more than 2^31 bytes for a row
[[nodiscard]] FastTuckerOptions with_shape(FastTuckerOptions options, int order);

/// What the optimiser asks of a format: any_format(space, coo, format_options(options)).
[[nodiscard]] AnyFormatOptions format_options(FastTuckerOptions const& options);

/// Fits a model to the training set. Waits for `space`.
///
/// Values so large or small that products of them would leave the range of floats are fitted times
/// value_scale, unless there is a format already; the result is on their own scale.
///
/// A run ends as diverged when the training error is not a number, or more than ten times that of mean and
/// biases alone. The result is then the last model that was sound.
/// \param start  of the training set's extents. The matrices A^(n) and B^(n), and all Views that share them,
///               are overwritten by the result; mean and biases stay as they are. Without it, mean and
///               biases are fitted to the training set, and fill_start makes the rest.
/// \throws UsageError when shapes or rates make no sense, the training set is empty, the format lacks what
///         the optimiser needs or there is a format without a start; MemoryError before allocating;
///         NumericalError when biases are to be fitted to a value that is not finite
template <class Scalar, class Index, class Space>
FastTuckerResult<Scalar, Space> fast_tucker(Space const& space,
                                            FastTuckerData<Scalar, Index, Space> const& data,
                                            FastTuckerOptions const& options,
                                            FastTuckerModel<Scalar, Space> const& start,
                                            FastTuckerCallback const& callback = {});
///
/// Without a start choose_fast_tucker comes first, where the options leave it something, and its best
/// candidate is the start. Where nothing beats mean and biases, they are the model: of rank 1, with factors
/// of zeros.
/// \param format  which format holds the training set, and how it is chosen; rank, iterations and needs are
///                the optimiser's. The name has to be that of a state to go on from
/// \throws also UsageError for a state of another run, InputError where it was read from a file
template <class Scalar, class Index, class Space>
FastTuckerResult<Scalar, Space> fast_tucker(Space const& space,
                                            FastTuckerData<Scalar, Index, Space> const& data,
                                            FastTuckerOptions const& options         = {},
                                            FastTuckerCallback const& callback       = {},
                                            AnyFormatOptions const& format           = {},
                                            FastTuckerCheckpoints const& checkpoints = {});

/// Whether so many entries are better left in host memory (FastTuckerData::train_on_host). They are where the
/// format named streams, or where what a run holds of them would not fit the device's free memory.
template <class Scalar, class Index, class Space>
[[nodiscard]] bool stays_on_host(Space const& space, Extents const& extents, count_t entries,
                                 FastTuckerOptions const& options, AnyFormatOptions const& format = {});

/// The same of a training set alone; `rest` are the optional start and callback, or callback and format.
template <class Scalar, class Index, class Space, class... Rest>
FastTuckerResult<Scalar, Space> fast_tucker(Space const& space, CooTensor<Scalar, Index, Space> const& train,
                                            FastTuckerOptions const& options = {}, Rest const&... rest) {
  return fast_tucker(space, FastTuckerData<Scalar, Index, Space>{.train = train}, options, rest...);
}

/// Whether the options leave something to choose_fast_tucker: they ask for als and fix neither a shrinkage
/// nor a ridge.
[[nodiscard]] bool leaves_choice(FastTuckerOptions const& options);

/// Chooses what the options leave open (R where there is neither R nor J, the targets, the shrinkage or a
/// ridge per observation, and with a mode of time which biases drift and how) by a part of the entries that
/// is held out: a twentieth or so, told by a hash of the coordinates; a row with few entries keeps them.
/// Candidates are fitted to the rest, one going on from the other: what the modes are drawn to, then
/// shrinkage from strong to weak until the held-out error rises, then higher ranks. The best goes on with all
/// entries. Waits for `space`.
/// \param format  which format holds the entries, and how; by default the library chooses
/// \throws as fast_tucker
template <class Scalar, class Index, class Space>
[[nodiscard]] FastTuckerChoice<Scalar, Space> choose_fast_tucker(Space const& space,
                                                                 CooTensor<Scalar, Index, Space> const& train,
                                                                 FastTuckerOptions const& options,
                                                                 AnyFormatOptions format = {});

/// The power of two that brings the largest value near one, where it is 2^30 and more or 2^-30 and less and
/// rows are shrunk, which suits any scale; otherwise 1. fast_tucker and choose_fast_tucker use it by
/// themselves; a program that makes the format calls it with `scaled` and scale_predictions. Waits for
/// `space`.
template <class Scalar, class Index, class Space>
[[nodiscard]] double value_scale(Space const& space, CooTensor<Scalar, Index, Space> const& train,
                                 FastTuckerOptions const& options);

/// The entries with their values times a factor, and no format; shares the coordinates. Launches on `space`
/// and returns without waiting. \throws MemoryError
template <class Scalar, class Index, class Space>
[[nodiscard]] FastTuckerData<Scalar, Index, Space> scaled(Space const& space,
                                                          FastTuckerData<Scalar, Index, Space> const& data,
                                                          double factor);

/// Multiplies all that the model predicts by a power of two, in place: its mean, its range, the numbers of
/// its biases, and A^(n) of the modes whose target is zero, each by its share. Waits for `space`.
/// \param targets  one a mode, or none: zero
/// \throws UsageError for another factor
template <class Scalar, class Space>
void scale_predictions(Space const& space, double factor, FastTuckerModel<Scalar, Space>& model,
                       std::span<RowTarget const> targets = {});

/// Fills A^(n) and B^(n) with random numbers of both signs; mean and biases stay. The interactions,
/// sum_r prod_n C^(n)(i_n, r), get a tenth of `deviation` as their standard deviation. In the two longest
/// modes the columns of C^(n) have the mean 0. In the others all have the same mean, whose square is nine
/// tenths of their mean square: the start depends little on these rows. (With means of 0 in all modes nothing
/// was learned of planted tensors of order 6. With random means a column whose mean is near 0 starts late.)
/// Of modes whose target is not zero all C^(n)(k, r) are 1, and the others share the standard deviation.
/// A deviation that is 0 or not finite counts as 1. The same bits on every backend. Waits for `space`.
/// \param targets  one a mode, or none: zero
template <class Scalar, class Space>
void fill_start(Space const& space, FastTuckerModel<Scalar, Space> const& model, double deviation,
                std::uint64_t seed, std::span<RowTarget const> targets = {});

/// Fits model.mean and model.bias to the values of X; the model's factors play no part, and explain
/// afterwards what is left. In turn for each mode n, with e = x - mean - sum over m != n of bias^(m)(i_m),
///
///   bias^(n)(k) = sum over observations with i_n = k of e / (damping + their number),
///
/// the minimiser of sum e^2 + damping |bias^(n)|^2 (not in Li et al., whose models have no biases). Drifts,
/// which e is without as well, follow the biases of their mode, with a sum for each row and bin of time. They
/// are the b_u,Bin(t) and b_i,Bin(t) of Koren (KDD 2009, section 3.1), whose users drift by splines. The same
/// bits on every backend. Waits for `space`.
/// \throws UsageError when the model has no biases or other extents, a damping or the sweeps are negative,
///         the mode of time does not exist or X is empty; NumericalError when a value is not finite;
///         MemoryError
template <class Space, class Scalar, class Index>
void fit_biases(Space const& space, CooTensor<Scalar, Index, Space> const& X, BiasOptions const& options,
                FastTuckerModel<Scalar, Space>& model);

/// X with the model's mean, and its biases and their drifts where it has them, subtracted from the values;
/// shares X's coordinates. Launches on `space` and returns without waiting.
/// \throws UsageError when the extents differ; MemoryError
template <class Space, class Scalar, class Index>
CooTensor<Scalar, Index, Space> without_biases(Space const& space, CooTensor<Scalar, Index, Space> const& X,
                                               FastTuckerModel<Scalar, Space> const& model);

}  // namespace polyad
