// SPDX-License-Identifier: BSD-3-Clause
// fast_tucker: fits a FastTucker model to observed entries (Li et al., "cuFasterTucker", 2022), by
//
//   als   in turn for each mode: the rows of A^(n) by least squares, each with all its observations, and one
//         step of best length for B^(n) (fast_tucker/core_step.hpp). Converges in few epochs. Rows are drawn
//         to zero as fast_tucker/shrinkage.hpp says, or by a ridge.
//   adam  in turn for each mode: one residual sweep gives the gradients of A^(n) and of B^(n), Adam the step.
//   sgd   the paper's own: an update for every observation, then the cores (fast_tucker/sgd.hpp).
//
// A ridge is a constant for each row unless it is asked for per entry, as the paper has it: multiplied by a
// row's count it drives the factors to zero (docs/fast-tucker.md).
#pragma once

#include <Kokkos_Core.hpp>
#include <cmath>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "polyad/fast_tucker/adam.hpp"
#include "polyad/fast_tucker/core_step.hpp"
#include "polyad/fast_tucker/gradients.hpp"
#include "polyad/fast_tucker/kept_model.hpp"
#include "polyad/fast_tucker/predict.hpp"
#include "polyad/fast_tucker/sgd.hpp"
#include "polyad/fast_tucker/shrinkage.hpp"
#include "polyad/fast_tucker/start.hpp"
#include "polyad/formats/format.hpp"

namespace polyad {

enum class FastTuckerOptimizer { als, adam, sgd };

struct FastTuckerOptions {
  FastTuckerOptimizer optimizer = FastTuckerOptimizer::als;
  int max_epochs                = 20;
  Shrinkage shrinkage;           // als, unless there is a ridge
  std::optional<double> ridge;   // of a row of A^(n); adam and sgd take 5 where there is none
  bool ridge_per_entry = false;  // times the row's observations, as in the paper (not for adam)
  double core_ridge    = 0;      // of B^(n)
  bool update_cores    = true;   // als: where J < R or there is a ridge
  AdamRates adam;
  SgdRates sgd;
  int patience        = 0;  // epochs without a better validation RMSE that end the run; 0: they never do
  double time_limit_s = std::numeric_limits<double>::infinity();
  ValueRange range;  // of predictions, for the errors
};

/// What the callback learns after each epoch.
struct FastTuckerEpoch {
  int epoch;  // counts from 1
  PredictionErrors train;
  PredictionErrors validation;  // no entries when there are none
  PredictionErrors test;
  double seconds;  // of the epoch, without the errors
};

enum class FastTuckerStop { max_epochs, early_stop, time_limit, interrupted, diverged };

inline char const* to_string(FastTuckerStop reason) {
  switch (reason) {
    case FastTuckerStop::max_epochs:
      return "epoch limit";
    case FastTuckerStop::early_stop:
      return "no better validation error";
    case FastTuckerStop::time_limit:
      return "time limit";
    case FastTuckerStop::interrupted:
      return "interrupted";
    case FastTuckerStop::diverged:
      return "diverged";
  }
  return "unknown";
}

struct FastTuckerResult {
  FastTuckerStop reason = FastTuckerStop::max_epochs;
  /// The epoch whose model is returned: the last, or the best with `patience`. 0 is the start: no epoch was
  /// sound, or with `patience` none was better than no interaction.
  int kept_epoch = 0;
  std::vector<FastTuckerEpoch> epochs;
};

/// A tensor's format, as far as a run asks whatever the optimiser: als needs a RowLeastSquaresFormat and a
/// ResidualFormat, adam the latter, sgd an SgdFormat.
template <class F>
concept CompletionFormat = requires(F const& format) {
  typename F::scalar_type;
  typename F::index_type;
  typename F::space_type;
  { std::string_view(F::name) };
  { format.extents() } -> std::convertible_to<Extents>;
  { format.nnz() } -> std::convertible_to<count_t>;
  { format.norm_squared() } -> std::convertible_to<double>;
};

/// The epochs of one run, without the errors: for benchmarks, and for loops of one's own. Everything is
/// allocated when it is made. Keeps a reference to X, which must live as long.
template <CompletionFormat F>
class FastTuckerEpochs {
public:
  using Scalar = typename F::scalar_type;
  using Space  = typename F::space_type;

  /// \throws UsageError when shapes or rates make no sense or the format lacks what the optimiser needs;
  /// MemoryError
  FastTuckerEpochs(Space const& space, F const& X, FastTuckerModel<Scalar, Space> const& model,
                   FastTuckerOptions const& options)
      : m_space(space), m_tensor(&X), m_model(model), m_options(options) {
    POLYAD_EXPECTS(X.extents() == model.extents(), "the tensor is ", to_string(X.extents()),
                   " but the model is ", to_string(model.extents()));
    POLYAD_EXPECTS(X.nnz() > 0, "there are no observations to learn from");
    POLYAD_EXPECTS(ridge() >= 0 && options.core_ridge >= 0, "a ridge is negative");
    POLYAD_EXPECTS(options.shrinkage.observations >= 0 && options.shrinkage.share >= 0, "rows are shrunk by ",
                   options.shrinkage.observations, " observations and a share of ", options.shrinkage.share);
    POLYAD_EXPECTS(options.adam.step > 0 && options.sgd.step > 0 && options.sgd.core_step > 0,
                   "the learning rate must be more than 0");
    POLYAD_EXPECTS(options.sgd.decay >= 0, "the decay of the learning rate is negative");
    bool const als = options.optimizer == FastTuckerOptimizer::als;
    bool const sgd = options.optimizer == FastTuckerOptimizer::sgd;
    POLYAD_EXPECTS(sgd || ResidualFormat<F>, "the format ", F::name, " has no residual sweep");
    POLYAD_EXPECTS(!als || RowLeastSquaresFormat<F>, "the format ", F::name,
                   " has no least squares for rows");
    POLYAD_EXPECTS(!shrinks() || RowShrinkageFormat<F>, "the format ", F::name,
                   " shrinks no rows: als wants a ridge");
    POLYAD_EXPECTS(!sgd || SgdFormat<F>, "the format ", F::name, " has no updates for single observations");
    POLYAD_EXPECTS(als || sgd || !options.ridge_per_entry, "a ridge per entry is for als and sgd");
    m_C = make_intermediates(space, model);
    if (sgd) {
      for (int n = 0; n < model.order(); ++n) work(n).sgd = make_sgd_workspace(space, model, n);
      space.fence("polyad::fast_tucker");
      return;
    }
    count_t longest = 0;
    for (int n = 0; n < model.order(); ++n) longest = std::max(longest, model.extents()[n]);
    m_G = make_packed_matrix<Scalar>(space, "polyad::residual_sweep", longest, model.rank());
    if constexpr (ResidualFormat<F>) m_workspace = make_residual_workspace(space, X, model.rank());
    for (int n = 0; n < model.order(); ++n) als ? make_als_work(n) : make_adam_work(n);
    if constexpr (RowLeastSquaresFormat<F>) {
      if (als) m_rows = X.make_row_workspace(space);
      if (shrinks()) {
        m_squares = ColumnSquares<Scalar, Space>(space, model.order(), model.rank());
        for (int n = 0; n < model.order(); ++n) update_squares(n);
      }
    }
    space.fence("polyad::fast_tucker");
  }

  /// One epoch. Launches on the space and returns without waiting; allocates nothing.
  void run() {
    ++m_epoch;
    if constexpr (SgdFormat<F>) {
      if (m_options.optimizer == FastTuckerOptimizer::sgd) {
        sgd_factors();
        if (m_options.update_cores) sgd_cores();
        return;
      }
    }
    for (int n = 0; n < m_model.order(); ++n)
      m_options.optimizer == FastTuckerOptimizer::als ? als_mode(n) : adam_mode(n);
    if (shrinks()) m_squares.balance(m_space, m_model, m_C);
  }

  /// The two halves of an epoch of sgd, for benchmarks. Without intermediates, C is not up to date in
  /// between.
  void sgd_factors()
    requires SgdFormat<F>
  {
    for (int n = 0; n < m_model.order(); ++n)
      sgd_factor_step(m_space, *m_tensor, m_model, n, m_options.sgd, std::max(m_epoch, 1), ridge(),
                      m_options.ridge_per_entry, m_C, work(n).sgd);
  }
  void sgd_cores()
    requires SgdFormat<F>
  {
    for (int n = 0; n < m_model.order(); ++n)
      sgd_core_step(m_space, *m_tensor, m_model, n, m_options.sgd, std::max(m_epoch, 1), m_options.core_ridge,
                    m_C, work(n).sgd);
  }

  /// The intermediates of the model as it stands. Launches on the space where they have to be formed.
  [[nodiscard]] FactorMatrices<Scalar, Space> const& intermediates() const {
    if (m_options.optimizer == FastTuckerOptimizer::sgd && !m_options.sgd.form.intermediates)
      for (int n = 0; n < m_model.order(); ++n) form_intermediates(m_space, m_model, n, m_C);
    return m_C;
  }

private:
  struct Work {
    GradientWorkspace<Scalar, Space> gradient;
    FactorMatrix<Scalar, Space> dA, dB;
    AdamState<Scalar, Space> adam_A, adam_B;
    FactorMatrix<Scalar, Space> transposed;  // B', R x J
    CoreStepWorkspace<Scalar, Space> core;
    SgdWorkspace<Scalar, Space> sgd;
  };

  [[nodiscard]] double ridge() const { return m_options.ridge.value_or(5); }
  [[nodiscard]] bool shrinks() const {
    return m_options.optimizer == FastTuckerOptimizer::als && !m_options.ridge && !m_options.ridge_per_entry;
  }
  /// With a ridge on C^(n) itself and J >= R the rows of A^(n) alone reach the least loss that B^(n) could
  /// add to.
  [[nodiscard]] bool steps_core(int n) const {
    return m_options.update_cores && !(shrinks() && m_model.columns(n) >= m_model.rank());
  }
  void update_squares(int n) const {
    if constexpr (RowShrinkageFormat<F>)
      m_squares.update(m_space, n, m_C[n], m_rows[static_cast<std::size_t>(n)], m_tensor->nnz(), G(n));
  }
  [[nodiscard]] Work& work(int n) { return m_work[static_cast<std::size_t>(n)]; }
  [[nodiscard]] FactorMatrix<Scalar, Space> G(int n) const {
    return Kokkos::subview(m_G, Kokkos::make_pair(count_t(0), m_model.extents()[n]), Kokkos::ALL);
  }
  void make_als_work(int n) {
    work(n).transposed =
        make_packed_matrix<Scalar>(m_space, "polyad::transposed_core", m_model.rank(), m_model.columns(n));
    if (steps_core(n)) work(n).core = CoreStepWorkspace<Scalar, Space>(m_space, m_model, n);
  }
  void make_adam_work(int n) {
    auto const like = [&](FactorMatrix<Scalar, Space> const& matrix) {
      return make_packed_matrix<Scalar>(m_space, "polyad::gradient", matrix.extent(0), matrix.extent(1));
    };
    work(n).gradient = make_gradient_workspace(m_space, m_model, n);
    work(n).dA       = like(m_model.A(n));
    work(n).dB       = like(m_model.B(n));
    work(n).adam_A   = {m_space, m_model.A(n)};
    work(n).adam_B   = {m_space, m_model.B(n)};
  }

  void als_mode(int n) {
    if constexpr (RowLeastSquaresFormat<F> && ResidualFormat<F>) {
      scaled_transpose(m_space, 1.0, m_model.B(n), work(n).transposed);
      RowProblem<Scalar, Space> const problem{m_model.B(n), work(n).transposed, shrinks() ? 0.0 : ridge(),
                                              m_options.ridge_per_entry};
      RowPenalty<Space> penalty;
      if constexpr (RowShrinkageFormat<F>) {
        if (shrinks()) {
          m_squares.set_unit(m_space, n);
          penalty = {{m_options.shrinkage.observations, m_options.shrinkage.share, m_squares.unit()},
                     m_rows[static_cast<std::size_t>(n)]};
        }
        least_squares_rows(m_space, *m_tensor, m_C, n, problem, m_rows, m_model.A(n), penalty.shrinkage);
      } else {
        least_squares_rows(m_space, *m_tensor, m_C, n, problem, m_rows, m_model.A(n));
      }
      form_intermediates(m_space, m_model, n, m_C);
      if (steps_core(n))
        core_step(m_space, *m_tensor, m_model, n, m_options.core_ridge, m_C, m_workspace, work(n).core, G(n),
                  penalty);
      if (shrinks()) update_squares(n);
    }
  }
  void adam_mode(int n) {
    if constexpr (ResidualFormat<F>) {
      residual_mttkrp(m_space, *m_tensor, m_C, n, m_workspace, G(n));
      gradients(m_space, m_model, n, G(n), work(n).gradient, work(n).dA, work(n).dB);
      adam_step(m_space, m_options.adam, m_epoch, ridge(), work(n).dA, work(n).adam_A, m_model.A(n));
      if (m_options.update_cores)
        adam_step(m_space, m_options.adam, m_epoch, m_options.core_ridge, work(n).dB, work(n).adam_B,
                  m_model.B(n));
      form_intermediates(m_space, m_model, n, m_C);
    }
  }

  /// What a format without the concept keeps in place of its workspace.
  struct Nothing {};
  template <class G>
  struct WorkspaceOf {
    using type = Nothing;
  };
  template <ResidualFormat G>
  struct WorkspaceOf<G> {
    using type = residual_workspace<G>;
  };
  template <class G>
  struct RowsOf {
    using type = Nothing;
  };
  template <RowLeastSquaresFormat G>
  struct RowsOf<G> {
    using type = decltype(std::declval<G const&>().make_row_workspace(std::declval<Space const&>()));
  };

  Space m_space;
  F const* m_tensor;
  FastTuckerModel<Scalar, Space> m_model;
  FastTuckerOptions m_options;
  FactorMatrices<Scalar, Space> m_C;
  FactorMatrix<Scalar, Space> m_G;  // of the longest mode, shared by all
  typename WorkspaceOf<F>::type m_workspace;
  typename RowsOf<F>::type m_rows;
  ColumnSquares<Scalar, Space> m_squares;
  std::array<Work, max_order> m_work;
  int m_epoch = 0;
};

/// Entries as they are observed; all but the training set may be empty. The validation set tells the best
/// epoch, the test set is only reported.
template <class F>
struct FastTuckerData {
  using tensor_type = CooTensor<typename F::scalar_type, typename F::index_type, typename F::space_type>;
  tensor_type train;
  tensor_type validation;
  tensor_type test;
};

/// Fits `model`, which holds the start and becomes the result, to X: the training set, without the model's
/// mean and biases where it has them (without_biases), in some storage format. `callback(FastTuckerEpoch
/// const&) -> bool` is called after each epoch; false ends the run. Waits for `space`.
///
/// When the training error stops being a number, or exceeds ten times that of mean and biases alone, the run
/// ends as diverged with the last model that was sound.
/// \throws UsageError as FastTuckerEpochs does; MemoryError before allocating
template <CompletionFormat F, class Callback>
FastTuckerResult fast_tucker(typename F::space_type const& space, F const& X, FastTuckerData<F> const& data,
                             FastTuckerOptions const& options,
                             FastTuckerModel<typename F::scalar_type, typename F::space_type> const& model,
                             Callback&& callback) {
  FastTuckerEpochs<F> epochs(space, X, model, options);
  auto const sums =
      make_error_sums(space, std::max({data.train.nnz(), data.validation.nnz(), data.test.nnz()}));
  detail::KeptModel<typename F::scalar_type, typename F::space_type> const kept(space, model);
  kept.keep(space, model);
  double const most = 10 * std::sqrt(X.norm_squared() / static_cast<double>(X.nnz()));
  bool const tells  = options.patience > 0 && data.validation.nnz() > 0;
  double best       = std::numeric_limits<double>::infinity();
  if (tells) {  // epoch 0 are mean and biases alone: no interaction, where no epoch is better
    auto none = epochs.intermediates();
    none[0] = make_packed_matrix<typename F::scalar_type>(space, "polyad::no_interaction", model.extents()[0],
                                                          model.rank());
    best    = errors(space, model, none, data.validation, options.range, sums).rmse;
    Kokkos::deep_copy(space, kept.A[0], 0);
  }
  FastTuckerResult result;
  Kokkos::Timer const total;
  for (int epoch = 1; epoch <= options.max_epochs; ++epoch) {
    Kokkos::Timer const clock;
    epochs.run();
    space.fence("polyad::fast_tucker");
    double const seconds = clock.seconds();
    auto const& C        = epochs.intermediates();
    auto const errors_of = [&](auto const& entries) {
      return errors(space, model, C, entries, options.range, sums);
    };
    FastTuckerEpoch const report{epoch, errors_of(data.train), errors_of(data.validation),
                                 errors_of(data.test), seconds};
    if (!(report.train.rmse <= most || report.train.rmse == 0)) {  // written so that NaN diverges
      result.reason = FastTuckerStop::diverged;
      kept.restore(space, model);
      break;
    }
    result.epochs.push_back(report);
    if (!tells || report.validation.rmse < best) {
      best              = report.validation.rmse;
      result.kept_epoch = epoch;
      kept.keep(space, model);
    }
    if (!callback(std::as_const(result.epochs.back()))) {
      result.reason = FastTuckerStop::interrupted;
      break;
    }
    if (tells && epoch - result.kept_epoch >= options.patience) {
      result.reason = FastTuckerStop::early_stop;
      break;
    }
    if (total.seconds() >= options.time_limit_s) {
      result.reason = FastTuckerStop::time_limit;
      break;
    }
  }
  if (tells) kept.restore(space, model);
  space.fence("polyad::fast_tucker");
  return result;
}

}  // namespace polyad
