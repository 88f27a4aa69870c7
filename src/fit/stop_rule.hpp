// SPDX-License-Identifier: BSD-3-Clause
// When a run of CP-ALS or Tucker has converged: one rule for all drivers. With s = ||X - M|| / ||X|| for what
// is left and c = (1 - s^2)^(1/2) for what is explained (||M|| / ||X|| at the optimum, where M and X - M are
// orthogonal), a run stops when
//
//   |change of the fit|  <=  tolerance s c
//
// These are the legs of a right triangle. As the fit is 1 - s, the rule says that the angle between X and M
// changes by at most tolerance s. So a model that explains little does not stop because little changes, and
// neither does one that comes close, since a change of the last digits still removes much of what is left. If
// s is below 10^-3, the rule uses 10^-3 instead.
//
// No iteration makes the fit worse, except by rounding. If the tolerance requires changes that rounding
// hides, or if the fit sinks again and again, no further progress can be seen, and the run stops for this
// reason.
#pragma once

#include <algorithm>
#include <cmath>
#include <optional>

#include "polyad/core/stop_reason.hpp"

namespace polyad::detail {

/// The largest change of a fit that counts as none.
inline double negligible_change(double fit, double tolerance) {
  constexpr double least = 1e-3;  // the smallest s
  double const left      = std::max(1 - fit, least);
  return tolerance * left * std::sqrt(std::abs(1 - left * left));
}

class StopRule {
public:
  /// \param tolerance  0: the rule never stops a run
  explicit StopRule(double tolerance) : m_tolerance(tolerance) {}

  /// The fit of an iteration before those of this run.
  void restore(double fit) {
    m_previous     = fit;
    m_has_previous = true;
  }

  /// Call it after each iteration. Returns why to stop, if the run is to stop.
  /// \param hidden  the part of the fit that rounding usually hides
  [[nodiscard]] std::optional<StopReason> after(double fit, double hidden) {
    bool const is_first = !m_has_previous;
    double const change = fit - m_previous;
    restore(fit);
    if (is_first || !(m_tolerance > 0)) return std::nullopt;
    double const negligible = negligible_change(fit, m_tolerance);
    if (std::abs(change) <= negligible)
      return hidden > negligible ? StopReason::rounding : StopReason::converged;
    // A pseudo-inverse may make a fit worse, but by more than rounding does.
    if (change < 0 && -change <= 10 * hidden && ++m_losses == most_losses) return StopReason::rounding;
    return std::nullopt;
  }

private:
  static constexpr int most_losses = 3;

  double m_tolerance;
  double m_previous   = 0;
  bool m_has_previous = false;
  int m_losses        = 0;
};

}  // namespace polyad::detail
