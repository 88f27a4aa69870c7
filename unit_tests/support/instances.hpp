// SPDX-License-Identifier: BSD-3-Clause
// Instances of an execution space besides the default one.
#pragma once

#include <Kokkos_Core.hpp>
#include <cstddef>
#include <initializer_list>
#include <mutex>
#include <set>
#include <thread>
#include <type_traits>
#include <vector>

#include "polyad/core/spaces.hpp"

namespace polyad::test {

/// A second instance, with a number of its own.
template <class Space>
Space other_instance() {
  if constexpr (is_device_space<Space>)
    return Kokkos::Experimental::partition_space(Space(), 1, 1)[0];  // a stream of its own
  else if constexpr (std::is_constructible_v<Space, Kokkos::NewInstance>)
    return Space(Kokkos::NewInstance());
  else
    return Space(2);  // a pool of two threads
}

/// One instance for each number of threads, where the backend lets an instance have its own; elsewhere the
/// default instance and a second one.
template <class Space>
std::vector<Space> instances_of(std::initializer_list<int> threads) {
  if constexpr (!is_device_space<Space> && std::is_constructible_v<Space, int>) {
    std::vector<Space> instances;
    for (int const count : threads) instances.push_back(Space(count));
    return instances;
  } else {
    return {Space(), other_instance<Space>()};
  }
}

/// The threads that a host's instance runs on. (Kokkos 4's concurrency() may answer for the default
/// instance.)
template <class Space>
std::size_t threads_of(Space const& space) {
  static_assert(!is_device_space<Space>);
  std::mutex mutex;
  std::set<std::thread::id> threads;
  Kokkos::parallel_for("polyad::test", Kokkos::RangePolicy<Space>(space, 0, 1000), [&](int) {
    std::lock_guard const lock(mutex);
    threads.insert(std::this_thread::get_id());
  });
  space.fence("polyad::test");
  return threads.size();
}

}  // namespace polyad::test
