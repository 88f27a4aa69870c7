// SPDX-License-Identifier: BSD-3-Clause
// The arrays inside an npz archive: .npy files (numpy.lib.format), a header that is a Python dictionary, then
// the elements.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "io/streams/file_bytes.hpp"

namespace polyad::io {

/// An array of an archive. Its elements are in the archive's bytes, or in the unpacked content.
struct NpyArray {
  char kind           = 'f';  // f floating point, i integer, u unsigned integer, b boolean; S and U: text
  std::uint64_t bytes = 8;    // size of an element
  bool column_major   = false;
  std::vector<std::uint64_t> shape;
  std::string_view elements;

  [[nodiscard]] std::uint64_t size() const noexcept { return elements.size() / bytes; }

  /// Text of one byte (S) or four bytes (U) per character. Zeros at the end are not part of it. Characters
  /// beyond ASCII become '?'.
  [[nodiscard]] std::string text_at(std::uint64_t k) const;

  /// Calls f(element type{}) with the C++ type of the elements, which are numbers.
  template <class F>
  decltype(auto) with_type(F&& f) const {
    if (kind == 'f') return bytes == 4 ? f(float{}) : f(double{});
    if (kind == 'i') {
      if (bytes == 1) return f(std::int8_t{});
      if (bytes == 2) return f(std::int16_t{});
      return bytes == 4 ? f(std::int32_t{}) : f(std::int64_t{});
    }
    if (bytes == 1) return f(std::uint8_t{});  // and booleans
    if (bytes == 2) return f(std::uint16_t{});
    return bytes == 4 ? f(std::uint32_t{}) : f(std::uint64_t{});
  }
};

/// Magic, version, length and dictionary. `type` is numpy's name of the type without the byte order: f8, u4,
/// U3.
[[nodiscard]] std::string npy_header(std::vector<std::uint64_t> const& shape, std::string_view type);

/// \param file, name  those of the archive and the array, for messages
/// \throws InputError for what is damaged or of a type that NpyArray does not know
[[nodiscard]] NpyArray parse_npy(std::string const& file, std::string const& name, std::string_view content);

}  // namespace polyad::io
