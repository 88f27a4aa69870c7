// SPDX-License-Identifier: BSD-3-Clause
// Finds the fastest order of the nonzeros on a host. ALTO's order treats all modes alike and keeps their rows
// in cache. Another order may group nonzeros that share the indices of some modes. The rows of these grouped
// modes then stay in registers, so a nonzero needs fewer rows. Which order is faster depends on the tensor.
// Therefore a few windows of each candidate order are examined. They give the lengths of the groups, and the
// rows that a first-level and a second-level cache would miss.
#pragma once

#include <Kokkos_Core.hpp>
#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cstdint>
#include <new>
#include <utility>
#include <vector>

#include "formats/blco/build/alto_order.hpp"
#include "polyad/core/counter_rng.hpp"
#include "polyad/core/sort.hpp"
#include "polyad/core/types.hpp"
#include "polyad/tensor/coo_tensor.hpp"
#include "tensor/linearize.hpp"

namespace polyad::detail {

/// A simulated cache for `rows` rows, with 8 ways and LRU replacement.
class RowCache {
public:
  explicit RowCache(std::size_t rows) : m_sets(std::bit_floor(rows / ways)), m_tags(m_sets * ways, 0) {}

  bool misses(int mode, count_t row) {
    std::uint64_t const hash =
        (row * max_order + mode + 1) * 0x9E3779B97F4A7C15U;  // spreads over the upper bits
    std::uint64_t* const set  = m_tags.data() + (hash >> 40) % m_sets * ways;
    std::uint64_t* const end  = set + ways;
    std::uint64_t* const same = std::find(set, end, hash);
    bool const missed         = same == end;
    std::move_backward(set, missed ? end - 1 : same, missed ? end : same + 1);
    set[0] = hash;
    return missed;
  }

private:
  static constexpr std::size_t ways = 8;
  std::size_t m_sets;
  std::vector<std::uint64_t> m_tags;
};

/// Counts in a simulated walk over some nonzeros.
struct AltoCounts {
  count_t nonzeros      = 0;
  count_t groups        = 0;
  count_t first_misses  = 0;  // rows that were not in the first-level cache
  count_t second_misses = 0;  // nor in the second-level one
};

/// Cycles per nonzero for the MTTKRPs of all modes at R = 32 in double (four lines of 64 bytes per row). The
/// model was fitted to two cores of an AMD EPYC (Zen 4). A line from the first-level cache takes one cycle. A
/// row from the second level takes 4 cycles more, and from the third another 16. Each group adds 20, for the
/// end of its loop.
inline double alto_cycles(int order, int grouped, AltoCounts const& counts) {
  double const N = order, g = grouped;
  double const per_nonzero = 1.0 / static_cast<double>(std::max<count_t>(counts.nonzeros, 1));
  double const groups      = grouped == 0 ? 0 : static_cast<double>(counts.groups) * per_nonzero;
  // Rows read and written for a nonzero in the MTTKRPs of all modes. An ungrouped mode needs the rows of the
  // other ungrouped modes, and twice the output's. A grouped mode needs the rows of the ungrouped modes.
  double const rows       = (N - g) * (N - g - 1 + 2) + g * (N - g);
  double const group_rows = (N - g) * g + g * (g - 1 + 2);
  return 4 * (rows + groups * group_rows) + 20 * N * groups +
         N * per_nonzero *
             (4 * static_cast<double>(counts.first_misses) + 16 * static_cast<double>(counts.second_misses));
}

/// Examines an order in windows. A window has all nonzeros that share the uppermost bits of the linear form
/// with a randomly chosen nonzero.
template <class Scalar, class Index, class Space>
class AltoWindows {
public:
  static constexpr count_t windows = 2;

  /// The least length of a window: eight times the rows of a cache.
  static constexpr count_t length = count_t(1) << 15;

  explicit AltoWindows(CooTensor<Scalar, Index, Space> const& coo) : m_coo(coo) {
    m_window.reserve(2 * length);
  }

  AltoCounts look(AltoOrder const& order) {
    LinearLayout const layout(m_coo.extents(), order.grouped, order.slab, order.slab_bits);
    AltoCounts counts;
    for (count_t w = 0; w < windows; ++w) {
      collect(layout, counter_bits(17, 0, w, 0) % m_coo.nnz());
      std::sort(m_window.begin(), m_window.end());
      count(order.grouped, counts);
    }
    return counts;
  }

private:
  [[nodiscard]] Index index(count_t p, int n) const { return m_coo.indices()(p, n); }

  /// Fills the window around nonzero `center`: (linear form, position), unsorted.
  void collect(LinearLayout const& layout, count_t center) {
    std::array<Index, max_order> mask{};  // the bits that must be as the center's
    int depth         = 0;
    auto const deepen = [&] {
      int const b = layout.bits() - ++depth;
      mask[layout.mode_at(b)] |= static_cast<Index>(Index(1) << layout.bit_at(b));
    };
    auto const inside = [&](count_t p) {
      for (int n = 0; n < layout.order(); ++n)
        if (((index(p, n) ^ index(center, n)) & mask[n]) != 0) return false;
      return true;
    };
    // A sparse sample shows how many bits leave about as many nonzeros as a window needs.
    count_t const stride = std::max<count_t>(1, m_coo.nnz() / 8192);
    for (bool enough = false; !enough && depth < layout.bits();) {
      count_t sampled = 0;
      for (count_t p = 0; p < m_coo.nnz(); p += stride) sampled += inside(p) ? 1 : 0;
      enough = sampled * stride <= 2 * length;
      if (!enough) deepen();
    }
    m_window.clear();
    for (count_t p = 0; p < m_coo.nnz(); ++p) {
      if (!inside(p)) continue;
      while (m_window.size() == 2 * length && depth < layout.bits()) {
        deepen();
        std::erase_if(m_window, [&](auto const& entry) { return !inside(entry.second); });
      }
      if (m_window.size() == 2 * length) break;  // that many nonzeros share one cell
      if (inside(p)) m_window.emplace_back(0, p);
    }
    // Up to 64 bits below the bits that all nonzeros of the window share.
    int const first = std::max(0, layout.bits() - depth - LinearLayout::word_bits);
    for (auto& entry : m_window)
      entry.first =
          layout.bits_from(first, CoordinatesOf<typename CooTensor<Scalar, Index, Space>::indices_type>{
                                      m_coo.indices(), entry.second});
  }

  void count(std::uint32_t grouped, AltoCounts& counts) const {
    constexpr std::size_t row_bytes = 32 * sizeof(Scalar);
    RowCache first((std::size_t(1) << 15) / row_bytes);   // 32 KB and 1 MB, as cores of servers have
    RowCache second((std::size_t(1) << 20) / row_bytes);  // at least
    auto const read = [&](count_t p, int n) {
      if (!first.misses(n, index(p, n))) return;
      ++counts.first_misses;
      if (second.misses(n, index(p, n))) ++counts.second_misses;
    };
    for (std::size_t i = 0; i < m_window.size(); ++i) {
      count_t const p = m_window[i].second;
      bool begins     = i == 0;
      for (int n = 0; n < m_coo.order() && !begins; ++n)
        begins = (grouped >> n & 1U) != 0 && index(p, n) != index(m_window[i - 1].second, n);
      if (begins) ++counts.groups;
      for (int n = 0; n < m_coo.order(); ++n)
        if (begins || (grouped >> n & 1U) == 0) read(p, n);
    }
    counts.nonzeros += m_window.size();
  }

  CooTensor<Scalar, Index, Space> m_coo;
  std::vector<std::pair<std::uint64_t, count_t>> m_window;
};

/// Worker w examines every workers-th candidate.
template <class Scalar, class Index, class Space>
struct LookAtOrders {
  AltoOrder const* candidates;
  std::size_t count;
  count_t workers;
  AltoWindows<Scalar, Index, Space>* windows;  // one a worker
  AltoCounts* counts;
  std::atomic<bool>* out_of_memory;  // an exception must not leave a kernel; any thread may set it

  void operator()(count_t w) const {
    try {
      for (count_t c = w; c < count; c += workers) counts[c] = windows[w].look(candidates[c]);
    } catch (std::bad_alloc const&) {
      *out_of_memory = true;
    }
  }
};

/// The candidates: ALTO's order, and orders with one mode, two modes or all modes but one grouped. From six
/// modes on there are no pairs. Each grouped order also comes in slabs of about 1024 rows of another mode, if
/// that mode is longer than two slabs.
inline std::vector<AltoOrder> alto_candidates(Extents const& extents) {
  constexpr int slab_rows_bits = 10;
  int const order              = extents.order();
  std::vector<AltoOrder> candidates{AltoOrder{}};
  for (std::uint32_t grouped = 1; grouped + 1 < std::uint32_t(1) << order; ++grouped) {
    int const g = std::popcount(grouped);
    if (g > 2 && g < order - 1) continue;
    if (order > 5 && g == 2) continue;
    candidates.push_back({grouped, 0, 0, false});
    for (int n = 0; n < order; ++n)
      if ((grouped >> n & 1U) == 0 && bits_for(extents[n]) > slab_rows_bits + 1)
        candidates.push_back({grouped, n, bits_for(extents[n]) - slab_rows_bits, false});
  }
  return candidates;
}

/// The order with the least predicted time for the MTTKRPs of all modes on a host. It is ALTO's unless
/// another one is a tenth faster. Each candidate costs a few passes over the indices. Waits for `space`.
/// \throws std::bad_alloc
template <class Scalar, class Index, class Space>
AltoOrder fastest_order(Space const& space, CooTensor<Scalar, Index, Space> const& coo) {
  if (coo.nnz() == 0) return {};
  auto const candidates = detail::alto_candidates(coo.extents());
  std::vector<detail::AltoCounts> counts(candidates.size());
  count_t const workers = std::max(1, space.concurrency());
  std::vector<detail::AltoWindows<Scalar, Index, Space>> windows;
  for (count_t w = 0; w < workers; ++w) windows.emplace_back(coo);
  std::atomic<bool> out_of_memory{false};
  space.fence("polyad::fastest_order");  // the tensor may still be under way
  Kokkos::parallel_for(
      "polyad::fastest_order", Kokkos::RangePolicy<Space, Kokkos::IndexType<count_t>>(space, 0, workers),
      detail::LookAtOrders<Scalar, Index, Space>{candidates.data(), candidates.size(), workers,
                                                 windows.data(), counts.data(), &out_of_memory});
  space.fence("polyad::fastest_order");
  if (out_of_memory) throw std::bad_alloc();

  AltoOrder best = candidates[0];
  std::size_t at = 0;
  double least   = 0.9 * detail::alto_cycles(coo.order(), 0, counts[0]);
  for (std::size_t c = 1; c < candidates.size(); ++c) {
    double const cycles = detail::alto_cycles(coo.order(), std::popcount(candidates[c].grouped), counts[c]);
    if (cycles >= least) continue;
    least = cycles;
    best  = candidates[c];
    at    = c;
  }
  // A prefetch pays if a nonzero's rows often come from the third-level cache or from memory.
  best.prefetch = 2 * counts[at].second_misses > counts[at].nonzeros;
  return best;
}

}  // namespace polyad::detail
