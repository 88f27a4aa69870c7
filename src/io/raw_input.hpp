// SPDX-License-Identifier: BSD-3-Clause
// The bytes of a file as they lie on disk: a copy of a small regular file, a memory map of a large one, or a
// buffer that is refilled for pipes and other streams. Compression is the business of decoder.hpp.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>

namespace polyad::io {

class RawInput {
public:
  /// Bytes that peek() can show.
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

  /// Bytes handed out so far.
  [[nodiscard]] std::uint64_t consumed() const noexcept { return m_consumed; }

  /// The bytes of a regular file, all of them, consumed or not; else empty.
  [[nodiscard]] std::string_view whole() const noexcept { return m_whole; }

private:
  void copy(std::size_t size);
  void map(std::size_t size);
  std::string_view read_up_to(std::size_t most);
  std::string_view refill();

  std::string m_name;
  int m_descriptor = -1;
  std::string_view m_whole;
  bool m_is_mapped = false;
  std::unique_ptr<char[]> m_buffer;
  std::string_view m_pending;
  std::uint64_t m_consumed = 0;
};

}  // namespace polyad::io
