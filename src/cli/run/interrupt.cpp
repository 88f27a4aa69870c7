// SPDX-License-Identifier: BSD-3-Clause
#include "cli/run/interrupt.hpp"

#include <csignal>
#include <string>

#include "cli/run/lost_ranks.hpp"

namespace polyad::cli {

namespace {

std::sig_atomic_t volatile received = 0;

extern "C" void remember_signal(int signal) {
  received = signal;
  if (signal == SIGTERM) name_lost_ranks();
}

}  // namespace

void catch_interrupts() {
  struct sigaction action{};
  action.sa_handler = remember_signal;
  // SA_RESETHAND: a second signal ends the process. SA_RESTART: reading continues.
  action.sa_flags = static_cast<int>(SA_RESETHAND) | SA_RESTART;
  // Even if a shell started us in the background with the signal ignored: whoever sends it intends it.
  for (int const signal : {SIGINT, SIGTERM}) ::sigaction(signal, &action, nullptr);
  // If stdout is a file beyond RLIMIT_FSIZE, that is an error to report.
  std::signal(SIGXFSZ, SIG_IGN);
}

int interrupt_signal() noexcept {
  return received;
}

void stop_if_interrupted(char const* stage) {
  if (received != 0) throw Interrupted(std::string("interrupted while ") + stage);
}

}  // namespace polyad::cli
