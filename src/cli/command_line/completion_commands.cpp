// SPDX-License-Identifier: BSD-3-Clause
#include "cli/command_line/completion_commands.hpp"

#include <algorithm>
#include <cmath>
#include <initializer_list>
#include <map>
#include <string>
#include <string_view>

#include "cli/command_line/command_parts.hpp"

namespace polyad::cli {

namespace {

void add_cold_start(CLI::App& command, ColdStart& cold_start) {
  command
      .add_option("--cold-start", cold_start,
                  "Entries outside the training set's extents: refuse, or predict by bias")
      ->transform(CLI::CheckedTransformer(
          std::map<std::string, ColdStart>{{"refuse", ColdStart::refuse}, {"bias", ColdStart::bias}}))
      ->type_name("refuse|bias");
}

void add_fast_tucker(CLI::App& command, TrainOptions& options) {
  add_tensor(command, options.tensor, options.index_base);
  command.add_option("--test", options.test, "Entries to report errors on")->type_name("FILE");
  command.add_option("--split", options.split, "Hold this share of the entries out, to report errors on")
      ->type_name("SHARE");
  command
      .add_option("--validate", options.validate,
                  "Hold this share of the training entries out, for --patience")
      ->type_name("SHARE");
  command.add_option("-j,--columns", options.columns, "Columns of the factors: one number, or one a mode")
      ->delimiter(',')
      ->check(whole_number<std::uint64_t>())
      ->type_name("J[,J...]")
      ->capture_default_str();
  command.add_option("-r,--rank", options.rank, "Rank of the core")
      ->check(whole_number<std::uint64_t>())
      ->type_name("R")
      ->capture_default_str();
  command.add_option("-i,--iterations", options.max_epochs, "Most epochs")
      ->check(whole_number<int>())
      ->type_name("N")
      ->capture_default_str();
  command
      .add_option("--optimizer", options.optimizer,
                  "als, least squares; adam, whole sweeps; sgd, the paper's updates")
      ->check(CLI::IsMember({"als", "adam", "sgd"}))
      ->type_name("als|adam|sgd")
      ->capture_default_str();
  command.add_option("--lr", options.learning_rate, "Learning rate of adam, and of sgd's factors")
      ->type_name("X")
      ->capture_default_str();
  command.add_option("--core-lr", options.core_learning_rate, "Learning rate of sgd's core matrices")
      ->type_name("X")
      ->capture_default_str();
  command
      .add_option("--lr-decay", options.decay,
                  "sgd: t epochs being done, both rates are divided by 1 + X t^1.5")
      ->type_name("X")
      ->capture_default_str();
  command.add_flag("!--no-intermediates", options.intermediates,
                   "sgd: form C = A B again for every entry (the paper's FastTucker)");
  command.add_flag("!--no-sharing", options.share_fibers,
                   "sgd: share nothing over a fiber (the paper's FasterTucker_B-CSF)");
  auto* const ridge = command
                          .add_option("--reg", options.ridge,
                                      "Ridge of a row of a factor, in place of --shrink; adam and sgd take 5")
                          ->type_name("X");
  command
      .add_option("--shrink", options.shrink,
                  "als: draw rows to zero as X observations more of value 0 would, and SHARE more for each "
                  "that there is")
      ->delimiter(',')
      ->expected(1, 2)
      ->excludes(ridge)
      ->type_name("X[,SHARE]")
      ->default_str("10,0.05");
  command.add_flag("--reg-per-entry", options.ridge_per_entry,
                   "The ridge counts once for every entry of a row (als, sgd)");
  command.add_option("--core-reg", options.core_ridge, "Ridge of the core matrices")
      ->type_name("X")
      ->capture_default_str();
  command.add_flag("--fixed-cores", options.fixed_cores, "Leave the core matrices as they start");
  command.add_flag("!--no-biases", options.biases, "Without a mean and biases, as in the paper");
  command.add_option("--bias-reg", options.bias_damping, "Entries by which a bias is damped")
      ->type_name("X")
      ->capture_default_str();
  command
      .add_option("--patience", options.patience,
                  "Stop K epochs after the best validation error, keep that; 0 never")
      ->check(whole_number<int>())
      ->type_name("K")
      ->capture_default_str();
  command.add_option("--time-limit", options.time_limit_s, "Stop after the epoch that passes S seconds")
      ->type_name("S");
  command.add_option("--clip", options.clip, "Clip predictions to this range")
      ->delimiter(',')
      ->expected(2)
      ->type_name("LOWEST,HIGHEST");
  add_cold_start(command, options.cold_start);
  command
      .add_option("--format", options.format,
                  "Of als: sorted, coo-permuted; of adam: these, b-csf, hb-csf, blco, alto; of sgd: b-csf, "
                  "coo-tiny-vec; auto: what is faster and fits")
      ->check(CLI::IsMember(
          {"auto", "sorted", "coo-permuted", "b-csf", "hb-csf", "blco", "alto", "coo-tiny-vec"}))
      ->type_name("NAME")
      ->capture_default_str();
  add_precision(command, options.precision, "Of values and factors: f32 or f64");
  command.add_option("--seed", options.seed, "Of the start and of what is held out")
      ->check(whole_number<std::uint64_t>())
      ->type_name("S")
      ->capture_default_str();
  command.add_flag("--deterministic", options.deterministic,
                   "Sum in a fixed order: the same model in every run on one device");
  command.add_option("-o,--output", options.output, "Write the model: .npz for numpy and for predict")
      ->type_name("FILE");
  add_common(command, options.common);
}

void add_predict(CLI::App& command, PredictOptions& options) {
  command.add_option("MODEL", options.model, "A model of fast-tucker (.npz)")->required()->type_name("");
  add_tensor(command, options.places, options.index_base);
  command.get_option("TENSOR")->description(
      "Entries to predict: N indices a line, or a tensor, whose values are then compared with");
  add_cold_start(command, options.cold_start);
  command.add_option("-o,--output", options.output, "Write the entries with their predictions")
      ->required()
      ->type_name("FILE");
  add_common(command, options.common);
}

void expect_format_for_optimizer(TrainOptions const& options) {
  auto const is = [&](std::initializer_list<std::string_view> formats) {
    return std::find(formats.begin(), formats.end(), options.format) != formats.end();
  };
  if (options.optimizer == "als" && !is({"auto", "sorted", "coo-permuted"}))
    refuse("als wants all entries of a row at hand, which " + options.format +
           " has not: take --optimizer adam or sgd");
  if (options.optimizer == "adam" && is({"coo-tiny-vec"}))
    refuse("adam wants a residual sweep, which coo-tiny-vec has not");
  if (options.optimizer == "sgd" && !is({"auto", "b-csf", "coo-tiny-vec"}))
    refuse("sgd takes its entries from b-csf or coo-tiny-vec, not from " + options.format);
}

void check(TrainOptions const& options) {
  if (options.rank == 0) refuse("the rank must be at least 1");
  for (auto const columns : options.columns)
    if (columns == 0) refuse("-j takes numbers from 1 on: a factor has at least one column");
  if (options.max_epochs < 1) refuse("-i takes at least 1 epoch, not " + std::to_string(options.max_epochs));
  for (double const number : {options.ridge.value_or(0), options.core_ridge, options.bias_damping})
    if (!(number >= 0) || std::isinf(number))
      refuse("--reg, --core-reg and --bias-reg take numbers from 0 on");
  for (double const number : options.shrink)
    if (!(number >= 0) || std::isinf(number)) refuse("--shrink takes numbers from 0 on");
  if (!options.shrink.empty() && !options.shrinks()) refuse("--shrink is for als without --reg-per-entry");
  for (double const number : {options.learning_rate, options.core_learning_rate})
    if (!(number > 0) || std::isinf(number)) refuse("--lr and --core-lr take numbers above 0");
  if (!(options.decay >= 0) || std::isinf(options.decay)) refuse("--lr-decay takes a number from 0 on");
  for (double const share : {options.split, options.validate})
    if (!(share >= 0 && share < 1)) refuse("--split and --validate take shares from 0 to less than 1");
  if (options.split > 0 && !options.test.empty()) refuse("--split and --test exclude each other");
  if (options.patience < 0) refuse("--patience takes a number from 0 on");
  if ((options.patience > 0) != (options.validate > 0))
    refuse("--patience and --validate come together: the best epoch is told by held-out entries");
  if (options.ridge_per_entry && options.optimizer == "adam") refuse("--reg-per-entry is for als and sgd");
  if (options.optimizer != "sgd" && !(options.intermediates && options.share_fibers))
    refuse("--no-intermediates and --no-sharing are for sgd");
  expect_format_for_optimizer(options);
  if (!(options.time_limit_s > 0)) refuse("--time-limit takes seconds, more than 0");
  if (!options.clip.empty() && !(options.clip[0] <= options.clip[1])) refuse("--clip takes LOWEST,HIGHEST");
  if (options.cold_start == ColdStart::bias && !options.biases) refuse("--cold-start bias needs biases");
  if (options.deterministic && options.optimizer == "sgd")
    refuse(
        "sgd updates a row for each of its entries, in the order in which threads come to them: it is not "
        "deterministic");
  // alto refuses itself where it is not: on devices.
  if (options.deterministic && options.format != "auto" && options.format != "sorted" &&
      options.format != "alto")
    refuse(options.format +
           " sums the rows that several threads share with atomics, or in a part a thread: it is not "
           "deterministic");
  for (auto const& input : {options.tensor, options.test})
    refuse_overwriting(input, options.common.report, "--report");
  if (options.output.empty()) return;
  if (options.output.extension() != ".npz") refuse("-o: the name of a FastTucker model ends with .npz");
  for (auto const& input : {options.tensor, options.test}) refuse_overwriting(input, options.output, "-o");
  if (same_file(options.output, options.common.report)) refuse("-o and --report name the same file");
}

void check(PredictOptions const& options) {
  for (auto const& input : {options.model, options.places}) {
    refuse_overwriting(input, options.common.report, "--report");
    refuse_overwriting(input, options.output, "-o");
  }
  if (same_file(options.output, options.common.report)) refuse("-o and --report name the same file");
}

void from_stdin(std::filesystem::path& path) {
  if (path == "-") path = "/dev/stdin";
}

}  // namespace

CompletionCommands::CompletionCommands(CLI::App& app) : m_app(app) {
  auto& train =
      *app.add_subcommand("fast-tucker", "Fit a FastTucker model to observed entries, to predict others");
  add_fast_tucker(train, m_train);
  train.footer(
      "Entries that are stored are observations, zeros and duplicates too; what is not stored is unknown.\n"
      "Example: polyad fast-tucker ratings.tns --split 0.1 --clip 1,5 -o model.npz");
  auto& predict = *app.add_subcommand("predict", "Predict entries by a model of fast-tucker");
  add_predict(predict, m_predict);
  predict.footer("Example: polyad predict model.npz wanted.tns -o predicted.tns");
}

std::optional<Options> CompletionCommands::chosen() {
  if (m_app.got_subcommand("fast-tucker")) {
    from_stdin(m_train.tensor);
    check(m_train);
    return m_train;
  }
  if (m_app.got_subcommand("predict")) {
    from_stdin(m_predict.places);
    check(m_predict);
    return m_predict;
  }
  return std::nullopt;
}

}  // namespace polyad::cli
