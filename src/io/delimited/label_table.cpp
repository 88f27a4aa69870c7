// SPDX-License-Identifier: BSD-3-Clause
#include "io/delimited/label_table.hpp"

#include <algorithm>

#include "polyad/core/error.hpp"

namespace polyad::io {

namespace {

/// The number of a new label. \throws MemoryError
std::uint32_t next_number(std::size_t labels, std::uint64_t bytes) {
  constexpr std::size_t most_labels = std::size_t{1} << 31;
  if (labels >= most_labels)
    throw MemoryError("the labels of a column", 2 * bytes, "there are more than 2^31 of them");
  return static_cast<std::uint32_t>(labels);
}

/// Folds one word of eight bytes after the other.
std::uint64_t hash_of_long(std::string_view text) {
  std::uint64_t hash = text.size();
  while (!text.empty()) {
    std::uint64_t word     = 0;
    std::size_t const part = std::min(sizeof word, text.size());
    std::memcpy(&word, text.data(), part);
    hash = folded(word, hash);
    text.remove_prefix(part);
  }
  return hash;
}

}  // namespace

std::uint32_t IntegerTable::add(std::int64_t label) {
  std::uint32_t const number = next_number(m_labels.size(), bytes());
  m_table.add({label, number});
  m_labels.push_back(label);
  return number;
}

TextKey::TextKey(std::string_view text) noexcept {
  if (text.size() <= most_bytes) {
    std::copy(text.begin(), text.end(), bytes.begin());
    bytes[most_bytes] = static_cast<char>(text.size());
    return;
  }
  std::uint64_t const hash = hash_of_long(text);
  std::memcpy(bytes.data(), &hash, sizeof hash);
  std::memcpy(bytes.data() + sizeof hash, text.data(), most_bytes - sizeof hash);
  bytes[most_bytes] = static_cast<char>(most_bytes + 1);
}

std::uint32_t TextTable::add(std::string_view label, TextKey const& key) {
  std::uint32_t const number = next_number(m_labels.rows(), bytes());
  m_labels.add(label);  // the table may compare with it
  m_table.add({key, number});
  return number;
}

}  // namespace polyad::io
