// SPDX-License-Identifier: BSD-3-Clause
// fast_tucker fits a FastTucker model to observed entries (Li et al., "cuFasterTucker", 2022) by
//
//   als   For each mode in turn, a least-squares problem is solved for every row of A^(n), with all of its
//         observations. Then B^(n) takes one step of optimal length. It converges in few epochs. Shrinkage
//         pulls rows toward zero or one; a ridge pulls them toward zero. If the options set neither,
//         choose_fast_tucker chooses by held-out entries.
//   adam  For each mode in turn, one residual sweep gives the gradients of A^(n) and B^(n) for Adam's step.
//   sgd   The paper's method: an update for every observation, then the cores.
//
// With FastTuckerOptions::implicit the entries are clicks or counts, and als fits the scores of all cells:
//
//   sum over all cells of w (t - xhat)^2 + sum over n of ridge |A^(n)|^2
//
// where an entry x > 0 has the weight w = 1 + alpha x and the target t = 1, and every other cell the weight 1
// and the target 0 (Hu, Koren & Volinsky, ICDM 2008; with more than two modes iTALS, Hidasi & Tikk, 2012).
//
// A ridge is a constant for each row. The paper multiplies it by the row's number of observations
// (ridge_per_entry), which drives the factors to zero (docs/fast-tucker.md).
#pragma once

#include <Kokkos_Core.hpp>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "polyad/core/memory_plan.hpp"
#include "polyad/core/stop_reason.hpp"
#include "polyad/fast_tucker/fast_tucker_options.hpp"
#include "polyad/fast_tucker/predict.hpp"
#include "polyad/formats/any_format.hpp"
#include "polyad/formats/format.hpp"
#include "polyad/formats/tensor_by_rank.hpp"
#include "polyad/tensor/coo_tensor.hpp"
#include "polyad/tensor/fast_tucker_model.hpp"
#include "polyad/tensor/fast_tucker_state.hpp"

namespace polyad {

template <class Space>
class Communicator;
namespace detail {
template <class Scalar, class Index, class Space>
class NonzeroDistribution;
}

/// Whether rows are pulled toward their targets by `shrinkage`, and not by a ridge.
[[nodiscard]] bool draws_rows(FastTuckerOptions const& options);

/// How a fit with these options computes rows, for the model's file (save) and fold_in. After a search pass
/// the options of its choice.
[[nodiscard]] RowFit row_fit(FastTuckerOptions const& options, int order);

/// The errors of a choice on the held-out entries of a class of rows. The rows of a mode are divided into
/// three classes by their number of training entries: fewer than 4, 4 to 19, and 20 or more.
struct RowClass {
  int mode;
  count_t least;            // the fewest training entries of a row of this class: 0, 4 or 20
  PredictionErrors biases;  // mean and biases alone
  PredictionErrors model;   // the best candidate
  bool learns;  // false: C^(mode) gets zeros in these rows, so that mean and biases predict their entries
};

/// The progress of a search.
struct FastTuckerSearch {
  int candidates;           // number of those tried or being tried
  PredictionErrors biases;  // mean and biases alone; no entries before they are fitted
  PredictionErrors model;   // the best candidate so far; no entries before there is one
  double seconds;
};

/// Called during a search: als calls it before the update of each mode. If it returns false, the search ends.
using FastTuckerSearchCallback = std::function<bool(FastTuckerSearch const&)>;

/// The result of choose_fast_tucker.
template <class Scalar, class Space>
struct FastTuckerChoice {
  FastTuckerOptions options;  // nothing is left open; few epochs, because the run continues from `start`
  /// The best candidate, with mean and biases of the entries that were not held out.
  FastTuckerModel<Scalar, Space> start;
  bool learns = true;       // false: no candidate beat mean and biases on the held-out entries
  PredictionErrors biases;  // errors of mean and biases (with drifts) alone, on the held-out entries
  PredictionErrors model;   // errors of the best candidate, on the held-out entries
  int candidates = 0;
  double seconds = 0;
  /// Why the search ended. With `time_limit` or `interrupted` it ended early, and the result is the best
  /// candidate so far. With `max_iterations` the options allowed no epochs.
  StopReason reason             = StopReason::converged;
  std::vector<RowClass> classes = {};  // for each mode except time; empty if nothing was held out
  /// A number for each mode, or none. Bit k is set if the rows of class k (0, 1, 2; see above) have zeros,
  /// bit 3 if the rows after the last one with entries have zeros. These are later times.
  std::vector<std::uint64_t> left_to_biases = {};
};

/// The callback's argument after each epoch.
struct FastTuckerEpoch {
  int epoch;  // counts from 1
  PredictionErrors train;
  PredictionErrors validation;  // has 0 entries if there is no validation set
  PredictionErrors test;
  double seconds;  // duration of the epoch, without computing the errors
  /// With FastTuckerOptions::implicit, the loss over all cells and the ridge, which no epoch raises.
  std::optional<double> objective = {};
};

/// Errors of the three sets. A set that was not given has no entries.
struct FastTuckerErrors {
  PredictionErrors train, validation, test;
};

template <class Scalar, class Space>
struct FastTuckerResult {
  /// The model after the last epoch, or after the best one with `patience`.
  FastTuckerModel<Scalar, Space> model;
  std::vector<FastTuckerEpoch> history;
  StopReason reason = StopReason::max_iterations;
  /// The epoch that `model` comes from. 0 means the start: no epoch was sound or, with `patience`, better
  /// than a model without interaction.
  int kept_epoch = 0;
  FastTuckerErrors errors;  // errors of the kept epoch; no entries if there is none
  FastTuckerErrors biases;  // errors of mean and biases alone
  FormatFacts format;       // without a name if the model is mean and biases alone
  /// Set if the options left something to choose. It has no start: the run has overwritten it. If the model
  /// is mean and biases alone, kept_epoch is 0.
  std::optional<FastTuckerChoice<Scalar, Space>> choice;
  Imbalance imbalance = {};  // among several ranks: observations, rows and bytes
  int checkpoints     = 0;   // number of checkpoints written
};

/// Called after each epoch; false ends the run.
using FastTuckerCallback = std::function<bool(FastTuckerEpoch const&)>;

/// Observed entries. Only the training set is required.
template <class Scalar, class Index, class Space>
struct FastTuckerData {
  CooTensor<Scalar, Index, Space> train;
  CooTensor<Scalar, Index, Space> validation = {};  // its error decides which epoch is the best
  CooTensor<Scalar, Index, Space> test       = {};  // its error is only reported
  /// The training set in a chosen format, with the start's mean and biases subtracted (without_biases).
  /// Without a start, fast_tucker throws UsageError. Unset: the library chooses a format.
  std::optional<AnyFormat<Scalar, Space>> format = {};
  /// Replaces `train`: a training set in host memory, sent to the device in stretches (als and adam).
  CooTensor<Scalar, Index, HostOf<Space>> train_on_host = {};
  /// How ranks divide the entries: what `distribute` sets. Null: this rank has all entries.
  std::shared_ptr<detail::NonzeroDistribution<Scalar, Index, Space>> rows = {};
};

/// Divides entries among ranks, for a run of als that is given no start. Each rank owns a range of rows of
/// every mode. All ranks have about the same number of observations. A rank gets all observations of its
/// rows, in one format per mode, and solves for its rows of A^(n). All ranks get the rows of C^(n)
/// (all-gather) and the same result, but only rank 0 gets the model, which must fit its memory. If a callback
/// returns false on one rank, the run ends on all. Only rank 0 searches for what the options leave open, with
/// the entries that choose_fast_tucker uses. Any number of ranks may resume a checkpoint. A single rank gets
/// the entries as they are.
/// \param parts  a part of each set: every entry is on exactly one rank. The extents are those of the whole
///                set
/// \throws UsageError if parts.format is set; MemoryError on all ranks
template <class Scalar, class Index, class Space>
[[nodiscard]] FastTuckerData<Scalar, Index, Space> distribute(
    Communicator<Space> const& ranks, FastTuckerData<Scalar, Index, Space> const& parts);

/// Returns the options with R and J set for each mode. If R is not given, it is the largest J; without J, it
/// is 8, or 32 with `implicit`. If J is not given, each J is R. With `implicit`, the ridge is set as well,
/// and biases and updates of the cores are turned off.
/// \throws MemoryError when als would hold more than 2^31 bytes for a row
[[nodiscard]] FastTuckerOptions with_shape(FastTuckerOptions options, int order);

/// The requirements of the optimizer for a format: any_format(space, coo, format_options(options)).
[[nodiscard]] AnyFormatOptions format_options(FastTuckerOptions const& options);

/// Fits a model to the training set. Waits for `space`.
///
/// Products of very large or very small values would leave the range of floats. Such values are multiplied by
/// value_scale before the fit, unless a format is given; the result is on the original scale.
///
/// A run ends as diverged when the training error is not a number, or exceeds ten times that of mean and
/// biases alone. The result is then the last sound model.
/// \param start  has the training set's extents. Its A^(n) and B^(n) are copied, unless it is handed over by
///               std::move: then the result overwrites them, and all Views that share them. Mean and biases
///               stay as they are. Without a start, mean and biases are fitted to the training set, and
///               fill_start makes the rest.
/// \throws UsageError when shapes, rates or limits make no sense, the training set is empty, a coordinate is
///         outside, the format lacks what the optimizer needs or there is a format but no start;
///         MemoryError before allocating; NumericalError when biases are to be fitted to a value that is not
///         finite
template <class Scalar, class Index, class Space>
[[nodiscard]] FastTuckerResult<Scalar, Space> fast_tucker(Space const& space,
                                                          FastTuckerData<Scalar, Index, Space> const& data,
                                                          FastTuckerOptions const& options,
                                                          FastTuckerModel<Scalar, Space> const& start,
                                                          FastTuckerCallback const& callback = {});
template <class Scalar, class Index, class Space>
[[nodiscard]] FastTuckerResult<Scalar, Space> fast_tucker(Space const& space,
                                                          FastTuckerData<Scalar, Index, Space> const& data,
                                                          FastTuckerOptions const& options,
                                                          FastTuckerModel<Scalar, Space>&& start,
                                                          FastTuckerCallback const& callback = {});
///
/// Without a start choose_fast_tucker comes first, if the options leave something open, and its best
/// candidate is the start. If nothing beats mean and biases, they are the model: of rank 1, with factors of
/// zeros. The time limit includes the search. If a limit or on_search ends the search, no epochs follow: the
/// result is the best candidate so far, with the reason.
/// \param format  the format of the training set, or how it is chosen. Its rank, iterations and needs are
///                ignored: those of the optimizer replace them
/// \param on_search  called during a search, on the first rank
/// \throws also InputError when options.resume is damaged or of another run, WriteError when a checkpoint
///         cannot be written, UsageError for an optimizer that does not run on several ranks. If one rank
///         throws, for example for lack of memory, all ranks throw the same error
template <class Scalar, class Index, class Space>
[[nodiscard]] FastTuckerResult<Scalar, Space> fast_tucker(Space const& space,
                                                          FastTuckerData<Scalar, Index, Space> const& data,
                                                          FastTuckerOptions const& options          = {},
                                                          FastTuckerCallback const& callback        = {},
                                                          AnyFormatOptions const& format            = {},
                                                          FastTuckerSearchCallback const& on_search = {});

/// Adds the memory of such a run without a start to the plan: that of a search, the build of the format, the
/// epochs and the model's file. The plan already contains the sets of entries. If the search chooses R,
/// search and epochs are planned for options.most_rank: a search that ends at a smaller rank needs less.
/// \param entries  the number of entries of the training set
/// \param resumed  the state of options.resume, whose matrices may be empty, or null
template <class Scalar, class Index, class Space>
void plan_fast_tucker(MemoryPlan& plan, Space const& space, Extents const& extents, count_t entries,
                      FastTuckerOptions const& options, AnyFormatOptions const& format = {},
                      FastTuckerState const* resumed = nullptr);

/// The same for one of several ranks, from the exchange of the entries on (distributed/distribute.hpp). The
/// plan has this rank's parts of all sets, each until it has been sent. Rank 0 alone plans the search.
/// \param owned   the owned_rows of the training set
/// \param resumed  as above; on ranks other than the first its lists of matrices are empty
/// \param others  the entries of this rank's parts of the other sets
template <class Scalar, class Index, class Space>
void plan_fast_tucker(MemoryPlan& plan, Space const& space, Extents const& extents, OwnedRows const& owned,
                      std::span<count_t const> others, FastTuckerOptions const& options,
                      AnyFormatOptions const& format = {}, FastTuckerState const* resumed = nullptr);

/// Whether the options leave R to the search.
[[nodiscard]] bool leaves_rank(FastTuckerOptions const& options);

/// Whether this many entries should stay in host memory (FastTuckerData::train_on_host). They should if the
/// named format streams, or if the run's arrays for them exceed the device's free memory.
template <class Scalar, class Index, class Space>
[[nodiscard]] bool stays_on_host(Space const& space, Extents const& extents, count_t entries,
                                 FastTuckerOptions const& options, AnyFormatOptions const& format = {});

/// The same for only a training set. `rest` are the optional start and callback, or callback and format.
template <class Scalar, class Index, class Space, class... Rest>
[[nodiscard]] FastTuckerResult<Scalar, Space> fast_tucker(Space const& space,
                                                          CooTensor<Scalar, Index, Space> const& train,
                                                          FastTuckerOptions const& options = {},
                                                          Rest&&... rest) {
  return fast_tucker(space, FastTuckerData<Scalar, Index, Space>{.train = train}, options,
                     std::forward<Rest>(rest)...);
}

/// Whether the options leave something to choose_fast_tucker: they ask for als and fix neither a shrinkage
/// nor a ridge.
[[nodiscard]] bool leaves_choice(FastTuckerOptions const& options);

/// Chooses the options that are left open, by their error on held-out entries. These options are R (if
/// neither R nor J is given), the targets, and the shrinkage or a ridge per observation. With a mode of time,
/// the search also chooses which biases drift, and how. If the damping of the biases has its default value,
/// it is chosen too. About a twentieth of the entries is held out, selected by a hash of their coordinates.
/// For places that occur several times, the hash includes the value. Candidates are fitted to the rest, each
/// continuing from the one before. The search tries the targets, then weaker shrinkage until the held-out
/// error rises, then higher ranks. If few entries are held out, the result is tested again on other parts of
/// the entries. If the model is worse than mean and biases for a class of rows, these alone predict the rows
/// of the class. The best candidate continues with all entries. Waits for `space`.
/// \param format  the format of the entries and its options; by default the library chooses
/// \param on_search  may end the search, which then returns the best candidate so far
/// \throws the same exceptions as fast_tucker
template <class Scalar, class Index, class Space>
[[nodiscard]] FastTuckerChoice<Scalar, Space> choose_fast_tucker(
    Space const& space, CooTensor<Scalar, Index, Space> const& train, FastTuckerOptions const& options,
    AnyFormatOptions format = {}, FastTuckerSearchCallback const& on_search = {});

/// The power of two that scales the largest value to about one. It is 1 if the largest value is between 2^-30
/// and 2^30, or if the rows are not shrunk: the meaning of a ridge depends on the scale of the values.
/// fast_tucker and choose_fast_tucker apply it themselves. A program that makes the format applies it with
/// `scaled` and scale_predictions. Waits for `space`.
template <class Scalar, class Index, class Space>
[[nodiscard]] double value_scale(Space const& space, CooTensor<Scalar, Index, Space> const& train,
                                 FastTuckerOptions const& options);

/// The entries with their values multiplied by a factor, without a format. Shares the coordinates. Launches
/// on `space` and returns without waiting. \throws MemoryError
template <class Scalar, class Index, class Space>
[[nodiscard]] FastTuckerData<Scalar, Index, Space> scaled(Space const& space,
                                                          FastTuckerData<Scalar, Index, Space> const& data,
                                                          double factor);

/// Multiplies all predictions of the model by a power of two, in place. This scales its mean, its range and
/// its biases. The factor of the interaction is divided among the A^(n) of the modes whose target is zero.
/// Waits for `space`.
/// \param targets  one per mode; if the list is empty, all are zero
/// \throws UsageError if the factor is not a power of two
template <class Scalar, class Space>
void scale_predictions(Space const& space, double factor, FastTuckerModel<Scalar, Space>& model,
                       std::span<RowTarget const> targets = {});

/// Fills A^(n) and B^(n) with random numbers of both signs; mean and biases stay. The standard deviation of
/// the interactions, sum_r prod_n C^(n)(i_n, r), is a tenth of `deviation`. In the two longest modes the
/// columns of C^(n) have the mean 0. In the other modes all columns have the same mean. Its square is nine
/// tenths of their mean square, so the start depends little on these rows. With means of 0 in all modes, the
/// fit learned nothing about planted tensors of order 6. With random means, a column whose mean is near 0
/// starts to grow late. In modes whose target is not zero all C^(n)(k, r) are 1, and the others share the
/// standard deviation. A deviation that is 0 or not finite counts as 1. The result has the same bits on every
/// backend. Waits for `space`.
/// \param targets  one per mode; if the list is empty, all are zero
template <class Scalar, class Space>
void fill_start(Space const& space, FastTuckerModel<Scalar, Space> const& model, double deviation,
                std::uint64_t seed, std::span<RowTarget const> targets = {});

/// Fits model.mean and model.bias to the values of X. The model's factors are ignored; they are fitted to the
/// remainder later. For each mode n in turn, with e = x - mean - sum over m != n of bias^(m)(i_m),
///
///   bias^(n)(k) = sum over observations with i_n = k of e / (damping + their number),
///
/// which minimises sum e^2 + damping |bias^(n)|^2. The models of Li et al. have no biases. The drifts of a
/// mode are fitted after its biases, with one such average for each row and bin of time; e excludes them too.
/// They are the b_u,Bin(t) and b_i,Bin(t) of Koren (KDD 2009, section 3.1), except that users drift by
/// splines there. After the last time with entries, drifts lead to the biases of a fit without them. The
/// result has the same bits on every backend. Waits for `space`.
/// \throws UsageError when the model has no biases or other extents, a damping or the sweeps are negative, a
///         coordinate is outside, the mode of time does not exist or X is empty; NumericalError when a value
///         is not finite; MemoryError
template <class Space, class Scalar, class Index>
void fit_biases(Space const& space, CooTensor<Scalar, Index, Space> const& X, BiasOptions const& options,
                FastTuckerModel<Scalar, Space>& model);

/// X with the model's mean, biases and drifts subtracted from the values. Shares X's coordinates. Waits for
/// `space` once, to check the coordinates, and returns without waiting for the values.
/// \throws UsageError when the extents differ or a coordinate is outside; MemoryError
template <class Space, class Scalar, class Index>
[[nodiscard]] CooTensor<Scalar, Index, Space> without_biases(Space const& space,
                                                             CooTensor<Scalar, Index, Space> const& X,
                                                             FastTuckerModel<Scalar, Space> const& model);

/// fold_in computes rows of a fitted model from their entries, without a new fit. Each row is the solution of
/// the least-squares problem of an epoch of als, with the rows of the other modes as they are.
///
/// The result is the model with additional rows: `entries` may have users or items beyond the extents of the
/// model. One mode is solved after the other, and rows that are not solved yet are zero. So the rows of new
/// items are fitted to those of new users. First a row gets its bias, if the model has biases,
///
///   bias = (the sum of x minus the other terms, over its n entries) / (bias_damping + n),
///
/// then its row of A^(n) is fitted to what is left. Mean, cores, drifts and all other rows stay; a new row
/// does not drift, and one without entries is zero. The unit of a shrinkage is measured as in als, but over
/// the model's rows that are not zero, each counted once: the training set is not known. With implicit
/// feedback repeated entries are summed. The mode of time keeps its extent: later times count as the last.
/// In a mode that the fit left out (RowTarget::left_out) all rows are ones, and get a bias only.
/// Nothing is shared with the model. Waits for `space`.
/// \param entries  the entries of the new rows; an entry without a new row is ignored
/// \throws UsageError for options that make no sense, negative values with implicit feedback, and entries of
///         another order; NumericalError where a row is not finite; MemoryError
template <class Scalar, class Index, class Space>
[[nodiscard]] FastTuckerModel<Scalar, Space> fold_in(Space const& space,
                                                     FastTuckerModel<Scalar, Space> const& model,
                                                     CooTensor<Scalar, Index, Space> const& entries,
                                                     FoldInOptions const& options = {});

/// The same for all rows that occur in `added`, whether the model has them or not. If all of these that the
/// model has, with numbers of entries of one class (FastTuckerChoice::classes), are zero, then rows of this
/// class get a bias only.
/// \param entries  all entries of these rows, the old ones and the added ones
template <class Scalar, class Index, class Space>
[[nodiscard]] FastTuckerModel<Scalar, Space> update_rows(Space const& space,
                                                         FastTuckerModel<Scalar, Space> const& model,
                                                         CooTensor<Scalar, Index, Space> const& entries,
                                                         CooTensor<Scalar, Index, Space> const& added,
                                                         FoldInOptions const& options = {});

/// The same on several ranks, each of which solves a part of the rows. All ranks call it, get the model of
/// one rank, and throw alike.
/// \param model    on all ranks
/// \param entries  some of the entries, which all ranks together have once; so are `added`
template <class Scalar, class Index, class Space>
[[nodiscard]] FastTuckerModel<Scalar, Space> fold_in(Communicator<Space> const& ranks,
                                                     FastTuckerModel<Scalar, Space> const& model,
                                                     CooTensor<Scalar, Index, Space> const& entries,
                                                     FoldInOptions const& options = {});
template <class Scalar, class Index, class Space>
[[nodiscard]] FastTuckerModel<Scalar, Space> update_rows(Communicator<Space> const& ranks,
                                                         FastTuckerModel<Scalar, Space> const& model,
                                                         CooTensor<Scalar, Index, Space> const& entries,
                                                         CooTensor<Scalar, Index, Space> const& added,
                                                         FoldInOptions const& options = {});

}  // namespace polyad
