// SPDX-License-Identifier: BSD-3-Clause
#include "core/on_threads.hpp"

#include <algorithm>
#include <exception>
#include <mutex>
#include <system_error>
#include <thread>
#include <vector>

namespace polyad::detail {

int thread_count(int threads) {
  return threads > 0 ? threads : std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
}

void on_threads(int threads, std::function<void()> const& work) {
  std::mutex mutex;
  std::exception_ptr failure;
  auto const guarded = [&] {
    try {
      work();
    } catch (...) {
      std::scoped_lock const lock(mutex);
      if (!failure) failure = std::current_exception();
    }
  };
  {
    std::vector<std::jthread> others;
    others.reserve(threads);
    for (int t = 1; t < threads; ++t) {
      try {
        others.emplace_back(guarded);
      } catch (std::system_error const&) {
        break;  // no more threads are available: fewer do the same work
      }
    }
    guarded();
  }
  if (failure) std::rethrow_exception(failure);
}

}  // namespace polyad::detail
