// SPDX-License-Identifier: BSD-3-Clause
// The private rows (formats/blco/storage/private_rows.hpp) of every chunk, mode by mode.
#pragma once

#include <Kokkos_Core.hpp>
#include <span>
#include <vector>

#include "core/host_side.hpp"
#include "formats/blco/build/touched_rows.hpp"
#include "formats/blco/storage/private_rows.hpp"
#include "polyad/core/types.hpp"

namespace polyad::detail {

template <class Space>
class PrivateRowTable {
public:
  PrivateRowTable() = default;
  /// For a tensor with `modes` modes, cut into `chunks` chunks.
  PrivateRowTable(Space const& space, int modes, count_t chunks)
      : m_chunks(chunks),
        m_rows(uninitialized(space, "polyad::private_rows"), modes, chunks),
        m_merged(modes),
        m_copied(modes, 0) {}

  /// Adds a mode to the table, given the rows that each chunk touches. `cheap` as in private_rows(). Waits
  /// for `space`.
  template <class Touched>
  void enter(Space const& space, int mode, Touched const& touched, count_t cheap = 0) {
    auto const host = on_host(space, "the rows that chunks touch", touched);
    auto const own  = private_rows(std::span<RowRange const>(host.data(), host.size()), cheap);
    RowRange merged;
    for (auto const& rows : own)
      if (rows.count > 0) merged.include(RowRange{rows.first, rows.first + rows.count - 1});
    m_merged[mode] = merged;
    m_copied[mode] = own.back().slot + own.back().count;
    Kokkos::View<PrivateRows const*, Kokkos::HostSpace, Kokkos::MemoryUnmanaged> const entries(own.data(),
                                                                                               own.size());
    Kokkos::deep_copy(space, Kokkos::subview(m_rows, mode, Kokkos::ALL), entries);
    space.fence("polyad::private_rows");
  }

  [[nodiscard]] count_t chunks() const { return m_chunks; }
  /// One entry per chunk, in memory that kernels read.
  [[nodiscard]] PrivateRows const* of(int mode) const { return m_rows.data() + mode * m_chunks; }
  /// The same as a view.
  [[nodiscard]] auto rows(int mode) const { return Kokkos::subview(m_rows, mode, Kokkos::ALL); }
  /// Rows of all copies of a mode.
  [[nodiscard]] count_t copied_rows(int mode) const { return m_copied.empty() ? 0 : m_copied[mode]; }
  /// The range of all private rows of a mode.
  [[nodiscard]] RowRange const& merged(int mode) const { return m_merged[mode]; }

private:
  count_t m_chunks = 0;
  Kokkos::View<PrivateRows**, Kokkos::LayoutRight, typename Space::device_type> m_rows;  // modes x chunks
  std::vector<RowRange> m_merged;
  std::vector<count_t> m_copied;
};

}  // namespace polyad::detail
