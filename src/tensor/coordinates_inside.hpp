// SPDX-License-Identifier: BSD-3-Clause
// The check that a tensor's coordinates are below its extents. Kernels use coordinates as row numbers without
// a check. A caller's View may hold any numbers, and may change after the tensor was made. So every function
// that takes a caller's coordinates checks them first, in one pass.
#pragma once

#include <Kokkos_Core.hpp>
#include <cstdint>
#include <limits>
#include <vector>

#include "polyad/core/types.hpp"
#include "polyad/tensor/coo_tensor.hpp"
#include "tensor/nonzero_inside.hpp"

namespace polyad::detail {

/// Coordinates of P nonzeros in N modes.
template <class Index, class Space>
using CoordinatesView = Kokkos::View<Index**, Kokkos::LayoutRight, typename Space::device_type>;

/// Finds the smallest p of a nonzero that has an index outside.
template <class Indices>
struct FirstOutside {
  Indices indices;
  Extents extents;
  KOKKOS_FUNCTION void operator()(count_t p, count_t& first) const {
    bool outside = false;
    for (int n = 0; n < extents.order(); ++n) outside = outside || indices(p, n) >= extents[n];
    if (outside && p < first) first = p;
  }
};

/// Reads each coordinate once. Waits for `space`.
/// \throws UsageError naming the first nonzero with an index outside, its mode, the index and the extent
template <class Index, class Space>
void expect_coordinates_inside(Space const& space, Extents const& extents,
                               CoordinatesView<Index, Space> const& indices) {
  using Indices     = CoordinatesView<Index, Space>;
  count_t const nnz = indices.extent(0);
  if (nnz == 0) return;
  count_t first = std::numeric_limits<count_t>::max();
  Kokkos::parallel_reduce("polyad::first_outside",
                          Kokkos::RangePolicy<Space, Kokkos::IndexType<count_t>>(space, 0, nnz),
                          FirstOutside<Indices>{indices, extents}, Kokkos::Min<count_t>(first));
  if (first == std::numeric_limits<count_t>::max()) return;
  Kokkos::View<Index*, Kokkos::HostSpace> const index("polyad::index_outside", indices.extent(1));
  Kokkos::deep_copy(space, index, Kokkos::subview(indices, first, Kokkos::ALL));
  space.fence("polyad::expect_coordinates_inside");
  std::vector<std::uint64_t> sizes;
  for (int n = 0; n < extents.order(); ++n) sizes.push_back(extents[n]);
  expect_nonzero_inside(sizes, first, index.data());
}

template <class Scalar, class Index, class Space>
void expect_coordinates_inside(Space const& space, CooTensor<Scalar, Index, Space> const& coo) {
  expect_coordinates_inside<Index, Space>(space, coo.extents(), coo.indices());
}

#define POLYAD_COORDINATES_INSIDE(Space, Index)                                \
  template void expect_coordinates_inside<Index>(Space const&, Extents const&, \
                                                 CoordinatesView<Index, Space> const&)
extern POLYAD_COORDINATES_INSIDE(Kokkos::DefaultExecutionSpace, std::uint32_t);
extern POLYAD_COORDINATES_INSIDE(Kokkos::DefaultExecutionSpace, std::uint64_t);

}  // namespace polyad::detail
