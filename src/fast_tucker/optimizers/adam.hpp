// SPDX-License-Identifier: BSD-3-Clause
// The optimizer adam for the matrices of a model (Kingma & Ba, "Adam: a method for stochastic optimization",
// ICLR 2015, Algorithm 1). A residual sweep gives the whole gradient of a mode at once, so this is its
// full-batch form.
#pragma once

#include <Kokkos_Core.hpp>
#include <array>
#include <cmath>

#include "dense/intermediates.hpp"
#include "fast_tucker/optimizers/gradients.hpp"
#include "fast_tucker/optimizers/optimizer.hpp"
#include "polyad/fast_tucker/fast_tucker.hpp"
#include "polyad/tensor/factor_matrices.hpp"

namespace polyad::detail {

/// The decaying means of the gradient and of its square.
template <class Scalar, class Space>
struct AdamState {
  AdamState() = default;
  AdamState(Space const& space, FactorMatrix<Scalar, Space> const& matrix)
      : mean(make_factor_matrix<Scalar>(space, "polyad::adam_mean", matrix.extent(0), matrix.extent(1))),
        square(make_factor_matrix<Scalar>(space, "polyad::adam_square", matrix.extent(0), matrix.extent(1))) {
  }
  FactorMatrix<Scalar, Space> mean;
  FactorMatrix<Scalar, Space> square;
};

template <class Scalar, class Space>
struct AdamStep {
  FactorMatrix<Scalar, Space> matrix;
  FactorMatrix<Scalar, Space> gradient;
  AdamState<Scalar, Space> state;
  Scalar ridge;
  Scalar first;
  Scalar second;
  Scalar step;    // alpha / (1 - beta_1^t)
  Scalar shrink;  // 1 / sqrt(1 - beta_2^t)
  Scalar epsilon;
  KOKKOS_FUNCTION void operator()(count_t entry) const {
    count_t const i    = entry / matrix.extent(1);
    count_t const j    = entry % matrix.extent(1);
    Scalar const g     = gradient(i, j) + ridge * matrix(i, j);
    Scalar const m     = first * state.mean(i, j) + (1 - first) * g;
    Scalar const v     = second * state.square(i, j) + (1 - second) * g * g;
    state.mean(i, j)   = m;
    state.square(i, j) = v;
    matrix(i, j) -= step * m / (Kokkos::sqrt(v) * shrink + epsilon);
  }
};

/// Step t (counted from 1) for a matrix with the given gradient of the loss, to which ridge times the matrix
/// is added. Launches on `space` and returns without waiting.
template <class Scalar, class Space>
void adam_step(Space const& space, AdamRates const& rates, int t, double ridge,
               FactorMatrix<Scalar, Space> const& gradient, AdamState<Scalar, Space> const& state,
               FactorMatrix<Scalar, Space> const& matrix) {
  auto const scalar = [](double x) { return static_cast<Scalar>(x); };
  Kokkos::parallel_for(
      "polyad::adam_step",
      Kokkos::RangePolicy<Space, Kokkos::IndexType<count_t>>(space, 0, matrix.extent(0) * matrix.extent(1)),
      detail::AdamStep<Scalar, Space>{
          matrix, gradient, state, scalar(ridge), scalar(rates.first), scalar(rates.second),
          scalar(rates.step / (1 - std::pow(rates.first, t))),
          scalar(1 / std::sqrt(1 - std::pow(rates.second, t))), scalar(rates.epsilon)});
}

template <class Scalar, class Space>
class Adam : public Optimizer {
public:
  using Run = FastTuckerOptimization<Scalar, Space>;

  explicit Adam(Run const& run) : m_run(run), m_sweeps(run) {
    auto const like = [&](FactorMatrix<Scalar, Space> const& matrix) {
      return make_factor_matrix<Scalar>(run.space, "polyad::gradient", matrix.extent(0), matrix.extent(1));
    };
    for (int n = 0; n < run.order(); ++n) {
      Work& work    = m_work[n];
      work.gradient = make_gradient_workspace(run.space, run.model, n);
      work.dA       = like(run.model.A(n));
      work.dB       = like(run.model.B(n));
      work.A        = {run.space, run.model.A(n)};
      work.B        = {run.space, run.model.B(n)};
    }
  }

  void run(int epoch) override {
    auto const& options = m_run.options;
    for (int n = 0; n < m_run.order(); ++n) {
      Work& work = m_work[n];
      residual_mttkrp(m_run.space, m_run.X(n), m_run.C, n, m_sweeps.workspace(n), m_sweeps.G(n));
      gradients(m_run.space, m_run.model, n, m_sweeps.G(n), work.gradient, work.dA, work.dB);
      adam_step(m_run.space, options.adam, epoch, m_run.ridge(), work.dA, work.A, m_run.model.A(n));
      if (options.update_cores)
        adam_step(m_run.space, options.adam, epoch, options.core_ridge, work.dB, work.B, m_run.model.B(n));
      form_intermediates(m_run.space, m_run.model, n, m_run.C);
    }
  }

  void put_matrices(FastTuckerSnapshot& snapshot) const override {
    for (int n = 0; n < m_run.order(); ++n)
      for (auto const* state : {&m_work[n].A, &m_work[n].B}) {
        snapshot.moments.push_back(m_run.in_blocks(state->mean));
        snapshot.moments.push_back(m_run.in_blocks(state->square));
      }
  }
  [[nodiscard]] bool accepts(FastTuckerState const& state) const override {
    return state.moments.size() == 4 * static_cast<std::size_t>(m_run.order()) && state.squares.empty();
  }
  void restore(FastTuckerState const& state) override {
    auto const* moments = state.moments.data();
    for (int n = 0; n < m_run.order(); ++n)
      for (auto* of : {&m_work[n].A, &m_work[n].B}) {
        from_host<Scalar>(m_run.space, *moments++, of->mean);
        from_host<Scalar>(m_run.space, *moments++, of->square);
      }
  }

private:
  struct Work {
    GradientWorkspace<Scalar, Space> gradient;
    FactorMatrix<Scalar, Space> dA, dB;
    AdamState<Scalar, Space> A, B;
  };
  Run const& m_run;
  ResidualSweeps<Scalar, Space> m_sweeps;
  std::array<Work, max_order> m_work;
};

}  // namespace polyad::detail
