// SPDX-License-Identifier: BSD-3-Clause
#include "cli/command_line/command_line.hpp"

#include <algorithm>
#include <iostream>
#include <memory>
#include <string>
#include <tuple>
#include <vector>

#include "cli/command_line/command.hpp"
#include "cli/command_line/declarations.hpp"
#include "cli/command_line/shared_options.hpp"
#include "cli/manual/help.hpp"
#include "cli/names/words.hpp"
#include "cli/report/host_facts.hpp"
#include "cli/streams/messages.hpp"
#include "polyad/version.hpp"

namespace polyad::cli {

namespace {

constexpr auto exit_codes =
    "Exit codes: 0 done; 2 usage; 3 bad input; 4 out of memory; 5 numerical breakdown; 6 cannot write; "
    "7 backend or device not usable; 8 check or compare found differences; 128 + N: signal N ended the run "
    "(its result so far is written), 141: the reader of stdout had left.\n"
    "A command that fails writes nothing to the -o file. It still writes the --report file, with the exit "
    "code and the error's text. Only a usage error writes no report.\n";

/// A command and its options.
template <class CommandOptions>
struct CommandOf {
  std::string name, description;
  CommandOptions options = {};
};

/// In the order in which help lists them.
auto all_commands() {
  return std::tuple{
      CommandOf<CpdOptions>{"cpd", "Canonical polyadic decomposition by alternating least squares"},
      CommandOf<StatsOptions>{"stats", "Show the sizes, the sparsity and the values of a tensor"},
      CommandOf<TuckerOptions>{"tucker", "Tucker decomposition by higher-order orthogonal iteration"},
      CommandOf<TtmOptions>{"ttm", "Multiply a tensor by a matrix along one mode"},
      CommandOf<TtmcOptions>{"ttmc", "Multiply a tensor by the matrices of all modes but one"},
      CommandOf<ProjectOptions>{"project", "Rows of one mode of a model for new slices of a tensor"},
      CommandOf<TrainOptions>{"fast-tucker", "Fit a FastTucker model to observed entries, to predict others"},
      CommandOf<PredictOptions>{"predict", "Predict entries by a model, and compare"},
      CommandOf<RecommendOptions>{"recommend",
                                  "Find the rows of a mode with the highest predictions of a model"},
      CommandOf<SimilarOptions>{"similar", "Find the rows of a mode that are most alike in a model"},
      CommandOf<EvaluateOptions>{"evaluate", "Measure the recommendations of a model on test entries"},
      CommandOf<UpdateOptions>{"update", "Add entries to a model: solve the rows that have new ones"},
      CommandOf<ConvertOptions>{"convert", "Write a tensor in another dialect, exact to the last bit"},
      CommandOf<CheckOptions>{"check", "Look for duplicates, zeros and values that are not finite"},
      CommandOf<CompareOptions>{"compare", "Compare two models, a model and a tensor, or two tensors"},
      CommandOf<GenOptions>{"gen", "Make a random tensor; a seed gives the same on every machine"},
      CommandOf<MttkrpOptions>{"mttkrp", "Multiply the unfolded tensor by the factors of a model"},
      CommandOf<EstimateOptions>{"estimate", "Predict bytes and time of each format, before anything runs"},
      CommandOf<TuneOptions>{"tune", "Try the formats on a tensor and name the fastest"},
      CommandOf<InfoOptions>{
          "info", "Show the version, the backend, and the devices that were found and compiled for"}};
}

bool is_command(std::string const& word) {
  return std::ranges::find(command_names, word) != command_names.end();
}

/// ": did you mean 'cpd'?", or nothing if no command has a similar name.
std::string proposal(std::string const& typed, std::vector<std::string> const& words) {
  std::string const nearest = nearest_word(typed, words);
  return nearest.empty() ? "" : "; did you mean " + nearest + "?";
}

/// Refuses a first word that is not an option and names no command.
void expect_command(std::string const& first) {
  if (first.empty() || first[0] == '-') return;
  if (is_command(first)) return;
  std::vector<std::string> const names(command_names.begin(), command_names.end());
  refuse("unknown command '" + first + "'" + proposal(first, names) + " (see polyad --help)");
}

/// The arguments that belong to no option and no positional, in the order in which they were typed. CLI11
/// lists them in reverse.
std::string unexpected_words(CLI::App const& app) {
  std::string text, typed;
  for (auto const& word : app.remaining(true)) {
    text += (text.empty() ? "" : " ") + word;
    if (typed.empty()) typed = word;
  }
  std::vector<std::string> names;
  for (auto const* command : app.get_subcommands())
    for (auto const* option : command->get_options())
      for (auto const& name : option->get_lnames()) names.push_back("--" + name);
  return "not expected: " + text +
         (typed.starts_with("--") ? proposal(typed.substr(0, typed.find('=')), names) : "");
}

/// CLI11's texts end with hints on further lines and full stops; ours are one line.
std::string one_line(std::string text) {
  text = text.substr(0, text.find('\n'));
  while (!text.empty() && (text.back() == '.' || text.back() == ' ')) text.pop_back();
  return text;
}

}  // namespace

void declare(Command& command, StatsOptions& options) {
  add_summed_tensor(command, options);
  add_common(command);
  command.footer("Example: polyad stats uber.tns.xz");
}

void declare(Command& command, InfoOptions&) {
  add_common(command);
}

std::optional<Options> parse_command_line(int argc, char const* const* argv) {
  CLI::App app("Factors sparse tensors on one CPU core, on many, or on a GPU.", "polyad");
  app.footer(exit_codes);
  app.set_version_flag("--version", std::string("polyad " POLYAD_VERSION " (") + git_hash() + ")");
  app.require_subcommand(1);
  app.formatter(std::make_shared<HelpFormatter>());

  std::string const first_word = argc > 1 ? argv[1] : "";
  expect_command(first_word);
  // Fuzzing parses four times as many lines when the options of other commands are not declared.
  bool const is_named = is_command(first_word);
  auto commands       = all_commands();
  auto const for_each = [&](auto const& f) {
    std::apply([&](auto&... command) { (f(command), ...); }, commands);
  };
  for_each([&](auto& command) {
    if (is_named && command.name != first_word) return;
    Command declared(app, command.name, command.description, command.options.common);
    declare(declared, command.options);
    declared.after_parsing([&options = command.options] { check(options); });
    declared.expect_distinct_files();
  });

  add_manual(app);

  try {
    app.parse(argc, argv);
  } catch (CLI::Success const& success) {
    app.exit(success, std::cout, std::cerr);
    return std::nullopt;
  } catch (CLI::ParseError const& error) {
    std::string name = "polyad";
    for (auto const* command : app.get_subcommands()) name += " " + command->get_name();
    bool const is_extra = dynamic_cast<CLI::ExtrasError const*>(&error) != nullptr;
    refuse((is_extra ? unexpected_words(app) : one_line(error.what())) + " (see " + name + " --help)");
  }
  std::optional<Options> chosen;
  for_each([&](auto& command) {
    if (app.get_subcommands().front()->get_name() != command.name) return;
    chosen = command.options;
  });
  return chosen;
}

}  // namespace polyad::cli
