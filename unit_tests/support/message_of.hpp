// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>

#include "polyad/core/error.hpp"

namespace polyad::test {

/// What the error says that `f` throws; an error of another type passes through.
template <class Expected = UsageError, class F>
std::string message_of(F const& f) {
  try {
    f();
  } catch (Expected const& error) {
    return error.what();
  }
  return "nothing was thrown";
}

}  // namespace polyad::test
