// SPDX-License-Identifier: BSD-3-Clause
// polyad predict: reads a model and coordinates, and writes the coordinates with the model's predictions.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "cli/commands/commands.hpp"
#include "cli/names/read_for_model.hpp"
#include "cli/names/row_texts.hpp"
#include "cli/names/write_entries.hpp"
#include "cli/tensors/entries.hpp"
#include "polyad/core/error.hpp"
#include "polyad/io/clean_list.hpp"
#include "polyad/io/input_file.hpp"

namespace polyad::cli {

namespace {

using Places = io::CoordinateList;

/// A model that has a value at each place of its extents.
struct ValuedModel {
  std::string text                   = {};  // a description; empty: a model of fast-tucker, which has biases
  std::vector<std::uint64_t> extents = {}, ranks = {};
  io::RowNames names = {};
  double mean        = 0;
  /// How many entries have a row that the model does not have.
  /// \throws InputError naming the first of them, unless they are allowed
  std::function<std::uint64_t(Places const& places, RowTexts const& rows)> count_unknown;
  /// One value of each place. Needs a Session. \param unknown  as count_unknown counted them
  std::function<std::vector<double>(Places const& places, std::uint64_t unknown)> values;
};

std::uint64_t count_unknown(Places const& places, std::vector<std::uint64_t> const& extents,
                            RowTexts const& rows, std::string const& file, bool allowed) {
  std::uint64_t count = 0;
  for (std::uint64_t p = 0; p < places.nnz(); ++p) {
    int const n = mode_outside(places, p, extents);
    if (n < 0) continue;
    ++count;
    if (allowed) continue;
    auto const reason =
        rows.has_labels(n)
            ? std::string("which the model does not have")
            : fmt::format("of which the model has {} rows, which count from {}", extents[n], rows.base());
    throw InputError(file, io::line_of_nonzero(file, p).value_or(0), 0,
                     fmt::format("entry {} has row {} of {}, {}; --cold-start zero takes the value of such "
                                 "entries as 0",
                                 p + 1, rows.text(n, index_of(places, p, n)), rows.mode_text(n), reason));
  }
  return count;
}

/// The known values of places inside the extents, in their order, and the value of each other place.
std::vector<double> with_others(Places const& places, std::vector<std::uint64_t> const& extents,
                                std::vector<double> const& known,
                                std::function<double(std::uint64_t p)> const& other) {
  std::vector<double> all(places.nnz());
  std::size_t next = 0;
  for (std::uint64_t p = 0; p < places.nnz(); ++p)
    all[p] = mode_outside(places, p, extents) < 0 ? known[next++] : other(p);
  return all;
}

void expect_finite(std::vector<double> const& numbers, char const* what, std::string const& file) {
  for (std::size_t p = 0; p < numbers.size(); ++p)
    if (!std::isfinite(numbers[p]))
      throw NumericalError(fmt::format("{}: {} of entry {} is not a finite number", file, what, p + 1));
}

/// Writes the model's values at options.places, and in tables the given values and the residuals too.
/// \throws NumericalError when a value or a residual is not a finite number
int write_predictions(ValuedModel const& model, PredictOptions const& options, Report& report) {
  bool const has_biases  = model.text.empty();
  int base               = known_base(model.names, options.index_base);
  std::string const file = options.places.string();
  auto entries =
      read_for_model({.path = options.places}, base, model.names, model.extents, options.common, true);
  report.input = entries.facts;
  if (base < 0)
    base = entries.names.index_base =
        base_shown_by(entries.file.report, entries.facts.dims, model.extents, -1, options.model);
  if (entries.lacks_values && !options.residuals.empty())
    throw UsageError("--residuals takes entries with values: " + file + " has none");
  auto& places = entries.file.tensor;
  CompletionReport result;
  result.cold    = model.count_unknown(places, RowTexts(entries.names, places.extents, base));
  result.mean    = model.mean;
  result.columns = model.ranks;
  result.rank    = model.ranks.size() == 1 ? model.ranks[0] : 0;
  result.reason  = "done";
  warn_of_unknown_labels(entries, model.extents);
  if (has_biases)
    warn_of_cold(result.cold);
  else if (result.cold > 0)
    say("polyad: {} entries have a row that the model does not have: their value is 0\n", result.cold);

  Session const session(options.common, report);
  auto const values = model.values(places, result.cold);
  std::vector<double> const given(places.values.begin(), places.values.end());
  auto left = given;
  for (std::size_t p = 0; p < left.size(); ++p) left[p] -= values[p];
  if (!entries.lacks_values) {
    if (!has_biases) expect_finite(left, "the residual", file);
    if (!given.empty()) result.errors["test"] = errors_of(places, values);
  }
  std::vector<NumberColumn> columns;
  if (!has_biases && is_table(options.output)) {
    columns.push_back({"model", values});
    if (!entries.lacks_values) columns.insert(columns.end(), {{"value", given}, {"residual", left}});
  }
  auto const write = [&](std::filesystem::path const& path, std::vector<double> const& numbers,
                         std::vector<NumberColumn> const& in_place_of_them) {
    std::ranges::copy(numbers, places.values.begin());
    write_entries(path, places, entries.names, options.common, in_place_of_them);
    result.files.push_back(path.string());
  };
  write(options.output, values, columns);
  if (!options.residuals.empty()) write(options.residuals, left, {});

  if (!has_biases)
    show("model    {}: {}, {}\n", FileName(options.model), model.text, dims_text(model.extents));
  show("entries  {}: {}, {} entries\n", report.input->path, dims_text(report.input->dims), values.size());
  for (auto const& [set, errors] : result.errors)
    show("errors   RMSE {} MAE {} against the values given\n", error_text(errors.rmse),
         error_text(errors.mae));
  for (auto const& path : result.files) show("wrote    {}\n", path);
  report.result = std::move(result);
  return 0;
}

int predict_completion(io::HostFastTucker model, PredictOptions const& options, Report& report) {
  if (options.cold_start == ColdStart::zero)
    refuse("--cold-start zero is for models of cpd and tucker: take bias");
  bool const by_biases = options.cold_start.value_or(ColdStart::bias) == ColdStart::bias;
  if (!options.clip.empty()) {
    model.lowest  = options.clip[0];
    model.highest = options.clip[1];
  }
  Places inside;
  return write_predictions({.extents = model.extents,
                            .names   = model.names,
                            .mean    = model.mean,
                            .count_unknown =
                                [&](Places const& places, RowTexts const& rows) {
                                  auto parts = split_off_cold(Places(places), model.extents, model.observed,
                                                              rows, options.places.string(), by_biases);
                                  inside     = std::move(parts.first);
                                  return parts.second.nnz();
                                },
                            .values =
                                [&](Places const& places, std::uint64_t) {
                                  return with_others(
                                      places, model.extents, predict_entries(model, std::move(inside)),
                                      [&](std::uint64_t p) { return predict_by_biases(model, places, p); });
                                }},
                           options, report);
}

/// With a model of cpd or tucker.
template <class Model>
int predict_model(Model const& model, std::string const& text, std::vector<std::uint64_t> const& ranks,
                  PredictOptions const& options, Report& report) {
  if (options.cold_start == ColdStart::bias)
    refuse("--cold-start bias is for models of fast-tucker: {} has no biases", text);
  std::string const file = options.places.string();
  return write_predictions(
      {.text    = text,
       .extents = model.extents,
       .ranks   = ranks,
       .names   = model.names,
       .count_unknown =
           [&](Places const& places, RowTexts const& rows) {
             return count_unknown(places, model.extents, rows, file, options.cold_start == ColdStart::zero);
           },
       .values =
           [&](Places const& places, std::uint64_t unknown) {
             auto const is_outside = [&](std::uint64_t p) {
               return mode_outside(places, p, model.extents) >= 0;
             };
             auto values = unknown == 0
                               ? model_values(model, places)
                               : with_others(places, model.extents,
                                             model_values(model, io::partition(places, is_outside).first),
                                             [](std::uint64_t) { return 0.0; });
             expect_finite(values, "the model's value", file);
             if (!options.clip.empty())
               for (double& value : values)
                 value = std::min(std::max(value, options.clip[0]), options.clip[1]);
             return values;
           }},
      options, report);
}

}  // namespace

int run(PredictOptions const& options, Report& report) {
  io::InputFile file(options.model);
  switch (file.kind()) {
    case io::InputFile::Kind::cp_model: {
      auto const model = file.read_model();
      return predict_model(model, fmt::format("CP of rank {}", model.rank()), {model.rank()}, options,
                           report);
    }
    case io::InputFile::Kind::tucker_model: {
      auto const model = file.read_tucker();
      return predict_model(model, "Tucker with a core of " + dims_text(model.ranks), model.ranks, options,
                           report);
    }
    default:
      return predict_completion(file.read_fast_tucker(), options, report);
  }
}

}  // namespace polyad::cli
