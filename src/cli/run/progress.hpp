// SPDX-License-Identifier: BSD-3-Clause
// One line an iteration on stderr: redrawn in place on a terminal, one below the other elsewhere.
#pragma once

#include <chrono>
#include <string>

namespace polyad::cli {

class Progress {
public:
  Progress(int most_iterations, double time_limit_s);

  /// Draws the last iteration, if that is still to be done, and ends a redrawn line.
  ~Progress();
  Progress(Progress const&)            = delete;
  Progress& operator=(Progress const&) = delete;

  void iteration(int iteration, double fit, double delta, double seconds);
  /// \param text  what the iteration reached
  void iteration(int iteration, std::string const& text, double seconds);

private:
  void draw() noexcept;
  [[nodiscard]] double seconds_left(int iteration) const;

  int m_most_iterations;
  double m_time_limit_s;
  bool m_terminal;
  bool m_line_open = false;
  std::string m_waiting;  // the line of an iteration that is not drawn yet, as it is written
  double m_spent = 0;     // seconds of the iterations so far
  std::chrono::steady_clock::time_point m_drawn;
};

}  // namespace polyad::cli
