// SPDX-License-Identifier: BSD-3-Clause
// Degeneracy: whether a run diverges although its fit converges. A tensor may have no best model of a rank.
// Two components then become more and more alike except for their sign, and their norms grow without bound,
// while their sum stays (Kolda & Bader, SIAM Review 51(3), 2009, section 3.3).
#pragma once

#include <cstddef>
#include <vector>

#include "polyad/core/model_defect.hpp"
#include "polyad/core/types.hpp"

namespace polyad::detail {

class Degeneracy {
public:
  /// Call it after each iteration.
  /// \param opposed     the norm of components that nearly cancel, or 0 (cp/run/iteration_numbers.hpp)
  /// \param components  the sum of all components' norms
  void add(double opposed, double components) {
    m_opposed = opposed;
    m_components.push_back(components);
  }

  /// Whether there are components that nearly cancel, and the norms have grown in the second half of the
  /// iterations, up to the last one.
  [[nodiscard]] bool is_growing() const {
    std::size_t const count = m_components.size();
    if (m_opposed == 0 || count < 4) return false;
    double const now = m_components[count - 1];
    return now > m_components[count - 2] && now > growth * m_components[(count - 1) / 2];
  }

  /// The defect of a model.
  /// \param norm_squared  its own
  /// \param fallbacks     how many of all `updates` so far took the pseudo-inverse
  [[nodiscard]] ModelDefect defect(double norm_squared, count_t fallbacks, count_t updates) const {
    if (norm_squared == 0) return ModelDefect::zero;
    if (updates > 0 && fallbacks == updates) return ModelDefect::never_regular;
    return is_growing() ? ModelDefect::degenerate : ModelDefect::none;
  }

private:
  /// Norms that grow as the cube root of the iterations do so by a quarter.
  static constexpr double growth = 1.02;

  double m_opposed = 0;
  std::vector<double> m_components;
};

}  // namespace polyad::detail
