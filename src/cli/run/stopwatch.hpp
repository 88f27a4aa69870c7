// SPDX-License-Identifier: BSD-3-Clause
// The seconds of a part of a command.
#pragma once

#include <chrono>

namespace polyad::cli {

/// Starts when it is made.
class Stopwatch {
public:
  [[nodiscard]] double seconds() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - m_begin).count();
  }

private:
  std::chrono::steady_clock::time_point m_begin = std::chrono::steady_clock::now();
};

}  // namespace polyad::cli
