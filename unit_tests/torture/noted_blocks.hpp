// SPDX-License-Identifier: BSD-3-Clause
// Where blocks came from that are left: while noting is on, each block from operator new is noted with the
// functions that asked for it, until it is freed.
#pragma once

#include <cstddef>
#include <cstdint>

namespace polyad::torture {

/// Notes the blocks that are allocated from now on, or no more. Those noted before are still watched.
void note_blocks(bool on);
/// How many of the noted blocks that live were asked for in a function whose mangled name has `part` in it.
std::size_t noted_blocks_from(char const* part);
/// Noted blocks that Kokkos holds until its end on a device. One is for each kernel, from its first launch
/// on, which may come late. One is for each address that an instance ever had (idForInstance): each run makes
/// instances, and most of them get the address of an earlier one.
[[nodiscard]] std::int64_t blocks_of_kokkos();
/// Forgets what was noted so far.
void forget_noted_blocks();
/// The noted blocks that live, on stderr: how many from each place, of how many bytes, and the functions.
void print_noted_blocks();

}  // namespace polyad::torture
