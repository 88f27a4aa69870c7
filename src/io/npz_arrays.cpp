// SPDX-License-Identifier: BSD-3-Clause
// The arrays inside an npz are .npy files of version 1 (numpy.lib.format): a header that is a Python dictionary,
// then the elements.
#include "npz_arrays.hpp"

#include <algorithm>
#include <bit>
#include <charconv>
#include <cmath>
#include <cstring>
#include <string_view>
#include <utility>

#include "polyad/core/error.hpp"
#include "quoted.hpp"

namespace polyad::io {

namespace {
using namespace std::string_view_literals;

constexpr auto npy_magic  = "\x93NUMPY"sv;
constexpr char host_order = std::endian::native == std::endian::little ? '<' : '>';

/// Magic, version, length and dictionary, padded with blanks to a multiple of 64 bytes.
std::string npy_header(std::vector<std::uint64_t> const& shape, bool single_precision) {
  std::string sizes;
  for (std::uint64_t const size : shape) sizes += std::to_string(size) + ", ";
  sizes.erase(sizes.size() - (shape.size() == 1 ? 1 : 2));  // "(5,)" but "(3, 4)"
  std::string dictionary = "{'descr': '";
  dictionary += host_order;
  dictionary += single_precision ? "f4" : "f8";
  dictionary += "', 'fortran_order': False, 'shape': (" + sizes + "), }";
  constexpr std::size_t before = 10;
  dictionary.append((64 - (before + dictionary.size() + 1) % 64) % 64, ' ');
  dictionary += '\n';
  std::string header(npy_magic);
  header += '\1';
  header += '\0';
  header += static_cast<char>(dictionary.size() & 0xFF);
  header += static_cast<char>(dictionary.size() >> 8);
  return header + dictionary;
}

/// What a .npy header says.
struct NpyHeader {
  bool single_precision = false;
  bool column_major     = false;
  std::vector<std::uint64_t> shape;
};

/// The text behind 'key': in the dictionary, blanks skipped.
std::optional<std::string_view> entry(std::string_view dictionary, std::string const& key) {
  std::size_t at = dictionary.find("'" + key + "'");
  if (at == std::string_view::npos) return std::nullopt;
  at = dictionary.find(':', at);
  if (at == std::string_view::npos) return std::nullopt;
  at = dictionary.find_first_not_of(' ', at + 1);
  return at == std::string_view::npos ? std::nullopt : std::optional(dictionary.substr(at));
}

std::optional<NpyHeader> parse_dictionary(std::string_view dictionary) {
  auto const type = entry(dictionary, "descr"), order = entry(dictionary, "fortran_order"),
             shape = entry(dictionary, "shape");
  if (!type || !order || !shape || !shape->starts_with('(')) return std::nullopt;
  NpyHeader header;
  std::string const prefix = std::string("'") + host_order;
  if (!type->starts_with(prefix + "f8'") && !type->starts_with(prefix + "f4'")) return std::nullopt;
  header.single_precision = type->starts_with(prefix + "f4'");
  if (!order->starts_with("True") && !order->starts_with("False")) return std::nullopt;
  header.column_major   = order->starts_with("True");
  std::string_view rest = shape->substr(1);
  for (;;) {
    rest.remove_prefix(std::min(rest.find_first_not_of(" ,"), rest.size()));
    if (rest.starts_with(')')) return header;
    std::uint64_t size     = 0;
    auto const [end, code] = std::from_chars(rest.data(), rest.data() + rest.size(), size);
    if (code != std::errc{}) return std::nullopt;
    header.shape.push_back(size);
    rest.remove_prefix(static_cast<std::size_t>(end - rest.data()));
  }
}

template <class Element>
void copy_elements(std::string_view bytes, bool column_major, NpzArray& array) {
  std::uint64_t const columns = array.shape.back();
  std::uint64_t const rows    = columns == 0 ? 0 : array.elements.size() / columns;
  for (std::uint64_t k = 0; k < array.elements.size(); ++k) {
    Element element{};
    std::memcpy(&element, bytes.data() + k * sizeof(Element), sizeof element);
    array.elements[column_major ? k % rows * columns + k / rows : k] = static_cast<double>(element);
  }
}

NpzArray parse_npy(std::string const& file, std::string const& name, std::string_view content) {
  auto const refuse = [&](std::string const& reason) {
    throw InputError(file, 0, 0, in_quotes(name) + reason);
  };
  if (content.size() < 12 || !content.starts_with(npy_magic)) refuse(" is no array of numpy");
  auto const byte = [&](std::size_t k) {
    return static_cast<std::size_t>(static_cast<unsigned char>(content[k]));
  };
  bool const first        = content[6] == 1;
  std::size_t const start = first ? 10 : 12;
  std::size_t const length =
      first ? byte(8) | byte(9) << 8 : byte(8) | byte(9) << 8 | byte(10) << 16 | byte(11) << 24;
  if (length > content.size() - start) refuse(" is damaged: its header is cut short");
  auto const header = parse_dictionary(content.substr(start, length));
  if (!header || header->shape.empty() || header->shape.size() > 2)
    refuse(" is no vector or matrix of floats or doubles in this machine's byte order");
  content.remove_prefix(start + length);
  std::uint64_t count           = header->single_precision ? sizeof(float) : sizeof(double);
  std::uint64_t const item_size = count;
  for (std::uint64_t const size : header->shape)
    if (__builtin_mul_overflow(count, size, &count)) refuse(" is larger than 2^64 bytes");
  if (count != content.size()) refuse(" is damaged: its size does not fit its shape");
  NpzArray array{header->shape, std::vector<double>(count / item_size)};
  if (header->single_precision) {
    copy_elements<float>(content, header->column_major, array);
  } else {
    copy_elements<double>(content, header->column_major, array);
  }
  if (!std::all_of(array.elements.begin(), array.elements.end(), [](double x) { return std::isfinite(x); }))
    refuse(" holds values that are not finite");
  return array;
}

}  // namespace

void add_array(ZipWriter& zip, std::string const& name, std::vector<std::uint64_t> const& shape,
               std::vector<double> const& elements, bool single_precision) {
  std::string const header      = npy_header(shape, single_precision);
  std::uint64_t const item_size = single_precision ? sizeof(float) : sizeof(double);
  zip.add(name + ".npy", header.size() + elements.size() * item_size, [&](ZipWriter::Sink const& sink) {
    sink(header);
    if (!single_precision) {
      sink({reinterpret_cast<char const*>(elements.data()), elements.size() * sizeof(double)});
      return;
    }
    std::vector<float> rounded(std::min<std::size_t>(elements.size(), std::size_t{1} << 16));
    for (std::size_t k = 0; k < elements.size(); k += rounded.size()) {
      std::size_t const count = std::min(rounded.size(), elements.size() - k);
      std::transform(elements.data() + k, elements.data() + k + count, rounded.begin(),
                     [](double element) { return static_cast<float>(element); });
      sink({reinterpret_cast<char const*>(rounded.data()), count * sizeof(float)});
    }
  });
}

NpzReader::NpzReader(std::filesystem::path const& path) : m_input(path), m_name(path.string()) {
  m_bytes = m_input.mapped();
  if (m_bytes.empty())
    throw InputError(m_name, 0, 0, "an npz archive is read from a regular file that is not empty");
  m_members = list_zip(m_name, m_bytes);
}

std::optional<NpzArray> NpzReader::read(std::string const& array, std::size_t dimensions) const {
  auto const member = std::find_if(m_members.begin(), m_members.end(),
                                   [&](ZipMember const& m) { return m.name == array + ".npy"; });
  if (member == m_members.end()) return std::nullopt;
  std::string storage;
  NpzArray result = parse_npy(m_name, member->name, open_member(m_name, m_bytes, *member, storage));
  if (result.shape.size() != dimensions)
    throw InputError(m_name, 0, 0,
                     in_quotes(array) + " has " + std::to_string(result.shape.size()) + " dimensions, not " +
                         std::to_string(dimensions));
  return result;
}

NpzArray NpzReader::require(std::string const& array, std::size_t dimensions) const {
  auto result = read(array, dimensions);
  if (!result) throw InputError(m_name, 0, 0, "holds no array " + in_quotes(array));
  return std::move(*result);
}

}  // namespace polyad::io
