// SPDX-License-Identifier: BSD-3-Clause
// The labels of one column that one thread has met, and the numbers of a mode's rows that follow from those
// of all threads.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "io/delimited/label_table.hpp"
#include "io/memory/read_memory.hpp"

namespace polyad::io {

/// All labels are integers until one is not: then all are texts, and keep their numbers. An integer has one
/// form, that in which it is printed: 7 is one, but 007 and +7 are texts. An object of this class cannot be
/// moved, as its tables cannot.
class ColumnLabels {
public:
  explicit ColumnLabels(ReadMemory& memory) : m_memory(&memory) {}

  /// Numbers a label within this thread, but several labels later, when the cache has its bucket: *to becomes
  /// the number in finish() at the latest. A text must stay valid until then.
  /// \param place  its place in the file; it increases from call to call
  void number_later(std::int64_t label, std::uint64_t place, std::uint32_t* to) {
    std::size_t const hash = IntegerTable::hash_of(label);
    if (m_integers) m_integers->prefetch(hash);
    push({{}, {}, label, hash, place, to});
  }
  void number_later(std::string_view label, std::uint64_t place, std::uint32_t* to) {
    TextKey const key(label);
    std::size_t const hash = key.hash();
    m_texts.prefetch(hash);
    push({label, key, 0, hash, place, to});
  }
  void finish() {
    while (m_done < m_pushed) pop();
  }

  void become_text();
  [[nodiscard]] bool is_text() const noexcept { return !m_integers; }
  [[nodiscard]] std::size_t size() const noexcept { return m_first.size(); }
  /// The integers, unless the labels are texts.
  [[nodiscard]] std::vector<std::int64_t> const& integers() const noexcept { return m_integers->labels(); }
  [[nodiscard]] TextTable& texts() noexcept { return m_texts; }
  /// Where each label came first.
  [[nodiscard]] std::vector<std::uint64_t> const& first() const noexcept { return m_first; }

private:
  /// Labels between a prefetch and its use.
  static constexpr std::size_t delay = 16;
  struct Pending {
    std::string_view text;  // empty: an integer
    TextKey key;
    std::int64_t integer = 0;
    std::size_t hash     = 0;
    std::uint64_t place  = 0;
    std::uint32_t* to    = nullptr;
  };
  void push(Pending const& pending) {
    if (m_pushed - m_done == delay) pop();
    m_pending[m_pushed++ % delay] = pending;
  }
  void pop() {
    Pending const& next = m_pending[m_done++ % delay];
    if (!next.text.empty()) {
      if (!is_text()) become_text();
      *next.to = m_texts.number(next.text, next.key, next.hash);
    } else {
      *next.to = is_text() ? number_printed(next.integer) : m_integers->number(next.integer, next.hash);
    }
    if (*next.to < m_first.size()) return;
    m_first.push_back(next.place);
    if ((m_first.size() & (m_first.size() - 1)) == 0) count_memory();
  }
  std::uint32_t number_printed(std::int64_t label);
  void count_memory();

  ReadMemory* m_memory;
  HeldMemory m_held;
  std::optional<IntegerTable> m_integers{std::in_place};  // none: they are texts
  TextTable m_texts;
  std::vector<std::uint64_t> m_first;
  std::array<Pending, delay> m_pending{};
  std::size_t m_pushed = 0, m_done = 0;
};

/// The rows of a mode.
struct Numbering {
  std::uint64_t rows = 0;
  ModeLabels labels;                                // without a name
  std::vector<std::vector<std::uint32_t>> of_each;  // the row of each label of each thread
};

/// Integers in ascending order, texts in the order of their first occurrence. The result depends only on the
/// places of labels.
[[nodiscard]] Numbering number_rows(std::vector<ColumnLabels*> const& of_threads, ReadMemory& memory);

/// Reads an integer in its one form: without a plus or leading zeros, and within 64 bits.
[[nodiscard]] std::optional<std::int64_t> read_integer(std::string_view label);

}  // namespace polyad::io
