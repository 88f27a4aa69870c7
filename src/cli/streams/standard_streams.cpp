// SPDX-License-Identifier: BSD-3-Clause
#include "cli/streams/standard_streams.hpp"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstdio>
#include <iostream>

#include "cli/run/interrupt.hpp"

namespace polyad::cli {

namespace {

bool stdout_is_data  = false;
bool has_no_messages = false;
int first_failure    = 0;

void remember_failure() noexcept {
  if (first_failure == 0) first_failure = errno != 0 ? errno : EIO;
}

bool is_open(int descriptor) noexcept {
  return ::fcntl(descriptor, F_GETFD) >= 0;
}

}  // namespace

// Reads and writes of such a descriptor fail, as those of a closed one would. Only messages may be lost.
void occupy_standard_descriptors() noexcept {
  while (!is_open(STDIN_FILENO) || !is_open(STDOUT_FILENO) || !is_open(STDERR_FILENO)) {
    bool const is_log = is_open(STDIN_FILENO) && is_open(STDOUT_FILENO);
    int const lowest  = is_log ? ::open("/dev/null", O_WRONLY) : ::open("/", O_PATH);
    if (lowest < 0 && ::open("/", O_PATH) < 0) return;
  }
}

void reserve_stdout_for_data() noexcept {
  stdout_is_data = true;
}

void show_text(std::string_view text) noexcept {
  if (stdout_is_data) return say_text(text);
  errno = 0;
  if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size()) remember_failure();
}

void discard_messages() noexcept {
  has_no_messages = true;
}

void say_text(std::string_view text) noexcept {
  if (!has_no_messages) say_anyway(text);
}

void say_anyway(std::string_view text) noexcept {
  // A pipe that poll() calls ready accepts this many bytes at once.
  constexpr std::size_t ready_bytes = PIPE_BUF;
  int const before                  = errno;
  while (!text.empty()) {
    pollfd log{STDERR_FILENO, POLLOUT, 0};
    constexpr int wait_ms = 100;
    if (::poll(&log, 1, wait_ms) <= 0) {
      if (interrupt_signal() != 0) break;
      continue;
    }
    ssize_t const count = ::write(STDERR_FILENO, text.data(), std::min(text.size(), ready_bytes));
    if (count < 0 && (errno == EINTR || errno == EAGAIN)) continue;
    if (count <= 0) break;
    text.remove_prefix(count);
  }
  errno = before;
}

int flush_results() noexcept {
  errno = 0;
  std::cout.flush();  // CLI11's help and ours
  if (std::fflush(stdout) != 0 || std::ferror(stdout) != 0 || !std::cout.good()) remember_failure();
  return first_failure;
}

}  // namespace polyad::cli
