// SPDX-License-Identifier: BSD-3-Clause
// How the conflicts of a mode are resolved (formats/blco/blco_resolution.hpp), by what the machine has.
#pragma once

#include <Kokkos_Core.hpp>
#include <algorithm>
#include <span>
#include <vector>

#include "formats/blco/blco_blocks.hpp"
#include "formats/blco/blco_resolution.hpp"
#include "formats/blco/touched_rows.hpp"
#include "polyad/core/spaces.hpp"
#include "polyad/core/types.hpp"
#include "polyad/kernel/machine.hpp"
#include "polyad/kernel/rank_dispatch.hpp"

namespace polyad::detail {

/// GPU threads in the largest team.
inline constexpr int blco_team_threads = 256;
/// Copies of V: one for each group of multiprocessors (GPC) of a GH100.
inline constexpr count_t blco_copies = 8;

template <class Scalar, class Index>
struct FindTouchedRowsOfChunks {
  BlcoNonzeros<Scalar, Index> nonzeros;
  count_t const* begins;
  count_t chunks;
  RowRange* touched;  // N x chunks
  void operator()(count_t chunk) const {
    RowRange ranges[max_order];
    for (count_t p = begins[chunk]; p < begins[chunk + 1]; ++p)
      nonzeros.for_each_index(p, nonzeros.block_of(p), [&](int n, Index index) { ranges[n].include(index); });
    for (int n = 0; n < nonzeros.encoding.order(); ++n)
      touched[static_cast<count_t>(n) * chunks + chunk] = ranges[n];
  }
};

template <class Space, class Scalar, class Index>
BlcoChunks::BlcoChunks(Space const& space, BlcoNonzeros<Scalar, Index> const& nonzeros) {
  if constexpr (!is_device_space<Space>) {
    if (nonzeros.nnz == 0) return;
    auto const order     = static_cast<count_t>(nonzeros.encoding.order());
    count_t const chunks = std::min(nonzeros.nnz, multiprocessors(space));
    for (count_t chunk = 0; chunk <= chunks; ++chunk)
      m_begins.push_back(nonzeros.nnz / chunks * chunk + std::min(chunk, nonzeros.nnz % chunks));
    std::vector<RowRange> touched(order * chunks);
    Kokkos::parallel_for(
        "polyad::blco_touched_rows", Kokkos::RangePolicy<Space, Kokkos::IndexType<count_t>>(space, 0, chunks),
        detail::FindTouchedRowsOfChunks<Scalar, Index>{nonzeros, m_begins.data(), chunks, touched.data()});
    space.fence("polyad::blco_chunks");
    for (count_t n = 0; n < order; ++n) {
      auto const own = private_rows(std::span<RowRange const>(touched.data() + n * chunks, chunks));
      m_private.insert(m_private.end(), own.begin(), own.end());
    }
  }
}

template <class Space>
BlcoResolution::BlcoResolution(Space const& space, Resolution wanted, count_t rows, count_t scalar_bytes,
                               count_t nnz, BlcoChunks const& chunks, int mode) {
  // A quarter of the scratch memory is left for the tile.
  bool const stash_fits   = rows <= team_scratch<Space>() * 3 / 4 / (scalar_bytes * full_block);
  bool const is_chunked   = chunks.count() > 0;  // a host's tensor in memory
  count_t const of_chunks = chunks.copied_rows(mode);
  // Copies no larger than the tensor at R = 32, as in the format alto.
  count_t const allowed = std::max<count_t>(nnz / 8, count_t(1) << 16);
  kind                  = wanted;
  if (wanted == Resolution::automatic) {
    if (is_chunked)
      kind = of_chunks <= allowed ? Resolution::privatised : Resolution::registers;
    else
      kind = rows < multiprocessors(space) ? Resolution::hierarchical : Resolution::registers;
  }
  if (kind == Resolution::hierarchical && !stash_fits) kind = Resolution::registers;
  copies =
      kind == Resolution::hierarchical || (kind == Resolution::privatised && !is_chunked) ? blco_copies : 0;
  copied_rows = copies > 0 ? checked_product("the copies of V", copies, rows)
                           : (kind == Resolution::privatised ? of_chunks : 0);
}

}  // namespace polyad::detail
