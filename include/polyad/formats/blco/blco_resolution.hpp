// SPDX-License-Identifier: BSD-3-Clause
// How threads that add to the same row of V stay out of each other's way (BLCO, sections 5.1 to 5.3), and which
// rows of V are kept in copies for it.
#pragma once

#include <Kokkos_Core.hpp>
#include <algorithm>

#include "polyad/core/rank_dispatch.hpp"
#include "polyad/core/spaces.hpp"
#include "polyad/formats/blco/blco_blocks.hpp"

namespace polyad {

enum class Resolution {
  automatic,     // the paper's heuristic on a device; on a host privatised, unless its copies would be long
  registers,     // sums in registers, added to V with atomics
  hierarchical,  // sums in registers, then in a stash in scratch memory, then in one of several copies of V
  privatised     // device: sums in registers, added to one of several copies of V. Host: a copy of the rows
                 // that a thread's part of the nonzeros touches, to which every product is added at once
};

/// GPU threads in the largest team, and how many such teams a multiprocessor is to hold: 64 registers a thread
/// are enough for doubles (two columns a lane), not for floats (four).
inline constexpr int blco_team_threads = 256;
template <class Scalar>
inline constexpr int blco_resident_teams = sizeof(Scalar) == sizeof(double) ? 4 : 3;
/// Copies of V: one for each group of multiprocessors (GPC) of a GH100.
inline constexpr count_t blco_copies = 8;

/// Multiprocessors of a device (each holds 2048 threads), or the threads of a host.
template <class Space>
count_t multiprocessors(Space const& space) {
  constexpr int threads = is_device_space<Space> ? 2048 : 1;
  return static_cast<count_t>(std::max(1, space.concurrency() / threads));
}

/// Scratch memory of a team that the kernels may use. On a device that is 48 KiB less what Kokkos keeps for a
/// team of 256 threads; scratch_size_max, which a host's teams go by, allows for teams of 1024.
template <class Space>
count_t scratch_bytes() {
  constexpr count_t device = 45 * 1024;
  return is_device_space<Space> ? device : static_cast<count_t>(Kokkos::TeamPolicy<Space>::scratch_size_max(0));
}

/// One mode of a host's parts, as a kernel sees it. On a device there are none.
struct PartRows {
  count_t count;          // parts
  count_t const* begins;  // the first nonzero of every part, and P
  count_t const* lows;    // the first row that a part touches
  count_t const* firsts;  // where its copies of these rows stand among those of all parts, and how many there are

  [[nodiscard]] KOKKOS_FUNCTION count_t rows(count_t part) const { return firsts[part + 1] - firsts[part]; }
};

/// A host's parts: as many stretches of the nonzeros as threads, and the range of rows of each mode that each of
/// them touches. In ALTO's order a part is a box of cells, or little more.
class BlcoParts {
public:
  BlcoParts() = default;

  /// Waits for `space`.
  template <class Space, class Scalar, class Index>
  BlcoParts(Space const& space, BlcoNonzeros<Scalar, Index> const& nonzeros);

  [[nodiscard]] count_t count() const { return m_begins.extent(0) == 0 ? 0 : m_begins.extent(0) - 1; }
  [[nodiscard]] PartRows of_mode(int mode) const {
    if (count() == 0) return {0, nullptr, nullptr, nullptr};
    return {count(), m_begins.data(), &m_lows(static_cast<count_t>(mode), 0),
            &m_firsts(static_cast<count_t>(mode), 0)};
  }
  /// Rows of all copies of a mode.
  [[nodiscard]] count_t copied_rows(int mode) const {
    return count() == 0 ? 0 : m_firsts(static_cast<count_t>(mode), count());
  }

private:
  using Numbers = Kokkos::View<count_t*, Kokkos::HostSpace>;
  using Table   = Kokkos::View<count_t**, Kokkos::LayoutRight, Kokkos::HostSpace>;
  Numbers m_begins;  // parts + 1
  Table m_lows;      // N x parts
  Table m_firsts;    // N x (parts + 1)
};

namespace detail {

template <class Scalar, class Index, class Numbers, class Table>
struct FindRowRanges {
  BlcoNonzeros<Scalar, Index> nonzeros;
  Numbers begins;
  Table lows;
  Table highs;  // one behind the last
  KOKKOS_FUNCTION void operator()(count_t part) const {
    Index low[max_order];
    Index high[max_order];
    for (count_t p = begins(part); p < begins(part + 1); ++p) {
      bool const is_first = p == begins(part);
      nonzeros.for_each_index(p, nonzeros.block_of(p), [&](int n, Index index) {
        low[n]  = is_first || index < low[n] ? index : low[n];
        high[n] = is_first || index > high[n] ? index : high[n];
      });
    }
    for (int n = 0; n < nonzeros.encoding.order(); ++n) {
      auto const mode   = static_cast<count_t>(n);
      lows(mode, part)  = low[n];
      highs(mode, part) = static_cast<count_t>(high[n]) + 1;
    }
  }
};

}  // namespace detail

template <class Space, class Scalar, class Index>
BlcoParts::BlcoParts(Space const& space, BlcoNonzeros<Scalar, Index> const& nonzeros) {
  if constexpr (!is_device_space<Space>) {
    if (nonzeros.nnz == 0) return;
    auto const order    = static_cast<count_t>(nonzeros.encoding.order());
    count_t const parts = std::min(nonzeros.nnz, multiprocessors(space));
    m_begins            = Numbers("polyad::blco_parts", parts + 1);
    m_lows              = Table("polyad::blco_lows", order, parts);
    m_firsts            = Table("polyad::blco_firsts", order, parts + 1);
    Table const highs("polyad::blco_highs", order, parts);
    count_t const share = nonzeros.nnz / parts;
    count_t const left  = nonzeros.nnz % parts;
    for (count_t part = 0; part <= parts; ++part) m_begins(part) = part * share + std::min(part, left);
    Kokkos::parallel_for("polyad::find_row_ranges",
                         Kokkos::RangePolicy<Space, Kokkos::IndexType<count_t>>(space, 0, parts),
                         detail::FindRowRanges<Scalar, Index, Numbers, Table>{nonzeros, m_begins, m_lows, highs});
    space.fence("polyad::blco_parts");
    for (count_t n = 0; n < order; ++n)
      for (count_t part = 0; part < parts; ++part)
        m_firsts(n, part + 1) = m_firsts(n, part) + highs(n, part) - m_lows(n, part);
  }
}

/// The resolution of one mode.
struct BlcoResolution {
  Resolution kind;      // never automatic
  count_t copies;       // of V, whole; 0 where none are kept or they are a host's parts
  count_t copied_rows;  // rows of all copies

  /// `wanted` is what the caller asked for. A mode too long for a stash is resolved in registers.
  template <class Space>
  BlcoResolution(Space const& space, Resolution wanted, count_t rows, count_t scalar_bytes, count_t nnz,
                 BlcoParts const& parts, int mode) {
    // A quarter of the scratch memory is left for the tile.
    bool const stash_fits  = rows <= scratch_bytes<Space>() * 3 / 4 / (scalar_bytes * full_block);
    bool const is_parted   = !is_device_space<Space>;
    count_t const parts_of = parts.count() == 1 ? 0 : parts.copied_rows(mode);  // one part writes to V itself
    kind                   = wanted;
    if (wanted == Resolution::automatic) {
      if (is_parted)  // clearing and merging a row costs about what a nonzero costs
        kind = parts_of <= nnz ? Resolution::privatised : Resolution::registers;
      else
        kind = rows < multiprocessors(space) ? Resolution::hierarchical : Resolution::registers;
    }
    if (kind == Resolution::hierarchical && !stash_fits) kind = Resolution::registers;
    copies = kind == Resolution::hierarchical || (kind == Resolution::privatised && !is_parted) ? blco_copies : 0;
    copied_rows = copies > 0 ? checked_product("the copies of V", copies, rows)
                             : (kind == Resolution::privatised ? parts_of : 0);
  }
};

}  // namespace polyad
