// SPDX-License-Identifier: BSD-3-Clause
// polyad mttkrp: the matricised tensor times the Khatri-Rao product of a model's factors.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "cli/commands/commands.hpp"
#include "cli/drivers/mttkrp_product.hpp"
#include "cli/report/file_name_format.hpp"
#include "cli/run/session.hpp"
#include "cli/streams/messages.hpp"
#include "cli/tensors/read_input.hpp"
#include "polyad/core/device.hpp"
#include "polyad/core/error.hpp"
#include "polyad/io/array_npz.hpp"
#include "polyad/io/atomic_file.hpp"
#include "polyad/io/model_file.hpp"

namespace polyad::cli {

int run(MttkrpOptions const& options, Report& report) {
  expect_usable_device();
  io::expect_writable(options.output);
  auto const model = io::read_model(options.factors);
  auto tensor      = read_input(options.input, options.common, report);
  if (model.extents != tensor.extents)
    throw InputError(options.factors.string(), 0, 0,
                     fmt::format("holds a model of {}, but the tensor is {}", dims_text(model.extents),
                                 dims_text(tensor.extents)));
  if (options.mode >= tensor.order())
    throw UsageError(fmt::format("--mode takes a mode from 0 to {} of this tensor, not {}",
                                 tensor.order() - 1, options.mode));
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
