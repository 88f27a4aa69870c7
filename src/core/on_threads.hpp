// SPDX-License-Identifier: BSD-3-Clause
// Threads for work on the host that knows nothing of Kokkos.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>

namespace polyad::detail {

/// `threads`, or as many as the machine has when it is 0.
[[nodiscard]] int thread_count(int threads);

/// Runs work() on `threads` threads at once, including this one, and rethrows an exception of one of them.
void on_threads(int threads, std::function<void()> const& work);

/// Calls task(k) for k = 0 ... count - 1, each once, spread over threads; stops early when one throws.
template <class Task>
void for_each_on_threads(int threads, std::uint64_t count, Task const& task) {
  std::atomic<std::uint64_t> next{0};
  on_threads(threads, [&] {
    try {
      for (std::uint64_t k = next++; k < count; k = next++) task(k);
    } catch (...) {
      next = count;
      throw;
    }
  });
}

}  // namespace polyad::detail
