// SPDX-License-Identifier: BSD-3-Clause
// Host data on the device under test, and back: tensors, and matrices that lie inside a larger one whose
// other entries are watched.
#pragma once

#include <Kokkos_Core.hpp>
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include "polyad/tensor/coo_tensor.hpp"
#include "polyad/tensor/factor_matrices.hpp"
#include "polyad/testing/conformance.hpp"
#include "polyad/testing/oracle.hpp"

namespace polyad::test {

using namespace testing;

/// The tests' backend: one executable per backend.
using TestSpace = Kokkos::DefaultExecutionSpace;

template <class Scalar>
using WatchedMatrix = testing::WatchedMatrix<Scalar, TestSpace>;

/// A vector of doubles on the device.
inline Kokkos::View<double*, TestSpace::device_type> to_device(std::vector<double> const& data) {
  Kokkos::View<double*, TestSpace::device_type> result("numbers", data.size());
  auto const host = Kokkos::create_mirror_view(result);
  for (std::size_t i = 0; i < data.size(); ++i) host(i) = data[i];
  Kokkos::deep_copy(result, host);
  return result;
}

/// Any View as a flat row-major vector.
template <class View>
std::vector<double> flat(View const& view) {
  using Scalar = typename View::non_const_value_type;
  std::vector<double> result;
  if constexpr (View::rank() == 1) {
    auto const host = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), view);
    for (std::size_t i = 0; i < host.extent(0); ++i) result.push_back(static_cast<double>(host(i)));
  } else {
    // Rows with padding cannot be copied between memories: first a copy without it.
    Kokkos::View<Scalar**, Kokkos::LayoutRight, typename View::device_type> packed("packed", view.extent(0),
                                                                                   view.extent(1));
    Kokkos::deep_copy(packed, view);
    auto const host = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), packed);
    for (std::size_t i = 0; i < host.extent(0); ++i)
      for (std::size_t j = 0; j < host.extent(1); ++j) result.push_back(static_cast<double>(host(i, j)));
  }
  return result;
}

}  // namespace polyad::test
