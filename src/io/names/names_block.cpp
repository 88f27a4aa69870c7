// SPDX-License-Identifier: BSD-3-Clause
#include "io/names/names_block.hpp"

#include <cstring>
#include <limits>

#include "io/names/row_names.hpp"
#include "io/streams/file_bytes.hpp"
#include "polyad/core/error.hpp"

namespace polyad::io {

namespace {

enum Flag : std::uint8_t { has_labels = 1, labels_are_text = 2 };

template <class Number>
void append_field(std::string& bytes, Number number) {
  char stored[sizeof number];
  std::memcpy(stored, &number, sizeof number);
  bytes.append(stored, sizeof number);
}

ModeLabels read_names_of_mode(FieldReader& reader, std::size_t n, std::uint64_t rows, ReadMemory& memory) {
  std::string const mode    = "mode " + std::to_string(n);
  std::uint64_t const flags = reader.field(4);
  if (flags > (has_labels | labels_are_text)) reader.refuse("the names of " + mode + " have unknown flags");
  ModeLabels labels;
  labels.is_text                 = (flags & labels_are_text) != 0;
  std::uint64_t const name_bytes = reader.u32();
  labels.name                    = reader.take(name_bytes);
  if (!are_utf8(labels.name, {name_bytes})) reader.refuse("the name of " + mode + " is not UTF-8");
  if ((flags & has_labels) == 0) return labels;
  if (rows > reader.left() / sizeof(std::uint64_t))
    reader.refuse("the names of " + mode + " end before the " + std::to_string(rows) + " labels of its rows");
  std::string_view const ends = reader.take(rows * sizeof(std::uint64_t));
  std::uint64_t const bytes   = rows == 0 ? 0 : element_at<std::uint64_t>(ends.data(), rows - 1);
  if (bytes > reader.left()) reader.refuse("the labels of " + mode + " are cut short");
  memory.take("the labels of " + reader.file(), ends.size() + bytes);
  labels.ends.resize(rows);
  std::memcpy(labels.ends.data(), ends.data(), ends.size());
  labels.bytes = reader.take(bytes);
  if (!do_ends_fit(labels.bytes, labels.ends))
    reader.refuse("the ends of the labels of " + mode + " do not increase");
  if (!are_utf8(labels.bytes, labels.ends)) reader.refuse("a label of " + mode + " is not UTF-8");
  return labels;
}

}  // namespace

std::string names_block(Labels const& labels) {
  std::string bytes;
  if (!holds_names(labels)) return bytes;
  for (ModeLabels const& mode : labels) {
    if (mode.name.size() > std::numeric_limits<std::uint32_t>::max())
      throw UsageError("the name of a mode has 2^32 bytes or more");
    append_field(bytes, static_cast<std::uint32_t>((mode.has_rows() ? has_labels : 0) |
                                                   (mode.is_text ? labels_are_text : 0)));
    append_field(bytes, static_cast<std::uint32_t>(mode.name.size()));
    bytes += mode.name;
    if (!mode.has_rows()) continue;
    bytes.append(reinterpret_cast<char const*>(mode.ends.data()), mode.ends.size() * sizeof(std::uint64_t));
    bytes += mode.bytes;
  }
  return bytes;
}

Labels labels_of_block(std::string const& file, std::string_view block,
                       std::vector<std::uint64_t> const& extents, ReadMemory& memory) {
  if (block.empty()) return {};
  FieldReader reader(file, block);
  Labels labels;
  for (std::size_t n = 0; n < extents.size(); ++n)
    labels.push_back(read_names_of_mode(reader, n, extents[n], memory));
  if (reader.left() != 0)
    reader.refuse("the names are followed by " + std::to_string(reader.left()) + " other bytes");
  return holds_names(labels) ? labels : Labels{};
}

}  // namespace polyad::io
