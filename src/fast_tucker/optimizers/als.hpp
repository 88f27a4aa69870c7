// SPDX-License-Identifier: BSD-3-Clause
// The optimizer als. For each mode in turn it solves a least-squares problem for every row of A^(n), with all
// its observations (formats/format.hpp), and takes one step of optimal length for B^(n) (core_step.hpp). With
// implicit feedback the cells without an entry add the same matrix to all rows of a mode
// (implicit_cells.hpp), B^(n) stays as it is, and rows take a few steps of conjugate gradients
// (FastTuckerOptions::cg_steps).
#pragma once

#include <Kokkos_Core.hpp>
#include <algorithm>
#include <array>
#include <optional>
#include <span>
#include <vector>

#include "dense/intermediates.hpp"
#include "fast_tucker/implicit/implicit_cells.hpp"
#include "fast_tucker/optimizers/core_step.hpp"
#include "fast_tucker/optimizers/optimizer.hpp"
#include "fast_tucker/optimizers/orthogonal_squares.hpp"
#include "fast_tucker/shrinkage.hpp"
#include "polyad/fast_tucker/fast_tucker.hpp"

namespace polyad::detail {

/// Up to this R, rows of implicit feedback are solved for. There is little to save: on ml-latest-small a fit
/// by three steps of conjugate gradients took 3/4 as long as by exact rows for R = 16, and 1/5 for R = 64.
inline constexpr count_t most_exact_rank = 8;

template <class Scalar, class Space>
class Als : public Optimizer {
public:
  using Run = FastTuckerOptimization<Scalar, Space>;

  /// \throws MemoryError
  explicit Als(Run const& run) : m_run(run), m_sweeps(run) {
    auto const& model = run.model;
    for (int n = 0; n < run.order(); ++n) {
      work(n).transposed =
          make_factor_matrix<Scalar>(run.space, "polyad::transposed_core", model.rank(), model.columns(n));
      if (steps_core(n))
        work(n).core = CoreStepWorkspace<Scalar, Space>(run.space, model, n);
      else if (model.columns(n) >= model.rank())
        work(n).squares = orthogonal_squares(run.space, model.B(n));
    }
    for (auto const& format : run.tensor.formats()) m_rows.push_back(format.make_row_workspace(run.space));
    count_t most = 0;
    for (auto const& format : run.tensor.formats()) most = std::max(most, format.nnz());
    m_sums    = make_row_sums(most, model.rank());
    m_squares = ColumnSquares<Scalar, Space>(run.space, model.order(), model.rank());
    if (run.options.implicit) m_cells.emplace(run.space, model.order(), model.rank());
  }

  void continue_run() override {
    for (int n = 0; n < m_run.order(); ++n) update_squares(n);
    update_cells();
  }

  void run(int /*epoch*/) override {
    for (int n = 0; n < m_run.order(); ++n) {
      if (m_run.between_modes) m_run.between_modes();
      solve_mode(n);
    }
    if (!draws_rows(m_run.options)) return;
    Kokkos::Array<bool, max_order> balanced{};
    for (int n = 0; n < m_run.order(); ++n) balanced[n] = target(n) == RowTarget::zero;
    m_squares.balance(m_run.space, m_run.model, m_run.C, balanced);
  }

  void save_numbers(FastTuckerState& state) const override { state.squares = m_squares.to_host(m_run.space); }
  [[nodiscard]] bool accepts(FastTuckerState const& state) const override {
    return state.moments.empty() &&
           state.squares.size() == static_cast<std::size_t>(m_run.order()) * m_run.model.rank();
  }
  void restore(FastTuckerState const& state) override {
    for (int n = 0; n < m_run.order(); ++n)
      if (!steps_core(n) && m_run.model.columns(n) >= m_run.model.rank())
        work(n).squares = orthogonal_squares(m_run.space, m_run.model.B(n));
    m_squares.from_host(m_run.space, state.squares);
    update_cells();
  }

  [[nodiscard]] std::optional<double> loss_without_entries() const override {
    if (!m_cells) return std::nullopt;
    double penalty = 0;
    for (int n = 0; n < m_run.order(); ++n) {
      auto const& A = m_run.model.A(n);
      if (target(n) == RowTarget::left_out || A.extent(0) == 0) continue;
      double squares = 0;
      Kokkos::parallel_reduce(
          "polyad::squared_rows",
          Kokkos::RangePolicy<Space, Kokkos::IndexType<count_t>>(m_run.space, 0, A.extent(0)),
          SumOfSquaredRows<Scalar, Space>{A, row_starts(n)[n], m_run.options.ridge_per_entry}, squares);
      penalty += squares;
    }
    m_run.rows().sum_on_host(std::span(&penalty, 1));
    return m_cells->squared_scores(m_run.space) + m_run.ridge() * penalty;
  }

private:
  using RowSums = decltype(RowProblem<Scalar, Space>::sums);
  struct Work {
    FactorMatrix<Scalar, Space> transposed;  // B', R x J
    double squares = 0;                      // B' B is this times the identity, where not 0
    CoreStepWorkspace<Scalar, Space> core;
  };

  [[nodiscard]] Work& work(int n) { return m_work[n]; }
  /// With shrinkage of C^(n) itself and J >= R, the rows of A^(n) alone reach the least loss, which a step of
  /// B^(n) could not lower.
  [[nodiscard]] bool steps_core(int n) const {
    auto const& options = m_run.options;
    return options.update_cores && !options.implicit &&
           !(draws_rows(options) && m_run.model.columns(n) >= m_run.model.rank());
  }
  [[nodiscard]] RowTarget target(int n) const {
    auto const& targets = m_run.options.targets;
    return targets.empty() ? RowTarget::zero : targets[static_cast<std::size_t>(n)];
  }
  [[nodiscard]] RowStarts<Space> const& row_starts(int n) const {
    return m_rows[m_run.tensor.format_number(n)];
  }
  void update_squares(int n) const {
    m_squares.update(m_run.space, n, m_run.own_C(n)[n], row_starts(n)[n], m_run.tensor.nnz(), m_sweeps.G(n));
    m_run.rows().sum(m_squares.of_columns(n), m_run.model.rank());
  }
  void update_cells(int n) const {
    if (m_cells) m_cells->update(m_run.space, n, m_run.own_C(n)[n], m_run.rows());
  }
  void update_cells() const {
    for (int n = 0; n < m_run.order(); ++n) update_cells(n);
  }
  /// \throws MemoryError
  [[nodiscard]] RowSums make_row_sums(count_t nnz, count_t rank) const {
    count_t const size = row_sums_size(nnz, rank);
    expect_fits(m_run.space, "the sums of long rows", size, sizeof(Scalar));
    return RowSums(uninitialized(m_run.space, "polyad::row_sums"), size);
  }

  /// The penalty that draws mode n's rows to their target. \pre draws_rows() or a target of one
  [[nodiscard]] RowPenalty<Space> penalty_of(int n) {
    Shrinkage const shrinkage = m_run.options.shrinkage.value_or(Shrinkage{});
    m_squares.set_unit(m_run.space, n);
    RowPenalty<Space> penalty;
    penalty.starts         = row_starts(n)[n];
    penalty.shrinkage.unit = m_squares.unit();
    if (target(n) == RowTarget::one) {
      penalty.shrinkage.nonzeros = shrinkage.to_one;
      penalty.shrinkage.target   = 1;
    } else {
      penalty.shrinkage.nonzeros = shrinkage.observations;
      penalty.shrinkage.share    = shrinkage.share;
    }
    return penalty;
  }

  void solve_mode(int n) {
    if (target(n) == RowTarget::left_out) return;
    auto const& options = m_run.options;
    auto const& model   = m_run.model;
    bool const is_drawn = draws_rows(options) || target(n) == RowTarget::one;
    scaled_transpose(m_run.space, 1.0, model.B(n), work(n).transposed);
    RowProblem<Scalar, Space> problem{model.B(n),
                                      work(n).transposed,
                                      is_drawn ? 0.0 : m_run.ridge(),
                                      options.ridge_per_entry,
                                      work(n).squares,
                                      m_sums};
    if (m_cells) {
      problem.alpha  = *options.implicit;
      problem.others = m_cells->others(m_run.space, n);
      problem.steps  = model.rank() > most_exact_rank ? options.cg_steps : 0;
      if (problem.steps > 0) problem.rounded = m_cells->rounded(m_run.space);
    }
    RowPenalty<Space> const penalty = is_drawn ? penalty_of(n) : RowPenalty<Space>{};
    auto const C                    = m_run.own_C(n);
    if (C[n].extent(0) > 0)
      least_squares_rows(m_run.space, m_run.X(n), C, n, problem, row_starts(n), model.A(n),
                         penalty.shrinkage);
    form_intermediates(m_run.space, model, n, C);
    if (steps_core(n))
      core_step(m_run.space, m_run.X(n), model, n, options.core_ridge, C, m_sweeps.workspace(n), work(n).core,
                m_sweeps.G(n), penalty, m_run.rows());
    m_run.rows().gather_rows(n, m_run.C[n]);
    update_cells(n);
    if (draws_rows(options) || !options.targets.empty()) update_squares(n);
  }

  Run const& m_run;
  ResidualSweeps<Scalar, Space> m_sweeps;
  std::vector<RowStarts<Space>> m_rows;  // one per format
  RowSums m_sums;                        // shared by all modes
  ColumnSquares<Scalar, Space> m_squares;
  std::optional<ImplicitCells<Scalar, Space>> m_cells;
  std::array<Work, max_order> m_work;
};

}  // namespace polyad::detail
