// SPDX-License-Identifier: BSD-3-Clause
// SIGINT and SIGTERM end a run cleanly. The first signal is recorded, and the command stops at the next
// opportunity. The second ends the process as usual.
#pragma once

#include <stdexcept>

namespace polyad::cli {

void catch_interrupts();

/// The signal that arrived, 0 while none has.
[[nodiscard]] int interrupt_signal() noexcept;

/// A signal arrived before there was anything to write.
class Interrupted : public std::runtime_error {
public:
  using std::runtime_error::runtime_error;
};

/// \throws Interrupted naming `stage`, the work that the signal cut short
void stop_if_interrupted(char const* stage);

}  // namespace polyad::cli
