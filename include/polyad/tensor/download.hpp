// SPDX-License-Identifier: BSD-3-Clause
// download: a device's tensor in host memory, for what works on a host or is streamed from there.
#pragma once

#include <Kokkos_Core.hpp>
#include <type_traits>

#include "polyad/tensor/coo_tensor.hpp"

namespace polyad {

/// The tensor in the memory of HostSpace: itself where it is there. Waits for `space`. \throws MemoryError
template <class HostSpace, class Scalar, class Index, class Space>
[[nodiscard]] CooTensor<Scalar, Index, HostSpace> download(Space const& space,
                                                           CooTensor<Scalar, Index, Space> const& coo) {
  if constexpr (std::is_same_v<Space, HostSpace>) {
    return coo;
  } else {
    auto const copy = make_coo_tensor<Scalar, Index>(HostSpace(), coo.extents(), coo.nnz());
    Kokkos::deep_copy(space, copy.indices(), coo.indices());
    Kokkos::deep_copy(space, copy.values(), coo.values());
    space.fence("polyad::download");
    return copy;
  }
}

}  // namespace polyad
