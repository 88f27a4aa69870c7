// SPDX-License-Identifier: BSD-3-Clause
// factor(), over both scalars, and the tensor on several ranks.
#include <algorithm>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "cli/drivers/drivers.hpp"
#include "cli/drivers/whole_tensor.hpp"
#include "cli/memory/memory_of_ranks.hpp"
#include "cli/run/communicator.hpp"
#include "cli/run/interrupt.hpp"
#include "cli/run/stopwatch.hpp"
#include "cli/tensors/compact_list.hpp"
#include "cli/tensors/entries.hpp"
#include "cli/tensors/read_on_ranks.hpp"
#include "polyad/core/memory_plan.hpp"
#include "polyad/distributed/distribute.hpp"
#include "polyad/io/model_file.hpp"
#include "polyad/io/saved_models.hpp"

namespace polyad::cli {
namespace {

/// Whether rows that do not occur may be zero. Otherwise they need their bounds or stay as they are, and all
/// rows are stored.
bool zeros_are_allowed(CpdOptions const& options, int order) {
  if (!options.constraints.fixed.empty()) return false;
  return std::ranges::all_of(constraints_of_modes(options.constraints, order), &Constraints::allows_zero);
}

IterationReport to_report(CpAlsIteration const& it) {
  return {it.iteration, it.fit, it.delta, it.seconds, it.phases};
}

/// Reports how well the model fulfils its constraints.
template <class Scalar, class Space>
void report_constraints(CpAlsResult<Scalar, Space> const& result, CpdReport& report) {
  report.objective = result.objective;
  if (result.zeros.empty()) return;
  report.kkt_violation   = result.kkt_violation;
  report.zero_components = result.zero_components;
  for (int n = 0; n < result.model.factors.order(); ++n) {  // rows that are not stored are zero
    auto const& factor  = result.model.factors[n];
    auto const& rows    = result.model.rows;
    double const rank   = static_cast<double>(factor.extent(1));
    double const stored = static_cast<double>(factor.extent(0));
    double const all    = rows.empty() ? stored : static_cast<double>(rows[n].extent());
    double const zeros  = static_cast<double>(result.zeros[n]) + (all - stored) * rank;
    report.zeros.push_back(zeros / (all * rank));
  }
}

/// Reports a run. \param seconds  that it took
template <class Scalar, class Space>
void report_run(CpAlsResult<Scalar, Space> const& result, double seconds, Report& report) {
  CpdReport summary;
  static_cast<FitReport&>(summary) = {result.fit, result.fit_error, result.reason, result.iterations};
  summary.weights                  = result.model.weights;
  summary.gram_fallbacks           = result.gram_fallbacks;
  summary.defect                   = to_string(result.defect);
  report_constraints(result, summary);
  if (!result.restarts.empty()) {
    summary.restarts     = result.restarts;
    summary.best_restart = result.best_restart;
    summary.restarts_s   = seconds;
    report.iterations.clear();  // those of the first start
    for (auto const& it : result.history) report.iterations.push_back(to_report(it));
  }
  report.result = std::move(summary);
}

/// The format of this rank's share, and the report's facts about it.
/// \param plan         has the distribution
/// \param coordinates  the share's, in the plan
template <class Scalar, class Index>
TensorByRank<Scalar, Space> build_share(Communicator<Space> const& world, CpdOptions const& options,
                                        TensorShare<Scalar, Index, Space> const& share, MemoryPlan& plan,
                                        MemoryPlan::Held&& coordinates, Report& report) {
  bool const by_mpi         = std::string_view(world.data().name()).starts_with("MPI") && !runs_on_device();
  count_t const kept        = share.block.storage_bytes();
  auto const add_the_run_to = [&](MemoryPlan& to, MemoryPlan::Held&& held, std::string const& format) {
    plan_share<Scalar>(to, share, std::move(held), format, options.rank, !options.resume.empty(), by_mpi);
  };
  if (options.format != "auto") {  // a choice refuses what does not fit itself
    MemoryPlan from_here;
    add_the_run_to(from_here, from_here.hold("the coordinates of the share", kept), options.format);
    expect_fits_all(from_here, available_memory(world.space()) + kept, "the run",
                    " with its share in " + options.format);
  }
  auto format   = format_options_of(options);
  format.format = options.format;
  auto X        = tensor_by_rank(world, share, format);
  report.format = X.format_facts();
  add_the_run_to(plan, std::move(coordinates), X.chosen());
  report_expected_memory(report, plan.peak());
  return X;
}

/// \param list  this rank's part of the nonzeros, renumbered
template <class Scalar>
TensorByRank<Scalar, Space> divided_tensor(Communicator<Space> const& world, CpdOptions const& options,
                                           io::CoordinateList&& list, Report& report) {
  report.input->empty_slices = empty_slices_on_ranks(list);
  Extents const extents{std::span<count_t const>(list.extents)};
  auto const part = part_that_was_read(list);
  PartitionOptions partition;
  partition.grid = options.grid;
  partition.rank = options.rank;
  // Those of the whole tensor. The coordinates of the ranks' blocks may be narrower.
  auto const [index_bytes, share] = with_index_type(extents_need_wide_index(list.extents), [&](auto index) {
    using Index        = typename decltype(index)::type;
    auto const indices = take_indices<Index>(list);
    auto const values  = std::exchange(list.values, {});
    return std::pair(sizeof(Index), distribute_narrow<Scalar>(world, extents, std::span<Index const>(indices),
                                                              std::span<double const>(values), partition));
  });
  return std::visit(
      [&, sent = index_bytes](auto const& of_rank) {
        report.input->nnz = of_rank.nnz;
        report.input->duplicates += of_rank.duplicates;
        report.ranks->grid     = of_rank.partition.grid;
        report.ranks->labelled = of_rank.partition.labelled;
        stop_if_interrupted("distributing the tensor");
        MemoryPlan plan;
        auto coordinates = plan_distribution<Scalar>(plan, part, sent, of_rank, world.size());
        return build_share<Scalar>(world, options, of_rank, plan, std::move(coordinates), report);
      },
      share);
}

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
