// SPDX-License-Identifier: BSD-3-Clause
#include "io/text_blocks.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include "polyad/core/error.hpp"

namespace polyad::io {

TextBlocks::TextBlocks(RawInput& input, Compression compression, std::size_t chunk_bytes, ReadMemory& memory)
    : m_input(input), m_memory(memory), m_chunk_bytes(std::max<std::size_t>(chunk_bytes, 1)) {
  if (compression != Compression::none || input.whole().empty()) {
    m_decoder = make_decoder(input, compression, memory);
    return;
  }
  map_lines(input.next());
}

TextBlocks::TextBlocks(RawInput& input, std::string_view lines, std::size_t chunk_bytes, ReadMemory& memory)
    : m_input(input), m_memory(memory), m_chunk_bytes(std::max<std::size_t>(chunk_bytes, 1)) {
  if (!lines.empty()) map_lines(lines);
}

/// The lines in the last bytes are copied, because nothing can be read behind them, and the last line may
/// have no line end.
void TextBlocks::map_lines(std::string_view map) {
  std::size_t const main_end =
      map.size() > TextBlock::readable_beyond
          ? map.rfind('\n', map.size() - TextBlock::readable_beyond - 1) + 1  // npos + 1 == 0
          : 0;
  std::string_view const tail = map.substr(main_end);
  if (tail.size() > longest_line + TextBlock::readable_beyond) line_too_long();
  bool const closed      = !tail.empty() && tail.back() == '\n';
  std::size_t const size = tail.size() + (closed ? 0 : 1);
  m_tail                 = std::make_unique<char[]>(size + TextBlock::readable_beyond);
  std::copy(tail.begin(), tail.end(), m_tail.get());
  m_tail[size - 1] = '\n';
  m_tail_text      = {m_tail.get(), size};
  m_rest           = map.substr(0, main_end);
  if (!closed) m_text_bytes -= 1;  // wraps, and comes right when the tail is handed out
}

std::optional<TextBlock> TextBlocks::next() {
  try {
    std::optional<TextBlock> block = m_decoder ? next_decoded() : next_mapped();
    if (block) m_text_bytes += block->text.size();
    return block;
  } catch (...) {
    // Another thread may ask before it learns of the fault. A decoder would go on behind the damage.
    m_ended = true;
    throw;
  }
}

std::optional<TextBlock> TextBlocks::next_mapped() {
  if (m_rest.empty()) m_rest = std::exchange(m_tail_text, {});
  if (m_rest.empty()) return std::nullopt;
  std::size_t size = m_rest.size();
  if (size > m_chunk_bytes) {
    size = m_rest.rfind('\n', m_chunk_bytes - 1) + 1;
    if (size == 0) size = m_rest.find('\n', m_chunk_bytes) + 1;  // m_rest ends with a line end
    if (size > std::max(longest_line, m_chunk_bytes)) line_too_long();
  }
  TextBlock block{m_rest.substr(0, size), nullptr, {}};
  m_rest.remove_prefix(size);
  return block;
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
    // Not farther: the same lines are too long whatever the size of a chunk.
    capacity = std::min(2 * capacity, longest_line + 1);
    HeldMemory larger_held;
    larger_held.resize(m_memory, array, capacity + beyond);
    auto larger = std::make_unique_for_overwrite<char[]>(capacity + beyond);
    std::copy_n(storage.get(), size, larger.get());
    storage = std::move(larger);
    held    = std::move(larger_held);
  }
  std::memset(storage.get() + size, 0, TextBlock::readable_beyond);
  return TextBlock{{storage.get(), size}, std::move(storage), std::move(held)};
}

void TextBlocks::line_too_long() const {
  throw InputError(m_input.name(), 0, 0,
                   "has a line of more than " + std::to_string(longest_line) + " bytes; is it a text file?");
}

}  // namespace polyad::io
