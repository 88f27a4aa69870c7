// SPDX-License-Identifier: BSD-3-Clause
// factor(), over both scalars, both coordinate types and all formats.
#include "factor.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include "device_tensor.hpp"
#include "empty_slices.hpp"
#include "interrupt.hpp"
#include "polyad/cp/cp_als.hpp"
#include "polyad/cp/nvecs.hpp"
#include "polyad/cp/restarts.hpp"
#include "polyad/formats/registry.hpp"
#include "resumable_als.hpp"

namespace polyad::cli {
namespace {

/// Refuses a rank whose model alone exceeds the free memory: factors, the output of the longest mode, one
/// copy of it at the end, and the Gram matrices with their scratch.
template <class Scalar>
void expect_model_fits(Space const& space, Extents const& extents, count_t rank) {
  std::string const what = "a model of rank " + std::to_string(rank);
  auto const order       = static_cast<count_t>(extents.order());
  count_t rows           = 0;
  count_t longest        = 0;
  auto const add         = [&](count_t a, count_t b) {
    count_t sum = 0;
    if (__builtin_add_overflow(a, b, &sum)) checked_product(what, ~count_t(0), 2);
    return sum;
  };
  for (int n = 0; n < extents.order(); ++n) {
    rows    = add(rows, extents[n]);
    longest = std::max(longest, extents[n]);
  }
  rows                = add(rows, checked_product(what, longest, 2));
  count_t const dense = checked_product(what, checked_product(what, rows, rank), sizeof(Scalar));
  count_t const grams =
      checked_product(what, checked_product(what, rank, rank), (order + 2) * sizeof(double));
  expect_fits(space, what, add(dense, grams), 1);
}

template <class Scalar>
FactorMatrices<Scalar, Space> start_from(Space const& space, Extents const& extents,
                                         io::HostKtensor const& model) {
  FactorMatrices<Scalar, Space> const factors(space, extents, model.rank());
  for (int n = 0; n < extents.order(); ++n)
    from_host<Scalar>(space, model.factors[static_cast<std::size_t>(n)], factors[n]);
  return factors;
}

template <class Scalar>
io::HostKtensor to_host_model(Space const& space, Ktensor<Scalar, Space> const& model) {
  io::HostKtensor host;
  host.weights = model.weights;
  for (int n = 0; n < model.factors.order(); ++n) {
    host.extents.push_back(model.factors[n].extent(0));
    host.factors.push_back(to_host<Scalar>(space, model.factors[n]));
  }
  return host;
}

IterationReport to_report(CpAlsIteration const& it) {
  return {it.iteration, it.fit, it.delta, it.seconds, it.phases};
}

template <class F>
typename F::options_type format_options(CpdOptions const& options) {
  typename F::options_type result;
  if constexpr (requires { result.deterministic; })
    result.deterministic = options.deterministic;
  else if (options.deterministic)
    throw UsageError(std::string("the format ") + F::name + " has no deterministic order of summation");
  return result;
}

/// The best of several random starts. Progress shows the first one; the report gets the best one's
/// iterations.
template <class F>
CpAlsResult<typename F::scalar_type, Space> best_of_restarts(Space const& space, F const& X,
                                                             CpAlsOptions const& als, int count,
                                                             Report& report, CpdReport& summary,
                                                             OnIteration const& on_iteration) {
  auto const show = [&](int run, CpAlsIteration const& it) {
    if (run == 0) return on_iteration(to_report(it));
    return interrupt_signal() == 0;
  };
  auto result = cp_als_restarts(restart_instances(space, count), X, als, count, show);
  for (auto const& run : result.runs)
    summary.restarts.push_back({run.seed, run.fit, run.iterations, to_string(run.reason)});
  summary.best_restart = result.best_run;
  report.iterations.clear();
  for (auto const& it : result.best.iterations) report.iterations.push_back(to_report(it));
  return std::move(result.best);
}

template <class Scalar, class Index>
io::HostKtensor factor_as(CpdOptions const& options, io::CoordinateList&& list,
                          std::optional<io::HostKtensor> start, Report& report,
                          OnIteration const& on_iteration, Checkpoints const& checkpoints) {
  Space const space;
  Extents const extents{std::span<count_t const>(list.extents)};
  expect_model_fits<Scalar>(space, extents, options.rank);
  checked_rank(options.rank);

  auto const coo             = to_device<Scalar, Index>(space, std::move(list), *report.input);
  report.input->empty_slices = count_empty_slices(space, coo);
  stop_if_interrupted("reading the tensor");

  CpAlsOptions als;
  als.rank           = options.rank;
  als.max_iterations = options.max_iterations;
  als.tolerance      = options.tolerance;
  als.time_limit_s   = options.time_limit_s;
  als.seed           = options.seed;
  als.time_phases    = options.time_phases;

  io::HostKtensor model;
  with_format<Scalar, Index, Space>(resolve_format(options.format), [&](auto identity) {
    using F = typename decltype(identity)::type;
    Kokkos::Timer const clock;
    F const X = F::build(space, coo, format_options<F>(options));
    space.fence("polyad::build");
    report.format = FormatReport{F::name, X.storage_bytes(), clock.seconds()};
    stop_if_interrupted("building the format");

    auto const callback = [&](CpAlsIteration const& it) { return on_iteration(to_report(it)); };
    CpdReport summary;
    auto const result = [&] {
      if (options.restarts > 1)
        return best_of_restarts(space, X, als, options.restarts, report, summary, on_iteration);
      auto const factors = [&] {
        if (start) return start_from<Scalar>(space, extents, *std::exchange(start, std::nullopt));
        if (options.init == "nvecs") return nvecs(space, coo, options.rank, {.seed = options.seed});
        FactorMatrices<Scalar, Space> const random(space, extents, options.rank);
        fill_random(space, random, options.seed);
        return random;
      }();
      stop_if_interrupted("making the start");
      return resumable_als(space, X, als, factors, options, report.input->nnz, checkpoints, callback);
    }();
    summary.fit            = result.fit;
    summary.weights        = result.model.weights;
    summary.converged      = result.converged;
    summary.reason         = to_string(result.reason);
    summary.gram_fallbacks = result.gram_fallbacks;
    report.result          = std::move(summary);
    model                  = to_host_model(space, result.model);
  });
  return model;
}

}  // namespace

std::string resolve_format(std::string const& name) {
  std::string const resolved = name == "auto" ? "sorted" : name;
  with_format<double, std::uint32_t, Space>(resolved, [](auto) {});
  return resolved;
}

std::string known_formats() {
  return format_names();
}

io::HostKtensor factor(CpdOptions const& options, io::CoordinateList&& tensor,
                       std::optional<io::HostKtensor> start, Report& report, OnIteration const& on_iteration,
                       Checkpoints const& checkpoints) {
  return with_index_type(tensor, [&](auto index) {
    using Index = typename decltype(index)::type;
    if (options.precision == "f32")
      return factor_as<float, Index>(options, std::move(tensor), std::move(start), report, on_iteration,
                                     checkpoints);
    return factor_as<double, Index>(options, std::move(tensor), std::move(start), report, on_iteration,
                                    checkpoints);
  });
}

}  // namespace polyad::cli
