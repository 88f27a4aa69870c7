// SPDX-License-Identifier: BSD-3-Clause
// Rows that do not occur in a tensor whose parts are on several ranks.
#pragma once

#include <span>
#include <variant>
#include <vector>

#include "cli/report/report.hpp"
#include "cli/tensors/compact_list.hpp"
#include "polyad/distributed/distribute.hpp"
#include "polyad/io/coordinate_list.hpp"

namespace polyad::cli {

/// compact_list, by the rows that occur on any rank. All ranks get the same lists. Parts may hold their
/// indices in either type.
template <class Space>
[[nodiscard]] std::vector<StoredRows> compact_list_on_ranks(Communicator<Space> const& world,
                                                            io::CoordinateList& part, InputReport& report) {
  auto rows = std::visit(
      [&](auto& indices) {
        return compact_coordinates(world, std::span(indices.data(), indices.size()),
                                   Extents(std::span<count_t const>(part.extents)));
      },
      part.indices);
  put_stored_rows(rows, part, report);
  return rows;
}

}  // namespace polyad::cli
