// SPDX-License-Identifier: BSD-3-Clause
#include "torture/failing_memory.hpp"

#include <dlfcn.h>
#include <execinfo.h>
#include <link.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>

namespace polyad::torture {
namespace {

std::atomic<bool> armed{false};
std::atomic<bool> has_failed{false};
std::atomic<bool> was_spared{false};
std::atomic<std::uint64_t> last_failed{0};
std::atomic<std::uint64_t> count{0};
std::atomic<std::uint64_t> victim{0};
std::atomic<std::int64_t> live{0};
std::atomic<void (*)(void*, std::size_t)> on_allocated{nullptr};
std::atomic<void (*)(void*)> on_freed{nullptr};

struct Range {
  std::uintptr_t begin, end;
};
std::array<Range, 8> codecs{};
std::size_t codec_ranges = 0;

int add_codec(dl_phdr_info* info, std::size_t, void*) {
  char const* const name = info->dlpi_name;
  bool const is_codec = std::strstr(name, "libz.") != nullptr || std::strstr(name, "liblzma.") != nullptr ||
                        std::strstr(name, "libzstd.") != nullptr;
  for (int k = 0; is_codec && k < info->dlpi_phnum; ++k) {
    auto const& header = info->dlpi_phdr[k];
    if (header.p_type != PT_LOAD || (header.p_flags & PF_X) == 0 || codec_ranges == codecs.size()) continue;
    std::uintptr_t const begin = info->dlpi_addr + header.p_vaddr;
    codecs[codec_ranges++]     = {begin, begin + header.p_memsz};
  }
  return 0;
}

bool is_codec(void const* caller) {
  auto const at = reinterpret_cast<std::uintptr_t>(caller);
  for (std::size_t k = 0; k < codec_ranges; ++k)
    if (at >= codecs[k].begin && at < codecs[k].end) return true;
  return false;
}

std::array<void*, 16> frames{};  // call stack of the failed allocation
int depth                                         = 0;
bool (*is_spared)(void* const* frames, int depth) = nullptr;

/// Whether the function that allocates, the standard library's own aside, is of Kokkos' compiled library. The
/// program exports its symbols.
bool is_inside_kokkos() {
  depth          = ::backtrace(frames.data(), static_cast<int>(frames.size()));
  bool is_called = false;  // after operator new; the first frames are this file's
  for (int k = 1; k < depth; ++k) {
    Dl_info info{};
    bool const found       = ::dladdr(frames[static_cast<std::size_t>(k)], &info) != 0;
    char const* const file = found && info.dli_fname != nullptr ? info.dli_fname : "";
    char const* const name = found && info.dli_sname != nullptr ? info.dli_sname : "";
    bool const is_new      = std::strncmp(name, "_Znw", 4) == 0 || std::strncmp(name, "_Zna", 4) == 0;
    if (is_new || !is_called) {
      is_called = is_called || is_new;
      continue;
    }
    if (std::strstr(file, "libstdc++") != nullptr || std::strncmp(name, "_ZNSt", 5) == 0) continue;
    return std::strstr(name, "Kokkos") != nullptr && std::strstr(name, "polyad") == nullptr;
  }
  return false;
}

/// Whether it is for a new instance of a device, or for the global scratch of teams.
bool is_for_instance_or_teams() {
  return std::any_of(frames.begin(), frames.begin() + depth, [](void* frame) {
    return is_in(frame, "CudaInternal10initialize") || is_in(frame, "resize_team_scratch_space");
  });
}

}  // namespace

bool fails(std::size_t bytes) {
  if (!armed.load(std::memory_order_relaxed)) return false;
  if (++count != victim.load(std::memory_order_relaxed)) return false;
  if (is_inside_kokkos() || is_for_instance_or_teams() ||
      (is_spared != nullptr && is_spared(frames.data(), depth))) {
    was_spared = true;
    return false;
  }
  has_failed  = true;
  last_failed = bytes;
  return true;
}

namespace {

void* allocate(std::size_t size, std::size_t alignment) {
  if (fails(size)) return nullptr;
  void* memory = nullptr;
  if (size == 0) size = 1;
  if (alignment <= alignof(std::max_align_t))
    memory = std::malloc(size);
  else if (::posix_memalign(&memory, alignment, size) != 0)
    memory = nullptr;
  if (memory != nullptr) {
    ++live;
    if (auto* const watch = on_allocated.load(std::memory_order_relaxed)) watch(memory, size);
  }
  return memory;
}

void* allocate_or_throw(std::size_t size, std::size_t alignment) {
  void* const memory = allocate(size, alignment);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}

void release(void* memory) {
  if (memory != nullptr) {
    --live;
    if (auto* const watch = on_freed.load(std::memory_order_relaxed)) watch(memory);
  }
  std::free(memory);
}

}  // namespace

void find_codecs() {
  ::dl_iterate_phdr(add_codec, nullptr);
}

void arm(std::uint64_t number) {
  count      = 0;
  victim     = number;
  has_failed = false;
  was_spared = false;
  armed      = true;
}

std::uint64_t disarm() {
  armed = false;
  return count;
}

void pause() {
  armed = false;
}

void resume() {
  armed = true;
}

bool failed() {
  return has_failed;
}

bool spared() {
  return was_spared;
}

std::uint64_t failed_bytes() {
  return last_failed;
}

void spare(bool (*which)(void* const* frames, int depth)) {
  is_spared = which;
}

void* const* last_frames(int& number) {
  number = depth;
  return frames.data();
}

bool is_in(void* frame, char const* part) {
  Dl_info info{};
  return frame != nullptr && ::dladdr(frame, &info) != 0 && info.dli_sname != nullptr &&
         std::strstr(info.dli_sname, part) != nullptr;
}

void print_frame(void* frame) {
  Dl_info info{};
  if (frame == nullptr || ::dladdr(frame, &info) == 0) return;
  std::fprintf(stderr, "    %s %#lx %s\n", info.dli_fname,
               static_cast<unsigned long>(reinterpret_cast<std::uintptr_t>(frame) -
                                          reinterpret_cast<std::uintptr_t>(info.dli_fbase)),
               info.dli_sname == nullptr ? "" : info.dli_sname);
}

void print_failed() {
  for (int k = 2; k < depth; ++k) print_frame(frames[static_cast<std::size_t>(k)]);
}

std::int64_t live_blocks() {
  return live;
}

void count_block(std::int64_t change) {
  live += change;
}

void watch_blocks(void (*allocated)(void*, std::size_t), void (*freed)(void*)) {
  on_allocated = allocated;
  on_freed     = freed;
}

}  // namespace polyad::torture

using polyad::torture::allocate;
using polyad::torture::allocate_or_throw;
using polyad::torture::release;

void* operator new(std::size_t n) {
  return allocate_or_throw(n, 0);
}
void* operator new[](std::size_t n) {
  return allocate_or_throw(n, 0);
}
void* operator new(std::size_t n, std::align_val_t a) {
  return allocate_or_throw(n, static_cast<std::size_t>(a));
}
void* operator new[](std::size_t n, std::align_val_t a) {
  return allocate_or_throw(n, static_cast<std::size_t>(a));
}
void* operator new(std::size_t n, std::nothrow_t const&) noexcept {
  return allocate(n, 0);
}
void* operator new[](std::size_t n, std::nothrow_t const&) noexcept {
  return allocate(n, 0);
}
void* operator new(std::size_t n, std::align_val_t a, std::nothrow_t const&) noexcept {
  return allocate(n, static_cast<std::size_t>(a));
}
void* operator new[](std::size_t n, std::align_val_t a, std::nothrow_t const&) noexcept {
  return allocate(n, static_cast<std::size_t>(a));
}
void operator delete(void* p) noexcept {
  release(p);
}
void operator delete[](void* p) noexcept {
  release(p);
}
void operator delete(void* p, std::size_t) noexcept {
  release(p);
}
void operator delete[](void* p, std::size_t) noexcept {
  release(p);
}
void operator delete(void* p, std::align_val_t) noexcept {
  release(p);
}
void operator delete[](void* p, std::align_val_t) noexcept {
  release(p);
}
void operator delete(void* p, std::size_t, std::align_val_t) noexcept {
  release(p);
}
void operator delete[](void* p, std::size_t, std::align_val_t) noexcept {
  release(p);
}
void operator delete(void* p, std::nothrow_t const&) noexcept {
  release(p);
}
void operator delete[](void* p, std::nothrow_t const&) noexcept {
  release(p);
}
void operator delete(void* p, std::align_val_t, std::nothrow_t const&) noexcept {
  release(p);
}
void operator delete[](void* p, std::align_val_t, std::nothrow_t const&) noexcept {
  release(p);
}

// The codecs' own allocations. glibc lets a program replace these two and keep its own free().
#if defined(__GLIBC__) && !defined(__SANITIZE_ADDRESS__)
extern "C" void* __libc_malloc(std::size_t);
extern "C" void* __libc_calloc(std::size_t, std::size_t);

extern "C" void* malloc(std::size_t n) {
  if (polyad::torture::is_codec(__builtin_return_address(0)) && polyad::torture::fails(n)) return nullptr;
  return __libc_malloc(n);
}
extern "C" void* calloc(std::size_t n, std::size_t size) {
  if (polyad::torture::is_codec(__builtin_return_address(0)) && polyad::torture::fails(n * size))
    return nullptr;
  return __libc_calloc(n, size);
}
#endif
