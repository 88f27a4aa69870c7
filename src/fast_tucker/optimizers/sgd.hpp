// SPDX-License-Identifier: BSD-3-Clause
// The optimizer sgd. Its epochs are those of Li et al. ("cuFasterTucker", 2022, Algorithms 1 and 2), with the
// sweeps of formats/format.hpp. First comes a factor sweep for each mode in turn. Then, for each mode in
// turn, a core sweep and
//
//   B <- B + gamma_B (P / |Omega| - ridge B),     P the sum over all observations of e a' p
//
// Each of these steps is followed by C^(n) = A^(n) B^(n). Rates decay as gamma(t) = gamma / (1 + decay
// t^1.5), where t counts the finished epochs.
#pragma once

#include <Kokkos_Core.hpp>
#include <array>

#include "dense/transposed_product.hpp"
#include "fast_tucker/optimizers/gradients.hpp"
#include "fast_tucker/optimizers/optimizer.hpp"
#include "polyad/fast_tucker/fast_tucker.hpp"
#include "polyad/formats/format.hpp"

namespace polyad::detail {

/// \throws MemoryError
template <class Scalar, class Space>
SgdWorkspace<Scalar, Space> make_sgd_workspace(Space const& space,
                                               FastTuckerModel<Scalar, Space> const& model, int n) {
  count_t const J = model.columns(n), R = model.rank();
  return {make_factor_matrix<Scalar>(space, "polyad::transposed_core", R, J),
          make_factor_matrix<Scalar>(space, "polyad::core_gradient", J, R),
          make_transposed_product_workspace(space, J, R)};
}

template <class Scalar, class Space>
struct ScaleRows {
  FactorMatrix<Scalar, Space> matrix;
  Scalar scale;
  KOKKOS_FUNCTION void operator()(count_t entry) const {
    matrix(entry / matrix.extent(1), entry % matrix.extent(1)) *= scale;
  }
};

template <class Scalar, class Space>
struct SgdCoreStep {
  FactorMatrix<Scalar, Space> P;
  Scalar step;    // gamma_B / |Omega|
  Scalar shrink;  // gamma_B ridge
  FactorMatrix<Scalar, Space> B;
  KOKKOS_FUNCTION void operator()(count_t entry) const {
    count_t const j = entry / B.extent(1), r = entry % B.extent(1);
    B(j, r) += step * P(j, r) - shrink * B(j, r);
  }
};

template <class Space>
Kokkos::RangePolicy<Space, Kokkos::IndexType<count_t>> each_entry(Space const& space, count_t rows,
                                                                  count_t columns) {
  return {space, 0, rows * columns};
}

[[nodiscard]] inline SgdForm form_of(SgdRates const& rates) {
  return {rates.intermediates, rates.share_fibers};
}

/// Updates the factors of mode n. A ridge per entry acts in the sweep, once for every observation, as in the
/// paper. A ridge per row acts once after the sweep, as a <- a / (1 + step ridge). That step has the same
/// rate and is stable for any rate. Launches on `space` and returns without waiting.
template <class F>
void sgd_factor_step(typename F::space_type const& space, F const& X,
                     FastTuckerModel<typename F::scalar_type, typename F::space_type> const& model, int n,
                     SgdRates const& rates, int epoch, double ridge, bool ridge_per_entry,
                     FactorMatrices<typename F::scalar_type, typename F::space_type> const& C,
                     SgdWorkspace<typename F::scalar_type, typename F::space_type> const& workspace) {
  using Scalar      = typename F::scalar_type;
  double const step = rates.step * rates.share(epoch);
  scaled_transpose(space, 1.0, model.B(n), workspace.transposed);
  sgd_factor_sweep(space, X, model, C, n, SgdStep{step, ridge_per_entry ? ridge : 0}, form_of(rates),
                   workspace);
  auto const& A = model.A(n);
  if (ridge > 0 && !ridge_per_entry)
    Kokkos::parallel_for(
        "polyad::sgd_ridge", detail::each_entry(space, A.extent(0), A.extent(1)),
        detail::ScaleRows<Scalar, typename F::space_type>{A, static_cast<Scalar>(1 / (1 + step * ridge))});
  if (rates.intermediates) form_intermediates(space, model, n, C);
}

/// Updates the core matrix of mode n. Launches on `space` and returns without waiting.
template <class F>
void sgd_core_step(typename F::space_type const& space, F const& X,
                   FastTuckerModel<typename F::scalar_type, typename F::space_type> const& model, int n,
                   SgdRates const& rates, int epoch, double core_ridge,
                   FactorMatrices<typename F::scalar_type, typename F::space_type> const& C,
                   SgdWorkspace<typename F::scalar_type, typename F::space_type> const& workspace) {
  using Scalar      = typename F::scalar_type;
  double const step = rates.core_step * rates.share(epoch);
  sgd_core_sweep(space, X, model, C, n, form_of(rates), workspace);
  auto const& B = model.B(n);
  Kokkos::parallel_for("polyad::sgd_core_step", detail::each_entry(space, B.extent(0), B.extent(1)),
                       detail::SgdCoreStep<Scalar, typename F::space_type>{
                           workspace.P, static_cast<Scalar>(step / static_cast<double>(X.nnz())),
                           static_cast<Scalar>(step * core_ridge), B});
  if (rates.intermediates) form_intermediates(space, model, n, C);
}

template <class Scalar, class Space>
class Sgd : public Optimizer {
public:
  using Run = FastTuckerOptimization<Scalar, Space>;

  explicit Sgd(Run const& run) : m_run(run) {
    for (int n = 0; n < run.order(); ++n) m_work[n] = make_sgd_workspace(run.space, run.model, n);
  }

  void run(int epoch) override {
    step_factors(epoch);
    if (m_run.options.update_cores) step_cores(epoch);
  }
  /// The two halves of an epoch. Without `sgd.intermediates`, C is out of date between them.
  void step_factors(int epoch) {
    auto const& options = m_run.options;
    for (int n = 0; n < m_run.order(); ++n)
      sgd_factor_step(m_run.space, m_run.X(n), m_run.model, n, options.sgd, epoch, m_run.ridge(),
                      options.ridge_per_entry, m_run.C, m_work[n]);
  }
  void step_cores(int epoch) {
    auto const& options = m_run.options;
    for (int n = 0; n < m_run.order(); ++n)
      sgd_core_step(m_run.space, m_run.X(n), m_run.model, n, options.sgd, epoch, options.core_ridge, m_run.C,
                    m_work[n]);
  }
  void form_C() const override {
    if (m_run.options.sgd.intermediates) return;
    for (int n = 0; n < m_run.order(); ++n) form_intermediates(m_run.space, m_run.model, n, m_run.C);
  }

private:
  Run const& m_run;
  std::array<SgdWorkspace<Scalar, Space>, max_order> m_work;
};

}  // namespace polyad::detail
