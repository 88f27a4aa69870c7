// SPDX-License-Identifier: BSD-3-Clause
// SingularHistory: whether a run has to expect a singular H in the next iteration.
#pragma once

#include <algorithm>

#include "dense/dense_tuning.hpp"
#include "polyad/core/types.hpp"

namespace polyad::detail {

/// Least squares starts from its factor if H is singular or nearly so (cp/correct_rows.hpp). A host sees this
/// before it updates the factor, so it need not expect anything. A device has not formed H yet when the host
/// launches the update, and a launch that usually does nothing would cost each mode several microseconds. So
/// the host goes by the extents, and by the numbers of the iterations before. H rarely changes much from one
/// iteration to the next, and it counts as nearly singular long before rounding matters.
template <class Space>
class SingularHistory {
public:
  SingularHistory(Extents const& extents, count_t rank) : m_is_certain(is_singular(extents, rank)) {}

  /// \param fallbacks, nearly  gram_fallbacks and nearly_singular after an iteration
  void add(double fallbacks, double nearly) {
    m_is_expected = fallbacks > 0 || nearly > m_nearly;
    m_nearly      = nearly;
  }
  /// A checkpoint has the fallbacks alone. The run that writes it forgets the rest, too, so that the resumed
  /// run gives the same bits.
  void forget(double fallbacks) { m_is_expected = fallbacks > 0; }
  [[nodiscard]] bool is_expected() const {
    return sees_singular_at_once<Space> || m_is_certain || m_is_expected;
  }

private:
  /// Whether the Khatri-Rao product of all modes but one has fewer rows than columns: its H is singular.
  [[nodiscard]] static bool is_singular(Extents const& extents, count_t rank) {
    for (int n = 0; n < extents.order(); ++n) {
      count_t rows = 1;
      for (int m = 0; m < extents.order(); ++m)
        if (m != n) rows = std::min(rows * std::min(extents[m], rank), rank);
      if (rows < rank) return true;
    }
    return false;
  }

  bool m_is_certain;
  double m_nearly    = 0;
  bool m_is_expected = false;
};

}  // namespace polyad::detail
