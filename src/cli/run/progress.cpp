// SPDX-License-Identifier: BSD-3-Clause
#include "cli/run/progress.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "cli/run/standard_streams.hpp"
#include "polyad/core/quantity_text.hpp"

namespace polyad::cli {

Progress::Progress(int most_iterations, double time_limit_s)
    : m_most_iterations(most_iterations),
      m_time_limit_s(time_limit_s),
      m_terminal(::isatty(STDERR_FILENO) == 1) {}

Progress::~Progress() {
  if (!m_waiting.empty()) draw();
  if (m_line_open) say_text("\n");
}

void Progress::draw() noexcept {
  say_text(m_waiting);
  m_waiting.clear();
  m_line_open = m_terminal;
  m_drawn     = std::chrono::steady_clock::now();
}

double Progress::seconds_left(int iteration) const {
  double const rest = m_spent / iteration * (m_most_iterations - iteration);
  return std::max(0.0, std::min(rest, m_time_limit_s - m_spent));
}

void Progress::iteration(int iteration, double fit, double delta, double seconds) {
  this->iteration(iteration, fmt::format("fit {:.9f}, change {:+.3e}", fit, delta), seconds);
}

void Progress::iteration(int iteration, std::string const& text, double seconds) {
  m_spent += seconds;
  std::string line = fmt::format("{}iteration {} of {}: {}, {} an iteration", m_terminal ? "\r" : "",
                                 iteration, m_most_iterations, text, duration_text(seconds));
  // The tolerance may end the run earlier, hence "at most".
  if (iteration < m_most_iterations)
    line += fmt::format(", at most {} left", duration_text(seconds_left(iteration)));
  m_waiting = std::move(line += m_terminal ? "\x1b[K" : "\n");
  // Redrawing more often than the eye follows would cost more than a small tensor's iteration.
  auto const since = std::chrono::steady_clock::now() - m_drawn;
  if (!m_terminal || !m_line_open || since >= std::chrono::milliseconds(50)) draw();
}

}  // namespace polyad::cli
