// SPDX-License-Identifier: BSD-3-Clause
#include "progress.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>

namespace polyad::cli {

std::string duration_text(double seconds) {
  if (seconds < 1e-3) return fmt::format("{:.0f} us", seconds * 1e6);
  if (seconds < 1) return fmt::format("{:.3g} ms", seconds * 1e3);
  if (seconds < 60) return fmt::format("{:.3g} s", seconds);
  double const minutes = std::floor(seconds / 60);
  if (minutes < 60) return fmt::format("{:.0f} min {:02.0f} s", minutes, std::floor(seconds - 60 * minutes));
  return fmt::format("{:.0f} h {:02.0f} min", std::floor(minutes / 60), std::fmod(minutes, 60));
}

Progress::Progress(int most_iterations, double time_limit_s)
    : m_most_iterations(most_iterations),
      m_time_limit_s(time_limit_s),
      m_terminal(::isatty(STDERR_FILENO) == 1) {}

Progress::~Progress() {
  if (m_line_open) std::fputc('\n', stderr);
}

double Progress::seconds_left(int iteration) const {
  double const rest = m_spent / iteration * (m_most_iterations - iteration);
  return std::max(0.0, std::min(rest, m_time_limit_s - m_spent));
}

void Progress::iteration(int iteration, double fit, double delta, double seconds) {
  m_spent += seconds;
  if (m_terminal) {
    // Redrawing more often than the eye follows would cost more than a small tensor's iteration.
    auto const now = std::chrono::steady_clock::now();
    if (m_line_open && iteration < m_most_iterations && now - m_drawn < std::chrono::milliseconds(50)) return;
    m_drawn = now;
  }
  auto line = fmt::format("iteration {} of {}: fit {:.9f}, change {:+.3e}, {} an iteration", iteration,
                          m_most_iterations, fit, delta, duration_text(seconds));
  // The tolerance may end the run earlier, hence "at most".
  if (iteration < m_most_iterations)
    line += fmt::format(", at most {} left", duration_text(seconds_left(iteration)));
  if (m_terminal) {
    fmt::print(stderr, "\r{}\x1b[K", line);
    m_line_open = true;
  } else {
    fmt::print(stderr, "{}\n", line);
  }
  std::fflush(stderr);
}

}  // namespace polyad::cli
