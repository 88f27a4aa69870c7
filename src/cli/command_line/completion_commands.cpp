// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <cmath>
#include <string>

#include "cli/command_line/checks.hpp"
#include "cli/command_line/command.hpp"
#include "cli/command_line/declarations.hpp"
#include "cli/command_line/declared_options.hpp"
#include "cli/command_line/shared_options.hpp"
#include "polyad/formats/capability.hpp"

namespace polyad::cli {

namespace {

std::vector<std::string> names_of_optimizers() {
  std::vector<std::string> names;
  for (auto const& facts : fast_tucker_optimizers()) names.emplace_back(facts.name);
  return names;
}
std::string summaries_of_optimizers() {
  std::string text;
  for (auto const& facts : fast_tucker_optimizers())
    text += std::string(text.empty() ? "" : "; ") + facts.name + ", " + facts.summary;
  return text;
}

/// Puts what is typed in another form into the library's options.
void settle(TrainOptions& options) {
  if (!options.implicit_text.empty()) {
    options.chooses_by_ranking = options.implicit_text == "auto";
    options.implicit = options.chooses_by_ranking ? usual_alpha : typed_alpha(options.implicit_text);
    // Before the entries are split, so that no click is in two sets.
    if (options.duplicates == "keep") options.duplicates = "sum";
  }
  if (options.typed_rank) options.rank = *options.typed_rank;
  options.optimizer = find_optimizer(options.optimizer_name).id;
  options.adam.step = options.sgd.step = options.learning_rate;
  if (!options.shrink.empty()) options.shrinkage = typed_shrinkage(options.shrink);
  options.targets = typed_targets(options.target_names);
  if (!options.clip.empty()) options.range = {options.clip[0], options.clip[1]};
}

/// "10,0.05", or "10,0.05,1000" if modes are drawn to one; "auto" if it is to be chosen.
std::string shrinkage_text(TrainOptions const& options) {
  if (!options.shrinkage) return "auto";
  auto const& shrinkage = *options.shrinkage;
  auto const text       = fmt::format("{},{}", shrinkage.observations, shrinkage.share);
  bool const to_one     = std::ranges::find(options.targets, RowTarget::one) != options.targets.end();
  return to_one ? fmt::format("{},{}", text, shrinkage.to_one) : text;
}

void add_cold_start(Command& command, ColdStart& cold_start) {
  add_cold_start(command, cold_start, {{"refuse", ColdStart::refuse}, {"bias", ColdStart::bias}},
                 "Unknown indices: refuse them, or bias: predict by the known biases");
}

/// The options that recommend and similar have in common.
template <class Asked>
void add_rows_of_mode(Command& command, Asked& options) {
  add_completion_model(command, options.model);
  add_mode(command, options.mode, "The mode whose rows you want", 0);
  command.add_shown("-n,--count N", options.count, "Number of rows");
  add_index_base(command, "--index-base", options.index_base,
                 "Number of the first row, 0 or 1; unset: as in the model's training set");
}

/// The rows are data, so that no report can share stdout with them.
void print_unless_written(Command& command, std::filesystem::path& output) {
  command.after_parsing([&output] {
    if (output.empty()) output = "/dev/stdout";
  });
}

/// Refuses options that the run would ignore.
void add_uses(Command& command, TrainOptions& options) {
  using Facts               = OptimizerFacts const&;
  auto const for_optimizers = [&](std::vector<std::string> const& names, bool (*uses)(Facts)) {
    command.only_for(names, optimizer_names(uses, "and"),
                     [&options, uses] { return uses(options.optimizer_facts()); });
  };
  for_optimizers({"--lr"}, [](Facts facts) { return facts.moments > 0 || facts.has_core_rate; });
  for_optimizers({"--beta1", "--beta2", "--epsilon"}, [](Facts facts) { return facts.moments > 0; });
  for_optimizers({"--core-lr", "--lr-decay", "--no-intermediates", "--no-sharing"},
                 [](Facts facts) { return facts.has_core_rate; });
  for_optimizers({"--targets"}, [](Facts facts) { return facts.draws_rows; });
  for_optimizers({"--reg-per-entry"}, [](Facts facts) { return facts.ridge_per_entry; });
  command.only_for({"--cg-steps"}, "--implicit", [&options] { return options.implicit.has_value(); });
  command.only_for({"--bias-sweeps", "--bias-reg"}, "models with biases, not for --no-biases",
                   [&options] { return options.biases; });
  command.only_for({"--core-reg"},
                   "updates of the core matrices: not with --fixed-cores or --implicit, and with als only if "
                   "there is --reg or --reg-per-entry or a J below R",
                   [&options] { return options.steps_cores(); });
  command.only_for({"--cold-start"}, "the entries of --test", [&options] { return !options.test.empty(); });
}

void expect_format_for_optimizer(TrainOptions const& options) {
  expect_format(options.format);
  if (options.format == "auto") return;
  auto const has    = [&](Capability capability) { return format_offers(options.format, capability); };
  auto const& facts = options.optimizer_facts();
  auto const lacks  = [&](Capability capability) {
    return facts.needs_of_format(capability) && !has(capability);
  };
  if (lacks(Capability::row_least_squares))
    refuse("--optimizer " + options.optimizer_name + " needs all entries of a row together, but " +
           options.format + " does not keep them so. Take --optimizer " +
           optimizer_names(
               [](auto const& other) { return !other.needs_of_format(Capability::row_least_squares); }) +
           ", or --format auto");
  if (lacks(Capability::residual_sweep))
    refuse("--optimizer " + options.optimizer_name + " needs a residual sweep, but " + options.format +
           " has none. Take --format auto");
  if (lacks(Capability::sgd))
    refuse("--optimizer " + options.optimizer_name + " does not run on " + options.format +
           ". Take one of these formats: " + format_names({Capability::sgd}));
}

}  // namespace

void declare(Command& command, TrainOptions& options) {
  add_tensor(command, options.tensor, options.index_base,
             "Observed entries, zeros too, in any form; others are unknown; - is stdin");
  add_duplicates(command, options.duplicates, {"keep", "sum", "last", "error"});
  command.add_input("--test FILE", options.test, "Entries to report errors on");
  command.add_option("--split SHARE", options.split,
                     "Hold out this share of the entries to report errors on");
  add_splits(command, options);
  command.add_option("--validate SHARE", options.validate,
                     "Hold out this share of the training entries for --patience, chosen like the test set");
  command
      .add_option("-j,--factor-columns J[,J...]", options.columns,
                  "Columns of the factors: one number, or one per mode; unset: the rank",
                  listed_as("columns", options.columns, ","))
      ->delimiter(',');
  command.add_option("-r,--rank R", options.typed_rank,
                     "Rank of the core; unset: the largest J, or chosen if -j is unset too");
  command.add_choice("--optimizer NAME", options.optimizer_name, names_of_optimizers(),
                     summaries_of_optimizers());
  command.add_shown("--lr X", options.learning_rate, "Learning rate of adam, and of sgd's factors");
  FastTuckerOptions& of_run = options;
  add_declared(command, of_run);
  auto* const implicit = command.add_flag_with_text(
      "--implicit", options.implicit_text, "auto",
      "Entries are clicks or counts x of weight 1 + ALPHA x, and all other cells zeros of weight 1: "
      "--implicit=ALPHA; without a number the NDCG of held-out entries chooses it, --reg and -r");
  for (char const* const of_biases : {"--bias-sweeps", "--bias-reg"})
    implicit->excludes(command.option(of_biases));
  command.after_parsing([&options, typed = command.option("--duplicates")] {  // after the flag has its text
    if (typed->count() > 0 && options.duplicates == "keep" && !options.implicit_text.empty())
      refuse("--duplicates keep is not for --implicit, which sums the counts at one place");
    settle(options);
  });
  auto* const ridge = command.add_option(
      "--reg X", options.ridge,
      fmt::format("Ridge of a row of a factor, in place of --shrink; adam and sgd take {}, "
                  "--implicit 2.5 ALPHA, or 0.5 ALPHA beyond two modes",
                  usual_ridge),
      [&options](OptionList& list) {
        bool const is_chosen = options.shrinks() || (options.implicit && !options.ridge);
        list.emplace_back("reg", is_chosen ? 0.0 : options.ridge.value_or(usual_ridge));
      });
  command
      .add_option("--shrink X[,S[,ONE]]", options.shrink,
                  "als: draw rows to zero as X observations of 0 would; unset: chosen",
                  [&options](OptionList& list) {
                    list.emplace_back("shrink", options.shrinks() ? shrinkage_text(options) : "");
                  })
      ->delimiter(',')
      ->expected(1, 3)
      ->excludes(ridge);
  command
      .add_list("--targets T,T,...", options.target_names,
                "als: what rows of each mode are drawn to: zero, one, out; unset: chosen")
      ->check(CLI::IsMember({"zero", "one", "out"}));
  command.add_shown("--time-mode MODE", options.time_mode_text,
                    "The mode of time, its number or name: the other modes' biases drift over it; -1: none",
                    listed_mode("time_mode", options.time_mode_text));
  command.add_list("--time-bins B[,B...]", options.time_bins,
                   "Time bins of each mode's drift, one number or one per mode; unset: chosen");
  command.add_list("--time-reg X[,X...]", options.time_damping,
                   "Damp the drift in each bin as X entries would; 30 with --time-bins");
  add_clip(command, options.clip, "Clip predictions to this range");
  add_cold_start(command, options.cold_start);
  add_uses(command, options);
  add_format(command, options.format,
             "als: " + format_names({Capability::row_least_squares}) + "; more for adam, sgd");
  add_precision(command, options.precision);
  add_device_memory(command, options.device_memory,
                    "Use at most this many bytes on the device; other ratings stay on the host");
  add_deterministic(command, options.deterministic, "model in every run on one device");
  add_output(command, options.output, "Write the model: .npz for numpy and for predict");
  command.make_npz("a FastTucker model");
  add_common(command);
  command.footer("Example: polyad fast-tucker ratings.tns --split 0.1 --clip 1,5 -o model.npz");
}

void declare(Command& command, PredictOptions& options) {
  command.add_input("MODEL", options.model, "A model of fast-tucker, cpd or tucker")->required();
  add_tensor(command, options.places, options.index_base,
             "Entries to predict: a line with N indices for each, or a tensor; predictions are compared with "
             "its values",
             "Number of the first row; unset: as in the model's training set");
  add_clip(command, options.clip, "Clip predictions to this range, not to the model's");
  add_cold_start(command, options.cold_start,
                 {{"refuse", ColdStart::refuse}, {"bias", ColdStart::bias}, {"zero", ColdStart::zero}},
                 "Unknown rows: refuse them; bias: predict by the known biases (fast-tucker, unless typed); "
                 "zero: the value is 0 (cpd, tucker)");
  add_output(command, options.output, "Write the entries with their predictions")->required();
  command.add_output("--residuals FILE", options.residuals,
                     "Write the entries with what is left of their values: the value less the prediction");
  add_common(command);
  command.footer("Example: polyad predict model.npz wanted.tns -o predicted.tns");
}

void declare(Command& command, RecommendOptions& options) {
  add_rows_of_mode(command, options);
  command.add_option("--for I,J,...", options.at,
                     "The row of each other mode, its number or name, or * to average",
                     listed_as("for", options.at, ","));
  command.add_input("--for-file FILE", options.file,
                    "A file of queries, one per line: rows with blanks or commas between them");
  command.add_input("--seen FILE", options.seen,
                    "Leave out the rows that this file has together with these indices");
  add_max_memory(command);
  command.add_input(
      "--ratings FILE", options.ratings,
      "Entries of new users, who get rows from them; without --for, all of them get recommendations");
  command.add_option("--user-mode MODE", options.users,
                     "The mode of these users, its number or name; unset: 0, or 1 with --mode 0",
                     listed_mode("user_mode", options.users));
  command.add_flag("--rank-seen", options.rank_seen, "Recommend what --ratings has of a user, too");
  add_fold_in(command, options.fold);
  add_table(command);
  add_clip(command, options.clip, "Clip the scores to this range; unset: they are not clipped");
  add_cold_start(command, options.cold_start);
  add_output(command, options.output, "Write the rows and their predictions, .npz for numpy");
  print_unless_written(command, options.output);
  add_common(command);
  command.footer("Example: polyad recommend model.npz --mode 1 --for '42,*' --seen ratings.tns");
}

void declare(Command& command, SimilarOptions& options) {
  add_rows_of_mode(command, options);
  command.add_option("--index I", options.index, "The row to compare the others with, its number or name");
  command.add_input("--for-file FILE", options.file, "A file of such rows, one per line");
  add_output(command, options.output, "Write the rows and their cosines, .npz for numpy");
  print_unless_written(command, options.output);
  add_common(command);
  command.footer("Example: polyad similar model.npz --mode 1 --index 7");
}

void check(TrainOptions const& options) {
  if (options.typed_rank && options.rank == 0) refuse("the rank must be at least 1");
  if (options.max_epochs == 0) refuse("-i takes 1 epoch or more, not 0");
  for (auto const columns : options.columns)
    if (columns == 0) refuse("-j takes numbers of at least 1: a factor has at least one column");
  expect_not_negative("--reg", options.ridge.value_or(0));
  for (double const number : options.time_damping) expect_not_negative("--time-reg", number);
  bool const has_time = options.time_mode_text != "-1";
  if (!has_time && !(options.time_bins.empty() && options.time_damping.empty()))
    refuse("--time-bins and --time-reg require --time-mode");
  if (options.time_bins.empty() && !options.time_damping.empty()) refuse("--time-reg requires --time-bins");
  if (has_time && !options.biases) refuse("--time-mode is about biases: not with --no-biases");
  for (double const number : options.shrink) expect_not_negative("--shrink", number);
  if (!options.shrink.empty() && options.implicit)
    refuse("--implicit takes --reg: --shrink counts a row's entries, and here all cells of a row count");
  if (!options.shrink.empty() && !options.shrinks()) refuse("--shrink is for als without --reg-per-entry");
  auto const& optimizer = options.optimizer_facts();
  for (double const number : {options.learning_rate, options.sgd.core_step})
    if (!(number > 0) || std::isinf(number))
      refuse("--lr and --core-lr take numbers above 0, not {}", number);
  for (double const share : {options.split, options.validate})
    if (!(share >= 0 && share < 1))
      refuse("--split and --validate take shares from 0 to less than 1, not {}", share);
  check_splits(options);
  if ((options.patience > 0) != (options.validate > 0))
    refuse("--patience and --validate need each other: the held-out entries tell the best epoch");
  expect_format_for_optimizer(options);
  if (options.deterministic && !optimizer.has_fixed_order)
    refuse("--optimizer " + options.optimizer_name +
           " is not deterministic: threads update rows in no fixed order. Take --optimizer " +
           optimizer_names([](auto const& facts) { return facts.has_fixed_order; }));
  // A format that is deterministic only on hosts refuses by itself on a device.
  if (options.deterministic && options.format != "auto" &&
      !format_offers(options.format, Capability::fixed_order))
    refuse(options.format +
           " is not deterministic: several threads add to one row in no fixed order. Take --format auto");
}

void check(RecommendOptions const& options) {
  bool const lacks_queries = options.at.empty() && options.file.empty();
  if (!(options.at.empty() || options.file.empty()) || (lacks_queries && options.ratings.empty()))
    refuse("give either --for or --for-file");
  bool const is_about_ratings = !options.users.empty() || options.rank_seen || options.fold.is_typed;
  if (is_about_ratings && options.ratings.empty())
    refuse(
        "--user-mode, --rank-seen and the options of the fit are about the users of --ratings, which is not "
        "given");
}

void check(SimilarOptions const& options) {
  if (options.index.has_value() != options.file.empty()) refuse("give either --index or --for-file");
}

void check(PredictOptions const& options) {
  if (same_file(options.output, options.residuals))
    refuse("--residuals would overwrite the output " + options.output.string());
}

}  // namespace polyad::cli
