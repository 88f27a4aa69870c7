// SPDX-License-Identifier: BSD-3-Clause
// The layout of a table of text: its separator, its header and the use of each column. The first lines
// decide, and what the user specifies overrides them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "io/delimited/separator.hpp"
#include "io/delimited/time_steps.hpp"
#include "polyad/io/delimited_text.hpp"

namespace polyad::io {

/// The use of a column.
struct ColumnUse {
  enum class Kind { left_out, labels, time, value } kind = Kind::left_out;
  std::size_t mode                                       = 0;  // that labels and times belong to
};

struct TableLayout {
  Separator separator;
  std::vector<ColumnUse> columns;
  std::vector<std::string> names;  // the columns'; without a header their numbers, from 0
  bool has_header   = false;
  std::size_t order = 0;
  bool has_value    = false;
  TimeForm time_form{};
  /// Where the records begin: bytes of text and lines to pass over.
  std::uint64_t bytes = 0, lines = 0;
  DelimitedReport report;
};

/// The number of bytes of text, from the beginning, that decide.
inline constexpr std::size_t sample_bytes = std::size_t{1} << 18;

/// The layout of the table with this beginning. Nothing if it is coordinate text, or not a table at all; then
/// the reader of coordinate text decides. \param is_whole  the sample is all of the text
/// \throws InputError for lines that are ambiguous; UsageError if options do not fit them
[[nodiscard]] std::optional<TableLayout> recognise_table(std::string_view sample, bool is_whole,
                                                         DelimitedOptions const& options,
                                                         std::string const& file);

/// The rows of a table's first lines, without the header.
struct SampleRows {
  std::vector<Record> records;
  bool has_header = false;
  std::vector<std::string> names;

  /// A field of a column; empty where the record has none.
  [[nodiscard]] std::string_view field(std::size_t record, std::size_t column) const {
    auto const& fields = records[record].fields;
    return column < fields.size() ? std::string_view(fields[column]) : std::string_view();
  }
  /// Whether `is` holds for a field of the column.
  template <class Is>
  [[nodiscard]] bool somewhere(std::size_t column, Is const& is) const {
    for (std::size_t r = 0; r < records.size(); ++r)
      if (is(field(r, column))) return true;
    return false;
  }
  /// Whether `is` holds for at least half of the column's fields that are not empty.
  template <class Is>
  [[nodiscard]] bool mostly(std::size_t column, Is const& is) const {
    std::size_t yes = 0, all = 0;
    for (std::size_t r = 0; r < records.size(); ++r)
      if (auto const text = field(r, column); !text.empty()) {
        ++all;
        yes += is(text) ? 1 : 0;
      }
    return yes > 0 && 2 * yes >= all;
  }
};

/// Decides the use of each column. Sets columns, order, has_value, time_form and the report.
void assign_columns(TableLayout& layout, SampleRows const& rows, DelimitedOptions const& options,
                    std::string const& file);

/// What the names of columns suggest.
[[nodiscard]] bool names_value(std::string_view name);
[[nodiscard]] bool names_time(std::string_view name);
[[nodiscard]] bool names_rows(std::string_view name);

}  // namespace polyad::io
