// SPDX-License-Identifier: BSD-3-Clause
// polyad fast-tucker: reads observed entries, fits a FastTucker model and writes it.
#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include "cli/commands/commands.hpp"
#include "cli/names/read_for_model.hpp"
#include "cli/names/row_texts.hpp"
#include "cli/report/host_facts.hpp"
#include "cli/run/interrupt.hpp"
#include "cli/run/ranks.hpp"
#include "cli/splits/held_out_sets.hpp"
#include "cli/streams/progress.hpp"
#include "cli/streams/run_files.hpp"
#include "cli/tensors/entries.hpp"
#include "cli/tensors/read_on_ranks.hpp"
#include "polyad/core/error.hpp"
#include "polyad/core/quantity_text.hpp"
#include "polyad/io/checkpoint.hpp"
#include "polyad/io/tensor_file.hpp"

namespace polyad::cli {

namespace {

/// A binary training set may not say what the text counted from of which it was made. A test set in text then
/// has to show its base, or the command says it.
void expect_known_base(TrainOptions const& options, InputReport const& train, InputReport const& test) {
  if (train.knows_base || options.index_base >= 0) return;
  if (!test.is_text || test.base == 0 || !train.labels.empty() || !test.labels.empty()) return;
  refuse(
      "{} counts from 0, but {} has no index 0: does it count from 0, too, or from 1, as the text of which "
      "the training set was made? Say so by --index-base",
      options.tensor.string(), options.test.string());
}

/// The test set, whose rows are those of the training set. On several ranks each has a part of it.
EntriesForModel read_test(TrainOptions const& options, InputReport const& train) {
  int const base = train.knows_base ? train.base : options.index_base;
  auto test      = read_part_for_model({.path = options.test, .duplicates = options.duplicates}, base,
                                       train.names(), train.dims, options.common);
  if (ranks().rank == 0) expect_known_base(options, train, test.facts);
  return test;
}

/// On several ranks, a part of each set on each, and all cold entries on rank 0. Settles the mode of time.
/// \param splits  lines about the sets that were held out
CompletionSets read_sets(TrainOptions& options, Report& report, std::vector<std::string>& splits) {
  CompletionSets sets;
  std::string const file = options.tensor.string();
  TensorInput const input{
      .path = options.tensor, .index_base_of_text = options.index_base, .duplicates = options.duplicates};
  sets.train = read_file_on_ranks(input, options.common, report).tensor;
  sets.names = report.input->names();
  if (options.index_base >= 0 && report.input->knows_base && !report.input->table &&
      report.input->base != options.index_base)
    refuse("{} says that it counts from {}, but --index-base is {}", file, report.input->base,
           options.index_base);
  if (sets.train.order() < 2) refuse_file(file, "has one mode only; FastTucker needs two or more");
  if (options.columns.size() > 1 && options.columns.size() != sets.train.extents.size())
    refuse("-j gives {} numbers for {} modes", options.columns.size(), sets.train.order());
  if (!options.targets.empty() && options.targets.size() != sets.train.extents.size())
    refuse("--targets gives {} words for {} modes", options.targets.size(), sets.train.order());
  std::size_t const order = sets.train.order();
  if (options.time_mode_text != "-1")
    options.bias.time_mode =
        mode_on_ranks(options.time_mode_text, sets.names.labels, sets.train.order(), "--time-mode",
                      advice_on_left_out(options.time_mode_text, report.input->table, options.common.table));
  for (std::size_t const numbers : {options.time_bins.size(), options.time_damping.size()})
    if (numbers > 1 && numbers != order)
      refuse("--time-bins and --time-reg take one number or {}, not {}", order, numbers);
  EntriesForModel test;
  if (!options.test.empty()) {
    test = read_test(options, *report.input);
    warn_of_unknown_labels(test, sets.train.extents);
  }
  auto const keep = [&](HeldOutSet&& parts) {
    sets.train = std::move(parts.kept);
    if (!parts.text.empty()) splits.push_back(std::move(parts.text));
    return std::move(parts.held);
  };
  if (options.splits()) sets.test = keep(hold_out(options, std::move(sets.train), *report.input, "test"));
  if (options.validate > 0)
    sets.validation = keep(hold_out(options, std::move(sets.train), *report.input, "validation"));
  if (!options.test.empty()) {
    auto const first = sums_of_ranks(test.file.tensor.nnz()).before;
    auto extents     = test.file.tensor.extents;
    RowTexts const rows(test.names, std::move(extents), report.input->base);
    bool const allowed  = options.cold_start == ColdStart::bias;
    auto const observed = allowed ? std::vector<std::vector<std::uint8_t>>() : observed_rows(sets.train);
    std::tie(sets.test, sets.cold) = split_off_cold(std::move(test.file.tensor), sets.train.extents, observed,
                                                    rows, options.test.string(), allowed, first);
    sets.cold                      = gather_on_rank_0(std::move(sets.cold));
  }
  report.input->nnz = sums_of_ranks(sets.train.nnz()).all;
  if (report.input->nnz == 0) refuse_file(file, "leaves no entry to learn from");
  stop_if_interrupted("reading the entries");
  return sets;
}

/// Says that steps of time are too short if most entries have a step of their own.
void warn_of_single_times(TrainOptions const& options, io::CoordinateList const& train) {
  int const mode = options.bias.time_mode;
  if (mode < 0 || ranks().size > 1 || 2 * train.extents[mode] <= train.nnz()) return;
  std::uint64_t const distinct = occurring_rows(train, mode).size();
  if (2 * distinct <= train.nnz()) return;
  say("polyad: warning: {} entries have {} different times in mode {}, so that nothing can be learned of "
      "most times. Take longer steps; of a table, --time COLUMN --time-unit day makes some\n",
      train.nnz(), distinct, mode);
}

/// The learning rates of sgd belong to the scale of the values.
std::string advice_on_rates(TrainOptions const& options, CompletionReport const& result) {
  constexpr double scale_of_ratings = 3;
  auto const biases                 = result.biases.find("train");
  if (!options.optimizer_facts().has_core_rate || biases == result.biases.end() ||
      !(biases->second.rmse > scale_of_ratings))
    return "";
  return fmt::format(
      " (the defaults suit ratings, which are about 1 off mean and biases, and these values are {} off: "
      "divide both rates by 10 until it learns, or take --optimizer als)",
      error_text(biases->second.rmse));
}

/// Adds the errors of entries outside the training set's extents, predicted from biases alone, to the test
/// errors.
void add_cold_errors(io::HostFastTucker const& model, io::CoordinateList const& cold,
                     CompletionReport& result) {
  std::vector<double> predictions;
  for (std::uint64_t p = 0; p < cold.nnz(); ++p) predictions.push_back(predict_by_biases(model, cold, p));
  result.cold = cold.nnz();
  if (predictions.empty()) return;
  auto const errors = errors_of(cold, predictions);
  for (auto* sets : {&result.errors, &result.biases}) {
    if (sets->empty()) continue;  // no epoch was sound
    auto& test   = (*sets)["test"];
    auto const a = static_cast<double>(test.entries), b = static_cast<double>(errors.entries);
    test.rmse = std::sqrt((a * test.rmse * test.rmse + b * errors.rmse * errors.rmse) / (a + b));
    test.mae  = (a * test.mae + b * errors.mae) / (a + b);
    test.entries += errors.entries;
  }
}

/// What the progress says during a search: nothing until the first candidate.
std::string search_text(SearchReport const& search) {
  if (search.candidates == 0) return {};
  std::string text = fmt::format("choosing the options: candidate {}", search.candidates);
  if (search.model.entries > 0)
    text += fmt::format(", held-out RMSE {}, mean and biases {}", error_text(search.model.rmse),
                        error_text(search.biases.rmse));
  return text + fmt::format(", {} so far", duration_text(search.seconds));
}

/// Why there is no model but mean and biases.
char const* why_biases_alone(ChoiceReport const& choice) {
  if (choice.ended_early) return "the search ended before it found more";
  if (choice.biases.entries == 0) return "there are too few entries to hold any out";
  if (choice.candidates == 0) return "they explain every entry, so that nothing is left to learn";
  return "held-out entries show no interaction to learn";
}

/// The classes of rows that are left to mean and biases, a line for each mode: "mode 0 with fewer than 4, 4
/// to 19".
std::vector<std::string> left_to_biases(ChoiceReport const& choice) {
  std::vector<std::string> lines;
  int mode = -1;
  for (auto const& rows : choice.classes) {
    if (rows.learns) continue;
    std::string const text = rows.least == 0   ? "fewer than 4"
                             : rows.least == 4 ? "4 to 19"
                                               : fmt::format("{} and more", rows.least);
    if (rows.mode == mode)
      lines.back() += ", " + text;
    else
      lines.push_back(fmt::format("mode {} with {}", rows.mode, text));
    mode = rows.mode;
  }
  return lines;
}

/// Whether all values of all ranks are the same number.
bool has_one_value(io::CoordinateList const& list) {
  constexpr double none = std::numeric_limits<double>::infinity();
  double least = none, most = -none;
  auto const add = [&](double low, double high) {
    least = std::min(least, low);
    most  = std::max(most, high);
  };
  for (double const x : list.values) add(x, x);
  for (auto const& rank : doubles_of_all_ranks({least, most})) add(rank[0], rank[1]);
  return least == most;
}

/// The facts of the checkpoint to resume, for the plan of the memory. On the first rank; nothing elsewhere.
std::optional<FastTuckerState> read_facts(TrainOptions const& options) {
  if (options.resume.empty() || ranks().rank > 0) return std::nullopt;
  return io::read_fast_tucker_facts(options.resume);
}

/// Gives other ranks the shape of the model that the first one resumes, and its epoch.
void share_shape(TrainOptions const& options, std::size_t order, std::optional<FastTuckerState>& state) {
  if (options.resume.empty()) return;
  std::vector<std::uint64_t> shape(order + 2, 0);
  if (state) {
    shape[0] = state->epoch;
    shape[1] = state->rank;
    std::copy_n(state->columns.begin(), std::min(order, state->columns.size()), shape.begin() + 2);
  }
  auto const first = of_all_ranks(shape).front();
  if (state) return;
  state.emplace();
  state->epoch = first[0];
  state->rank  = first[1];
  state->columns.assign(first.begin() + 2, first.end());
}

void summarise(TrainOptions const& options, Report const& report, std::vector<std::string> const& splits,
               int last) {
  auto const& result  = std::get<CompletionReport>(report.result);
  auto const& backend = *report.backend;
  show("entries  {}: {}, {} to learn from\n", report.input->path, dims_text(report.input->dims),
       report.input->nnz);
  for (auto const& split : splits) show("split    {}\n", split);
  bool const learns = !result.choice || result.choice->learns;
  if (learns) {
    show("model    FastTucker of rank {}, J {}, {}, {}, {} with concurrency {}\n", result.rank,
         fmt::join(result.columns, ","), report.format->chosen, options.precision, backend.name,
         backend.concurrency);
    if (report.ranks) show("{}\n", ranks_text(*report.ranks, "entries"));
    if (!report.format->because.empty())
      show("format   {} because {}\n", report.format->chosen, report.format->because);
  } else {
    show("model    mean and biases alone: {}\n", why_biases_alone(*result.choice));
  }
  if (result.choice) {
    auto const& choice = *result.choice;
    std::string const damping =
        options.biases && choice.bias_damping != BiasOptions{}.damping && choice.bias_damping > 0
            ? fmt::format(" --bias-reg {:.4g}", choice.bias_damping)
            : "";
    if (learns)
      show("chosen   -r {} -j {} --targets {} {}{}{}\n", result.rank, fmt::join(result.columns, ","),
           fmt::join(result.targets, ","), result.regularization, damping,
           result.drift.empty() ? "" : " " + result.drift);
    else if (!result.drift.empty() || !damping.empty())
      show("chosen  {}{}\n", damping, result.drift.empty() ? "" : " " + result.drift);
    std::string const early = !choice.ended_early             ? ""
                              : choice.reason == "time limit" ? ", ended by the time limit"
                                                              : ", ended by a signal";
    if (choice.biases.entries > 0)
      show("held out {} entries: RMSE {}, mean and biases {} ({} candidates in {}{})\n",
           choice.biases.entries,
           error_text(choice.model.entries > 0 ? choice.model.rmse : choice.biases.rmse),
           error_text(choice.biases.rmse), choice.candidates, duration_text(choice.seconds), early);
    else
      show("held out nothing{}\n", early);
    if (learns)
      for (auto const& line : left_to_biases(choice))
        show("rows     of {} entries: mean and biases alone predict them\n", line);
  }
  if (result.later_times.exist)
    show("later    times after the last one with entries are predicted by {}\n",
         later_times_text(result.later_times));
  if (result.objective) show("loss     {:.6g} over all cells, with the ridge\n", *result.objective);
  show("errors   {}{}\n", errors_text(result.errors), options.implicit ? " of scores from 1" : "");
  if (options.biases && !options.implicit) show("biases   {}\n", errors_text(result.biases));
  if (learns && result.choice && result.choice->ended_early)
    show("epochs   {}, the model is the best of the search ({})\n", last, result.reason);
  else if (learns)
    show("epochs   {}, the model is that of epoch {} ({})\n", last, result.kept_iteration,
         result.choice && result.reason == "converged" ? "the number that held-out entries chose"
                                                       : result.reason);
  show("time     {} to read, {}{} for the epochs\n", duration_text(report.input->read_s),
       learns ? duration_text(report.format->build_s) + " to build, " : std::string(),
       duration_text(report.iteration_seconds()));
  for (auto const& file : result.files) show("wrote    {}\n", file);
}

/// The choice of --implicit=auto; nothing without it. Shortens the time limit by what it took.
/// \param sums  whether repeated entries are still to be summed
std::optional<RankingChoice> choose_implicit_options(TrainOptions& options, io::CoordinateList const& train,
                                                     bool sums) {
  if (!options.chooses_by_ranking) return std::nullopt;
  if (!options.resume.empty())
    refuse("--resume continues with the options of the checkpoint's run: name its alpha by --implicit");
  std::optional<Progress> progress;
  if (ranks().rank == 0) progress.emplace(options.max_epochs, options.time_limit_s, options.common.quiet);
  auto const choice = choose_by_ranking(options, train, sums, [&](RankingChoice const& best) {
    if (progress && best.candidates > 0)
      progress->step([&] {
        return fmt::format("choosing the options: candidate {}, NDCG@10 {:.4f}", best.candidates, best.ndcg);
      });
    return interrupt_signal() == 0;
  });
  return choice;
}

void show_choice(RankingChoice const& choice) {
  if (choice.users == 0) {
    show("chosen   --implicit={:g} --reg {:g} -r {}: the search ended before its first evaluation ({})\n",
         choice.alpha, choice.ridge, choice.rank, choice.reason);
    return;
  }
  auto const with_error = [](double ndcg, double error) {
    return std::isnan(error) ? fmt::format("{:.4f}", ndcg)
                             : fmt::format("{:.4f} +- {:.4f}", ndcg, 1.96 * error);
  };
  show(
      "chosen   --implicit={:g} --reg {:g} -r {}: NDCG@10 {} on the held-out entries of {} row{} of mode 0 "
      "({} candidates in {}{})\n",
      choice.alpha, choice.ridge, choice.rank, with_error(choice.ndcg, choice.ndcg_error), choice.users,
      choice.users == 1 ? "" : "s", choice.candidates, duration_text(choice.seconds),
      choice.reason == "converged" ? "" : ", ended early: " + choice.reason);
  show("popular  NDCG@10 {} for the most popular items on the same entries\n",
       with_error(choice.popular_ndcg, choice.popular_error));
  if (choice.ndcg == 0)
    say("polyad: warning: no candidate has a held-out entry among its first 10: the options are those of the "
        "first one\n");
  if (choice.popular_ndcg > choice.ndcg)
    say("polyad: warning: the most popular items rank better than the chosen options: NDCG@10 {:.4f}, not "
        "{:.4f}, on the held-out entries\n",
        choice.popular_ndcg, choice.ndcg);
}

/// Refuses options that several ranks do not support.
void expect_distributed(TrainOptions const& options) {
  if (!options.optimizer_facts().runs_on_ranks)
    refuse("--optimizer {} works on one rank only so far: take {}, or start polyad without mpirun",
           options.optimizer_name, optimizer_names([](auto const& facts) { return facts.runs_on_ranks; }));
  if (options.split_time > 0 || !options.split_last.empty() || !options.split_rows.empty())
    refuse(
        "--split-time, --split-last and --split-rows are for one rank only so far: start polyad without "
        "mpirun for them, or leave them out");
}

}  // namespace

int run(TrainOptions const& given, Report& report) {
  TrainOptions options = given;
  report.iterates      = true;
  bool sums_later      = false;
  if (ranks().size > 1) {
    expect_distributed(options);
    // The run sums those of implicit feedback once their ranks have them.
    sums_later = options.implicit && options.duplicates == "sum";
    if (sums_later) options.duplicates = "keep";
  }
  finish_files_in_spite_of_signals();  // checkpoints
  Reopenable const resumed_file(options.resume);
  auto resumed = read_facts(options);
  RunSession session(options.common, report, options.device_memory);
  report.process_bytes = peak_memory_bytes();
  std::vector<std::string> splits;
  auto sets = read_sets(options, report, splits);
  share_shape(options, sets.train.extents.size(), resumed);
  if (has_one_value(sets.train) && !options.implicit)
    say("polyad: warning: all values are equal: there is nothing to rank rows by\n");
  auto cold = std::exchange(sets.cold, {});
  if (options.implicit)
    for (double& x : cold.values) x = x > 0 ? 1 : 0;  // the targets, as of all other entries
  note_unkept(options.common);
  warn_of_single_times(options, sets.train);
  warn_of_cold(cold.nnz());
  session.begin();
  auto const chosen = choose_implicit_options(options, sets.train, sums_later);
  CompletedModel model;
  {
    Progress progress(options.max_epochs, options.time_limit_s, options.common.quiet);
    model =
        complete(options,
                 {.sets     = std::move(sets),
                  .resumed  = resumed,
                  .on_epoch = [&](IterationReport const& epoch) { return progress.iteration(epoch, report); },
                  .on_search =
                      [&](SearchReport const& search) {
                        progress.step([&] { return search_text(search); });
                        return interrupt_signal() == 0;
                      }},
                 report);
  }
  int const signal      = signal_of_ranks();
  auto& result          = std::get<CompletionReport>(report.result);
  result.ranking_choice = chosen;
  bool const diverged   = result.reason == "diverged";
  int const begin       = resumed ? static_cast<int>(resumed->epoch) : 0;
  int const last        = report.iterations.empty() ? begin : report.iterations.back().iteration;
  bool const is_root    = ranks().rank == 0;
  if (is_root) add_cold_errors(model.small_parts, cold, result);
  finish_files_in_spite_of_signals();
  // A start without any training is not a result.
  if (is_root && !options.output.empty() && !(diverged && result.kept_iteration == 0)) {
    model.save(options.output);
    result.files.insert(result.files.begin(), options.output.string());
  }
  if (report.format) warn_of_losses(*report.format);
  summarise(options, report, splits, last);
  if (chosen) show_choice(*chosen);
  if (diverged) {
    report.error = fmt::format(
        "diverged in epoch {}: lower --lr{} or raise --reg{}; {}", last + 1,
        options.optimizer_facts().has_core_rate ? " and --core-lr" : "", advice_on_rates(options, result),
        last > 0 ? fmt::format("the model is that of epoch {}", last) : "nothing was learned");
    say("polyad: {}\n", report.error);
    return static_cast<int>(ExitCode::numerical_breakdown);
  }
  if (signal == 0) return 0;
  say("polyad: interrupted after epoch {}\n", last);
  return 128 + signal;
}

}  // namespace polyad::cli
