// SPDX-License-Identifier: BSD-3-Clause
#include "cli/streams/progress.hpp"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <string_view>

#include "cli/run/interrupt.hpp"
#include "cli/streams/standard_streams.hpp"
#include "polyad/core/quantity_text.hpp"

namespace polyad::cli {

namespace {

/// A terminal that is redrawn more often than the eye follows would cost more than a small tensor's
/// iteration.
constexpr std::chrono::milliseconds between_redraws{50};
constexpr std::chrono::seconds between_lines{10};

/// The beginning of a line of ASCII that a terminal shows without wrapping it; only such a line can be
/// redrawn.
std::string_view visible_part(std::string_view line) {
  winsize size{};
  if (::ioctl(STDERR_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col < 2) return line;
  return line.substr(0, size.ws_col - 1U);
}

/// What an iteration has reached.
std::string result_text(IterationReport const& iteration) {
  if (iteration.objective) return fmt::format("loss {:.6g}", *iteration.objective);
  if (!iteration.errors.empty()) return errors_text(iteration.errors);
  return fmt::format("fit {:.9f}, change {:+.3e}", iteration.fit, iteration.delta);
}

}  // namespace

Progress::Progress(int most_iterations, double time_limit_s, bool quiet)
    : m_most_iterations(most_iterations),
      m_time_limit_s(time_limit_s),
      m_terminal(::isatty(STDERR_FILENO) == 1),
      m_quiet(quiet) {}

Progress::~Progress() {
  if (!m_waiting.empty()) draw();
  if (m_line_open) say_text("\n");
}

void Progress::draw() noexcept {
  // The parts are written at once, so that those of several ranks do not mix.
  std::string line(m_terminal ? "\r" : "");
  line += m_terminal ? visible_part(m_waiting) : std::string_view(m_waiting);
  line += m_terminal ? "\x1b[K" : "\n";
  say_text(line);
  m_waiting.clear();
  m_line_open = m_terminal;
  m_has_drawn = true;
  m_drawn     = std::chrono::steady_clock::now();
}

double Progress::seconds_left(int iteration) const {
  double const rest = m_spent / iteration * (m_most_iterations - iteration);
  return std::max(0.0, std::min(rest, m_time_limit_s - m_spent));
}

bool Progress::iteration(IterationReport const& iteration, Report& report) {
  report.iterations.push_back(iteration);
  bool const goes_on = interrupt_signal() == 0;
  if (m_quiet) return goes_on;
  m_spent += iteration.seconds;
  m_waiting = fmt::format("iteration {} of {}: {}, {} per iteration", iteration.iteration, m_most_iterations,
                          result_text(iteration), duration_text(iteration.seconds));
  // The tolerance may end the run earlier, hence "at most".
  if (iteration.iteration < m_most_iterations)
    m_waiting += fmt::format(", at most {} left", duration_text(seconds_left(iteration.iteration)));
  if (is_due()) draw();
  return goes_on;
}

bool Progress::is_due() const {
  auto const since = std::chrono::steady_clock::now() - m_drawn;
  return !m_has_drawn || since >= (m_terminal ? std::chrono::milliseconds(between_redraws) : between_lines);
}

void Progress::step(std::function<std::string()> const& text) {
  if (m_quiet || !is_due()) return;
  m_waiting = text();
  if (!m_waiting.empty()) draw();
}

}  // namespace polyad::cli
