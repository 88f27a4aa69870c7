// SPDX-License-Identifier: BSD-3-Clause
// CpAlsBody: CP-ALS as a driver of the run loop (run/run_loop.hpp), on a format with virtual functions.
// cp/cp_als.hpp describes an iteration.
#pragma once

#include <Kokkos_Core.hpp>
#include <cmath>
#include <filesystem>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/phase_timer.hpp"
#include "core/space_instances.hpp"
#include "cp/arrange_components.hpp"
#include "cp/checked_options.hpp"
#include "cp/constraints/constrained_start.hpp"
#include "cp/constraints/count_zeros.hpp"
#include "cp/constraints/run_penalties.hpp"
#include "cp/constraints/solved_change.hpp"
#include "cp/cp_als_workspace.hpp"
#include "cp/fixed_modes.hpp"
#include "cp/held_tensor.hpp"
#include "cp/run/checkpoint_of_run.hpp"
#include "cp/run/degeneracy.hpp"
#include "cp/run/facts_of_run.hpp"
#include "cp/run/iteration_numbers.hpp"
#include "cp/run/measured_fit.hpp"
#include "cp/run/numbers_on_host.hpp"
#include "cp/run/run_updates.hpp"
#include "cp/run/singular_history.hpp"
#include "cp/small_arrays.hpp"
#include "cp/start_norm.hpp"
#include "dense/gram.hpp"
#include "dense/inner_product.hpp"
#include "dense/scale_columns.hpp"
#include "dense/scale_matrix.hpp"
#include "dense/update/hadamard_of_grams.hpp"
#include "fit/fit.hpp"
#include "fit/stop_rule.hpp"
#include "fit/sum_cells.hpp"
#include "polyad/core/error.hpp"
#include "polyad/cp/cp_als.hpp"
#include "polyad/io/checkpoint.hpp"
#include "polyad/tensor/compact.hpp"
#include "run/run_loop.hpp"
#include "run/run_ranks.hpp"

namespace polyad::detail {

template <class Scalar, class Space>
class CpAlsBody {
public:
  using Iteration = CpAlsIteration;
  using Result    = CpAlsResult<Scalar, Space>;
  using Tensor    = HeldTensor<Scalar, Space>;

  /// \param start  the rows that this rank holds
  CpAlsBody(Space const& space, Tensor const& X, CpAlsOptions const& options,
            FactorMatrices<Scalar, Space> const& start)
      : m_space(space),
        m_algebra(options.one_instance || options.time_phases ? space : make_instances(space, 1).front()),
        m_facts(X),
        m_tensor(X.format),
        m_rows(*X.rows),
        m_norm(scaled_norm(space, *X.format, X.norm_squared, m_rows.rank_sums())),
        m_options(checked_options(*X.format, options, start, m_rows.extents())),
        m_rule(options.tolerance),
        m_singular(m_rows.extents(), start.rank()),
        m_work(allocated([&] { return Work(space, m_tensor->extents(), start.rank(), m_rows); })),
        m_updates(allocated([&] {
          return Updates(space, options.updates, owned_counts(), start.rank(), options.fixed_modes);
        })),
        m_penalties(allocated([&] { return Penalties(space, updates_of_modes(options.updates, order())); })),
        m_solved_change(allocated([&] { return SolvedChange<Space>(space, start.rank()); })),
        m_format_workspace(allocated([&] { return m_tensor->make_workspace(space, start.rank()); })),
        m_timer(options.time_phases) {
    expect_fit_exists(m_norm);
    m_rows.time_by(&m_timer);
    m_result.model.factors  = allocated([&] { return with_packed_rows(space, start); });
    m_result.model.rows     = options.rows;
    m_work.last_mode        = last_free_mode(m_options, order());
    m_work.scales.of_tensor = m_norm.scale;
    if (m_norm.scale != 1) Kokkos::deep_copy(space, m_work.scales.weights, m_norm.scale);
    for (int n = 0; n < order(); ++n) {
      expect_within_bounds(space, options.updates, n, owned_rows(n), m_rows);
      sum_gram(n);
      if (m_updates[n].keeps_scale()) continue;
      scale(n, factor(n), 1);
      m_component_norm *= target_norm(n);
    }
    space.fence("polyad::cp_als");  // so that the first iteration's time is its own
    int const first     = first_free_mode(m_options, order());
    bool const may_move = options.scale_start || !m_updates[first].keeps_start();
    if (!m_updates.chooses_scale(first) && !m_updates[first].keeps_scale() && may_move)
      bring_start_near(space, m_work, first, std::sqrt(m_norm.squared));
    if (options.scale_start && m_updates.depends_on_scale(first)) scale_start();
  }

  CpAlsBody(CpAlsBody const&)            = delete;
  CpAlsBody& operator=(CpAlsBody const&) = delete;
  ~CpAlsBody() { m_rows.time_by(nullptr); }
  [[nodiscard]] int iterations() const { return m_iterations; }

  /// Enqueues an iteration and the copy of its numbers to the host. Does not wait. The inverse of the normal
  /// equations depends only on the other modes' Gram matrices: one team computes it on a separate instance
  /// while all others multiply (the two streams of Liu et al., section V).
  void launch() {
    m_clock.reset();
    m_timer.reset();
    for (int n = 0; n < order(); ++n) {
      if (is_fixed(m_options, n)) continue;
      auto const V        = m_work.output(m_tensor->extents()[n]);
      bool const is_trial = !m_scale_is_known && m_updates.chooses_scale(n);
      if (m_updates.is_looked_at(n)) m_solved_change.keep_weights(m_space, m_work.scales.weights);
      if (is_trial) Kokkos::deep_copy(m_space, m_work.scales.weights, 0.0);
      prepare(n, is_trial ? trial_fallbacks : gram_fallbacks);
      m_timer(m_space, "mttkrp", [&] {
        m_tensor->do_mttkrp(m_space, m_result.model.factors, n, m_format_workspace.get(), V);
        if (m_norm.scale != 1) scale_matrix(m_space, V, m_norm.scale);
      });
      if (n == first_free_mode(m_options, order()) && m_updates.are_constrained())  // during the MTTKRP
        Kokkos::deep_copy(m_algebra, m_work.number(largest_change), 0.0);
      auto const sums = m_rows.sum_rows(n, V);
      if (is_trial) {  // its Gram matrix gives the scale
        apply(n, sums, true);
        prepare(n, gram_fallbacks);
      }
      apply(n, sums, false);
      m_scale_is_known = m_scale_is_known || !m_updates[n].keeps_scale();
      m_rows.gather_rows(n, factor(n));
    }
    m_timer(m_space, "fit", [&] {
      model_norm(m_space, m_work.grams, m_work.scales.weights, m_work.numbers);
      sum_penalties();
      Kokkos::deep_copy(m_space, m_work.host_numbers, m_work.numbers);
    });
  }

  /// Waits for the iteration. \throws NumericalError when the fit is not a finite number
  [[nodiscard]] Ended<CpAlsIteration> finish() {
    m_space.fence("polyad::cp_als");
    auto const& numbers = m_work.host_numbers;
    if (m_updates.are_constrained())
      m_work.host_numbers(largest_change) = m_rows.largest(numbers(largest_change));
    // All ranks have the same sums, but a bit could differ between different machines.
    m_rows.broadcast_from_root(numbers.data(), numbers.size());
    auto const known      = known_numbers();
    double const previous = m_result.fit;
    int const iteration   = m_iterations + 1;
    m_formula             = squares_of_formula<Scalar>(known, order());
    m_result.fit          = fit_of_iteration(m_formula).value;
    if (!std::isfinite(m_result.fit))
      throw NumericalError("the fit is not a finite number after iteration " + std::to_string(iteration));
    m_degeneracy.add(numbers(opposed_norm), numbers(component_norms));
    m_singular.add(numbers(gram_fallbacks), numbers(nearly_singular));
    m_result.gram_fallbacks = static_cast<count_t>(numbers(gram_fallbacks));
    m_iterations            = iteration;
    m_result.defect         = defect();
    set_objective(m_work.host_numbers, m_norm, m_result);
    auto met = m_rule.after(m_result.fit, usual_error_of_fit<Scalar>(known, m_result.fit));
    if (m_updates.are_constrained() && m_result.kkt_violation < m_options.kkt_tolerance)
      met = StopReason::converged;
    if (met && m_result.defect != ModelDefect::none) met = StopReason::stalled;
    return {{iteration, m_result.fit, m_result.fit - previous, m_clock.seconds(), m_timer.seconds(),
             m_result.objective, m_result.kkt_violation},
            met};
  }

  /// Call it between iterations. With several ranks all call it, and the first writes the file. Waits.
  void save(std::filesystem::path const& path) {
    m_singular.forget(m_work.host_numbers(gram_fallbacks));
    m_rows.write_on_root([this](int n, count_t first, count_t count) { return factor_rows(n, first, count); },
                         [&](io::ReadFactorRows const& read) { io::write_checkpoint(path, state(), read); });
  }
  /// Call it before the first iteration: continues from a checkpoint that the first rank reads. Waits.
  /// \throws InputError for a file that is damaged or of another run
  std::optional<StopReason> load(std::filesystem::path const& path) {
    restore(checkpoint_to_resume(m_rows, path, state()));
    return std::nullopt;
  }
  /// The state between two iterations: all but the factors, which factor_rows() returns. Waits.
  [[nodiscard]] io::Checkpoint state() const {
    auto state           = facts_of_run(m_facts, m_options);
    state.iteration      = m_iterations;
    state.fit            = m_result.fit;
    state.gram_fallbacks = m_result.gram_fallbacks;
    read_small_arrays(m_work, m_norm.scale, !m_updates.are_plain(), state);
    return state;
  }
  /// `count` rows of A^(n) from row `first` on, row-major, not normalised. If there are several ranks, all
  /// call it together, and the first gets the rows. Waits.
  [[nodiscard]] std::vector<double> factor_rows(int n, count_t first, count_t count) const {
    return m_rows.rows_to_root(n, factor(n), first, count);
  }
  /// Call it before the first iteration: continues from `state` of a run of the same shape. Waits.
  /// With several ranks, the first has the whole factors; the rest of `state` is the same on all.
  /// \throws UsageError when the shapes differ
  void restore(io::Checkpoint const& state) {
    // All ranks throw alike, so that none waits for another.
    POLYAD_EXPECTS(!m_rows.any(!fits_small_arrays(state, !m_updates.are_plain(), m_work)),
                   "the state is of another run");
    for (int n = 0; n < order(); ++n) m_rows.from_root(n, state.factors[n], factor(n));
    write_small_arrays(m_space, state, m_norm.scale, m_work);
    m_iterations                        = static_cast<int>(state.iteration);
    m_options.seed                      = state.seed;
    m_scale_is_known                    = m_iterations > 0;
    m_work.host_numbers(gram_fallbacks) = static_cast<double>(state.gram_fallbacks);
    m_singular.forget(m_work.host_numbers(gram_fallbacks));
    Kokkos::deep_copy(m_space, m_work.numbers, m_work.host_numbers);
    m_space.fence("polyad::cp_als");
    m_result.fit = state.fit;
    if (m_iterations > 0) m_rule.restore(state.fit);
    m_result.gram_fallbacks = state.gram_fallbacks;
  }

  /// Splits lambda off and brings the model into canonical form, once, after the last iteration. Waits.
  [[nodiscard]] CpAlsResult<Scalar, Space> take_result(bool is_start) {
    if (is_start) measure_start();
    // Frees memory for the copies of arrange_components, none of which is longer than V.
    m_format_workspace.reset();
    m_work.V      = {};
    auto& model   = m_result.model;
    model.weights = on_host<Space>(m_work.scales.weights);
    std::vector<bool> keeps_signs;
    for (int n = 0; n < order(); ++n) {
      keeps_signs.push_back(m_updates[n].keeps_signs());
      if (!m_updates[n].keeps_scale()) split_off_norms(m_space, m_work, n, factor(n), model.weights);
    }
    auto const fit      = final_fit();
    m_result.fit        = fit.value;
    m_result.fit_error  = fit.error;
    m_result.iterations = m_iterations;
    set_objective(m_work.host_numbers, m_norm, m_result);
    if (is_start && m_updates.are_constrained()) m_result.kkt_violation = std::nan("");  // not measured
    for (double& weight : model.weights) weight /= m_norm.scale;
    for (int n = 0; n < order(); ++n) model.factors[n] = m_rows.whole_on_root(n, model.factors[n]);
    model = m_rows.on_root([&] {
      arrange_components(m_space, model, keeps_signs, !m_options.fixed_modes.empty());
      return model;
    });
    if (model.factors.order() > 0)
      model.constraints = constraints_of(updates_of_modes(m_options.updates, order()));
    if (m_updates.are_constrained()) count_zeros(m_space, m_result);
    return std::move(m_result);
  }

private:
  using Work      = CpAlsWorkspace<Scalar, Space>;
  using Updates   = RunUpdates<Scalar, Space>;
  using Penalties = RunPenalties<Scalar, Space>;

  /// The numbers of a model that no iteration of this run has changed, by one MTTKRP. Waits.
  void compute_start_numbers() {
    int const last  = m_work.last_mode;
    auto const V    = m_work.output(m_tensor->extents()[last]);
    auto const& all = m_work.numbers;
    m_tensor->do_mttkrp(m_space, m_result.model.factors, last, m_format_workspace.get(), V);
    if (m_norm.scale != 1) scale_matrix(m_space, V, m_norm.scale);
    inner_product_of(m_space, m_rows.sum_rows(last, V), owned_rows(last),
                     inner_product_sums<Space>(m_work.sums(last, false), m_work.scales.weights));
    m_rows.sum(all.data() + static_cast<int>(inner_product), 1);
    model_norm(m_space, m_work.grams, m_work.scales.weights, all);
    sum_penalties();
    Kokkos::deep_copy(m_space, m_work.host_numbers, all);
    m_space.fence("polyad::cp_als");
    m_rows.broadcast_from_root(m_work.host_numbers.data(), m_work.host_numbers.size());
  }
  void measure_start() {
    compute_start_numbers();
    m_formula = squares_of_formula<Scalar>(known_numbers(), order());
    if (std::isinf(m_formula.residual)) m_far_start = fit_of_far_start(m_work, m_norm, order());
    if (!std::isfinite(m_far_start.value_or(fit_of_iteration(m_formula)).value))
      throw NumericalError("the fit of the start is not a finite number");
    m_result.defect = defect();
  }
  /// Multiplies a random start by |<X, M>| / ||M||^2, unless bounds forbid it. Waits.
  void scale_start() {
    auto const modes = scalable_modes(m_options, order(), m_updates.are_penalised());
    compute_start_numbers();
    double by = std::abs(m_work.host_numbers(inner_product)) / m_work.host_numbers(model_norm_squared);
    by        = std::pow(by, 1 / static_cast<double>(modes.size()));
    for (int const n : modes) {
      multiply_start(m_space, m_work, n, m_updates[n].keeps_scale(), by, factor(n));
      sum_gram(n);  // the next kernels are launched on the same instance
    }
  }
  void sum_penalties() {
    m_penalties.sum(m_space, m_result.model.factors, m_rows, m_work.grams, m_work.scales.of_modes,
                    m_work.number(penalties));
  }
  [[nodiscard]] FormulaNumbers known_numbers() const {
    auto const& numbers = m_work.host_numbers;
    return {m_norm.squared, numbers(inner_product), numbers(model_norm_squared), numbers(component_norms)};
  }
  [[nodiscard]] ModelDefect defect() const {
    return m_degeneracy.defect(m_work.host_numbers(model_norm_squared), m_result.gram_fallbacks,
                               m_iterations * free_modes(m_options, order()));
  }
  /// The fit of the model with normalised columns, by the last formula if its error does not matter.
  [[nodiscard]] Fit final_fit() const {
    if (m_far_start) return *m_far_start;
    if (!m_tensor->is_readable()) return fit_of(m_formula);
    auto const fit = fit_of_iteration(m_formula);
    if (is_exact_enough<Scalar>(fit)) return fit;
    StoredCp<Scalar, Space> stored{m_result.model.factors, {}, m_result.model.weights};
    for (int n = 0; n < order(); ++n) stored.owned.push_back(owned_rows(n));
    return measured_fit_or(fit, m_space, *m_tensor, stored, m_norm.scale, m_rows);
  }
  /// Calls what a rank allocates by itself. \throws on all ranks if it throws on one
  template <class F>
  auto allocated(F const& make) const {
    return m_rows.together(make);
  }
  [[nodiscard]] std::vector<count_t> owned_counts() const {
    std::vector<count_t> counts;
    for (int n = 0; n < order(); ++n) counts.push_back(m_rows.rows(n));
    return counts;
  }
  [[nodiscard]] int order() const { return m_tensor->extents().order(); }
  [[nodiscard]] FactorMatrix<Scalar, Space> const& factor(int n) const { return m_result.model.factors[n]; }
  [[nodiscard]] FactorMatrix<Scalar, Space> owned_rows(int n) const { return m_rows.owned(n, factor(n)); }
  void sum_gram(int n) {
    auto const A = owned_rows(n);
    if (A.extent(0) > 0)
      gram(m_space, A, m_work.memory.gram_sums, m_work.gram_of(n));
    else
      clear_sums(n);
    sum_over_ranks(n);
  }
  void sum_over_ranks(int n) {
    m_work.for_each_sum(n, [&](auto const& numbers) { m_rows.sum(numbers.data(), numbers.extent(0)); });
  }
  /// A rank without rows of mode n adds zeros.
  void clear_sums(int n) {
    m_work.for_each_sum(n, [&](auto const& numbers) { Kokkos::deep_copy(m_space, numbers, 0.0); });
  }
  /// Computes what the update of mode n needs of the other modes, and the weights for it.
  void prepare(int n, FitNumber fallbacks) {
    enqueue_after(m_algebra, m_space);  // after the last update: it computes a Gram matrix
    m_timer(m_algebra, "normal_equations", [&] {
      auto const next = m_updates.next_weights(n, std::sqrt(m_norm.squared) / target_norm(n));
      auto const H = make_hadamard(m_work.grams, n, m_component_norm, next, m_work.scales, m_work.hadamard);
      m_updates.prepare(m_algebra, n, H, m_work.problem(n, fallbacks));
    });
  }
  /// Computes factor n and its Gram matrix, and <X, M> too for the last mode.
  void apply(int n, FactorMatrix<Scalar, Space> const& V, bool is_trial) {
    enqueue_after(m_space, m_algebra);
    m_timer(m_space, "update", [&] {
      if (V.extent(0) == 0) return clear_sums(n);
      auto problem        = m_work.problem(n, is_trial ? trial_fallbacks : gram_fallbacks);
      problem.tensor_norm = std::sqrt(m_norm.squared) / m_norm.scale;
      if (m_updates.is_solved(n) && m_singular.is_expected()) problem.weights_before = m_work.scales.before;
      if (m_updates.is_looked_at(n) && (is_trial || m_scale_is_known))  // the first of two updates
        m_solved_change.measure(m_space, problem, V, owned_rows(n), m_updates.ridge(n));
      m_updates[n].apply(m_space, problem, V, owned_rows(n), m_work.sums(n, is_trial));
    });
    sum_over_ranks(n);
    if (double const slack = m_updates.slack_after(n); slack > 0) scale(n, owned_rows(n), slack);
  }
  /// Brings the columns' norms near their target, unless they are within a factor `slack` of it.
  void scale(int n, FactorMatrix<Scalar, Space> const& A, double slack) {
    scale_columns(m_space, A, m_work.gram_of(n), {target_norm(n), slack}, m_work.scales.weights,
                  m_work.scale_of(n), m_work.column_factors);
  }
  [[nodiscard]] double target_norm(int n) const { return column_norm(m_rows.extents()[n]); }

  Space m_space;
  Space m_algebra;
  Tensor m_facts;
  std::shared_ptr<FormatInterface<Scalar, Space> const> m_tensor;
  RowDistribution<Scalar, Space>& m_rows;
  ScaledNorm m_norm;  // all numbers here but state()'s are those of the tensor times m_norm.scale
  CpAlsOptions m_options;
  StopRule m_rule;
  SquaredNorms m_formula{1, 1, std::numeric_limits<double>::infinity()};  // those of the last iteration
  std::optional<Fit> m_far_start;                                         // fit_of_far_start
  Degeneracy m_degeneracy;
  SingularHistory<Space> m_singular;
  Work m_work;
  Updates m_updates;
  Penalties m_penalties;
  SolvedChange<Space> m_solved_change;
  std::unique_ptr<ErasedWorkspace> m_format_workspace;
  PhaseTimer m_timer;
  Kokkos::Timer m_clock;
  CpAlsResult<Scalar, Space> m_result;
  int m_iterations        = 0;      // iterations that have ended, including those before a checkpoint
  double m_component_norm = 1;      // product of the norms near which the modes' columns are kept
  bool m_scale_is_known   = false;  // the weights are those of a model whose scale was fitted to X
};

#define POLYAD_CP_ALS_BODY(Scalar) template class CpAlsBody<Scalar, Kokkos::DefaultExecutionSpace>
POLYAD_EACH_SCALAR(extern, POLYAD_CP_ALS_BODY);

}  // namespace polyad::detail
