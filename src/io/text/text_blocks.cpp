// SPDX-License-Identifier: BSD-3-Clause
#include "io/text/text_blocks.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include "polyad/core/error.hpp"

namespace polyad::io {

void TextBuffer::grow(std::size_t bytes, std::size_t kept, ReadMemory& memory, std::string const& array) {
  if (bytes <= m_bytes) return;
  std::size_t const capacity = bytes + TextBlock::readable_beyond;
  HeldMemory held;
  held.resize(memory, array, capacity);
  auto storage = std::make_unique_for_overwrite<char[]>(capacity);
  std::copy_n(m_storage.get(), kept, storage.get());
  m_storage = std::move(storage);
  m_held    = std::move(held);
  m_bytes   = bytes;
}

void TextBuffer::release(TextBlock& block) {
  block.storage = std::move(m_storage);
  block.held    = std::move(m_held);
  m_bytes       = 0;
}

TextBlocks::TextBlocks(RawInput& input, Compression compression, std::size_t chunk_bytes, ReadMemory& memory)
    : TextBlocks(input, 0, 0, chunk_bytes, memory) {
  if (compression == Compression::none && input.has_places())
    m_end = input.size();
  else
    m_decoder = make_decoder(input, compression, memory);
}

TextBlocks::TextBlocks(RawInput& input, std::uint64_t begin, std::uint64_t end, std::size_t chunk_bytes,
                       ReadMemory& memory)
    : m_input(input),
      m_memory(memory),
      m_chunk_bytes(std::max<std::size_t>(chunk_bytes, 1)),
      m_begin(begin),
      m_next(begin),
      m_end(end) {}

std::optional<TextBlock> TextBlocks::next() {
  try {
    if (!m_decoder) return next_range();
    std::optional<TextBlock> block = next_decoded();
    if (block) m_text_bytes += block->text.size();
    return block;
  } catch (...) {
    // Another thread may ask before it learns of the fault. A decoder would continue past the damage.
    m_ended = true;
    throw;
  }
}

std::optional<TextBlock> TextBlocks::next_range() {
  if (m_next == m_end) return std::nullopt;
  TextBlock block;
  block.begin = m_next;
  block.end = m_next = std::min(m_next + m_chunk_bytes, m_end);
  m_text_bytes += block.end - block.begin;
  return block;
}

void TextBlocks::load(TextBlock& block) const {
  if (block.begin == block.end) return;  // nothing is to be loaded
  TextBuffer buffer;
  load(block, buffer);
  buffer.release(block);
  block.begin = block.end;
}

void TextBlocks::load(TextBlock& block, TextBuffer& buffer) const {
  if (block.begin == block.end) return;
  // The byte before the block shows whether a line begins with its first one. What follows the block is most
  // probably the end of its last line.
  constexpr std::uint64_t usual_line = 256;
  std::string const array            = "the text of " + m_input.name();
  std::uint64_t const from           = block.begin == m_begin ? m_begin : block.begin - 1;
  std::uint64_t const all = m_end - from, inside = block.end - from;
  std::uint64_t size = std::min(inside + usual_line, all);
  buffer.grow(size + 1, 0, m_memory, array);
  m_input.read_at(from, buffer.data(), size);
  std::string_view bytes(buffer.data(), size);
  std::size_t first = 0;
  if (from != block.begin) {
    first = bytes.find('\n') + 1;  // npos + 1 == 0
    if (first == 0 || first >= inside) {
      block.text = {};
      return;
    }
  }
  // Where its last line begins.
  std::size_t const last = inside < 2 ? first : std::max(bytes.rfind('\n', inside - 2) + 1, first);
  std::size_t end        = bytes.find('\n', inside - 1);
  while (end == std::string_view::npos && size < all) {
    if (size - last > longest_line) line_too_long();
    std::uint64_t const before = size;
    size                       = std::min({2 * size, last + longest_line + 1, all});
    buffer.grow(size + 1, before, m_memory, array);
    m_input.read_at(from + before, buffer.data() + before, size - before);
    bytes = {buffer.data(), size};
    end   = bytes.find('\n', before);
  }
  if (end == std::string_view::npos) {  // the last line of the text, not closed
    end                = size;
    buffer.data()[end] = '\n';
  }
  if (end - last > longest_line) line_too_long();
  std::memset(buffer.data() + end + 1, 0, TextBlock::readable_beyond);
  block.text = {buffer.data() + first, end + 1 - first};
}

std::optional<TextBlock> TextBlocks::next_decoded() {
  if (m_ended) return std::nullopt;
  std::size_t size             = m_carry.size();
  std::size_t capacity         = size + m_chunk_bytes;
  constexpr std::size_t beyond = 1 + TextBlock::readable_beyond;
  std::string const array      = "the text of " + m_input.name();
  HeldMemory held;
  held.resize(m_memory, array, capacity + beyond);
  auto storage = std::make_unique_for_overwrite<char[]>(capacity + beyond);
  std::copy(m_carry.begin(), m_carry.end(), storage.get());
  for (;;) {
    std::size_t const wanted = capacity - size;
    std::size_t const count  = m_decoder->read(storage.get() + size, wanted);
    std::string_view const fresh(storage.get() + size, count);
    size += count;
    m_ended = count < wanted;
    if (m_ended) {
      m_carry.clear();
      if (size == 0) return std::nullopt;
      if (storage[size - 1] != '\n') {
        storage[size++] = '\n';
        m_text_bytes -= 1;  // next() adds it with the rest
      }
      break;
    }
    if (std::size_t const end = fresh.rfind('\n') + 1; end != 0) {
      m_carry.assign(fresh.substr(end));
      size -= m_carry.size();
      break;
    }
    if (size > longest_line) line_too_long();
    // But no farther: the same lines are too long whatever the size of a chunk.
    capacity = std::min(2 * capacity, longest_line + 1);
    HeldMemory larger_held;
    larger_held.resize(m_memory, array, capacity + beyond);
    auto larger = std::make_unique_for_overwrite<char[]>(capacity + beyond);
    std::copy_n(storage.get(), size, larger.get());
    storage = std::move(larger);
    held    = std::move(larger_held);
  }
  std::memset(storage.get() + size, 0, TextBlock::readable_beyond);
  TextBlock block;
  block.text    = {storage.get(), size};
  block.storage = std::move(storage);
  block.held    = std::move(held);
  return block;
}

void TextBlocks::line_too_long() const {
  throw InputError(m_input.name(), 0, 0,
                   "has a line of more than " + std::to_string(longest_line) + " bytes; is it a text file?");
}

}  // namespace polyad::io
