// SPDX-License-Identifier: BSD-3-Clause
// The files of a run of hours, before it begins. Not for sources that nvcc compiles (messages.hpp).
#pragma once

#include <optional>
#include <utility>

#include "cli/run/ranks.hpp"
#include "cli/streams/messages.hpp"
#include "cli/streams/reopenable.hpp"
#include "polyad/io/atomic_file.hpp"

namespace polyad::cli {

/// Refuses an output or a checkpoint that cannot be written. Makes options.resume a path that can be read
/// twice, by the tool and by the library, as long as the result lives. Other ranks than the first do nothing.
template <class Options>
[[nodiscard]] std::optional<Reopenable> open_run_files(Options& options) {
  if (ranks().rank > 0) return std::nullopt;
  for (auto const& path : {options.output, options.checkpoint})
    if (!path.empty()) io::expect_writable(path);
  std::optional<Reopenable> resumed(std::in_place, options.resume);
  options.resume = resumed->path();
  return resumed;
}

/// Says on stderr that nothing of the run will be kept, if the command writes no model, no checkpoint and no
/// report. Rank 0 says it, unless --quiet. Comes after the input has been read.
template <class Options>
void note_unkept(Options const& options) {
  bool const keeps = !(options.output.empty() && options.checkpoint.empty() && options.common.report.empty());
  if (!keeps && !options.common.quiet)
    say("polyad: without -o, --report or --checkpoint this run keeps neither its model nor a report\n");
}

}  // namespace polyad::cli
