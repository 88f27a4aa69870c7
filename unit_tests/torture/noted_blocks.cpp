// SPDX-License-Identifier: BSD-3-Clause
#include "torture/noted_blocks.hpp"

#include <execinfo.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <map>
#include <mutex>
#include <new>
#include <unordered_map>
#include <utility>

#include "torture/failing_memory.hpp"

namespace polyad::torture {
namespace {

/// Past operator new: what is noted must not be noted itself.
template <class T>
struct Malloc {
  using value_type = T;
  Malloc()         = default;
  template <class U>
  Malloc(Malloc<U> const&) {}
  T* allocate(std::size_t n) {
    void* const memory = std::malloc(n * sizeof(T));
    if (memory == nullptr) throw std::bad_alloc();
    return static_cast<T*>(memory);
  }
  void deallocate(T* memory, std::size_t) { std::free(memory); }
  friend bool operator==(Malloc const&, Malloc const&) { return true; }
};

/// The functions that called, and the bytes. The first frames are this file's and operator new.
struct Place {
  std::array<void*, 16> frames{};
  std::size_t bytes                    = 0;
  auto operator<=>(Place const&) const = default;
};

using Blocks = std::unordered_map<void*, Place, std::hash<void*>, std::equal_to<>,
                                  Malloc<std::pair<void* const, Place>>>;

std::atomic<bool> is_noting{false};
std::atomic<std::size_t> noted{0};
std::mutex lock;

/// Never destroyed: blocks are freed after the end of main.
Blocks& blocks() {
  static Blocks* const all = new (std::malloc(sizeof(Blocks))) Blocks;
  return *all;
}

void note(void* memory, std::size_t bytes) {
  if (!is_noting.load(std::memory_order_relaxed)) return;
  Place place;
  place.bytes = bytes;
  ::backtrace(place.frames.data(), static_cast<int>(place.frames.size()));
  std::lock_guard const hold(lock);
  blocks()[memory] = place;
  noted            = blocks().size();
}

void forget(void* memory) {
  if (noted.load(std::memory_order_relaxed) == 0) return;
  std::lock_guard const hold(lock);
  blocks().erase(memory);
  noted = blocks().size();
}

}  // namespace

void note_blocks(bool on) {
  watch_blocks(note, forget);
  is_noting = on;
}

std::size_t noted_blocks_from(char const* part) {
  std::lock_guard const hold(lock);
  return static_cast<std::size_t>(std::count_if(blocks().begin(), blocks().end(), [&](auto const& block) {
    auto const& frames = block.second.frames;
    return std::any_of(frames.begin(), frames.end(), [part](void* frame) { return is_in(frame, part); });
  }));
}

std::int64_t blocks_of_kokkos() {
  return static_cast<std::int64_t>(noted_blocks_from("FuncAttributes") + noted_blocks_from("idForInstance"));
}

void forget_noted_blocks() {
  std::lock_guard const hold(lock);
  blocks().clear();
  noted = 0;
}

void print_noted_blocks() {
  std::map<Place, std::size_t, std::less<>, Malloc<std::pair<Place const, std::size_t>>> counts;
  {
    std::lock_guard const hold(lock);
    for (auto const& [memory, place] : blocks()) ++counts[place];
  }
  for (auto const& [place, count] : counts) {
    std::fprintf(stderr, "  %zu blocks of %zu bytes from\n", count, place.bytes);
    for (std::size_t k = 3; k < place.frames.size(); ++k) print_frame(place.frames[k]);
  }
}

}  // namespace polyad::torture
