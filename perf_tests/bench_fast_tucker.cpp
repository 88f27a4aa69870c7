// SPDX-License-Identifier: BSD-3-Clause
// FastTucker, J = R: the residual sweep of all modes; whole epochs (errors not counted); and the steps of Li
// et al. ("cuFasterTucker", 2022, Table 5), all modes' factors or all modes' cores, FastTucker -> COO with
// the intermediates C -> B-CSF -> shared over fibers. They are compared with the gradients of all modes by
// residual sweeps, which serve both. Also how close als comes to ratings whose noise is known.
#include <algorithm>
#include <cmath>
#include <span>
#include <type_traits>
#include <vector>

#include "fast_tucker/optimizers/epochs.hpp"
#include "formats/blco/storage/alto.hpp"
#include "formats/blco/storage/blco.hpp"
#include "formats/coo/storage/coo_tiny_vec.hpp"
#include "formats/coo/storage/sorted.hpp"
#include "formats/csf/storage/b_csf.hpp"
#include "formats/csf/storage/hb_csf.hpp"
#include "polyad/fast_tucker/fast_tucker.hpp"
#include "ratings.hpp"
#include "registration.hpp"

namespace polyad::perf {
namespace {

template <class F>
std::string name_of(std::string const& group, TensorChoice const& choice, int rank) {
  return group + "<" + F::name + "," + Space::name() + "," + scalar_name<typename F::scalar_type> + ">/" +
         choice.label() + "/R:" + std::to_string(rank);
}

template <class F>
F build(Session& session, TensorChoice const& choice, FastTuckerOptimizer optimizer) {
  typename F::options_type options;
  FormatRequest const request{format_options(FastTuckerOptions{.optimizer = optimizer}).needs};
  if constexpr (requires { options.serve(request); }) options.serve(request);
  return F::build(session.space, tensor_of<typename F::scalar_type>(session.space, choice.name, choice.scale),
                  options);
}

template <class F>
FastTuckerModel<typename F::scalar_type, Space> start(Session& session, F const& X, int rank) {
  auto const R = static_cast<count_t>(rank);
  std::vector<count_t> const J(static_cast<std::size_t>(X.extents().order()), R);
  FastTuckerModel<typename F::scalar_type, Space> const model(session.space, X.extents(), J, R, false);
  fill_start(session.space, model, 1.0, 0);
  return model;
}

template <class F>
void add_residual(Session& session, TensorChoice const& choice, int rank) {
  add(session, name_of<F>("residual_mttkrp", choice, rank),
      [&session, choice, rank](benchmark::State& state) {
        F const X       = build<F>(session, choice, FastTuckerOptimizer::adam);
        auto const C    = make_intermediates(session.space, start(session, X, rank));
        auto workspace  = make_residual_workspace(session.space, X, C.rank());
        int const order = X.extents().order();
        count_t longest = 0;
        for (int n = 0; n < order; ++n) longest = std::max(longest, X.extents()[n]);
        auto const G = make_factor_matrix<typename F::scalar_type>(session.space, "polyad::perf_output",
                                                                   longest, C.rank());
        report(state, measure(session.space, session.options.samples, [&] {
                 for (int n = 0; n < order; ++n)
                   residual_mttkrp(session.space, X, C, n, workspace,
                                   FactorMatrix<typename F::scalar_type, Space>(Kokkos::subview(
                                       G, Kokkos::make_pair(count_t(0), X.extents()[n]), Kokkos::ALL)));
               }));
        state.counters["nnz"] = static_cast<double>(X.nnz());
      });
}

/// An epoch updates the factors and the cores of all modes; without `cores`, only the factors.
template <class F>
void add_epoch(Session& session, TensorChoice const& choice, int rank, FastTuckerOptimizer optimizer,
               bool cores) {
  std::string const group = optimizer == FastTuckerOptimizer::adam ? "adam_epoch"
                            : cores                                ? "als_epoch"
                                                                   : "als_factors";
  add(session, name_of<F>(group, choice, rank),
      [&session, choice, rank, optimizer, cores](benchmark::State& state) {
        F const X = build<F>(session, choice, optimizer);
        FastTuckerOptions options;
        options.optimizer    = optimizer;
        options.ridge        = 5;  // without a ridge als shrinks rows, and does not change the cores of J = R
        options.update_cores = cores;
        FastTuckerEpochs epochs(session.space, any_format(session.space, X), start(session, X, rank),
                                options);
        report(state, measure(session.space, session.options.samples, [&] { epochs.run(); }));
        state.counters["nnz"] = static_cast<double>(X.nnz());
      });
}

bool wants(Session& session, std::string const& format) {
  auto const& formats = session.options.formats;
  return formats.empty() || std::find(formats.begin(), formats.end(), format) != formats.end();
}

template <class F>
void register_residual(Session& session, TensorChoice const& choice) {
  if (!wants(session, F::name)) return;
  for (int const rank : session.options.ranks) add_residual<F>(session, choice, rank);
}

template <class F>
void register_format(Session& session, TensorChoice const& choice) {
  if (!wants(session, F::name)) return;
  for (int const rank : session.options.ranks) {
    add_residual<F>(session, choice, rank);
    add_epoch<F>(session, choice, rank, FastTuckerOptimizer::adam, true);
    add_epoch<F>(session, choice, rank, FastTuckerOptimizer::als, false);
    add_epoch<F>(session, choice, rank, FastTuckerOptimizer::als, true);
  }
}

std::string step_name(char const* half, char const* method, TensorChoice const& choice, int rank) {
  return std::string("fast_tucker_steps_") + half + "<" + method + "," + Space::name() + ",f32>/" +
         choice.label() + "/R:" + std::to_string(rank);
}

/// Both halves of an epoch by one of the paper's methods. The rates are so small that the model hardly moves.
template <class F>
void add_steps(Session& session, TensorChoice const& choice, int rank, char const* method, SgdForm form) {
  for (bool const cores : {false, true})
    add(session, step_name(cores ? "cores" : "factors", method, choice, rank),
        [&session, choice, rank, form, cores](benchmark::State& state) {
          F const X = build<F>(session, choice, FastTuckerOptimizer::sgd);
          FastTuckerOptions options;
          options.optimizer = FastTuckerOptimizer::sgd;
          options.ridge     = 0;
          options.sgd       = {1e-9, 1e-9, 0, form.intermediates, form.share_fibers};
          using Scalar      = typename F::scalar_type;
          FastTuckerOptimization<Scalar, Space> const run(
              session.space, TensorByRank<Scalar, Space>(session.space, any_format(session.space, X)),
              start(session, X, rank), options);
          Sgd<Scalar, Space> sgd(run);
          report(state, measure(session.space, session.options.samples,
                                [&] { cores ? sgd.step_cores(1) : sgd.step_factors(1); }));
          state.counters["nnz"] = static_cast<double>(X.nnz());
        });
}

/// The gradients of the factors and of the cores, of all modes, by residual sweeps.
void add_gradients(Session& session, TensorChoice const& choice, int rank) {
  add(session, step_name("both", "residual-sweep", choice, rank),
      [&session, choice, rank](benchmark::State& state) {
        using F          = Sorted<float, std::uint32_t, Space>;
        F const X        = build<F>(session, choice, FastTuckerOptimizer::adam);
        auto const model = start(session, X, rank);
        auto const C     = make_intermediates(session.space, model);
        auto workspace   = make_residual_workspace(session.space, X, C.rank());
        int const order  = X.extents().order();
        std::vector<GradientWorkspace<float, Space>> work;
        std::vector<FactorMatrix<float, Space>> G, dA, dB;
        for (int n = 0; n < order; ++n) {
          work.push_back(make_gradient_workspace(session.space, model, n));
          G.push_back(
              make_factor_matrix<float>(session.space, "polyad::perf_output", X.extents()[n], C.rank()));
          dA.push_back(make_factor_matrix<float>(session.space, "polyad::perf_output", X.extents()[n],
                                                 model.columns(n)));
          dB.push_back(
              make_factor_matrix<float>(session.space, "polyad::perf_output", model.columns(n), C.rank()));
        }
        report(state, measure(session.space, session.options.samples, [&] {
                 for (int n = 0; n < order; ++n) {
                   auto const at = static_cast<std::size_t>(n);
                   residual_mttkrp(session.space, X, C, n, workspace, G[at]);
                   gradients(session.space, model, n, G[at], work[at], dA[at], dB[at]);
                 }
               }));
        state.counters["nnz"] = static_cast<double>(X.nnz());
      });
}

void register_steps(Session& session, TensorChoice const& choice) {
  using Coo   = CooTinyVec<float, std::uint32_t, Space>;
  using Trees = BCsf<float, std::uint32_t, Space>;
  for (int const rank : session.options.ranks) {
    if (wants(session, Coo::name)) {
      add_steps<Coo>(session, choice, rank, "fast-tucker", {false, false});
      add_steps<Coo>(session, choice, rank, "coo-with-c", {true, false});
    }
    if (wants(session, Trees::name)) {
      add_steps<Trees>(session, choice, rank, "b-csf", {true, false});
      add_steps<Trees>(session, choice, rank, "b-csf-shared", {true, true});
    }
    if (wants(session, Sorted<float, std::uint32_t, Space>::name)) add_gradients(session, choice, rank);
  }
}

/// Twenty epochs of als with mean and biases on ratings; one rating in a hundred is held out. Only the
/// epochs are timed.
void add_held_out_error(Session& session, TensorChoice const& choice, int rank) {
  using F = Sorted<float, std::uint32_t, Space>;
  add(session, name_of<F>("held_out_error", choice, rank), [&session, choice, rank](benchmark::State& state) {
    auto const preset = find_preset(choice.name).value();
    auto const nnz    = static_cast<count_t>(choice.scale * static_cast<double>(preset.nnz));
    auto const all =
        make_ratings(session.space, Extents(std::span<count_t const>(preset.extents)), nnz, nnz / 100, 1);
    FastTuckerData<float, std::uint32_t, Space> data{
        with_values_of<float>(session.space, all.train), {}, with_values_of<float>(session.space, all.test)};
    auto const R = static_cast<count_t>(rank);
    FastTuckerModel<float, Space> model(session.space, data.train.extents(), std::vector<count_t>(3, R), R,
                                        true);
    fit_biases(session.space, data.train, {}, model);
    SortedOptions format;
    format.block_rows = 0;
    F const X         = F::build(session.space, without_biases(session.space, data.train, model), format);
    fill_start(session.space, model, std::sqrt(X.norm_squared() / static_cast<double>(X.nnz())), 0);
    FastTuckerOptions options;
    options.range  = {1, 5};
    double seconds = 0, best = 5;
    data.format = any_format(session.space, X);
    static_cast<void>(fast_tucker(session.space, data, options, model, [&](FastTuckerEpoch const& epoch) {
      seconds += epoch.seconds;
      best = std::min(best, epoch.test.rmse);
      if (epoch.test.rmse <= 0.88 && state.counters.count("s_to_0.88") == 0)
        state.counters["s_to_0.88"] = seconds;
      state.counters["rmse_last"] = epoch.test.rmse;
      return true;
    }));
    state.counters["rmse_best"] = best;
    state.counters["nnz"]       = static_cast<double>(X.nnz());
    state.SetIterationTime(seconds);
  });
}

}  // namespace

void register_fast_tucker(Session& session, TensorChoice const& choice) {
  auto const preset = find_preset(choice.name);
  if (preset && preset->ratings && !session.options.dry_run)
    for (int const rank : session.options.ranks) add_held_out_error(session, choice, rank);
  for (auto const& scalar : session.options.scalars) {
    if (scalar == "f32") {
      register_steps(session, choice);
      register_format<Sorted<float, std::uint32_t, Space>>(session, choice);
      register_format<CooPermuted<float, std::uint32_t, Space>>(session, choice);
      register_residual<BCsf<float, std::uint32_t, Space>>(session, choice);
      register_residual<HbCsf<float, std::uint32_t, Space>>(session, choice);
      register_residual<Blco<float, std::uint32_t, Space>>(session, choice);
      register_residual<Alto<float, std::uint32_t, Space>>(session, choice);
    } else {
      register_format<Sorted<double, std::uint32_t, Space>>(session, choice);
    }
  }
}

}  // namespace polyad::perf
