// SPDX-License-Identifier: BSD-3-Clause
#include "io/names/labels_file.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <string_view>
#include <system_error>

#include "core/host_memory.hpp"
#include "io/memory/read_memory.hpp"
#include "io/names/names_block.hpp"
#include "io/streams/crc32c.hpp"
#include "io/streams/file_bytes.hpp"
#include "io/streams/raw_input.hpp"
#include "polyad/core/error.hpp"
#include "polyad/io/atomic_file.hpp"

namespace polyad::io {

namespace {

using namespace std::string_view_literals;

constexpr auto labels_magic            = "\x89PLAB\r\n\x1A"sv;
constexpr std::uint32_t labels_version = 1;

/// The bytes before the names of N modes.
constexpr std::uint64_t labels_head_bytes(std::uint64_t order) {
  return 32 + 8 * order;
}

template <class Number>
void append_number(std::string& bytes, Number number) {
  char stored[sizeof number];
  std::memcpy(stored, &number, sizeof number);
  bytes.append(stored, sizeof number);
}

}  // namespace

std::filesystem::path labels_path(std::filesystem::path const& model) {
  constexpr std::array packings = {".gz"sv, ".xz"sv, ".zst"sv};
  auto path                     = model;
  if (std::ranges::find(packings, path.extension().string()) != packings.end()) path.replace_extension();
  path += ".labels";
  return path;
}

bool may_have_labels_file(std::filesystem::path const& model) {
  if (own_descriptor(model)) return false;
  std::error_code failed;
  auto const status = std::filesystem::status(model, failed);
  return status.type() == std::filesystem::file_type::not_found || std::filesystem::is_regular_file(status);
}

LabelsFile labels_file(Labels const& labels, std::vector<std::uint64_t> const& extents) {
  if (!reads_binary_files) throw UsageError("labels are written on little-endian machines only");
  std::string const names = names_block(labels);
  LabelsFile file;
  file.bytes = labels_magic;
  append_number(file.bytes, labels_version);
  append_number(file.bytes, static_cast<std::uint32_t>(extents.size()));
  for (std::uint64_t const extent : extents) append_number(file.bytes, extent);
  append_number(file.bytes, std::uint64_t{names.size()});
  append_number(file.bytes, crc32c(0, names));
  file.key = crc32c(0, file.bytes);
  append_number(file.bytes, file.key);
  file.bytes += names;
  return file;
}

Labels read_labels_file(std::filesystem::path const& model, std::vector<std::uint64_t> const& extents,
                        std::uint32_t key) {
  auto const path = labels_path(model);
  std::error_code failed;
  auto const type = std::filesystem::status(path, failed).type();
  if (type == std::filesystem::file_type::not_found)
    throw InputError(path.string(), 0, 0,
                     "is missing: it has the labels of " + model.string() +
                         ". To read the model without them, remove its line that begins with '# labels'");
  ReadMemory memory;
  RawInput input(path);
  input.hold(memory);
  FieldReader const file(input.name(), "");
  if (!reads_binary_files) file.refuse("labels are read on little-endian machines only");
  std::uint64_t const size = labels_head_bytes(extents.size());
  std::string head(std::min(size, input.size()), '\0');
  input.read_at(0, head.data(), head.size());
  if (!std::string_view(head).starts_with(labels_magic)) file.refuse("has no labels of a model");
  if (head.size() < size) file.refuse("is cut short, or has the labels of another model");
  FieldReader reader(input.name(), head);
  static_cast<void>(reader.take(labels_magic.size()));
  std::uint64_t const found_version = reader.u32(), order = reader.u32();
  if (found_version != labels_version)
    file.refuse("is of version " + std::to_string(found_version) + "; this Polyad reads version 1");
  bool is_foreign = order != extents.size();
  for (std::uint64_t const extent : extents) is_foreign |= reader.u64() != extent;
  std::uint64_t const names_bytes = reader.u64(), names_crc = reader.u32(), found_key = reader.u32();
  if (is_foreign || found_key != key) file.refuse("has the labels of another model than " + model.string());
  if (found_key != crc32c(0, std::string_view(head).substr(0, size - sizeof key)))
    file.refuse("is damaged: its checksum is wrong");
  if (names_bytes != input.size() - size) file.refuse("is cut short, or continues after the labels");
  HeldMemory held;
  held.resize(memory, "the labels of " + model.string(), names_bytes);
  detail::expect_fits_host("the labels of " + model.string(), names_bytes);
  std::string names(names_bytes, '\0');
  input.read_at(size, names.data(), names.size());
  if (crc32c(0, names) != names_crc) file.refuse("is damaged: the checksum of its labels is wrong");
  return labels_of_block(input.name(), names, extents, memory);
}

}  // namespace polyad::io
