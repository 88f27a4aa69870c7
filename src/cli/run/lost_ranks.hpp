// SPDX-License-Identifier: BSD-3-Clause
// A rank that the system kills cannot say so. Its launcher then sends SIGTERM to the others, and the first of
// those that are left on its machine names it.
#pragma once

namespace polyad::cli {

/// Tells the ranks of a machine each other's processes. All ranks call it, in a Session. Without ranks it
/// does nothing.
void watch_ranks();

/// On SIGTERM: a line on stderr for each rank of this machine whose process is gone. Safe in a signal
/// handler.
void name_lost_ranks() noexcept;

/// Before this rank leaves the others in good order: it then names none.
void end_watch() noexcept;
/// Before this rank ends all: the others then name none.
void end_watch_of_all() noexcept;

}  // namespace polyad::cli
