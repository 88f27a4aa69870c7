// SPDX-License-Identifier: BSD-3-Clause
// ModeUpdate: what CP-ALS does with a mode, as an entry of CpAlsOptions::updates. V, H, w, s and B are those
// of cp/factor_update.hpp, which also has own_update for user-defined classes. Free of Kokkos.
#pragma once

#include <memory>
#include <optional>

#include "polyad/tensor/constraints.hpp"

namespace polyad {

namespace detail {

/// Makes updates of one precision and one space.
struct AnyUpdateMaker {
  AnyUpdateMaker()                                 = default;
  AnyUpdateMaker(AnyUpdateMaker const&)            = delete;
  AnyUpdateMaker& operator=(AnyUpdateMaker const&) = delete;
  virtual ~AnyUpdateMaker()                        = default;
};

}  // namespace detail

/// The update of a mode, for CpAlsOptions::updates. Made by one of the functions below, or by own_update
/// (cp/factor_update.hpp); by default least squares.
class ModeUpdate {
public:
  ModeUpdate() = default;
  /// The penalty of ridge(); 0 for any other update.
  [[nodiscard]] double penalty() const { return m_penalty; }
  /// The constraints of constrained() and nonnegative(), and the sweeps per update; otherwise empty.
  [[nodiscard]] std::optional<Constraints> const& constraints() const { return m_constraints; }
  [[nodiscard]] int inner_sweeps() const { return m_inner_sweeps; }
  /// Null unless own_update() made it.
  [[nodiscard]] detail::AnyUpdateMaker const* own() const { return m_own.get(); }

private:
  friend ModeUpdate ridge(double penalty);
  friend ModeUpdate constrained(Constraints const& constraints, int inner_sweeps);
  template <class Update, class... Args>
  friend ModeUpdate own_update(Args... args);

  double m_penalty = 0;
  std::optional<Constraints> m_constraints;
  int m_inner_sweeps = default_inner_sweeps;
  std::shared_ptr<detail::AnyUpdateMaker const> m_own;
};

/// The exact minimum of the squared error: A = V H^+ / w.
[[nodiscard]] inline ModeUpdate least_squares() {
  return {};
}

/// The same with penalty/2 ||B||^2 added: A (diag(w) H diag(w) + c^2 penalty diag(s)^2) = V diag(w). It keeps
/// collinear components from growing against each other. A penalty of 0 is least squares. With penalties
/// rho_n for all modes, CP-ALS descends on 1/2 ||X - M||^2 + sum_n rho_n/2 ||B^(n)||^2 (Acar, Dunlavy &
/// Kolda, J. Chemometrics 25, 2011, section 3.3).
/// \throws UsageError unless the penalty is a finite number of at least 0
[[nodiscard]] ModeUpdate ridge(double penalty);

/// Bounds and penalties by cyclic coordinate descent over the columns of each row: HALS (Cichocki & Phan,
/// IEICE Trans. E92-A, 2009). Each entry in turn takes the value that is best for it. The objective of
/// Constraints never rises, and stops falling only where no entry can improve it. A component whose other
/// columns are zero keeps its column. A mode with penalties, or with bounds other than 0, has its own scale
/// in the model. Unlike least squares, the result depends on the start's scale (CpAlsOptions::scale_start).
/// \param inner_sweeps  sweeps over each row in every update. exact_inner: each row becomes the minimum of
///                      its convex subproblem by an active set method (Lawson & Hanson, 1974, chapter 23)
/// \throws UsageError for an empty interval, a bound that is not a number, a penalty that is negative or not
///         finite, or fewer than one sweep
[[nodiscard]] ModeUpdate constrained(Constraints const& constraints, int inner_sweeps = default_inner_sweeps);
/// The same with only the lower bound 0.
[[nodiscard]] inline ModeUpdate nonnegative(int inner_sweeps = default_inner_sweeps) {
  Constraints constraints;
  constraints.lower = 0;
  return constrained(constraints, inner_sweeps);
}

}  // namespace polyad
