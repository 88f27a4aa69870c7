// SPDX-License-Identifier: BSD-3-Clause
// Numbers labels in the order in which they come: hash tables with open addressing and linear probing.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "io/memory/read_memory.hpp"
#include "polyad/io/labels.hpp"

namespace polyad::io {

/// Integers in [-2^63, 2^63), numbered from 0 on.
class IntegerTable {
public:
  /// Loads what number() needs into the cache.
  void prefetch(std::int64_t label) const noexcept {
    if (!m_slots.empty()) __builtin_prefetch(&m_slots[place(label)]);
  }
  /// The number of a label, which is new if it is that of size() before the call.
  std::uint32_t number(std::int64_t label) {
    if (2 * m_labels.size() >= m_slots.size()) grow();
    for (std::size_t at = place(label);; at = (at + 1) & (m_slots.size() - 1)) {
      Slot& slot = m_slots[at];
      if (slot.number == empty) {
        slot = {label, static_cast<std::uint32_t>(m_labels.size())};
        m_labels.push_back(label);
        return slot.number;
      }
      if (slot.label == label) return slot.number;
    }
  }
  [[nodiscard]] std::size_t size() const noexcept { return m_labels.size(); }
  [[nodiscard]] std::vector<std::int64_t> const& labels() const noexcept { return m_labels; }
  [[nodiscard]] std::uint64_t bytes() const noexcept {
    return m_slots.capacity() * sizeof(Slot) + m_labels.capacity() * sizeof(std::int64_t);
  }

private:
  static constexpr std::uint32_t empty = ~std::uint32_t{0};
  struct Slot {
    std::int64_t label   = 0;
    std::uint32_t number = empty;
  };
  /// Multiplies by 2^64 over the golden ratio, and takes the upper bits (Knuth, The Art of Computer
  /// Programming 3, 6.4).
  [[nodiscard]] std::size_t place(std::int64_t label) const noexcept {
    return static_cast<std::size_t>((static_cast<std::uint64_t>(label) * 0x9E3779B97F4A7C15) >> m_shift);
  }
  void grow();

  std::vector<Slot> m_slots;
  std::vector<std::int64_t> m_labels;
  int m_shift = 64;
};

/// Texts, numbered from 0 on. A slot has the beginning of its text, so that most texts are compared where
/// their slots are.
class TextTable {
public:
  /// Folds one word of eight bytes after the other into a product of two numbers of 64 bits.
  [[nodiscard]] static std::uint64_t hash_of(std::string_view label) noexcept {
    std::uint64_t hash = 0x9E3779B97F4A7C15 ^ label.size();
    char const* p      = label.data();
    std::size_t left   = label.size();
    for (; left >= sizeof(std::uint64_t); p += sizeof(std::uint64_t), left -= sizeof(std::uint64_t)) {
      std::uint64_t word = 0;
      std::memcpy(&word, p, sizeof word);
      hash = mixed(hash ^ word);
    }
    if (left > 0) {
      std::uint64_t word = 0;
      std::memcpy(&word, p, left);
      hash = mixed(hash ^ word);
    }
    return mixed(hash);
  }
  /// Loads what number() needs into the cache.
  void prefetch(std::uint64_t hash) const noexcept {
    if (!m_slots.empty()) __builtin_prefetch(&m_slots[hash >> m_shift]);
  }
  /// The number of a label, which is new if it is that of size() before the call.
  std::uint32_t number(std::string_view label) { return number(label, hash_of(label)); }
  std::uint32_t number(std::string_view label, std::uint64_t hash) {
    if (2 * m_labels.rows() >= m_slots.size()) grow();
    Slot const wanted = slot_of(label, hash);
    for (std::size_t at = hash >> m_shift;; at = (at + 1) & (m_slots.size() - 1)) {
      Slot& slot = m_slots[at];
      if (slot.number == empty) {
        slot        = wanted;
        slot.number = static_cast<std::uint32_t>(m_labels.rows());
        m_labels.add(label);
        return slot.number;
      }
      if (is_that(slot, wanted, label)) return slot.number;
    }
  }
  /// The number of a label, or nothing_found.
  [[nodiscard]] std::uint32_t find(std::string_view label) const {
    if (m_slots.empty()) return empty;
    std::uint64_t const hash = hash_of(label);
    Slot const wanted        = slot_of(label, hash);
    for (std::size_t at = hash >> m_shift;; at = (at + 1) & (m_slots.size() - 1)) {
      Slot const& slot = m_slots[at];
      if (slot.number == empty || is_that(slot, wanted, label)) return slot.number;
    }
  }
  static constexpr std::uint32_t nothing_found = ~std::uint32_t{0};

  [[nodiscard]] std::size_t size() const noexcept { return m_labels.rows(); }
  [[nodiscard]] ModeLabels const& labels() const noexcept { return m_labels; }
  [[nodiscard]] ModeLabels take_labels() && { return std::move(m_labels); }
  [[nodiscard]] std::uint64_t bytes() const noexcept {
    return m_slots.capacity() * sizeof(Slot) + m_labels.bytes.capacity() +
           m_labels.ends.capacity() * sizeof(std::uint64_t);
  }

private:
  static constexpr std::uint32_t empty     = nothing_found;
  static constexpr std::size_t start_bytes = 16;
  struct Slot {
    char start[start_bytes] = {};  // the label's, and zeros after it
    std::uint64_t check     = 0;   // the bytes of a short label, a hash of a long one
    std::uint32_t number    = empty;
  };
  [[nodiscard]] static Slot slot_of(std::string_view label, std::uint64_t hash) noexcept {
    Slot slot;
    bool const is_short = label.size() <= start_bytes;
    std::memcpy(slot.start, label.data(), is_short ? label.size() : start_bytes);
    slot.check = is_short ? label.size() : hash | ~(~std::uint64_t{0} >> 1);
    return slot;
  }
  [[nodiscard]] bool is_that(Slot const& slot, Slot const& wanted, std::string_view label) const noexcept {
    return slot.check == wanted.check && std::memcmp(slot.start, wanted.start, start_bytes) == 0 &&
           (label.size() <= start_bytes || m_labels.label(slot.number) == label);
  }
  [[nodiscard]] static std::uint64_t mixed(std::uint64_t x) noexcept {
    x *= 0xD6E8FEB86659FD93;
    return x ^ (x >> 32);
  }
  void grow();

  std::vector<Slot> m_slots;
  ModeLabels m_labels;
  int m_shift = 64;
};

}  // namespace polyad::io
