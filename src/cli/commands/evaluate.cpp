// SPDX-License-Identifier: BSD-3-Clause
// polyad evaluate: reads a model and test entries, and prints how good the model's recommendations are.
#include <cmath>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "cli/commands/commands.hpp"
#include "cli/names/read_for_model.hpp"
#include "cli/names/row_texts.hpp"
#include "cli/run/ranks.hpp"
#include "polyad/io/atomic_file.hpp"

namespace polyad::cli {

namespace {

/// Half of the interval that has the mean of all users with 95 % probability, in standard errors.
constexpr double half_interval = 1.96;

/// "0.2051 +- 0.0103", or "-" if there is no such number.
std::string estimate_text(Estimate const& estimate) {
  if (std::isnan(estimate.value)) return "-";
  if (std::isnan(estimate.error)) return fmt::format("{:.4f}", estimate.value);
  return fmt::format("{:.4f} +- {:.4f}", estimate.value, half_interval * estimate.error);
}

/// The name of a class of users, for a title.
std::string class_text(std::string const& activity) {
  if (activity == "all") return "all users";
  char const* const entries = activity == "few"    ? "fewer than 4"
                              : activity == "some" ? "4 to 19"
                                                   : "20 and more";
  return fmt::format("users with {} training entries", entries);
}

/// The table of one class of users: a line for each metric, a column for each method.
void show_class(std::vector<MethodScores> const& methods) {
  auto const& first = methods.front();
  show("\n{}: {} with relevant entries, {} test entries\n", class_text(first.activity), first.users,
       first.entries);
  std::string line(12, ' ');
  for (auto const& method : methods) line += fmt::format("{:<20}", method.method);
  auto const put = [](std::string text) {
    while (text.back() == ' ') text.pop_back();
    show("{}\n", text);
  };
  put(line);
  for (std::size_t m = 0; m < metric_names.size(); ++m) {
    line = fmt::format("{:<12}", metric_names[m]);
    for (auto const& method : methods) line += fmt::format("{:<20}", estimate_text(method.metrics[m]));
    put(line);
  }
}

void show_tables(Evaluation const& found) {
  for (auto const& scores : found.scores) {
    if (scores.method != found.scores.front().method) break;
    std::vector<MethodScores> methods;
    for (auto const& other : found.scores)
      if (other.activity == scores.activity) methods.push_back(other);
    show_class(methods);
  }
}

/// For the report: model.all.ndcg and model.all.ndcg_error and so on.
OptionList evaluation_facts(Evaluation const& found) {
  OptionList facts{{"entries", found.entries},         {"users", found.users},
                   {"queries", found.queries},         {"relevant", found.relevant},
                   {"left_out", found.left_out},       {"unknown", found.unknown},
                   {"unreachable", found.unreachable}, {"candidates", found.candidates}};
  for (auto const& scores : found.scores) {
    std::string const start = scores.method + "." + scores.activity + ".";
    facts.emplace_back(start + "users", scores.users);
    facts.emplace_back(start + "entries", scores.entries);
    for (std::size_t m = 0; m < metric_names.size(); ++m) {
      facts.emplace_back(start + metric_names[m], scores.metrics[m].value);
      facts.emplace_back(start + metric_names[m] + "_error", scores.metrics[m].error);
    }
  }
  return facts;
}

/// The text for a table, quoted if necessary.
std::string field(std::string const& text) {
  if (text.find_first_of(",\"\n\r") == text.npos) return text;
  std::string quoted = "\"";
  for (char const c : text) quoted += c == '"' ? "\"\"" : std::string(1, c);
  return quoted + '"';
}

/// A line for each user and method. A user's name is that of the test set's row.
void write_users(Evaluation const& found, EntriesForModel const& test, int mode, int base,
                 std::filesystem::path const& output) {
  io::AtomicFile file(output);
  std::string text = "user,method";
  for (std::size_t m = 0; m < metrics_of_user; ++m) text += fmt::format(",{}", metric_names[m]);
  file.write(text + "\n");
  std::size_t const n   = mode;
  bool const has_labels = n < test.names.labels.size() && test.names.labels[n].has_rows();
  for (std::size_t u = 0; u < found.user_rows.size(); ++u)
    for (auto const& of_users : found.of_users) {
      std::uint64_t const row = found.user_rows[u];
      text                    = fmt::format(
          "{},{}",
          has_labels ? field(std::string(test.names.labels[n].label(row))) : std::to_string(row + base),
          of_users.method);
      for (std::size_t m = 0; m < metrics_of_user; ++m) {
        double const value = of_users.values[u * metrics_of_user + m];
        text += std::isnan(value) ? "," : fmt::format(",{}", value);
      }
      file.write(text + "\n");
    }
  file.commit();
}

/// What the table does not show, on stderr.
void note_what_counts(Evaluation const& found, bool has_seen) {
  if (found.unknown > 0)
    say("polyad: {} queries have an index that the model does not know: they use the known biases only\n",
        found.unknown);
  if (found.unreachable > 0)
    say("polyad: {} relevant items count as missed: they are unknown to the model, or were seen\n",
        found.unreachable);
  if (!has_seen)
    say("polyad: without --seen, what users had in the training set is ranked too, and nothing is known of "
        "the most popular items\n");
}

/// Settles the modes and the range by the names and options.
void settle(EvaluateOptions& options, io::HostFastTucker& model) {
  auto& evaluation            = options.evaluation;
  auto const& names           = model.names.labels;
  evaluation.user_mode        = mode_of_text(options.users, names, model.order(), "--user-mode");
  evaluation.item_mode        = mode_of_text(options.items, names, model.order(), "--mode");
  evaluation.average_contexts = options.contexts == "average";
  evaluation.per_user         = !options.output.empty();
  if (evaluation.user_mode == evaluation.item_mode)
    refuse("--mode and --user-mode are both mode {}", evaluation.item_mode);
  if (options.clip.empty()) return;
  model.lowest  = options.clip[0];
  model.highest = options.clip[1];
}

}  // namespace

/// On several ranks, each reads the model and a part of the entries. Rank 0 prints and writes.
int run(EvaluateOptions const& given, Report& report) {
  EvaluateOptions options = given;
  bool const is_root      = ranks().rank == 0;
  auto model              = io::read_fast_tucker(options.model);
  settle(options, model);
  auto const& evaluation = options.evaluation;
  RunSession session(options.common, report);
  int const base = base_of_model(model.names, options.index_base, options.model);
  auto test = read_part_for_model({.path = options.test}, base, model.names, model.extents, options.common);
  report.input = test.facts;
  if (is_root) warn_of_unknown_labels(test, model.extents);
  io::CoordinateList seen;
  // Users whom the model does not know are the same in both files.
  if (!options.seen.empty())
    seen = read_part_for_model({.path = options.seen}, base, test.names, test.file.tensor.extents,
                               options.common)
               .file.tensor;
  session.begin();
  auto const found = evaluate_model(model, evaluation, std::move(test.file.tensor), std::move(seen));
  if (!is_root) return 0;
  report.input->nnz = found.entries;
  FactsReport result{evaluation_facts(found), {}};
  if (!options.output.empty()) {
    write_users(found, test, evaluation.user_mode, base, options.output);
    result.files.push_back(options.output.string());
  }
  show("entries    {}: {}, {} entries, {} of them relevant\n", report.input->path,
       dims_text(report.input->dims), found.entries, found.relevant);
  show("users      {} with relevant entries, {} without, who are left out\n", found.users, found.left_out);
  show("queries    {}, for the first {} of {} items\n", found.queries, evaluation.count, found.candidates);
  note_what_counts(found, !options.seen.empty());
  show_tables(found);
  show("\nvalues are means over users +- 1.96 standard errors of the mean{}\n",
       model.fit && model.fit->implicit ? "; RMSE and MAE are those of scores from 1" : "");
  if (!options.output.empty()) show("wrote      {}\n", FileName(options.output));
  report.result = std::move(result);
  return 0;
}

}  // namespace polyad::cli
