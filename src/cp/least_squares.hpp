// SPDX-License-Identifier: BSD-3-Clause
// LeastSquares: the update of a mode by least squares, with a ridge or without one. prepare() inverts H, so
// that apply() is one product with V, in the same pass as its sums (dense/update/update_factor.hpp). If H is
// singular or nearly so, it starts from the factor that is there (cp/correct_rows.hpp).
#pragma once

#include <Kokkos_Core.hpp>
#include <memory>
#include <utility>

#include "cp/correct_rows.hpp"
#include "cp/update_memory.hpp"
#include "dense/dense_tuning.hpp"
#include "dense/update/normal_equations.hpp"
#include "dense/update/update_factor.hpp"
#include "polyad/core/spaces.hpp"
#include "polyad/cp/factor_update.hpp"

namespace polyad::detail {

/// The inverse and the scratch for it, which all modes of a run share.
template <class Scalar, class Space>
struct InverseMemory {
  /// \throws MemoryError before allocating
  InverseMemory(Space const& space, count_t rank) {
    expect_fits(space, "the normal equations", normal_equations_scratch(rank), sizeof(double));
    inverse = make_factor_matrix<Scalar>(space, "polyad::inverse_gram", rank, rank);
    scratch = DeviceNumbers<Space>(Kokkos::view_alloc(space, "polyad::normal_equations"),
                                   normal_equations_scratch(rank));
  }
  FactorMatrix<Scalar, Space> inverse;  // R x R
  DeviceNumbers<Space> scratch;
};

template <class Scalar, class Space>
class LeastSquares final : public FactorUpdate<Scalar, Space> {
public:
  using Memory  = std::shared_ptr<InverseMemory<Scalar, Space> const>;
  using Problem = ModeProblem<Space>;
  using Matrix  = FactorMatrix<Scalar, Space>;
  using Sums    = UpdateSums<Space>;

  /// \param penalty  that of the ridge; 0: none
  LeastSquares(Memory memory, double penalty) : m_memory(std::move(memory)), m_penalty(penalty) {}

  [[nodiscard]] bool needs_start() const override { return false; }
  [[nodiscard]] bool is_penalised() const override { return m_penalty > 0; }

  void prepare(Space const& space, Problem const& problem) override { invert(space, problem, nullptr); }
  /// The same before the problem's H and weights are there, with what forms them.
  void prepare(Space const& space, Problem const& problem, HadamardOfGrams<Space> const& hadamard) {
    invert(space, problem, &hadamard);
  }
  void apply(Space const& space, Problem const& problem, Matrix const& V, Matrix const& A,
             Sums const& sums) override {
    if (m_may_be_singular && problem.weights_before.data() != nullptr) {
      correct_rows(space, problem, m_penalty, m_memory->inverse, V, A);
      return sum_update(space, problem, V, A, sums);
    }
    auto const inner = inner_product_sums<Space>(sums, problem.weights);
    // A ridge may change a component's norm by any factor, until the modes have shared its scale evenly.
    bool const is_wide = is_penalised() && sizeof(Scalar) < sizeof(double);
    if (sums.is_trial || is_wide)
      update_factor_by(SeparateUpdate{}, space, V, m_memory->inverse, A, sums.memory->gram_sums, sums.gram,
                       inner, Squares::in_any_range);
    else
      update_factor(space, V, m_memory->inverse, A, sums.memory->gram_sums, sums.gram, inner);
  }

private:
  void invert(Space const& space, Problem const& problem, HadamardOfGrams<Space> const* hadamard) {
    bool const may_have_vanished = hadamard != nullptr && hadamard->next.least_norm > 0;
    ScaledHadamard<Space> const matrix{problem.H,         problem.weights, problem.scale,
                                       problem.of_tensor, m_penalty,       may_have_vanished};
    double const before = counted(problem.fallbacks);
    normal_equations(space, matrix, m_memory->scratch, problem.fallbacks, m_memory->inverse, hadamard);
    m_may_be_singular = !sees_singular_at_once<Space> || counted(problem.fallbacks) > before;
  }
  /// How many H were singular or nearly so, on a host. On a device, the run decides by weights_before whether
  /// an H may be singular (cp/run/singular_history.hpp).
  [[nodiscard]] static double counted(typename Problem::Counter const& fallbacks) {
    double sum = 0;
    if constexpr (sees_singular_at_once<Space>)
      for (count_t k = 0; k < fallbacks.extent(0); ++k) sum += fallbacks(k);
    return sum;
  }

  Memory m_memory;
  double m_penalty;
  bool m_may_be_singular = false;  // the H of prepare()
};

}  // namespace polyad::detail
