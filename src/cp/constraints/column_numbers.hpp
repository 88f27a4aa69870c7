// SPDX-License-Identifier: BSD-3-Clause
// The numbers of each column of a mode with bounds and penalties, from the mode's H and its penalties.
#pragma once

#include <Kokkos_Core.hpp>

#include "dense/dense_tuning.hpp"
#include "dense/power_of_two.hpp"
#include "dense/update/hadamard_of_grams.hpp"
#include "polyad/core/types.hpp"
#include "polyad/cp/factor_update.hpp"
#include "polyad/tensor/constraints.hpp"

namespace polyad::detail {

/// The numbers of each column that all rows share: 8 x R.
enum ColumnNumber : int {
  inverse_curvature,  // 1 / (H_rr + ridge); negative: H_rr and the penalties are 0, and the column stays;
                      // 0: the penalties alone count, and the entries become as small as the bounds allow
  threshold,          // the t of soft(z, t)
  column_length,      // H_rr^(1/2): a change of x_r by d changes the model by d H_rr^(1/2)
  added_curvature,    // that of the ridge
  column_weight,      // w_r, a power of two
  inverse_weight,     // 1 / w_r
  column_root,        // d_r, the power of two below H_rr^(1/2); 1 if that is 0
  inverse_root,       // 1 / d_r
  column_numbers
};

template <class Space>
using ColumnNumbers = Kokkos::View<double**, Kokkos::LayoutRight, typename Space::device_type>;

/// Column numbers of a problem whose s is 1 if there are penalties.
template <class Space>
struct PrepareColumns {
  ModeProblem<Space> problem;
  Constraints constraints;
  ColumnNumbers<Space> columns;

  KOKKOS_FUNCTION void operator()(count_t r) const {
    if (!is_scale(problem.weights(r))) return stay(r);
    double const square = problem.H(r, r);
    double const ratio  = problem.of_tensor / problem.weights(r);
    // The ratio may be infinite for values near the ends of their range.
    double const ridge            = constraints.ridge > 0 ? constraints.ridge * ratio * ratio : 0;
    double const l1               = constraints.l1 > 0 ? constraints.l1 * problem.of_tensor * ratio : 0;
    double const curvature        = square + ridge;
    bool const is_flat            = curvature < 0x1p-1000;  // its inverse would leave the range of doubles
    bool const is_steep           = curvature > 0x1p1000;   // a ridge on a component that almost vanished
    double const flat             = l1 > 0 ? 0 : -1;
    columns(inverse_curvature, r) = is_flat ? flat : is_steep ? 0 : 1 / curvature;
    columns(threshold, r)         = l1;
    columns(column_length, r)     = Kokkos::sqrt(square);
    columns(added_curvature, r)   = is_steep ? 0 : ridge;
    columns(column_weight, r)     = problem.weights(r);
    columns(inverse_weight, r)    = 1 / problem.weights(r);
    store_root(r, columns(column_length, r));
  }
  KOKKOS_FUNCTION void store_root(count_t r, double length) const {
    double const root        = is_scale(length) ? power_of_two_below(length) : 1;
    columns(column_root, r)  = root;
    columns(inverse_root, r) = 1 / root;
  }
  /// A component that has vanished: no number of its column changes the model. The column becomes 0.
  KOKKOS_FUNCTION void stay(count_t r) const {
    for (int n = 0; n < column_numbers; ++n) columns(n, r) = 0;
    columns(inverse_curvature, r) = -1;
    store_root(r, 0);
  }
};

/// Forms H and the weights first, each in the thread that reads it.
template <class Space>
struct FormAndPrepareColumns {
  HadamardOfGrams<Space> hadamard;
  PrepareColumns<Space> prepare;

  KOKKOS_FUNCTION void operator()(count_t e) const {
    hadamard(e);
    count_t const rank = prepare.columns.extent(1);
    if (e / rank == e % rank) prepare(e % rank);
  }
};

/// soft(z, t) = sign(z) max(|z| - t, 0).
template <class Number>
[[nodiscard]] KOKKOS_FORCEINLINE_FUNCTION Number softened(Number z, Number t) {
  if (!(t > 0)) return z;
  return z > t ? z - t : z < -t ? z + t : Number(0);
}

/// The number within the bounds that is nearest to `number`. NaN stays NaN.
template <class Number>
[[nodiscard]] KOKKOS_FORCEINLINE_FUNCTION Number clipped(Number number, Number low, Number high) {
  return number < low ? low : number > high ? high : number;
}

/// The same, rounded to Scalar.
template <class Scalar, class Number>
[[nodiscard]] KOKKOS_FORCEINLINE_FUNCTION Number entry_within(Number a, Number lower, Number upper) {
  return static_cast<Number>(static_cast<Scalar>(clipped(a, lower, upper)));
}

/// An entry of a row that has been improved, or NaN if V has left the range of its precision: bounds would
/// make a number of an infinite entry, and the objective could rise unnoticed.
/// \param g  the entry's v - H x
template <class Number>
[[nodiscard]] KOKKOS_FORCEINLINE_FUNCTION Number entry_in_range(Number entry, Number g) {
  return g - g == 0 ? entry : Kokkos::Experimental::quiet_NaN_v<Number>;
}

/// \param hadamard  forms H and w first, in the same launch; null if they are there
/// Launches on `space` and returns without waiting.
template <class Space>
void prepare_columns(Space const& space, ModeProblem<Space> const& problem, Constraints const& constraints,
                     ColumnNumbers<Space> const& columns, HadamardOfGrams<Space> const* hadamard = nullptr) {
  using Range        = Kokkos::RangePolicy<Space, Kokkos::IndexType<count_t>>;
  count_t const rank = columns.extent(1);
  PrepareColumns<Space> const prepare{problem, constraints, columns};
  if (hadamard == nullptr)
    Kokkos::parallel_for("polyad::prepare_columns", Range(space, 0, rank), prepare);
  else
    Kokkos::parallel_for("polyad::form_and_prepare_columns", without_waiting(Range(space, 0, rank * rank)),
                         FormAndPrepareColumns<Space>{*hadamard, prepare});
}

}  // namespace polyad::detail
