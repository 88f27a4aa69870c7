// SPDX-License-Identifier: BSD-3-Clause
// Work on a rank's nonzeros in host memory, spread over the host's threads in chunks of neighbours.
#pragma once

#include <Kokkos_Core.hpp>
#include <algorithm>
#include <vector>

#include "polyad/core/types.hpp"

namespace polyad::detail {

/// The number of chunks for that many items: at most 16, since each may have its own counters.
inline count_t host_chunks(count_t items) {
  count_t const threads = Kokkos::DefaultHostExecutionSpace().concurrency();
  return std::clamp<count_t>(items / 1024, 1, std::min<count_t>(threads, 16));
}

/// Calls f(chunk, begin, end) for `chunks` chunks of the items. f must not throw.
template <class F>
void for_each_host_chunk(count_t items, count_t chunks, F const& f) {
  using Policy     = Kokkos::RangePolicy<Kokkos::DefaultHostExecutionSpace, Kokkos::IndexType<count_t>>;
  auto const begin = [&](count_t chunk) { return items / chunks * chunk + std::min(chunk, items % chunks); };
  Kokkos::parallel_for("polyad::nonzeros_of_rank", Policy(0, chunks),
                       [&](count_t chunk) { f(chunk, begin(chunk), begin(chunk + 1)); });
  Kokkos::DefaultHostExecutionSpace().fence("polyad::nonzeros_of_rank");
}

/// How many of the items are of each kind. kind_of(item) < kinds, or more: it is not counted.
template <class KindOf>
std::vector<count_t> count_kinds(count_t items, count_t kinds, KindOf const& kind_of) {
  count_t const chunks = host_chunks(items);
  std::vector<count_t> counts(chunks * kinds, 0);
  for_each_host_chunk(items, chunks, [&](count_t chunk, count_t begin, count_t end) {
    count_t* const own = counts.data() + chunk * kinds;
    for (count_t item = begin; item < end; ++item)
      if (count_t const kind = kind_of(item); kind < kinds) ++own[kind];
  });
  for (count_t chunk = 1; chunk < chunks; ++chunk)
    for (count_t kind = 0; kind < kinds; ++kind) counts[kind] += counts[chunk * kinds + kind];
  counts.resize(kinds);
  return counts;
}

}  // namespace polyad::detail
