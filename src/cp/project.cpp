// SPDX-License-Identifier: BSD-3-Clause
#include "polyad/cp/project.hpp"

#include <cmath>
#include <cstddef>
#include <memory>
#include <vector>

#include "cp/constraints/constrained_update.hpp"
#include "cp/constraints/run_penalties.hpp"
#include "cp/cp_als_workspace.hpp"
#include "cp/least_squares.hpp"
#include "cp/run/iteration_numbers.hpp"
#include "cp/run/numbers_on_host.hpp"
#include "dense/gram.hpp"
#include "dense/update/hadamard_of_grams.hpp"
#include "fit/fit.hpp"
#include "polyad/core/error.hpp"
#include "polyad/cp/factor_update.hpp"
#include "run/row_distribution.hpp"

namespace polyad {

using namespace detail;

namespace detail {

/// Multiplies the rows and columns of H, and the columns of V, by signs: -1, 0 or 1.
template <class Space, class Scalar>
struct SignProblem {
  GramMatrix<Space> H;
  FactorMatrix<Scalar, Space> V;
  DeviceNumbers<Space> signs;

  KOKKOS_FUNCTION void operator()(count_t e) const {
    count_t const rank = V.extent(1), all = V.extent(0) * rank;
    if (e < all)
      V(e / rank, e % rank) *= static_cast<Scalar>(signs(e % rank));
    else
      H((e - all) / rank, (e - all) % rank) *= signs((e - all) / rank) * signs((e - all) % rank);
  }
};

}  // namespace detail

namespace {

template <class Scalar, class Space>
Constraints constraints_of(Ktensor<Scalar, Space> const& model, int mode) {
  return model.constraints.empty() ? Constraints() : model.constraints[mode];
}

/// \throws UsageError
template <class Scalar, class Space>
void expect_projectable(Ktensor<Scalar, Space> const& model, FormatInterface<Scalar, Space> const& X,
                        int mode) {
  int const order = model.factors.order();
  POLYAD_EXPECTS(X.extents().order() == order, "the model has ", order, " modes, and the tensor ",
                 X.extents().order());
  POLYAD_EXPECTS(mode >= 0 && mode < order, "mode ", mode, " of a model with modes 0 to ", order - 1);
  POLYAD_EXPECTS(model.weights.size() == model.factors.rank(), "the model has ", model.weights.size(),
                 " weights and the rank ", model.factors.rank());
  POLYAD_EXPECTS(model.constraints.empty() || std::ssize(model.constraints) == order,
                 "the model has constraints of ", model.constraints.size(), " modes, not of ", order);
  for (int n = 0; n < order; ++n)
    POLYAD_EXPECTS(n == mode || model.factors[n].extent(0) == X.extents()[n], "mode ", n,
                   " of the tensor has ", X.extents()[n], " rows, and the model's has ",
                   model.factors[n].extent(0));
  expect_no_duplicates(X);
}

/// s of a mode with only a ridge: the share of the weights that its columns have in a model without weights.
/// At the minimum, all modes of this kind have the same penalty, ridge s^2 / 2 (Acar, Dunlavy & Kolda, 2011).
template <class Scalar, class Space>
std::vector<double> scales_of(Ktensor<Scalar, Space> const& model, int mode) {
  auto const has_share = [&](int n) {
    auto const c = constraints_of(model, n);
    return c.is_unconstrained() && c.ridge > 0;
  };
  std::vector<double> scales(model.weights.size(), 1.0);
  if (!has_share(mode)) return scales;
  int modes        = 0;
  double logarithm = 0;  // the sum of the logarithms of their ridges
  for (int n = 0; n < model.factors.order(); ++n) {
    if (!has_share(n)) continue;
    ++modes;
    logarithm += std::log(constraints_of(model, n).ridge);
  }
  double const factor = std::exp((logarithm / modes - std::log(constraints_of(model, mode).ridge)) / 2);
  for (std::size_t r = 0; r < scales.size(); ++r)
    scales[r] = factor * std::pow(std::abs(model.weights[r]), 1.0 / modes);
  return scales;
}

/// The model's weights in the problem of the mode: their sizes as its weights, their signs in H and V.
template <class Scalar, class Space>
void set_weights(Space const& space, Ktensor<Scalar, Space> const& model, int mode,
                 CpAlsWorkspace<Scalar, Space> const& work, FactorMatrix<Scalar, Space> const& V) {
  // The column of a component of weight 0 becomes 0, or the bound that is nearest to 0.
  auto sizes = model.weights, signs = model.weights;
  for (std::size_t r = 0; r < sizes.size(); ++r) {
    signs[r] = sizes[r] > 0 ? 1 : sizes[r] < 0 ? -1 : 0;
    sizes[r] = sizes[r] == 0 ? 1 : std::abs(sizes[r]);
  }
  to_device<Space>(space, signs, work.column_factors);
  to_device<Space>(space, sizes, work.scales.weights);
  to_device<Space>(space, scales_of(model, mode), work.scale_of(mode));
  Kokkos::parallel_for("polyad::sign_problem",
                       Kokkos::RangePolicy<Space, Kokkos::IndexType<count_t>>(
                           space, 0, (V.extent(0) + V.extent(1)) * V.extent(1)),
                       SignProblem<Space, Scalar>{work.hadamard, V, work.column_factors});
}

template <class Scalar, class Space>
std::unique_ptr<FactorUpdate<Scalar, Space>> exact_update(Space const& space, UpdateSite const& site,
                                                          Constraints const& constraints) {
  if (constraints.is_unconstrained())
    return std::make_unique<LeastSquares<Scalar, Space>>(
        std::make_shared<InverseMemory<Scalar, Space> const>(space, site.rank), constraints.ridge);
  return std::make_unique<ConstrainedUpdate<Scalar, Space>>(
      space, site, constraints, exact_inner, memory_of_rows<Scalar>(space, site.rows, site.rank));
}

/// \throws NumericalError
template <class Scalar, class Space>
Projection<Scalar, Space> projection_of(FactorMatrix<Scalar, Space> const& rows, double norm_squared,
                                        CpAlsWorkspace<Scalar, Space> const& work, int order) {
  auto const& numbers = work.host_numbers;
  FormulaNumbers const known{norm_squared, numbers(inner_product), numbers(model_norm_squared),
                             numbers(component_norms)};
  auto const squares = squares_of_formula<Scalar>(known, order);
  Projection<Scalar, Space> result;
  result.rows      = rows;
  result.fit       = fit_of_iteration(squares).value;
  result.objective = std::max(squares.residual, 0.0) / 2 + numbers(penalties);
  if (std::isnan(result.objective)) throw NumericalError("the fit of the new rows is not a finite number");
  return result;
}

}  // namespace

template <class Scalar, class Space>
Projection<Scalar, Space> project(Space const& space, Ktensor<Scalar, Space> const& model,
                                  AnyFormat<Scalar, Space> const& X, int mode) {
  auto const& inside = *X.erased();
  expect_projectable(model, inside, mode);
  count_t const rank = model.factors.rank(), rows = X.extents()[mode];
  auto const bounds = constraints_of(model, mode);
  auto const choice = bounds.is_unconstrained() ? ridge(bounds.ridge) : constrained(bounds, exact_inner);
  double const norm_squared = inside.norm_squared();
  if (!std::isfinite(norm_squared)) throw NumericalError("the tensor's norm is not a finite number");

  RowDistribution<Scalar, Space> here(space, X.extents());  // this process has all rows
  CpAlsWorkspace<Scalar, Space> work(space, X.extents(), rank, here);
  work.last_mode        = mode;
  auto factors          = model.factors;
  factors[mode]         = make_factor_matrix<Scalar>(space, "polyad::projected_rows", rows, rank);
  factors               = with_packed_rows(space, factors);
  auto const A          = factors[mode];
  auto const V          = work.output(rows);
  auto const for_mttkrp = inside.make_workspace(space, rank);
  inside.do_mttkrp(space, factors, mode, for_mttkrp.get(), V);
  for (int n = 0; n < factors.order(); ++n)
    if (n != mode) gram(space, factors[n], work.memory.gram_sums, work.gram_of(n));
  hadamard_of_grams(space, make_hadamard(work.grams, mode, 1, {false, 0}, work.scales, work.hadamard));

  set_weights(space, model, mode, work, V);
  auto const update  = exact_update<Scalar>(space, {mode, rows, rank}, bounds);
  auto const problem = work.problem(mode, gram_fallbacks);
  auto sums          = work.sums(mode, false);
  sums.is_trial      = true;
  update->prepare(space, problem);
  update->apply(space, problem, V, A, sums);
  to_device<Space>(space, model.weights, work.column_factors);
  model_norm(space, work.grams, work.column_factors, work.numbers);
  std::vector<ModeUpdate> choices(factors.order());
  choices[mode] = choice;
  RunPenalties<Scalar, Space> const penalty(space, choices);
  penalty.sum(space, factors, here, work.grams, work.scales.of_modes, work.number(penalties));
  Kokkos::deep_copy(space, work.host_numbers, work.numbers);
  space.fence("polyad::project");

  return projection_of(A, norm_squared, work, factors.order());
}

#define POLYAD_PROJECT(Scalar)                                                              \
  template Projection<Scalar, CompiledSpace> project(CompiledSpace const&,                  \
                                                     Ktensor<Scalar, CompiledSpace> const&, \
                                                     AnyFormat<Scalar, CompiledSpace> const&, int)
POLYAD_EACH_SCALAR(, POLYAD_PROJECT);

}  // namespace polyad
