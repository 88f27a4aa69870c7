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

  AltoCounts& operator+=(AltoCounts const& other) {
    nonzeros += other.nonzeros;
    groups += other.groups;
    first_misses += other.first_misses;
    second_misses += other.second_misses;
    return *this;
  }
};

/// Cycles per nonzero for the MTTKRPs of all modes at R = 32 in double (four lines of 64 bytes per row). The
/// model was fitted to two cores of an AMD EPYC (Zen 4). A line from the first-level cache takes one cycle. A
/// row from the second level takes 4 cycles more, and from the third another 16. Each group adds 40, for the
/// end of its loop, which is not predicted.
inline double alto_cycles(int order, int grouped, AltoCounts const& counts) {
  double const N = order, g = grouped;
  double const per_nonzero = 1.0 / static_cast<double>(std::max<count_t>(counts.nonzeros, 1));
  double const groups      = grouped == 0 ? 0 : static_cast<double>(counts.groups) * per_nonzero;
  // Rows read and written for a nonzero in the MTTKRPs of all modes. An ungrouped mode needs the rows of the
  // other ungrouped modes, and twice the output's. A grouped mode needs the rows of the ungrouped modes.
  double const rows       = (N - g) * (N - g - 1 + 2) + g * (N - g);
  double const group_rows = (N - g) * g + g * (g - 1 + 2);
  return 4 * (rows + groups * group_rows) + 40 * N * groups +
         N * per_nonzero *
             (4 * static_cast<double>(counts.first_misses) + 16 * static_cast<double>(counts.second_misses));
}

/// Examines an order in windows. A window has all nonzeros that share the uppermost bits of the linear form
/// with a randomly chosen nonzero.
template <class Scalar, class Index, class Space>
class AltoWindows {
public:
  explicit AltoWindows(CooTensor<Scalar, Index, Space> const& coo) : m_coo(coo) {
    for (auto& window : m_windows) window.nonzeros.reserve(2 * length);
  }

  AltoCounts look(AltoOrder const& order) {
    LinearLayout const layout(m_coo.extents(), order.grouped, order.slab, order.slab_bits);
    collect(layout);
    AltoCounts counts;
    for (auto& window : m_windows) {
      sort(layout, window);
      count(window, order.grouped, counts);
    }
    return counts;
  }

private:
  /// The least length of a window. Its first half fills the caches, and is not counted.
  static constexpr count_t length = count_t(1) << 12;

  struct Window {
    struct Bits {
      int mode;
      Index mask;  // bits that must be as the center's
    };
    std::array<Bits, max_order> bits;  // one entry a mode, those with the most bits first
    int modes;
    int depth;  // the number of all these bits
    std::array<Index, max_order> center;
    std::vector<std::pair<std::uint64_t, count_t>> nonzeros;  // linear form and position
  };

  [[nodiscard]] Index index(count_t p, int n) const { return m_coo.indices()(p, n); }

  [[nodiscard]] bool is_inside(Window const& window, count_t p) const {
    for (int k = 0; k < window.modes; ++k) {
      auto const [mode, mask] = window.bits[k];
      if (((index(p, mode) ^ window.center[mode]) & mask) != 0) return false;
    }
    return true;
  }

  /// Halves a window.
  static void deepen(LinearLayout const& layout, Window& window) {
    int const b      = layout.bits() - ++window.depth;
    auto const begin = window.bits.begin();
    auto end         = begin + window.modes;
    auto bits = std::find_if(begin, end, [&](auto const& entry) { return entry.mode == layout.mode_at(b); });
    if (bits == end) {
      *end++ = {layout.mode_at(b), Index(0)};
      ++window.modes;
    }
    bits->mask |= static_cast<Index>(Index(1) << layout.bit_at(b));
    std::sort(begin, end,
              [](auto const& x, auto const& y) { return std::popcount(x.mask) > std::popcount(y.mask); });
  }

  /// Fills the windows, unsorted, in one pass over the nonzeros.
  void collect(LinearLayout const& layout) {
    for (count_t w = 0; w < m_windows.size(); ++w) {
      auto& window         = m_windows[w];
      count_t const center = counter_bits(17, 0, w, 0) % m_coo.nnz();
      window.modes = window.depth = 0;
      for (int n = 0; n < layout.order(); ++n) window.center[n] = index(center, n);
      window.nonzeros.clear();
      // A sparse sample shows how many bits leave about as many nonzeros as a window needs.
      count_t const stride = std::max<count_t>(1, m_coo.nnz() / 4096);
      m_sample.clear();
      for (count_t p = 0; p < m_coo.nnz(); p += stride) m_sample.push_back(p);
      while (m_sample.size() * stride > 2 * length && window.depth < layout.bits()) {
        deepen(layout, window);
        std::erase_if(m_sample, [&](count_t p) { return !is_inside(window, p); });
      }
    }
    for (count_t p = 0; p < m_coo.nnz(); ++p)
      for (auto& window : m_windows)
        if (is_inside(window, p)) add(layout, window, p);
  }

  /// A full window is halved first, unless all its nonzeros share one cell.
  void add(LinearLayout const& layout, Window& window, count_t p) {
    while (window.nonzeros.size() == 2 * length && window.depth < layout.bits()) {
      deepen(layout, window);
      std::erase_if(window.nonzeros, [&](auto const& entry) { return !is_inside(window, entry.second); });
    }
    if (window.nonzeros.size() < 2 * length && is_inside(window, p)) window.nonzeros.emplace_back(0, p);
  }

  /// By up to 64 bits below the bits that all nonzeros of the window share.
  void sort(LinearLayout const& layout, Window& window) const {
    using Coordinates = CoordinatesOf<typename CooTensor<Scalar, Index, Space>::indices_type>;
    int const first   = std::max(0, layout.bits() - window.depth - LinearLayout::word_bits);
    for (auto& [form, p] : window.nonzeros) form = layout.bits_from(first, Coordinates{m_coo.indices(), p});
    std::sort(window.nonzeros.begin(), window.nonzeros.end());
  }

  void count(Window const& window, std::uint32_t grouped, AltoCounts& counts) const {
    constexpr std::size_t row_bytes = 32 * sizeof(Scalar);
    RowCache first((std::size_t(1) << 15) / row_bytes);   // 32 KB and 1 MB, as cores of servers have
    RowCache second((std::size_t(1) << 20) / row_bytes);  // at least
    auto const& nonzeros      = window.nonzeros;
    std::size_t const counted = nonzeros.size() / 2;
    for (std::size_t i = 0; i < nonzeros.size(); ++i) {
      count_t const p = nonzeros[i].second;
      bool begins     = i == 0;
      for (int n = 0; n < m_coo.order() && !begins; ++n)
        begins = (grouped >> n & 1U) != 0 && index(p, n) != index(nonzeros[i - 1].second, n);
      AltoCounts of_nonzero{1, begins ? count_t(1) : count_t(0), 0, 0};
      for (int n = 0; n < m_coo.order(); ++n) {
        if (!begins && (grouped >> n & 1U) != 0) continue;
        if (!first.misses(n, index(p, n))) continue;
        ++of_nonzero.first_misses;
        if (second.misses(n, index(p, n))) ++of_nonzero.second_misses;
      }
      if (i >= counted) counts += of_nonzero;
    }
  }

  CooTensor<Scalar, Index, Space> m_coo;
  std::array<Window, 2> m_windows;
  std::vector<count_t> m_sample;
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

/// The first candidates: ALTO's order, and orders with one mode, two modes or all modes but one grouped. From
/// six modes on there are no pairs.
inline std::vector<AltoOrder> alto_candidates(Extents const& extents) {
  int const order = extents.order();
  std::vector<AltoOrder> candidates{AltoOrder{}};
  for (std::uint32_t grouped = 1; grouped + 1 < std::uint32_t(1) << order; ++grouped) {
    int const g = std::popcount(grouped);
    if (g > 2 && g < order - 1) continue;
    if (order > 5 && g == 2) continue;
    candidates.push_back({grouped, 0, 0, false});
  }
  return candidates;
}

/// A grouped order in slabs of about 1024 rows of another mode, for each such mode that is longer than two
/// slabs.
inline std::vector<AltoOrder> slabs_of(AltoOrder const& whole, Extents const& extents) {
  constexpr int slab_rows_bits = 10;
  std::vector<AltoOrder> slabs;
  if (whole.grouped == 0) return slabs;
  for (int n = 0; n < extents.order(); ++n)
    if ((whole.grouped >> n & 1U) == 0 && bits_for(extents[n]) > slab_rows_bits + 1)
      slabs.push_back({whole.grouped, n, bits_for(extents[n]) - slab_rows_bits, false});
  return slabs;
}

/// An order, and what was predicted for it.
struct RatedOrder {
  AltoOrder order;
  double cycles;
};

/// The candidates, the fastest first. Each costs a pass over the indices. `space` must be idle.
/// \throws std::bad_alloc
template <class Scalar, class Index, class Space>
std::vector<RatedOrder> rate_orders(Space const& space, CooTensor<Scalar, Index, Space> const& coo,
                                    std::vector<AltoOrder> const& candidates) {
  std::vector<AltoCounts> counts(candidates.size());
  count_t const workers = std::max(1, space.concurrency());
  std::vector<AltoWindows<Scalar, Index, Space>> windows;
  for (count_t w = 0; w < workers; ++w) windows.emplace_back(coo);
  std::atomic<bool> out_of_memory{false};
  Kokkos::parallel_for("polyad::rate_orders",
                       Kokkos::RangePolicy<Space, Kokkos::IndexType<count_t>>(space, 0, workers),
                       LookAtOrders<Scalar, Index, Space>{candidates.data(), candidates.size(), workers,
                                                          windows.data(), counts.data(), &out_of_memory});
  space.fence("polyad::rate_orders");
  if (out_of_memory) throw std::bad_alloc();
  std::vector<RatedOrder> rated;
  for (std::size_t c = 0; c < candidates.size(); ++c) {
    AltoOrder order = candidates[c];
    // A prefetch pays if a nonzero's rows often come from the third-level cache or from memory.
    order.prefetch = 2 * counts[c].second_misses > counts[c].nonzeros;
    double cycles  = alto_cycles(coo.order(), std::popcount(order.grouped), counts[c]);
    if (order.grouped == 0) cycles *= 0.9;  // another order must be a tenth faster than ALTO's
    rated.push_back({order, cycles});
  }
  std::stable_sort(rated.begin(), rated.end(),
                   [](auto const& x, auto const& y) { return x.cycles < y.cycles; });
  return rated;
}

/// The order with the least predicted time for the MTTKRPs of all modes on a host. Slabs are tried for the
/// two best groupings. Waits for `space`.
/// \throws std::bad_alloc
template <class Scalar, class Index, class Space>
AltoOrder fastest_order(Space const& space, CooTensor<Scalar, Index, Space> const& coo) {
  if (coo.nnz() == 0) return {};
  space.fence("polyad::fastest_order");  // the tensor may still be under way
  auto rated = rate_orders(space, coo, alto_candidates(coo.extents()));
  std::vector<AltoOrder> in_slabs;
  for (std::size_t c = 0; c < std::min<std::size_t>(2, rated.size()); ++c)
    for (auto const& order : slabs_of(rated[c].order, coo.extents())) in_slabs.push_back(order);
  if (!in_slabs.empty()) {
    auto const rated_slabs = rate_orders(space, coo, in_slabs);
    if (rated_slabs[0].cycles < rated[0].cycles) rated[0] = rated_slabs[0];
  }
  return rated[0].order;
}

}  // namespace polyad::detail
