// SPDX-License-Identifier: BSD-3-Clause
// For each group of neighbouring rows, the chunks that have copies of some of them
// (formats/blco/storage/private_rows.hpp). With these lists the copies of many chunks are added to the output
// in time proportional to the copies. Otherwise each group of rows would have to check each chunk.
#pragma once

#include <Kokkos_Core.hpp>
#include <span>

#include "formats/blco/build/touched_rows.hpp"
#include "formats/blco/storage/private_rows.hpp"
#include "polyad/core/spaces.hpp"
#include "polyad/core/types.hpp"

namespace polyad::detail {

/// Rows of a group: 16 KB of 32 doubles.
inline constexpr count_t rows_of_merge_group = 64;

/// The lists as a kernel sees them: group g has chunks[starts[g]] ... chunks[starts[g + 1] - 1], in order.
struct MergeList {
  count_t const* starts;
  count_t const* chunks;
};

/// The lists of one mode, in memory that the kernels of `Space` read.
template <class Space>
class MergeLists {
public:
  using Numbers = Kokkos::View<count_t*, typename Space::device_type>;

  MergeLists() = default;
  /// \param merged  the range of all private rows; its first row begins the first group
  /// \param chunks  in host memory
  MergeLists(RowRange const& merged, std::span<PrivateRows const> chunks) {
    if (merged.empty()) return;
    count_t const groups = (merged.last - merged.first) / rows_of_merge_group + 1;
    OnHost const starts("polyad::merge_starts", groups + 2);
    auto const for_each = [&](auto const& f) {
      for (count_t s = 0; s < chunks.size(); ++s) {
        auto const& own = chunks[s];
        if (own.count == 0) continue;
        count_t const first = (own.first - merged.first) / rows_of_merge_group;
        count_t const last  = (own.first + own.count - 1 - merged.first) / rows_of_merge_group;
        for (count_t g = first; g <= last; ++g) f(g, s);
      }
    };
    // Group g is counted at g + 2 and written from the number at g + 1 on, which then is the start of g + 1.
    for_each([&](count_t g, count_t) { ++starts(g + 2); });
    for (count_t g = 2; g < groups + 2; ++g) starts(g) += starts(g - 1);
    OnHost const listed("polyad::merge_chunks", starts(groups + 1));
    for_each([&](count_t g, count_t s) { listed(starts(g + 1)++) = s; });
    typename Space::memory_space const memory;
    m_starts = Kokkos::create_mirror_view_and_copy(memory, starts);
    m_chunks = Kokkos::create_mirror_view_and_copy(memory, listed);
  }

  [[nodiscard]] MergeList list() const { return {m_starts.data(), m_chunks.data()}; }
  /// The entries of all lists.
  [[nodiscard]] count_t size() const { return m_chunks.extent(0); }

private:
  using OnHost = Kokkos::View<count_t*, typename HostOf<Space>::device_type>;

  Numbers m_starts;
  Numbers m_chunks;
};

}  // namespace polyad::detail
