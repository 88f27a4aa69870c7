// SPDX-License-Identifier: BSD-3-Clause
// polyad update: adds entries to what a completion model knows, and solves the rows that have new ones.
#include <cstddef>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "cli/commands/commands.hpp"
#include "cli/commands/folding/new_entries.hpp"
#include "cli/names/read_for_model.hpp"
#include "cli/names/row_texts.hpp"
#include "cli/run/interrupt.hpp"
#include "cli/run/ranks.hpp"
#include "cli/run/stopwatch.hpp"
#include "cli/tensors/entries.hpp"
#include "polyad/core/error.hpp"
#include "polyad/core/quantity_text.hpp"
#include "polyad/io/clean_list.hpp"

namespace polyad::cli {

namespace {

/// What becomes of the rows of a mode.
struct RowCounts {
  std::uint64_t added   = 0;  // the model did not have them, or no entries of them
  std::uint64_t changed = 0;  // it did, and they have new entries
};

std::vector<RowCounts> count_rows(io::CoordinateList const& entries, io::HostFastTucker const& model) {
  std::vector<RowCounts> counts(model.extents.size());
  for (int n = 0; n < model.order(); ++n) {
    auto const extent = model.extents[n];
    for (auto const row : occurring_rows(entries, n)) {
      if (row >= extent && n == model.time_mode) continue;
      bool const is_known = row < extent && is_observed(model.observed, n, row);
      ++(is_known ? counts[n].changed : counts[n].added);
    }
  }
  return counts;
}

void merge(io::CoordinateList& list, std::string const& duplicates, Report& report) {
  if (duplicates == "keep") return;
  report.input->keeps_last = duplicates == "last";
  report.input->duplicates =
      io::merge_duplicates(list, report.input->keeps_last ? io::Duplicates::last : io::Duplicates::sum);
}

/// The entries that the model was fitted to.
/// \throws InputError for rows that the model does not have
io::CoordinateList read_train(UpdateOptions const& options, io::HostFastTucker const& model, int base) {
  auto train = read_for_model({.path = options.train}, base, model.names, model.extents, options.common);
  auto& list = train.file.tensor;
  RowTexts const rows(train.names, list.extents, base);
  for (std::uint64_t p = 0; p < list.nnz(); ++p)
    if (int const n = mode_outside(list, p, model.extents); n >= 0)
      refuse_file(options.train,
                  "entry {} has row {} of {}, which the model does not have: --train takes "
                  "the entries that it was fitted to",
                  p + 1, rows.text(n, index_of(list, p, n)), rows.mode_text(n));
  return std::move(list);
}

void warn_of_rows_that_stay(std::vector<RowCounts> const& counts, UpdateOptions const& options,
                            io::HostFastTucker const& model) {
  if (!options.train.empty()) return;
  RowTexts const rows(model.names, model.extents, 0);
  std::string text;
  for (int n = 0; n < std::ssize(counts); ++n)
    if (counts[n].changed > 0)
      text += fmt::format("{}{} of {}", text.empty() ? "" : ", ", counts[n].changed, rows.mode_text(n));
  if (!text.empty())
    say("polyad: rows that the model has already stay as they are, though they have new entries ({}): "
        "--train names their old ones\n",
        text);
}

/// What rank 0 reads, which is all there is.
struct ReadForUpdate {
  EntriesForModel entries;
  std::vector<RowCounts> counts;
  FoldInTask task;
};

ReadForUpdate read_for_update(UpdateOptions const& options, io::HostFastTucker const& model, int base,
                              Report& report) {
  ReadForUpdate read;
  auto& [entries, counts, task] = read;
  entries      = read_for_model({.path = options.entries}, base, model.names, model.extents, options.common);
  report.input = entries.facts;
  std::vector<int> modes(model.extents.size());
  std::iota(modes.begin(), modes.end(), 0);
  expect_known_rows(entries, model, modes, true);
  counts = count_rows(entries.file.tensor, model);
  warn_of_rows_that_stay(counts, options, model);
  task.entries = entries.file.tensor;
  if (!options.train.empty()) {
    task.added   = std::move(task.entries);
    task.entries = read_train(options, model, base);
    append(task.entries, entries.file.tensor);
  }
  merge(task.entries, options.duplicates, report);
  return read;
}

}  // namespace

/// On several ranks, rank 0 reads the entries, and writes. Each solves some of the rows.
int run(UpdateOptions const& options, Report& report) {
  bool const is_root      = ranks().rank == 0;
  auto model              = io::read_fast_tucker(options.model);
  auto const fold         = settle_fit(options.fold, model, options.model.string());
  int const base          = base_of_model(model.names, options.index_base, options.model);
  bool const solves_again = !options.train.empty();
  ReadForUpdate read;
  if (is_root) read = read_for_update(options, model, base, report);
  auto& [entries, counts, task] = read;
  if (!is_root) {
    task.entries = no_entries(model.order());
    if (solves_again) task.added = task.entries;
  }
  task.sweeps    = options.sweeps;
  task.precision = options.precision;
  auto const all = task.entries.nnz();
  stop_if_interrupted("reading the entries");
  Session const session(options.common, report);
  Stopwatch const clock;
  auto updated          = fold_in_rows(model, std::move(task), fold);
  double const solved_s = clock.seconds();
  if (!is_root) return 0;
  updated.observed = with_rows_of(entries.file.tensor, model.observed, model.extents, updated.extents);
  updated.fit      = fit_to_keep(fold, model);
  updated.names    = first_names(std::move(entries.names), updated.extents, model);
  io::write_fast_tucker(options.output, updated, options.precision == "f32");

  FactsReport result{{{"entries", all}, {"sweeps", std::int64_t{options.sweeps}}}, {options.output.string()}};
  show("entries    {}: {}, {} entries\n", report.input->path, dims_text(report.input->dims),
       report.input->nnz);
  RowTexts const rows(updated.names, updated.extents, base);
  for (int n = 0; n < std::ssize(counts); ++n) {
    result.facts.emplace_back(fmt::format("added.{}", n), counts[n].added);
    result.facts.emplace_back(fmt::format("solved_again.{}", n),
                              solves_again ? counts[n].changed : std::uint64_t{0});
    show("rows       {}: {} added, {} {}\n", rows.mode_text(n), counts[n].added, counts[n].changed,
         solves_again ? "solved again" : "left as they were");
  }
  show("solved     by {}\n", fit_text(fold, model));
  if (options.sweeps > 0) show("sweeps     {} over all rows, with {} entries\n", options.sweeps, all);
  show("time       {} to read, {} to solve\n", duration_text(report.input->read_s), duration_text(solved_s));
  show("wrote      {}: the model with these rows\n", FileName(options.output));
  report.result = std::move(result);
  return 0;
}

}  // namespace polyad::cli
