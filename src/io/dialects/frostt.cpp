// SPDX-License-Identifier: BSD-3-Clause
// FROSTT's text, which has no header: N indices and a value per line. All other text is treated as this
// dialect, so that faults of the first line are reported here.
#include <array>
#include <cctype>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "io/dialects/registry.hpp"
#include "io/quoted.hpp"
#include "io/text/header_reader.hpp"
#include "io/text/matrix_market.hpp"
#include "io/text/tns_writer.hpp"
#include "io/text/tokens.hpp"

namespace polyad::io {

namespace {

using namespace std::string_view_literals;
using Line = LeadingBlocks::Line;

constexpr std::array frostt_endings = {".tns"sv, ".txt"sv};

/// The fault of a first line that has other separators than blanks and tabs, or that names columns.
std::optional<Fault> other_text(Line const& first) {
  std::string_view const text = first.text;
  auto const begins_word      = [](std::string_view token) {
    return std::isalpha(static_cast<unsigned char>(token[0])) != 0 || token[0] == '"' || token[0] == '\'';
  };
  std::string_view rest = text, number = text;
  bool all_words = true, separated = false;
  for (auto token = take_token(rest); !token.empty(); token = take_token(rest)) {
    all_words &= begins_word(token);
    // A comma after or between numbers, except for a decimal comma in the last of several numbers.
    bool const is_last = rest.find_first_not_of(" \t") == std::string_view::npos;
    separated |=
        token.find_first_of(",;|") != std::string_view::npos && (!is_last || count_tokens(text) == 1);
  }
  std::size_t const at = text.find_first_of(",;|");
  if (separated)
    return Fault{first.number, at + 1,
                 std::string("separates its fields with '") + text[at] +
                     "'; coordinate text has blanks or tabs between numbers" +
                     (begins_word(take_token(number)) ? ", and no line that names columns: " : ": ") +
                     in_quotes(text)};
  if (all_words && count_tokens(text) > 1)
    return Fault{
        first.number, 1,
        "holds words where N indices and a value are expected; a line that names columns has to be left "
        "out: " +
            in_quotes(text)};
  return std::nullopt;
}

/// The three numbers of the first line, if they can be the sizes of a matrix that holds an entry.
std::optional<PossibleSizes> possible_sizes(Line const& first, LeadingBlocks const& lines) {
  std::array<std::uint64_t, 3> numbers{};
  std::string_view rest = first.text;
  for (auto& number : numbers)
    if (read_unsigned(take_token(rest), "", number) || number == 0) return std::nullopt;
  return PossibleSizes{numbers[0], numbers[1], numbers[2], first.number, lines.has_percent()};
}

std::optional<TextHeader> read_frostt_header(LeadingBlocks& lines, std::optional<Fault>& fault) {
  Line const first = *lines.next();
  int const count  = count_tokens(first.text);
  TextHeader header;
  header.rules.order = count - 1;
  if (auto reason = other_text(first)) {
    fault = std::move(reason);
  } else if (count == 3 && all_unsigned(first.text)) {
    header.possible_sizes = possible_sizes(first, lines);
    auto const second     = lines.next();
    if (header.possible_sizes && second && count_tokens(second->text) == 2 && all_unsigned(second->text))
      fault = Fault{first.number, 1, missing_banner(*header.possible_sizes)};
  }
  return header;
}

void write_frostt(std::filesystem::path const& path, CoordinateList const& tensor,
                  WriteOptions const& options) {
  write_coordinate_text(path, tensor, "", options);
}

}  // namespace

constinit DialectDefinition const frostt_dialect = {.name                  = "frostt",
                                                    .endings               = frostt_endings,
                                                    .is_text               = true,
                                                    .shows_base_by_indices = true,
                                                    .holds_extents         = false,
                                                    .read_header           = read_frostt_header,
                                                    .write                 = write_frostt};

constinit Dialect const Dialect::frostt(frostt_dialect);

}  // namespace polyad::io
