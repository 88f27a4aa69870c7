// SPDX-License-Identifier: BSD-3-Clause
// What separates the fields of a line, and how one field is read from a record: as in RFC 4180, but blanks
// around fields that are not quoted are left out.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace polyad::io {

struct Separator {
  /// blanks: any number of blanks and tabs
  enum class Kind { single, colons, blanks } kind = Kind::single;
  char mark                                       = ',';

  /// \param delimiter  as DelimitedOptions has it: one of , tab ; | :: and a blank
  [[nodiscard]] static Separator of(std::string_view delimiter);
  /// As in DelimitedOptions.
  [[nodiscard]] std::string text() const;
  /// "comma-separated"
  [[nodiscard]] std::string description() const;

  /// Whether a field ends at p, which is not the end of a line. One more byte can be read.
  [[nodiscard]] bool is_at(char const* p) const noexcept {
    if (kind == Kind::single) return *p == mark;
    if (kind == Kind::colons) return p[0] == ':' && p[1] == ':';
    return *p == ' ' || *p == '\t';
  }
  /// Whether c is ignored before and after a field.
  [[nodiscard]] bool is_padding(char c) const noexcept {
    return c == ' ' || (c == '\t' && !(kind == Kind::single && mark == '\t'));
  }
};

/// One field of a record.
struct Field {
  std::string_view text;        // without its quotes; in the record, or in a buffer of the caller
  char const* begin = nullptr;  // its first byte
  char const* next  = nullptr;  // the byte after the separator or the line end
  bool ends_record  = false;
  char const* fault = nullptr;  // the byte at which the field is wrong; null if it is correct
  std::string_view reason;      // why it is wrong
};

/// Reads the field at p. \param end  the end of the text, whose last byte is a line end. \param buffer  for a
/// quoted field with quotes in it
[[nodiscard]] Field take_field(Separator separator, char const* p, char const* end, std::string& buffer);

/// The fields of the record at p, and the end of the record; nothing for a record with a fault.
struct Record {
  std::vector<std::string> fields;
  std::vector<std::uint64_t> columns;  // where each begins in its line, from 1
  std::uint64_t line = 1;              // where it begins in the text
  char const* next   = nullptr;
};
[[nodiscard]] std::optional<Record> take_record(Separator separator, char const* p, char const* end,
                                                Field* fault = nullptr);

/// Whether the line at p holds nothing but blanks. \return the byte after its line end, else null
[[nodiscard]] char const* after_empty_line(Separator separator, char const* p, char const* end);

/// "2,5"
[[nodiscard]] bool has_decimal_comma(std::string_view field);
/// Whether the field is a decimal number, also with a comma for the point; NaN and infinity are numbers.
[[nodiscard]] bool looks_numeric(std::string_view field);

}  // namespace polyad::io
