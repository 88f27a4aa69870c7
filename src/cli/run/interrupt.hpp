// SPDX-License-Identifier: BSD-3-Clause
// Signals that would end the process end its run cleanly. The first is recorded, and the command stops at the
// next opportunity. A second SIGINT or SIGTERM ends the process as usual, but without temporary files.
// Signals that were ignored at the start, as by nohup, stay ignored. A failure of
// the device, by an access out of bounds or a fault of its memory, ends the process cleanly, too.
#pragma once

#include <stdexcept>
#include <string_view>

namespace polyad::cli {

/// A pipe without a reader, or a file beyond RLIMIT_FSIZE, is an error that write(2) reports.
void report_failed_writes() noexcept;

void catch_interrupts() noexcept;

/// The first signal that arrived, 0 while none has.
[[nodiscard]] int interrupt_signal() noexcept;

/// A signal arrived before there was anything to write.
class Interrupted : public std::runtime_error {
public:
  using std::runtime_error::runtime_error;
};

/// \throws Interrupted naming `stage`, the work that the signal cut short
void stop_if_interrupted(char const* stage);

/// From now on signals do not stop the writing of files: they are the results of a long run. A pipe waits for
/// its reader in spite of the signals so far, but a later signal ends the wait.
void finish_files_in_spite_of_signals() noexcept;

/// Whether SIGPIPE ends the tool, as it ends other programs in a pipe: it was not ignored at the start.
[[nodiscard]] bool ends_with_broken_pipe() noexcept;

/// From now on a failure of the device ends the process with exit status 7, where Kokkos would abort it.
/// Files stay as they were: a checkpoint is kept, and an incomplete output does not appear.
void catch_device_failures();

/// Whether this is the text of a CUDA error as Kokkos throws it. Kokkos has no type for these errors.
[[nodiscard]] bool tells_of_device(std::string_view text);

}  // namespace polyad::cli
