// SPDX-License-Identifier: BSD-3-Clause
// Right checksums for .pten files that were changed, so that a reader gets past them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "io/pten/pten_format.hpp"
#include "io/streams/crc32c.hpp"
#include "io/streams/file_bytes.hpp"

namespace polyad::fuzz {

inline void put_crc(std::string& bytes, std::size_t at, std::uint32_t crc) {
  for (std::size_t k = 0; k < 4; ++k) bytes[at + k] = static_cast<char>(crc >> 8 * k & 0xFF);
}

/// Puts right checksums wherever the header and the heads of the blocks say that there are some.
inline void mend_pten(std::string& bytes) {
  if (bytes.size() < io::pten::header_bytes(1)) return;
  std::uint64_t const header = io::element_at<std::uint32_t>(bytes.data() + 12, 0);
  if (header < 8 || header > bytes.size()) return;
  std::uint64_t begin = header;  // where the blocks begin
  if (io::element_at<std::uint32_t>(bytes.data() + 8, 0) == io::pten::version_with_names && header >= 16) {
    auto const names = io::element_at<std::uint64_t>(bytes.data() + header - 16, 0);
    if (names <= bytes.size() - header) {
      put_crc(bytes, header - 8, io::crc32c(0, std::string_view(bytes).substr(header, names)));
      begin += names;
    }
  }
  put_crc(bytes, header - 4, io::crc32c(0, std::string_view(bytes).substr(0, header - 4)));
  std::uint64_t block = 0;
  for (std::uint64_t at = begin; at + io::pten::block_head_bytes <= bytes.size(); ++block) {
    auto const size = io::element_at<std::uint64_t>(bytes.data() + at, 0);
    if (size > bytes.size() - at - io::pten::block_head_bytes) break;
    std::string_view const view(bytes);
    put_crc(bytes, at + 8, io::crc32c(0, view.substr(at + io::pten::block_head_bytes, size)));
    put_crc(bytes, at + 12, io::pten::head_crc(block, view.substr(at, 12)));
    at += io::pten::block_head_bytes + size;
  }
}

}  // namespace polyad::fuzz
