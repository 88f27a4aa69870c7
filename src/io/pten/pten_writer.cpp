// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <new>
#include <string>
#include <vector>

#include "core/on_threads.hpp"
#include "io/names/names_block.hpp"
#include "io/names/row_names.hpp"
#include "io/pten/pten.hpp"
#include "io/pten/pten_format.hpp"
#include "io/streams/file_bytes.hpp"
#include "polyad/core/error.hpp"
#include "polyad/io/atomic_file.hpp"

#ifdef POLYAD_HAVE_ZSTD
#include <zstd.h>
#endif

namespace polyad::io {

namespace {

template <class To, class From>
void append_as(std::string& bytes, From const* from, std::uint64_t count) {
  std::size_t const start = bytes.size();
  bytes.resize(start + count * sizeof(To));
  char* const out = bytes.data() + start;
  if constexpr (std::is_same_v<To, From>) {
    std::memcpy(out, from, count * sizeof(To));
  } else {
    for (std::uint64_t k = 0; k < count; ++k) {
      To const value = static_cast<To>(from[k]);
      std::memcpy(out + k * sizeof(To), &value, sizeof value);
    }
  }
}

/// n x N indices, row-major, then n values.
void append_payload(std::string& bytes, CoordinateList const& tensor, pten::Header const& header,
                    std::uint64_t first, std::uint64_t count) {
  std::uint64_t const order = header.extents.size();
  std::visit(
      [&](auto const& indices) {
        auto const* const from = indices.data() + first * order;
        if (header.index_bytes == 4) {
          append_as<std::uint32_t>(bytes, from, count * order);
        } else {
          append_as<std::uint64_t>(bytes, from, count * order);
        }
      },
      tensor.indices);
  if (header.value_bytes == 4) {
    append_as<float>(bytes, tensor.values.data() + first, count);
  } else {
    append_as<double>(bytes, tensor.values.data() + first, count);
  }
}

std::string packed(std::string const& payload) {
#ifdef POLYAD_HAVE_ZSTD
  std::string result(ZSTD_compressBound(payload.size()), '\0');
  // Level 1: the writer should keep up with a disk; higher levels gain a few per cent on coordinates.
  std::size_t const size = ZSTD_compress(result.data(), result.size(), payload.data(), payload.size(), 1);
  if (ZSTD_isError(size) != 0) throw std::bad_alloc();
  result.resize(size);
  return result;
#else
  return payload;
#endif
}

std::string header_of(pten::Header const& header) {
  std::string bytes(pten::magic);
  bool const has_names = header.version == pten::version_with_names;
  pten::append(bytes, header.version, 4);
  pten::append(bytes, pten::header_bytes(header.extents.size(), header.version), 4);
  pten::append(bytes, header.index_bytes, 1);
  pten::append(bytes, header.value_bytes, 1);
  pten::append(bytes, static_cast<std::uint64_t>(header.packing), 1);
  pten::append(bytes, header.extents.size(), 1);
  std::uint64_t const base =
      header.index_base < 0 ? pten::unknown_base : static_cast<std::uint64_t>(header.index_base);
  pten::append(bytes, has_names ? base : 0, 4);
  pten::append(bytes, header.nnz, 8);
  pten::append(bytes, header.block_nonzeros, 8);
  for (std::uint64_t const extent : header.extents) pten::append(bytes, extent, 8);
  if (has_names) pten::append(bytes, header.names_bytes, 8);
  pten::append(bytes, header.names_crc, 4);
  pten::append(bytes, crc32c(0, bytes), 4);
  return bytes;
}

/// Block b, including its head.
std::string block_of(CoordinateList const& tensor, pten::Header const& header, std::uint64_t b) {
  std::uint64_t const count = header.nonzeros(b);
  std::string payload;
  bool const packs = header.packing == pten::Packing::zstd;
  std::string bytes;
  if (!packs) {
    bytes.reserve(pten::block_head_bytes + count * header.nonzero_bytes());
    bytes.resize(pten::block_head_bytes);
    append_payload(bytes, tensor, header, b * header.block_nonzeros, count);
  } else {
    append_payload(payload, tensor, header, b * header.block_nonzeros, count);
    bytes = std::string(pten::block_head_bytes, '\0') + packed(payload);
  }
  std::string_view const stored = std::string_view(bytes).substr(pten::block_head_bytes);
  std::string head;
  pten::append(head, stored.size(), 8);
  pten::append(head, crc32c(0, stored), 4);
  pten::append(head, pten::head_crc(b, head), 4);
  std::copy(head.begin(), head.end(), bytes.begin());
  return bytes;
}

}  // namespace

void write_pten(std::filesystem::path const& path, CoordinateList const& tensor, PtenOptions const& options) {
  if (!reads_binary_files) throw UsageError(".pten files are written on little-endian machines only");
  if (options.packed && !can_unpack(Compression::zstd))
    throw UsageError("this build of Polyad has no zstd to pack with");
  if (options.block_nonzeros < 1 || options.block_nonzeros > PtenOptions::most_block_nonzeros)
    throw UsageError("a block of a .pten file holds 1 to " +
                     std::to_string(PtenOptions::most_block_nonzeros) + " nonzeros, not " +
                     std::to_string(options.block_nonzeros));
  pten::Header header;
  header.index_bytes    = options.wide || tensor.wide() ? 8 : 4;
  header.value_bytes    = options.single_precision ? 4 : 8;
  header.packing        = options.packed ? pten::Packing::zstd : pten::Packing::none;
  header.nnz            = tensor.nnz();
  header.block_nonzeros = options.block_nonzeros;
  header.extents        = tensor.extents;

  expect_names_fit(options.names, tensor.extents);
  std::string const names = names_block(options.names.labels);
  header.index_base       = options.names.index_base;
  header.names_bytes      = names.size();
  header.names_crc        = crc32c(0, names);
  if (header.index_base >= 0 || !names.empty()) header.version = pten::version_with_names;

  AtomicFile file(path);
  file.write(header_of(header));
  file.write(names);
  // Blocks are made concurrently and written in their order.
  int const threads = detail::thread_count(options.threads);
  std::vector<std::string> made(threads);
  for (std::uint64_t b = 0; b < header.blocks(); b += made.size()) {
    std::uint64_t const count = std::min<std::uint64_t>(made.size(), header.blocks() - b);
    detail::for_each_on_threads(static_cast<int>(count), count,
                                [&](std::uint64_t k) { made[k] = block_of(tensor, header, b + k); });
    for (std::uint64_t k = 0; k < count; ++k) file.write(made[k]);
  }
  file.commit();
}

}  // namespace polyad::io
