// SPDX-License-Identifier: BSD-3-Clause
// The fit of a model M to a tensor X, 1 - ||X - M|| / ||X|| (Frobenius norms, the zeros of X included), and
// the bound of its error. Every driver, `polyad compare` and Python use these functions.
//
// An iteration gets ||X - M||^2 = ||X||^2 - 2 <X, M> + ||M||^2 cheaply, since its updates compute these
// numbers anyway. But the difference cancels: its error is that of the largest term, which may exceed the
// result if M is close to X. formula_error bounds it. If the bound matters, the drivers sum the residual over
// the
// nonzeros at the end of a run (fit/measure_cp.hpp, fit/measure_tucker.hpp):
//
//   ||X - M||^2 = sum over the nonzeros of (x - m)^2  +  ||M||^2 - sum over the nonzeros of m^2
//
// The second part is that of the zeros, and it cancels as well. Therefore all sums are in DoubleDouble, and
// so are the model's entries if doubles are not precise enough.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>

#include "fit/double_double.hpp"
#include "polyad/core/error.hpp"

namespace polyad::detail {

/// A fit, and a bound for its distance from the exact one.
struct Fit {
  double value = 0;
  double error = std::numeric_limits<double>::infinity();
};

/// Whether the fit at the end of a run needs no other, more exact evaluation. Fits in floats are promised to
/// 1e-6, those in doubles to 1e-12. For a model that is far larger than the tensor the promise is relative to
/// its norm.
template <class Scalar>
bool is_exact_enough(Fit const& fit) {
  constexpr double promised = sizeof(Scalar) == sizeof(float) ? 1e-6 : 1e-12;
  return fit.error <= 0.9 * promised * std::max(1.0, 1 - fit.value);
}

/// `fit_in(T())` with T double, and with T DoubleDouble if doubles are not precise enough.
template <class Scalar, class FitIn>
Fit exact_fit(FitIn const& fit_in) {
  Fit const fit = fit_in(double());
  return is_exact_enough<Scalar>(fit) ? fit : fit_in(DoubleDouble());
}

/// Squared norms, and a bound for the error of the residual's.
struct SquaredNorms {
  double tensor   = 0;
  double residual = 0;  // ||X - M||^2; rounding may make it negative
  double bound    = 0;
};

/// For a tensor of zeros the fit is 1 if the model is zero too, else minus infinity. NaN for numbers that are
/// not finite.
/// \throws NumericalError when the residual is negative by more than its bound
inline Fit fit_of(SquaredNorms const& squares) {
  double const share = squares.residual / squares.tensor;
  double const bound = squares.bound / squares.tensor;
  if (squares.tensor == 0) return {squares.residual == 0 ? 1 : -HUGE_VAL, 0};
  if (std::isnan(share)) return {share, share};
  if (share < -bound)
    throw NumericalError("||X - M||^2 is " + std::to_string(share) +
                         " ||X||^2, and rounding does not explain a negative number: does the tensor have "
                         "duplicates, or another norm than its values?");
  double const left = std::sqrt(std::max(share, 0.0));
  double const up   = std::sqrt(std::max(share + bound, 0.0)) - left;
  double const down = left - std::sqrt(std::max(share - bound, 0.0));
  double const own  = 2 * unit_roundoff<double> * (1 + left);  // the quotient, the root and the difference
  return {1 - left, std::max(up, down) + own};
}

/// The fit of an iteration. Its formula has the errors of an MTTKRP, and it is not known for sure how a
/// format sums: a residual that is too negative only makes the bound larger here. The end of the run decides.
inline Fit fit_of_iteration(SquaredNorms squares) {
  squares.bound = std::max(squares.bound, -2 * squares.residual);
  return fit_of(squares);
}

/// The numbers that an iteration knows.
struct FormulaNumbers {
  double tensor     = 0;  // ||X||^2
  double inner      = 0;  // <X, M>
  double model      = 0;  // ||M||^2
  double components = 0;  // the sum of the norms of M's components. For Tucker ||G||, as U is orthonormal
};

/// Roundings of a format's sums in an MTTKRP: floats err by 1e-5 at most in sums of 10^8 positive terms.
inline constexpr double summed_roundings = 168;
/// Those that usually remain, since most errors cancel.
inline constexpr double usual_roundings = 4;

/// The rounding errors of ||X||^2 - 2 <X, M> + ||M||^2 if an MTTKRP in Scalar computed <X, M>: `roundings`
/// units of 2 ||X|| times the components' norms, and those of sums in doubles.
template <class Scalar>
double formula_error(FormulaNumbers const& numbers, double roundings) {
  constexpr double unit   = unit_roundoff<Scalar>;
  double const components = numbers.components;
  return 2 * unit * roundings * std::sqrt(numbers.tensor) * components +
         unit_roundoff<double> * roundings * (numbers.tensor + components * components);
}

/// After the formula the factors are normalised, and each entry is rounded once more: M changes by at most
/// `change`, and ||X - M||^2 by 2 ||X - M|| change + change^2.
template <class Scalar>
SquaredNorms squares_of_formula(FormulaNumbers const& numbers, int order) {
  double const residual = numbers.tensor - 2 * numbers.inner + numbers.model;
  double const change   = 2 * unit_roundoff<Scalar> * order * numbers.components;
  return {numbers.tensor, residual,
          formula_error<Scalar>(numbers, summed_roundings + order) +
              (2 * std::sqrt(std::max(residual, 0.0)) + change) * change};
}

/// The part of the fit that rounding usually hides in an iteration.
template <class Scalar>
double usual_error_of_fit(FormulaNumbers const& numbers, double fit) {
  double const error = formula_error<Scalar>(numbers, usual_roundings) / numbers.tensor;
  double const left  = 1 - fit;
  return std::sqrt(left * left + error) - left;
}

/// Sums over the nonzeros, for which no term is rounded to a double.
struct CellSums {
  DoubleDouble tensor;    // x^2
  DoubleDouble residual;  // (x - m)^2
  DoubleDouble model;     // m^2

  template <class T>
  KOKKOS_FUNCTION void add(double x, T const& m) {
    tensor += square(x);
    residual += square(T(x) - m);
    model += square(m);
  }
  KOKKOS_INLINE_FUNCTION CellSums& operator+=(CellSums const& other) {
    tensor += other.tensor;
    residual += other.residual;
    model += other.model;
    return *this;
  }
};

/// Rounded operations in T.
struct CellRoundings {
  double entry = 0;  // for one entry of M
  double norm  = 0;  // for ||M||^2, relative to the squared norm of the sum of the terms' absolute values
};

/// \param model       ||M||^2
/// \param components  a bound for the norm of the sum of the absolute values of M's terms
template <class T>
SquaredNorms squares_of_cells(CellSums const& cells, DoubleDouble model, double components,
                              CellRoundings const& roundings) {
  double const entries =
      std::sqrt(std::max(cells.residual.high, 0.0)) + std::sqrt(std::max(cells.model.high, 0.0));
  double const error = 2 * roundings.entry * entries * components + roundings.norm * components * components;
  return {static_cast<double>(cells.tensor), static_cast<double>(cells.residual + (model - cells.model)),
          unit_roundoff<T> * error};
}

}  // namespace polyad::detail
