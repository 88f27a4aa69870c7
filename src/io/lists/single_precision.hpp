// SPDX-License-Identifier: BSD-3-Clause
// Doubles that are to become floats. Rounding is allowed; a number that would become infinite or zero does
// not fit.
#pragma once

#include <cmath>

namespace polyad::io {

/// NaN and infinity fit.
[[nodiscard]] inline bool fits_float(double value) noexcept {
  auto const rounded = static_cast<float>(value);
  return std::isinf(rounded) == std::isinf(value) && (rounded == 0) == (value == 0);
}

}  // namespace polyad::io
