// SPDX-License-Identifier: BSD-3-Clause
#include "io/archive/npz_arrays.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <span>
#include <string_view>
#include <type_traits>
#include <utility>

#include "io/archive/npy.hpp"
#include "io/archive/npz_names.hpp"
#include "io/known_file.hpp"
#include "io/quoted.hpp"
#include "polyad/core/error.hpp"

namespace polyad::io {

namespace {

/// The place in a row-major array of element k of the column-major array of that shape.
std::uint64_t row_major_place(std::vector<std::uint64_t> const& shape, std::uint64_t k) {
  std::uint64_t place = 0, stride = 1;
  for (std::uint64_t const extent : shape) stride *= extent;
  for (std::uint64_t const extent : shape) {
    stride /= extent;
    place += k % extent * stride;
    k /= extent;
  }
  return place;
}

/// An array of floating-point numbers, all finite.
NpzArray to_doubles(std::string const& file, std::string const& name, NpyArray const& npy,
                    ReadMemory& memory) {
  auto const refuse = [&](std::string const& reason) {
    throw InputError(file, 0, 0, in_quotes(name) + reason);
  };
  if (npy.kind != 'f' || npy.shape.empty())
    refuse(" is not an array of floats or doubles in this machine's byte order");
  memory.take(in_quotes(name) + " of " + file, npy.size() * sizeof(double));
  NpzArray array{npy.shape, std::vector<double>(npy.size())};
  npy.with_type([&](auto type) {
    for (std::uint64_t k = 0; k < array.elements.size(); ++k)
      array.elements[npy.column_major ? row_major_place(array.shape, k) : k] =
          static_cast<double>(element_at<decltype(type)>(npy.elements.data(), k));
  });
  if (!std::all_of(array.elements.begin(), array.elements.end(), [](double x) { return std::isfinite(x); }))
    refuse(" holds values that are not finite");
  return array;
}

/// \throws InputError, naming the file's kind if it is known
void expect_archive(std::string const& file, std::string_view start) {
  if (start.starts_with("PK")) return;
  std::string_view text = start;
  text.remove_prefix(std::min(text.find_first_not_of(" \t\r\n"), text.size()));
  if (text.starts_with("ktensor")) throw InputError(file, 0, 0, "is a CP model as text, not an npz archive");
  if (auto const known = describe_foreign_file(start)) throw InputError(file, 0, 0, *known);
  if (start.starts_with("\x89PTEN")) throw InputError(file, 0, 0, "is a .pten tensor, not an npz archive");
  if (auto const known = describe_own_file(start)) throw InputError(file, 0, 0, *known);
  throw InputError(file, 0, 0, "is not an npz archive");
}

}  // namespace

void add_array(ZipWriter& zip, std::string const& name, std::vector<std::uint64_t> const& shape,
               ElementBlocks const& elements, bool single_precision) {
  single_precision              = single_precision && elements.fit_floats();
  std::string const header      = npy_header(shape, single_precision ? "f4" : "f8");
  std::uint64_t const item_size = single_precision ? sizeof(float) : sizeof(double);
  zip.add(name + ".npy", header.size() + elements.size() * item_size, [&](ZipWriter::Sink const& sink) {
    sink(header);
    std::vector<float> rounded;
    elements.for_each_block([&](std::span<double const> block) {
      if (!single_precision)
        return sink({reinterpret_cast<char const*>(block.data()), block.size() * sizeof(double)});
      rounded.resize(block.size());
      std::transform(block.begin(), block.end(), rounded.begin(),
                     [](double element) { return static_cast<float>(element); });
      sink({reinterpret_cast<char const*>(rounded.data()), rounded.size() * sizeof(float)});
    });
  });
}

void add_array(ZipWriter& zip, std::string const& name, std::vector<std::uint64_t> const& shape,
               std::vector<double> const& elements, bool single_precision) {
  add_array(zip, name, shape, ElementBlocks(elements.size(), 1, elements), single_precision);
}

void add_rows(ZipWriter& zip, std::vector<StoredRows> const& rows) {
  if (rows.empty()) return;
  auto const add = [&](std::string const& name, std::vector<std::uint64_t> const& counts) {
    // Signed, as numpy's own indices are. Numbers from 2^63 on need the other type.
    bool const is_signed     = std::all_of(counts.begin(), counts.end(), [](auto c) { return c >> 63 == 0; });
    std::string const header = npy_header({counts.size()}, is_signed ? "i8" : "u8");
    std::uint64_t const bytes = counts.size() * sizeof(std::uint64_t);
    zip.add(name + ".npy", header.size() + bytes, [&](ZipWriter::Sink const& sink) {
      sink(header);
      sink({reinterpret_cast<char const*>(counts.data()), bytes});
    });
  };
  std::vector<std::uint64_t> extents;
  for (std::size_t n = 0; n < rows.size(); ++n) {
    extents.push_back(rows[n].extent());
    if (rows[n].is_list()) add("rows_" + std::to_string(n), rows[n].numbers());
  }
  add("extents", extents);
}

NpzReader::NpzReader(RawInput& input) : m_input(input) {
  m_input.hold(m_memory);
  if (m_input.size() == 0) throw InputError(name(), 0, 0, "is empty, not an npz archive");
  std::array<char, 512> start{};  // a tar archive is recognised by its first block of that size
  std::size_t const bytes = std::min<std::uint64_t>(start.size(), m_input.size());
  m_input.read_at(0, start.data(), bytes);
  expect_archive(name(), {start.data(), bytes});
  m_members = list_zip(m_input);
}

std::optional<NpzArray> NpzReader::read(std::string const& array, std::size_t dimensions) const {
  auto const member = std::find_if(m_members.begin(), m_members.end(),
                                   [&](ZipMember const& m) { return m.name == array + ".npy"; });
  if (member == m_members.end()) return std::nullopt;
  auto const content = open_member(m_input, *member, m_memory);
  NpzArray result = to_doubles(name(), member->name,
                               parse_npy(name(), member->name, {content.data(), content.size()}), m_memory);
  if (result.shape.size() != dimensions)
    throw InputError(name(), 0, 0,
                     in_quotes(array) + " has " + std::to_string(result.shape.size()) + " dimensions, not " +
                         std::to_string(dimensions));
  return result;
}

std::optional<std::vector<std::uint64_t>> NpzReader::read_counts(std::string const& array) const {
  auto const member = std::find_if(m_members.begin(), m_members.end(),
                                   [&](ZipMember const& m) { return m.name == array + ".npy"; });
  if (member == m_members.end()) return std::nullopt;
  auto const content = open_member(m_input, *member, m_memory);
  auto const npy     = parse_npy(name(), member->name, {content.data(), content.size()});
  if ((npy.kind != 'i' && npy.kind != 'u') || npy.shape.size() != 1)
    throw InputError(name(), 0, 0, in_quotes(array) + " is not a vector of integers");
  m_memory.take(in_quotes(array) + " of " + name(), npy.size() * sizeof(std::uint64_t));
  std::vector<std::uint64_t> counts(npy.size());
  npy.with_type([&](auto type) {
    using Element = decltype(type);
    for (std::uint64_t k = 0; k < counts.size(); ++k) {
      auto const element = element_at<Element>(npy.elements.data(), k);
      if constexpr (std::is_signed_v<Element>)
        if (element < 0) throw InputError(name(), 0, 0, in_quotes(array) + " has a number below 0");
      counts[k] = static_cast<std::uint64_t>(element);
    }
  });
  return counts;
}

std::vector<StoredRows> NpzReader::read_rows(std::vector<std::uint64_t>& extents) const {
  auto const refuse = [&](std::string const& reason) { throw InputError(name(), 0, 0, reason); };
  auto const sizes  = read_counts("extents");
  std::vector<StoredRows> rows;
  if (sizes && sizes->size() != extents.size())
    refuse("'extents' has " + std::to_string(sizes->size()) + " numbers for a model of " +
           std::to_string(extents.size()) + " modes");
  for (std::size_t n = 0; n < extents.size(); ++n) {
    std::string const array = "rows_" + std::to_string(n);
    auto numbers            = read_counts(array);
    std::string const mode  = "factor_" + std::to_string(n);
    if (!numbers) {
      if (sizes && (*sizes)[n] != extents[n])
        refuse(in_quotes(mode) + " has " + std::to_string(extents[n]) + " rows, but 'extents' says " +
               std::to_string((*sizes)[n]) + ", and there is no " + in_quotes(array));
      rows.emplace_back(extents[n]);
      continue;
    }
    if (!sizes) refuse("has " + in_quotes(array) + " but no array 'extents'");
    if (numbers->size() != extents[n])
      refuse(in_quotes(array) + " has " + std::to_string(numbers->size()) + " rows, but " + in_quotes(mode) +
             " has " + std::to_string(extents[n]));
    std::string const fault = StoredRows::fault_of((*sizes)[n], *numbers);
    if (!fault.empty()) refuse(in_quotes(array) + " " + fault);
    extents[n] = (*sizes)[n];
    rows.emplace_back(extents[n], std::move(*numbers));
  }
  bool const has_lists = std::any_of(rows.begin(), rows.end(), [](auto const& r) { return r.is_list(); });
  return has_lists ? rows : std::vector<StoredRows>();
}

RowNames NpzReader::read_names(std::vector<std::uint64_t> const& extents) const {
  return io::read_names(m_input, m_members, m_memory, extents);
}

std::vector<std::uint8_t> NpzReader::read_booleans(std::string const& array, std::uint64_t count) const {
  return io::read_booleans(m_input, m_members, m_memory, array, count);
}

bool NpzReader::has(std::string const& array) const {
  return std::any_of(m_members.begin(), m_members.end(),
                     [&](ZipMember const& m) { return m.name == array + ".npy"; });
}

void NpzReader::expect(std::string_view kind) const {
  std::string const found = archive_kind(m_members);
  if (!found.empty() && found != kind)
    throw InputError(name(), 0, 0, "is " + found + ", not " + std::string(kind));
}

NpzArray NpzReader::require(std::string const& array, std::size_t dimensions) const {
  auto result = read(array, dimensions);
  if (!result) throw InputError(name(), 0, 0, "holds no array " + in_quotes(array));
  return std::move(*result);
}

}  // namespace polyad::io
