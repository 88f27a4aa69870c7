// SPDX-License-Identifier: BSD-3-Clause
// Results go to stdout, messages to stderr. A message that cannot be written is lost: a log must not end a
// run. If an output of the command is stdout, stdout carries only its data, and the results are messages too.
#pragma once

#include <string_view>

namespace polyad::cli {

/// Occupies those of the descriptors 0, 1 and 2 with which the process was not started. Otherwise the next
/// file that is opened would get the number, and messages would be written into it. Must be called first.
void occupy_standard_descriptors() noexcept;

/// From now on results are written to stderr.
void reserve_stdout_for_data() noexcept;

/// Writes a part of the results. A failure is remembered for flush_results.
void show_text(std::string_view text) noexcept;

/// From now on messages are lost: those of other ranks than the first.
void discard_messages() noexcept;

/// Writes a message, or loses it. It does not wait for the reader of a pipe once a signal has arrived.
void say_text(std::string_view text) noexcept;
/// The same, even after discard_messages().
void say_anyway(std::string_view text) noexcept;

/// Writes the rest of the results. Returns the errno of the first failure of stdout, or 0.
[[nodiscard]] int flush_results() noexcept;

}  // namespace polyad::cli
