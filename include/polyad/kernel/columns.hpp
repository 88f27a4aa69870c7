// SPDX-License-Identifier: BSD-3-Clause
// Definitions for all forms of TinyVec: the columns that a lane holds, and packs that are read at once.
#pragma once

#include <Kokkos_Core.hpp>
#include <type_traits>

#include "polyad/core/rank.hpp"
#include "polyad/core/spaces.hpp"
#include "polyad/core/types.hpp"

namespace polyad {

enum class RowForm { packed, strided, simd };

/// The form that kernels use, except for GenTen's form if rows are strided.
template <class Space>
inline constexpr RowForm row_form = takes_packed_rows<Space> ? RowForm::packed : RowForm::simd;

/// The columns of a row that one lane holds: `first` is its first column, `count` is how many of its
/// elements lie left of column R (0 or less: the lane has nothing to do).
struct Columns {
  int first;
  int count;
};

/// Whether a block of a host is compiled only for rows that column R may cut off, by fewer columns than a
/// register has. Such blocks save a register, or a pass over the nonzeros, for a few R.
[[nodiscard]] constexpr bool is_tight_block(int block) {
  return block == 12 || block == 28 || block == 56;
}

/// The columns that column R may cut off from a block of a host (kernel/rank_dispatch.hpp).
[[nodiscard]] constexpr int most_cut_columns(int block) {
  if (is_tight_block(block)) return block > 32 ? 7 : 3;
  return block > 32 ? 15 : 7;
}

template <class Space, class Scalar, int Block, RowForm Form = row_form<Space>>
class TinyVec;

/// 16 contiguous bytes, or fewer if the block is shorter, moved by one load or store.
template <class Scalar, int Width>
struct alignas(sizeof(Scalar) * Width) Pack {
  Scalar element[Width];
};

/// Whether the target machine adds a pack with one instruction: sm_90 adds four floats.
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
template <class Scalar, int Width>
inline constexpr bool adds_packs = std::is_same_v<Scalar, float> && Width == 4;
#else
template <class Scalar, int Width>
inline constexpr bool adds_packs = false;
#endif

/// Adds a pack to memory that other threads may add to at the same time. Kokkos::atomic_add takes one element
/// at a time.
template <class Scalar, int Width>
KOKKOS_INLINE_FUNCTION void atomic_add_pack(Scalar* target, Pack<Scalar, Width> const& pack) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  if constexpr (adds_packs<Scalar, Width>) {
    atomicAdd(reinterpret_cast<float4*>(target),
              make_float4(pack.element[0], pack.element[1], pack.element[2], pack.element[3]));
  } else
#endif
  {
    for (int e = 0; e < Width; ++e) Kokkos::atomic_add(target + e, pack.element[e]);
  }
}

/// Adds the pairs of doubles that adjacent lanes of a thread hold to the memory from `target` on: the first
/// `count` of these doubles. All lanes that hold one of them call it together; others may. If each lane added
/// its own two doubles in turn, the lanes would write 16 bytes apart. They first exchange doubles instead, so
/// that neighbouring lanes add neighbouring doubles.
template <int Lanes>
KOKKOS_INLINE_FUNCTION void atomic_add_pairs(double* target, int count, Pack<double, 2> const& pair,
                                             int lane) {
#if defined(__CUDA_ARCH__)
  // For whole rows the compiler knows the number of lanes.
  bool const is_whole = count == 2 * Lanes;
  int const lanes     = is_whole ? Lanes : (count + 1) / 2;
  if (lane >= lanes) return;
  auto const in_warp  = static_cast<int>((threadIdx.x + blockDim.x * threadIdx.y) % 32);
  unsigned const mask = (~0U >> (32 - lanes)) << (in_warp - lane);
  auto const add_half = [&](int first, bool is_wanted) {  // this lane adds the double `first + lane`
    int const number  = first + lane;
    double const even = __shfl_sync(mask, pair.element[0], number / 2, Lanes);
    double const odd  = __shfl_sync(mask, pair.element[1], number / 2, Lanes);
    if (is_wanted) Kokkos::atomic_add(target + number, number % 2 == 0 ? even : odd);
  };
  if (is_whole) {
    add_half(0, true);
    add_half(Lanes, true);
  } else {
    add_half(0, lane < count);
    add_half(lanes, lanes + lane < count);
  }
#else
  for (int e = 0; e < 2; ++e)
    if (lane * 2 + e < count) Kokkos::atomic_add(target + lane * 2 + e, pair.element[e]);
#endif
}

}  // namespace polyad
