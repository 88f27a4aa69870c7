// SPDX-License-Identifier: BSD-3-Clause
#include "io/file_bytes.hpp"

#include "polyad/core/error.hpp"

namespace polyad::io {

FileBytes::FileBytes(std::filesystem::path const& path) : m_input(path) {
  ReadMemory memory;
  read(memory, 1);
}

FileBytes::FileBytes(std::filesystem::path const& path, ReadMemory& memory, int parts) : m_input(path) {
  read(memory, parts);
}

void FileBytes::read(ReadMemory& memory, int parts) {
  m_bytes = m_input.whole();
  memory.map(name(), m_bytes.size() / static_cast<std::uint64_t>(parts));
  if (!m_bytes.empty()) return;
  for (auto piece = m_input.next(); !piece.empty(); piece = m_input.next()) {
    // A string that grows is there twice for a while.
    memory.take("the bytes of " + name(), 2 * piece.size());
    m_storage += piece;
  }
  m_bytes = m_storage;
}

std::uint64_t FieldReader::field(std::size_t bytes) {
  std::string_view const piece = take(bytes);
  std::uint64_t value          = 0;
  for (std::size_t k = bytes; k > 0; --k) value = value << 8 | static_cast<unsigned char>(piece[k - 1]);
  return value;
}

std::string_view FieldReader::take(std::uint64_t size) {
  if (size > m_bytes.size()) refuse("the file ends too early; is it cut short?");
  std::string_view const piece = m_bytes.substr(0, size);
  m_bytes.remove_prefix(size);
  return piece;
}

void FieldReader::refuse(std::string const& reason) const {
  throw InputError(m_file, 0, 0, reason);
}

}  // namespace polyad::io
