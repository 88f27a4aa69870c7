// SPDX-License-Identifier: BSD-3-Clause
// The common code of cpd's drivers for one rank and for many: options, the report's result, and checkpoints.
// It includes a CP-ALS that writes checkpoints and resumes from one.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "cli/drivers/factor.hpp"
#include "cli/typed_text/mode_constraints.hpp"
#include "polyad/core/error.hpp"
#include "polyad/core/per_mode.hpp"
#include "polyad/cp/cp_als.hpp"
#include "polyad/cp/factor_update.hpp"
#include "polyad/io/model_file.hpp"
#include "polyad/io/saved_models.hpp"

namespace polyad::cli {

/// \param order  of the tensor
inline CpAlsOptions library_options(CpdOptions const& options, int order) {
  CpAlsOptions als;
  als.rank           = options.rank;
  als.max_iterations = options.max_iterations;
  als.tolerance      = options.tolerance;
  als.time_limit_s   = options.time_limit_s;
  als.seed           = options.seed;
  als.time_phases    = options.time_phases;
  als.kkt_tolerance  = options.kkt_tolerance;
  als.scale_start    = options.init == "random";
  for (auto const& constraints : constraints_of_modes(options.constraints, order))
    als.updates.push_back(constraints.is_unconstrained() ? ridge(constraints.ridge)
                                                         : constrained(constraints, options.inner_sweeps));
  return als;
}

/// The ridges of the modes, if no mode has anything else; empty if there are none.
inline std::vector<double> ridges_of(std::vector<Constraints> const& constraints) {
  std::vector<double> ridges;
  if (are_constrained(constraints)) return ridges;
  for (auto const& c : constraints) ridges.push_back(c.ridge);
  return ridges;
}

/// Whether rows that do not occur may be zero. Otherwise they need their bounds, and all rows are stored.
inline bool zeros_are_allowed(CpdOptions const& options, std::size_t order) {
  return std::ranges::all_of(constraints_of_modes(options.constraints, static_cast<int>(order)),
                             &Constraints::allows_zero);
}

/// Reports the end of a run; the restarts stay as they are.
template <class Scalar, class Space>
void set_result(CpdReport& report, CpAlsResult<Scalar, Space> const& result) {
  report.fit            = result.fit;
  report.fit_error      = result.fit_error;
  report.weights        = result.model.weights;
  report.converged      = result.reason == StopReason::converged;
  report.reason         = to_string(result.reason);
  report.gram_fallbacks = result.gram_fallbacks;
  report.defect         = to_string(result.defect);
  report.objective      = result.objective;
  if (result.zeros.empty()) return;
  report.kkt_violation   = result.kkt_violation;
  report.zero_components = result.zero_components;
  for (int n = 0; n < result.model.factors.order(); ++n) {  // rows that are not stored are zero
    auto const& factor  = result.model.factors[n];
    auto const& rows    = result.model.rows;
    double const rank   = static_cast<double>(factor.extent(1));
    double const stored = static_cast<double>(factor.extent(0));
    double const all    = rows.empty() ? stored : static_cast<double>(of_mode(rows, n).extent());
    double const zeros  = static_cast<double>(of_mode(result.zeros, n)) + (all - stored) * rank;
    report.zeros.push_back(zeros / (all * rank));
  }
}

inline CpAlsState state_of(io::Checkpoint const& checkpoint) {
  return {static_cast<int>(checkpoint.iteration),
          checkpoint.fit,
          checkpoint.gram_fallbacks,
          checkpoint.factors,
          checkpoint.grams,
          checkpoint.weights,
          checkpoint.scales};
}

// F is an AnyFormat (formats/any_format.hpp).

/// I_n of the tensor, of which X may have only the rows that occur.
template <class F>
std::uint64_t extent_of(F const& X, std::vector<StoredRows> const& rows, int n) {
  return rows.empty() ? X.extents()[n] : of_mode(rows, n).extent();
}

/// What a checkpoint is, if it is of another tensor or of options that give other iterates; otherwise empty.
/// \param rows  the rows that X has; empty: all
template <class F>
std::string difference_of_runs(CpdOptions const& options, io::Checkpoint const& checkpoint, F const& X,
                               std::uint64_t nnz, std::vector<StoredRows> const& rows = {}) {
  auto const is_of = [&](std::string const& what, std::string const& there, std::string const& here) {
    return there == here ? std::string() : "is a checkpoint of " + what + " " + there + ", not " + here;
  };
  for (auto const& difference : {is_of("rank", std::to_string(checkpoint.rank), std::to_string(options.rank)),
                                 is_of("precision", checkpoint.precision, options.precision),
                                 is_of("the format", checkpoint.format, X.chosen())})
    if (!difference.empty()) return difference;
  int const order = X.extents().order();
  if (checkpoint.extents.size() == static_cast<std::size_t>(order)) {
    auto const constraints = constraints_of_modes(options.constraints, order);
    auto const ridges      = ridges_of(constraints);
    if (checkpoint.constraints != numbers_of(constraints, options.inner_sweeps))
      return "is a checkpoint of other constraints than " + constraints_text(constraints) + " with " +
             std::to_string(options.inner_sweeps) + " inner sweeps";
    if (checkpoint.penalties != ridges)
      return is_of("the ridge", penalties_text(checkpoint.penalties), penalties_text(ridges));
  }
  bool same =
      checkpoint.extents.size() == static_cast<std::size_t>(X.extents().order()) && checkpoint.nnz == nnz;
  for (int n = 0; same && n < X.extents().order(); ++n)
    same = of_mode(checkpoint.extents, n) == extent_of(X, rows, n);
  // The norm of a tensor depends on how threads split its sum.
  double const norm_squared = X.norm_squared();
  same = same && (checkpoint.norm_squared == norm_squared ||
                  std::abs(checkpoint.norm_squared - norm_squared) <= 1e-6 * norm_squared);
  // Earlier versions store all rows.
  if (!rows.empty())
    same = same && (checkpoint.rows.empty() || checkpoint.rows == rows);
  else
    same = same && checkpoint.rows.empty();
  return same ? std::string() : "is a checkpoint of another tensor";
}

/// The factors of a checkpoint that has all rows, of the rows that the run stores.
/// All updates of an iteration make the rows that do not occur zero, so the Gram matrices stay the same.
inline void keep_stored_rows(io::Checkpoint const& checkpoint, std::vector<StoredRows> const& rows,
                             CpAlsState& state) {
  if (rows.empty() || !checkpoint.rows.empty()) return;
  io::HostKtensor all{
      std::vector<double>(checkpoint.rank, 1.0), checkpoint.extents, std::move(state.factors), {}};
  state.factors = io::with_rows(std::move(all), rows).factors;
}

/// \throws InputError for a checkpoint of another run
template <class F>
void expect_same_run(CpdOptions const& options, io::Checkpoint const& checkpoint, F const& X,
                     std::uint64_t nnz, std::vector<StoredRows> const& rows = {}) {
  auto const difference = difference_of_runs(options, checkpoint, X, nnz, rows);
  if (!difference.empty()) throw InputError(options.resume.string(), 0, 0, difference);
}

template <class F>
io::Checkpoint to_checkpoint(CpdOptions const& options, F const& X, std::uint64_t nnz, CpAlsState&& state,
                             std::vector<StoredRows> const& rows = {}) {
  io::Checkpoint checkpoint;
  checkpoint.precision = options.precision;
  checkpoint.format    = X.chosen();
  checkpoint.seed      = options.seed;
  checkpoint.rank      = options.rank;
  for (int n = 0; n < X.extents().order(); ++n) checkpoint.extents.push_back(extent_of(X, rows, n));
  checkpoint.rows           = rows;
  checkpoint.nnz            = nnz;
  checkpoint.norm_squared   = X.norm_squared();
  checkpoint.iteration      = static_cast<std::uint64_t>(state.iteration);
  checkpoint.fit            = state.fit;
  checkpoint.gram_fallbacks = state.gram_fallbacks;
  checkpoint.factors        = std::move(state.factors);
  checkpoint.grams          = std::move(state.grams);
  checkpoint.weights        = std::move(state.weights);
  auto const constraints    = constraints_of_modes(options.constraints, X.extents().order());
  checkpoint.penalties      = ridges_of(constraints);
  checkpoint.constraints    = numbers_of(constraints, options.inner_sweeps);
  checkpoint.scales         = std::move(state.scales);
  return checkpoint;
}

/// cp_als, from `start`, which is overwritten, or the checkpoint to resume. \param nnz  of the tensor, its
/// duplicates summed
/// \throws InputError when the checkpoint is of another run
template <class F, class Callback>
CpAlsResult<typename F::scalar_type, typename F::space_type> resumable_als(
    typename F::space_type const& space, F const& X, CpAlsOptions const& als,
    FactorMatrices<typename F::scalar_type, typename F::space_type>&& start, CpdOptions const& options,
    std::uint64_t nnz, Checkpoints const& checkpoints, Callback const& callback) {
  CpAlsRun<typename F::scalar_type, typename F::space_type> run(space, X, als, std::move(start));
  if (checkpoints.resume) {
    expect_same_run(options, *checkpoints.resume, X, nnz, als.rows);
    auto state = state_of(*checkpoints.resume);
    keep_stored_rows(*checkpoints.resume, als.rows, state);
    run.restore(state);
  }
  while (run.is_running()) {
    run.launch();
    int done = 0;
    run.finish([&](CpAlsIteration const& iteration) {
      done = iteration.iteration;
      return callback(iteration);
    });
    if (!checkpoints.file.empty() && (!run.is_running() || done % checkpoints.every == 0))
      save_checkpoint(space, to_checkpoint(options, X, nnz, run.state_without_factors(), als.rows),
                      run.factors(), checkpoints.file);
  }
  return run.take_result();
}

}  // namespace polyad::cli
