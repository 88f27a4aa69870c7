// SPDX-License-Identifier: BSD-3-Clause
// polyad project: rows of one mode of a model for the slices of a tensor, while its other modes stay. Those
// of a model of fast-tucker are solved as rows after its own ones, which are then removed.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include "cli/command_line/checks.hpp"
#include "cli/commands/commands.hpp"
#include "cli/commands/folding/new_entries.hpp"
#include "cli/names/read_for_model.hpp"
#include "cli/names/row_texts.hpp"
#include "cli/run/ranks.hpp"
#include "cli/run/stopwatch.hpp"
#include "cli/tensors/entries.hpp"
#include "polyad/core/error.hpp"
#include "polyad/core/quantity_text.hpp"
#include "polyad/io/input_file.hpp"
#include "polyad/io/model_file.hpp"

namespace polyad::cli {

namespace {

/// Reads the slices, and settles the mode of the new rows.
/// \param base   that of rows in a text; -1: as the file says
/// \param names  those of the model; \param order  its number of modes
/// \throws InputError for a tensor of another number of modes; UsageError for a mode that it does not have
io::TensorFile read_slices(ProjectOptions& options, int base, io::RowNames const& names, std::size_t order,
                           Report& report) {
  options.input.index_base_of_text = base;
  auto file                        = read_input_file(options.input, options.common, report);
  if (file.tensor.extents.size() != order)
    refuse_file(options.input.path, "has {} modes, and the model {}", file.tensor.extents.size(), order);
  auto const& labels = names.labels.empty() ? report.input->labels : names.labels;
  options.mode       = mode_of_text(options.mode_text, labels, file.tensor.order(), "--mode");
  return file;
}

// Models of cpd.

/// \throws UsageError for options that only models of fast-tucker have
void expect_cp_options(ProjectOptions const& options) {
  if (options.fold.is_typed)
    refuse(
        "--implicit, --reg, --reg-per-entry, --shrink, --targets and --bias-reg are for models of "
        "fast-tucker: a model of cpd knows its penalties");
  if (options.cold_start && *options.cold_start != ColdStart::refuse)
    refuse("--cold-start bias is for models of fast-tucker: a model of cpd has no biases");
  if (options.input.duplicates == "keep")
    refuse("--duplicates keep is for models of fast-tucker: a tensor has one value at a place");
}

/// Gives the tensor the model's extents in all modes but one.
/// \throws InputError for a tensor with rows that the model does not have
void fit_to_model(io::CoordinateList& tensor, io::HostKtensor const& model, ProjectOptions const& options) {
  for (int n = 0; n < tensor.order(); ++n) {
    if (n == options.mode) continue;
    if (tensor.extents[n] > model.extents[n])
      refuse_file(options.input.path, "is {}, but the model {}: only mode {} may have other rows",
                  dims_text(tensor.extents), dims_text(model.extents), options.mode);
    tensor.extents[n] = model.extents[n];
  }
}

int project_cp(io::HostKtensor model, ProjectOptions options, Report& report) {
  expect_cp_options(options);
  auto file = read_slices(options, model.names.index_base, model.names, model.extents.size(), report);
  if (known_base(model.names, options.input.index_base) < 0)
    static_cast<void>(
        base_shown_by(file.report, file.tensor.extents, model.extents, options.mode, options.model));
  auto names  = match_stored(file, model.names, model.extents, options.mode, options.input.path.string(),
                             options.model.string());
  auto tensor = std::move(file.tensor);
  report.input->dims = tensor.extents;
  fit_to_model(tensor, model, options);
  std::size_t const mode   = options.mode;
  std::uint64_t const rows = tensor.extents[mode];
  Session const session(options.common, report);
  Stopwatch const clock;
  auto found            = project_rows(std::move(tensor), model, options.mode, options.precision, report);
  double const solved_s = clock.seconds();

  model.extents[mode] = rows;
  model.factors[mode] = std::move(found.rows);
  if (!model.rows.empty()) model.rows[mode] = StoredRows(rows);
  model.names = std::move(names);
  io::write_model(options.output, model, options.precision == "f32");
  report.result = FactsReport{
      {{"rows", rows}, {"columns", model.rank()}, {"fit", found.fit}, {"objective", found.objective}},
      {options.output.string()}};
  show("tensor   {}: {}\n", report.input->path, tensor_text(*report.input));
  show("fit      {:.9f} with {} new rows of mode {}\n", found.fit, rows, options.mode);
  show("time     {} to read, {} to solve\n", duration_text(report.input->read_s), duration_text(solved_s));
  show("wrote    {}: the model with these rows\n", FileName(options.output));
  return 0;
}

// Models of fast-tucker.

/// Adds `by` to the indices of a mode.
io::CoordinateList shifted(io::CoordinateList const& list, int mode, std::uint64_t by) {
  io::CoordinateList result;
  result.extents = list.extents;
  auto& extent   = result.extents[mode];
  if (by > std::numeric_limits<std::uint64_t>::max() - extent)
    refuse("mode {} has more than 2^64 rows, together with the model's", mode);
  extent += by;
  result.values = list.values;
  auto& wide    = result.indices.emplace<io::UninitializedVector<std::uint64_t>>();
  wide.reserve(list.nnz() * list.extents.size());
  for (std::uint64_t p = 0; p < list.nnz(); ++p)
    for (int n = 0; n < list.order(); ++n) wide.push_back(index_of(list, p, n) + (n == mode ? by : 0));
  return result;
}

/// Keeps the rows from `first` on of an array with `columns` numbers for each row.
void drop_front(std::vector<double>& rows, std::uint64_t first, std::uint64_t columns) {
  rows.erase(rows.begin(), rows.begin() + static_cast<std::ptrdiff_t>(first * columns));
}

/// The extended model without what it had of mode n, and without new rows of other modes.
io::HostFastTucker with_new_rows_only(io::HostFastTucker folded, io::HostFastTucker const& model, int mode) {
  io::HostFastTucker result = model;
  std::size_t const n       = mode;
  std::uint64_t const old   = model.extents[n];
  result.extents[n]         = folded.extents[n] - old;
  result.factors[n]         = std::move(folded.factors[n]);
  drop_front(result.factors[n], old, model.columns[n]);
  if (!model.biases.empty()) {
    result.biases[n] = std::move(folded.biases[n]);
    drop_front(result.biases[n], old, 1);
  }
  if (!model.bins.empty()) {  // what drifted were the biases of the rows that went
    result.bins[n]   = 0;
    result.drifts[n] = {};
  }
  return result;
}

void replace_marks(io::HostFastTucker& model, io::CoordinateList const& list, int mode) {
  std::size_t const n = mode;
  std::vector<std::uint8_t> marks(model.extents[n], 0);
  for (std::uint64_t p = 0; p < list.nnz(); ++p) marks[index_of(list, p, mode)] = 1;
  bool const has_all = std::ranges::find(marks, std::uint8_t{0}) == marks.end();
  if (model.observed.empty()) {
    if (has_all) return;
    model.observed.resize(model.extents.size());
  }
  model.observed[n] = has_all ? std::vector<std::uint8_t>() : std::move(marks);
  if (std::ranges::all_of(model.observed, [](auto const& of_mode) { return of_mode.empty(); }))
    model.observed.clear();
}

EntriesForModel read_entries(io::HostFastTucker const& model, ProjectOptions& options, Report& report) {
  int base  = known_base(model.names, options.input.index_base);
  auto file = read_slices(options, base, model.names, model.extents.size(), report);
  if (base < 0)
    base = base_shown_by(file.report, file.tensor.extents, model.extents, options.mode, options.model);
  if (options.mode == model.time_mode)
    refuse("mode {} is the mode of time, whose rows are those of the model", options.mode);
  auto extents      = model.extents;
  auto const names  = with_own_rows(file, model.names, extents, options.mode);
  InputReport facts = *report.input;
  return match_to_model(std::move(file), std::move(facts), base, names, extents);
}

/// Writes the model with other rows of a mode: those of the entries, each solved from its own ones.
/// On several ranks, rank 0 reads the entries, and writes. Each solves some of the rows.
int project_completion(io::HostFastTucker const& model, ProjectOptions const& given, Report& report) {
  ProjectOptions options = given;
  bool const is_root     = ranks().rank == 0;
  expect_npz("-o", options.output, "a FastTucker model");
  options.fold = settle_fit(options.fold, model, options.model.string());
  if (!options.duplicates_typed) options.input.duplicates = "keep";
  EntriesForModel entries;
  auto& tensor = entries.file.tensor;
  if (is_root) {
    entries                = read_entries(model, options, report);
    report.input->nnz      = tensor.nnz();
    std::size_t const mode = options.mode;
    bool const allowed     = options.cold_start.value_or(ColdStart::bias) == ColdStart::bias;
    auto extents           = model.extents;
    extents[mode]          = tensor.extents[mode];
    expect_known_rows(entries, model, {options.mode}, allowed);
    warn_of_unknown_labels(entries, extents);
  }
  Session const session(options.common, report);
  // Rank 0 alone knows the names of the entries' modes.
  options.mode           = static_cast<int>(of_all_ranks({static_cast<std::uint64_t>(options.mode)})[0][0]);
  std::size_t const mode = options.mode;
  FoldInTask task;
  task.entries   = is_root ? shifted(tensor, options.mode, model.extents[mode]) : no_entries(model.order());
  task.precision = options.precision;
  options.fold.modes = {options.mode};
  Stopwatch const clock;
  auto folded           = fold_in_rows(model, std::move(task), options.fold);
  double const solved_s = clock.seconds();
  if (!is_root) return 0;
  auto projected = with_new_rows_only(std::move(folded), model, options.mode);
  replace_marks(projected, tensor, options.mode);
  projected.fit   = fit_to_keep(options.fold, model);
  projected.names = first_names(std::move(entries.names), projected.extents, model);
  io::write_fast_tucker(options.output, projected, options.precision == "f32");
  std::uint64_t const rows = projected.extents[mode];
  report.result = FactsReport{{{"rows", rows}, {"columns", model.columns[mode]}}, {options.output.string()}};
  show("entries  {}: {}, {} entries\n", report.input->path, dims_text(report.input->dims), tensor.nnz());
  show("rows     {} of mode {}, each from its own entries\n", rows, options.mode);
  show("solved   by {}\n", fit_text(options.fold, model));
  show("time     {} to read, {} to solve\n", duration_text(report.input->read_s), duration_text(solved_s));
  show("wrote    {}: the model with these rows\n", FileName(options.output));
  return 0;
}

}  // namespace

int run(ProjectOptions const& options, Report& report) {
  io::InputFile file(options.model);
  if (file.kind() == io::InputFile::Kind::fast_tucker_model)
    return project_completion(file.read_fast_tucker(), options, report);
  if (ranks().size > 1)
    refuse(
        "project runs on several ranks only for models of fast-tucker so far: start this command without "
        "mpirun");
  return project_cp(file.read_model(), options, report);
}

}  // namespace polyad::cli
