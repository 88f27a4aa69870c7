// SPDX-License-Identifier: BSD-3-Clause
#include "cli/run/expect_threads.hpp"

#include <Kokkos_Macros.hpp>
#ifdef KOKKOS_ENABLE_OPENMP
#include <omp.h>
#endif
#include <pthread.h>
#include <sys/resource.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <latch>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

#include "polyad/core/error.hpp"
#ifdef __GLIBC__
#include <malloc.h>
#endif

namespace polyad::cli {

namespace {

int host_threads(int wanted) {
#ifdef KOKKOS_ENABLE_OPENMP
  return wanted > 0 ? wanted : ::omp_get_max_threads();
#else
  static_cast<void>(wanted);
  return 1;
#endif
}

std::uint64_t stack_bytes() {
  std::size_t bytes = 0;
  ::pthread_attr_t attributes;
  if (::pthread_attr_init(&attributes) != 0) return 0;
  ::pthread_attr_getstacksize(&attributes, &bytes);
  ::pthread_attr_destroy(&attributes);
  return bytes;
}

/// Each thread that allocates may reserve 64 MiB of addresses for itself. If addresses are limited, the stack
/// of the next thread needs them.
void share_reserves_if_limited() {
#ifdef M_ARENA_MAX
  ::rlimit addresses{};
  if (::getrlimit(RLIMIT_AS, &addresses) == 0 && addresses.rlim_cur != RLIM_INFINITY)
    ::mallopt(M_ARENA_MAX, 1);
#endif
}

}  // namespace

void expect_threads(int wanted) {
#ifdef KOKKOS_ENABLE_OPENMP
  // To count them, Kokkos first starts as many threads as OpenMP allows, whatever number it is given.
  if (wanted > 0 && wanted < ::omp_get_max_threads()) ::omp_set_num_threads(wanted);
#endif
  std::uint64_t const count = std::max(1, host_threads(wanted));
  if (count == 1) return;
  share_reserves_if_limited();
  // This thread has its stack. The room of one more, and of one in 32, is for what else Kokkos allocates.
  auto const tried = count + count / 32;
  std::latch all_started(1);
  std::vector<std::jthread> others;
  try {
    others.reserve(tried);
    while (others.size() < tried) others.emplace_back([&] { all_started.wait(); });
    all_started.count_down();
  } catch (std::system_error const& error) {
    all_started.count_down();
    throw MemoryError("a stack for each of " + std::to_string(count) + " threads", count * stack_bytes(),
                      error.code().message() + "; --threads takes fewer");
  } catch (...) {
    all_started.count_down();
    throw;
  }
}

}  // namespace polyad::cli
