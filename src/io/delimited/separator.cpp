// SPDX-License-Identifier: BSD-3-Clause
#include "io/delimited/separator.hpp"

#include <cstring>

#include "io/text/decimal.hpp"
#include "io/text/tokens.hpp"
#include "polyad/core/error.hpp"
#include "polyad/io/delimited_text.hpp"

namespace polyad::io {

namespace {

struct NamedDelimiter {
  std::string_view text, name, description;
};
constexpr NamedDelimiter named_delimiters[] = {
    {",", "comma", "comma-separated"},         {"\t", "tab", "tab-separated"},
    {";", "semicolon", "semicolon-separated"}, {"|", "pipe", "separated by |"},
    {"::", "colons", "separated by ::"},       {" ", "blanks", "separated by blanks"}};

/// The text without the CR of a CRLF line end, and without padding.
std::string_view trimmed(Separator separator, char const* begin, char const* end, bool ends_record) {
  if (ends_record && end > begin && end[-1] == '\r') --end;
  while (end > begin && separator.is_padding(end[-1])) --end;
  return {begin, end};
}

/// Sets the byte after the separator or the line end at p. Blanks after the last field do not separate.
void finish_field(Separator separator, char const* p, Field& field) {
  if (separator.kind == Separator::Kind::blanks)
    while (*p == ' ' || *p == '\t') ++p;
  if (*p == '\r' && p[1] == '\n') ++p;
  if (*p == '\n') {
    field.ends_record = true;
    field.next        = p + 1;
  } else if (separator.kind == Separator::Kind::blanks) {
    field.next = p;
  } else {
    field.next = p + (separator.kind == Separator::Kind::colons ? 2 : 1);
  }
}

Field take_quoted(Separator separator, char const* p, char const* end, std::string& buffer) {
  Field field;
  field.begin       = p;
  char const* begin = p + 1;
  bool is_copied    = false;
  for (p = begin;;) {
    auto const* const quote = static_cast<char const*>(std::memchr(p, '"', end - p));
    if (quote == nullptr) {
      field.fault  = field.begin;
      field.reason = "begins a quoted field that is not closed";
      return field;
    }
    if (quote + 1 < end && quote[1] == '"') {
      if (!is_copied) buffer.clear();
      is_copied = true;
      buffer.append(begin, quote + 1);
      begin = p = quote + 2;
      continue;
    }
    if (is_copied) {
      buffer.append(begin, quote);
      field.text = buffer;
    } else {
      field.text = {begin, quote};
    }
    p = quote + 1;
    break;
  }
  while (separator.kind != Separator::Kind::blanks && separator.is_padding(*p)) ++p;
  if (*p != '\n' && !(*p == '\r' && p[1] == '\n') && !separator.is_at(p)) {
    field.fault  = p;
    field.reason = "a closing quote is followed by more of the field; a quote within one is written twice";
    return field;
  }
  finish_field(separator, p, field);
  return field;
}

}  // namespace

std::string delimiter(std::string_view text) {
  for (auto const& known : named_delimiters)
    if (text == known.text || text == known.name) return std::string(known.text);
  if (text == "\\t") return "\t";
  if (text == "semi") return ";";
  throw UsageError(
      "a delimiter is one of comma, tab, semicolon, pipe, colons and blanks (, ; | :: and so on), not '" +
      std::string(text) + "'");
}

Separator Separator::of(std::string_view delimiter) {
  if (delimiter == "::") return {Kind::colons, ':'};
  if (delimiter == " ") return {Kind::blanks, ' '};
  return {Kind::single, delimiter.at(0)};
}

std::string Separator::text() const {
  return kind == Kind::colons ? "::" : std::string(1, mark);
}

std::string Separator::description() const {
  for (auto const& known : named_delimiters)
    if (known.text == text()) return std::string(known.description);
  return "?";
}

Field take_field(Separator separator, char const* p, char const* end, std::string& buffer) {
  while (separator.is_padding(*p)) ++p;
  if (*p == '"') return take_quoted(separator, p, end, buffer);
  Field field;
  field.begin     = p;
  auto const fail = [&](std::string_view reason) {
    if (field.fault != nullptr) return;
    field.fault  = p;
    field.reason = reason;
  };
  for (; *p != '\n' && !separator.is_at(p); ++p) {
    if (*p == '"') fail("a quote is inside a field that does not begin with one");
    if (*p == '\r' && p[1] != '\n')
      fail("a carriage return is inside a line, which ends with a line feed, or with both");
  }
  field.text = trimmed(separator, field.begin, p, *p == '\n');
  finish_field(separator, p, field);
  return field;
}

std::optional<Record> take_record(Separator separator, char const* p, char const* end, Field* fault) {
  Record record;
  std::string buffer;
  char const* line = p;
  for (;;) {
    Field const field = take_field(separator, p, end, buffer);
    if (field.fault != nullptr) {
      if (fault != nullptr) *fault = field;
      return std::nullopt;
    }
    for (char const* q = p; q < field.begin; ++q)
      if (*q == '\n') line = q + 1;
    record.fields.emplace_back(field.text);
    record.columns.push_back(field.begin - line + 1);
    for (char const* q = field.begin; q + 1 < field.next; ++q)
      if (*q == '\n') line = q + 1;
    p = field.next;
    if (field.ends_record) break;
  }
  record.next = p;
  return record;
}

char const* after_empty_line(Separator separator, char const* p, char const* end) {
  while (p < end && separator.is_padding(*p)) ++p;
  if (p < end && *p == '\r' && p[1] == '\n') ++p;
  return p < end && *p == '\n' ? p + 1 : nullptr;
}

bool has_decimal_comma(std::string_view field) {
  std::string text(without_plus(field));
  auto const comma = text.find(',');
  if (comma == std::string::npos || comma + 1 == text.size() || !is_digit(text[comma + 1])) return false;
  text[comma]  = '.';
  double value = 0;
  return read_decimal(text, false, value) != DecimalFault::not_a_number;
}

bool looks_numeric(std::string_view field) {
  double value     = 0;
  auto const fault = read_decimal(field, false, value);
  return fault != DecimalFault::not_a_number || has_decimal_comma(field);
}

}  // namespace polyad::io
