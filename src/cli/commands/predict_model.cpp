// SPDX-License-Identifier: BSD-3-Clause
#include "cli/commands/predict_model.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <utility>

#include "cli/drivers/completion.hpp"
#include "cli/names/read_for_model.hpp"
#include "cli/names/row_texts.hpp"
#include "cli/names/write_entries.hpp"
#include "cli/run/session.hpp"
#include "cli/streams/messages.hpp"
#include "cli/streams/refuse.hpp"
#include "cli/tensors/entries.hpp"
#include "cli/tensors/read_input.hpp"
#include "polyad/core/error.hpp"
#include "polyad/io/clean_list.hpp"

namespace polyad::cli {

namespace {

/// How many entries have a row that the model does not have.
/// \throws InputError naming the first of them, unless they are allowed
std::uint64_t count_unknown(io::CoordinateList const& places, ValuedModel const& model, RowTexts const& rows,
                            std::string const& file, bool allowed) {
  std::uint64_t count = 0;
  for (std::uint64_t p = 0; p < places.nnz(); ++p) {
    int const n = mode_outside(places, p, model.extents);
    if (n < 0) continue;
    ++count;
    if (allowed) continue;
    auto const extent = model.extents[n];
    auto const reason =
        rows.has_labels(n)
            ? std::string("which the model does not have")
            : fmt::format("of which the model has {} rows, which count from {}", extent, rows.base());
    throw InputError(file, io::line_of_nonzero(file, p).value_or(0), 0,
                     fmt::format("entry {} has row {} of {}, {}; --cold-start zero takes the value of such "
                                 "entries as 0",
                                 p + 1, rows.text(n, index_of(places, p, n)), rows.mode_text(n), reason));
  }
  return count;
}

/// One value of each place; 0 where the model lacks a row.
std::vector<double> values_at(ValuedModel const& model, io::CoordinateList const& places,
                              std::uint64_t unknown) {
  if (unknown == 0) return model.values(places);
  auto const inside = [&](std::uint64_t p) { return mode_outside(places, p, model.extents) < 0; };
  auto const parts  = io::partition(places, [&](std::uint64_t p) { return !inside(p); });
  auto const known  = model.values(parts.first);
  std::vector<double> all(places.nnz());
  std::size_t next = 0;
  for (std::uint64_t p = 0; p < places.nnz(); ++p)
    if (inside(p)) all[p] = known[next++];
  return all;
}

void expect_finite(std::vector<double> const& numbers, char const* what, std::string const& file) {
  for (std::size_t p = 0; p < numbers.size(); ++p)
    if (!std::isfinite(numbers[p]))
      throw NumericalError(fmt::format("{}: {} of entry {} is not a finite number", file, what, p + 1));
}

bool is_table(std::filesystem::path const& path) {
  return path.extension() == ".csv" || path.extension() == ".tsv";
}

}  // namespace

void expect_values(PredictOptions const& options, bool lacks_values) {
  if (lacks_values && !options.residuals.empty())
    throw UsageError("--residuals takes entries with values: " + options.places.string() + " has none");
}

void write_residuals(PredictOptions const& options, io::CoordinateList& list, io::RowNames const& names,
                     std::vector<double> const& residuals, std::vector<FileName>& files) {
  if (options.residuals.empty()) return;
  std::copy(residuals.begin(), residuals.end(), list.values.begin());
  write_entries(options.residuals, list, names, options.common);
  files.push_back(options.residuals.string());
}

void show_predictions(std::size_t entries, CompletionReport&& result, Report& report) {
  show("entries  {}: {}, {} entries\n", report.input->path, dims_text(report.input->dims), entries);
  for (auto const& [set, errors] : result.errors)
    show("errors   RMSE {} MAE {} against the values given\n", error_text(errors.rmse),
         error_text(errors.mae));
  for (auto const& file : result.files) show("wrote    {}\n", file);
  report.result = std::move(result);
}

int predict_model(ValuedModel const& model, PredictOptions const& options, Report& report) {
  if (options.cold_start == ColdStart::bias)
    refuse("--cold-start bias is for models of fast-tucker: {} has no biases", model.text);
  int const base         = base_of_model(model.names, options.index_base, options.model);
  std::string const file = options.places.string();
  auto entries =
      read_for_model({.path = options.places}, base, model.names, model.extents, options.common, true);
  report.input = entries.facts;
  expect_values(options, entries.lacks_values);
  auto& places = entries.file.tensor;
  RowTexts const rows(entries.names, places.extents, base);
  bool const allowed = options.cold_start == ColdStart::zero;
  CompletionReport result;
  result.cold    = count_unknown(places, model, rows, file, allowed);
  result.columns = model.ranks;
  result.rank    = model.ranks.size() == 1 ? model.ranks[0] : 0;
  result.reason  = "done";
  warn_of_unknown_labels(entries, model.extents);
  if (result.cold > 0)
    say("polyad: {} entries have a row that the model does not have: their value is 0\n", result.cold);

  Session const session(options.common, report);
  auto values = values_at(model, places, result.cold);
  expect_finite(values, "the model's value", file);
  if (!options.clip.empty())
    for (double& value : values) value = std::min(std::max(value, options.clip[0]), options.clip[1]);
  std::vector<double> given(places.values.begin(), places.values.end()), left(given.size());
  for (std::size_t p = 0; p < given.size(); ++p) left[p] = given[p] - values[p];
  if (!entries.lacks_values) {
    expect_finite(left, "the residual", file);
    if (!given.empty()) result.errors["test"] = errors_of(places, values);
  }
  std::vector<NumberColumn> columns;
  if (is_table(options.output)) {
    columns.push_back({"model", values});
    if (!entries.lacks_values) columns.insert(columns.end(), {{"value", given}, {"residual", left}});
  }
  std::copy(values.begin(), values.end(), places.values.begin());
  write_entries(options.output, places, entries.names, options.common, columns);
  result.files.push_back(options.output.string());
  write_residuals(options, places, entries.names, left, result.files);

  show("model    {}: {}, {}\n", FileName(options.model), model.text, dims_text(model.extents));
  show_predictions(values.size(), std::move(result), report);
  return 0;
}

}  // namespace polyad::cli
