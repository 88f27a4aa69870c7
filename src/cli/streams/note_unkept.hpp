// SPDX-License-Identifier: BSD-3-Clause
// Warns of a long run whose model is not saved, when it begins and after its input has been read.
#pragma once

#include <filesystem>
#include <initializer_list>

#include "cli/options/file_options.hpp"

namespace polyad::cli {

/// Says on stderr that nothing of the run will be kept, if the command has no report and none of these
/// files. Rank 0 says it, unless --quiet.
void note_unkept(CommonOptions const& common, std::initializer_list<std::filesystem::path> files,
                 char const* options);

}  // namespace polyad::cli
