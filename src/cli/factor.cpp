// SPDX-License-Identifier: BSD-3-Clause
// factor(), over both scalars and both coordinate types.
#include "factor.hpp"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "device_tensor.hpp"
#include "empty_slices.hpp"
#include "format_trial.hpp"
#include "formats/choose_format.hpp"
#include "interrupt.hpp"
#include "machine.hpp"
#include "polyad/core/device_memory.hpp"
#include "polyad/cp/cp_als.hpp"
#include "polyad/cp/restarts.hpp"
#include "polyad/dense/nvecs.hpp"
#include "polyad/formats/any_format.hpp"
#include "polyad/tensor/download.hpp"
#include "resumable_als.hpp"
#include "stored_choice.hpp"
#include "survey_list.hpp"

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
  // A streamed tensor takes all memory that is left.
  auto const instances =
      X.can(Capability::streaming) ? std::vector<Space>{space} : restart_instances(space, count);
  auto result = cp_als_restarts(instances, X, als, count, show);
  for (auto const& run : result.runs)
    summary.restarts.push_back({run.seed, run.fit, run.iterations, to_string(run.reason)});
  summary.best_restart = result.best_run;
  report.iterations.clear();
  for (auto const& it : result.best.iterations) report.iterations.push_back(to_report(it));
  return std::move(result.best);
}

/// The tensor of one command, and its factoring. A tensor is on the device, or in host memory to be streamed.
template <class Scalar, class Index>
class Factoring {
public:
  using Tensor    = AnyFormat<Scalar, Index, Space>;
  using HostSpace = typename Tensor::host_space;

  Factoring(CpdOptions const& options, io::CoordinateList&& list, std::optional<io::HostKtensor> start,
            Report& report, OnIteration const& on_iteration, Checkpoints const& checkpoints)
      : m_options(options),
        m_list(std::move(list)),
        m_start(std::move(start)),
        m_report(report),
        m_on_iteration(on_iteration),
        m_checkpoints(checkpoints),
        m_extents(std::span<count_t const>(m_list.extents)) {
    expect_model_fits<Scalar>(m_space, m_extents, options.rank);
    checked_rank(options.rank);
  }

  io::HostKtensor run() {
    if (m_options.format != "auto") return run_as(named_format(), "");
    if (m_checkpoints.resume) return run_as(m_checkpoints.resume->format, "the checkpoint is of it");
    make_candidates();
    if (auto const stored = stored_choice())
      return run_as(stored->format, "polyad tune stored it beside the tensor");
    try_candidates();
    return with_best_candidate(
        m_candidates, m_wish,
        [&](FormatCandidate const& best, std::string const& because) { return run_as(best.name, because); },
        [&] { return m_device || m_list.nnz() > 0; });
  }

private:
  io::HostKtensor run_as(std::string const& name, std::string const& because) {
    return format_offers(name, Capability::streaming) ? run_streamed(name, because)
                                                      : run_in_memory(name, because);
  }

  // --- auto

  /// What the model expects of every format, the fastest first.
  void make_candidates() {
    auto const survey = survey_list(m_list, m_options.common.threads);
    m_wish            = {
        .iterations = m_options.restarts * expected_iterations(m_options.max_iterations, m_options.tolerance),
        .deterministic = m_options.deterministic,
        .bytes         = available_memory(m_space)};
    m_candidates = candidates(
        survey, m_options.rank, sizeof(Scalar), sizeof(Index), m_wish,
        [&](double seconds) { return machine_ceilings(*m_report.backend, sizeof(Scalar), seconds); });
    stop_if_interrupted("looking at the tensor");
  }

  [[nodiscard]] std::optional<StoredChoice> read_stored() const {
    auto const key =
        choice_key(m_options.tensor, m_list, *m_report.backend, m_options.rank, m_options.precision);
    return key ? read_choice(*key) : std::nullopt;
  }

  /// What tune stored, where it is a candidate that fits.
  [[nodiscard]] std::optional<StoredChoice> stored_choice() const {
    auto const stored = m_options.tune ? std::nullopt : read_stored();
    if (!stored) return std::nullopt;
    for (auto const& candidate : m_candidates)
      if (candidate.name == split_format_text(stored->format).name && candidate.fits) return stored;
    return std::nullopt;
  }

  /// The format that was named, in the shape that `tune --format NAME --store` left, where it did.
  [[nodiscard]] std::string named_format() const {
    auto const stored = read_stored();
    bool const same   = stored && split_format_text(stored->format).name == m_options.format;
    return same ? stored->format : m_options.format;
  }

  /// With --tune all that fit; otherwise the best two in the mode that takes the longest, where they are
  /// close and the trial takes a twentieth of the run at most.
  void try_candidates() {
    std::vector<FormatCandidate*> open;
    for (auto& candidate : m_candidates)
      if (candidate.fits && !candidate.streams && (m_options.tune || candidate.predicted))
        open.push_back(&candidate);
    std::vector<int> modes;
    if (!m_options.tune) {
      if (open.size() < 2) return;
      open.resize(2);
      auto const &a = *open[0], &b = *open[1];
      auto const& mode_s = a.predicted->mode_s;
      modes           = {static_cast<int>(std::max_element(mode_s.begin(), mode_s.end()) - mode_s.begin())};
      auto const mode = static_cast<std::size_t>(modes[0]);
      double const trial     = a.predicted->load_s + b.predicted->load_s +
                               2 * (a.predicted->build_s + b.predicted->build_s) +
                               3 * (a.predicted->mode_s[mode] + b.predicted->mode_s[mode]);
      constexpr double close = 1.5, most_of_run = 0.05;
      if (b.total_s > close * a.total_s || trial > most_of_run * a.total_s) return;
    }
    load_on_device();
    for (auto* const candidate : open) try_candidate(m_space, *m_device, m_options.rank, modes, *candidate);
  }

  // --- the run

  void load_on_device() {
    if (m_device) return;
    m_device                     = io::to_coo_tensor<Scalar, Index>(m_space, m_list);
    m_list                       = {};
    m_device                     = without_duplicates(m_space, *m_device, *m_report.input);
    m_report.input->empty_slices = count_empty_slices(m_space, *m_device);
    stop_if_interrupted("reading the tensor");
  }

  io::HostKtensor run_in_memory(std::string const& name, std::string const& because) {
    load_on_device();
    auto const X = build(name, because, [&](AnyFormatOptions const& options) {
      return Tensor::build(m_space, *m_device, options);
    });
    expect_model_fits<Scalar>(m_space, m_extents, m_options.rank);  // beside the format
    auto const factors = start_in_memory();
    m_device.reset();
    return factor(X, factors);
  }

  /// `because` is why the tensor is streamed; empty where the user asks for it.
  io::HostKtensor run_streamed(std::string const& name, std::string const& because) {
    if (m_options.init == "nvecs")
      throw UsageError("--init nvecs needs the tensor on the device, and this one is streamed" +
                       (because.empty() ? because : " because " + because));
    auto const X = [&] {
      DeviceMemoryAccount::HostArrays const on_host;
      HostSpace const host;
      auto tensor =
          m_device ? download<HostSpace>(m_space, *m_device) : io::to_coo_tensor<Scalar, Index>(host, m_list);
      m_list = {};
      m_device.reset();
      tensor                       = without_duplicates(host, tensor, *m_report.input);
      m_report.input->empty_slices = count_empty_slices(host, tensor);
      stop_if_interrupted("reading the tensor");
      return build(name, because,
                   [&](AnyFormatOptions const& options) { return Tensor::stream(m_space, tensor, options); });
    }();
    return factor(X, random_or_given_start());
  }

  /// make(options) with what the command asks of its format.
  template <class Make>
  Tensor build(std::string const& name, std::string const& because, Make const& make) {
    Kokkos::Timer const clock;
    AnyFormatOptions options;
    options.rank          = m_options.rank;
    options.format        = name;
    options.deterministic = m_options.deterministic;
    options.as_named      = m_options.format == "auto";  // auto says itself what takes its place
    Tensor X              = make(options);
    m_space.fence("polyad::build");
    m_report.format = FormatReport{X.chosen(), X.storage_bytes(), clock.seconds(),
                                   X.chosen_because().empty() ? because : X.chosen_because(), m_candidates};
    stop_if_interrupted("building the format");
    return X;
  }

  FactorMatrices<Scalar, Space> start_in_memory() {
    if (m_options.init == "nvecs") return nvecs(m_space, *m_device, m_options.rank, {.seed = m_options.seed});
    return random_or_given_start();
  }
  FactorMatrices<Scalar, Space> random_or_given_start() {
    if (m_start) return start_from<Scalar>(m_space, m_extents, *m_start);
    FactorMatrices<Scalar, Space> const random(m_space, m_extents, m_options.rank);
    fill_random(m_space, random, m_options.seed);
    return random;
  }

  io::HostKtensor factor(Tensor const& X, FactorMatrices<Scalar, Space> const& factors) {
    stop_if_interrupted("making the start");
    CpAlsOptions als;
    als.rank           = m_options.rank;
    als.max_iterations = m_options.max_iterations;
    als.tolerance      = m_options.tolerance;
    als.time_limit_s   = m_options.time_limit_s;
    als.seed           = m_options.seed;
    als.time_phases    = m_options.time_phases;
    CpdReport summary;
    auto const result =
        m_options.restarts > 1
            ? best_of_restarts(m_space, X, als, m_options.restarts, m_report, summary, m_on_iteration)
            : resumable_als(m_space, X, als, factors, m_options, m_report.input->nnz, m_checkpoints,
                            [&](CpAlsIteration const& it) { return m_on_iteration(to_report(it)); });
    summary.fit            = result.fit;
    summary.weights        = result.model.weights;
    summary.converged      = result.converged;
    summary.reason         = to_string(result.reason);
    summary.gram_fallbacks = result.gram_fallbacks;
    m_report.result        = std::move(summary);
    return to_host_model(m_space, result.model);
  }

  Space m_space;
  CpdOptions const& m_options;
  io::CoordinateList m_list;
  std::optional<io::HostKtensor> m_start;
  Report& m_report;
  OnIteration const& m_on_iteration;
  Checkpoints const& m_checkpoints;
  Extents m_extents;
  std::optional<CooTensor<Scalar, Index, Space>> m_device;
  FormatWish m_wish;
  std::vector<FormatCandidate> m_candidates;
};

}  // namespace

io::HostKtensor factor(CpdOptions const& options, io::CoordinateList&& tensor,
                       std::optional<io::HostKtensor> start, Report& report, OnIteration const& on_iteration,
                       Checkpoints const& checkpoints) {
  return with_index_type(tensor, [&](auto index) {
    using Index          = typename decltype(index)::type;
    auto const factor_as = [&](auto scalar) {
      using Scalar = typename decltype(scalar)::type;
      return Factoring<Scalar, Index>(options, std::move(tensor), std::move(start), report, on_iteration,
                                      checkpoints)
          .run();
    };
    if (options.precision == "f32") return factor_as(std::type_identity<float>{});
    return factor_as(std::type_identity<double>{});
  });
}

}  // namespace polyad::cli
