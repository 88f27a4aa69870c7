// SPDX-License-Identifier: BSD-3-Clause
#include "io/tensor_npz.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <optional>
#include <string>
#include <vector>

#include "io/binary_block.hpp"
#include "io/file_bytes.hpp"
#include "io/line_parser.hpp"
#include "io/npy.hpp"
#include "io/quoted.hpp"
#include "io/zip.hpp"
#include "polyad/core/error.hpp"
#include "polyad/io/atomic_file.hpp"

namespace polyad::io {

namespace {

/// Gives `count` elements make(k), as To, to a sink, some at a time.
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

  [[noreturn]] void refuse(std::string const& reason) const { throw InputError(m_file.name(), 0, 0, reason); }

private:
  RawInput const& m_file;
  ReadMemory& m_memory;
  std::vector<ZipMember> m_members;
};

/// Element k as an unsigned number; a negative one comes out larger than any extent.
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

void copy_coords(Archive const& archive, NpyArray const& coords, CoordinateList& list) {
  std::uint64_t const order = list.extents.size(), nnz = list.nnz();
  std::visit(
      [&](auto& indices) {
        using Index = typename std::remove_cvref_t<decltype(indices)>::value_type;
        coords.with_type([&](auto type) {
          using Stored = decltype(type);
          for (std::uint64_t n = 0; n < order; ++n)
            for (std::uint64_t p = 0; p < nnz; ++p) {
              auto const stored = element_at<Stored>(coords.elements.data(),
                                                     coords.column_major ? p * order + n : n * nnz + p);
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

}  // namespace

void write_tensor_npz(std::filesystem::path const& path, CoordinateList const& tensor,
                      bool single_precision) {
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
  zip.finish();
  file.commit();
}

TensorFile read_tensor_npz(RawInput& input, ReadOptions const& options) {
  auto const start = std::chrono::steady_clock::now();
  ReadMemory memory(options.memory_bytes);
  input.hold(memory);
  Archive const archive(input, memory);
  auto const extents  = read_extents(archive);
  Member const coords = archive.get("coords", 2, "iu"), data = archive.get("data", 1, "fiub");
  std::uint64_t const order = extents.size(), nnz = data.array.size();
  if (coords.array.shape[0] != order || coords.array.shape[1] != nnz)
    archive.refuse("'coords' is " + std::to_string(coords.array.shape[0]) + " x " +
                   std::to_string(coords.array.shape[1]) + ", not " + std::to_string(order) + " x " +
                   std::to_string(nnz));
  if (nnz == 0) archive.refuse("holds no nonzeros");
  if (auto const fill = archive.find("fill_value", 0, "fiub")) {
    bool const zero = fill->array.with_type(
        [&](auto type) { return element_at<decltype(type)>(fill->array.elements.data(), 0) == 0; });
    if (!zero) archive.refuse("'fill_value' is not 0: the tensor is not sparse");
  }
  TensorFile result;
  result.report.dialect    = Dialect::npz;
  result.report.index_base = 0;
  result.tensor            = make_list(extents, nnz, memory);
  copy_coords(archive, coords.array, result.tensor);
  std::string const reason = data.array.with_type([&](auto type) {
    return copy_values<decltype(type)>({0, nnz}, data.array.elements.data(), options, result.tensor);
  });
  if (!reason.empty()) archive.refuse(reason);
  finish_binary(input, options, start, result);
  return result;
}

}  // namespace polyad::io
