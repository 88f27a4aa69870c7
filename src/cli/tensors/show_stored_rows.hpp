// SPDX-License-Identifier: BSD-3-Clause
// The line of a summary about rows that do not occur.
#pragma once

#include "cli/report/report.hpp"
#include "cli/streams/messages.hpp"
#include "cli/tensors/compact_list.hpp"

namespace polyad::cli {

/// Shows the number of stored rows of each renumbered mode, if there is one.
inline void show_stored_rows(InputReport const& input) {
  if (!input.stored_rows.empty())
    show("rows     {} occur, and only those are stored\n", stored_rows_text(input));
}

}  // namespace polyad::cli
