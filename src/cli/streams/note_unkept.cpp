// SPDX-License-Identifier: BSD-3-Clause
#include "cli/streams/note_unkept.hpp"

#include <algorithm>

#include "cli/streams/messages.hpp"

namespace polyad::cli {

void note_unkept(CommonOptions const& common, std::initializer_list<std::filesystem::path> files,
                 char const* options) {
  bool const keeps = !common.report.empty() ||
                     std::any_of(files.begin(), files.end(), [](auto const& file) { return !file.empty(); });
  if (keeps || common.quiet) return;
  say("polyad: without {} this run keeps neither its model nor a report\n", options);
}

}  // namespace polyad::cli
