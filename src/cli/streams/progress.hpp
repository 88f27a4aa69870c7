// SPDX-License-Identifier: BSD-3-Clause
// Progress on stderr. On a terminal, one line that is redrawn in place and no wider than the terminal. In a
// log, the first iteration, then a line every ten seconds, and the last iteration.
#pragma once

#include <chrono>
#include <functional>
#include <string>

#include "cli/report/report.hpp"

namespace polyad::cli {

class Progress {
public:
  /// \param quiet  draws nothing
  Progress(int most_iterations, double time_limit_s, bool quiet = false);

  /// Draws the last iteration, if that is still to be done, and ends a redrawn line.
  ~Progress();
  Progress(Progress const&)            = delete;
  Progress& operator=(Progress const&) = delete;

  /// Reports an iteration. Returns false once a signal has arrived, which ends the run.
  bool iteration(IterationReport const& iteration, Report& report);
  /// A step before the iterations, redrawn and thinned out as they are. \param text  made only if it is drawn
  void step(std::function<std::string()> const& text);

private:
  void draw() noexcept;
  [[nodiscard]] bool is_due() const;
  [[nodiscard]] double seconds_left(int iteration) const;

  int m_most_iterations;
  double m_time_limit_s;
  bool m_terminal;
  bool m_quiet;
  bool m_line_open = false;
  bool m_has_drawn = false;
  std::string m_waiting;  // the line of an iteration that is not drawn yet
  double m_spent = 0;     // seconds of the iterations so far
  std::chrono::steady_clock::time_point m_drawn;
};

}  // namespace polyad::cli
