// SPDX-License-Identifier: BSD-3-Clause
// Reads the header of a text line by line. The dialects (io/dialects) use it.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "io/quoted.hpp"
#include "io/text/text_header.hpp"
#include "io/text/tokens.hpp"

namespace polyad::io {

/// The numbers of a header line, read one after the other. Stops at the first one that is wrong.
class HeaderLine {
public:
  HeaderLine(LeadingBlocks::Line const& line, std::optional<Fault>& fault)
      : m_line(line), m_rest(line.text), m_fault(fault) {}

  /// Refuses a number of tokens other than `wanted`. `what`: "3 extents"
  bool expect_count(int wanted, std::string const& what) {
    if (m_fault) return false;
    int const count = count_tokens(m_line.text);
    if (count == wanted) return true;
    std::string_view rest = m_line.text;
    std::string_view surplus;
    for (int k = 0; k <= wanted; ++k) surplus = take_token(rest);
    std::uint64_t const column = count < wanted ? m_line.text.size() + 1 : column_of(surplus);
    m_fault = Fault{m_line.number, column,
                    "expected " + what + ", found " + std::to_string(count) + ": " + in_quotes(m_line.text)};
    return false;
  }

  /// A number from `least` to `most`.
  std::uint64_t number(std::string const& name, std::uint64_t least, std::uint64_t most) {
    std::string_view const token = take_token(m_rest);
    m_column                     = column_of(token);
    std::uint64_t value          = 0;
    if (m_fault) return 0;
    auto reason = read_unsigned(token, name, value);
    if (!reason && value < least)
      reason = name + " is less than " + std::to_string(least) + ": " + in_quotes(token);
    if (!reason && value > most)
      reason = name + " is more than " + std::to_string(most) + ": " + in_quotes(token);
    if (reason) m_fault = Fault{m_line.number, m_column, std::move(*reason)};
    return value;
  }

  /// The column of the last number.
  [[nodiscard]] std::uint64_t column() const noexcept { return m_column; }

private:
  [[nodiscard]] std::uint64_t column_of(std::string_view token) const {
    return token.data() - m_line.text.data() + 1;
  }
  LeadingBlocks::Line m_line;
  std::string_view m_rest;
  std::optional<Fault>& m_fault;
  std::uint64_t m_column = 1;
};

/// Reads a header of several lines into a TextHeader.
class HeaderReader {
public:
  HeaderReader(LeadingBlocks& lines, LeadingBlocks::Line const& first, std::optional<Fault>& fault)
      : m_lines(lines), m_last(first), m_fault(fault) {}

  TextHeader header;

  /// The next line of the header, which must exist.
  LeadingBlocks::Line next(std::string const& what) {
    auto const line = m_fault ? std::nullopt : m_lines.next();
    if (line) {
      m_last = *line;
    } else if (!m_fault) {
      m_fault =
          Fault{m_last.number, m_last.text.size() + 1, "the file ends where " + what + " should follow"};
    }
    return m_last;
  }

  void order(HeaderLine& line) {
    header.rules.order = static_cast<int>(line.number("the number of modes", 1, most_modes));
  }

  void extents(LeadingBlocks::Line const& text) {
    HeaderLine line(text, m_fault);
    int const order = header.rules.order;
    if (!line.expect_count(order, std::to_string(order) + (order == 1 ? " extent" : " extents"))) return;
    for (int n = 0; n < order; ++n) extent(line, n);
  }

  void extent(HeaderLine& line, int n) {
    // 2^64 - 1 does not limit anything, since a larger index would not fit 64 bits.
    header.extents.push_back(line.number("extent " + std::to_string(n + 1), 1, no_limit));
    header.rules.limits[n] = header.extents.back();
  }

  void nnz(HeaderLine& line) {
    header.nnz        = line.number("the number of nonzeros", 0, no_limit - 1);
    header.nnz_line   = m_last.number;
    header.nnz_column = line.column();
  }

  TextHeader finish(Dialect dialect) {
    header.dialect = dialect;
    header.lines   = m_last.number;
    return std::move(header);
  }

private:
  LeadingBlocks& m_lines;
  LeadingBlocks::Line m_last;
  std::optional<Fault>& m_fault;
};

/// Whether a line holds only digits and blanks.
[[nodiscard]] inline bool all_unsigned(std::string_view line) {
  for (auto token = take_token(line); !token.empty(); token = take_token(line))
    if (!std::all_of(token.begin(), token.end(), is_digit)) return false;
  return true;
}

}  // namespace polyad::io
