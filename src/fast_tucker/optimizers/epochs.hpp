// SPDX-License-Identifier: BSD-3-Clause
// FastTuckerEpochs: the epochs of one run of fast_tucker, by any of its optimizers.
#pragma once

#include <algorithm>
#include <cmath>
#include <functional>
#include <memory>
#include <optional>
#include <utility>

#include "fast_tucker/optimizers/adam.hpp"
#include "fast_tucker/optimizers/als.hpp"
#include "fast_tucker/optimizers/optimizer.hpp"
#include "fast_tucker/optimizers/sgd.hpp"
#include "polyad/fast_tucker/fast_tucker.hpp"

namespace polyad::detail {

/// The optimizer that the options name. This is the only place that depends on which one it is.
template <class Scalar, class Space>
std::unique_ptr<Optimizer> make_optimizer(FastTuckerOptimization<Scalar, Space> const& run) {
  switch (run.options.optimizer) {
    case FastTuckerOptimizer::als:
      return std::make_unique<Als<Scalar, Space>>(run);
    case FastTuckerOptimizer::adam:
      return std::make_unique<Adam<Scalar, Space>>(run);
    case FastTuckerOptimizer::sgd:
      return std::make_unique<Sgd<Scalar, Space>>(run);
  }
  return nullptr;
}

/// The epochs of one run, without the errors: for benchmarks and for custom loops. The constructor allocates
/// everything. Shares X. The model's A^(n) have the rows that this rank owns. All ranks call the functions
/// together.
template <class Scalar, class Space>
class FastTuckerEpochs {
public:
  using Tensor = TensorByRank<Scalar, Space>;

  /// \throws UsageError when shapes or rates make no sense or the format lacks what the optimizer needs;
  /// MemoryError
  FastTuckerEpochs(Space const& space, Tensor const& X, FastTuckerModel<Scalar, Space> const& model,
                   FastTuckerOptions const& options)
      : m_run(made(space, X, model, options)) {
    m_run->form_C();
    m_optimizer = m_run->rows().together([&] { return make_optimizer(*m_run); });
    m_optimizer->continue_run();
    space.fence("polyad::fast_tucker");
  }
  /// The same on one rank.
  FastTuckerEpochs(Space const& space, AnyFormat<Scalar, Space> const& X,
                   FastTuckerModel<Scalar, Space> const& model, FastTuckerOptions const& options)
      : FastTuckerEpochs(space, Tensor(space, X), model, options) {}

  /// Continues with other targets, shrinkage or ridge from the current model, which the caller may have
  /// changed. Launches on the space and returns without waiting.
  void change_options(FastTuckerOptions const& options) {
    auto& own           = m_run->options;
    own.targets         = options.targets;
    own.shrinkage       = options.shrinkage;
    own.ridge           = options.ridge;
    own.ridge_per_entry = options.ridge_per_entry;
    own.update_cores    = own.update_cores && options.update_cores;  // else without their scratch
    m_run->form_C();
    m_optimizer->continue_run();
  }

  /// Calls this before each mode's update from now on (FastTuckerOptimization::between_modes).
  void call_between_modes(std::function<void()> call) { m_run->between_modes = std::move(call); }
  /// Begins with a strong shrinkage and weakens it in each epoch, down to that of the options. A search goes
  /// this way too. From a random start, a weak shrinkage would lead into the nearest poor minimum.
  void begin_with_strong_shrinkage() { m_weakens = true; }

  /// One epoch. Launches on the space and returns without waiting; allocates nothing.
  void run() {
    ++m_epoch;
    auto& shrinkage = m_run->options.shrinkage;
    if (!m_weakens || !shrinkage) return m_optimizer->run(m_epoch);
    Shrinkage const given   = *shrinkage;
    shrinkage->observations = shrinkage_of_epoch(given.observations, m_epoch);
    m_optimizer->run(m_epoch);
    *shrinkage = given;
  }

  /// The observations of an epoch that begins with a strong shrinkage: 30 in the first one, then a third of
  /// the epoch before. A shrinkage of 3 or more leads to a good minimum by itself.
  [[nodiscard]] static double shrinkage_of_epoch(double observations, int epoch) {
    if (observations >= 3) return observations;
    return std::max(observations, 30 * std::pow(3.0, 1 - epoch));
  }
  /// C^(n) of all rows, from the current model, which the caller has changed. Launches on the space.
  void form_C() { m_run->form_C(); }

  /// The intermediates of the current model. Launches on the space if they have to be formed.
  [[nodiscard]] FactorMatrices<Scalar, Space> const& intermediates() const {
    m_optimizer->form_C();
    return m_run->C;
  }

  /// The same as that of the optimizer. Waits.
  [[nodiscard]] std::optional<double> loss_without_entries() const {
    return m_optimizer->loss_without_entries();
  }

  /// Saves the number of epochs and the optimizer's small numbers. Waits.
  void save_numbers(FastTuckerState& state) const {
    state.epoch = static_cast<std::uint64_t>(m_epoch);
    m_optimizer->save_numbers(state);
  }
  /// Refers to the matrices of the run and of the optimizer. Ranks have to add the factors themselves.
  void put_matrices(FastTuckerSnapshot& snapshot) const {
    for (int n = 0; n < m_run->order(); ++n) {
      snapshot.factors.push_back(m_run->in_blocks(m_run->model.A(n)));
      snapshot.cores.push_back(m_run->in_blocks(m_run->model.B(n)));
      snapshot.intermediates.push_back(m_run->in_blocks(m_run->C[n]));
    }
    m_optimizer->put_matrices(snapshot);
  }
  /// Continues from a state. The first rank has the matrices, and the others empty ones; the rest is the same
  /// on all. Waits.
  /// \throws UsageError on all ranks unless the shapes are this run's
  void restore(FastTuckerState const& state) {
    auto const order = static_cast<std::size_t>(m_run->order());
    auto const& rows = m_run->rows();
    rows.on_root([&] {
      POLYAD_EXPECTS(state.factors.size() == order && state.cores.size() == order &&
                         state.intermediates.size() == order && m_optimizer->accepts(state),
                     "the state is of another run");
      for (int n = 0; n < m_run->order(); ++n) {
        from_host<Scalar>(m_run->space, state.cores[n], m_run->model.B(n));
        from_host<Scalar>(m_run->space, state.intermediates[n], m_run->C[n]);
      }
    });
    m_epoch = static_cast<int>(state.epoch);
    for (int n = 0; n < m_run->order(); ++n) {
      rows.broadcast_from_root(m_run->model.B(n));
      rows.broadcast_from_root(m_run->C[n]);
      rows.from_root(n, state.factors[n], m_run->model.A(n));
    }
    m_optimizer->restore(state);
  }

private:
  using Run = FastTuckerOptimization<Scalar, Space>;

  static std::unique_ptr<Run> made(Space const& space, Tensor const& X,
                                   FastTuckerModel<Scalar, Space> const& model,
                                   FastTuckerOptions const& options) {
    POLYAD_EXPECTS(X.extents() == model.extents(), "the tensor is ", to_string(X.extents()),
                   " but the model is ", to_string(model.extents()));
    POLYAD_EXPECTS(X.nnz() > 0, "there are no observations to learn from");
    POLYAD_EXPECTS(
        options.targets.empty() || options.targets.size() == static_cast<std::size_t>(model.order()),
        "there are ", options.targets.size(), " targets for ", model.order(), " modes");
    expect_rates(options);
    expect_optimizer(X, options);
    return X.rows()->together([&] { return std::make_unique<Run>(space, X, model, options); });
  }
  static void expect_rates(FastTuckerOptions const& options) {
    POLYAD_EXPECTS(options.ridge.value_or(0) >= 0 && options.core_ridge >= 0, "a ridge is negative");
    Shrinkage const shrinkage = options.shrinkage.value_or(Shrinkage{});
    POLYAD_EXPECTS(shrinkage.observations >= 0 && shrinkage.share >= 0 && shrinkage.to_one >= 0,
                   "rows are shrunk by ", shrinkage.observations, " observations and a share of ",
                   shrinkage.share, ", or to one by ", shrinkage.to_one);
    POLYAD_EXPECTS(options.adam.step > 0 && options.sgd.step > 0 && options.sgd.core_step > 0,
                   "the learning rate must be more than 0");
    auto const is_decay = [](double beta) { return beta >= 0 && beta < 1; };
    POLYAD_EXPECTS(is_decay(options.adam.first) && is_decay(options.adam.second),
                   "the moments of adam decay by ", options.adam.first, " and ", options.adam.second,
                   ", not by numbers from 0 to less than 1");
    POLYAD_EXPECTS(options.sgd.decay >= 0, "the decay of the learning rate is negative");
  }
  /// What the optimizer cannot do.
  static void expect_optimizer(Tensor const& X, FastTuckerOptions const& options) {
    auto const& facts = facts_of(options.optimizer);
    X.rows()->expect_supported(facts.runs_on_ranks, facts.name);
    for (auto const& format : X.formats())
      for (Capability const capability : facts.needs)
        POLYAD_EXPECTS(format.supports(capability), "the format ", X.chosen(), " has no ",
                       to_string(capability));
    POLYAD_EXPECTS(facts.ridge_per_entry || !options.ridge_per_entry, facts.name, " has no ridge per entry");
  }

  std::unique_ptr<Run> m_run;  // the optimizer refers to it
  std::unique_ptr<Optimizer> m_optimizer;
  int m_epoch    = 0;
  bool m_weakens = false;
};

}  // namespace polyad::detail
