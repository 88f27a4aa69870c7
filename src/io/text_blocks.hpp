// SPDX-License-Identifier: BSD-3-Clause
// Cuts the text of a file into blocks of whole lines, in order. Blocks of a regular file are parts of its
// bytes; other text is unpacked into a buffer for each block.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "io/decoder.hpp"
#include "io/raw_input.hpp"
#include "io/read_memory.hpp"

namespace polyad::io {

/// Whole lines. The last byte is a line end. Behind it `readable_beyond` more bytes can be read, whose
/// content has no meaning. So a parser may load whole words and needs no checks of bounds within a line.
struct TextBlock {
  static constexpr std::size_t readable_beyond = 8;

  std::string_view text;
  std::unique_ptr<char[]> storage;  // null when the text lies in the bytes of the file
  HeldMemory held;                  // of the storage
};

class TextBlocks {
public:
  /// No line of coordinates is nearly this long. A file without a line end in so many bytes is not text.
  static constexpr std::size_t longest_line = std::size_t{16} << 20;

  /// \param input, memory  must outlive the blocks
  TextBlocks(RawInput& input, Compression compression, std::size_t chunk_bytes, ReadMemory& memory);
  /// Some lines of a regular file.
  /// \param lines  within the map; they end with a line end, but for the file's last
  TextBlocks(RawInput& input, std::string_view lines, std::size_t chunk_bytes, ReadMemory& memory);

  /// The next block, of about chunk_bytes and at least one line; nothing at the end of the text.
  /// \throws InputError when the packed data are damaged, or a line is longer than longest_line
  [[nodiscard]] std::optional<TextBlock> next();

  /// Bytes of text handed out so far; a line end that the file lacks is not counted.
  [[nodiscard]] std::uint64_t text_bytes() const noexcept { return m_text_bytes; }

private:
  void map_lines(std::string_view lines);
  std::optional<TextBlock> next_mapped();
  std::optional<TextBlock> next_decoded();
  [[noreturn]] void line_too_long() const;

  RawInput& m_input;
  ReadMemory& m_memory;
  std::size_t m_chunk_bytes;
  std::uint64_t m_text_bytes = 0;

  std::string_view m_rest;         // mapped: what is left of the map, then of the tail
  std::unique_ptr<char[]> m_tail;  // mapped: a copy of the last lines, closed and padded
  std::string_view m_tail_text;

  std::unique_ptr<Decoder> m_decoder;
  std::string m_carry;  // decoded: the part of a line that the last block left over
  bool m_ended = false;
};

}  // namespace polyad::io
