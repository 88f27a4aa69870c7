// SPDX-License-Identifier: BSD-3-Clause
#include "io/file_bytes.hpp"

#include "polyad/core/error.hpp"

namespace polyad::io {

FileBytes::FileBytes(std::filesystem::path const& path) : m_input(path) {
  m_bytes = m_input.whole();
  if (!m_bytes.empty()) return;
  for (auto piece = m_input.next(); !piece.empty(); piece = m_input.next()) m_storage += piece;
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
