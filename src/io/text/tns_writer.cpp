// SPDX-License-Identifier: BSD-3-Clause
#include "io/text/tns_writer.hpp"

#include <algorithm>
#include <charconv>
#include <string>
#include <vector>

#include "core/on_threads.hpp"
#include "polyad/io/atomic_file.hpp"

namespace polyad::io {

namespace {

/// Nonzeros that a thread formats at once: about a megabyte of text.
constexpr std::uint64_t text_block_nonzeros = std::uint64_t{1} << 15;

template <class Index>
std::string lines_of(Index const* indices, double const* values, std::uint64_t count, int order,
                     std::uint64_t base) {
  // 20 digits and a blank an index, 24 bytes and a line end the longest shortest double.
  std::string text(count * (order * 21 + 25), '\0');
  char* p = text.data();
  for (std::uint64_t k = 0; k < count; ++k) {
    for (int n = 0; n < order; ++n) {
      p    = std::to_chars(p, p + 20, std::uint64_t{*indices++} + base).ptr;
      *p++ = ' ';
    }
    p    = std::to_chars(p, p + 24, values[k]).ptr;
    *p++ = '\n';
  }
  text.resize(p - text.data());
  return text;
}

}  // namespace

std::string extents_line(std::vector<std::uint64_t> const& extents) {
  std::string line;
  for (std::uint64_t const extent : extents) line += (line.empty() ? "" : " ") + std::to_string(extent);
  return line;
}

void write_coordinate_text(std::filesystem::path const& path, CoordinateList const& tensor,
                           std::string const& header, WriteOptions const& options) {
  std::uint64_t const base = options.index_base == 0 ? 0 : 1;
  AtomicFile file(path);
  file.write(header);
  std::uint64_t const blocks =
      tensor.nnz() / text_block_nonzeros + (tensor.nnz() % text_block_nonzeros != 0 ? 1 : 0);
  std::vector<std::string> made(detail::thread_count(options.threads));
  for (std::uint64_t b = 0; b < blocks; b += made.size()) {
    std::uint64_t const count = std::min<std::uint64_t>(made.size(), blocks - b);
    detail::for_each_on_threads(static_cast<int>(count), count, [&](std::uint64_t k) {
      std::uint64_t const first = (b + k) * text_block_nonzeros;
      made[k]                   = std::visit(
          [&](auto const& indices) {
            return lines_of(indices.data() + first * tensor.extents.size(), tensor.values.data() + first,
                            std::min(text_block_nonzeros, tensor.nnz() - first), tensor.order(), base);
          },
          tensor.indices);
    });
    for (std::uint64_t k = 0; k < count; ++k) file.write(made[k]);
  }
  file.commit();
}

}  // namespace polyad::io
