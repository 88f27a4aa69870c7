// SPDX-License-Identifier: BSD-3-Clause
// CandidateRun fits a model to the kept entries under a sequence of options, each of which is judged by the
// held-out entries.
#pragma once

#include <Kokkos_Core.hpp>
#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <memory>
#include <vector>

#include "fast_tucker/kept_model.hpp"
#include "fast_tucker/optimizers/epochs.hpp"

namespace polyad::detail {

/// The data to which candidates are fitted and by which they are judged.
template <class Scalar, class Index, class Space>
struct Evidence {
  TensorByRank<Scalar, Space> X;          // kept entries, without mean and biases
  CooTensor<Scalar, Index, Space> held;   // as they are
  FastTuckerModel<Scalar, Space> biases;  // mean and biases of the kept entries, and the range
  ErrorSums<Space> sums;
  double deviation;                          // what the biases leave of the kept entries has it
  std::function<void()> between_modes = {};  // its exception ends a fit
};

/// The values of X, or a model's predictions of them, on the host.
template <class Space, class View>
std::vector<double> numbers_on_host(Space const& space, View const& view) {
  auto const host = Kokkos::create_mirror_view(view);
  Kokkos::deep_copy(space, host, view);
  space.fence("polyad::held_out_to_host");
  return {host.data(), host.data() + host.size()};
}

/// A fit whose options change on the way.
template <class Scalar, class Index, class Space>
class CandidateRun {
public:
  /// Begins with a random start. Waits for `space`. \throws MemoryError
  CandidateRun(Space const& space, Evidence<Scalar, Index, Space> const& evidence,
               FastTuckerOptions const& options)
      : m_space(space),
        m_evidence(evidence),
        m_model(model_of(space, evidence, options)),
        m_kept(space, m_model),
        m_epochs(space, evidence.X, m_model, options),
        m_best(options) {
    if (evidence.between_modes) m_epochs.call_between_modes(evidence.between_modes);
  }

  /// Runs from `least` to `most` epochs. Stops when two epochs lower the held-out error by less than a
  /// thousandth; the first two are compared with the least error so far. Returns the errors at the end. Keeps
  /// the model with the least error.
  PredictionErrors continue_run(FastTuckerOptions const& options, int least, int most) {
    m_epochs.change_options(options);
    double before = m_has_best && !m_forgotten ? m_least.rmse : std::numeric_limits<double>::infinity();
    PredictionErrors found;
    for (int epoch = 0; epoch < most; epoch += 2) {
      for (int twice = 0; twice < 2 && epoch + twice < most; ++twice) m_epochs.run();
      found = errors(m_space, m_model, m_epochs.intermediates(), m_evidence.held, m_evidence.sums);
      if (!std::isfinite(found.rmse)) break;
      if (!m_has_best || m_forgotten || found.rmse < m_least.rmse) {
        m_has_best  = true;
        m_forgotten = false;
        m_least     = found;
        m_best      = options;
        m_kept.keep(m_space, m_model);
      }
      if (epoch + 2 >= least && !(found.rmse < before * 0.999)) break;
      before = found.rmse;
    }
    return found;
  }
  /// Fits with the options of the start, without examining held-out entries: `epochs` epochs with these, or
  /// fewer. A weak shrinkage is reached as the search reaches it: from a strong one by factors of three, with
  /// epochs in between that find the minimum of each. A step each epoch ends in poor minima: four such fits
  /// to 1,168 values of rank 2 with little noise predicted other entries with an RMSE of 1.9, where biases
  /// had 1.24, and fits of this kind 0.19.
  void fit(int epochs) {
    constexpr double strong = 30, leads_by_itself = 3;
    constexpr int first_epochs = 6, epochs_of_step = 4;
    auto weakened = m_best;
    if (draws_rows(weakened) && weakened.shrinkage && weakened.shrinkage->observations < leads_by_itself) {
      double const least = weakened.shrinkage->observations;
      for (double now = strong; now > least; now /= 3) {
        weakened.shrinkage->observations = now;
        m_epochs.change_options(weakened);
        run_epochs(std::min(epochs, now == strong ? first_epochs : epochs_of_step));
      }
      m_epochs.change_options(m_best);
    }
    run_epochs(epochs);
  }
  /// Sets the best model's options, after a change whose gain was too small.
  void recall(FastTuckerOptions const& options) { m_best = options; }
  /// Makes the next model the best so far, whatever its error.
  void forget() { m_forgotten = true; }
  /// Returns to the best model.
  void restore() { m_kept.restore(m_space, m_model); }

  /// Predictions of the held-out entries by the current model. Waits for `space`. \throws MemoryError
  [[nodiscard]] std::vector<double> predictions() const {
    return numbers_on_host(m_space, predict(m_space, m_model, m_evidence.held));
  }

  [[nodiscard]] PredictionErrors const& least() const { return m_least; }
  [[nodiscard]] FastTuckerOptions const& best() const { return m_best; }
  [[nodiscard]] bool has_best() const { return m_has_best; }
  /// The factors of the best model, after restore().
  [[nodiscard]] FastTuckerModel<Scalar, Space> const& model() const { return m_model; }

private:
  void run_epochs(int count) {
    for (int epoch = 0; epoch < count; ++epoch) m_epochs.run();
  }
  static FastTuckerModel<Scalar, Space> model_of(Space const& space,
                                                 Evidence<Scalar, Index, Space> const& evidence,
                                                 FastTuckerOptions const& options) {
    FastTuckerModel<Scalar, Space> model(space, evidence.biases.extents(), options.columns, options.rank,
                                         evidence.biases.has_biases());
    model.share_biases(evidence.biases);
    model.range = evidence.biases.range;
    fill_start(space, model, evidence.deviation, options.seed, options.targets);
    return model;
  }

  Space m_space;
  Evidence<Scalar, Index, Space> const& m_evidence;
  FastTuckerModel<Scalar, Space> m_model;
  KeptModel<Scalar, Space> m_kept;
  FastTuckerEpochs<Scalar, Space> m_epochs;
  FastTuckerOptions m_best;
  PredictionErrors m_least = {0, std::numeric_limits<double>::infinity(), 0};
  bool m_has_best          = false;
  bool m_forgotten         = false;
};

}  // namespace polyad::detail
