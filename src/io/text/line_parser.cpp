// SPDX-License-Identifier: BSD-3-Clause
// The short path of the line parser, and the loop over a block's lines.
//
// On little-endian hosts, digits are read eight at a time in a 64-bit word. There is no branch on their
// number, since a branch predictor cannot know the length of a number. Other hosts use a plain loop.
#include "io/text/line_parser.hpp"

#include <algorithm>
#include <bit>
#include <charconv>
#include <cmath>
#include <cstring>
#include <limits>
#include <utility>

namespace polyad::io {

namespace {

struct Digits {
  std::uint64_t value;
  int count;  // 0: none; more than longest_run: too many to have been read
};

constexpr int longest_run = 16;

/// Not all integers from here on are doubles.
constexpr double first_gap = 0x1p53;

constexpr std::uint64_t powers_of_ten[] = {1,
                                           10,
                                           100,
                                           1000,
                                           10000,
                                           100000,
                                           1000000,
                                           10000000,
                                           100000000,
                                           1000000000,
                                           10000000000,
                                           100000000000,
                                           1000000000000,
                                           10000000000000,
                                           100000000000000,
                                           1000000000000000,
                                           10000000000000000};

/// Up to eight digits at p, of which eight bytes can be read.
inline Digits read_up_to_eight(char const* p) {
  if constexpr (std::endian::native == std::endian::little) {
    std::uint64_t word = 0;
    std::memcpy(&word, p, sizeof word);
    // The high bit of each byte below '0' or above '9'. Carries corrupt only bytes after the first of them.
    std::uint64_t const others =
        ((word + 0x4646464646464646) | (word - 0x3030303030303030)) & 0x8080808080808080;
    int const count = others == 0 ? 8 : std::countr_zero(others) / 8;
    if (count == 0) return {0, 0};
    // Shifts the digits to the top, with zeros before them. Then joins pairs, quadruples and all eight.
    std::uint64_t digits      = (word - 0x3030303030303030) << (64 - 8 * count);
    digits                    = digits * 10 + (digits >> 8);
    std::uint64_t const upper = (digits & 0x000000FF000000FF) * 0x000F424000000064;
    std::uint64_t const lower = ((digits >> 16) & 0x000000FF000000FF) * 0x0000271000000001;
    return {(upper + lower) >> 32, count};
  } else {
    std::uint64_t value = 0;
    int count           = 0;
    for (; count < 8 && p[count] >= '0' && p[count] <= '9'; ++count)
      value = value * 10 + static_cast<std::uint64_t>(p[count] - '0');
    return {value, count};
  }
}

/// The digits at p, up to longest_run of them.
inline Digits read_digits(char const* p) {
  Digits const first = read_up_to_eight(p);
  if (first.count < 8) return first;
  Digits const second = read_up_to_eight(p + 8);
  if (second.count == 8 && p[longest_run] >= '0' && p[longest_run] <= '9') return {0, longest_run + 1};
  return {first.value * powers_of_ten[second.count] + second.value, 8 + second.count};
}

std::uint64_t count_lines(std::string_view text) {
  return std::count(text.begin(), text.end(), '\n');
}

inline char const* skip_blanks(char const* p) {
  while (*p == ' ' || *p == '\t') ++p;
  return p;
}

/// A plain decimal number, [-]digits[.digits], whose digits form an integer below 2^53. The integer and the
/// power of ten (at most 10^16) are exact doubles. So the division rounds once and gives the nearest double.
/// Returns the byte after the number, or null if it has another form.
inline char const* read_plain_value(char const* p, double& value) {
  bool const negative = *p == '-';
  p += negative ? 1 : 0;
  Digits const whole = read_digits(p);
  if (whole.count == 0 || whole.count > longest_run) return nullptr;
  p += whole.count;
  std::uint64_t mantissa = whole.value;
  double scale           = 1;
  if (*p == '.') {
    Digits const fraction = read_digits(++p);
    if (whole.count + fraction.count > longest_run) return nullptr;
    mantissa = mantissa * powers_of_ten[fraction.count] + fraction.value;
    scale    = static_cast<double>(powers_of_ten[fraction.count]);
    p += fraction.count;
  }
  if (mantissa >= std::uint64_t{1} << 53) return nullptr;
  double const size = static_cast<double>(mantissa) / scale;
  value             = negative ? -size : size;
  return p;
}

/// A number of another form: more digits, or an exponent. Returns null for text that is not a number, not
/// finite or out of range, and for integers that a double may not hold; the careful path decides which. The
/// text at p has a line end before `end`.
inline char const* read_any_value(char const* p, char const* end, double& value) {
  char const first = p[*p == '-' ? 1 : 0];
  if (first != '.' && (first < '0' || first > '9')) return nullptr;  // from_chars knows "inf" and "nan", too
  auto const [behind, code] = std::from_chars(p, end, value);
  if (code != std::errc{} || value == 0) return nullptr;
  bool const is_large = std::abs(value) >= first_gap;
  if (is_large && std::none_of(p, behind, [](char c) { return c == '.' || c == 'e' || c == 'E'; }))
    return nullptr;
  return behind;
}

/// The numbers of one block as they are stored, Index wide.
template <class Index>
struct Store {
  Index* indices;
  double* values;
  std::uint64_t count = 0;
};

using Indices = std::array<std::uint64_t, most_modes>;

/// The largest indices that the short path accepts. They fit Index and are in range for every base that is
/// still possible. Once the block has an index at its limit, they are in range for base 1.
template <class Index>
Indices acceptable(LineRules const& rules, bool limit_was_met) {
  Indices result             = rules.limits;
  bool const counts_from_one = rules.index_base == 1 || (rules.index_base < 0 && limit_was_met);
  for (std::uint64_t& most : result) {
    if (!counts_from_one) --most;
    most = std::min<std::uint64_t>(most, std::numeric_limits<Index>::max());
  }
  return result;
}

/// One plain line at p. Returns the start of the next, or null when the line needs the careful path.
template <class Index>
inline char const* read_plain_line(char const* p, char const* end, LineRules const& rules,
                                   Indices const& most, Store<Index>& store, Indices& largest,
                                   bool& has_zero) {
  Index* const indices = store.indices + store.count * rules.order;
  Indices line;  // NOLINT: set as far as it is read
  bool zero = false;
  p         = skip_blanks(p);
  for (int n = 0; n < rules.order; ++n) {
    Digits const digits = read_digits(p);
    if (digits.count == 0 || digits.count > longest_run) return nullptr;
    if (digits.value > most[n]) return nullptr;
    p += digits.count;
    if (*p == ' ' || *p == '\t') {
      p = skip_blanks(p + 1);
    } else if (rules.has_value || n + 1 < rules.order) {
      return nullptr;
    }
    line[n]    = digits.value;
    indices[n] = static_cast<Index>(digits.value);
    zero |= digits.value == 0;
  }
  if (zero && rules.index_base == 1) return nullptr;
  if (rules.symmetry != Symmetry::none && !rules.may_stand_at(line[0], line[1])) return nullptr;
  double& value = store.values[store.count];
  if (rules.has_value) {
    char const* const start = p;
    p                       = read_plain_value(start, value);
    if (p == nullptr) p = read_any_value(start, end, value);
    if (p == nullptr) return nullptr;
    if (rules.integer_values && (std::trunc(value) != value || std::abs(value) >= first_gap)) return nullptr;
    p = skip_blanks(p);
  } else {
    value = 1;
  }
  p += *p == '\r' ? 1 : 0;
  if (*p != '\n') return nullptr;
  for (int n = 0; n < rules.order; ++n) {
    std::size_t const mode = n;
    largest[mode]          = std::max(largest[mode], line[mode]);
  }
  has_zero |= zero;
  ++store.count;
  return p + 1;
}

/// Parses from p on. Returns where it stopped: the end, a fault, or a line with an index beyond Index.
template <class Index>
char const* parse_lines(std::string_view text, char const* p, LineRules const& rules, Store<Index>& store,
                        ParsedBlock& result) {
  char const* const end = text.data() + text.size();
  bool const plain      = rules.order >= 1 && rules.order <= most_modes;
  Indices most          = acceptable<Index>(rules, result.last_index.has_value());
  while (p < end) {
    if (plain) {
      char const* const next =
          read_plain_line(p, end, rules, most, store, result.largest, result.has_index_zero);
      if (next != nullptr) {
        p = next;
        continue;
      }
    }
    std::size_t const rest = end - p;
    // The careful path looks at comments with a %, which may be a header of Matrix Market.
    if (*p == '#') p = static_cast<char const*>(std::memchr(p, '\n', rest));
    if (*p == '\n') {
      do ++p;
      while (p < end && *p == '\n');
      continue;
    }
    std::size_t const size = static_cast<char const*>(std::memchr(p, '\n', rest)) - p;
    CarefulLine line       = parse_line_carefully({p, size}, rules);
    auto const here        = [&](std::optional<Fault> fault) {
      fault->line = 1 + count_lines({text.data(), p});
      return fault;
    };
    if (line.fault) {
      result.fault = here(std::move(line.fault));
      return p;
    }
    if (line.has_data) {
      std::size_t const order = rules.order;
      auto const first        = line.indices.begin();
      auto const last         = line.indices.begin() + rules.order;
      if (std::any_of(first, last, [](auto i) { return i > std::numeric_limits<Index>::max(); })) return p;
      if (line.last_index && !result.last_index) {
        result.last_index = here(std::move(line.last_index));
        most              = acceptable<Index>(rules, true);
      }
      for (std::size_t n = 0; n < order; ++n) {
        store.indices[store.count * order + n] = static_cast<Index>(line.indices[n]);
        result.largest[n]                      = std::max(result.largest[n], line.indices[n]);
        result.has_index_zero |= line.indices[n] == 0;
      }
      store.values[store.count++] = line.value;
    }
    p += size + 1;
  }
  return p;
}

}  // namespace

ParsedBlock parse_block(TextBlock const& block, LineRules const& rules, SlabAllocator& slabs) {
  std::string_view const text = block.text;
  ParsedBlock result;
  // Counting the lines first, in the cache, gives the size of the arrays, except for comments. A line of
  // numbers has two bytes for each. The line after the last one may write its first numbers, too.
  result.lines            = count_lines(text);
  std::size_t const order = std::clamp(rules.order, 1, most_modes);
  auto const rows         = std::min<std::uint64_t>(result.lines, text.size() / (2 * order) + 1);
  auto narrow             = slabs.take<std::uint32_t>(rows * order);
  result.values           = slabs.take<double>(rows);

  Store<std::uint32_t> store{narrow.begin(), result.values.begin()};
  char const* p       = parse_lines(text, text.data(), rules, store, result);
  std::uint64_t count = store.count;
  if (p < text.data() + text.size() && !result.fault) {
    // An index exceeds 32 bits: restart at that line with 64-bit indices.
    auto wide = slabs.take<std::uint64_t>(rows * order);
    std::copy_n(narrow.begin(), count * order, wide.begin());
    Store<std::uint64_t> wide_store{wide.begin(), result.values.begin(), count};
    parse_lines(text, p, rules, wide_store, result);
    count = wide_store.count;
    slabs.shrink(wide, count * order);
    result.indices = std::move(wide);
  } else {
    slabs.shrink(result.values, count);
    slabs.shrink(narrow, count * order);
    result.indices = std::move(narrow);
  }
  result.values.size = count;
  return result;
}

}  // namespace polyad::io
