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
/// \param Order  N, if it is known to the compiler, which then reads as fast as memory does; 0: `order`
template <class Index, int Order>
struct FirstOutside {
  Index const* indices;  // P x N
  Kokkos::Array<Index, max_order> extents;
  int order;
  KOKKOS_FUNCTION void operator()(count_t p, count_t& first) const {
    int const modes          = Order > 0 ? Order : order;
    Index const* const index = indices + p * modes;
    bool outside             = false;
    for (int n = 0; n < modes; ++n) outside |= index[n] >= extents[n];
    if (outside && p < first) first = p;
  }
};

/// The smallest p, or the largest number. Waits for `space`.
template <int Order, class Index, class Space>
count_t first_outside(Space const& space, Extents const& extents,
                      CoordinatesView<Index, Space> const& indices) {
  FirstOutside<Index, Order> kernel{indices.data(), {}, extents.order()};
  for (int n = 0; n < extents.order(); ++n) kernel.extents[n] = static_cast<Index>(extents[n]);
  count_t first = std::numeric_limits<count_t>::max();
  Kokkos::parallel_reduce("polyad::first_outside",
                          Kokkos::RangePolicy<Space, Kokkos::IndexType<count_t>>(space, 0, indices.extent(0)),
                          kernel, Kokkos::Min<count_t>(first));
  return first;
}

/// Reads each coordinate once. Waits for `space`.
/// \param extents  at most the largest Index each, as CooTensor has them
/// \throws UsageError naming the first nonzero with an index outside, its mode, the index and the extent
template <class Index, class Space>
void expect_coordinates_inside(Space const& space, Extents const& extents,
                               CoordinatesView<Index, Space> const& indices) {
  if (indices.extent(0) == 0) return;
  count_t const first = extents.order() == 2   ? first_outside<2, Index>(space, extents, indices)
                        : extents.order() == 3 ? first_outside<3, Index>(space, extents, indices)
                        : extents.order() == 4 ? first_outside<4, Index>(space, extents, indices)
                        : extents.order() == 5 ? first_outside<5, Index>(space, extents, indices)
                                               : first_outside<0, Index>(space, extents, indices);
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
