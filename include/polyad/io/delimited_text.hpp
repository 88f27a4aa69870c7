// SPDX-License-Identifier: BSD-3-Clause
// Tables as text, such as CSV: how they are to be read, and what was found. Every column but one names the
// rows of a mode; the last one holds the values (docs/file-formats.md).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace polyad::io {

/// The length of a step of time. Weeks begin on Monday; all times are UTC.
enum class TimeUnit { hour, day, week, month, year };

[[nodiscard]] std::string_view to_string(TimeUnit unit) noexcept;
/// \throws UsageError unless it is one of hour, day, week, month and year
[[nodiscard]] TimeUnit time_unit(std::string_view name);

/// What the user specifies about a table. The rest follows from the first lines.
struct DelimitedOptions {
  /// One of , tab ; | :: or a blank, which stands for any number of blanks and tabs. Also their names, as
  /// delimiter() knows them.
  std::string delimiter = {};
  /// Whether the first line names the columns.
  std::optional<bool> header = {};
  /// The columns to read, in the order of the modes: by name, or by number, counted from 0.
  std::vector<std::string> columns = {};
  /// The column of the values; "none": each line counts 1.
  std::string value = {};
  /// A column of times: seconds or milliseconds since 1970, or ISO dates. Its mode counts steps from the
  /// first one on. Both or none.
  std::string time                  = {};
  std::optional<TimeUnit> time_unit = {};

  /// Whether anything is specified: then the text is a table, whatever it looks like.
  [[nodiscard]] bool is_set() const noexcept {
    return !delimiter.empty() || header || !columns.empty() || !value.empty() || !time.empty() || time_unit;
  }
};

/// What was found.
struct DelimitedReport {
  std::string delimiter;             // as in DelimitedOptions
  bool has_header = false;           // a line names the columns
  std::vector<std::string> columns;  // the columns of the modes, by name, else by number
  std::string value;                 // the column of the values; empty: each line counts 1
  std::vector<std::string> left_out;
  std::string time;  // the column that counts steps; empty: none does
  std::optional<TimeUnit> time_unit;
};

/// The delimiter with the name `text`: itself, or comma, tab, semicolon, pipe, colons, blanks.
/// \throws UsageError for others
[[nodiscard]] std::string delimiter(std::string_view text);

/// "comma-separated with a header: columns user, item -> value rating"
[[nodiscard]] std::string describe(DelimitedReport const& report);

}  // namespace polyad::io
