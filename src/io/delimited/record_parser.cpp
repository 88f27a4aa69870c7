// SPDX-License-Identifier: BSD-3-Clause
// The short path handles records of integers, texts and plain decimal numbers from a block without quotes.
// All others take the careful path, which alone reports faults.
#include "io/delimited/record_parser.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <utility>

#include "io/quoted.hpp"
#include "io/text/decimal.hpp"
#include "polyad/core/printable.hpp"

namespace polyad::io {

namespace {

constexpr std::uint64_t blocks_shift = 32;  // records of a block in a place

constexpr double tens[] = {1e0, 1e1, 1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                           1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15};

/// [-]digits[.digits] with at most 15 digits: an exact integer over an exact power of ten, rounded once.
bool read_short_decimal(std::string_view text, double& value) {
  constexpr std::size_t most_digits = 15;
  bool const is_negative            = text.starts_with('-');
  if (is_negative) text.remove_prefix(1);
  if (text.empty() || text.size() > most_digits) return false;
  std::int64_t mantissa = 0;
  std::size_t fraction = 0, digits = 0;
  bool has_point = false;
  for (char const c : text) {
    if (c >= '0' && c <= '9') {
      mantissa = 10 * mantissa + (c - '0');
      ++digits;
      fraction += has_point ? 1 : 0;
    } else if (c == '.' && !has_point && digits > 0) {
      has_point = true;
    } else {
      return false;
    }
  }
  if (digits == 0 || (has_point && fraction == 0)) return false;
  double const size = static_cast<double>(mantissa) / tens[fraction];
  value             = is_negative ? -size : size;
  return true;
}

/// Passes over the digits at p, which another byte follows. \return the number that they are, modulo 2^64
std::uint64_t take_digits(char const*& p) {
  std::uint64_t number = 0;
  for (unsigned digit = 0; (digit = static_cast<unsigned char>(*p - '0')) <= 9; ++p)
    number = 10 * number + digit;
  return number;
}

/// An integer at p of at most 18 digits in its one form, up to a byte that is not a digit; most ids are such.
/// \return the byte after it, or null
char const* take_short_integer(char const* p, std::int64_t& number) {
  constexpr std::ptrdiff_t most_digits = 18;
  bool const is_negative               = *p == '-';
  char const* const begin              = p += is_negative ? 1 : 0;
  auto const size                      = static_cast<std::int64_t>(take_digits(p));
  std::ptrdiff_t const digits          = p - begin;
  if (digits == 0 || digits > most_digits || (*begin == '0' && (digits > 1 || is_negative))) return nullptr;
  number = is_negative ? -size : size;
  return p;
}

/// A decimal at p as read_short_decimal reads it, up to a byte that is not a digit of it.
/// \return the byte after it, or null
char const* take_short_decimal(char const* p, double& value) {
  constexpr std::ptrdiff_t most_digits = 15;
  bool const is_negative               = *p == '-';
  char const* const begin              = p += is_negative ? 1 : 0;
  std::uint64_t mantissa               = take_digits(p);
  std::ptrdiff_t digits = p - begin, fraction = 0;
  if (digits == 0) return nullptr;
  if (*p == '.') {
    char const* const point = ++p;
    std::uint64_t const low = take_digits(p);
    fraction                = p - point;
    digits += fraction;
    if (fraction == 0 || digits > most_digits) return nullptr;
    mantissa = mantissa * static_cast<std::uint64_t>(tens[fraction]) + low;
  }
  if (digits > most_digits) return nullptr;
  double const size = static_cast<double>(mantissa) / tens[fraction];
  value             = is_negative ? -size : size;
  return p;
}

/// An integer that is the whole text. \param text  a byte after it can be read
bool read_short_integer(std::string_view text, std::int64_t& number) {
  return take_short_integer(text.data(), number) == text.data() + text.size();
}

bool is_utf8(std::string_view text) {
  std::size_t at = 0;
  for (std::uint64_t word = 0; at + sizeof word <= text.size(); at += sizeof word) {
    std::memcpy(&word, text.data() + at, sizeof word);
    if ((word & 0x8080808080808080) != 0) break;
  }
  while (at < text.size()) {
    if (static_cast<unsigned char>(text[at]) < 0x80) {
      ++at;
      continue;
    }
    std::size_t const bytes = character_bytes(text.substr(at));
    if (bytes == 0) return false;
    at += bytes;
  }
  return true;
}

std::uint64_t lines_in(char const* begin, char const* end) {
  return std::count(begin, end, '\n');
}

}  // namespace

void RecordParser::fail(RecordBlock const& block, char const* at, std::string reason,
                        ParsedRecords& result) const {
  char const* const begin = block.text.data();
  char const* line        = at;
  while (line > begin && line[-1] != '\n') --line;
  result.fault =
      Fault{1 + lines_in(begin, line), static_cast<std::uint64_t>(at - line) + 1, std::move(reason)};
}

bool RecordParser::take_value(std::string_view text, ParsedRecords& result) {
  double& value = result.values.begin()[m_record];
  if (read_short_decimal(text, value)) return true;
  auto const fault = read_decimal(text, false, value);
  if (fault == DecimalFault::none && (m_allow_non_finite || std::isfinite(value))) return true;
  if (fault == DecimalFault::none)
    m_reason = "is not finite: " + in_quotes(text);
  else
    m_reason = std::string(to_string(fault)) + ": " + in_quotes(text) +
               (fault == DecimalFault::not_that_integer ? "; with a point after its digits it is rounded"
                : fault == DecimalFault::not_a_number && has_decimal_comma(text) ? "; decimals have a point"
                                                                                 : "");
  return false;
}

void RecordParser::finish_labels() {
  for (auto& labels : m_labels) labels->finish();
}

/// Takes the text of a column. \return whether it is valid; if not, m_reason says why
/// \param is_buffered  whether the text changes with the next field
bool RecordParser::take(std::size_t column, std::string_view text, ParsedRecords& result, bool is_buffered) {
  ColumnUse const use = m_layout.columns[column];
  if (use.kind == ColumnUse::Kind::left_out) return true;
  if (text.empty()) {
    m_reason = "is empty";
    return false;
  }
  if (use.kind == ColumnUse::Kind::value) return take_value(text, result);
  std::uint32_t& row = result.rows.begin()[m_record * m_layout.order + use.mode];
  if (use.kind == ColumnUse::Kind::time) {
    std::int64_t step = 0;
    if (auto reason = read_step(text, m_layout.time_form, *m_layout.report.time_unit, step)) {
      m_reason = std::move(*reason);
      return false;
    }
    row          = static_cast<std::uint32_t>(step + step_offset);
    result.least = std::min(result.least, row);
    result.most  = std::max(result.most, row);
    return true;
  }
  auto& labels        = *m_labels[use.mode];
  std::int64_t number = 0;
  if (read_short_integer(text, number)) {
    labels.number_later(number, m_place, &row);
    return true;
  }
  if (auto const integer = read_integer(text)) {
    labels.number_later(*integer, m_place, &row);
    return true;
  }
  if (!is_utf8(text)) {
    m_reason = "is not UTF-8 text: " + in_quotes(text);
    return false;
  }
  labels.number_later(text, m_place, &row);
  if (is_buffered) labels.finish();
  return true;
}

/// One record in every form. \return the byte after it, or null for a fault
char const* RecordParser::take_careful_record(RecordBlock const& block, char const* p,
                                              ParsedRecords& result) {
  char const* const end     = block.text.data() + block.text.size();
  char const* const start   = p;
  std::size_t const columns = m_layout.columns.size();
  for (std::size_t c = 0;; ++c) {
    Field const field = take_field(m_layout.separator, p, end, m_buffer);
    if (field.fault != nullptr) {
      fail(block, field.fault, std::string(field.reason), result);
      return nullptr;
    }
    if (c >= columns || (field.ends_record && c + 1 < columns)) {
      std::size_t found = c + 1;
      char const* at    = field.begin;
      for (Field next = field; !next.ends_record && next.fault == nullptr; ++found)
        next = take_field(m_layout.separator, next.next, end, m_buffer);
      if (c < columns) at = field.next - 1 - (field.next - 1 > field.begin && field.next[-2] == '\r' ? 1 : 0);
      fail(block, at,
           "expected " + std::to_string(columns) + " fields, " + m_layout.separator.description() +
               ", found " + std::to_string(found) + ": " + in_quotes({start, std::find(start, end, '\n')}),
           result);
      return nullptr;
    }
    if (!take(c, field.text, result, field.text.data() == m_buffer.data())) {
      bool const is_value = m_layout.columns[c].kind == ColumnUse::Kind::value;
      fail(block, field.begin,
           (is_value ? "the value of column " : "column ") + in_quotes(m_layout.names[c]) + " " + m_reason,
           result);
      return nullptr;
    }
    p = field.next;
    if (field.ends_record) break;
  }
  if (static_cast<std::size_t>(p - start) <= RecordBlocks::longest_record) return p;
  fail(block, start, "has a record of more than " + std::to_string(RecordBlocks::longest_record) + " bytes",
       result);
  return nullptr;
}

void RecordParser::parse_carefully(RecordBlock const& block, ParsedRecords& result, char const* p) {
  char const* const end = block.text.data() + block.text.size();
  while (p < end && !result.fault) {
    if (auto const* const next = after_empty_line(m_layout.separator, p, end)) {
      p = next;
      continue;
    }
    p = take_careful_record(block, p, result);
    if (p == nullptr) return;
    ++m_record;
    ++m_place;
  }
}

/// The field at p if it is an integer that labels a row, or a decimal that is a value, in their usual forms:
/// its end is found as its digits are read. \return its end, or null
template <Separator::Kind kind>
char const* RecordParser::take_number(std::size_t column, char const* p, ParsedRecords& result) {
  Separator const separator{kind, m_layout.separator.mark};
  auto const ends = [&](char const* at) {
    return at != nullptr && (*at == '\n' || separator.is_at(at) || (*at == '\r' && at[1] == '\n'));
  };
  ColumnUse const use = m_layout.columns[column];
  if (use.kind == ColumnUse::Kind::value) {
    char const* const end = take_short_decimal(p, result.values.begin()[m_record]);
    return ends(end) ? end : nullptr;
  }
  if (use.kind != ColumnUse::Kind::labels) return nullptr;
  std::int64_t number   = 0;
  char const* const end = take_short_integer(p, number);
  if (!ends(end)) return nullptr;
  m_labels[use.mode]->number_later(number, m_place,
                                   &result.rows.begin()[m_record * m_layout.order + use.mode]);
  return end;
}

/// A field in any form that is not quoted. \return its end, or null if it is not plain
template <Separator::Kind kind>
char const* RecordParser::take_plain_field(std::size_t column, char const* p, ParsedRecords& result) {
  Separator const separator{kind, m_layout.separator.mark};
  char const* const begin = p;
  while (*p != '\n' && !separator.is_at(p)) ++p;
  char const* end = p;
  if (*p == '\n' && end > begin && end[-1] == '\r') --end;
  std::size_t const size = end - begin;
  if (size > 0 && (separator.is_padding(end[-1]) || std::memchr(begin, '\r', size) != nullptr))
    return nullptr;
  return take(column, {begin, size}, result, false) ? p : nullptr;
}

/// A record that is not plain is left to the careful path.
template <Separator::Kind kind>
void RecordParser::parse_plain(RecordBlock const& block, ParsedRecords& result) {
  Separator const separator{kind, m_layout.separator.mark};
  char const *p = block.text.data(), *const end = p + block.text.size();
  std::size_t const columns = m_layout.columns.size();
  while (p < end) {
    char const* const start = p;
    bool is_plain           = true;
    for (std::size_t c = 0; c < columns && is_plain; ++c) {
      while (separator.is_padding(*p)) ++p;
      char const* field_end = take_number<kind>(c, p, result);
      if (field_end == nullptr) field_end = take_plain_field<kind>(c, p, result);
      is_plain = field_end != nullptr;
      if (!is_plain) break;
      p = field_end;
      if constexpr (kind == Separator::Kind::blanks)
        while (*p == ' ' || *p == '\t') ++p;
      if (*p == '\r' && p[1] == '\n') ++p;
      bool const is_last = c + 1 == columns;
      is_plain           = (*p == '\n') == is_last;
      if constexpr (kind == Separator::Kind::single) p += is_last ? 0 : 1;
      if constexpr (kind == Separator::Kind::colons) p += is_last ? 0 : 2;
    }
    if (is_plain) {
      ++p;
      ++m_record;
      ++m_place;
      if (static_cast<std::size_t>(p - start) <= RecordBlocks::longest_record) continue;
      --m_record;
      --m_place;
    }
    p = start;
    if (auto const* const next = after_empty_line(m_layout.separator, p, end)) {
      p = next;
      continue;
    }
    p = take_careful_record(block, start, result);
    if (p == nullptr) return;
    ++m_record;
    ++m_place;
  }
}

ParsedRecords RecordParser::parse(RecordBlock const& block, std::uint64_t number) {
  ParsedRecords result;
  result.lines = lines_in(block.text.data(), block.text.data() + block.text.size());
  // A record has a byte for each field that is read, and a line end.
  auto const most = std::min<std::uint64_t>(result.lines, block.text.size() / (m_layout.order + 1) + 1);
  result.rows     = m_slabs.take<std::uint32_t>((most + 1) * m_layout.order);
  result.values   = m_slabs.take<double>(most + 1);
  m_record        = 0;
  m_place         = number << blocks_shift;
  if (block.has_quotes || block.is_cut)
    parse_carefully(block, result, block.text.data());
  else if (m_layout.separator.kind == Separator::Kind::single)
    parse_plain<Separator::Kind::single>(block, result);
  else if (m_layout.separator.kind == Separator::Kind::colons)
    parse_plain<Separator::Kind::colons>(block, result);
  else
    parse_plain<Separator::Kind::blanks>(block, result);
  finish_labels();
  if (!m_layout.has_value) std::fill_n(result.values.begin(), m_record, 1.0);
  m_slabs.shrink(result.values, m_record);
  m_slabs.shrink(result.rows, m_record * m_layout.order);
  return result;
}

}  // namespace polyad::io
