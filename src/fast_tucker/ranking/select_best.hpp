// SPDX-License-Identifier: BSD-3-Clause
// SelectBest merges each query's scores of a block of rows into the best rows of the blocks before. Each team
// has a list: a slice of the block's columns for one query. It
//
//   1. drops the scores that do not exceed the least of a full list: nearly all after the first block,
//   2. finds the n-th largest of the rest, byte by byte of an order-preserving key (radix selection),
//   3. takes the larger ones, and of those equal to it the first, in the order of the rows.
//
// Lists keep the order of their rows, so that the lower row wins if scores are equal. Nothing is sorted here.
#pragma once

#include <Kokkos_Core.hpp>
#include <cstdint>

#include "kernel/launch_shape.hpp"
#include "polyad/core/types.hpp"
#include "polyad/tensor/factor_matrices.hpp"

namespace polyad::detail {

/// The best rows so far; each list has a row of the Views.
template <class Space>
struct BestLists {
  Kokkos::View<double**, Kokkos::LayoutRight, typename Space::device_type> scores;
  Kokkos::View<count_t**, Kokkos::LayoutRight, typename Space::device_type> rows;
  Kokkos::View<count_t*, typename Space::device_type> counts;
};

/// Unsigned numbers in the order of the doubles; 0.0 and -0.0 are the same.
KOKKOS_INLINE_FUNCTION std::uint64_t ordered_key(double x) {
  constexpr std::uint64_t sign = std::uint64_t(1) << 63;
  auto const bits              = Kokkos::bit_cast<std::uint64_t>(x + 0.0);
  return (bits & sign) != 0 ? ~bits : bits | sign;
}

template <class Space, class Scalar>
struct SelectBest {
  static constexpr int bins = 256;
  /// Columns that a thread examines at once. On a host there are enough for the loop to be vectorised.
  static constexpr count_t strip = items_per_thread<Space>(1, 64);

  FactorMatrix<Scalar, Space> products;  // Q x K; minus infinity: left out
  double const* base;                    // Q numbers
  Scalar const* bias;                    // biases of the mode's rows, or null
  count_t first;                         // row of the first column
  count_t columns;                       // K of this block
  count_t groups;                        // lists of a query
  count_t slice;                         // columns of a list
  count_t wanted;                        // n
  BestLists<Space> from;
  BestLists<Space> to;
  Kokkos::View<std::uint32_t**, Kokkos::LayoutRight, typename Space::device_type> kept;  // Q x K
  Kokkos::View<int, typename Space::device_type> not_finite;

  [[nodiscard]] KOKKOS_FUNCTION double score(count_t q, count_t k) const {
    return static_cast<double>(products(q, k)) + base[q] +
           (bias == nullptr ? 0.0 : static_cast<double>(bias[first + k]));
  }

  /// How many of the columns first ... last - 1 have scores above `least`.
  [[nodiscard]] KOKKOS_FORCEINLINE_FUNCTION count_t above(count_t q, count_t first, count_t last,
                                                          double least) const {
    constexpr double infinity = Kokkos::Experimental::infinity_v<double>;
    Scalar const* const row   = &products(q, 0);
    count_t count = 0, bad = 0;
    for (count_t k = first; k < last; ++k) {
      double const x = static_cast<double>(row[k]) + base[q] +
                       (bias == nullptr ? 0.0 : static_cast<double>(bias[this->first + k]));
      count += x > least ? 1 : 0;
      bad += x < infinity ? 0 : 1;
    }
    if (bad > 0) not_finite() = 1;  // all threads that write here write the same
    return count;
  }
  /// Writes these columns to `kept`, from position `at` on.
  KOKKOS_FUNCTION void write_above(count_t q, count_t first, count_t last, double least, count_t at) const {
    for (count_t k = first; k < last; ++k)
      if (score(q, k) > least) kept(q, at++) = static_cast<std::uint32_t>(k);
  }

  /// The shared data of a team's threads.
  struct Pad {
    std::uint32_t counts[bins];
    count_t kept;
    std::uint64_t prefix;
    count_t need;
    bool whole;  // all of the bin are taken
  };

  /// The scores of a list: the best so far, then the kept columns of the block.
  struct Items {
    SelectBest const& kernel;
    count_t list, q, begin, carried;
    [[nodiscard]] KOKKOS_FUNCTION count_t column(count_t i) const {
      return kernel.kept(q, begin + i - carried);
    }
    [[nodiscard]] KOKKOS_FUNCTION double score(count_t i) const {
      return i < carried ? kernel.from.scores(list, i) : kernel.score(q, column(i));
    }
    [[nodiscard]] KOKKOS_FUNCTION count_t row(count_t i) const {
      return i < carried ? kernel.from.rows(list, i) : kernel.first + column(i);
    }
  };

  /// Keeps the columns whose scores may be among the best. All threads call it.
  template <class Member>
  KOKKOS_FUNCTION void keep(Member const& member, Items const& items, count_t end, Pad* pad) const {
    double least = -Kokkos::Experimental::infinity_v<double>;
    if (items.carried == wanted)
      Kokkos::parallel_reduce(
          Kokkos::TeamThreadRange(member, items.carried),
          [&](count_t const i, double& smallest) {
            smallest = Kokkos::min(smallest, from.scores(items.list, i));
          },
          Kokkos::Min<double>(least));
    Kokkos::single(Kokkos::PerTeam(member), [&] { pad->kept = 0; });
    member.team_barrier();
    count_t const q = items.q, begin = items.begin;
    Kokkos::parallel_scan(Kokkos::TeamThreadRange(member, ceil_div(end - begin, strip)),
                          [&](count_t const s, count_t& position, bool const final) {
                            count_t const first = begin + s * strip;
                            count_t const last  = Kokkos::min(end, first + strip);
                            count_t const count = above(q, first, last, least);
                            if (final && count > 0) write_above(q, first, last, least, begin + position);
                            position += count;
                            if (final && last == end) pad->kept = position;
                          });
    member.team_barrier();
  }

  /// Finds the leading bits of the n-th largest of `items`. All threads call it. Sets pad->prefix to these
  /// bits, and pad->need to the number of scores with this prefix that are among the best. Returns the mask
  /// of the bits.
  template <class Member>
  KOKKOS_FUNCTION std::uint64_t find_least(Member const& member, Items const& items, count_t count,
                                           Pad* pad) const {
    Kokkos::single(Kokkos::PerTeam(member), [&] {
      pad->prefix = 0;
      pad->need   = Kokkos::min(count, wanted);
      pad->whole  = false;
    });
    member.team_barrier();
    std::uint64_t mask = 0;
    if (count <= wanted) return mask;
    for (int shift = 56; shift >= 0; shift -= 8) {
      Kokkos::parallel_for(Kokkos::TeamThreadRange(member, bins), [&](int const b) { pad->counts[b] = 0; });
      member.team_barrier();
      std::uint64_t const prefix = pad->prefix;
      Kokkos::parallel_for(Kokkos::TeamThreadRange(member, count), [&](count_t const i) {
        std::uint64_t const key = ordered_key(items.score(i));
        // The team's other threads count in the same bins.
        if ((key & mask) == prefix) Kokkos::atomic_inc(&pad->counts[(key >> shift) & (bins - 1)]);
      });
      member.team_barrier();
      Kokkos::single(Kokkos::PerTeam(member), [&] {
        int bin = bins - 1;
        for (; pad->counts[bin] < pad->need; --bin) pad->need -= pad->counts[bin];
        pad->prefix |= static_cast<std::uint64_t>(bin) << shift;
        pad->whole = pad->counts[bin] == pad->need;
      });
      member.team_barrier();
      mask |= static_cast<std::uint64_t>(bins - 1) << shift;
      if (pad->whole) break;
    }
    return mask;
  }

  template <class Member>
  KOKKOS_FUNCTION void operator()(Member const& member) const {
    auto const list     = static_cast<count_t>(member.league_rank());
    count_t const q     = list / groups;
    count_t const begin = Kokkos::min(columns, list % groups * slice);
    count_t const end   = Kokkos::min(columns, begin + slice);
    auto* const pad = static_cast<Pad*>(member.team_scratch(0).get_shmem_aligned(sizeof(Pad), alignof(Pad)));
    Items const items{*this, list, q, begin, from.counts(list)};
    keep(member, items, end, pad);
    count_t const count         = items.carried + pad->kept;
    std::uint64_t const mask    = find_least(member, items, count, pad);
    std::uint64_t const prefix  = pad->prefix;
    count_t const need          = pad->need;
    constexpr std::uint64_t low = 0xffffffff;
    // The scan counts larger scores in the upper half of a number and equal ones in the lower half.
    Kokkos::parallel_scan(Kokkos::TeamThreadRange(member, count),
                          [&](count_t const i, std::uint64_t& before, bool const final) {
                            double const x          = items.score(i);
                            std::uint64_t const key = ordered_key(x) & mask;
                            count_t const equals    = before & low;
                            if (final && (key > prefix || (key == prefix && equals < need))) {
                              count_t const position    = (before >> 32) + Kokkos::min(equals, need);
                              to.scores(list, position) = x;
                              to.rows(list, position)   = items.row(i);
                            }
                            before += key > prefix ? low + 1 : key == prefix ? 1 : 0;
                          });
    Kokkos::single(Kokkos::PerTeam(member), [&] { to.counts(list) = Kokkos::min(count, wanted); });
  }
};

}  // namespace polyad::detail
