// SPDX-License-Identifier: BSD-3-Clause
// OptionRow: a row in the table of a driver's options. Each struct of options has one table, next to it: a
// function that calls `visit(row, member)` for every member.
//
//   for_each_option(options, [](OptionRow const& row, auto& member) { ... });
//
// The tool's options, help, manual page and report, Python's arguments (scripts/python_signatures) and the
// checkpoints of fast_tucker come from the tables. To add an option, add a member and its row to the header
// of its struct, and use it. Plain C++.
#pragma once

#include <concepts>
#include <limits>
#include <type_traits>

namespace polyad {

class OptionRow {
public:
  /// \param name  the member's, which is Python's, too. "adam.step" is an entry of the mapping `adam`
  /// \param tool  its names in the tool, and what the help calls its value: "-i,--iterations N". A flag has
  ///              no value; "!--no-x" is one that makes it false. Empty: the tool does not use this row
  /// \param help  one line, for the tool, the manual page and Python
  constexpr OptionRow(char const* name, char const* tool, char const* help)
      : m_name(name), m_tool(tool), m_help(help) {}

  /// The least number that is allowed.
  [[nodiscard]] constexpr OptionRow at_least(double number) const {
    OptionRow row = *this;
    row.m_least   = number;
    return row;
  }
  /// A path of a file that the run reads. Others name files that it writes.
  [[nodiscard]] constexpr OptionRow from_file() const {
    OptionRow row  = *this;
    row.m_is_input = true;
    return row;
  }
  /// The key in checkpoints that list options by name (fast_tucker). Neighbours of one key are one list.
  [[nodiscard]] constexpr OptionRow stored_as(char const* key) const {
    OptionRow row = *this;
    row.m_stored  = key;
    return row;
  }
  /// How the tool or Python differ from this row, and why.
  [[nodiscard]] constexpr OptionRow differing(char const* how) const {
    OptionRow row = *this;
    row.m_differs = how;
    return row;
  }
  /// The same, and Python's argument is not made of this row.
  [[nodiscard]] constexpr OptionRow declared_by_python(char const* how) const {
    OptionRow row   = differing(how);
    row.m_in_python = false;
    return row;
  }

  [[nodiscard]] constexpr char const* name() const { return m_name; }
  [[nodiscard]] constexpr char const* tool() const { return m_tool; }
  [[nodiscard]] constexpr char const* help() const { return m_help; }
  [[nodiscard]] constexpr double least() const { return m_least; }  // minus infinity: any number
  [[nodiscard]] constexpr bool is_input() const { return m_is_input; }
  [[nodiscard]] constexpr char const* stored() const { return m_stored; }  // empty: not stored
  [[nodiscard]] constexpr char const* differs() const { return m_differs; }
  [[nodiscard]] constexpr bool in_python() const { return m_in_python; }

private:
  char const* m_name;
  char const* m_tool;
  char const* m_help;
  double m_least        = -std::numeric_limits<double>::infinity();
  bool m_is_input       = false;
  bool m_in_python      = true;
  char const* m_stored  = "";
  char const* m_differs = "";
};

namespace detail {
/// Options, or the same const.
template <class Given, class Options>
concept OptionsOrConst = std::same_as<std::remove_const_t<Given>, Options>;
}  // namespace detail

}  // namespace polyad
