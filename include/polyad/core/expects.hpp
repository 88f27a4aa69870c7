// SPDX-License-Identifier: BSD-3-Clause
// POLYAD_EXPECTS(condition, parts...): a precondition that is always checked. When it does not hold, the
// parts are written one after the other into the text of a UsageError.
#pragma once

#include <sstream>

#include "polyad/core/error.hpp"

namespace polyad::detail {

template <class... Parts>
[[noreturn]] void expectation_failed(Parts const&... parts) {
  std::ostringstream text;
  (text << ... << parts);
  throw UsageError(text.str());
}

}  // namespace polyad::detail

#define POLYAD_EXPECTS(condition, ...)                                   \
  do {                                                                   \
    if (!(condition)) ::polyad::detail::expectation_failed(__VA_ARGS__); \
  } while (false)
