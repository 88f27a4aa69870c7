// SPDX-License-Identifier: BSD-3-Clause
// FastTuckerBody: fast_tucker as a driver of the run loop (run/run_loop.hpp), with any of its optimizers.
#pragma once

#include <Kokkos_Core.hpp>
#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <limits>
#include <optional>
#include <span>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "fast_tucker/entries.hpp"
#include "fast_tucker/kept_model.hpp"
#include "fast_tucker/optimizers/epochs.hpp"
#include "fast_tucker/resume.hpp"
#include "fast_tucker/search/row_classes.hpp"
#include "polyad/io/checkpoint.hpp"
#include "run/row_distribution.hpp"
#include "run/run_loop.hpp"

namespace polyad::detail {

/// The training set, and the sets that judge the model: of several ranks this one's parts.
template <class Scalar, class Index, class Space>
struct DataSplits {
  TrainingSet<Scalar, Index, Space> train;
  CooTensor<Scalar, Index, Space> validation, test;
};

/// Buffers for the errors of each set.
template <class Scalar, class Index, class Space>
ErrorSums<Space> sums_for(Space const& space, DataSplits<Scalar, Index, Space> const& sets) {
  return make_error_sums(space, std::max({sets.train.nnz(), sets.validation.nnz(), sets.test.nnz()}));
}

/// Sums of the errors of this rank's part of each set.
template <class Scalar, class Index, class Space>
std::array<SummedErrors, 3> errors_of_part(Space const& space, FastTuckerModel<Scalar, Space> const& model,
                                           FactorMatrices<Scalar, Space> const& C,
                                           DataSplits<Scalar, Index, Space> const& sets,
                                           ErrorSums<Space> const& sums, double alpha = 0) {
  return {summed_errors(space, model, C, sets.train, sums, alpha),
          summed_errors(space, model, C, TrainingSet(sets.validation), sums, alpha),
          summed_errors(space, model, C, TrainingSet(sets.test), sums, alpha)};
}

/// The sums over all ranks' parts.
inline std::array<SummedErrors, 3> summed_over(RunRanks const& ranks, std::array<SummedErrors, 3> parts) {
  std::vector<double> numbers;
  for (auto const& part : parts)
    numbers.insert(numbers.end(), {part.entries, part.squares, part.magnitudes, part.implicit});
  ranks.sum_on_host(numbers);
  for (std::size_t k = 0; k < parts.size(); ++k)
    parts[k] = {numbers[4 * k], numbers[4 * k + 1], numbers[4 * k + 2], numbers[4 * k + 3]};
  return parts;
}

/// The errors of all ranks' parts.
inline FastTuckerErrors errors_of_all(std::array<SummedErrors, 3> const& parts, RunRanks const& ranks) {
  auto const all = summed_over(ranks, parts);
  return {all[0].means(), all[1].means(), all[2].means()};
}

/// The errors of the model's mean and biases alone.
template <class Scalar, class Index, class Space>
FastTuckerErrors errors_of_biases(Space const& space, FastTuckerModel<Scalar, Space> const& model,
                                  DataSplits<Scalar, Index, Space> const& sets, ErrorSums<Space> const& sums,
                                  RunRanks const& ranks) {
  auto const errors = ranks.together([&] {
    std::vector<count_t> const one_column(static_cast<std::size_t>(model.order()), 1);
    FastTuckerModel<Scalar, Space> alone(space, model.extents(), one_column, 1, false);
    alone.share_biases(model);
    alone.range  = model.range;
    auto const C = make_intermediates(space, alone);  // zeros
    return errors_of_part(space, alone, C, sets, sums);
  });
  return errors_of_all(errors, ranks);
}

inline PredictionErrors times(PredictionErrors errors, double factor) {
  errors.rmse *= factor;
  errors.mae *= factor;
  return errors;
}

/// FastTuckerEpoch or FastTuckerErrors.
template <class Errors>
Errors times(Errors sets, double factor) {
  for (auto* errors : {&sets.train, &sets.validation, &sets.test}) *errors = times(*errors, factor);
  return sets;
}

template <class Scalar, class Index, class Space>
class FastTuckerBody {
public:
  using Iteration = FastTuckerEpoch;
  using Result    = FastTuckerResult<Scalar, Space>;
  using Tensor    = TensorByRank<Scalar, Space>;
  using Model     = FastTuckerModel<Scalar, Space>;

  /// \param model  the start, which becomes the result. Its A^(n) have the rows that this rank owns
  /// \param state  to resume, with the matrices on the first rank, or only the choice of the options
  /// \param unscaled  multiplies errors of scaled values to errors of the original values
  FastTuckerBody(Space const& space, Tensor const& X, DataSplits<Scalar, Index, Space> const& sets,
                 FastTuckerOptions const& options, Model const& model, FastTuckerState&& state,
                 double unscaled)
      : m_space(space),
        m_tensor(X),
        m_rows(*X.rows()),
        m_sets(sets),
        m_options(options),
        m_state(std::move(state)),
        m_unscaled(unscaled),
        m_model(in_range(model, options.range)),
        m_sums(m_rows.together([&] { return sums_for(space, sets); })),
        m_biases(errors_of_biases(space, m_model, sets, m_sums, m_rows)),
        m_epochs(space, X, m_model, options),
        m_kept(m_rows.together([&] { return KeptModel<Scalar, Space>(space, m_model); })) {
    m_result.format    = X.format_facts();
    m_result.imbalance = X.imbalance();
    m_result.biases    = times(m_biases, unscaled);
    m_kept.keep(space, m_model);
    m_validates = options.patience > 0 && m_biases.validation.entries > 0;
    if (m_validates) {  // epoch 0 is mean and biases alone, kept if no epoch is better
      m_best = m_biases.validation.rmse;
      zero_matrix(space, m_kept.A[0]);
    }
  }

  [[nodiscard]] int iterations() const { return m_epoch; }
  void launch() {
    m_clock.reset();
    m_epochs.run();
  }
  [[nodiscard]] Ended<FastTuckerEpoch> finish() {
    m_space.fence("polyad::fast_tucker");
    double const seconds = m_clock.seconds();
    auto const sums = summed_over(m_rows, errors_of_part(m_space, m_model, m_epochs.intermediates(), m_sets,
                                                         m_sums, m_options.implicit.value_or(0)));
    FastTuckerErrors const found{sums[0].means(), sums[1].means(), sums[2].means()};
    if (has_diverged(found.train.rmse)) {
      m_kept.restore(m_space, m_model);
      return {{}, StopReason::diverged};
    }
    FastTuckerEpoch epoch{++m_epoch, found.train, found.validation, found.test, seconds};
    if (auto const others = m_epochs.loss_without_entries()) epoch.objective = *others + sums[0].implicit;
    if (!m_validates || epoch.validation.rmse < m_best) keep(epoch);
    return {times(epoch, m_unscaled), patience_is_over()};
  }

  /// Waits. \throws WriteError on all ranks
  void save(std::filesystem::path const& path) {
    m_rows.on_root([&] { put_progress(m_state); });
    FastTuckerSnapshot snapshot{m_state};
    m_epochs.put_matrices(snapshot);
    using Matrix = FastTuckerSnapshot::Matrix;
    std::vector<Matrix*> divided;
    for (auto& factor : snapshot.factors) divided.push_back(&factor);
    for (int n = 0; m_validates && n < m_model.order(); ++n) {
      snapshot.kept.push_back(snapshot_matrix<Scalar, Space>(m_space, m_kept.A[n]));
      snapshot.kept.push_back(snapshot_matrix<Scalar, Space>(m_space, m_kept.B[n]));
    }
    for (std::size_t k = 0; k < snapshot.kept.size(); k += 2) divided.push_back(&snapshot.kept[k]);
    auto const order = static_cast<std::size_t>(m_model.order());
    std::vector<double> block;
    m_rows.write_on_root(
        [&](std::size_t k, count_t first, count_t count) {
          auto const n  = static_cast<int>(k % order);
          auto const& A = k < order ? m_model.A(n) : m_kept.A[n];
          block         = m_rows.rows_to_root(n, A, first, count);
          return std::span<double const>(block);
        },
        [&](auto const& read) {
          for (std::size_t k = 0; k < divided.size(); ++k) {
            divided[k]->rows = m_model.extents()[static_cast<int>(k % order)];
            divided[k]->read = [&read, k](count_t first, count_t count) { return read(k, first, count); };
          }
          io::write_fast_tucker_checkpoint(path, snapshot);
        });
    ++m_result.checkpoints;
  }
  /// The state was read before the run, since the model needs its shape. Waits. \throws as refuse_state, on
  /// all ranks
  [[nodiscard]] std::optional<StopReason> load(std::filesystem::path const& /*path*/) {
    m_rows.on_root([&] { expect_same_run(); });
    m_epochs.restore(m_state);
    m_kept.keep(m_space, m_model);
    if (m_validates) {
      restore_kept();
      m_best = m_state.best;
    }
    m_epoch             = static_cast<int>(m_state.epoch);
    m_result.kept_epoch = static_cast<int>(m_state.kept_epoch);
    m_result.errors     = {m_state.kept_errors[0], m_state.kept_errors[1], m_state.kept_errors[2]};
    m_state.clear_matrices();
    return m_epoch > 0 ? patience_is_over() : std::nullopt;
  }

  [[nodiscard]] Result take_result(bool /*is_start*/) {
    if (m_validates) m_kept.restore(m_space, m_model);
    if (leaves_rows(m_state.left_to_biases)) leave_rows();
    m_space.fence("polyad::fast_tucker");
    m_result.model = m_model;
    return std::move(m_result);
  }

  /// Begins with a strong shrinkage (FastTuckerEpochs).
  void begin_with_strong_shrinkage() { m_epochs.begin_with_strong_shrinkage(); }

private:
  /// The rows that held-out entries leave to the biases become zero. The errors are then those of that model.
  void leave_rows() {
    leave_to_biases(m_space, m_sets.train, m_state.left_to_biases, m_model, m_rows);
    m_epochs.form_C();
    if (m_result.kept_epoch == 0) return;
    auto const parts = errors_of_part(m_space, m_model, m_epochs.intermediates(), m_sets, m_sums);
    m_result.errors  = times(errors_of_all(parts, m_rows), m_unscaled);
  }
  static Model in_range(Model model, PredictionRange const& range) {
    model.range = {std::max(model.range.lowest, range.lowest), std::min(model.range.highest, range.highest)};
    return model;
  }
  /// Refuses a state of other entries or of another format.
  void expect_same_run() const {
    auto const expect = [&](char const* what, auto const& there, auto const& here) {
      std::ostringstream text;
      text << "is a checkpoint of " << what << ' ' << there << ", not " << here;
      if (there != here) refuse_state(m_state, text.str());
    };
    expect("precision", m_state.precision, precision());
    if (m_rows.keeps_format()) expect("the format", m_state.format, m_tensor.chosen());
    expect("a validation set of size", m_state.validation_nnz, m_biases.validation.entries);
    // The norm of the same values depends on how threads split its sum.
    double const norm = m_tensor.norm_squared();
    bool const same   = m_state.nnz == m_tensor.nnz() && std::abs(m_state.norm_squared - norm) <= 1e-6 * norm;
    if (!same) refuse_state(m_state, "is a checkpoint of other entries");
    if (m_state.kept.size() != (m_validates ? 2 * m_state.extents.size() : 0))
      refuse_state(m_state, "has no best epoch");
  }
  /// The parts of a state that change, except the matrices, and the facts of the run.
  void put_progress(FastTuckerState& state) const {
    state.precision = precision();
    state.format    = m_tensor.chosen();
    state.extents.clear();
    for (int n = 0; n < m_tensor.extents().order(); ++n) state.extents.push_back(m_tensor.extents()[n]);
    state.nnz            = m_tensor.nnz();
    state.validation_nnz = m_biases.validation.entries;
    state.norm_squared   = m_tensor.norm_squared();
    m_epochs.save_numbers(state);
    state.kept_epoch  = static_cast<std::uint64_t>(m_result.kept_epoch);
    state.best        = m_validates ? m_best : 0;
    auto const& kept  = m_result.errors;
    state.kept_errors = {kept.train, kept.validation, kept.test};
  }
  void restore_kept() {
    m_rows.on_root([&] {
      for (int n = 0; n < m_model.order(); ++n)
        from_host<Scalar>(m_space, m_state.kept[2 * static_cast<std::size_t>(n) + 1], m_kept.B[n]);
    });
    for (int n = 0; n < m_model.order(); ++n) {
      m_rows.broadcast_from_root(m_kept.B[n]);
      m_rows.from_root(n, m_state.kept[2 * static_cast<std::size_t>(n)], m_kept.A[n]);
    }
  }
  [[nodiscard]] static std::string precision() { return sizeof(Scalar) == 4 ? "f32" : "f64"; }
  [[nodiscard]] std::optional<StopReason> patience_is_over() const {
    bool const is_over = m_validates && m_epoch - m_result.kept_epoch >= m_options.patience;
    return is_over ? std::optional(StopReason::early_stop) : std::nullopt;
  }
  /// Also true if the error is not a number.
  [[nodiscard]] bool has_diverged(double rmse) const {
    double const size =
        m_options.implicit ? 1 : std::sqrt(m_tensor.norm_squared() / static_cast<double>(m_tensor.nnz()));
    return !(rmse <= 10 * size || rmse == 0);
  }
  void keep(FastTuckerEpoch const& epoch) {
    m_best              = epoch.validation.rmse;
    m_result.kept_epoch = epoch.epoch;
    m_result.errors     = times(FastTuckerErrors{epoch.train, epoch.validation, epoch.test}, m_unscaled);
    m_kept.keep(m_space, m_model);
  }

  Space m_space;
  Tensor m_tensor;
  RowDistribution<Scalar, Space> const& m_rows;
  DataSplits<Scalar, Index, Space> const& m_sets;
  FastTuckerOptions m_options;
  FastTuckerState m_state;  // without matrices, once they are restored
  double m_unscaled;
  Model m_model;
  ErrorSums<Space> m_sums;
  FastTuckerErrors
      m_biases;  // here and in m_best those of the scaled values, in m_result those of the others
  FastTuckerEpochs<Scalar, Space> m_epochs;
  KeptModel<Scalar, Space> m_kept;
  Result m_result;
  Kokkos::Timer m_clock;
  bool m_validates = false;  // the validation set decides which epoch is the best
  double m_best    = std::numeric_limits<double>::infinity();
  int m_epoch      = 0;  // the last one, perhaps before this run
};

}  // namespace polyad::detail
