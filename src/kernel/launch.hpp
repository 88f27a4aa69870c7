// SPDX-License-Identifier: BSD-3-Clause
// launch: Kokkos::parallel_for of a kernel. Compiling a host's launch takes as long as compiling a kernel.
// Therefore it is compiled once, for a pointer to any kernel. The price is one call per team.
#pragma once

#include <Kokkos_Core.hpp>

#include "polyad/core/spaces.hpp"
#include "polyad/core/types.hpp"

namespace polyad::detail {

/// Any kernel that takes an Argument: a team's member, or a number.
template <class Argument>
struct KernelPointer {
  void const* kernel;
  void (*call)(void const*, Argument const&);

  void operator()(Argument const& argument) const { call(kernel, argument); }
};

template <class Policy>
void launch_pointer(char const* label, Policy const& policy,
                    KernelPointer<typename Policy::member_type> const& kernel) {
  Kokkos::parallel_for(label, policy, kernel);
}

using HostSpace        = Kokkos::DefaultHostExecutionSpace;
using HostTeams        = Kokkos::TeamPolicy<HostSpace>;
using DynamicHostTeams = Kokkos::TeamPolicy<HostSpace, Kokkos::Schedule<Kokkos::Dynamic>>;
using HostRange        = Kokkos::RangePolicy<HostSpace, Kokkos::IndexType<count_t>>;

#define POLYAD_LAUNCH_POINTER(Policy) \
  template void launch_pointer(char const*, Policy const&, KernelPointer<Policy::member_type> const&)
extern POLYAD_LAUNCH_POINTER(HostTeams);
extern POLYAD_LAUNCH_POINTER(DynamicHostTeams);
extern POLYAD_LAUNCH_POINTER(HostRange);

/// Runs kernel(member) for every team, or kernel(number) for every number of a range. Each call must do much
/// work. Does not wait for a device.
template <class Policy, class Kernel>
void launch(char const* label, Policy const& policy, Kernel const& kernel) {
  if constexpr (is_device_space<typename Policy::execution_space>) {
    Kokkos::parallel_for(label, policy, kernel);
  } else {
    using Argument = typename Policy::member_type;
    launch_pointer(label, policy,
                   KernelPointer<Argument>{&kernel, [](void const* erased, Argument const& argument) {
                                             (*static_cast<Kernel const*>(erased))(argument);
                                           }});
  }
}

/// Copies the kernel for each team of a host before the walk. Otherwise the compiler must assume that a store
/// to the output changes the kernel, and it reloads the members for every nonzero. The copy's members stay in
/// registers.
template <class Kernel>
struct CopiedByTeam {
  Kernel kernel;

  template <class Member>
  KOKKOS_FORCEINLINE_FUNCTION void operator()(Member const& member) const {
    Kernel const own = kernel;
    own(member);
  }
};

/// As launch, with a copy for each team of a host. Two threads, uniform10m, R = 16: the MTTKRP of `sorted` in
/// f32 19.1 to 17.3 ms, `b-csf` f32 22.2 to 19.2, `coo-permuted` f64 165 to 141, `f-coo` f32 16.1 to 13.2.
/// Not for kernels with large arrays: the residual sweep of `blco` took 1.5 times as long.
template <class Policy, class Kernel>
void launch_with_local_copy(char const* label, Policy const& policy, Kernel const& kernel) {
  if constexpr (is_device_space<typename Policy::execution_space>)
    Kokkos::parallel_for(label, policy, kernel);
  else
    launch(label, policy, CopiedByTeam<Kernel>{kernel});
}

}  // namespace polyad::detail
