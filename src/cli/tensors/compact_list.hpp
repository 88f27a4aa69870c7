// SPDX-License-Identifier: BSD-3-Clause
// Rows that do not occur: a tensor's long modes that are mostly empty are renumbered (tensor/compact.hpp).
// Free of Kokkos, so that its callers can be.
#pragma once

#include <vector>

#include "cli/report/report.hpp"
#include "polyad/io/coordinate_list.hpp"
#include "polyad/tensor/stored_rows.hpp"

namespace polyad::cli {

/// Renumbers the list in place, by the usual rule and by the rows that occur on any rank; 32-bit indices are
/// then used if they suffice. All ranks call it, in a Session. Returns the stored rows of each mode, or
/// nothing if no mode was renumbered. The report gets their numbers.
[[nodiscard]] std::vector<StoredRows> compact_list(io::CoordinateList& list, InputReport& report);

/// Adds the rows that are not stored to the report's empty slices.
void add_empty_slices(std::vector<StoredRows> const& rows, InputReport& report);

/// Shows the number of stored rows of each renumbered mode, if there is one: "1000 of 10000000000 in mode 1,
/// 30 of 2000000 in mode 3 occur".
void show_stored_rows(InputReport const& report);

}  // namespace polyad::cli
