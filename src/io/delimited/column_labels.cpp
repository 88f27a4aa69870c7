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
  [[nodiscard]] std::string_view text() const {
    return {m_text.data(), static_cast<std::size_t>(m_end - m_text.data())};
  }

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

Numbering number_texts(std::vector<ColumnLabels*> const& of_threads) {
  Numbering numbering;
  TextTable all;
  std::vector<std::uint64_t> first;
  for (auto* labels : of_threads) {
    labels->become_text();
    auto& rows = numbering.of_each.emplace_back();
    rows.reserve(labels->size());
    for (std::size_t k = 0; k < labels->size(); ++k) {
      std::uint32_t const number = all.number(labels->texts().label(k));
      if (number == first.size()) first.push_back(labels->first()[k]);
      first[number] = std::min(first[number], labels->first()[k]);
      rows.push_back(number);
    }
  }
  // One thread has met them in order.
  numbering.rows = first.size();
  if (std::is_sorted(first.begin(), first.end())) {
    numbering.labels = std::move(all).take_labels();
    return numbering;
  }
  std::vector<std::uint32_t> order(first.size()), row_of(first.size());
  std::iota(order.begin(), order.end(), 0U);
  std::sort(order.begin(), order.end(), [&](auto a, auto b) { return first[a] < first[b]; });
  for (std::uint32_t row = 0; row < order.size(); ++row) {
    row_of[order[row]] = row;
    numbering.labels.add(all.labels().label(order[row]));
  }
  for (auto& rows : numbering.of_each)
    for (auto& row : rows) row = row_of[row];
  return numbering;
}

}  // namespace

void ColumnLabels::become_text() {
  if (m_is_text) return;
  m_is_text = true;
  for (auto const label : m_integers.labels())
    static_cast<void>(m_texts.number(PrintedInteger(label).text()));
  m_integers = {};
  count_memory();
}

std::uint32_t ColumnLabels::number_printed(std::int64_t label, std::uint64_t place) {
  return number_text(PrintedInteger(label).text(), place);
}

void ColumnLabels::count_memory() {
  m_held.resize(*m_memory, "the labels of a column",
                m_integers.bytes() + m_texts.bytes() + m_first.capacity() * sizeof(std::uint64_t));
}

Numbering number_rows(std::vector<ColumnLabels*> const& of_threads, ReadMemory& memory) {
  std::uint64_t labels = 0, bytes = 0;
  bool is_text = false;
  for (auto const* own : of_threads) {
    labels += own->size();
    bytes += own->texts().bytes.size();
    is_text |= own->is_text();
  }
  // Numbers, places, a table of at most four slots for a label, and the labels themselves.
  std::uint64_t const each =
      2 * sizeof(std::uint32_t) + 2 * sizeof(std::uint64_t) + 4 * sizeof(std::uint64_t);
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
