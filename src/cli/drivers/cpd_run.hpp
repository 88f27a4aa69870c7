// SPDX-License-Identifier: BSD-3-Clause
// The library's options for cpd, and what a run reports.
#pragma once

#include <algorithm>
#include <utility>
#include <vector>

#include "cli/drivers/factor.hpp"
#include "cli/typed_text/mode_constraints.hpp"
#include "polyad/cp/cp_als.hpp"
#include "polyad/cp/factor_update.hpp"
#include "polyad/formats/any_format.hpp"

namespace polyad::cli {

/// A^(n) of each mode, row-major.
using HostFactors = std::vector<std::vector<double>>;

/// \param order  that of the tensor; \param rows  those that it stores
inline CpAlsOptions library_options(CpdOptions const& options, int order,
                                    std::vector<StoredRows> const& rows) {
  CpAlsOptions als = options;
  als.rows         = rows;
  als.scale_start  = options.init == "random";
  als.fixed_modes  = options.constraints.fixed;
  for (auto const& constraints : constraints_of_modes(options.constraints, order))
    als.updates.push_back(constraints.is_unconstrained() ? ridge(constraints.ridge)
                                                         : constrained(constraints, options.inner_sweeps));
  return als;
}

/// What the choice of a format needs to know of a run. The sources of the tensor sum duplicates.
inline AnyFormatOptions format_options_of(CpdOptions const& options) {
  AnyFormatOptions format;
  format.rank          = options.rank;
  format.iterations    = options.restarts * expected_iterations(options.max_iterations, options.tolerance);
  format.time_limit_s  = options.restarts * options.time_limit_s;
  format.deterministic = options.deterministic;
  format.duplicates    = Duplicates::keep;
  format.no_fallback   = options.format == "auto";  // auto says itself what takes its place
  return format;
}

/// Whether rows that do not occur may be zero. Otherwise they need their bounds or stay as they are, and all
/// rows are stored.
inline bool zeros_are_allowed(CpdOptions const& options, int order) {
  if (!options.constraints.fixed.empty()) return false;
  return std::ranges::all_of(constraints_of_modes(options.constraints, order), &Constraints::allows_zero);
}

inline IterationReport to_report(CpAlsIteration const& it) {
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

}  // namespace polyad::cli
