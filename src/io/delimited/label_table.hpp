// SPDX-License-Identifier: BSD-3-Clause
// Numbers labels, counting from 0, in the order in which they occur.
#pragma once

#include <array>
#include <cstdint>
#include <cstring>
#include <string_view>
#include <utility>
#include <vector>

#include "io/delimited/number_table.hpp"
#include "polyad/io/labels.hpp"

namespace polyad::io {

/// Integers in [-2^63, 2^63).
class IntegerTable {
public:
  [[nodiscard]] static std::size_t hash_of(std::int64_t label) noexcept {
    return folded(static_cast<std::uint64_t>(label), 0);
  }
  /// Loads what number() needs into the cache.
  void prefetch(std::size_t hash) const noexcept { m_table.prefetch(hash); }
  /// The number of a label, which is new if it is that of size() before the call. \throws MemoryError
  std::uint32_t number(std::int64_t label, std::size_t hash) {
    std::uint32_t const found = m_table.find(label, hash);
    return found == Table::nothing_found ? add(label) : found;
  }
  [[nodiscard]] std::size_t size() const noexcept { return m_labels.size(); }
  [[nodiscard]] std::vector<std::int64_t> const& labels() const noexcept { return m_labels; }
  [[nodiscard]] std::uint64_t bytes() const noexcept {
    return m_table.bytes() + m_labels.capacity() * sizeof(std::int64_t);
  }

private:
  struct Entry {
    std::int64_t label;
    std::uint32_t number;
  };
  struct Hash {
    std::size_t operator()(Entry const& entry) const noexcept { return hash_of(entry.label); }
  };
  struct Equal {
    using is_transparent = void;
    bool operator()(Entry const& a, Entry const& b) const noexcept { return a.label == b.label; }
    bool operator()(std::int64_t a, Entry const& b) const noexcept { return a == b.label; }
    bool operator()(Entry const& a, std::int64_t b) const noexcept { return a.label == b; }
  };
  using Table = NumberTable<Entry, Hash, Equal>;
  std::uint32_t add(std::int64_t label);

  Table m_table;
  std::vector<std::int64_t> m_labels;
};

/// What a table stores of a text: all of a short one, so that it can be compared within its bucket, and a
/// hash and the beginning of a long one.
struct TextKey {
  static constexpr std::size_t most_bytes = 15;
  std::array<char, most_bytes + 1> bytes{};  // the last one: the length, or most_bytes + 1 of a long text

  TextKey() = default;
  explicit TextKey(std::string_view text) noexcept;
  [[nodiscard]] bool is_short() const noexcept { return bytes[most_bytes] <= static_cast<char>(most_bytes); }
  [[nodiscard]] std::size_t hash() const noexcept {
    std::uint64_t a = 0, b = 0;
    std::memcpy(&a, bytes.data(), sizeof a);
    std::memcpy(&b, bytes.data() + sizeof a, sizeof b);
    return folded(a, b);
  }
  friend bool operator==(TextKey const&, TextKey const&) = default;
};

class TextTable {
public:
  static constexpr std::uint32_t nothing_found = ~std::uint32_t{0};

  /// Loads what number() needs into the cache.
  void prefetch(std::size_t hash) const noexcept { m_table.prefetch(hash); }
  /// The number of a label, which is new if it is that of size() before the call. \throws MemoryError
  std::uint32_t number(std::string_view label) {
    TextKey const key(label);
    return number(label, key, key.hash());
  }
  std::uint32_t number(std::string_view label, TextKey const& key, std::size_t hash) {
    std::uint32_t const found = m_table.find(Wanted{key, label}, hash);
    return found == nothing_found ? add(label, key) : found;
  }
  /// The number of a label, or nothing_found.
  [[nodiscard]] std::uint32_t find(std::string_view label) const {
    TextKey const key(label);
    return m_table.find(Wanted{key, label}, key.hash());
  }
  [[nodiscard]] std::size_t size() const noexcept { return m_labels.rows(); }
  [[nodiscard]] ModeLabels const& labels() const noexcept { return m_labels; }
  /// Nothing can be looked up after this call.
  [[nodiscard]] ModeLabels take_labels() { return std::move(m_labels); }
  [[nodiscard]] std::uint64_t bytes() const noexcept {
    return m_table.bytes() + m_labels.bytes.capacity() + m_labels.ends.capacity() * sizeof(std::uint64_t);
  }

private:
  struct Entry {
    TextKey key;
    std::uint32_t number;
  };
  struct Wanted {
    TextKey const& key;
    std::string_view text;
  };
  struct Hash {
    std::size_t operator()(Entry const& entry) const noexcept { return entry.key.hash(); }
  };
  struct Equal {
    using is_transparent = void;
    ModeLabels const* labels;
    bool operator()(Entry const& a, Wanted const& b) const noexcept {
      return a.key == b.key && (a.key.is_short() || labels->label(a.number) == b.text);
    }
    bool operator()(Wanted const& a, Entry const& b) const noexcept { return (*this)(b, a); }
    bool operator()(Entry const& a, Entry const& b) const noexcept {
      return a.key == b.key && (a.key.is_short() || labels->label(a.number) == labels->label(b.number));
    }
  };
  std::uint32_t add(std::string_view label, TextKey const& key);

  ModeLabels m_labels;
  NumberTable<Entry, Hash, Equal> m_table{Equal{&m_labels}};
};

}  // namespace polyad::io
