// SPDX-License-Identifier: BSD-3-Clause
#include "alto_reference.hpp"

namespace polyad::perf {

template class AltoReference<float, std::uint32_t, Kokkos::DefaultHostExecutionSpace>;
template class AltoReference<double, std::uint32_t, Kokkos::DefaultHostExecutionSpace>;

}  // namespace polyad::perf
