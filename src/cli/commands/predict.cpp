// SPDX-License-Identifier: BSD-3-Clause
// polyad predict: reads a model and coordinates, and writes the coordinates with the model's predictions.
#include <fmt/format.h>

#include <cmath>
#include <utility>

#include "cli/commands/commands.hpp"
#include "cli/drivers/completion.hpp"
#include "cli/report/file_name_format.hpp"
#include "cli/run/session.hpp"
#include "cli/streams/messages.hpp"
#include "cli/tensors/entries.hpp"
#include "cli/tensors/read_input.hpp"
#include "polyad/core/device.hpp"
#include "polyad/core/error.hpp"
#include "polyad/io/atomic_file.hpp"
#include "polyad/io/tensor_file.hpp"

namespace polyad::cli {

namespace {

/// Lines of N indices read as N - 1 indices and a value: the value is the last index.
io::CoordinateList with_last_index(io::CoordinateList&& list, int base, std::string const& file) {
  io::CoordinateList places;
  places.extents    = list.extents;
  auto& indices     = places.indices.emplace<io::UninitializedVector<std::uint64_t>>();
  std::uint64_t top = 0;
  for (std::uint64_t p = 0; p < list.nnz(); ++p) {
    for (int n = 0; n < list.order(); ++n) indices.push_back(index_of(list, p, n));
    double const number = list.values[p] - base;
    if (!(number >= 0 && number < 0x1p53) || number != std::floor(number))
      throw InputError(file, 0, 0,
                       fmt::format("entry {} ends with {}, which is not an index", p + 1, list.values[p]));
    indices.push_back(static_cast<std::uint64_t>(number));
    top = std::max(top, indices.back() + 1);
    places.values.push_back(0);
  }
  places.extents.push_back(top);
  list = {};
  return places;
}

}  // namespace

int run(PredictOptions const& options, Report& report) {
  expect_usable_device();
  io::expect_writable(options.output);
  auto model             = io::read_fast_tucker(options.model);
  bool const by_biases   = options.cold_start == ColdStart::bias;
  std::string const file = options.places.string();
  if (!options.clip.empty()) {
    model.lowest  = options.clip[0];
    model.highest = options.clip[1];
  }
  auto places = read_input(options.places, options.index_base, options.common, report);
  if (report.input->table)
    throw UsageError(fmt::format(
        "{} is a table, whose ids are labels, but {} has no labels: give indices as coordinate text",
        FileName(file), FileName(options.model)));
  bool const no_values = places.order() == model.order() - 1;
  if (no_values) places = with_last_index(std::move(places), report.input->base, file);
  report.input->dims = places.extents;

  // Predictions are put back in the order of the entries, since entries outside the extents are in a separate
  // list.
  auto [inside, cold] = split_off_cold(io::CoordinateList(places), model.extents, file, by_biases);
  CompletionReport result;
  result.cold = cold.nnz();
  warn_of_cold(result.cold);
  result.mean   = model.mean;
  result.reason = "done";
  Session const session(options.common.threads, options.common.verbose);
  report.backend            = session.backend();
  auto const predictions    = predict_entries(model, std::move(inside));
  std::uint64_t next_inside = 0;
  std::vector<double> all(places.nnz());
  for (std::uint64_t p = 0; p < places.nnz(); ++p)
    all[p] = mode_outside(places, p, model.extents) < 0 ? predictions[next_inside++]
                                                        : predict_by_biases(model, places, p);
  if (!no_values && !all.empty()) result.errors["test"] = errors_of(places, all);
  for (std::uint64_t p = 0; p < places.nnz(); ++p) places.values[p] = all[p];
  io::write_tensor(options.output, places, {.threads = options.common.threads});
  result.files.push_back(options.output.string());

  show("entries  {}: {}, {} entries\n", report.input->path, dims_text(report.input->dims), all.size());
  for (auto const& [set, errors] : result.errors)
    show("errors   RMSE {} MAE {} against the values given\n", error_text(errors.rmse),
         error_text(errors.mae));
  show("wrote    {}\n", FileName(options.output));
  report.result = std::move(result);
  return 0;
}

}  // namespace polyad::cli
