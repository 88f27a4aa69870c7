// SPDX-License-Identifier: BSD-3-Clause
#include "cli/run/device_failure.hpp"

#include <unistd.h>

#include <csignal>

#include "polyad/core/device.hpp"
#include "polyad/core/error.hpp"
#include "polyad/io/atomic_file.hpp"

namespace polyad::cli {

namespace {

/// After this returns, an abort for any other reason proceeds.
extern "C" void end_if_device_failed(int) {
  io::remove_temporary_files();
  if (!device_has_failed()) return;
  constexpr std::string_view text = "\npolyad: the device failed, as said above\n";
  if (::write(STDERR_FILENO, text.data(), text.size()) < 0) {
    // The exit status reports the failure, too.
  }
  ::_exit(static_cast<int>(ExitCode::backend_unusable));
}

}  // namespace

void catch_device_failures() {
  std::signal(SIGABRT, end_if_device_failed);
}

bool tells_of_device(std::string_view text) {
  return text.find("error( cuda") != std::string_view::npos;
}

}  // namespace polyad::cli
