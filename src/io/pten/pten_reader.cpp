// SPDX-License-Identifier: BSD-3-Clause
// Two passes. The first checks the heads of all blocks, which gives their positions and shows that the file
// is complete before memory is taken. In the second pass, threads check blocks and copy each to its place.
#include <algorithm>
#include <array>
#include <chrono>
#include <new>
#include <string>
#include <vector>

#include "core/host_memory.hpp"
#include "core/on_threads.hpp"
#include "io/lists/binary_block.hpp"
#include "io/lists/settle.hpp"
#include "io/names/names_block.hpp"
#include "io/pten/pten.hpp"
#include "io/pten/pten_format.hpp"
#include "io/streams/decoder.hpp"
#include "io/streams/file_bytes.hpp"
#include "io/text/line_parser.hpp"
#include "polyad/core/error.hpp"

#ifdef POLYAD_HAVE_ZSTD
#include <zstd.h>
#include <zstd_errors.h>
#endif

namespace polyad::io {

namespace {

/// \param size  becomes the size of the header in the file
pten::Header read_header(RawInput const& input, std::uint64_t& size) {
  std::uint64_t const most = pten::header_bytes(most_modes, pten::version_with_names);
  std::string bytes(std::min(input.size(), most), '\0');
  input.read_at(0, bytes.data(), bytes.size());
  std::string_view const file = bytes;
  FieldReader reader(input.name(), file);
  if (!file.starts_with(pten::magic)) reader.refuse("is not a .pten file");
  if (file.size() < pten::header_bytes(1)) reader.refuse("the file ends inside the header; is it cut short?");
  (void)reader.take(pten::magic.size());
  pten::Header header;
  header.version = static_cast<std::uint32_t>(reader.u32());
  size           = reader.u32();
  // The checksum is verified before any field of the header, except its size, which must fit first.
  if (size % 8 != 0 || size < pten::header_bytes(1) || size > most || size > file.size() ||
      element_at<std::uint32_t>(file.data() + size - 4, 0) != crc32c(0, file.substr(0, size - 4)))
    reader.refuse("the header is damaged or cut short: its checksum is wrong");
  bool const has_names = header.version == pten::version_with_names;
  if (header.version != pten::version_without_names && !has_names)
    reader.refuse("is of version " + std::to_string(header.version) + "; this Polyad reads versions 1 and 2");
  header.index_bytes          = reader.u8();
  header.value_bytes          = reader.u8();
  std::uint64_t const packing = reader.u8(), order = reader.u8(), base = reader.u32();
  header.nnz            = reader.u64();
  header.block_nonzeros = reader.u64();
  auto const is_width   = [](std::uint64_t bytes) { return bytes == 4 || bytes == 8; };
  if (!is_width(header.index_bytes) || !is_width(header.value_bytes) || packing > 1 ||
      (has_names ? base > 1 && base != pten::unknown_base : base != 0) ||
      size != pten::header_bytes(order, header.version) || header.block_nonzeros < 1 ||
      header.block_nonzeros > PtenOptions::most_block_nonzeros)
    reader.refuse("the header says what version " + std::to_string(header.version) + " does not know");
  header.packing = static_cast<pten::Packing>(packing);
  for (std::uint64_t n = 0; n < order; ++n) {
    header.extents.push_back(reader.u64());
    if (header.extents.back() == 0) reader.refuse("extent " + std::to_string(n + 1) + " is 0");
  }
  if (has_names) {
    header.index_base  = base == pten::unknown_base ? -1 : static_cast<int>(base);
    header.names_bytes = reader.u64();
    header.names_crc   = static_cast<std::uint32_t>(reader.u32());
    if (header.names_bytes > input.size() - size) reader.refuse("the names are cut short");
  }
  if (header.nnz == 0) reader.refuse("holds no nonzeros");
  return header;
}

/// The names, which begin at place `begin`. Their length fits the file.
Labels read_labels(RawInput const& input, std::uint64_t begin, pten::Header const& header,
                   ReadMemory& memory) {
  if (header.names_bytes == 0) return {};
  HeldMemory held;
  held.resize(memory, "the names of " + input.name(), header.names_bytes);
  detail::expect_fits_host("the names of " + input.name(), header.names_bytes);
  std::string block(header.names_bytes, '\0');
  input.read_at(begin, block.data(), block.size());
  if (crc32c(0, block) != header.names_crc)
    throw InputError(input.name(), 0, 0, "the names are damaged: their checksum is wrong");
  return labels_of_block(input.name(), block, header.extents, memory);
}

/// The checked content of a block's head, and where the payload begins in the file.
struct StoredBlock {
  std::uint64_t begin, bytes;
  std::uint32_t crc;
};

/// \param next  where the first head begins
std::vector<StoredBlock> find_blocks(RawInput const& input, std::uint64_t next, pten::Header const& header,
                                     ReadMemory& memory) {
  FieldReader const file(input.name(), "");
  std::vector<StoredBlock> blocks;
  auto const left = [&] { return input.size() - next; };
  auto const most = std::min<std::uint64_t>(header.blocks(), left() / pten::block_head_bytes);
  memory.take("the list of the blocks of " + input.name(), most * sizeof(StoredBlock));
  blocks.reserve(most);
  for (std::uint64_t b = 0; b < header.blocks(); ++b) {
    auto const which = [&] {
      return "block " + std::to_string(b + 1) + " of " + std::to_string(header.blocks());
    };
    if (left() < pten::block_head_bytes) file.refuse(which() + " is missing; is the file cut short?");
    std::array<char, pten::block_head_bytes> bytes;
    input.read_at(next, bytes.data(), bytes.size());
    next += bytes.size();
    FieldReader head(input.name(), {bytes.data(), bytes.size()});
    std::string_view const first = head.take(12);
    FieldReader fields(input.name(), first);
    std::uint64_t const size = fields.u64();
    auto const crc           = static_cast<std::uint32_t>(fields.u32());
    if (head.u32() != pten::head_crc(b, first))
      file.refuse("the head of " + which() + " is damaged: its checksum is wrong");
    if (header.packing == pten::Packing::none && size != header.nonzeros(b) * header.nonzero_bytes())
      file.refuse(which() + " is of another size than its nonzeros");
    if (size > left()) file.refuse(which() + " is cut short");
    blocks.push_back({next, size, crc});
    next += size;
  }
  if (left() != 0) file.refuse("the blocks are followed by " + std::to_string(left()) + " other bytes");
  return blocks;
}

#ifdef POLYAD_HAVE_ZSTD
/// Returns the fault, or nothing.
std::string unpack(std::string_view stored, std::uint64_t size, std::string& content) {
  // The size comes first: a frame of another size is not unpacked at all.
  if (ZSTD_getFrameContentSize(stored.data(), stored.size()) != size)
    return "a block does not unpack to the size of its nonzeros";
  content.resize(size);
  std::size_t const count = ZSTD_decompress(content.data(), size, stored.data(), stored.size());
  if (ZSTD_getErrorCode(count) == ZSTD_error_memory_allocation) throw std::bad_alloc();
  return ZSTD_isError(count) != 0 || count != size ? "a block does not unpack" : "";
}
#endif

/// In whole steps of the checksum (crc32c.cpp). A piece stays in the first-level cache.
constexpr std::uint64_t piece_bytes = 24 << 10;

/// Copies a block's nonzeros to their place, all of them or up to the first fault. Returns the fault, or
/// nothing. `piece_of(offset, bytes)` gives the payload in pieces, all of it in order.
template <class PieceOf>
std::string copy_block(pten::Header const& header, BinaryBlock const& block, ReadOptions const& options,
                       CoordinateList& list, PieceOf const& piece_of) {
  std::string reason;
  auto const for_each_piece = [&](std::uint64_t begin, std::uint64_t item_bytes, auto const& copy) {
    std::uint64_t const items = std::max<std::uint64_t>(piece_bytes / item_bytes, 1);
    for (std::uint64_t at = 0; at < block.count; at += items) {
      BinaryBlock const some{block.first + at, std::min(items, block.count - at), block.skipped};
      std::string_view const piece = piece_of(begin + at * item_bytes, some.count * item_bytes);
      if (reason.empty()) reason = copy(some, piece.data());
    }
  };
  std::uint64_t const index_bytes = header.extents.size() * header.index_bytes;
  for_each_piece(0, index_bytes, [&](auto some, char const* indices) {
    return header.index_bytes == 4 ? copy_indices<std::uint32_t>(some, indices, list)
                                   : copy_indices<std::uint64_t>(some, indices, list);
  });
  for_each_piece(block.count * index_bytes, header.value_bytes, [&](auto some, char const* values) {
    return header.value_bytes == 4 ? copy_values<float>(some, values, options, list)
                                   : copy_values<double>(some, values, options, list);
  });
  return reason;
}

}  // namespace

TensorFile read_pten(RawInput& input, ReadOptions const& options, FileRange const& stretch) {
  auto const start = std::chrono::steady_clock::now();
  ReadMemory memory(options.memory_bytes);
  input.hold(memory);
  memory.count_file(input.name(), input.size() / stretch.parts);
  FieldReader const file(input.name(), "");
  if (!reads_binary_files) file.refuse(".pten files are read on little-endian machines only");
  std::uint64_t header_size = 0;
  auto const header         = read_header(input, header_size);
  if (header.packing == pten::Packing::zstd && !can_unpack(Compression::zstd))
    file.refuse("is packed with zstd, which this build of Polyad cannot unpack (its library was missing)");
  auto const blocks = find_blocks(input, header_size + header.names_bytes, header, memory);

  TensorFile result;
  result.report.dialect          = Dialect::pten;
  result.report.knows_index_base = header.index_base >= 0;
  result.report.index_base       = std::max(header.index_base, 0);
  if (stretch.part == 0) result.labels = read_labels(input, header_size, header, memory);
  // The blocks of this part, and its nonzeros within the file.
  std::uint64_t const first_block = stretch.begin(blocks.size()), past_block = stretch.end(blocks.size());
  std::uint64_t const skipped = std::min(header.nnz, first_block * header.block_nonzeros);
  result.tensor =
      make_list(header.extents, std::min(header.nnz, past_block * header.block_nonzeros) - skipped, memory);
  FirstFault fault;
  detail::for_each_on_threads(
      detail::thread_count(options.threads), past_block - first_block, [&](std::uint64_t k) {
        std::uint64_t const b = first_block + k;
        if (fault.is_before(b)) return;
        auto const& [begin, stored_bytes, crc] = blocks[b];
        auto const damaged                     = [&] {
          fault.set(b, "block " + std::to_string(b + 1) + " of " + std::to_string(blocks.size()) +
                           " is damaged: its checksum is wrong");
        };
        BinaryBlock const block{k * header.block_nonzeros, header.nonzeros(b), skipped};
        std::string reason;
        if (header.packing == pten::Packing::none) {
          std::uint32_t found = 0;
          std::array<char, piece_bytes> bytes;
          // Clang 16 cannot capture a structured binding where OpenMP is on.
          auto const read_piece = [&, first = begin](std::uint64_t offset, std::uint64_t size) {
            input.read_at(first + offset, bytes.data(), size);
            std::string_view const piece(bytes.data(), size);
            found = crc32c(found, piece);
            return piece;
          };
          reason = copy_block(header, block, options, result.tensor, read_piece);
          // The faults in a damaged block's content are meaningless.
          if (found != crc) return damaged();
        } else {
#ifdef POLYAD_HAVE_ZSTD
          std::uint64_t const bytes = block.count * header.nonzero_bytes();
          HeldMemory held;
          held.resize(memory, "a block of " + input.name(), bytes + stored_bytes);
          detail::expect_fits_host("a block of " + input.name(), bytes + stored_bytes);
          std::string stored(stored_bytes, '\0');
          input.read_at(begin, stored.data(), stored.size());
          if (crc32c(0, stored) != crc) return damaged();
          std::string content;
          reason = unpack(stored, bytes, content);
          if (reason.empty())
            reason = copy_block(header, block, options, result.tensor,
                                [&](std::uint64_t offset, std::uint64_t size) {
                                  return std::string_view(content).substr(offset, size);
                                });
#endif
        }
        if (!reason.empty()) fault.set(b, reason);
      });
  fault.throw_if_any(input.name(), stretch);
  finish_binary(input, options, start, result, stretch);
  return result;
}

}  // namespace polyad::io
