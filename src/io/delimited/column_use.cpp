// SPDX-License-Identifier: BSD-3-Clause
// The use of each column of a table. Unless the user specifies it, the values are in a column whose name says
// so, or else in the last one, as in coordinate text. Times that hardly repeat do not become a mode.
#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <cmath>

#include "io/delimited/table_layout.hpp"
#include "io/text/decimal.hpp"
#include "polyad/core/error.hpp"

namespace polyad::io {

namespace {

std::string lower_case(std::string_view text) {
  std::string result(text);
  for (char& c : result) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return result;
}

template <std::size_t N>
bool is_one_of(std::array<std::string_view, N> const& words, std::string_view word) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

/// A number with a fraction, such as 2.5.
bool has_fraction(std::string_view field) {
  double value     = 0;
  auto const fault = read_decimal(field, false, value);
  return fault == DecimalFault::none ? std::trunc(value) != value : has_decimal_comma(field);
}

class Columns {
public:
  Columns(TableLayout& layout, SampleRows const& rows, DelimitedOptions const& options,
          std::string const& file)
      : m_layout(layout), m_rows(rows), m_options(options), m_file(file) {
    m_layout.columns.assign(m_layout.names.size(), {});
  }

  void assign() {
    if (m_options.time.empty() != !m_options.time_unit)
      throw UsageError("a column of times and the unit of its steps are given together");
    auto const time = m_options.time.empty() ? none : find(m_options.time);
    auto chosen     = m_options.columns.empty() ? all_of_interest(time) : listed();
    if (time != none && std::find(chosen.begin(), chosen.end(), time) == chosen.end()) chosen.push_back(time);
    auto const value = value_of(chosen, time);
    if (value != none && value == time)
      throw UsageError("column '" + m_layout.names[time] + "' cannot hold both times and values");
    auto& report = m_layout.report;
    for (auto const column : chosen) {
      if (column == value) continue;
      bool const is_time       = column == time;
      m_layout.columns[column] = {is_time ? ColumnUse::Kind::time : ColumnUse::Kind::labels,
                                  m_layout.order++};
      report.columns.push_back(m_layout.names[column]);
    }
    m_layout.has_value = value != none;
    if (value != none) {
      m_layout.columns[value].kind = ColumnUse::Kind::value;
      report.value                 = m_layout.names[value];
    }
    for (std::size_t c = 0; c < m_layout.columns.size(); ++c)
      if (m_layout.columns[c].kind == ColumnUse::Kind::left_out) report.left_out.push_back(m_layout.names[c]);
    if (m_layout.order == 0)
      throw InputError(m_file, 0, 0, "has no column that names rows; say which one with columns");
    if (time != none) settle_time(time);
  }

private:
  static constexpr std::size_t none = ~std::size_t{0};

  [[nodiscard]] std::size_t find(std::string const& column) const {
    auto const& names = m_layout.names;
    if (auto const found = std::find(names.begin(), names.end(), column); found != names.end())
      return found - names.begin();
    std::size_t number      = 0;
    auto const [end, error] = std::from_chars(column.data(), column.data() + column.size(), number);
    if (error == std::errc() && end == column.data() + column.size() && number < names.size()) return number;
    std::string text;
    for (auto const& name : names) text += (text.empty() ? "" : ", ") + name;
    throw UsageError(m_file + ": there is no column '" + column + "'; the columns are " + text +
                     (m_layout.has_header ? "" : ", counted from 0"));
  }

  [[nodiscard]] std::vector<std::size_t> listed() const {
    std::vector<std::size_t> columns;
    for (auto const& name : m_options.columns) {
      auto const column = find(name);
      if (std::find(columns.begin(), columns.end(), column) != columns.end())
        throw UsageError("column '" + name + "' is listed twice");
      columns.push_back(column);
    }
    return columns;
  }

  /// All columns except times of day, and except a column of numbers without a name (an index of pandas).
  [[nodiscard]] std::vector<std::size_t> all_of_interest(std::size_t time) const {
    std::vector<std::size_t> columns;
    auto const& names = m_layout.names;
    for (std::size_t c = 0; c < names.size(); ++c) {
      bool const is_suspect = c + 1 == names.size() || (m_layout.has_header && names_time(names[c]));
      bool const is_iso     = m_rows.mostly(c, [](auto text) { return form_of_time(text) == TimeForm::iso; });
      bool const is_moment  = (is_suspect || is_iso) && m_rows.mostly(c, has_time_of_day);
      if (c == time || (!names[c].empty() && !is_moment)) columns.push_back(c);
    }
    return columns;
  }

  [[nodiscard]] bool is_named_as_value(std::size_t column, std::size_t time) const {
    return m_layout.has_header && names_value(m_layout.names[column]) && column != time;
  }

  /// Refuses a table whose column of values, by its name, begins with something else: as a mode it would
  /// leave each line to count 1, or the values to another column.
  void expect_no_values_of_words(std::vector<std::size_t> const& chosen, std::size_t time) const {
    for (auto const column : chosen) {
      if (!is_named_as_value(column, time) || m_rows.records.empty()) continue;
      std::size_t r = 0;
      while (r + 1 < m_rows.records.size() && m_rows.field(r, column).empty()) ++r;
      auto const& record = m_rows.records[r];
      if (column >= record.fields.size()) continue;  // a line with too few fields is a fault of its own
      throw InputError(m_file, record.line, record.columns[column],
                       "the name of column '" + m_layout.names[column] +
                           "' says that it holds the values, but the first lines have no number there: '" +
                           std::string(m_rows.field(r, column).substr(0, 40)) +
                           "'. Say which column holds the values, or none if each line counts 1");
    }
  }

  [[nodiscard]] std::size_t value_of(std::vector<std::size_t>& chosen, std::size_t time) const {
    if (m_options.value == "none" &&
        std::find(m_layout.names.begin(), m_layout.names.end(), "none") == m_layout.names.end())
      return none;
    if (!m_options.value.empty()) {
      auto const value = find(m_options.value);
      if (std::find(chosen.begin(), chosen.end(), value) == chosen.end()) chosen.push_back(value);
      return value;
    }
    for (auto column = chosen.rbegin(); column != chosen.rend(); ++column)
      if (is_named_as_value(*column, time) && m_rows.somewhere(*column, looks_numeric)) return *column;
    expect_no_values_of_words(chosen, time);
    if (chosen.size() < 2 || chosen.back() == time) return none;
    auto const last   = chosen.back();
    auto const& name  = m_layout.names[last];
    bool const claims = m_layout.has_header && (names_time(name) || names_rows(name));
    if (claims || !m_rows.mostly(last, looks_numeric)) return none;
    // Two columns of integers are pairs, not rows and their values.
    return chosen.size() > 2 || m_rows.mostly(last, has_fraction) ? last : none;
  }

  void settle_time(std::size_t time) {
    for (std::size_t r = 0; r < m_rows.records.size(); ++r) {
      auto const text = m_rows.field(r, time);
      if (text.empty()) continue;
      auto const form = form_of_time(text);
      if (!form)
        throw InputError(m_file, m_rows.records[r].line, m_rows.records[r].columns[time],
                         "the times of column '" + m_layout.names[time] +
                             "' are neither seconds nor milliseconds since 1970 nor ISO dates: '" +
                             std::string(text.substr(0, 40)) + "'");
      m_layout.time_form = *form;
      break;
    }
    m_layout.report.time      = m_layout.names[time];
    m_layout.report.time_unit = m_options.time_unit;
  }

  TableLayout& m_layout;
  SampleRows const& m_rows;
  DelimitedOptions const& m_options;
  std::string const& m_file;
};

}  // namespace

bool names_value(std::string_view name) {
  static constexpr std::array<std::string_view, 22> words = {
      "value",  "values",  "rating",   "ratings", "score",  "scores",    "count", "counts",
      "weight", "weights", "quantity", "qty",     "amount", "frequency", "freq",  "stars",
      "val",    "n",       "total",    "sum",     "sales",  "price"};
  return is_one_of(words, lower_case(name));
}

bool names_time(std::string_view name) {
  static constexpr std::array<std::string_view, 7> words = {"ts",    "hour", "day",  "week",
                                                            "month", "year", "epoch"};
  std::string const word                                 = lower_case(name);
  for (std::string_view const part : {"time", "date", "stamp"})
    if (word.find(part) != std::string::npos) return true;
  return is_one_of(words, word) || word.ends_with("_at");
}

bool names_rows(std::string_view name) {
  static constexpr std::array<std::string_view, 6> words = {"user",    "item", "movie",
                                                            "product", "name", "customer"};
  std::string const word                                 = lower_case(name);
  return is_one_of(words, word) || (word.ends_with("id") && word != "paid" && word != "bid");
}

void assign_columns(TableLayout& layout, SampleRows const& rows, DelimitedOptions const& options,
                    std::string const& file) {
  Columns(layout, rows, options, file).assign();
}

}  // namespace polyad::io
