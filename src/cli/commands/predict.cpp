// SPDX-License-Identifier: BSD-3-Clause
// polyad predict: reads a model and coordinates, and writes the coordinates with the model's predictions.
#include <fmt/format.h>

#include <utility>
#include <vector>

#include "cli/commands/commands.hpp"
#include "cli/commands/predict_model.hpp"
#include "cli/drivers/completion.hpp"
#include "cli/models/model_values.hpp"
#include "cli/names/read_for_model.hpp"
#include "cli/names/row_texts.hpp"
#include "cli/names/write_entries.hpp"
#include "cli/run/session.hpp"
#include "cli/streams/messages.hpp"
#include "cli/streams/refuse.hpp"
#include "cli/tensors/entries.hpp"
#include "cli/tensors/read_input.hpp"
#include "polyad/core/device.hpp"
#include "polyad/io/atomic_file.hpp"
#include "polyad/io/input_file.hpp"

namespace polyad::cli {

namespace {

int predict_completion(io::HostFastTucker model, PredictOptions const& options, Report& report) {
  if (options.cold_start == ColdStart::zero)
    refuse("--cold-start zero is for models of cpd and tucker: take bias");
  bool const by_biases   = options.cold_start.value_or(ColdStart::bias) == ColdStart::bias;
  std::string const file = options.places.string();
  if (!options.clip.empty()) {
    model.lowest  = options.clip[0];
    model.highest = options.clip[1];
  }
  int const base = base_of_model(model.names, options.index_base, options.model);
  auto entries =
      read_for_model({.path = options.places}, base, model.names, model.extents, options.common, true);
  report.input         = entries.facts;
  bool const no_values = entries.lacks_values;
  expect_values(options, no_values);
  auto& places = entries.file.tensor;
  RowTexts const rows(entries.names, places.extents, base);

  // Predictions are put back in the order of the entries, since entries outside the extents are in a separate
  // list.
  auto [inside, cold] =
      split_off_cold(io::CoordinateList(places), model.extents, model.observed, rows, file, by_biases);
  CompletionReport result;
  result.cold = cold.nnz();
  warn_of_unknown_labels(entries, model.extents);
  warn_of_cold(result.cold);
  result.mean   = model.mean;
  result.reason = "done";
  Session const session(options.common, report);
  auto const predictions    = predict_entries(model, std::move(inside));
  std::uint64_t next_inside = 0;
  std::vector<double> all(places.nnz());
  for (std::uint64_t p = 0; p < places.nnz(); ++p)
    all[p] = mode_outside(places, p, model.extents) < 0 ? predictions[next_inside++]
                                                        : predict_by_biases(model, places, p);
  if (!no_values && !all.empty()) result.errors["test"] = errors_of(places, all);
  std::vector<double> residuals(options.residuals.empty() ? 0 : all.size());
  for (std::size_t p = 0; p < residuals.size(); ++p) residuals[p] = places.values[p] - all[p];
  for (std::uint64_t p = 0; p < places.nnz(); ++p) places.values[p] = all[p];
  write_entries(options.output, places, entries.names, options.common);
  result.files.push_back(options.output.string());
  write_residuals(options, places, entries.names, residuals, result.files);

  show_predictions(all.size(), std::move(result), report);
  return 0;
}

}  // namespace

int run(PredictOptions const& options, Report& report) {
  expect_usable_device();
  io::expect_writable(options.output);
  if (!options.residuals.empty()) io::expect_writable(options.residuals);
  io::InputFile file(options.model);
  switch (file.kind()) {
    case io::InputFile::Kind::cp_model: {
      auto const model = file.read_model();
      return predict_model({fmt::format("CP of rank {}", model.rank()),
                            model.extents,
                            {model.rank()},
                            model.names,
                            [&](io::CoordinateList const& places) { return model_values(model, places); }},
                           options, report);
    }
    case io::InputFile::Kind::tucker_model: {
      auto const model = file.read_tucker();
      return predict_model(
          {"Tucker with a core of " + dims_text(model.ranks), model.extents, model.ranks, model.names,
           [&](io::CoordinateList const& places) { return model_values(model, places); }},
          options, report);
    }
    default:
      return predict_completion(file.read_fast_tucker(), options, report);
  }
}

}  // namespace polyad::cli
