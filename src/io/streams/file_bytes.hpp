// SPDX-License-Identifier: BSD-3-Clause
// A binary file as a whole, and the fields in it.
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

#include "io/streams/raw_input.hpp"
#include "polyad/io/coordinate_list.hpp"

namespace polyad::io {

/// A copy of the file in memory; a pipe is read to its end.
class FileBytes {
public:
  /// \throws InputError when the file cannot be read; MemoryError
  explicit FileBytes(std::filesystem::path const& path);

  [[nodiscard]] std::string const& name() const noexcept { return m_name; }
  [[nodiscard]] std::string_view bytes() const noexcept { return {m_bytes.data(), m_bytes.size()}; }

private:
  std::string m_name;
  UninitializedVector<char> m_bytes;
};

/// Reads little-endian fields one after the other and refuses to leave the file.
class FieldReader {
public:
  FieldReader(std::string const& file, std::string_view bytes) : m_file(file), m_bytes(bytes) {}

  [[nodiscard]] std::uint64_t u8() { return field(1); }
  [[nodiscard]] std::uint64_t u32() { return field(4); }
  [[nodiscard]] std::uint64_t u64() { return field(8); }
  [[nodiscard]] std::uint64_t field(std::size_t bytes);

  /// \throws InputError if the file ends before
  [[nodiscard]] std::string_view take(std::uint64_t size);

  [[nodiscard]] std::uint64_t left() const noexcept { return m_bytes.size(); }
  [[nodiscard]] std::string const& file() const noexcept { return m_file; }

  /// \throws InputError, always
  [[noreturn]] void refuse(std::string const& reason) const;

private:
  std::string m_file;
  std::string_view m_bytes;
};

/// Element k of an array of Elements at `bytes`, which need not be aligned.
template <class Element>
[[nodiscard]] Element element_at(char const* bytes, std::uint64_t k) {
  Element element;
  std::memcpy(&element, bytes + k * sizeof(Element), sizeof element);
  return element;
}

/// Whether binary files can be read. They are little-endian, and other machines would have to swap every
/// number.
inline constexpr bool reads_binary_files = std::endian::native == std::endian::little;

}  // namespace polyad::io
