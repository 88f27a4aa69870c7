// SPDX-License-Identifier: BSD-3-Clause
#include "io/delimited/column_labels.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <numeric>
#include <utility>

#include "core/host_memory.hpp"
#include "polyad/core/error.hpp"

namespace polyad::io {

namespace {

class PrintedInteger {
public:
  explicit PrintedInteger(std::int64_t label)
      : m_end(std::to_chars(m_text.data(), m_text.data() + m_text.size(), label).ptr) {}
  [[nodiscard]] std::string_view text() const { return {m_text.data(), m_end}; }

private:
  std::array<char, 24> m_text{};
  char* m_end;
};

Numbering number_integers(std::vector<ColumnLabels*> const& of_threads) {
  Numbering numbering;
  std::vector<std::int64_t> sorted;
  for (auto const* labels : of_threads)
    sorted.insert(sorted.end(), labels->integers().begin(), labels->integers().end());
  std::sort(sorted.begin(), sorted.end());
  sorted.erase(std::unique(sorted.begin(), sorted.end()), sorted.end());
  for (auto const* labels : of_threads) {
    auto& rows = numbering.of_each.emplace_back();
    rows.reserve(labels->size());
    for (auto const label : labels->integers())
      rows.push_back(
          static_cast<std::uint32_t>(std::lower_bound(sorted.begin(), sorted.end(), label) - sorted.begin()));
  }
  for (auto const label : sorted) numbering.labels.add(PrintedInteger(label).text());
  numbering.rows = sorted.size();
  return numbering;
}

/// Adds the labels of one thread to those of another, and notes where each came first.
/// \return the number of each label in `all`
std::vector<std::uint32_t> add_labels(TextTable& all, std::vector<std::uint64_t>& first,
                                      ModeLabels const& labels, std::vector<std::uint64_t> const& own_first) {
  constexpr std::size_t delay = 16;
  std::array<TextKey, delay> keys{};
  std::array<std::size_t, delay> hashes{};
  std::vector<std::uint32_t> numbers(labels.rows());
  for (std::size_t k = 0; k < labels.rows() + delay; ++k) {
    if (k >= delay && k - delay < labels.rows()) {
      std::size_t const done     = k - delay;
      std::uint32_t const number = all.number(labels.label(done), keys[done % delay], hashes[done % delay]);
      if (number == first.size()) first.push_back(own_first[done]);
      first[number] = std::min(first[number], own_first[done]);
      numbers[done] = number;
    }
    if (k >= labels.rows()) continue;
    keys[k % delay]   = TextKey(labels.label(k));
    hashes[k % delay] = keys[k % delay].hash();
    all.prefetch(hashes[k % delay]);
  }
  return numbers;
}

/// Adds the labels of all threads to the table of the thread that has the most.
Numbering number_texts(std::vector<ColumnLabels*> const& of_threads) {
  Numbering numbering;
  for (auto* labels : of_threads) labels->become_text();
  auto* const most = *std::max_element(of_threads.begin(), of_threads.end(),
                                       [](auto* a, auto* b) { return a->size() < b->size(); });
  TextTable& all   = most->texts();
  auto first       = most->first();
  for (auto* labels : of_threads) {
    auto& numbers = numbering.of_each.emplace_back(labels->size());
    if (labels == most)
      std::iota(numbers.begin(), numbers.end(), 0U);
    else
      numbers = add_labels(all, first, labels->texts().labels(), labels->first());
  }
  numbering.rows = first.size();
  // A single thread has met them in order.
  if (std::is_sorted(first.begin(), first.end())) {
    numbering.labels = all.take_labels();
    return numbering;
  }
  std::vector<std::pair<std::uint64_t, std::uint32_t>> order(first.size());
  for (std::uint32_t k = 0; k < order.size(); ++k) order[k] = {first[k], k};
  std::sort(order.begin(), order.end());
  std::vector<std::uint32_t> row_of(first.size());
  numbering.labels.bytes.reserve(all.labels().bytes.size());
  numbering.labels.ends.reserve(order.size());
  for (std::uint32_t row = 0; row < order.size(); ++row) {
    row_of[order[row].second] = row;
    numbering.labels.add(all.labels().label(order[row].second));
  }
  for (auto& rows : numbering.of_each)
    for (auto& row : rows) row = row_of[row];
  return numbering;
}

}  // namespace

void ColumnLabels::become_text() {
  if (is_text()) return;
  for (auto const label : m_integers->labels())
    static_cast<void>(m_texts.number(PrintedInteger(label).text()));
  m_integers.reset();
  count_memory();
}

std::uint32_t ColumnLabels::number_printed(std::int64_t label) {
  return m_texts.number(PrintedInteger(label).text());
}

void ColumnLabels::count_memory() {
  m_held.resize(
      *m_memory, "the labels of a column",
      (m_integers ? m_integers->bytes() : 0) + m_texts.bytes() + m_first.capacity() * sizeof(std::uint64_t));
}

Numbering number_rows(std::vector<ColumnLabels*> const& of_threads, ReadMemory& memory) {
  std::uint64_t labels = 0, bytes = 0;
  bool is_text = false;
  for (auto* own : of_threads) {
    labels += own->size();
    bytes += own->texts().labels().bytes.size();
    is_text |= own->is_text();
  }
  // Numbers, places, their order, a table that doubles, and the labels themselves.
  constexpr std::uint64_t of_table = 4 * 28;
  std::uint64_t const each = 2 * sizeof(std::uint32_t) + 4 * sizeof(std::uint64_t) + (is_text ? of_table : 0);
  HeldMemory held;
  held.resize(memory, "the labels of a column", labels * each + 2 * bytes);
  detail::expect_fits_host("the labels of a column", labels * each + 2 * bytes);
  return is_text ? number_texts(of_threads) : number_integers(of_threads);
}

std::optional<std::int64_t> read_integer(std::string_view label) {
  std::int64_t number        = 0;
  char const* const end      = label.data() + label.size();
  auto const [behind, error] = std::from_chars(label.data(), end, number);
  if (error != std::errc() || behind != end) return std::nullopt;
  std::string_view const digits = label.starts_with('-') ? label.substr(1) : label;
  if (digits.starts_with('0') && label != "0") return std::nullopt;
  return number;
}

}  // namespace polyad::io
