// SPDX-License-Identifier: BSD-3-Clause
// The files of a run of hours, before it begins. Not for sources that nvcc compiles (messages.hpp).
#pragma once

#include <cstdio>
#include <filesystem>
#include <memory>

#include "cli/options/file_options.hpp"
#include "cli/streams/messages.hpp"

namespace polyad::cli {

/// A checkpoint that is read twice, by the tool and by the library. A pipe can be read only once, so the
/// first rank makes a copy of it, which lives as long as this object.
class Reopenable {
public:
  /// \param path  becomes that of the copy; empty: none. A file that cannot be opened is left to its reader.
  /// \throws WriteError when the copy cannot be written
  explicit Reopenable(std::filesystem::path& path);

private:
  struct Close {
    void operator()(std::FILE* file) const { std::fclose(file); }
  };
  std::unique_ptr<std::FILE, Close> m_copy;
};

/// Says on stderr that nothing of the run will be kept, if the command writes no model, no checkpoint and no
/// report. Rank 0 says it, unless --quiet. Comes after the input has been read.
inline void note_unkept(CommonOptions const& common) {
  if (common.outputs.empty() && !common.quiet)
    say("polyad: without -o, --report or --checkpoint this run keeps neither its model nor a report\n");
}

}  // namespace polyad::cli
