// SPDX-License-Identifier: BSD-3-Clause
// polyad project: rows of one mode of a CP model for the slices of a tensor, while its other modes stay.
#include <fmt/format.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

#include "cli/commands/commands.hpp"
#include "cli/drivers/products.hpp"
#include "cli/names/row_texts.hpp"
#include "cli/report/file_name_format.hpp"
#include "cli/run/session.hpp"
#include "cli/streams/messages.hpp"
#include "cli/tensors/read_input.hpp"
#include "polyad/core/device.hpp"
#include "polyad/core/error.hpp"
#include "polyad/io/atomic_file.hpp"
#include "polyad/io/model_file.hpp"

namespace polyad::cli {

namespace {

/// Gives the tensor the model's extents in all modes but one.
/// \throws InputError for a tensor with rows that the model does not have, or that calls them otherwise
void fit_to_model(io::CoordinateList& tensor, io::HostKtensor const& model, io::RowNames const& names,
                  ProjectOptions const& options) {
  auto const refuse = [&](std::string const& reason) {
    throw InputError(options.input.path.string(), 0, 0, reason);
  };
  if (tensor.extents.size() != model.extents.size())
    refuse(fmt::format("has {} modes, and the model {}", tensor.extents.size(), model.extents.size()));
  for (std::size_t n = 0; n < tensor.extents.size(); ++n) {
    if (n == static_cast<std::size_t>(options.mode)) continue;
    if (tensor.extents[n] > model.extents[n])
      refuse(fmt::format("is {}, but the model {}: only mode {} may have other rows",
                         dims_text(tensor.extents), dims_text(model.extents), options.mode));
    bool const has_labels = n < names.labels.size() && names.labels[n].has_rows();
    if (has_labels && n < model.names.labels.size() && model.names.labels[n].has_rows() &&
        !(names.labels[n] == model.names.labels[n]))
      refuse(fmt::format("calls the rows of mode {} otherwise than the model", n));
    tensor.extents[n] = model.extents[n];
  }
}

/// What the rows of the new model are called: those of the mode as in the tensor.
io::RowNames names_of_result(io::RowNames names, io::RowNames const& of_tensor, std::size_t mode) {
  if (names.labels.empty()) return names;
  std::string const name = names.labels[mode].name;
  names.labels[mode]     = mode < of_tensor.labels.size() ? of_tensor.labels[mode] : io::ModeLabels();
  if (names.labels[mode].name.empty()) names.labels[mode].name = name;
  return names;
}

}  // namespace

int run(ProjectOptions const& given, Report& report) {
  ProjectOptions options = given;
  expect_usable_device();
  io::expect_writable(options.output);
  auto model  = io::read_model(options.model);
  auto tensor = read_input(options.input, options.common, report);
  options.mode =
      mode_of_text(options.mode_text, model.names.labels, static_cast<int>(model.extents.size()), "--mode");
  auto const of_tensor = report.input->names();
  fit_to_model(tensor, model, of_tensor, options);
  auto const mode          = static_cast<std::size_t>(options.mode);
  std::uint64_t const rows = tensor.extents[mode];
  Session const session(options.common.threads, options.common.verbose);
  report.backend = session.backend();
  auto found     = project_rows(std::move(tensor), model, options.mode, options.precision, report);

  model.extents[mode] = rows;
  model.factors[mode] = std::move(found.rows);
  if (!model.rows.empty()) model.rows[mode] = StoredRows(rows);
  model.names = names_of_result(std::move(model.names), of_tensor, mode);
  io::write_model(options.output, model, options.precision == "f32");
  report.result = FactsReport{
      {{"rows", rows}, {"columns", model.rank()}, {"fit", found.fit}, {"objective", found.objective}},
      {options.output.string()}};
  show("tensor   {}: {}\n", report.input->path, tensor_text(*report.input));
  show("fit      {:.9f} with {} new rows of mode {}\n", found.fit, rows, options.mode);
  show("wrote    {}: the model with these rows\n", FileName(options.output));
  return 0;
}

}  // namespace polyad::cli
