// SPDX-License-Identifier: BSD-3-Clause
// Memory that fails when told: the k-th allocation from now on. It counts any operator new, from which
// Kokkos' host memory comes too, and calls of malloc from zlib, lzma or zstd. With failing_device_memory.cpp
// it counts CUDA's runtime too.
//
// Three kinds of allocations inside Kokkos are spared: after a failure there the process ends, or a later
// launch waits for ever, whatever the caller does. Its compiled library copies labels into strings, in
// destructors too. An instance of a device that is made in part frees what it does not have. Teams that get
// no global scratch keep the lock of their place.
#pragma once

#include <cstddef>
#include <cstdint>

namespace polyad::torture {

/// Finds the addresses of the codecs in memory. Call it once, first.
void find_codecs();

/// From now on allocations count, from 1. The one of that number fails; 0: none does.
void arm(std::uint64_t number);
/// Returns how many there were since arm().
std::uint64_t disarm();
/// Allocations do not count for a while, and count again.
void pause();
void resume();
/// Whether the armed failure came to pass, and whether it would have but for its place inside Kokkos.
[[nodiscard]] bool failed();
[[nodiscard]] bool spared();

/// Bytes of the allocation that failed.
[[nodiscard]] std::uint64_t failed_bytes();
/// Spares the allocations of which `is_spared` says so, by the addresses of the functions that called.
void spare(bool (*is_spared)(void* const* frames, int depth));
/// The call stack of the last allocation that failed or was spared.
[[nodiscard]] void* const* last_frames(int& depth);

/// Whether a function that called has `part` in its mangled name.
[[nodiscard]] bool is_in(void* frame, char const* part);
/// A function that called, on stderr, as an offset in the program: gdb's `info symbol` and addr2line take it.
void print_frame(void* frame);
/// Where the failed allocation was.
void print_failed();

/// Blocks from operator new and from CUDA's runtime that live.
[[nodiscard]] std::int64_t live_blocks();
/// Calls these for every block from operator new from now on: after it was allocated, and before it is freed.
void watch_blocks(void (*allocated)(void* memory, std::size_t bytes), void (*freed)(void* memory));

/// For what allocates: counts an allocation. \returns whether it is to fail
[[nodiscard]] bool fails(std::size_t bytes);
/// For what allocates: so many blocks more live than before.
void count_block(std::int64_t change);

}  // namespace polyad::torture
