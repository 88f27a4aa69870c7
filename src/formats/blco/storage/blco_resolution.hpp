// SPDX-License-Identifier: BSD-3-Clause
// The resolution of conflicts between threads that add to the same row of V (BLCO, sections 5.1 to 5.3), and
// the rows of V that it keeps in copies.
#pragma once

#include <Kokkos_Core.hpp>

#include "formats/blco/storage/blco_blocks.hpp"
#include "formats/blco/storage/long_row_stops.hpp"
#include "formats/blco/storage/private_row_table.hpp"
#include "polyad/core/types.hpp"

namespace polyad::detail {

enum class Resolution {
  automatic,     // tiles: the paper's heuristic; chunks: privatised, unless the copies would be long
  registers,     // sums in registers, added to V with atomics
  hierarchical,  // sums in registers, then in a stash in scratch memory, then in one of several copies of V
  privatised  // tiles: sums in registers, added to one of several copies of V. Chunks: no sums, each product
              // is added to its row, or to the thread's copy of a row that other threads write too
};

/// The first nonzero of a chunk. For the chunk after the last one it is P.
[[nodiscard]] KOKKOS_INLINE_FUNCTION count_t chunk_begin(count_t nnz, count_t chunks, count_t chunk) {
  return nnz / chunks * chunk + Kokkos::min(chunk, nnz % chunks);
}

/// The chunks of the strategy BlcoChunked (formats/blco/costs/blco_tuning.hpp), the rows of each mode that
/// each chunk copies, and the stops for long rows.
template <class Space>
class BlcoChunks {
public:
  BlcoChunks() = default;

  /// Waits for `space`.
  template <class Scalar, class Index>
  BlcoChunks(Space const& space, BlcoNonzeros<Scalar, Index> const& nonzeros);

  /// The number of chunks; 0 if the walk is over tiles.
  [[nodiscard]] count_t count() const { return m_private.chunks(); }
  [[nodiscard]] PrivateRowTable<Space> const& private_rows() const { return m_private; }
  /// Rows of all copies of a mode.
  [[nodiscard]] count_t copied_rows(int mode) const { return m_private.copied_rows(mode); }
  [[nodiscard]] LongRowStops<Space> const& long_rows() const { return m_long_rows; }
  [[nodiscard]] count_t storage_bytes() const { return m_long_rows.storage_bytes(); }

private:
  PrivateRowTable<Space> m_private;
  LongRowStops<Space> m_long_rows;
};

/// The resolution of one mode.
struct BlcoResolution {
  Resolution kind;      // never automatic
  count_t copies;       // whole copies of V; 0 if none are kept or each chunk has its own
  count_t copied_rows;  // rows of all copies
  bool is_chunked;      // the chunks walk, not the tiles

  /// `wanted` is the caller's choice. A mode with too many rows for a stash is resolved in registers.
  template <class Space>
  BlcoResolution(Space const& space, Resolution wanted, count_t rows, count_t scalar_bytes, count_t nnz,
                 BlcoChunks<Space> const& chunks, int mode);
};

}  // namespace polyad::detail
