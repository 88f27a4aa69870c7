// SPDX-License-Identifier: BSD-3-Clause
// A second instance of an execution space, with a number of its own.
#pragma once

#include <Kokkos_Core.hpp>
#include <type_traits>

#include "polyad/core/spaces.hpp"

namespace polyad::test {

template <class Space>
Space other_instance() {
  if constexpr (is_device_space<Space>)
    return Kokkos::Experimental::partition_space(Space(), 1, 1)[0];  // a stream of its own
  else if constexpr (std::is_constructible_v<Space, Kokkos::NewInstance>)
    return Space(Kokkos::NewInstance());
  else
    return Space(2);  // a pool of two threads
}

}  // namespace polyad::test
