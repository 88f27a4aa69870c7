// SPDX-License-Identifier: BSD-3-Clause
#include "io/archive/tensor_npz.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "io/archive/npy.hpp"
#include "io/archive/npz_names.hpp"
#include "io/archive/zip.hpp"
#include "io/known_file.hpp"
#include "io/lists/binary_block.hpp"
#include "io/quoted.hpp"
#include "io/streams/file_bytes.hpp"
#include "io/text/line_parser.hpp"
#include "polyad/core/error.hpp"
#include "polyad/io/atomic_file.hpp"

namespace polyad::io {

namespace {

/// Writes `count` elements make(k), converted to To, to a sink, in blocks.
template <class To, class Make>
void send(ZipWriter::Sink const& sink, std::uint64_t count, Make const& make) {
  std::vector<To> some(std::min<std::uint64_t>(count, std::uint64_t{1} << 16));
  for (std::uint64_t k = 0; k < count; k += some.size()) {
    std::uint64_t const size = std::min<std::uint64_t>(some.size(), count - k);
    for (std::uint64_t i = 0; i < size; ++i) some[i] = static_cast<To>(make(k + i));
    sink({reinterpret_cast<char const*>(some.data()), size * sizeof(To)});
  }
}

template <class To, class Make>
void add_array(ZipWriter& zip, std::string const& name, std::vector<std::uint64_t> const& shape,
               std::string_view type, Make const& make) {
  std::string const header = npy_header(shape, type);
  std::uint64_t count      = 1;
  for (std::uint64_t const extent : shape) count *= extent;
  zip.add(name + ".npy", header.size() + count * sizeof(To), [&](ZipWriter::Sink const& sink) {
    sink(header);
    send<To>(sink, count, make);
  });
}

/// The name of the layout, which sparse.load_npz requires.
void add_format(ZipWriter& zip) {
  constexpr std::u32string_view coo = U"coo";
  std::string const header          = npy_header({}, "U3");
  std::uint64_t const bytes         = coo.size() * sizeof(char32_t);
  zip.add("format.npy", header.size() + bytes, [&](ZipWriter::Sink const& sink) {
    sink(header);
    sink({reinterpret_cast<char const*>(coo.data()), bytes});
  });
}

/// An archive's array, and the content that it is in.
struct Member {
  UninitializedVector<char> content;
  NpyArray array;
};

class Archive {
public:
  Archive(RawInput const& file, ReadMemory& memory)
      : m_file(file), m_memory(memory), m_members(list_zip(file)) {}

  /// \param kinds  the kinds of elements that are allowed
  std::optional<Member> find(std::string const& name, std::size_t dimensions, std::string_view kinds) const {
    auto const found = std::find_if(m_members.begin(), m_members.end(),
                                    [&](ZipMember const& m) { return m.name == name + ".npy"; });
    if (found == m_members.end()) return std::nullopt;
    std::optional<Member> member(std::in_place);
    member->content = open_member(m_file, *found, m_memory);
    member->array   = parse_npy(m_file.name(), found->name, {member->content.data(), member->content.size()});
    if (member->array.shape.size() != dimensions)
      refuse(in_quotes(name) + " has " + std::to_string(member->array.shape.size()) + " dimensions, not " +
             std::to_string(dimensions));
    if (kinds.find(member->array.kind) == std::string_view::npos)
      refuse(in_quotes(name) + " holds elements of the wrong kind ('" + member->array.kind + "')");
    return member;
  }

  Member get(std::string const& name, std::size_t dimensions, std::string_view kinds) const {
    auto member = find(name, dimensions, kinds);
    if (!member) refuse("holds no array " + in_quotes(name));
    return std::move(*member);
  }

  /// Refuses an archive whose arrays' names show that it is something else.
  void expect_tensor() const {
    std::string const kind = archive_kind(m_members);
    if (!kind.empty() && kind != sparse_tensor) refuse("is " + kind + ", not " + std::string(sparse_tensor));
  }

  [[nodiscard]] RowNames names(std::vector<std::uint64_t> const& extents) const {
    return read_names(m_file, m_members, m_memory, extents);
  }

  [[noreturn]] void refuse(std::string const& reason) const { throw InputError(m_file.name(), 0, 0, reason); }

private:
  RawInput const& m_file;
  ReadMemory& m_memory;
  std::vector<ZipMember> m_members;
};

/// Element k as an unsigned number. A negative element becomes larger than any extent.
std::uint64_t unsigned_at(NpyArray const& array, std::uint64_t k) {
  return array.with_type([&](auto type) {
    return static_cast<std::uint64_t>(element_at<decltype(type)>(array.elements.data(), k));
  });
}

std::vector<std::uint64_t> read_extents(Archive const& archive) {
  Member const shape = archive.get("shape", 1, "iu");
  if (shape.array.size() < 1 || shape.array.size() > most_modes)
    archive.refuse("'shape' has " + std::to_string(shape.array.size()) + " extents; 1 to " +
                   std::to_string(most_modes) + " are possible");
  std::vector<std::uint64_t> extents;
  for (std::uint64_t n = 0; n < shape.array.size(); ++n) {
    extents.push_back(unsigned_at(shape.array, n));
    if (extents.back() == 0 || extents.back() > std::numeric_limits<std::int64_t>::max())
      archive.refuse("extent " + std::to_string(n + 1) + " in 'shape' is not from 1 to 2^63 - 1");
  }
  return extents;
}

/// Copies the indices of mode n. The index of nonzero p is element place(p) of the array.
template <class Place>
void copy_mode(Archive const& archive, NpyArray const& array, std::uint64_t n, Place const& place,
               CoordinateList& list) {
  std::uint64_t const order = list.extents.size(), nnz = list.nnz();
  std::visit(
      [&](auto& indices) {
        using Index = typename std::remove_cvref_t<decltype(indices)>::value_type;
        array.with_type([&](auto type) {
          using Stored = decltype(type);
          for (std::uint64_t p = 0; p < nnz; ++p) {
            auto const stored = element_at<Stored>(array.elements.data(), place(p));
            auto const index  = static_cast<std::uint64_t>(stored);
            if (index >= list.extents[n])
              archive.refuse("index " + std::to_string(n + 1) + " of nonzero " + std::to_string(p + 1) +
                             " is " + std::to_string(stored) + ", beyond the extent " +
                             std::to_string(list.extents[n]) + " counted from 0");
            indices[p * order + n] = static_cast<Index>(index);
          }
        });
      },
      list.indices);
}

constexpr std::array<std::string_view, 4> read_formats = {"coo", "csr", "csc", "gcxs"};

/// A list of coordinates, by its arrays' names in the archive.
class Coordinates {
public:
  /// \param nnz  the number of values
  Coordinates(Archive const& archive, std::vector<std::uint64_t> const& extents, std::uint64_t nnz)
      : m_archive(archive), m_order(extents.size()), m_nnz(nnz) {
    if (auto coords = archive.find("coords", 2, "iu"); coords || extents.size() != 2) {
      m_arrays.push_back(coords ? std::move(*coords) : archive.get("coords", 2, "iu"));
      auto const& shape = m_arrays.front().array.shape;
      if (shape[0] != m_order || shape[1] != nnz)
        archive.refuse("'coords' is " + std::to_string(shape[0]) + " x " + std::to_string(shape[1]) +
                       ", not " + std::to_string(m_order) + " x " + std::to_string(nnz));
      return;
    }
    // scipy.sparse.save_npz of a matrix
    auto row = archive.find("row", 1, "iu");
    if (!row) archive.refuse("holds no array 'coords'");
    m_arrays.push_back(std::move(*row));
    m_arrays.push_back(archive.get("col", 1, "iu"));
    for (auto const& member : m_arrays)
      if (member.array.size() != nnz) archive.refuse("'row', 'col' and 'data' have different lengths");
  }
  void copy_to(CoordinateList& list) const {
    NpyArray const& first = m_arrays.front().array;
    for (std::uint64_t n = 0; n < m_order; ++n)
      if (m_arrays.size() > 1)
        copy_mode(m_archive, m_arrays[n].array, n, [](std::uint64_t p) { return p; }, list);
      else
        copy_mode(
            m_archive, first, n,
            [&](std::uint64_t p) { return first.column_major ? p * m_order + n : n * m_nnz + p; }, list);
  }

private:
  Archive const& m_archive;
  std::uint64_t m_order, m_nnz;
  std::vector<Member> m_arrays;
};

/// The arrays of a compressed format. Its rows number the indices of some modes, and its columns those of the
/// other modes. If there are several modes, the last one varies fastest. Row r has the nonzeros indptr[r] ...
/// indptr[r + 1] - 1, whose columns are in `indices`.
class Compressed {
public:
  /// \param format  csr, csc, or sparse's gcxs, whose array "compressed_axes" names the modes of the rows
  Compressed(Archive const& archive, std::string const& format, std::vector<std::uint64_t> const& extents)
      : m_archive(archive),
        m_extents(extents),
        m_starts(archive.get("indptr", 1, "iu")),
        m_columns(archive.get("indices", 1, "iu")) {
    std::vector<bool> is_row(extents.size());
    if (format == "gcxs") {
      Member const axes = archive.get("compressed_axes", 1, "iu");
      for (std::uint64_t k = 0; k < axes.array.size(); ++k) {
        std::uint64_t const n = unsigned_at(axes.array, k);
        if (n >= extents.size() || is_row[n]) archive.refuse("'compressed_axes' does not name modes");
        is_row[n] = true;
        m_row_modes.push_back(n);
      }
    } else {
      if (extents.size() != 2) archive.refuse("'format' is '" + format + "', but 'shape' is not of a matrix");
      m_row_modes.push_back(format == "csr" ? 0 : 1);
      is_row[m_row_modes.front()] = true;
    }
    for (std::uint64_t n = 0; n < extents.size(); ++n)
      if (!is_row[n]) m_column_modes.push_back(n);
    std::uint64_t const rows = product(m_row_modes);
    if (m_starts.array.size() != rows + 1)
      archive.refuse("'indptr' has " + std::to_string(m_starts.array.size()) + " elements for " +
                     std::to_string(rows) + " rows");
    m_nnz = unsigned_at(m_starts.array, rows);
    for (std::uint64_t r = 0; r < rows; ++r)
      if (unsigned_at(m_starts.array, r) > unsigned_at(m_starts.array, r + 1))
        archive.refuse("'indptr' decreases");
    if (unsigned_at(m_starts.array, 0) != 0 || m_nnz > m_columns.array.size())
      archive.refuse("'indptr' does not fit 'indices'");
  }
  [[nodiscard]] std::uint64_t nnz() const { return m_nnz; }
  void copy_to(CoordinateList& list) const {
    std::uint64_t const columns = product(m_column_modes), order = m_extents.size();
    std::visit(
        [&](auto& indices) {
          std::uint64_t row = 0;
          for (std::uint64_t p = 0; p < m_nnz; ++p) {
            while (unsigned_at(m_starts.array, row + 1) <= p) ++row;
            std::uint64_t const column = unsigned_at(m_columns.array, p);
            if (column >= columns)
              m_archive.refuse("element " + std::to_string(p + 1) + " of 'indices' is not below " +
                               std::to_string(columns));
            set(m_row_modes, row, &indices[p * order]);
            set(m_column_modes, column, &indices[p * order]);
          }
        },
        list.indices);
  }

private:
  [[nodiscard]] std::uint64_t product(std::vector<std::uint64_t> const& modes) const {
    std::uint64_t cells = 1;
    for (auto const n : modes)
      // Less than 2^64 - 1, as 'indptr' has one more element.
      if (__builtin_mul_overflow(cells, m_extents[n], &cells) || cells + 1 == 0)
        m_archive.refuse("has 2^64 rows or columns, or more");
    return cells;
  }
  template <class Index>
  void set(std::vector<std::uint64_t> const& modes, std::uint64_t cell, Index* index) const {
    for (auto n = modes.rbegin(); n != modes.rend(); ++n) {
      index[*n] = static_cast<Index>(cell % m_extents[*n]);
      cell /= m_extents[*n];
    }
  }

  Archive const& m_archive;
  std::vector<std::uint64_t> const& m_extents;
  Member m_starts, m_columns;
  std::vector<std::uint64_t> m_row_modes, m_column_modes;
  std::uint64_t m_nnz = 0;
};

}  // namespace

void write_tensor_npz(std::filesystem::path const& path, CoordinateList const& tensor, bool single_precision,
                      RowNames const& names) {
  for (std::uint64_t const extent : tensor.extents)
    if (extent > std::numeric_limits<std::int64_t>::max())
      throw UsageError("numpy knows no extent of 2^63 or more");
  std::uint64_t const order = tensor.extents.size(), nnz = tensor.nnz();
  AtomicFile file(path);
  ZipWriter zip(file, false);
  std::visit(
      [&](auto const& indices) {
        using Index = typename std::remove_cvref_t<decltype(indices)>::value_type;
        add_array<Index>(zip, "coords", {order, nnz}, sizeof(Index) == 4 ? "u4" : "u8",
                         [&](std::uint64_t k) { return indices[k % nnz * order + k / nnz]; });
      },
      tensor.indices);
  auto const value = [&](std::uint64_t k) { return tensor.values[k]; };
  if (single_precision) {
    add_array<float>(zip, "data", {nnz}, "f4", value);
    add_array<float>(zip, "fill_value", {}, "f4", [](std::uint64_t) { return 0; });
  } else {
    add_array<double>(zip, "data", {nnz}, "f8", value);
    add_array<double>(zip, "fill_value", {}, "f8", [](std::uint64_t) { return 0; });
  }
  add_array<std::int64_t>(zip, "shape", {order}, "i8", [&](std::uint64_t n) { return tensor.extents[n]; });
  add_format(zip);
  add_names(zip, names);
  zip.finish();
  file.commit();
}

TensorFile read_tensor_npz(RawInput& input, ReadOptions const& options) {
  auto const start = std::chrono::steady_clock::now();
  ReadMemory memory(options.memory_bytes);
  input.hold(memory);
  Archive const archive(input, memory);
  archive.expect_tensor();
  auto const extents     = read_extents(archive);
  auto const text        = archive.find("format", 0, "SU");
  std::string const name = text ? text->array.text_at(0) : "coo";
  if (std::ranges::find(read_formats, name) == read_formats.end())
    archive.refuse("is a sparse array of the format " + in_quotes(name) +
                   "; coo, csr, csc and gcxs are read: convert it to one of these");
  Member const data = archive.get("data", 1, "fiub");
  std::optional<Coordinates> listed;
  std::optional<Compressed> compressed;
  if (name == "coo")
    listed.emplace(archive, extents, data.array.size());
  else
    compressed.emplace(archive, name, extents);
  // A compressed array may have values past the end of its last row.
  std::uint64_t const nnz = compressed ? compressed->nnz() : data.array.size();
  if (nnz == 0) archive.refuse("holds no nonzeros");
  if (data.array.size() < nnz)
    archive.refuse("'data' has " + std::to_string(data.array.size()) + " values for " + std::to_string(nnz) +
                   " nonzeros");
  if (auto const fill = archive.find("fill_value", 0, "fiub")) {
    bool const zero = fill->array.with_type(
        [&](auto type) { return element_at<decltype(type)>(fill->array.elements.data(), 0) == 0; });
    if (!zero) archive.refuse("'fill_value' is not 0: the tensor is not sparse");
  }
  TensorFile result;
  result.report.dialect = Dialect::npz;
  result.tensor         = make_list(extents, nnz, memory);
  if (listed)
    listed->copy_to(result.tensor);
  else
    compressed->copy_to(result.tensor);
  std::string const reason = data.array.with_type([&](auto type) {
    return copy_values<decltype(type)>({0, nnz}, data.array.elements.data(), options, result.tensor);
  });
  if (!reason.empty()) archive.refuse(reason);
  auto names                     = archive.names(extents);
  result.labels                  = std::move(names.labels);
  result.report.knows_index_base = names.index_base >= 0;
  result.report.index_base       = std::max(names.index_base, 0);
  finish_binary(input, options, start, result);
  return result;
}

}  // namespace polyad::io
