// SPDX-License-Identifier: BSD-3-Clause
// polyad mttkrp: the matricised tensor times the Khatri-Rao product of a model's factors.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "cli/commands/commands.hpp"
#include "cli/drivers/mttkrp_product.hpp"
#include "cli/names/row_texts.hpp"
#include "cli/report/file_name_format.hpp"
#include "cli/run/session.hpp"
#include "cli/streams/messages.hpp"
#include "cli/tensors/read_input.hpp"
#include "polyad/core/device.hpp"
#include "polyad/core/error.hpp"
#include "polyad/core/printable.hpp"
#include "polyad/io/array_npz.hpp"
#include "polyad/io/atomic_file.hpp"
#include "polyad/io/match_rows.hpp"
#include "polyad/io/model_file.hpp"

namespace polyad::cli {

namespace {

/// The tensor, whose rows are the model's if one of the two has labels.
io::CoordinateList read_like(io::HostKtensor const& model, MttkrpOptions const& options, Report& report) {
  auto file            = read_input_file(options.input, options.common, report);
  bool const has_names = !(model.names.labels.empty() && file.labels.empty());
  if (!has_names || file.tensor.extents.size() != model.extents.size()) return std::move(file.tensor);
  auto const unknown = io::match_rows(file, model.names, model.extents, options.input.path.string());
  for (std::size_t n = 0; n < unknown.size(); ++n)
    if (unknown[n].has_rows())
      throw InputError(
          options.input.path.string(), 0, 0,
          fmt::format("has {} rows of mode {} that {} does not have, such as '{}'", unknown[n].rows(), n,
                      options.factors.string(), printable(unknown[n].label(0))));
  report.input->dims = file.tensor.extents;
  return std::move(file.tensor);
}

}  // namespace

int run(MttkrpOptions const& given, Report& report) {
  MttkrpOptions options = given;
  expect_usable_device();
  io::expect_writable(options.output);
  auto const model = io::read_model(options.factors);
  auto tensor      = read_like(model, options, report);
  if (model.extents != tensor.extents)
    throw InputError(options.factors.string(), 0, 0,
                     fmt::format("holds a model of {}, but the tensor is {}", dims_text(model.extents),
                                 dims_text(tensor.extents)));
  auto const& labels       = model.names.labels.empty() ? report.input->labels : model.names.labels;
  options.mode             = mode_of_text(options.mode_text, labels, tensor.order(), "--mode");
  std::uint64_t const rows = tensor.extents[static_cast<std::size_t>(options.mode)];
  Session const session(options.common.threads, options.common.verbose);
  report.backend = session.backend();
  io::HostArray const product{{rows, model.rank()},
                              mttkrp_product(std::move(tensor), model, options.mode, report)};
  if (!std::all_of(product.elements.begin(), product.elements.end(),
                   [](double x) { return std::isfinite(x); }))
    throw NumericalError("the product holds numbers that are not finite");
  io::write_arrays_npz(options.output, {{"mttkrp", product}}, false);
  report.result = FactsReport{{{"rows", rows}, {"columns", model.rank()}}, {options.output.string()}};
  show("tensor   {}: {}\n", report.input->path, tensor_text(*report.input));
  show("wrote    {}: 'mttkrp' of {} x {}\n", FileName(options.output), rows, model.rank());
  return 0;
}

}  // namespace polyad::cli
