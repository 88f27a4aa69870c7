// SPDX-License-Identifier: BSD-3-Clause
// How much text an input is. A few hundred packed bytes may unpack to a hundred megabytes.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>

#include "fuzz_file.hpp"
#include "io/streams/decoder.hpp"
#include "polyad/core/error.hpp"

namespace polyad::fuzz {

struct TextSize {
  std::uint64_t bytes = 0;
  std::uint64_t lines = 0;
};

/// Unpacks a packed file up to a fault, its end or where stop(size) says so. Text that is not packed counts
/// as empty: an input's own bytes are few.
template <class Stop>
TextSize unpacked_size(std::string const& path, Stop const& stop) {
  static std::string piece(std::size_t{64} << 10, '\0');
  TextSize text;
  try {
    io::RawInput input(path);
    auto const compression = io::recognise(input);
    if (compression == io::Compression::none) return text;
    io::ReadMemory memory(most_memory);
    auto const decoder = io::make_decoder(input, compression, memory);
    for (std::size_t size = piece.size(); size == piece.size() && !stop(text);) {
      size = decoder->read(piece.data(), piece.size());
      text.bytes += size;
      text.lines += static_cast<std::uint64_t>(
          std::count(piece.begin(), piece.begin() + static_cast<std::ptrdiff_t>(size), '\n'));
    }
  } catch (InputError const&) {
  } catch (MemoryError const&) {
  }
  return text;
}

}  // namespace polyad::fuzz
