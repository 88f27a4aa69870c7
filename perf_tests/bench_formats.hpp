// SPDX-License-Identifier: BSD-3-Clause
// The groups that walk the registry of formats: build, mttkrp, cp_als; and fit and update, which need none.
#pragma once

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "alto_reference.hpp"
#include "cp/run/iteration_numbers.hpp"
#include "dense/gram.hpp"
#include "dense/update/normal_equations.hpp"
#include "dense/update/update_factor.hpp"
#include "formats/registry.hpp"
#include "models.hpp"
#include "polyad/cp/cp_als.hpp"
#include "registration.hpp"

namespace polyad::perf {

inline constexpr std::uint64_t factor_seed = 0;

template <class F>
std::string name_of(std::string const& group, TensorChoice const& choice) {
  return group + "<" + F::name + "," + Space::name() + "," + scalar_name<typename F::scalar_type> + ">/" +
         choice.label();
}

/// The format of a tensor. The session keeps it until another one is built.
template <class F>
std::shared_ptr<F const> built(Session& session, TensorChoice const& choice) {
  return session.format.get<F>(name_of<F>("built", choice), [&] {
    auto const coo = tensor_of<typename F::scalar_type>(session.space, choice.name, choice.scale);
    return F::build(session.space, coo, {});
  });
}

/// The factors of an MTTKRP, filled at random, and room for its output in the longest mode.
template <class Scalar>
struct Operands {
  FactorMatrices<Scalar, Space> factors;
  FactorMatrix<Scalar, Space> V;

  static Operands random(Space const& space, Extents const& extents, count_t rank) {
    count_t longest = 0;
    for (int n = 0; n < extents.order(); ++n) longest = std::max(longest, extents[n]);
    Operands operands{FactorMatrices<Scalar, Space>(space, extents, rank),
                      make_output_matrix<Scalar>(space, "polyad::perf_output", longest, rank)};
    fill_random(space, operands.factors, factor_seed);
    return operands;
  }
};

/// Everything that an MTTKRP of format F needs.
template <class F>
struct Problem {
  using Scalar = typename F::scalar_type;

  Problem(Session& session, TensorChoice const& choice, int rank)
      : Problem(session, choice, rank, built<F>(session, choice)) {}
  Problem(Session& session, TensorChoice const& choice, int rank, std::shared_ptr<F const> given)
      : format(std::move(given)),
        operands(session.operands.get<Operands<Scalar>>(
            choice.label() + scalar_name<Scalar> + std::to_string(rank),
            [&] {
              return Operands<Scalar>::random(session.space, format->extents(), static_cast<count_t>(rank));
            })),
        workspace(format->make_workspace(session.space, static_cast<count_t>(rank))) {}

  [[nodiscard]] FactorMatrix<Scalar, Space> output(int mode) const {
    return Kokkos::subview(operands->V, Kokkos::make_pair(count_t(0), format->extents()[mode]), Kokkos::ALL);
  }

  std::shared_ptr<F const> format;
  std::shared_ptr<Operands<Scalar> const> operands;
  typename F::workspace_type workspace;
};

/// Modes that one benchmark runs: all of them or one.
template <class F>
Samples time_modes(Session& session, Problem<F>& problem, std::vector<int> const& modes) {
  return measure(session.space, session.options.samples, [&] {
    for (int const mode : modes)
      mttkrp(session.space, *problem.format, problem.operands->factors, mode, problem.workspace,
             problem.output(mode));
  });
}

template <class F>
void check_modes(Session& session, TensorChoice const& choice, Problem<F>& problem,
                 std::vector<int> const& modes) {
  for (int const mode : modes) {
    auto const V = problem.output(mode);
    mttkrp(session.space, *problem.format, problem.operands->factors, mode, problem.workspace, V);
    auto const text = session.sampled(choice.name, choice.scale, mode)
                          .template violation<typename F::scalar_type>(session.space, V, factor_seed);
    if (!text.empty()) throw NumericalError("mode " + std::to_string(mode) + " is wrong: " + text);
  }
}

template <class F>
void add_build(Session& session, TensorChoice const& choice) {
  add(session, name_of<F>("build", choice), [&session, choice](benchmark::State& state) {
    auto const coo        = tensor_of<typename F::scalar_type>(session.space, choice.name, choice.scale);
    Samples const samples = measure(session.space, std::min(session.options.samples, 5),
                                    [&] { static_cast<void>(F::build(session.space, coo, {})); });
    report(state, samples);
    state.counters["first_ms"] = samples.first * 1e3;
    constexpr int rank         = 32;
    Problem<F> problem(session, choice, rank);
    std::vector<int> all;
    for (int n = 0; n < coo.order(); ++n) all.push_back(n);
    state.counters["bytes"] = static_cast<double>(problem.format->storage_bytes());
    state.counters["bytes_per_nonzero"] =
        static_cast<double>(problem.format->storage_bytes()) / static_cast<double>(coo.nnz());
    state.counters["in_mttkrps"] = samples.median() / time_modes(session, problem, all).median();
  });
}

template <class F>
void add_mttkrp(Session& session, TensorChoice const& choice, int rank, std::string const& mode, int order) {
  add(session, name_of<F>("mttkrp", choice) + "/mode:" + mode + "/R:" + std::to_string(rank),
      [&session, choice, rank, mode, order](benchmark::State& state) {
        using Scalar = typename F::scalar_type;
        Problem<F> problem(session, choice, rank);
        std::vector<int> modes;
        for (int n = 0; n < order; ++n)
          if (mode == "all" || mode == std::to_string(n)) modes.push_back(n);
        check_modes(session, choice, problem, modes);
        Samples const samples = time_modes(session, problem, modes);
        report(state, samples);
        double model = 0;
        for (int const n : modes)
          model += gather_model<Scalar>(session.ceilings, problem.format->extents(), problem.format->nnz(), n,
                                        rank);
        double const genten   = static_cast<double>(modes.size()) *
                                genten_bytes<Scalar>(order, problem.format->nnz(), rank) / samples.median();
        state.counters["nnz"] = static_cast<double>(problem.format->nnz());
        state.counters["model_ms"]        = model * 1e3;
        state.counters["model_share"]     = model / samples.median();
        state.counters["genten_GB_per_s"] = genten * 1e-9;
        state.counters["genten_of_triad"] = genten / session.ceilings.triad_rate();
      });
}

template <class F>
void add_cp_als(Session& session, TensorChoice const& choice, int rank) {
  add(session, name_of<F>("cp_als", choice) + "/R:" + std::to_string(rank),
      [&session, choice, rank](benchmark::State& state) {
        auto const format = built<F>(session, choice);
        CpAlsOptions options;
        options.rank           = static_cast<count_t>(rank);
        options.max_iterations = std::max(2, session.options.samples);
        options.tolerance      = 0;
        double fit             = 0;
        auto const sampled     = [&] {
          Samples samples;
          fit = cp_als(session.space, *format, options, [&](CpAlsIteration const& iteration) {
                  if (iteration.iteration > 1)
                    samples.seconds.push_back(iteration.seconds);
                  else
                    samples.first = iteration.seconds;
                  return true;
                }).fit;
          std::sort(samples.seconds.begin(), samples.seconds.end());
          return samples;
        };
        Samples const samples = sampled();
        report(state, samples);
        state.counters["first_ms"] = samples.first * 1e3;
        state.counters["fit"]      = fit;
        if constexpr (is_device_space<Space>) {  // the gain of the algebra's own instance
          options.one_instance              = true;
          state.counters["one_instance_ms"] = sampled().median() * 1e3;
          options.one_instance              = false;
        }
        options.updates                  = {nonnegative()};  // the cost of nonnegative factors
        state.counters["nonnegative_ms"] = sampled().median() * 1e3;
        options.updates                  = {};
        options.time_phases              = true;  // in a separate run, since its fences cost time
        auto const phased =
            cp_als(session.space, *format, options, [](CpAlsIteration const&) { return true; });
        for (auto const& [phase, seconds] : phased.history.back().phases)
          state.counters["phase_" + phase + "_ms"] = seconds * 1e3;
      });
}

/// The format that auto picks for a number of iterations. The label names it with its options; the time is
/// that of the whole choice, with the build.
template <class Scalar>
void add_choice(Session& session, TensorChoice const& choice, int rank, int iterations) {
  add(session,
      std::string("choice<") + Space::name() + "," + scalar_name<Scalar> + ">/" + choice.label() +
          "/run_of:" + std::to_string(iterations) + "/R:" + std::to_string(rank),
      [&session, choice, rank, iterations](benchmark::State& state) {
        AnyFormatOptions options;
        options.rank       = static_cast<count_t>(rank);
        options.iterations = iterations;
        options.duplicates = Duplicates::keep;
        options.needs      = format_options(CpAlsOptions{}).needs;
        auto const coo     = tensor_of<Scalar>(session.space, choice.name, choice.scale);
        Kokkos::Timer const clock;
        auto const format    = any_format(session.space, coo, options);
        double const seconds = clock.seconds();
        state.SetLabel(format.chosen());
        for (auto const& candidate : format.candidates())  // auto prefers any other format to these
          if (candidate.loses_digits) state.counters["loses_digits:" + candidate.name] = 1;
        report(state, {{seconds}});
      });
}

/// The sums for the fit: one pass over the last factor and its MTTKRP. No format is involved.
template <class Scalar>
void add_fit(Session& session, TensorChoice const& choice, int rank) {
  add(session,
      std::string("fit<") + Space::name() + "," + scalar_name<Scalar> + ">/" + choice.label() +
          "/R:" + std::to_string(rank),
      [&session, choice, rank](benchmark::State& state) {
        Extents const extents = tensor(session.space, choice.name, choice.scale).extents();
        auto const R          = static_cast<count_t>(rank);
        GramMatrices<Space> const grams("polyad::perf_grams", static_cast<count_t>(extents.order()), R, R);
        DeviceNumbers<Space> const weights("polyad::perf_weights", R);
        DeviceNumbers<Space> const numbers("polyad::perf_numbers", static_cast<count_t>(fit_numbers));
        report(state, measure(session.space, session.options.samples,
                              [&] { model_norm(session.space, grams, weights, numbers); }));
      });
}

/// The dense part of an update of the longest mode: A = V W and A' A. Its rate counts three passes over a
/// factor, each with one read and one write; `copy_share` compares it with the copy of this run.
template <class Scalar>
void add_update(Session& session, TensorChoice const& choice, int rank) {
  add(session,
      std::string("update<") + Space::name() + "," + scalar_name<Scalar> + ">/" + choice.label() +
          "/R:" + std::to_string(rank),
      [&session, choice, rank](benchmark::State& state) {
        Extents const extents = tensor(session.space, choice.name, choice.scale).extents();
        auto const R          = static_cast<count_t>(rank);
        count_t rows          = 0;
        for (int n = 0; n < extents.order(); ++n) rows = std::max(rows, extents[n]);
        FactorMatrices<Scalar, Space> const factors(session.space, Extents{rows, rows, R}, R);
        fill_random(session.space, factors, factor_seed);
        GramWorkspace<Space> const workspace(session.space, R);
        GramMatrix<Space> const G("polyad::perf_gram", R, R);
        Samples const samples = measure(session.space, session.options.samples, [&] {
          update_factor(session.space, factors[0], factors[2], factors[1], workspace, G);
        });
        report(state, samples);
        double const bytes           = 6.0 * static_cast<double>(rows * R * sizeof(Scalar));
        state.counters["GB_per_s"]   = bytes / samples.median() * 1e-9;
        state.counters["copy_share"] = bytes / samples.median() / session.ceilings.copy_rate();
      });
}

/// All groups of one scalar; each scalar has a source of its own, so that they compile in parallel.
template <class Scalar>
void register_formats_of(Session& session, TensorChoice const& choice, int order) {
  auto const wanted = [&](std::string const& name) {
    auto const& formats = session.options.formats;
    return formats.empty() || std::find(formats.begin(), formats.end(), name) != formats.end();
  };
  std::vector<std::string> modes = session.options.modes;
  if (modes.empty()) {
    modes.push_back("all");
    for (int n = 0; n < order; ++n) modes.push_back(std::to_string(n));
  }
  for (int const rank : session.options.ranks) {
    add_fit<Scalar>(session, choice, rank);
    add_update<Scalar>(session, choice, rank);
    for (int const iterations : {10, 50}) add_choice<Scalar>(session, choice, rank, iterations);
  }
  auto const add_mttkrps = [&](auto format, int rank) {
    for (auto const& mode : modes)
      if (mode == "all" || std::stoi(mode) < order)
        add_mttkrp<typename decltype(format)::type>(session, choice, rank, mode, order);
  };
  for_each_format<Scalar, std::uint32_t, Space>([&](auto format) {
    using F = typename decltype(format)::type;
    if (!wanted(F::name)) return;
    add_build<F>(session, choice);
    for (int const rank : session.options.ranks) {
      add_mttkrps(format, rank);
      add_cp_als<F>(session, choice, rank);
    }
  });
  if constexpr (!is_device_space<Space>) {
    using F = AltoReference<Scalar, std::uint32_t, Space>;
    if (wanted(F::name))
      for (int const rank : session.options.ranks) add_mttkrps(std::type_identity<F>{}, rank);
  }
}

}  // namespace polyad::perf
