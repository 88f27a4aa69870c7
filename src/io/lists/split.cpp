// SPDX-License-Identifier: BSD-3-Clause
#include "polyad/io/split.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <numeric>
#include <string>
#include <tuple>
#include <utility>
#include <variant>

#include "polyad/core/counter_rng.hpp"
#include "polyad/core/error.hpp"
#include "polyad/io/clean_list.hpp"

namespace polyad::io {

namespace {

constexpr std::array rules{
    SplitRuleFacts{SplitRule::entries, "entries", "at random"},
    SplitRuleFacts{SplitRule::coordinates, "coordinates", "at random, entries of the same place together"},
    SplitRuleFacts{SplitRule::rows, "rows", "all of random rows"},
    SplitRuleFacts{SplitRule::time, "time", "the latest"},
    SplitRuleFacts{SplitRule::last, "last", "the last of each row"},
    SplitRuleFacts{SplitRule::last_and_share, "last_and_share", "the last of each row and a share"}};

using Marks = std::vector<std::uint8_t>;

/// The indices of a list, whatever their type.
class Places {
public:
  explicit Places(CoordinateList const& list) : m_list(list), m_order(list.extents.size()) {}
  [[nodiscard]] std::uint64_t index(std::uint64_t p, int n) const {
    std::uint64_t const at = p * m_order + n;
    if (auto const* const narrow = std::get_if<0>(&m_list.indices)) return (*narrow)[at];
    return std::get<1>(m_list.indices)[at];
  }
  /// Random bits that entries at one place have in common.
  [[nodiscard]] std::uint64_t bits(std::uint64_t p, SplitOptions const& options) const {
    std::uint64_t bits = counter_bits(options.seed, options.stream, m_order, 0);
    for (int n = 0; n < m_list.order(); ++n) bits = counter_bits(bits, n, index(p, n), 0);
    return bits;
  }
  [[nodiscard]] int compare(std::uint64_t p, std::uint64_t q) const {
    for (int n = 0; n < m_list.order(); ++n)
      if (auto const a = index(p, n), b = index(q, n); a != b) return a < b ? -1 : 1;
    return 0;
  }
  [[nodiscard]] std::uint64_t count() const { return m_list.nnz(); }

private:
  CoordinateList const& m_list;
  std::uint64_t m_order;
};

std::vector<std::uint64_t> numbers_to(std::uint64_t count) {
  std::vector<std::uint64_t> numbers(count);
  std::iota(numbers.begin(), numbers.end(), std::uint64_t{0});
  return numbers;
}

Marks by_entries(Places const& places, SplitOptions const& options) {
  Marks marks(places.count());
  for (std::uint64_t p = 0; p < marks.size(); ++p)
    marks[p] = counter_uniform(options.seed, options.stream, options.first + p, 0) < options.share ? 1 : 0;
  return marks;
}

/// Whether an entry is drawn; entries at one place are drawn together.
bool is_drawn(Places const& places, std::uint64_t p, SplitOptions const& options) {
  return static_cast<double>(places.bits(p, options) >> 11) * 0x1p-53 < options.share;
}

Marks by_coordinates(Places const& places, SplitOptions const& options) {
  Marks marks(places.count());
  for (std::uint64_t p = 0; p < marks.size(); ++p) marks[p] = is_drawn(places, p, options) ? 1 : 0;
  return marks;
}

Marks by_rows(Places const& places, SplitOptions const& options) {
  std::vector<std::uint64_t> rows(places.count());
  for (std::uint64_t p = 0; p < rows.size(); ++p) rows[p] = places.index(p, options.mode);
  std::sort(rows.begin(), rows.end());
  rows.erase(std::unique(rows.begin(), rows.end()), rows.end());
  POLYAD_EXPECTS(rows.size() > 1, "all entries are of one row of mode ", options.mode,
                 ": none would be left to learn from");
  auto const most   = static_cast<double>(rows.size() - 1);
  auto const wanted = std::clamp(std::round(options.share * static_cast<double>(rows.size())), 1.0, most);
  auto const draw   = [&](std::uint64_t row) { return counter_bits(options.seed, options.stream, row, 0); };
  std::sort(rows.begin(), rows.end(),
            [&](std::uint64_t a, std::uint64_t b) { return draw(a) != draw(b) ? draw(a) < draw(b) : a < b; });
  rows.resize(static_cast<std::size_t>(wanted));
  std::sort(rows.begin(), rows.end());
  Marks marks(places.count());
  for (std::uint64_t p = 0; p < marks.size(); ++p)
    marks[p] = std::binary_search(rows.begin(), rows.end(), places.index(p, options.mode)) ? 1 : 0;
  return marks;
}

/// The first time that is held out, of times in increasing order of which some differ.
std::uint64_t first_held_time(std::vector<std::uint64_t> const& times, double share) {
  double const wanted = share * static_cast<double>(times.size());
  std::uint64_t first = times.back();
  double distance     = -1;
  for (std::size_t p = times.size(); p-- > 1;) {
    if (times[p] == times[p - 1]) continue;
    double const other = std::abs(static_cast<double>(times.size() - p) - wanted);
    if (distance >= 0 && other >= distance) break;
    distance = other;
    first    = times[p];
  }
  return first;
}

Marks by_time(Places const& places, SplitOptions const& options) {
  std::vector<std::uint64_t> times(places.count());
  for (std::uint64_t p = 0; p < times.size(); ++p) times[p] = places.index(p, options.time_mode);
  std::sort(times.begin(), times.end());
  POLYAD_EXPECTS(times.front() != times.back(), "all entries have the same time in mode ", options.time_mode,
                 ": none would be left to learn from");
  std::uint64_t const first = first_held_time(times, options.share);
  Marks marks(places.count());
  for (std::uint64_t p = 0; p < marks.size(); ++p)
    marks[p] = places.index(p, options.time_mode) >= first ? 1 : 0;
  return marks;
}

/// Marks the last entries of a row, and drawn ones by `last_and_share`; its entries are in the order of time.
void mark_last(Places const& places, SplitOptions const& options, std::uint64_t const* begin,
               std::uint64_t const* end, Marks& marks) {
  auto const time = [&](std::uint64_t p) {
    return options.time_mode < 0 ? p : places.index(p, options.time_mode);
  };
  std::uint64_t const last = end[-1];
  auto const is_last       = [&](std::uint64_t p) {
    return options.one_of_ties ? places.compare(p, last) == 0 : time(p) == time(last);
  };
  if (std::all_of(begin, end, is_last)) return;
  // These bits drew one of several entries of the last time. A draw of others needs a stream of its own.
  SplitOptions others = options;
  others.stream       = options.stream + 1;
  bool const draws    = options.rule == SplitRule::last_and_share;
  for (auto const* p = begin; p != end; ++p) {
    bool const is_other = draws && places.compare(*p, *begin) != 0;
    if (is_last(*p) || (is_other && is_drawn(places, *p, others))) marks[*p] = 1;
  }
}

Marks by_last(Places const& places, SplitOptions const& options) {
  auto entries      = numbers_to(places.count());
  auto const before = [&](std::uint64_t p, std::uint64_t q) {
    if (auto const a = places.index(p, options.mode), b = places.index(q, options.mode); a != b) return a < b;
    if (options.time_mode < 0) return p < q;
    if (auto const a = places.index(p, options.time_mode), b = places.index(q, options.time_mode); a != b)
      return a < b;
    if (!options.one_of_ties) return p < q;
    if (auto const a = places.bits(p, options), b = places.bits(q, options); a != b) return a < b;
    if (int const order = places.compare(p, q); order != 0) return order < 0;
    return p < q;
  };
  std::sort(entries.begin(), entries.end(), before);
  Marks marks(places.count());
  for (std::size_t i = 0; i < entries.size();) {
    std::size_t end = i;
    while (end < entries.size() &&
           places.index(entries[end], options.mode) == places.index(entries[i], options.mode))
      ++end;
    mark_last(places, options, entries.data() + i, entries.data() + end, marks);
    i = end;
  }
  return marks;
}

bool is_of_last_entries(SplitRule rule) {
  return rule == SplitRule::last || rule == SplitRule::last_and_share;
}

void expect_rule(CoordinateList const& list, SplitOptions const& options) {
  auto const rule     = options.rule;
  bool const has_last = is_of_last_entries(rule);
  if (rule != SplitRule::last)
    POLYAD_EXPECTS(options.share >= 0 && options.share <= 1, "a share of ", options.share, " is held out");
  if (rule == SplitRule::rows || rule == SplitRule::time)
    POLYAD_EXPECTS(options.share < 1, "a share of 1 leaves no entries to learn from");
  auto const expect_mode = [&](int mode) {
    POLYAD_EXPECTS(mode >= 0 && mode < list.order(), "mode ", mode, " of entries of ", list.order(),
                   " modes, which count from 0");
  };
  if (rule == SplitRule::rows || has_last) expect_mode(options.mode);
  if (rule == SplitRule::time || (has_last && options.time_mode != -1)) expect_mode(options.time_mode);
  if (has_last)
    POLYAD_EXPECTS(options.mode != options.time_mode, "mode ", options.mode,
                   " cannot have both the rows and their times");
}

/// Counts repeated places, and those whose entries were separated. Places are compared by 63 bits of their
/// hash.
void count_repeats(Places const& places, Marks const& marks, Split& result) {
  std::vector<std::uint64_t> hashes(places.count());  // the last bit: whether the entry is held out
  for (std::uint64_t p = 0; p < hashes.size(); ++p) hashes[p] = (places.bits(p, {}) << 1) | marks[p];
  std::sort(hashes.begin(), hashes.end());
  for (std::size_t i = 0; i < hashes.size();) {
    std::size_t end    = i;
    std::uint64_t held = 0;
    for (; end < hashes.size() && hashes[end] >> 1 == hashes[i] >> 1; ++end) held += hashes[end] & 1;
    result.repeated += end - i - 1;
    if (held < end - i) result.separated += held;
    i = end;
  }
}

}  // namespace

std::span<SplitRuleFacts const> split_rules() {
  return rules;
}

SplitRuleFacts const& facts_of(SplitRule rule) {
  return *std::ranges::find(rules, rule, &SplitRuleFacts::rule);
}

SplitRule split_rule(std::string_view name) {
  std::string names;
  for (auto const& facts : rules) {
    if (facts.name == name) return facts.rule;
    names += (names.empty() ? "" : &facts == &rules.back() ? " or " : ", ") + std::string(facts.name);
  }
  throw UsageError("entries are split by " + names + ", not '" + std::string(name) + "'");
}

std::vector<std::uint8_t> held_out_entries(CoordinateList const& list, SplitOptions const& options) {
  expect_rule(list, options);
  Places const places(list);
  bool const takes_share = !is_of_last_entries(options.rule);
  if (list.nnz() == 0 || (takes_share && options.share == 0)) return Marks(list.nnz());
  switch (options.rule) {
    case SplitRule::entries:
      return by_entries(places, options);
    case SplitRule::coordinates:
      return by_coordinates(places, options);
    case SplitRule::rows:
      return by_rows(places, options);
    case SplitRule::time:
      return by_time(places, options);
    case SplitRule::last:
    case SplitRule::last_and_share:
      return by_last(places, options);
  }
  throw UsageError("there is no such rule of splits");
}

Split split(CoordinateList const& list, SplitOptions const& options) {
  auto const marks = held_out_entries(list, options);
  Split result;
  count_repeats(Places(list), marks, result);  // before the parts take memory
  std::tie(result.kept, result.held) = partition(list, [&](std::uint64_t p) { return marks[p] != 0; });
  return result;
}

}  // namespace polyad::io
