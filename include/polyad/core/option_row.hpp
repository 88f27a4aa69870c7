// SPDX-License-Identifier: BSD-3-Clause
// OptionRow: a row in the table of a driver's options. Each struct of options has one table, next to it: a
// function that calls `visit(row, member)` for every member.
//
//   for_each_option(options, [](OptionRow const& row, auto& member) { ... });
//
// The tool's options, help, manual page and report, Python's arguments (scripts/python_signatures) and the
// checkpoints of fast_tucker come from the tables. To add an option, add a member and its row to the header
// of its struct, and use it. Free of Kokkos.
#pragma once

#include <concepts>
#include <limits>
#include <type_traits>

namespace polyad {

struct OptionRow {
  /// \param name  that of the member and of Python's argument. "adam.step" is an entry of the mapping `adam`
  /// \param tool  the names in the tool, and what the help calls the value: "-i,--iterations N". A flag has
  ///              no value; "!--no-x" is one that makes it false. Empty: the tool does not use this row
  /// \param help  one line, for the tool, the manual page and Python
  constexpr OptionRow(char const* name, char const* tool, char const* help)
      : name(name), tool(tool), help(help) {}

  /// The least number that is allowed.
  [[nodiscard]] constexpr OptionRow at_least(double number) const {
    OptionRow row = *this;
    row.least     = number;
    return row;
  }
  /// The path of a file that the run reads. Other paths name files that it writes.
  [[nodiscard]] constexpr OptionRow from_file() const {
    OptionRow row = *this;
    row.is_input  = true;
    return row;
  }
  /// The key in checkpoints that list options by name (fast_tucker). Adjacent rows with one key form a list.
  [[nodiscard]] constexpr OptionRow stored_as(char const* key) const {
    OptionRow row = *this;
    row.stored    = key;
    return row;
  }
  /// How the tool or Python differ from this row, and why.
  [[nodiscard]] constexpr OptionRow differing(char const* how) const {
    OptionRow row = *this;
    row.differs   = how;
    return row;
  }
  /// The same; in addition, Python's argument is not made from this row.
  [[nodiscard]] constexpr OptionRow declared_by_python(char const* how) const {
    OptionRow row = differing(how);
    row.in_python = false;
    return row;
  }

  char const* name;
  char const* tool;
  char const* help;
  double least        = -std::numeric_limits<double>::infinity();
  bool is_input       = false;
  bool in_python      = true;
  char const* stored  = "";  // empty: not stored
  char const* differs = "";
};

/// The rows of the limits that all iterative decompositions have.
template <class Options, class Visitor>
void for_each_limit(Options& options, Visitor&& visit) {
  visit(OptionRow("max_iterations", "-i,--iterations N",
                  "Maximum number of iterations; 0: only the fit of the start")
            .at_least(0),
        options.max_iterations);
  visit(OptionRow(
            "tolerance", "--tol X",
            "Stop when an iteration changes the fit by at most X s (1 - s^2)^(1/2), s = 1 - fit; 0: never")
            .at_least(0),
        options.tolerance);
  visit(OptionRow("time_limit_s", "--time-limit S", "Stop after the iteration that passes S seconds")
            .at_least(0),
        options.time_limit_s);
  visit(OptionRow("seed", "--seed S", "Seed of the random start").at_least(0), options.seed);
}

/// The rows of a run's checkpoints. \param every  the help of `checkpoint_every`
template <class Options, class Visitor>
void for_each_checkpoint_option(Options& options, Visitor&& visit, char const* every) {
  visit(
      OptionRow("checkpoint", "--checkpoint FILE", "Write checkpoints to this file, the last one at the end"),
      options.checkpoint);
  visit(OptionRow("checkpoint_every", "--checkpoint-every K", every).at_least(1), options.checkpoint_every);
  visit(OptionRow("resume", "--resume FILE",
                  "Continue from a checkpoint; if sums have a fixed order, to the same bits")
            .from_file(),
        options.resume);
}

namespace detail {
/// Options, const or not.
template <class Given, class Options>
concept OptionsOrConst = std::same_as<std::remove_const_t<Given>, Options>;
}  // namespace detail

}  // namespace polyad
