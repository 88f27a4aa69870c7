// SPDX-License-Identifier: BSD-3-Clause
// F-COO's other operations and its shapes: spttm and spttmc against the bytes model, and an MTTKRP of all
// modes for every threadlen and team of the paper's grid.
#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "bench_formats.hpp"
#include "formats/fcoo/storage/fcoo.hpp"
#include "registration.hpp"

namespace polyad::perf {
namespace {

template <class Scalar>
using F = FCoo<Scalar, std::uint32_t, Space>;

std::string mode_and_rank(int mode, int rank) {
  return "/mode:" + std::to_string(mode) + "/R:" + std::to_string(rank);
}

/// The time, and the time for moving the bytes: streams at copy speed, P rows of each table at its gather
/// rate.
template <class Scalar>
void report_model(Session& session, benchmark::State& state, Samples const& samples, double streamed,
                  std::vector<count_t> const& tables, count_t nnz, int rank) {
  double model = streamed / session.ceilings.copy_rate();
  for (count_t const rows : tables)
    model += static_cast<double>(nnz) * session.ceilings.template gather_seconds<Scalar>(rows, rank);
  report(state, samples);
  state.counters["nnz"]         = static_cast<double>(nnz);
  state.counters["model_ms"]    = model * 1e3;
  state.counters["model_share"] = model / samples.median();
}

template <class Scalar>
void add_spttm(Session& session, TensorChoice const& choice, int mode, int rank) {
  add(session, name_of<F<Scalar>>("spttm", choice) + mode_and_rank(mode, rank),
      [&session, choice, mode, rank](benchmark::State& state) {
        auto const coo = tensor_of<Scalar>(session.space, choice.name, choice.scale);
        auto const X   = build_spttm(session.space, coo, mode);
        auto const R   = static_cast<count_t>(rank);
        FactorMatrices<Scalar, Space> const factors(session.space, coo.extents(), R);
        fill_random(session.space, factors, factor_seed);
        auto const fibers = make_factor_matrix<Scalar>(session.space, "polyad::perf_output", X.segments, R);
        Samples const samples = measure(session.space, session.options.samples,
                                        [&] { spttm(session.space, X, factors[mode], fibers); });
        double const streamed = static_cast<double>(X.nonzero_bytes() + X.segments * R * sizeof(Scalar));
        report_model<Scalar>(session, state, samples, streamed, {coo.extents()[mode]}, coo.nnz(), rank);
        state.counters["fibers"] = static_cast<double>(X.segments);
      });
}

template <class Scalar>
void add_spttmc(Session& session, TensorChoice const& choice, int mode, int rank) {
  add(session, name_of<F<Scalar>>("spttmc", choice) + mode_and_rank(mode, rank),
      [&session, choice, mode, rank](benchmark::State& state) {
        auto const X = built<F<Scalar>>(session, choice);
        FactorMatrices<Scalar, Space> const factors(session.space, X->extents(), static_cast<count_t>(rank));
        fill_random(session.space, factors, factor_seed);
        std::vector<FactorMatrix<Scalar, Space>> U;
        std::vector<count_t> tables;
        for (int n = 0; n < X->extents().order(); ++n) {
          U.push_back(factors[n]);
          if (n != mode) tables.push_back(X->extents()[n]);
        }
        auto const Y = make_spttmc_output(session.space, X->extents(), U, mode);
        Samples const samples =
            measure(session.space, session.options.samples, [&] { spttmc(session.space, *X, U, mode, Y); });
        double const streamed = static_cast<double>(X->nonzeros(mode).nonzero_bytes() +
                                                    Y.extent(0) * Y.extent(1) * sizeof(Scalar));
        report_model<Scalar>(session, state, samples, streamed, tables, X->nnz(), rank);
        state.counters["GFLOP_per_s"] = 2e-9 * static_cast<double>(X->nnz() * Y.extent(1)) / samples.median();
      });
}

template <class Scalar>
void add_shape(Session& session, TensorChoice const& choice, FCooOptions const& options, int rank) {
  std::string const shape = "/threadlen:" + std::to_string(options.threadlen) +
                            "/team:" + std::to_string(options.shape.team_threads) +
                            "/R:" + std::to_string(rank);
  add(session, name_of<F<Scalar>>("fcoo_shape", choice) + shape,
      [&session, choice, options, rank](benchmark::State& state) {
        auto const X = std::make_shared<F<Scalar> const>(
            built<F<Scalar>>(session, choice)->reshaped(session.space, options));
        Problem<F<Scalar>> problem(session, choice, rank, X);
        std::vector<int> modes;
        for (int n = 0; n < X->extents().order(); ++n) modes.push_back(n);
        check_modes(session, choice, problem, modes);
        report(state, time_modes(session, problem, modes));
      });
}

/// SpTTMc's rows have R^(N-1) columns: only outputs of at most 8 GB are timed.
template <class Scalar>
bool output_is_small(Extents const& extents, int mode, int rank) {
  double bytes = static_cast<double>(extents[mode]) * sizeof(Scalar);
  double width = 1;
  for (int n = 1; n < extents.order(); ++n) width *= rank;
  return bytes * width <= 8e9 && width < (1 << 20);
}

template <class Scalar>
void register_fcoo_of(Session& session, TensorChoice const& choice, Extents const& extents) {
  for (int const rank : session.options.ranks) {
    for (int n = 0; n < extents.order(); ++n) {
      add_spttm<Scalar>(session, choice, n, rank);
      if (output_is_small<Scalar>(extents, n, rank)) add_spttmc<Scalar>(session, choice, n, rank);
    }
    for (auto const& options : fcoo_grid<Space>()) add_shape<Scalar>(session, choice, options, rank);
  }
}

}  // namespace

void register_fcoo(Session& session, TensorChoice const& choice, Extents const& extents,
                   std::string const& scalar) {
  auto const& formats = session.options.formats;
  if (!formats.empty() && std::find(formats.begin(), formats.end(), F<float>::name) == formats.end()) return;
  if (scalar == "f32")
    register_fcoo_of<float>(session, choice, extents);
  else
    register_fcoo_of<double>(session, choice, extents);
}

}  // namespace polyad::perf
