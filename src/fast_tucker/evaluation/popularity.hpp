// SPDX-License-Identifier: BSD-3-Clause
// Popularity: what a training set says about users and items.
#pragma once

#include <Kokkos_Core.hpp>
#include <vector>

#include "fast_tucker/ranking/ranked_rows.hpp"
#include "polyad/core/sort.hpp"
#include "polyad/tensor/coo_tensor.hpp"

namespace polyad::detail {

/// In host memory; empty without entries.
struct Popularity {
  std::vector<count_t> entries_of_users;  // a number for each row of the mode of users
  std::vector<count_t> users_of_items;    // users with an entry of the item, for each row of its mode
  count_t users = 0;                      // with entries
};

/// Counts entries of users, and writes pairs of user and item.
template <class Index, class Space>
struct GatherPairs {
  Kokkos::View<Index**, Kokkos::LayoutRight, typename Space::device_type> indices;
  int user_mode;
  int item_mode;
  QueryNumbers<Space> entries_of_users;
  QueryNumbers<Space> users;
  QueryNumbers<Space> items;
  KOKKOS_FUNCTION void operator()(count_t p) const {
    users(p) = static_cast<count_t>(indices(p, user_mode));
    items(p) = static_cast<count_t>(indices(p, item_mode));
    Kokkos::atomic_inc(&entries_of_users(users(p)));  // the user's other entries add here too
  }
};

/// Counts the users of items in sorted pairs: the first pair of several that are the same.
template <class Space>
struct CountUsers {
  QueryNumbers<Space> users;
  QueryNumbers<Space> items;
  QueryNumbers<Space> users_of_items;
  KOKKOS_FUNCTION void operator()(count_t p) const {
    if (p > 0 && users(p) == users(p - 1) && items(p) == items(p - 1)) return;
    Kokkos::atomic_inc(&users_of_items(items(p)));  // the item's other users add here too
  }
};

/// Waits for `space`. The coordinates must be within the extents. \throws MemoryError
template <class Scalar, class Index, class Space>
Popularity popularity(Space const& space, CooTensor<Scalar, Index, Space> const& seen, int user_mode,
                      int item_mode) {
  Popularity result;
  if (seen.nnz() == 0) return result;
  count_t const user_rows = seen.extents()[user_mode], item_rows = seen.extents()[item_mode];
  auto const numbers = [&](char const* label, count_t count) {
    expect_fits(space, label, count, sizeof(count_t));
    return QueryNumbers<Space>(Kokkos::view_alloc(space, std::string(label)), count);
  };
  using Range                 = Kokkos::RangePolicy<Space, Kokkos::IndexType<count_t>>;
  auto const users            = numbers("polyad::users_of_pairs", seen.nnz());
  auto const items            = numbers("polyad::items_of_pairs", seen.nnz());
  auto const entries_of_users = numbers("polyad::entries_of_users", user_rows);
  auto const users_of_items   = numbers("polyad::users_of_items", item_rows);
  Kokkos::parallel_for(
      "polyad::take_pairs", Range(space, 0, seen.nnz()),
      GatherPairs<Index, Space>{seen.indices(), user_mode, item_mode, entries_of_users, users, items});
  // The second sort is stable.
  sort_pairs(space, items, users, bits_for(item_rows));
  sort_pairs(space, users, items, bits_for(user_rows));
  Kokkos::parallel_for("polyad::count_users", Range(space, 0, seen.nnz()),
                       CountUsers<Space>{users, items, users_of_items});
  auto const of_users = to_host_copy(space, entries_of_users);
  auto const of_items = to_host_copy(space, users_of_items);
  space.fence("polyad::popularity");
  result.entries_of_users.assign(of_users.data(), of_users.data() + user_rows);
  result.users_of_items.assign(of_items.data(), of_items.data() + item_rows);
  for (count_t const entries : result.entries_of_users) result.users += entries > 0 ? 1 : 0;
  return result;
}

}  // namespace polyad::detail
