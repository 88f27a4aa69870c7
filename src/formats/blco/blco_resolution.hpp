// SPDX-License-Identifier: BSD-3-Clause
// How threads that add to the same row of V stay out of each other's way (BLCO, sections 5.1 to 5.3), and
// which rows of V are kept in copies for it.
#pragma once

#include <vector>

#include "formats/blco/blco_blocks.hpp"
#include "formats/blco/private_rows.hpp"
#include "polyad/core/types.hpp"

namespace polyad::detail {

enum class Resolution {
  automatic,     // the paper's heuristic on a device; on a host privatised, unless its copies would be long
  registers,     // sums in registers, added to V with atomics
  hierarchical,  // sums in registers, then in a stash in scratch memory, then in one of several copies of V
  privatised  // device: sums in registers, added to one of several copies of V. Host: a thread's copy of rows
              // that other threads write too, and every product is added to its row at once
};

/// A host's chunks: as many chunks of the nonzeros as threads, and which rows of each mode each of them
/// keeps a copy of (formats/blco/private_rows.hpp). None on a device.
class BlcoChunks {
public:
  BlcoChunks() = default;

  /// Waits for `space`.
  template <class Space, class Scalar, class Index>
  BlcoChunks(Space const& space, BlcoNonzeros<Scalar, Index> const& nonzeros);

  [[nodiscard]] count_t count() const { return m_begins.empty() ? 0 : m_begins.size() - 1; }
  /// The first nonzero of every chunk, and P.
  [[nodiscard]] count_t const* begins() const { return m_begins.data(); }
  /// One entry a chunk.
  [[nodiscard]] PrivateRows const* private_rows_of(int mode) const {
    return m_private.data() + static_cast<count_t>(mode) * count();
  }
  /// Rows of all copies of a mode.
  [[nodiscard]] count_t copied_rows(int mode) const {
    if (count() == 0) return 0;
    auto const& last = private_rows_of(mode)[count() - 1];
    return last.slot + last.count;
  }

private:
  std::vector<count_t> m_begins;
  std::vector<PrivateRows> m_private;  // N x chunks
};

/// The resolution of one mode.
struct BlcoResolution {
  Resolution kind;      // never automatic
  count_t copies;       // of V, whole; 0 where none are kept or they are a host's chunks
  count_t copied_rows;  // rows of all copies

  /// `wanted` is what the caller asked for. A mode too long for a stash is resolved in registers.
  template <class Space>
  BlcoResolution(Space const& space, Resolution wanted, count_t rows, count_t scalar_bytes, count_t nnz,
                 BlcoChunks const& chunks, int mode);
};

}  // namespace polyad::detail
