// SPDX-License-Identifier: BSD-3-Clause
#include "cli/run/interrupt.hpp"

#include <unistd.h>

#include <csignal>
#include <string>
#include <string_view>

#include "polyad/core/device.hpp"
#include "polyad/core/error.hpp"
#include "polyad/io/atomic_file.hpp"

namespace polyad::cli {

namespace {

std::sig_atomic_t volatile first_signal = 0;
std::sig_atomic_t volatile arrived      = 0;  // the number of signals
std::sig_atomic_t volatile known        = 0;  // those that a command answers with its results
bool finishes_files                     = false;
bool broken_pipe_ends                   = false;

/// Ends the process as the signal would have.
extern "C" void end_process(int signal) {
  io::remove_temporary_files();
  std::signal(signal, SIG_DFL);
  sigset_t one;
  sigemptyset(&one);
  sigaddset(&one, signal);
  ::pthread_sigmask(SIG_UNBLOCK, &one, nullptr);
  ::raise(signal);
}

extern "C" void remember_signal(int signal) {
  if (first_signal == 0) first_signal = signal;
  arrived = arrived + 1;
  // Others may come twice by themselves: SIGHUP from the terminal and from the shell, SIGXCPU every second.
  if (signal == SIGINT || signal == SIGTERM) std::signal(signal, end_process);
}

/// SIGPIPE from another process. Our own follows a write(2) that fails.
extern "C" void remember_sent_signal(int signal, siginfo_t* info, void*) {
  if (info->si_pid != ::getpid()) remember_signal(signal);
}

bool has_default_action(int signal) {
  struct sigaction action{};
  return ::sigaction(signal, nullptr, &action) == 0 && (action.sa_flags & SA_SIGINFO) == 0 &&
         action.sa_handler == SIG_DFL;
}

/// Installs the handler unless the signal is ignored, or other code handles it.
void handle(int signal, void (*handler)(int)) {
  if (!has_default_action(signal)) return;
  struct sigaction action{};
  action.sa_handler = handler;
  action.sa_flags   = SA_RESTART;  // reading continues
  ::sigaction(signal, &action, nullptr);
}

void stop_output_if_interrupted(io::WriteStage stage) {
  if (stage == io::WriteStage::writing && finishes_files) return;
  if (arrived == known) return;
  throw Interrupted(stage == io::WriteStage::waiting ? "interrupted while waiting for the reader of an output"
                                                     : "interrupted while writing an output");
}

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

void report_failed_writes() noexcept {
  if (has_default_action(SIGPIPE)) {
    broken_pipe_ends = true;
    struct sigaction action{};
    action.sa_sigaction = remember_sent_signal;
    action.sa_flags     = static_cast<int>(SA_RESTART) | SA_SIGINFO;
    ::sigaction(SIGPIPE, &action, nullptr);
  }
  std::signal(SIGXFSZ, SIG_IGN);
}

void catch_interrupts() noexcept {
  // All signals that would end the process but leave it time.
  for (int const signal : {SIGHUP, SIGINT, SIGTERM, SIGUSR1, SIGUSR2, SIGALRM, SIGVTALRM, SIGPROF, SIGXCPU,
                           SIGPOLL, SIGPWR, SIGSTKFLT})
    handle(signal, remember_signal);
  for (int signal = SIGRTMIN; signal <= SIGRTMAX; ++signal) handle(signal, remember_signal);
  // The signals that end it at once.
  for (int const signal : {SIGQUIT, SIGABRT, SIGBUS, SIGFPE, SIGILL, SIGSEGV, SIGSYS, SIGTRAP})
    handle(signal, end_process);
  io::set_write_check(stop_output_if_interrupted);
}

int interrupt_signal() noexcept {
  return first_signal;
}

void stop_if_interrupted(char const* stage) {
  if (first_signal != 0) throw Interrupted(std::string("interrupted while ") + stage);
}

void finish_files_in_spite_of_signals() noexcept {
  finishes_files = true;
  known          = arrived;
}

bool ends_with_broken_pipe() noexcept {
  return broken_pipe_ends;
}

void catch_device_failures() {
  std::signal(SIGABRT, end_if_device_failed);
}

bool tells_of_device(std::string_view text) {
  return text.find("error( cuda") != std::string_view::npos;
}

}  // namespace polyad::cli
