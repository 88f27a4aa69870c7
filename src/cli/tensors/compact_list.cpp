// SPDX-License-Identifier: BSD-3-Clause
#include "cli/tensors/compact_list.hpp"

#include <span>
#include <string>
#include <utility>
#include <variant>

#include "cli/run/communicator.hpp"
#include "cli/streams/standard_streams.hpp"
#include "cli/tensors/entries.hpp"
#include "polyad/core/types.hpp"
#include "polyad/distributed/distribute.hpp"

namespace polyad::cli {

std::vector<StoredRows> compact_list(io::CoordinateList& list, InputReport& report) {
  RankGroup const host = ranks_on_host();
  Communicator<Kokkos::DefaultExecutionSpace> const all({}, host, host);
  auto rows = std::visit(
      [&](auto& indices) {
        return compact_coordinates(all, std::span(indices.data(), indices.size()),
                                   Extents(std::span<count_t const>(list.extents)));
      },
      list.indices);
  if (rows.empty()) return rows;
  for (std::size_t n = 0; n < rows.size(); ++n) list.extents[n] = rows[n].size();
  report.stored_rows = list.extents;
  settle_index_type(list);
  return rows;
}

void add_empty_slices(std::vector<StoredRows> const& rows, InputReport& report) {
  for (std::size_t n = 0; n < rows.size(); ++n)
    report.empty_slices.at(n) += rows[n].extent() - rows[n].size();
}

void show_stored_rows(InputReport const& report) {
  std::string text;
  for (std::size_t n = 0; n < report.stored_rows.size(); ++n)
    if (report.stored_rows[n] != report.dims[n])
      text += (text.empty() ? "" : ", ") + std::to_string(report.stored_rows[n]) + " of " +
              std::to_string(report.dims[n]) + " in mode " + std::to_string(n);
  if (!report.stored_rows.empty()) show_text("rows     " + text + " occur, and only those are stored\n");
}

}  // namespace polyad::cli
