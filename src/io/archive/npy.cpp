// SPDX-License-Identifier: BSD-3-Clause
#include "io/archive/npy.hpp"

#include <algorithm>
#include <bit>
#include <charconv>
#include <cstring>
#include <optional>

#include "io/quoted.hpp"
#include "polyad/core/error.hpp"

namespace polyad::io {

namespace {

using namespace std::string_view_literals;

constexpr auto npy_magic  = "\x93NUMPY"sv;
constexpr char host_order = std::endian::native == std::endian::little ? '<' : '>';

/// The text after 'key': in the dictionary, with blanks skipped.
std::optional<std::string_view> entry(std::string_view dictionary, std::string const& key) {
  std::size_t at = dictionary.find("'" + key + "'");
  if (at == std::string_view::npos) return std::nullopt;
  at = dictionary.find(':', at);
  if (at == std::string_view::npos) return std::nullopt;
  at = dictionary.find_first_not_of(' ', at + 1);
  return at == std::string_view::npos ? std::nullopt : std::optional(dictionary.substr(at));
}

std::optional<NpyArray> parse_dictionary(std::string_view dictionary) {
  auto const type = entry(dictionary, "descr"), order = entry(dictionary, "fortran_order"),
             shape = entry(dictionary, "shape");
  if (!type || !order || !shape || !shape->starts_with('(')) return std::nullopt;
  NpyArray header;
  // '<f8': byte order, kind and size. The size of text counts its characters.
  if (type->size() < 5 || (*type)[0] != '\'') return std::nullopt;
  char const byte_order       = (*type)[1];
  header.kind                 = (*type)[2];
  char const* const type_end  = type->data() + type->size();
  auto const [after, problem] = std::from_chars(type->data() + 3, type_end, header.bytes);
  if (problem != std::errc{} || after == type_end || *after != '\'') return std::nullopt;
  constexpr std::uint64_t longest_text = 256;
  bool const text                      = header.kind == 'S' || header.kind == 'U';

  bool known = false;
  if (text) known = header.bytes >= 1 && header.bytes <= longest_text;
  if (header.kind == 'f') known = header.bytes == 4 || header.bytes == 8;
  if (header.kind == 'b') known = header.bytes == 1;
  if (header.kind == 'i' || header.kind == 'u')
    known = std::has_single_bit(header.bytes) && header.bytes <= 8;
  bool const of_bytes = header.kind == 'S' || (!text && header.bytes == 1);
  if (!known || (byte_order != host_order && !(byte_order == '|' && of_bytes))) return std::nullopt;
  if (header.kind == 'U') header.bytes *= sizeof(char32_t);
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
    rest.remove_prefix(end - rest.data());
  }
}

}  // namespace

std::string NpyArray::text_at(std::uint64_t k) const {
  std::uint64_t const step = kind == 'U' ? sizeof(char32_t) : 1;
  std::string text;
  for (std::uint64_t at = k * bytes; at < (k + 1) * bytes; at += step) {
    std::uint32_t character = static_cast<unsigned char>(elements[at]);
    if (step > 1) std::memcpy(&character, elements.data() + at, sizeof character);
    text += character < 128 ? static_cast<char>(character) : '?';
  }
  return text.substr(0, text.find_last_not_of('\0') + 1);
}

std::string npy_header(std::vector<std::uint64_t> const& shape, std::string_view type) {
  std::string sizes;
  for (std::uint64_t const size : shape) sizes += std::to_string(size) + ", ";
  if (!shape.empty()) sizes.erase(sizes.size() - (shape.size() == 1 ? 1 : 2));  // "(5,)" but "(3, 4)"
  std::string dictionary = "{'descr': '";
  dictionary += host_order;
  dictionary += type;
  dictionary += "', 'fortran_order': False, 'shape': (" + sizes + "), }";
  // Padded with blanks to a multiple of 64 bytes.
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

NpyArray parse_npy(std::string const& file, std::string const& name, std::string_view content) {
  auto const refuse = [&](std::string const& reason) {
    throw InputError(file, 0, 0, in_quotes(name) + reason);
  };
  if (content.size() < 12 || !content.starts_with(npy_magic)) refuse(" is not an array of numpy");
  auto const byte  = [&](std::size_t k) -> std::size_t { return static_cast<unsigned char>(content[k]); };
  bool const first = content[6] == 1;
  std::size_t const start = first ? 10 : 12;
  std::size_t const length =
      first ? byte(8) | byte(9) << 8 : byte(8) | byte(9) << 8 | byte(10) << 16 | byte(11) << 24;
  if (length > content.size() - start) refuse(" is damaged: its header is cut short");
  auto array = parse_dictionary(content.substr(start, length));
  if (!array) refuse(" is not an array of integers, floats or doubles in this machine's byte order");
  content.remove_prefix(start + length);
  std::uint64_t size = array->bytes;
  for (std::uint64_t const extent : array->shape)
    if (__builtin_mul_overflow(size, extent, &size)) refuse(" is larger than 2^64 bytes");
  if (size != content.size()) refuse(" is damaged: its size does not fit its shape");
  array->elements = content;
  return std::move(*array);
}

}  // namespace polyad::io
