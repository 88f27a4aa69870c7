// SPDX-License-Identifier: BSD-3-Clause
// Cuts the text of a file into blocks of whole lines, in order. A block of a regular file is a range of
// places until it is loaded, by several threads concurrently; other text is unpacked into a buffer for each
// block.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "io/memory/read_memory.hpp"
#include "io/streams/decoder.hpp"
#include "io/streams/raw_input.hpp"

namespace polyad::io {

/// Whole lines. The last byte is a line end. After it, `readable_beyond` more bytes can be read, whose
/// content has no meaning. So a parser may load whole words and needs no checks of bounds within a line.
struct TextBlock {
  static constexpr std::size_t readable_beyond = 8;

  std::string_view text;
  std::unique_ptr<char[]> storage;  // null when the text is in a TextBuffer
  HeldMemory held;                  // the memory of the storage
  // If it is still to be loaded, the text is the lines that begin at these places.
  std::uint64_t begin = 0, end = 0;
};

/// Memory for one block after the other.
class TextBuffer {
public:
  /// Makes space for the given number of bytes, and for those that can be read after them. Keeps the first
  /// `kept` bytes.
  void grow(std::size_t bytes, std::size_t kept, ReadMemory& memory, std::string const& array);
  [[nodiscard]] char* data() const noexcept { return m_storage.get(); }
  /// Gives the memory to a block.
  void release(TextBlock& block);

private:
  std::unique_ptr<char[]> m_storage;
  std::size_t m_bytes = 0;
  HeldMemory m_held;
};

class TextBlocks {
public:
  /// No line of coordinates is nearly this long. A file without a line end in that many bytes is not text.
  static constexpr std::size_t longest_line = std::size_t{16} << 20;

  /// \param input, memory  must outlive the blocks
  TextBlocks(RawInput& input, Compression compression, std::size_t chunk_bytes, ReadMemory& memory);
  /// The lines of a regular file from place `begin` to `end`; `begin` is the beginning of a line.
  TextBlocks(RawInput& input, std::uint64_t begin, std::uint64_t end, std::size_t chunk_bytes,
             ReadMemory& memory);

  /// The next block, of about chunk_bytes, which may have to be loaded; nothing at the end of the text.
  /// \throws InputError when the packed data are damaged, or a line is longer than longest_line
  [[nodiscard]] std::optional<TextBlock> next();

  /// Reads the text of a block of next(), unless that is already done; it is valid until the buffer's next
  /// block. If no line begins in the block, the text is empty. Several threads may call it concurrently.
  /// \throws InputError when a line is longer than longest_line, or the file has become shorter
  void load(TextBlock& block, TextBuffer& buffer) const;
  /// The same into the block's own memory.
  void load(TextBlock& block) const;

  /// Bytes of text handed out so far; a line end that the file lacks is not counted.
  [[nodiscard]] std::uint64_t text_bytes() const noexcept { return m_text_bytes; }

private:
  std::optional<TextBlock> next_range();
  std::optional<TextBlock> next_decoded();
  [[noreturn]] void line_too_long() const;

  RawInput& m_input;
  ReadMemory& m_memory;
  std::size_t m_chunk_bytes;
  std::uint64_t m_text_bytes = 0;

  std::uint64_t m_begin = 0, m_next = 0, m_end = 0;  // the lines that are not decoded, and the next block

  std::unique_ptr<Decoder> m_decoder;
  std::string m_carry;  // decoded: the part of a line that the last block left over
  bool m_ended = false;
};

}  // namespace polyad::io
