// SPDX-License-Identifier: BSD-3-Clause
// SeenRows: for each query, the rows of a mode that occur in entries with the query's indices. Queries that
// average over the same modes form a group, sorted by their other indices. Each entry searches its own
// indices in every group.
#pragma once

#include <Kokkos_Core.hpp>
#include <algorithm>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "polyad/fast_tucker/recommend.hpp"

namespace polyad::detail {

/// The rows of query q are rows(starts(slots(q))) ... rows(starts(slots(q) + 1) - 1), in any order, some more
/// than once: queries of equal indices share a slot.
template <class Space>
struct SeenRows {
  using Numbers = Kokkos::View<count_t*, typename Space::device_type>;
  Numbers slots;
  Numbers starts;
  Numbers rows;
};

template <class Space>
Kokkos::View<count_t*, typename Space::device_type> numbers_from(Space const& space, char const* label,
                                                                 std::vector<count_t> const& host) {
  expect_fits(space, label, host.size(), sizeof(count_t));
  Kokkos::View<count_t*, typename Space::device_type> const numbers(uninitialized(space, label), host.size());
  Kokkos::deep_copy(
      space, numbers,
      Kokkos::View<count_t const*, Kokkos::HostSpace, Kokkos::MemoryUnmanaged>(host.data(), host.size()));
  space.fence("polyad::numbers_from");
  return numbers;
}

/// Counts the entries of each key, or writes their rows.
template <class Space, class Index>
struct FindSeen {
  using Numbers = Kokkos::View<count_t*, typename Space::device_type>;

  Index const* indices;
  int order;
  int mode;
  count_t mode_rows;
  Kokkos::Array<bool, max_order> given;  // among the modes but `mode`; the others' numbers are 0 in all keys
  Numbers keys;                          // U x (N - 1), sorted
  count_t key_count;
  count_t first_slot;
  Numbers next;  // counts, or where the next row goes
  Numbers rows;  // empty: only counted

  /// Whether key u is less than entry p's.
  [[nodiscard]] KOKKOS_FUNCTION int compare(count_t u, Index const* index) const {
    int position = 0;
    for (int n = 0; n < order; ++n) {
      if (n == mode) continue;
      count_t const own = given[static_cast<std::size_t>(position)] ? static_cast<count_t>(index[n]) : 0;
      count_t const key = keys(u * static_cast<count_t>(order - 1) + static_cast<count_t>(position));
      if (key != own) return key < own ? -1 : 1;
      ++position;
    }
    return 0;
  }
  KOKKOS_FUNCTION void operator()(count_t p) const {
    Index const* const index = indices + p * static_cast<count_t>(order);
    if (static_cast<count_t>(index[mode]) >= mode_rows) return;
    count_t begin = 0, end = key_count;
    while (begin < end) {
      count_t const middle = begin + (end - begin) / 2;
      if (compare(middle, index) < 0)
        begin = middle + 1;
      else
        end = middle;
    }
    if (begin == key_count || compare(begin, index) != 0) return;
    // Other entries of the same key add here too. The order of a query's seen rows does not matter.
    count_t const at = Kokkos::atomic_fetch_add(&next(first_slot + begin), count_t(1));
    if (rows.extent(0) > 0) rows(at) = static_cast<count_t>(index[mode]);
  }
};

/// products(q, k) = minus infinity for the rows first + k that query q has seen.
template <class Space, class Scalar>
struct LeaveOut {
  FactorMatrix<Scalar, Space> products;
  SeenRows<Space> seen;
  count_t first_query;
  count_t first;
  count_t columns;
  template <class Member>
  KOKKOS_FUNCTION void operator()(Member const& member) const {
    auto const q       = static_cast<count_t>(member.league_rank());
    count_t const slot = seen.slots(first_query + q);
    count_t const from = seen.starts(slot);
    Kokkos::parallel_for(Kokkos::TeamThreadRange(member, seen.starts(slot + 1) - from), [&](count_t const i) {
      count_t const row = seen.rows(from + i);
      if (row >= first && row - first < columns)
        products(q, row - first) = -Kokkos::Experimental::infinity_v<Scalar>;
    });
  }
};

/// The queries by which modes are given. Queries that are the same share a slot.
class QueryGroups {
public:
  struct Group {
    std::vector<std::vector<count_t>> keys;  // in order, each once
    std::vector<std::size_t> queries;
    count_t first_slot = 0;
  };

  /// \param queries  `width` numbers each
  QueryGroups(std::span<count_t const> queries, std::size_t width)
      : m_queries(queries), m_width(width), m_slots(queries.size() / width) {
    for (std::size_t q = 0; q < m_slots.size(); ++q) {
      std::vector<bool> given(width);
      for (std::size_t m = 0; m < width; ++m) given[m] = queries[q * width + m] != every_row;
      auto& group = m_groups[given];
      group.keys.push_back(key_of(q));
      group.queries.push_back(q);
    }
    for (auto& [given, group] : m_groups) give_slots(group);
  }

  [[nodiscard]] std::map<std::vector<bool>, Group> const& groups() const { return m_groups; }
  [[nodiscard]] std::vector<count_t> const& slots() const { return m_slots; }  // one for each query
  [[nodiscard]] count_t slot_count() const { return m_slot_count; }

private:
  [[nodiscard]] std::vector<count_t> key_of(std::size_t q) const {
    auto const numbers = m_queries.subspan(q * m_width, m_width);
    std::vector<count_t> key(numbers.begin(), numbers.end());
    std::replace(key.begin(), key.end(), every_row, count_t(0));
    return key;
  }
  void give_slots(Group& group) {
    std::sort(group.keys.begin(), group.keys.end());
    group.keys.erase(std::unique(group.keys.begin(), group.keys.end()), group.keys.end());
    group.first_slot = m_slot_count;
    for (std::size_t const q : group.queries) {
      auto const found = std::lower_bound(group.keys.begin(), group.keys.end(), key_of(q));
      m_slots[q]       = m_slot_count + static_cast<count_t>(found - group.keys.begin());
    }
    m_slot_count += group.keys.size();
  }

  std::span<count_t const> m_queries;
  std::size_t m_width;
  std::map<std::vector<bool>, Group> m_groups;
  std::vector<count_t> m_slots;
  count_t m_slot_count = 0;
};

/// Looks up each nonzero among the keys of all groups. A nonzero of a slot takes the next number of `next`.
/// Writes its row there, unless `rows` is empty. Waits.
template <class Scalar, class Index, class Space>
void look_up_nonzeros(Space const& space, CooTensor<Scalar, Index, Space> const& seen, int mode,
                      count_t mode_rows, QueryGroups const& queries,
                      typename SeenRows<Space>::Numbers const& next,
                      typename SeenRows<Space>::Numbers const& rows) {
  for (auto const& [given, group] : queries.groups()) {
    std::vector<count_t> keys;
    for (auto const& key : group.keys) keys.insert(keys.end(), key.begin(), key.end());
    FindSeen<Space, Index> kernel{};
    kernel.indices   = seen.indices().data();
    kernel.order     = seen.order();
    kernel.mode      = mode;
    kernel.mode_rows = mode_rows;
    for (std::size_t m = 0; m < given.size(); ++m) kernel.given[m] = given[m];
    kernel.keys       = numbers_from(space, "polyad::queries", keys);
    kernel.key_count  = group.keys.size();
    kernel.first_slot = group.first_slot;
    kernel.next       = next;
    kernel.rows       = rows;
    Kokkos::parallel_for("polyad::find_seen",
                         Kokkos::RangePolicy<Space, Kokkos::IndexType<count_t>>(space, 0, seen.nnz()),
                         kernel);
    space.fence("polyad::find_seen");
  }
}

/// Waits for `space`. \throws MemoryError
template <class Scalar, class Index, class Space>
SeenRows<Space> find_seen(Space const& space, CooTensor<Scalar, Index, Space> const& seen, int mode,
                          count_t mode_rows, std::span<count_t const> queries) {
  QueryGroups const groups(queries, static_cast<std::size_t>(seen.order() - 1));
  count_t const slots = groups.slot_count();
  SeenRows<Space> result;
  auto const counts = numbers_from(space, "polyad::seen_counts", std::vector<count_t>(slots, 0));
  look_up_nonzeros(space, seen, mode, mode_rows, groups, counts, result.rows);
  std::vector<count_t> starts(slots + 1, 0);
  Kokkos::deep_copy(
      space, Kokkos::View<count_t*, Kokkos::HostSpace, Kokkos::MemoryUnmanaged>(starts.data() + 1, slots),
      counts);
  space.fence("polyad::find_seen");
  for (std::size_t s = 0; s < slots; ++s) starts[s + 1] += starts[s];
  result.slots  = numbers_from(space, "polyad::seen_slots", groups.slots());
  result.starts = numbers_from(space, "polyad::seen_starts", starts);
  if (starts.back() == 0) return result;
  expect_fits(space, "the rows that were seen", starts.back(), sizeof(count_t));
  result.rows = typename SeenRows<Space>::Numbers(uninitialized(space, "polyad::seen_rows"), starts.back());
  look_up_nonzeros(space, seen, mode, mode_rows, groups, numbers_from(space, "polyad::seen_next", starts),
                   result.rows);
  return result;
}

}  // namespace polyad::detail
