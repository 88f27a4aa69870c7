// SPDX-License-Identifier: BSD-3-Clause
#include "io/delimited/record_blocks.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "polyad/core/error.hpp"

namespace polyad::io {

namespace {

std::uint64_t count_quotes(std::string_view text) {
  return std::count(text.begin(), text.end(), '"');
}

/// The place after the last line end that has an even number of quotes before it; 0 if there is none.
std::size_t end_of_records(std::string_view text, std::uint64_t quotes) {
  std::size_t end = text.size();
  for (;;) {
    std::size_t const line_end = text.substr(0, end).rfind('\n');
    if (line_end == std::string_view::npos) return 0;
    if (quotes > 0) quotes -= count_quotes(text.substr(line_end, end - line_end));
    if (quotes % 2 == 0) return line_end + 1;
    end = line_end;
  }
}

}  // namespace

RecordBlocks::RecordBlocks(RawInput& input, Compression compression, std::uint64_t skipped,
                           std::size_t block_bytes, ReadMemory& memory)
    : m_input(input),
      m_memory(memory),
      m_compression(compression),
      m_skipped(skipped),
      m_block_bytes(std::max<std::size_t>(block_bytes, 1)),
      m_decoder(make_decoder(input, compression, memory)) {}

std::size_t RecordBlocks::read(char* to, std::size_t bytes) {
  std::size_t const count = m_decoder->read(to, bytes);
  m_text_bytes += count;
  if (count < bytes && m_compression == Compression::none && m_input.has_places() &&
      m_input.consumed() < m_input.size())
    throw InputError(m_input.name(), 0, 0, "became shorter while it was read");
  return count;
}

std::optional<RecordBlock> RecordBlocks::next() {
  if (m_ended) return std::nullopt;
  try {
    std::array<char, 4096> passed;
    while (m_skipped > 0) {
      std::size_t const wanted = std::min<std::uint64_t>(m_skipped, passed.size());
      if (read(passed.data(), wanted) < wanted) {
        m_ended = true;
        return std::nullopt;
      }
      m_skipped -= wanted;
    }
    return read_block();
  } catch (...) {
    m_ended = true;  // another thread may ask before it learns of the fault
    throw;
  }
}

std::optional<RecordBlock> RecordBlocks::read_block() {
  constexpr std::size_t beyond = 1 + RecordBlock::readable_beyond;
  std::string const array      = "the text of " + m_input.name();
  std::size_t size = m_carry.size(), capacity = size + m_block_bytes;
  RecordBlock block;
  block.held.resize(m_memory, array, capacity + beyond);
  block.storage = std::make_unique_for_overwrite<char[]>(capacity + beyond);
  std::copy(m_carry.begin(), m_carry.end(), block.storage.get());
  std::uint64_t quotes = count_quotes(m_carry);
  for (;;) {
    std::size_t const wanted = capacity - size;
    std::size_t const count  = read(block.storage.get() + size, wanted);
    quotes += count_quotes({block.storage.get() + size, count});
    size += count;
    std::string_view const text(block.storage.get(), size);
    if (count < wanted) {
      m_ended = true;
      m_carry.clear();
      if (size == 0) return std::nullopt;
      block.is_cut = quotes % 2 != 0;
      if (text.back() != '\n' || block.is_cut) block.storage[size++] = '\n';
      break;
    }
    if (std::size_t const end = end_of_records(text, quotes); end != 0) {
      m_carry.assign(text.substr(end));
      size = end;
      break;
    }
    if (size > longest_record) {
      m_ended = block.is_cut = true;
      block.storage[size++]  = '\n';
      break;
    }
    capacity = std::min(2 * capacity, longest_record + 1);
    HeldMemory held;
    held.resize(m_memory, array, capacity + beyond);
    auto larger = std::make_unique_for_overwrite<char[]>(capacity + beyond);
    std::copy_n(block.storage.get(), size, larger.get());
    block.storage = std::move(larger);
    block.held    = std::move(held);
  }
  std::memset(block.storage.get() + size, 0, RecordBlock::readable_beyond);
  block.text       = {block.storage.get(), size};
  block.has_quotes = quotes > 0 && std::memchr(block.text.data(), '"', size) != nullptr;
  return block;
}

}  // namespace polyad::io
