// SPDX-License-Identifier: BSD-3-Clause
// FastTuckerOptions: what fast_tucker takes (fast_tucker/fast_tucker.hpp), and the table of these options.
// Free of Kokkos.
#pragma once

#include <cmath>
#include <cstdint>
#include <filesystem>
#include <limits>
#include <optional>
#include <vector>

#include "polyad/core/option_row.hpp"
#include "polyad/fast_tucker/optimizers.hpp"
#include "polyad/tensor/row_fit.hpp"

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
  // The same as in SgdForm (formats/format.hpp), which needs Kokkos.
  bool intermediates = true;  // rows of C = A B are formed once for all entries, not anew for each
  bool share_fibers  = true;  // what the entries of a fiber have in common is computed once

  /// The factor of both rates in an epoch; epochs count from 1.
  [[nodiscard]] double share(int epoch) const { return 1 / (1 + decay * std::pow(epoch - 1, 1.5)); }
};

/// Drift of a mode's biases: one number for each bin of time. `damping` is in observations.
struct BiasDrift {
  std::uint64_t bins = 0;  // all have the same length; 0: the biases stay as they are
  double damping     = 30;
};

/// For fit_biases, which fits the mean and the biases.
struct BiasOptions {
  int sweeps     = 10;
  double damping = 5;
  /// The mode of time, over which the biases of the other modes drift. -1: none.
  int time_mode = -1;
  /// For each mode (of time: --time-bins). None: by choose_fast_tucker, or 30 bins, fewer for sparse rows.
  std::vector<BiasDrift> drift = {};
};

/// Predictions are clipped to it: ValueRange without Kokkos (tensor/fast_tucker_model.hpp).
struct PredictionRange {
  double lowest  = -std::numeric_limits<double>::infinity();
  double highest = std::numeric_limits<double>::infinity();
};

/// The largest alpha of implicit feedback that a search tries, that of Hu, Koren and Volinsky (2008).
inline constexpr double usual_alpha = 40;

/// The ridge of implicit feedback, unless the options have one. On ratings of 4 and more of ml-latest-small,
/// with R = 32 and a fifth of the entries held out, 2.5 to 3 alpha had the best NDCG@10 of 1 to 300, for an
/// alpha of 10 or 40 (2026-11-29, the same ALS in numpy). With a third mode, 2.5 alpha pulled all
/// rows to almost zero.
[[nodiscard]] inline double implicit_ridge(double alpha, int order) {
  return (order == 2 ? 2.5 : 0.5) * alpha;
}

/// The ridge of rows that are not shrunk, unless the options have one.
inline constexpr double usual_ridge = 5;

struct FastTuckerOptions {
  // These options make the start. A start given by the caller has its own.
  std::uint64_t rank                 = 0;     // R; 0: J; if J is not given either: chosen, or 8
  std::vector<std::uint64_t> columns = {};    // J_n: one number, or one per mode; none: R
  std::uint64_t most_rank            = 32;    // the largest R that a search tries: 8, 16 or 32
  bool biases                        = true;  // a mean and biases, fitted first; without them as in the paper
  BiasOptions bias                   = {};
  std::uint64_t seed                 = 0;

  /// Implicit feedback: alpha. The entries are what was seen, with counts or strengths x >= 0; all other
  /// cells were not. A cell's target is 1 where x > 0, else 0, and its weight is 1 + alpha x
  /// (fast_tucker/fast_tucker.hpp). Repeated entries are summed. For als, with a ridge (implicit_ridge if
  /// unset), without biases, range and search; R is 32 if unset. Unset: the entries are the targets.
  std::optional<double> implicit = {};
  /// With implicit feedback, R > 8 and J >= R: steps of conjugate gradients for each row of A^(n) in an
  /// epoch, from the row that is there; 0: each row is solved for. No number raises the objective. Without
  /// implicit feedback, a number other than this one is a UsageError.
  int cg_steps                  = 3;
  FastTuckerOptimizer optimizer = FastTuckerOptimizer::als;
  int max_epochs                = 20;  // with 0, the model is the start
  // For als without ridge and ridge_per_entry. Unset: chosen, or the default if there is a start.
  std::optional<Shrinkage> shrinkage = {};
  std::vector<RowTarget> targets     = {};     // for als, one for each mode; none: chosen, or zero
  std::optional<double> ridge        = {};     // for a row of A^(n); unset: usual_ridge, or the shrinkage
  bool ridge_per_entry               = false;  // times the row's observations, as in the paper (not for adam)
  double core_ridge                  = 0;      // for B^(n)
  bool update_cores                  = true;   // with shrinkage only for modes with J_n < R
  AdamRates adam                     = {};
  SgdRates sgd                       = {};
  int patience          = 0;  // stop after this many epochs without a better validation RMSE; 0: never
  double time_limit_s   = std::numeric_limits<double>::infinity();
  PredictionRange range = {};  // within that of the start; the model keeps it
  /// A file that gets the state of the run after every `checkpoint_every` epochs, after the last one, and
  /// after a search (io/checkpoint.hpp). Empty: no file. With several ranks, all name it, and the first
  /// writes it.
  std::filesystem::path checkpoint = {};
  int checkpoint_every             = 10;
  /// The checkpoint that the run continues, instead of a start. Choice and biases are not repeated, and the
  /// count of epochs continues. The options must be those of the checkpoint's run, except for epochs and
  /// time. Several ranks take any format, one rank that of the checkpoint: if it sums in a fixed order, the
  /// run continues with the same bits. Empty: no checkpoint. With several ranks, all name it, and the first
  /// reads it.
  std::filesystem::path resume = {};
};

/// The options with which a model was fitted, for fold_in: the model's file says this (HostFastTucker::fit).
struct FoldInOptions : RowFit {
  std::vector<int> modes = {};  // the modes whose rows are computed; empty: all modes
  /// Which of the model's rows have entries in the training set, as RankingOptions::observed has it. fold_in
  /// also computes the others, if they have entries now: numbers of rows may have gaps. Empty: every row has
  /// entries.
  std::vector<std::vector<std::uint8_t>> observed = {};
};

namespace detail {

/// The rows of FastTuckerOptions::bias.
template <class Bias, class Visitor>
void for_each_bias_option(Bias& bias, Visitor&& visit) {
  visit(OptionRow("bias.sweeps", "--bias-sweeps K", "Sweeps over the modes in the fit of the biases")
            .at_least(0)
            .stored_as("sweeps of biases"),
        bias.sweeps);
  visit(OptionRow("bias.damping", "--bias-reg X", "Damp each bias as X entries would")
            .at_least(0)
            .stored_as("damping of biases"),
        bias.damping);
  visit(OptionRow("bias.time_mode", "",
                  "The mode of time, over which the biases of the other modes drift; -1: none")
            .stored_as("time mode")
            .declared_by_python(
                "the tool and Python have --time-mode and time_mode, which take the name of the mode, too"),
        bias.time_mode);
  visit(OptionRow("bias.drift", "", "Bins of time, and damping, of the drift of each mode")
            .stored_as("drift")
            .declared_by_python("the tool has --time-bins and --time-reg, Python drift"),
        bias.drift);
}

/// The rows of FastTuckerOptions::adam.
template <class Rates, class Visitor>
void for_each_adam_rate(Rates& adam, Visitor&& visit) {
  visit(OptionRow("adam.step", "", "Learning rate of adam")
            .at_least(0)
            .stored_as("rates")
            .differing("the tool's --lr sets adam.step and sgd.step"),
        adam.step);
  visit(
      OptionRow("adam.first", "--beta1 X", "adam: decay of the first moments").at_least(0).stored_as("rates"),
      adam.first);
  visit(OptionRow("adam.second", "--beta2 X", "adam: decay of the second moments")
            .at_least(0)
            .stored_as("rates"),
        adam.second);
  visit(OptionRow("adam.epsilon", "--epsilon X", "adam: added to the root of the second moments")
            .at_least(0)
            .stored_as("rates"),
        adam.epsilon);
}

/// The rows of FastTuckerOptions::sgd.
template <class Rates, class Visitor>
void for_each_sgd_rate(Rates& sgd, Visitor&& visit) {
  visit(OptionRow("sgd.step", "", "Learning rate of the factors")
            .at_least(0)
            .stored_as("rates")
            .differing("the tool's --lr sets adam.step and sgd.step"),
        sgd.step);
  visit(OptionRow("sgd.core_step", "--core-lr X", "sgd: learning rate of the core matrices")
            .at_least(0)
            .stored_as("rates"),
        sgd.core_step);
  visit(OptionRow("sgd.decay", "--lr-decay X", "sgd: after t epochs, divide both rates by 1 + X t^1.5")
            .at_least(0)
            .stored_as("rates"),
        sgd.decay);
  visit(OptionRow("sgd.intermediates", "!--no-intermediates",
                  "sgd: C = A B formed once, not again for every entry")
            .stored_as("rates"),
        sgd.intermediates);
  visit(
      OptionRow("sgd.share_fibers", "!--no-sharing", "sgd: products shared over a fiber").stored_as("rates"),
      sgd.share_fibers);
}

/// The rows of the options for shrinkage and ridges.
template <class Options, class Visitor>
void for_each_regularization(Options& options, Visitor&& visit) {
  visit(
      OptionRow("shrinkage", "", "als: draw rows to zero as this many observations of 0 would; unset: chosen")
          .stored_as("shrinkage")
          .declared_by_python("the tool declares --shrink, and Python takes numbers or a mapping"),
      options.shrinkage);
  visit(OptionRow("targets", "",
                  "als: what rows of each mode are drawn to: zero, one, or left out; none: chosen")
            .stored_as("targets")
            .declared_by_python(
                "the tool declares --targets, which says out for left_out; Python takes the names"),
        options.targets);
  visit(OptionRow("ridge", "",
                  "Ridge of a row of a factor, in place of the shrinkage; unset: 5 for adam and sgd")
            .at_least(0)
            .stored_as("ridge")
            .differing("the tool declares --reg, which excludes --shrink"),
        options.ridge);
  visit(OptionRow("ridge_per_entry", "--reg-per-entry",
                  "The ridge counts once for every entry of a row (als, sgd)")
            .stored_as("ridge per entry"),
        options.ridge_per_entry);
  visit(OptionRow("core_ridge", "--core-reg X", "Ridge of the core matrices")
            .at_least(0)
            .stored_as("core ridge"),
        options.core_ridge);
  visit(OptionRow("update_cores", "!--fixed-cores", "updates of the core matrices").stored_as("core updates"),
        options.update_cores);
}

}  // namespace detail

/// The table of these options (core/option_row.hpp). Checkpoints list those with a key in this order.
template <detail::OptionsOrConst<FastTuckerOptions> Options, class Visitor>
void for_each_option(Options& options, Visitor&& visit) {
  visit(OptionRow("rank", "", "R, the rank of the core; 0: the largest J, or chosen if J is not given either")
            .at_least(0)
            .stored_as("rank")
            .differing("the tool declares --rank, which is not 0"),
        options.rank);
  visit(OptionRow("columns", "", "J, the columns of the factors, one number or one per mode; none: R")
            .stored_as("columns")
            .declared_by_python(
                "the tool declares --factor-columns, which refers to the rank; Python takes one number, too"),
        options.columns);
  visit(OptionRow("most_rank", "", "The largest R that a search tries: 8, 16 or 32")
            .declared_by_python("in C++ only: the tool lowers it to what fits the memory"),
        options.most_rank);
  visit(OptionRow("biases", "!--no-biases", "a mean and biases, fitted first; the paper has none")
            .stored_as("biases"),
        options.biases);
  detail::for_each_bias_option(options.bias, visit);
  visit(OptionRow("seed", "--seed S", "Seed of the start and of the held-out entries")
            .at_least(0)
            .stored_as("seed"),
        options.seed);
  visit(OptionRow("implicit", "",
                  "Implicit feedback: entries are counts x with the target 1 and the weight 1 + alpha x, all "
                  "other cells have the target 0")
            .stored_as("implicit")
            .declared_by_python("the tool declares --implicit; Python takes alpha, or True to choose it"),
        options.implicit);
  visit(OptionRow("cg_steps", "--cg-steps K",
                  "Implicit feedback: steps of conjugate gradients for each row in an epoch; 0: exact rows")
            .at_least(0)
            .stored_as("steps of conjugate gradients"),
        options.cg_steps);
  visit(OptionRow("optimizer", "", "als, least squares; adam, whole sweeps; sgd, the paper's updates")
            .stored_as("optimizer")
            .declared_by_python("the tool declares --optimizer; Python takes the name, too"),
        options.optimizer);
  visit(OptionRow("max_epochs", "-i,--iterations N", "Maximum number of epochs").at_least(0),
        options.max_epochs);
  detail::for_each_regularization(options, visit);
  detail::for_each_adam_rate(options.adam, visit);
  detail::for_each_sgd_rate(options.sgd, visit);
  visit(OptionRow("range", "", "Lowest and highest prediction")
            .stored_as("range")
            .declared_by_python("the tool has --clip, and Python a pair"),
        options.range);
  visit(OptionRow("patience", "--patience K",
                  "Stop K epochs after the best validation error, keep that; 0: never")
            .at_least(0)
            .stored_as("patience"),
        options.patience);
  visit(OptionRow("time_limit_s", "--time-limit S", "Stop after the epoch that passes S seconds").at_least(0),
        options.time_limit_s);
  for_each_checkpoint_option(options, visit, "Epochs between checkpoints");
}

}  // namespace polyad
