// SPDX-License-Identifier: BSD-3-Clause
// Measured ceilings in the user's cache folder: a file for each backend, device, number of threads and
// scalar. An outdated or broken file counts as missing.
#pragma once

#include <filesystem>
#include <optional>

#include "cli/report/report.hpp"
#include "polyad/formats/ceilings.hpp"

namespace polyad::cli {

/// ${XDG_CACHE_HOME:-~/.cache}/polyad/ceilings-BACKEND-DEVICE-THREADS-SCALAR.json; empty if there is no home
/// folder.
[[nodiscard]] std::filesystem::path ceilings_path(BackendReport const& backend, int scalar_bytes);

/// Nothing unless the file is of this version, backend and device, and all its numbers are plausible.
[[nodiscard]] std::optional<Ceilings> read_ceilings(std::filesystem::path const& path,
                                                    BackendReport const& backend, int scalar_bytes);

/// Writes atomically. If the folder is not writable, there is no file and no error: the next run measures
/// again.
void write_ceilings(std::filesystem::path const& path, BackendReport const& backend, int scalar_bytes,
                    Ceilings const& ceilings);

}  // namespace polyad::cli
