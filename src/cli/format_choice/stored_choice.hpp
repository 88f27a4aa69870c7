// SPDX-License-Identifier: BSD-3-Clause
// The choices of `polyad tune --store` are kept in a small file next to the tensor, TENSOR.tune.json. It is a
// list with one choice for each backend, device, rank and precision. A choice is used only for the same
// tensor, version and machine.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

#include "cli/report/report.hpp"
#include "polyad/io/coordinate_list.hpp"

namespace polyad::cli {

/// The identity of a choice.
struct ChoiceKey {
  std::filesystem::path tensor;
  std::uint64_t file_bytes = 0;
  std::uint32_t checksum   = 0;  // covers the file's first and last mebibyte
  std::uint64_t nnz        = 0;  // as read
  std::string backend, device;
  int concurrency    = 0;
  std::uint64_t rank = 0;
  std::string precision;
};

struct StoredChoice {
  std::string format;     // with the options that were tuned: "f-coo:threadlen=16,team_threads=64"
  double iterations = 0;  // for which it was the best
};

/// Returns nothing for a tensor that is not a regular file.
[[nodiscard]] std::optional<ChoiceKey> choice_key(std::filesystem::path const& tensor,
                                                  io::CoordinateList const& list,
                                                  BackendReport const& backend, std::uint64_t rank,
                                                  std::string const& precision);

[[nodiscard]] std::filesystem::path choice_path(std::filesystem::path const& tensor);

/// Nothing if the file is missing or broken, or has no choice for this key.
[[nodiscard]] std::optional<StoredChoice> read_choice(ChoiceKey const& key);

/// Puts the choice into the file. It replaces an earlier one of this key, and those of other tensors or
/// versions.
/// \throws WriteError
void write_choice(ChoiceKey const& key, StoredChoice const& choice);

}  // namespace polyad::cli
