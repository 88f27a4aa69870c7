// SPDX-License-Identifier: BSD-3-Clause
// Finds the stops of a mode (formats/blco/storage/long_row_stops.hpp): for each chunk one pass over its
// nonzeros that counts the terms of every row. On hosts only.
#pragma once

#include <Kokkos_Core.hpp>
#include <algorithm>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <new>
#include <unordered_map>
#include <utility>
#include <vector>

#include "formats/blco/build/touched_rows.hpp"
#include "formats/blco/storage/long_row_stops.hpp"
#include "polyad/core/spaces.hpp"
#include "polyad/core/types.hpp"

namespace polyad::detail {

/// The stops of one chunk, which has the rows `touched`. `visit_rows(visit)` calls visit(p, row) for its
/// nonzeros in their order. Needs a byte for each row, but at most two bytes per nonzero, and an entry of a
/// map for each row that may be long. \throws std::bad_alloc
template <class VisitRows>
std::vector<LongRowStop> stops_of_chunk(RowRange const& touched, count_t nnz, count_t terms,
                                        VisitRows const& visit_rows) {
  std::vector<LongRowStop> stops;
  if (touched.empty() || nnz < terms) return stops;
  count_t const rows  = touched.last - touched.first + 1;
  count_t const most  = std::bit_ceil(nnz);
  bool const each_row = rows <= most;
  count_t const mask  = each_row ? ~count_t(0) : most - 1;
  auto const full     = static_cast<std::uint8_t>(terms);
  std::vector<std::uint8_t> counts(std::min(rows, most));
  auto const count_of  = [&](count_t row) -> std::uint8_t& { return counts[(row - touched.first) & mask]; };
  auto const stop_full = [&](std::uint8_t& count, count_t p, count_t row) {
    if (++count < full) return;
    count = 0;
    stops.push_back({p + 1, row, 0});
  };
  if (each_row) {
    visit_rows([&](count_t p, count_t row) { stop_full(count_of(row), p, row); });
    return stops;
  }
  // Many rows, of which few can be long: first the rows that share a count are counted together.
  bool any = false;
  visit_rows([&](count_t, count_t row) {
    auto& count = count_of(row);
    if (count < full) any = ++count == full || any;
  });
  if (!any) return stops;
  std::unordered_map<count_t, std::uint8_t> counts_of_rows;
  visit_rows([&](count_t p, count_t row) {
    if (count_of(row) == full) stop_full(counts_of_rows[row], p, row);
  });
  return stops;
}

/// Numbers the slots row by row, and in a row chunk by chunk, and copies everything into arrays for kernels.
template <class Space>
StopsOfMode<Space> number_slots(std::vector<std::vector<LongRowStop>>& of_chunks) {
  using Slot = std::pair<count_t, count_t>;  // row and chunk
  std::vector<Slot> slots;
  count_t count = 0;
  for (count_t chunk = 0; chunk < of_chunks.size(); ++chunk) {
    std::ptrdiff_t const begin = slots.size();
    for (auto const& stop : of_chunks[chunk]) slots.emplace_back(stop.row, chunk);
    std::sort(slots.begin() + begin, slots.end());
    slots.erase(std::unique(slots.begin() + begin, slots.end()), slots.end());
    count += of_chunks[chunk].size();
  }
  StopsOfMode<Space> mode;
  if (slots.empty()) return mode;
  std::sort(slots.begin(), slots.end());
  count_t rows = 0;
  for (count_t s = 0; s < slots.size(); ++s) rows += s == 0 || slots[s].first != slots[s - 1].first ? 1 : 0;

  using Numbers  = typename StopsOfMode<Space>::Numbers;
  mode.slots     = slots.size();
  mode.begins    = Numbers("polyad::long_row_begins", of_chunks.size() + 1);
  mode.rows      = Numbers("polyad::long_rows", rows);
  mode.row_slots = Numbers("polyad::long_row_slots", rows + 1);
  mode.stops     = decltype(mode.stops)("polyad::long_row_stops", count + 1);
  count_t row    = 0;
  for (count_t s = 0; s < slots.size(); ++s) {
    if (s > 0 && slots[s].first == slots[s - 1].first) continue;
    mode.rows(row)        = slots[s].first;
    mode.row_slots(row++) = s;
  }
  mode.row_slots(rows) = slots.size();
  count_t next         = 0;
  for (count_t chunk = 0; chunk < of_chunks.size(); ++chunk) {
    mode.begins(chunk) = next;
    for (auto stop : of_chunks[chunk]) {
      auto const slot    = std::lower_bound(slots.begin(), slots.end(), Slot(stop.row, chunk));
      stop.slot          = slot - slots.begin();
      mode.stops(next++) = stop;
    }
  }
  mode.begins(of_chunks.size()) = next;
  return mode;
}

/// The stops of a mode, for chunks that touch the rows `touched` (in host memory). `nnz_of(chunk)` is the
/// number of a chunk's nonzeros, and `visit_rows(chunk, visit)` visits them as for stops_of_chunk. `terms` is
/// the most that a row may take between two stops. Waits for `space`. \throws std::bad_alloc
template <class Space, class Touched, class Count, class VisitRows>
StopsOfMode<Space> find_long_rows(Space const& space, Touched const& touched, count_t terms,
                                  Count const& nnz_of, VisitRows const& visit_rows) {
  count_t const chunks = touched.extent(0);
  std::vector<std::vector<LongRowStop>> stops(chunks);
  std::atomic<bool> out_of_memory{false};  // an exception must not leave a kernel
  Kokkos::parallel_for(
      "polyad::find_long_rows", Kokkos::RangePolicy<Space, Kokkos::IndexType<count_t>>(space, 0, chunks),
      [&](count_t chunk) {
        try {
          stops[chunk] = stops_of_chunk(touched(chunk), nnz_of(chunk), terms,
                                        [&](auto const& visit) { visit_rows(chunk, visit); });
        } catch (std::bad_alloc const&) {
          out_of_memory = true;
        }
      });
  space.fence("polyad::find_long_rows");
  if (out_of_memory) throw std::bad_alloc();
  return number_slots<Space>(stops);
}

}  // namespace polyad::detail
