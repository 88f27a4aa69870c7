// SPDX-License-Identifier: BSD-3-Clause
// Decimal numbers in text, read to the nearest double. Rounding is all that may happen to a number: it never
// becomes infinite, zero or another integer.
#pragma once

#include <string_view>

namespace polyad::io {

enum class DecimalFault { none, not_a_number, too_large, too_small, not_that_integer };

/// Reads the whole token; "inf" and "nan" are numbers, too.
/// \param integer  whether the number is an integer whatever its form, so that 1e3 is 1000 exactly. Otherwise
///                 only digits without a point and an exponent are an integer
[[nodiscard]] DecimalFault read_decimal(std::string_view token, bool integer, double& value);

/// The fault of the number; follows its name in a message: "exceeds the range of a double".
[[nodiscard]] std::string_view to_string(DecimalFault fault) noexcept;

}  // namespace polyad::io
