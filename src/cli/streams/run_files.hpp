// SPDX-License-Identifier: BSD-3-Clause
// The files of a run of hours, before it begins.
#pragma once

#include <optional>
#include <utility>

#include "cli/run/ranks.hpp"
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

}  // namespace polyad::cli
