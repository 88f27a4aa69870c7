// SPDX-License-Identifier: BSD-3-Clause
// Instances of an execution space besides the default one.
#pragma once

#include <Kokkos_Core.hpp>
#include <initializer_list>
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
  if constexpr (!is_device_space<Space> && !std::is_constructible_v<Space, Kokkos::NewInstance>) {
    std::vector<Space> instances;
    for (int const count : threads) instances.push_back(Space(count));
    return instances;
  } else {
    return {Space(), other_instance<Space>()};
  }
}

}  // namespace polyad::test
