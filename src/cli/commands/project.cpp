// SPDX-License-Identifier: BSD-3-Clause
// polyad project: rows of one mode of a model for the slices of a tensor, while its other modes stay.
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

#include "cli/commands/commands.hpp"
#include "cli/commands/folding/project_completion.hpp"
#include "cli/drivers/products.hpp"
#include "cli/names/match_stored.hpp"
#include "cli/names/row_texts.hpp"
#include "cli/run/ranks.hpp"
#include "cli/run/session.hpp"
#include "cli/run/stopwatch.hpp"
#include "cli/streams/messages.hpp"
#include "cli/streams/refuse.hpp"
#include "cli/tensors/read_input.hpp"
#include "polyad/core/device.hpp"
#include "polyad/core/error.hpp"
#include "polyad/core/quantity_text.hpp"
#include "polyad/io/atomic_file.hpp"
#include "polyad/io/input_file.hpp"
#include "polyad/io/model_file.hpp"

namespace polyad::cli {

namespace {

/// Gives the tensor the model's extents in all modes but one.
/// \throws InputError for a tensor with rows that the model does not have
void fit_to_model(io::CoordinateList& tensor, io::HostKtensor const& model, ProjectOptions const& options) {
  for (std::size_t n = 0; n < tensor.extents.size(); ++n) {
    if (n == static_cast<std::size_t>(options.mode)) continue;
    if (tensor.extents[n] > model.extents[n])
      refuse_file(options.input.path, "is {}, but the model {}: only mode {} may have other rows",
                  dims_text(tensor.extents), dims_text(model.extents), options.mode);
    tensor.extents[n] = model.extents[n];
  }
}

int project_cp(io::HostKtensor model, ProjectOptions options, Report& report) {
  expect_cp_options(options);
  auto file   = read_slices(options, model.names.index_base, model.names, model.extents.size(), report);
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

}  // namespace

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

int run(ProjectOptions const& options, Report& report) {
  expect_usable_device();
  if (ranks().rank == 0) io::expect_writable(options.output);
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
