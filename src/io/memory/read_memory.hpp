// SPDX-License-Identifier: BSD-3-Clause
// The memory that reading a file takes, counted against ReadOptions::memory_bytes.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "polyad/core/error.hpp"

namespace polyad::io {

/// The account of one reading. Any thread may use it.
class ReadMemory {
public:
  /// \param limit  in bytes; unset: none, and only free memory counts
  explicit ReadMemory(std::optional<std::uint64_t> limit = {}) : m_limit(limit) {}
  ReadMemory(ReadMemory const&)            = delete;
  ReadMemory& operator=(ReadMemory const&) = delete;

  /// Counts bytes that are allocated next. \throws MemoryError naming `array`, beyond the limit
  void count(std::string const& array, std::uint64_t bytes);
  /// The same for bytes that must be free.
  void take(std::string const& array, std::uint64_t bytes);
  /// Stops counting them.
  void give(std::uint64_t bytes) noexcept { m_taken -= bytes; }

  /// Counts a file that is read piece by piece. It is not memory unless there is a limit: the system can drop
  /// its pages.
  void count_file(std::string const& file, std::uint64_t bytes) { count("the file " + file, bytes); }

  [[nodiscard]] std::optional<std::uint64_t> limit() const noexcept { return m_limit; }
  /// How many bytes may still be used: within the limit, and free.
  [[nodiscard]] std::uint64_t left() const;

  /// Blocks of text that are small enough for each of the given number of threads to get several.
  [[nodiscard]] std::size_t chunk_bytes(std::size_t wanted, int threads) const;

private:
  std::optional<std::uint64_t> m_limit;
  std::atomic<std::uint64_t> m_taken{0};
};

/// Bytes that count as long as it lives. The account must outlive it.
class HeldMemory {
public:
  HeldMemory() = default;
  HeldMemory(HeldMemory&& other) noexcept
      : m_memory(std::exchange(other.m_memory, nullptr)), m_bytes(std::exchange(other.m_bytes, 0)) {}
  HeldMemory& operator=(HeldMemory&& other) noexcept {
    std::swap(m_memory, other.m_memory);
    std::swap(m_bytes, other.m_bytes);
    return *this;
  }
  ~HeldMemory() {
    if (m_memory != nullptr) m_memory->give(m_bytes);
  }

  /// Counts the given number of bytes from now on. \throws MemoryError
  void resize(ReadMemory& memory, std::string const& array, std::uint64_t bytes) {
    if (bytes > m_bytes) memory.count(array, bytes - m_bytes);
    if (bytes < m_bytes) memory.give(m_bytes - bytes);
    m_memory = &memory;
    m_bytes  = bytes;
  }

private:
  ReadMemory* m_memory  = nullptr;
  std::uint64_t m_bytes = 0;
};

}  // namespace polyad::io
