// SPDX-License-Identifier: BSD-3-Clause
// What sums over the rows of tall matrices take of a machine (dense/gram.hpp, dense/transposed_product.hpp,
// dense/normal_equations.hpp), and which strategy update_factor takes.
#pragma once

#include <algorithm>

#include "polyad/core/spaces.hpp"
#include "polyad/core/types.hpp"
#include "polyad/kernel/machine.hpp"
#include "polyad/kernel/rank_dispatch.hpp"

namespace polyad::detail {

/// update_factor in one pass: its Gram matrix is summed from a tile in the scratch pad.
struct FusedUpdate {};
/// In two passes, solve_rows and gram: a host's registers hold more of G than its team of one thread can sum
/// from a pad.
struct SeparateUpdate {};

/// Calls f(strategy) for a rank.
template <class Space, class F>
void with_update_strategy(count_t rank, F&& f) {
  if constexpr (is_device_space<Space>)
    if (rank <= static_cast<count_t>(full_block)) return f(FusedUpdate{});
  f(SeparateUpdate{});
}

/// Chunks of rows that have sums of their own, of `bytes` each: enough to fill the machine (four teams on
/// each of a device's multiprocessors), but at most 64 MiB of sums. Independent of a host's threads, so that
/// the sums are.
template <class Space>
count_t partial_sums(Space const& space, count_t bytes) {
  count_t const wanted = is_device_space<Space> ? 4 * multiprocessors(space) : 256;
  return std::clamp<count_t>((count_t(64) << 20) / bytes, 1, wanted);
}

/// Columns of the widest block that a Gram matrix is cut into. On hosts 16: a thread then holds 8 rows of a
/// block in registers, and fewer blocks lie above the diagonal only in part.
template <class Space>
inline constexpr int widest_gram_block = is_device_space<Space> ? full_block : 16;

/// The most rows of a Gram matrix of this rank that a thread sums at the same time.
template <class Space>
constexpr count_t most_gram_rows(count_t rank) {
  return rank > 4 && !is_device_space<Space> ? 8 : 4;
}

/// Rows of the sums of a transposed product that a thread holds at the same time: 32 x 32 sums occupy a
/// device's team of 128 GPU threads.
template <class Space, class Scalar>
inline constexpr int transposed_rows = is_device_space<Space> && sizeof(Scalar) == sizeof(float) ? 2 : 4;

/// Numbers of a row that are read at once. A host multiplies by each right from memory.
template <class Space>
inline constexpr int transposed_pack = is_device_space<Space> ? 2 : 1;

/// Bytes of the scratch pad for a workspace of `bytes`: all of them or none. A host's cache needs no pad.
template <class Space>
constexpr int pad_for(count_t bytes) {
  return is_device_space<Space> && bytes <= device_team_scratch ? static_cast<int>(bytes) : 0;
}

}  // namespace polyad::detail
