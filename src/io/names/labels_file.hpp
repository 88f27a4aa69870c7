// SPDX-License-Identifier: BSD-3-Clause
// The names of a model in text are in a file next to it: NAME.ktns.labels for NAME.ktns. It is binary and
// little-endian:
//
//   89 50 4C 41 42 0D 0A 1A, u32 version 1, u32 N, N x u64 extents, u64 bytes of the names, u32 CRC-32C of
//   the names, u32 CRC-32C of all before, and the names (io/names/names_block.hpp)
//
// The last checksum is the key of the file. The model repeats it, so that labels of another model are
// detected.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "polyad/io/labels.hpp"

namespace polyad::io {

/// The name of the labels' file: the name of the model, without the ending of a compression, and ".labels".
[[nodiscard]] std::filesystem::path labels_path(std::filesystem::path const& model);

/// Whether a file can be next to an output of this name. It cannot if the output is a pipe, a device or a
/// descriptor of this process.
[[nodiscard]] bool may_have_labels_file(std::filesystem::path const& model);

/// The content of a file of labels, and its key.
struct LabelsFile {
  std::string bytes;
  std::uint32_t key = 0;
};

/// \param labels  fit the extents, and name something
[[nodiscard]] LabelsFile labels_file(Labels const& labels, std::vector<std::uint64_t> const& extents);

/// Reads the labels of a model.
/// \param key  the key that the model has
/// \throws InputError for a file that is missing, damaged, or of another model; MemoryError
[[nodiscard]] Labels read_labels_file(std::filesystem::path const& model,
                                      std::vector<std::uint64_t> const& extents, std::uint32_t key);

}  // namespace polyad::io
