// SPDX-License-Identifier: BSD-3-Clause
// The labels of one column that one thread has met, and the numbers of a mode's rows that follow from those
// of all threads.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "io/delimited/label_table.hpp"
#include "io/memory/read_memory.hpp"

namespace polyad::io {

/// All labels are integers until one is not: then all are texts, and keep their numbers. An integer has one
/// form, as it is printed: 7 is one, but 007 and +7 are texts.
class ColumnLabels {
public:
  explicit ColumnLabels(ReadMemory& memory) : m_memory(&memory) {}

  /// The number of a label within this thread. \param place  in the file; it increases from call to call
  std::uint32_t number_integer(std::int64_t label, std::uint64_t place) {
    if (m_is_text) return number_printed(label, place);
    std::uint32_t const number = m_integers.number(label);
    return settle(number, m_integers.size(), place);
  }
  std::uint32_t number_text(std::string_view label, std::uint64_t place) {
    if (!m_is_text) become_text();
    std::uint32_t const number = m_texts.number(label);
    return settle(number, m_texts.size(), place);
  }

  /// As number_integer and number_text, but some labels later, when the cache has what is needed: *to becomes
  /// the number at the latest in finish(). The text must stay until then.
  void number_later(std::int64_t label, std::uint64_t place, std::uint32_t* to) {
    m_integers.prefetch(label);
    push({{}, static_cast<std::uint64_t>(label), place, to});
  }
  void number_later(std::string_view label, std::uint64_t place, std::uint32_t* to) {
    std::uint64_t const hash = TextTable::hash_of(label);
    m_texts.prefetch(hash);
    push({label, hash, place, to});
  }
  void finish() {
    while (m_done < m_pushed) pop();
  }

  void become_text();
  [[nodiscard]] bool is_text() const noexcept { return m_is_text; }
  [[nodiscard]] std::size_t size() const noexcept { return m_first.size(); }
  [[nodiscard]] std::vector<std::int64_t> const& integers() const noexcept { return m_integers.labels(); }
  [[nodiscard]] ModeLabels const& texts() const noexcept { return m_texts.labels(); }
  /// Where each label came first.
  [[nodiscard]] std::vector<std::uint64_t> const& first() const noexcept { return m_first; }

private:
  /// Labels between a prefetch and its use.
  static constexpr std::size_t delay = 16;
  struct Pending {
    std::string_view text;  // empty: an integer
    std::uint64_t number_or_hash = 0, place = 0;
    std::uint32_t* to = nullptr;
  };
  void push(Pending const& pending) {
    if (m_pushed - m_done == delay) pop();
    m_pending[m_pushed++ % delay] = pending;
  }
  void pop() {
    Pending const& next = m_pending[m_done++ % delay];
    if (next.text.empty()) {
      *next.to = number_integer(static_cast<std::int64_t>(next.number_or_hash), next.place);
    } else {
      if (!m_is_text) become_text();
      std::uint32_t const number = m_texts.number(next.text, next.number_or_hash);
      *next.to                   = settle(number, m_texts.size(), next.place);
    }
  }
  std::uint32_t settle(std::uint32_t number, std::size_t labels, std::uint64_t place) {
    if (labels > m_first.size()) {
      m_first.push_back(place);
      if ((labels & (labels - 1)) == 0) count_memory();
    }
    return number;
  }
  std::uint32_t number_printed(std::int64_t label, std::uint64_t place);
  void count_memory();

  ReadMemory* m_memory;
  HeldMemory m_held;
  IntegerTable m_integers;
  TextTable m_texts;
  std::vector<std::uint64_t> m_first;
  std::array<Pending, delay> m_pending{};
  std::size_t m_pushed = 0, m_done = 0;
  bool m_is_text = false;
};

/// The rows of a mode.
struct Numbering {
  std::uint64_t rows = 0;
  ModeLabels labels;                                // without a name
  std::vector<std::vector<std::uint32_t>> of_each;  // the row of each label of each thread
};

/// Integers in ascending order, texts as they come first. The result depends only on the places of labels.
[[nodiscard]] Numbering number_rows(std::vector<ColumnLabels*> const& of_threads, ReadMemory& memory);

/// Reads an integer in the one form that it has: no plus, no zeros before it, and it fits 64 bits.
[[nodiscard]] std::optional<std::int64_t> read_integer(std::string_view label);

}  // namespace polyad::io
