// SPDX-License-Identifier: BSD-3-Clause
#include "io/streams/file_bytes.hpp"

#include "polyad/core/error.hpp"

namespace polyad::io {

FileBytes::FileBytes(std::filesystem::path const& path) {
  ReadMemory memory;
  RawInput input(path);
  input.hold(memory);
  memory.take("the file " + input.name(), input.size());
  m_name = input.name();
  m_bytes.resize(input.size());
  input.read_at(0, m_bytes.data(), m_bytes.size());
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
