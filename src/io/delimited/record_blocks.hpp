// SPDX-License-Identifier: BSD-3-Clause
// Cuts a table into blocks of whole records, in order. A line end between quotes does not end a record: an
// even number of quotes comes before one that does, since RFC 4180 writes a quote within a field twice.
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

/// Whole records. The last byte is a line end, and `readable_beyond` more bytes can be read.
struct RecordBlock {
  static constexpr std::size_t readable_beyond = 8;

  std::string_view text;
  std::unique_ptr<char[]> storage;
  HeldMemory held;
  bool has_quotes = false;
  /// The last record is longer than longest_record, or its last quote is not closed.
  bool is_cut = false;
};

class RecordBlocks {
public:
  static constexpr std::size_t longest_record = std::size_t{16} << 20;

  /// \param skipped  bytes of text before the first record
  RecordBlocks(RawInput& input, Compression compression, std::uint64_t skipped, std::size_t block_bytes,
               ReadMemory& memory);

  /// The next block, of about block_bytes; nothing at the end. One thread at a time.
  /// \throws InputError when packed data are damaged, or the file has become shorter
  [[nodiscard]] std::optional<RecordBlock> next();

  /// Bytes of text so far, including what was skipped; a line end that the file lacks is not counted.
  [[nodiscard]] std::uint64_t text_bytes() const noexcept { return m_text_bytes; }

private:
  std::size_t read(char* to, std::size_t bytes);
  std::optional<RecordBlock> read_block();

  RawInput& m_input;
  ReadMemory& m_memory;
  Compression m_compression;
  std::uint64_t m_skipped;
  std::size_t m_block_bytes;
  std::unique_ptr<Decoder> m_decoder;
  std::string m_carry;  // the beginning of a record that the last block left over
  std::uint64_t m_text_bytes = 0;
  bool m_ended               = false;
};

}  // namespace polyad::io
