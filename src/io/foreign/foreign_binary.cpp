// SPDX-License-Identifier: BSD-3-Clause
#include "io/foreign/foreign_binary.hpp"

#include <chrono>
#include <cmath>
#include <vector>

#include "core/on_threads.hpp"
#include "io/lists/binary_block.hpp"
#include "io/streams/file_bytes.hpp"
#include "io/text/line_parser.hpp"
#include "polyad/core/error.hpp"

namespace polyad::io {

namespace {

using namespace std::string_view_literals;

constexpr std::uint64_t foreign_block_nonzeros = std::uint64_t{1} << 16;

/// The numbers of one mode, or the values: element p at place begin + p * stride of the file.
struct Column {
  std::uint64_t begin, stride, bytes;
};

/// A copy of a column's block, the first element at `start`.
struct ColumnBlock {
  char const* start;
  std::uint64_t stride, bytes;
};

/// Calls take(p, element) for the elements of a column's block, of type Stored.
template <class Stored, class Take>
void walk(ColumnBlock const& column, BinaryBlock const& block, Take const& take) {
  for (std::uint64_t k = 0; k < block.count; ++k)
    take(block.first + k, element_at<Stored>(column.start + k * column.stride, 0));
}

void fill_indices(ColumnBlock const& column, BinaryBlock const& block, std::uint64_t n, CoordinateList& list,
                  std::string& reason) {
  std::uint64_t const order = list.extents.size(), extent = list.extents[n];
  std::visit(
      [&](auto& indices) {
        using Index     = typename std::remove_cvref_t<decltype(indices)>::value_type;
        auto const take = [&](std::uint64_t p, std::uint64_t index) {
          if (index >= extent && reason.empty()) reason = index_out_of_range(list, p, n, index);
          indices[p * order + n] = static_cast<Index>(index);
        };
        if (column.bytes == 1) walk<std::uint8_t>(column, block, take);
        if (column.bytes == 2) walk<std::uint16_t>(column, block, take);
        if (column.bytes == 4) walk<std::uint32_t>(column, block, take);
        if (column.bytes == 8) walk<std::uint64_t>(column, block, take);
      },
      list.indices);
}

void fill_values(ColumnBlock const& column, BinaryBlock const& block, ReadOptions const& options,
                 CoordinateList& list, std::string& reason) {
  auto const take = [&](std::uint64_t p, double value) {
    list.values[p] = value;
    if (!options.allow_non_finite && !std::isfinite(value) && reason.empty())
      reason = value_not_finite(p, value);
  };
  if (column.bytes == 4) walk<float>(column, block, take);
  if (column.bytes == 8) walk<double>(column, block, take);
}

/// Copies a block of all columns out of the file, which stores one column after the other, or one nonzero
/// after the other.
class ColumnBlocks {
public:
  ColumnBlocks(RawInput const& file, std::vector<Column> const& columns) : m_file(file), m_columns(columns) {}

  /// Valid until the next call.
  ColumnBlock column(std::size_t n, BinaryBlock const& block) {
    Column const& column   = m_columns[n];
    bool const interleaved = column.stride > column.bytes;
    if (!interleaved || n == 0) {
      m_bytes.resize(block.count * column.stride);
      m_file.read_at(column.begin + block.first * column.stride, m_bytes.data(), m_bytes.size());
    }
    std::uint64_t const shift = interleaved ? column.begin - m_columns[0].begin : 0;
    return {m_bytes.data() + shift, column.stride, column.bytes};
  }

private:
  RawInput const& m_file;
  std::vector<Column> const& m_columns;
  std::string m_bytes;
};

/// `columns` are N columns of indices, and the values.
CoordinateList fill(RawInput const& file, std::vector<std::uint64_t> const& extents, std::uint64_t nnz,
                    std::vector<Column> const& columns, ReadOptions const& options, ReadMemory& memory) {
  CoordinateList list = make_list(extents, nnz, memory);
  FirstFault fault;
  detail::for_each_on_threads(
      detail::thread_count(options.threads), (nnz - 1) / foreign_block_nonzeros + 1, [&](std::uint64_t b) {
        if (fault.is_before(b)) return;
        BinaryBlock const block{b * foreign_block_nonzeros,
                                std::min(foreign_block_nonzeros, nnz - b * foreign_block_nonzeros)};
        std::string reason;
        ColumnBlocks blocks(file, columns);
        for (std::uint64_t n = 0; n < extents.size(); ++n)
          fill_indices(blocks.column(n, block), block, n, list, reason);
        fill_values(blocks.column(extents.size(), block), block, options, list, reason);
        if (!reason.empty()) fault.set(b, std::move(reason));
      });
  fault.throw_if_any(file.name());
  return list;
}

/// Refuses impossible orders and counts before anything depends on them.
std::uint64_t checked_order(FieldReader const& reader, std::uint64_t order) {
  if (order < 1 || order > most_modes)
    reader.refuse("declares " + std::to_string(order) + " modes; 1 to " + std::to_string(most_modes) +
                  " are possible");
  return order;
}

std::uint64_t checked_extent(FieldReader const& reader, std::uint64_t n, std::uint64_t extent) {
  if (extent == 0) reader.refuse("extent " + std::to_string(n + 1) + " is 0");
  return extent;
}

/// The first bytes, with the longest possible header: a dozen bytes, and two numbers of 8 bytes for each
/// mode.
std::string head_of(RawInput const& file) {
  constexpr std::uint64_t most_header_bytes = 64 + 16 * most_modes;
  std::string head(std::min(file.size(), most_header_bytes), '\0');
  file.read_at(0, head.data(), head.size());
  return head;
}

/// Refuses a file whose size does not match its number of nonzeros, which begin at place `begin`.
void expect_size(RawInput const& file, std::uint64_t begin, std::uint64_t nnz, std::uint64_t nonzero_bytes) {
  auto const refuse = [&](std::string const& what) { throw InputError(file.name(), 0, 0, what); };
  if (nnz == 0) refuse("holds no nonzeros");
  std::uint64_t const left = file.size() - begin, held = left / nonzero_bytes;
  if (held < nnz || left != nnz * nonzero_bytes)
    refuse("declares " + std::to_string(nnz) + " nonzeros of " + std::to_string(nonzero_bytes) +
           " bytes, but " + std::to_string(left) + " bytes follow");
}

/// A file that is being read.
struct ForeignFile {
  ForeignFile(RawInput& input, ReadOptions const& of_user)
      : file(input), options(of_user), memory(of_user.memory_bytes) {
    file.hold(memory);
    memory.count_file(file.name(), file.size());
    head = head_of(file);
  }

  /// The fields of the header. The file is refused on big-endian machines.
  [[nodiscard]] FieldReader fields() const {
    FieldReader reader(file.name(), head);
    if (!reads_binary_files) reader.refuse("binary files are read on little-endian machines only");
    return reader;
  }

  /// Reads the nonzeros.
  [[nodiscard]] TensorFile read(Dialect dialect, std::vector<std::uint64_t> const& extents, std::uint64_t nnz,
                                std::vector<Column> const& columns);

  std::chrono::steady_clock::time_point const start = std::chrono::steady_clock::now();
  RawInput& file;
  ReadOptions const& options;
  ReadMemory memory;
  std::string head;
};

TensorFile ForeignFile::read(Dialect dialect, std::vector<std::uint64_t> const& extents, std::uint64_t nnz,
                             std::vector<Column> const& columns) {
  TensorFile result;
  result.tensor                  = fill(file, extents, nnz, columns, options, memory);
  result.report.dialect          = dialect;
  result.report.index_base       = 0;
  result.report.knows_index_base = false;
  finish_binary(file, options, start, result);
  return result;
}

}  // namespace

bool begins_genten_binary(std::string_view start) {
  return start.starts_with("sptn"sv);
}

bool begins_splatt_binary(std::string_view start) {
  // No magic number: 0 as i32, then two widths of 4 or 8 as u64. No text begins with a zero byte.
  if (start.size() < 20) return false;
  FieldReader reader("", start);
  std::uint64_t const kind = reader.u32(), index = reader.u64(), value = reader.u64();
  auto const is_width = [](std::uint64_t bytes) { return bytes == 4 || bytes == 8; };
  return kind <= 1 && is_width(index) && is_width(value);
}

TensorFile read_genten_binary(RawInput& file, ReadOptions const& options) {
  ForeignFile foreign(file, options);
  FieldReader reader = foreign.fields();
  if (reader.take(4) != "sptn"sv) reader.refuse("is not a binary file of GenTen");
  std::uint64_t const order = checked_order(reader, reader.u32()), value_bits = reader.u32();
  if (value_bits != 32 && value_bits != 64)
    reader.refuse("holds values of " + std::to_string(value_bits) + " bits; 32 and 64 are supported");
  std::vector<std::uint64_t> extents;
  for (std::uint64_t n = 0; n < order; ++n) extents.push_back(checked_extent(reader, n, reader.u64()));
  std::vector<Column> columns;
  std::uint64_t nonzero_bytes = 0;
  for (std::uint64_t n = 0; n < order; ++n) {
    std::uint64_t const bits = reader.u64();
    if (bits != 8 && bits != 16 && bits != 32 && bits != 64)
      reader.refuse("holds indices of " + std::to_string(bits) + " bits; 8, 16, 32 and 64 are supported");
    columns.push_back({0, 0, bits / 8});
    nonzero_bytes += bits / 8;
  }
  columns.push_back({0, 0, value_bits / 8});
  nonzero_bytes += value_bits / 8;
  std::uint64_t const nnz = reader.u64();
  std::uint64_t next      = foreign.head.size() - reader.left();
  expect_size(file, next, nnz, nonzero_bytes);
  for (Column& column : columns) {
    column.begin  = next;
    column.stride = nonzero_bytes;
    next += column.bytes;
  }
  return foreign.read(Dialect::genten_binary, extents, nnz, columns);
}

TensorFile read_splatt_binary(RawInput& file, ReadOptions const& options) {
  ForeignFile foreign(file, options);
  FieldReader reader       = foreign.fields();
  std::uint64_t const kind = reader.u32(), index_bytes = reader.u64(), value_bytes = reader.u64();
  if (kind == 1) reader.refuse("holds a CSF tensor of SPLATT; its coordinate files (.bin) are read");
  auto const is_width = [](std::uint64_t bytes) { return bytes == 4 || bytes == 8; };
  if (kind != 0 || !is_width(index_bytes) || !is_width(value_bytes))
    reader.refuse("is not a binary file of SPLATT");
  std::uint64_t const order = checked_order(reader, reader.field(index_bytes));
  std::vector<std::uint64_t> extents;
  for (std::uint64_t n = 0; n < order; ++n)
    extents.push_back(checked_extent(reader, n, reader.field(index_bytes)));
  std::uint64_t const nnz   = reader.field(index_bytes);
  std::uint64_t const begin = foreign.head.size() - reader.left();
  expect_size(file, begin, nnz, order * index_bytes + value_bytes);
  std::vector<Column> columns;
  for (std::uint64_t n = 0; n < order; ++n)
    columns.push_back({begin + n * nnz * index_bytes, index_bytes, index_bytes});
  columns.push_back({begin + order * nnz * index_bytes, value_bytes, value_bytes});
  return foreign.read(Dialect::splatt_binary, extents, nnz, columns);
}

}  // namespace polyad::io
