// SPDX-License-Identifier: BSD-3-Clause
#include "io/text/text_header.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <utility>

#include "core/host_memory.hpp"
#include "io/known_file.hpp"
#include "io/quoted.hpp"
#include "io/text/tokens.hpp"
#include "polyad/core/per_mode.hpp"

namespace polyad::io {

namespace {

using namespace std::string_view_literals;
using Line = LeadingBlocks::Line;

constexpr auto byte_order_mark = "\xEF\xBB\xBF"sv;
constexpr auto banner_start    = "%%MatrixMarket"sv;
constexpr auto banner_form =
    "%%MatrixMarket matrix coordinate real|integer|pattern general|symmetric|skew-symmetric";

std::string lower(std::string_view text) {
  std::string result(text);
  for (char& c : result) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return result;
}

/// The numbers of a header line, taken one after the other. Stops at the first that is wrong.
class HeaderLine {
public:
  HeaderLine(Line const& line, std::optional<Fault>& fault)
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

  /// Where the last number stands.
  [[nodiscard]] std::uint64_t column() const noexcept { return m_column; }

private:
  [[nodiscard]] std::uint64_t column_of(std::string_view token) const {
    return static_cast<std::uint64_t>(token.data() - m_line.text.data()) + 1;
  }
  Line m_line;
  std::string_view m_rest;
  std::optional<Fault>& m_fault;
  std::uint64_t m_column = 1;
};

/// Reads a header of several lines into a TextHeader.
class HeaderReader {
public:
  HeaderReader(LeadingBlocks& lines, Line const& first, std::optional<Fault>& fault)
      : m_lines(lines), m_last(first), m_fault(fault) {}

  TextHeader header;

  /// The next line of the header, which must be there.
  Line next(std::string const& what) {
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

  void extents(Line const& text) {
    HeaderLine line(text, m_fault);
    int const order = header.rules.order;
    if (!line.expect_count(order, std::to_string(order) + (order == 1 ? " extent" : " extents"))) return;
    for (int n = 0; n < order; ++n) extent(line, n);
  }

  void extent(HeaderLine& line, int n) {
    // 2^64 - 1 is no limit at all, since a larger index would not fit 64 bits.
    header.extents.push_back(line.number("extent " + std::to_string(n + 1), 1, no_limit));
    of_mode(header.rules.limits, n) = header.extents.back();
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
  Line m_last;
  std::optional<Fault>& m_fault;
};

bool all_unsigned(std::string_view line) {
  for (auto token = take_token(line); !token.empty(); token = take_token(line))
    if (!std::all_of(token.begin(), token.end(), is_digit)) return false;
  return true;
}

TextHeader read_tensor_toolbox(LeadingBlocks& lines, Line const& first, int& base,
                               std::optional<Fault>& fault) {
  HeaderReader reader(lines, first, fault);
  std::string_view rest = first.text;
  (void)take_token(rest);
  std::string_view const origin = take_token(rest);
  std::string_view const more   = take_token(rest);
  if (origin == "indices-start-at-zero"sv || origin == "indices-start-at-one"sv) {
    base = origin == "indices-start-at-zero"sv ? 0 : 1;
  } else if (!origin.empty()) {
    fault = Fault{
        first.number, static_cast<std::uint64_t>(origin.data() - first.text.data()) + 1,
        "expected 'indices-start-at-zero', 'indices-start-at-one' or nothing, found " + in_quotes(origin)};
  }
  if (!more.empty() && !fault)
    fault = Fault{first.number, static_cast<std::uint64_t>(more.data() - first.text.data()) + 1,
                  "expected the end of the line, found " + in_quotes(more)};
  HeaderLine order(reader.next("the number of modes"), fault);
  if (order.expect_count(1, "the number of modes alone")) reader.order(order);
  reader.extents(reader.next("the extents"));
  HeaderLine nnz(reader.next("the number of nonzeros"), fault);
  if (nnz.expect_count(1, "the number of nonzeros alone")) reader.nnz(nnz);
  return reader.finish(Dialect::tensor_toolbox);
}

TextHeader read_matrix_market(LeadingBlocks& lines, Line const& banner, std::optional<Fault>& fault) {
  HeaderReader reader(lines, banner, fault);
  LineRules& rules = reader.header.rules;
  rules.order      = 2;
  std::array<std::string_view, 5> words;
  std::string_view rest = banner.text;
  for (auto& word : words) word = take_token(rest);
  auto const refuse = [&](std::string_view word, std::string const& reason) {
    auto const column = word.empty() ? banner.text.size() + 1
                                     : static_cast<std::uint64_t>(word.data() - banner.text.data()) + 1;
    if (!fault) fault = Fault{banner.number, column, reason};
  };
  std::string const object = lower(words[1]), layout = lower(words[2]), field = lower(words[3]),
                    symmetry = lower(words[4]);
  auto const expected        = [&](std::string_view word) {
    refuse(word, "expected '" + std::string(banner_form) + "', found " +
                     (word.empty() ? std::string("the end of the line") : in_quotes(word)));
  };
  if (lower(words[0]) != lower(banner_start)) expected(words[0]);
  if (object != "matrix") expected(words[1]);
  if (layout == "array") refuse(words[2], "a dense matrix ('array') is no sparse tensor");
  if (layout != "coordinate") expected(words[2]);
  if (field == "complex") refuse(words[3], "complex values are not supported");
  if (field == "integer") {
    rules.integer_values = true;
  } else if (field == "pattern") {
    rules.has_value = false;
  } else if (field != "real" && field != "double") {
    expected(words[3]);
  }
  if (symmetry == "symmetric") {
    rules.symmetry = Symmetry::symmetric;
  } else if (symmetry == "skew-symmetric") {
    rules.symmetry = Symmetry::skew;
    if (!rules.has_value) refuse(words[4], "a pattern has no signs and cannot be skew-symmetric");
  } else if (symmetry == "hermitian") {
    refuse(words[4], "a hermitian matrix has complex values, which are not supported");
  } else if (symmetry != "general") {
    expected(words[4]);
  }
  if (auto const more = take_token(rest); !more.empty()) expected(more);
  Line const sizes = reader.next("the rows, columns and nonzeros");
  HeaderLine line(sizes, fault);
  if (line.expect_count(3, "rows, columns and nonzeros")) {
    reader.extent(line, 0);
    reader.extent(line, 1);
    if (!fault && rules.symmetry != Symmetry::none && reader.header.extents[0] != reader.header.extents[1])
      fault = Fault{sizes.number, line.column(), "a symmetric matrix is square: " + in_quotes(sizes.text)};
    reader.nnz(line);
  }
  return reader.finish(Dialect::matrix_market);
}

/// The fault of a first line that has other separators than blanks and tabs, or names columns.
std::optional<Fault> other_text(Line const& first) {
  std::string_view const text = first.text;
  auto const begins_word      = [](std::string_view token) {
    return std::isalpha(static_cast<unsigned char>(token[0])) != 0 || token[0] == '"' || token[0] == '\'';
  };
  std::string_view rest = text, number = text;
  bool all_words = true, separated = false;
  for (auto token = take_token(rest); !token.empty(); token = take_token(rest)) {
    all_words &= begins_word(token);
    // A comma after or between numbers, except for a decimal comma in the last of several.
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

}  // namespace

std::string_view LeadingBlocks::text() {
  if (m_held.empty()) static_cast<void>(fetch());
  return m_held.empty() ? std::string_view() : m_held.front().text;
}

bool LeadingBlocks::fetch() {
  auto block = m_blocks.next();
  if (!block) return false;
  m_blocks.load(*block);
  m_taken += block->text.size();
  if (m_taken >= std::size_t{1} << 20)
    detail::expect_fits_host("the text before the first nonzero", std::exchange(m_taken, 0));
  if (m_held.empty() && block->text.starts_with(byte_order_mark))
    block->text.remove_prefix(byte_order_mark.size());
  m_held.push_back(std::move(*block));
  return true;
}

std::optional<Line> LeadingBlocks::first() {
  if (m_held.empty() && !fetch()) return std::nullopt;
  std::string_view const text = m_held.front().text;
  return Line{1, without_return(text.substr(0, text.find('\n')))};
}

std::optional<Line> LeadingBlocks::next() {
  for (;;) {
    while (m_block < m_held.size() && m_offset == m_held[m_block].text.size()) {
      ++m_block;
      m_offset = 0;
    }
    if (m_block == m_held.size() && !fetch()) return std::nullopt;
    if (m_held[m_block].text.empty()) continue;
    std::string_view const rest = m_held[m_block].text.substr(m_offset);
    std::string_view const line = rest.substr(0, rest.find('\n'));
    m_offset += line.size() + 1;  // a block ends with a line end
    ++m_line;
    std::string_view const text = without_return(line);
    std::string_view tokens     = text;
    auto const token            = take_token(tokens);
    if (!holds_nothing(token)) return Line{m_line, text};
    m_has_percent |= token.starts_with('%');
    if (!m_banner && looks_like_banner(text)) m_banner = Line{m_line, text};
  }
}

std::deque<TextBlock> LeadingBlocks::release(std::uint64_t lines) {
  while (lines > 0 && !m_held.empty()) {
    std::string_view& text = m_held.front().text;
    for (; lines > 0 && !text.empty(); --lines) text.remove_prefix(text.find('\n') + 1);
    if (text.empty()) m_held.pop_front();
  }
  return std::move(m_held);
}

std::optional<TextHeader> read_text_header(LeadingBlocks& lines, int index_base, int usual_base,
                                           std::optional<Fault>& fault) {
  auto const finish = [&](TextHeader header, int said_base) {
    header.rules.index_base = index_base >= 0 ? index_base : said_base >= 0 ? said_base : usual_base;
    return header;
  };
  auto const banner = lines.first();
  if (!banner) return std::nullopt;
  if (banner->text.starts_with("\xFF\xFE"sv) || banner->text.starts_with("\xFE\xFF"sv)) {
    fault = Fault{1, 1, "is UTF-16 text, not UTF-8"};
    return TextHeader{};
  }
  if (lower(banner->text.substr(0, banner_start.size())) == lower(banner_start))
    return finish(read_matrix_market(lines, *banner, fault), 1);

  if (auto const known = describe_foreign_file(lines.text())) {
    fault = Fault{0, 0, *known};
    return TextHeader{};
  }
  if (auto const known = describe_own_file(lines.text())) {
    fault = Fault{0, 0, *known};
    return TextHeader{};
  }
  auto const first      = lines.next();
  auto const& misplaced = first && !lines.banner() && looks_like_banner(first->text) ? first : lines.banner();
  if (misplaced) {
    fault = Fault{misplaced->number, 1, misplaced_banner(misplaced->text)};
    return TextHeader{};
  }
  if (!first) return std::nullopt;
  std::string_view rest       = first->text;
  std::string_view const word = take_token(rest);
  int said_base               = -1;
  if (word == "sptensor"sv) {
    auto header = read_tensor_toolbox(lines, *first, said_base, fault);
    return finish(std::move(header), said_base);
  }
  if (word == "tensor"sv || word == "ktensor"sv || word == "matrix"sv || word == "facmatrix"sv) {
    fault =
        Fault{first->number, static_cast<std::uint64_t>(word.data() - first->text.data()) + 1,
              "holds a " + std::string(word) + " of the Tensor Toolbox, not a sparse tensor ('sptensor')"};
    return TextHeader{};
  }

  HeaderReader reader(lines, *first, fault);
  HeaderLine numbers(*first, fault);
  int const count      = count_tokens(first->text);
  bool const countable = all_unsigned(first->text);
  if (count == 1 && countable) {
    reader.order(numbers);
    reader.extents(reader.next("the extents"));
    return finish(reader.finish(Dialect::dims_header), -1);
  }
  if (count == 2 && countable) {
    std::uint64_t modes = 0;
    (void)read_unsigned(word, "", modes);
    auto const tokens = [](std::optional<Line> const& line) {
      return line ? static_cast<std::uint64_t>(count_tokens(line->text)) : 0;
    };
    auto const second = lines.next(), third = lines.next();
    // Lines of two numbers throughout are indices and values of order 1.
    bool const extents = tokens(second) == modes && modes != 2;
    bool const lists   = modes >= 2 && modes <= most_modes && tokens(third) == modes + 1;
    if (second && (extents || lists)) {
      reader.order(numbers);
      reader.nnz(numbers);
      if (!fault) reader.extents(*second);
      auto header  = reader.finish(Dialect::extended_frostt);
      header.lines = second->number;
      return finish(std::move(header), -1);
    }
  }
  TextHeader header;
  header.rules.order = count - 1;
  if (auto reason = other_text(*first)) {
    fault = std::move(reason);
  } else if (count == 3 && countable) {
    header.possible_sizes = possible_sizes(*first, lines);
    auto const second     = lines.next();
    if (header.possible_sizes && second && count_tokens(second->text) == 2 && all_unsigned(second->text))
      fault = Fault{first->number, 1, missing_banner(*header.possible_sizes)};
  }
  return finish(std::move(header), -1);
}

}  // namespace polyad::io
