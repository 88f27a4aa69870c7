// SPDX-License-Identifier: BSD-3-Clause
// factor(), over both scalars.
#include "cli/drivers/factor.hpp"

#include <string>
#include <utility>
#include <vector>

#include "cli/drivers/cpd_run.hpp"
#include "cli/drivers/divided_tensor.hpp"
#include "cli/drivers/whole_tensor.hpp"
#include "cli/memory/memory_of_ranks.hpp"
#include "cli/run/communicator.hpp"
#include "cli/run/interrupt.hpp"
#include "cli/run/stopwatch.hpp"
#include "cli/tensors/compact_list.hpp"
#include "polyad/cp/cp_als.hpp"
#include "polyad/io/model_file.hpp"
#include "polyad/io/saved_models.hpp"

namespace polyad::cli {
namespace {

/// Runs CP-ALS and reports it. The progress line shows the first start.
template <class Scalar>
SaveModel run_cp_als(TensorByRank<Scalar, Space> const& X, CpdOptions const& options,
                     std::vector<StoredRows> const& rows, HostFactors&& start, Report& report,
                     OnIteration const& on_iteration) {
  Space const space;
  warn_of_losses(*report.format);
  stop_if_interrupted("making the start");
  auto const als      = library_options(options, X.extents().order(), rows);
  auto const callback = [&](CpAlsIteration const& it) {
    return it.start == 0 ? on_iteration(to_report(it)) : interrupt_signal() == 0;
  };
  Stopwatch const clock;
  auto const result = options.init == "random" ? cp_als(space, X, als, callback)
                                               : cp_als(space, X, als, std::move(start), callback);
  report_run(result, clock.seconds(), report);
  report_ranks(report, X.imbalance());
  return [space, model = result.model, names = report.input->names()](std::filesystem::path const& path) {
    polyad::save(space, model, path, names);
  };
}

}  // namespace

SaveModel factor(CpdOptions const& options, io::CoordinateList&& tensor, std::optional<io::HostKtensor> start,
                 Report& report, OnIteration const& on_iteration, std::string const& resumed) {
  auto const world = make_communicator(options.deterministic, report);
  auto const rows  = zeros_are_allowed(options, tensor.order()) ? compact_list(tensor, *report.input)
                                                                : std::vector<StoredRows>();
  HostFactors factors;
  if (start && world.rank() == 0) factors = io::with_rows(std::move(*start), rows).factors;
  start.reset();
  auto const factor_as = [&](auto scalar) {
    using Scalar = decltype(scalar);
    auto const X = world.size() == 1
                       ? whole_tensor<Scalar>(options, std::move(tensor), rows, resumed, factors, report)
                       : divided_tensor<Scalar>(world, options, std::move(tensor), report);
    add_empty_slices(rows, *report.input);
    return run_cp_als(X, options, rows, std::move(factors), report, on_iteration);
  };
  return options.precision == "f32" ? factor_as(float()) : factor_as(double());
}

}  // namespace polyad::cli
