// SPDX-License-Identifier: BSD-3-Clause
// The bytes of a file as they are stored: one piece after the other, or, for a regular file, at any place.
// They are copied, never mapped: a file that becomes shorter while it is read gives an error, not a signal.
// The file is opened once. decoder.hpp handles compression.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>

#include "io/memory/read_memory.hpp"

namespace polyad::io {

class RawInput {
public:
  /// The number of bytes that peek() can show.
  static constexpr std::size_t peek_bytes = 32;

  /// \throws InputError when the file is missing, a directory or not readable
  explicit RawInput(std::filesystem::path const& path);
  ~RawInput();
  RawInput(RawInput const&)            = delete;
  RawInput& operator=(RawInput const&) = delete;

  [[nodiscard]] std::string const& name() const noexcept { return m_name; }

  /// The first bytes, up to peek_bytes; consumes nothing.
  [[nodiscard]] std::string_view peek() const noexcept { return m_pending.substr(0, peek_bytes); }

  /// The next piece, valid until the next call; empty at the end of the file.
  [[nodiscard]] std::string_view next();

  /// Bytes handed out so far by next().
  [[nodiscard]] std::uint64_t consumed() const noexcept { return m_consumed; }

  /// Keeps what next() hands out from now on, until look_again(). Call it before the first next().
  void begin_look() noexcept { m_is_looked_at = true; }
  /// Makes next() begin with the first byte again.
  void look_again();

  /// Whether read_at() can be called: this is a regular file, or all of it is in memory.
  [[nodiscard]] bool has_places() const noexcept { return m_has_places; }
  /// The number of bytes that a file with places had when it was opened.
  [[nodiscard]] std::uint64_t size() const noexcept { return m_size; }
  /// Copies `bytes` bytes from place `offset` on, which are within the size. For several threads at once.
  /// \throws InputError when the file has become shorter
  void read_at(std::uint64_t offset, char* to, std::uint64_t bytes) const;

  /// Reads the rest of a pipe into memory, so that it has places. Does nothing for other files.
  /// \throws MemoryError
  void hold(ReadMemory& memory);

private:
  std::size_t read_up_to(char* to, std::size_t most);
  std::string_view refill();

  std::string m_name;
  int m_descriptor     = -1;
  bool m_has_places    = false;
  std::uint64_t m_size = 0;
  std::unique_ptr<char[]> m_buffer;
  std::string_view m_pending;  // read, not handed out
  std::string_view m_whole;    // all bytes, if they are in memory
  std::string m_held;          // what hold() read
  bool m_is_looked_at = false;
  std::string m_seen;      // handed out during a look
  std::string m_replayed;  // what is handed out again
  std::uint64_t m_consumed = 0;
};

}  // namespace polyad::io
