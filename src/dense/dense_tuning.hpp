// SPDX-License-Identifier: BSD-3-Clause
// Machine parameters for sums over the rows of tall matrices (dense/gram.hpp, dense/transposed_product.hpp,
// dense/update/normal_equations.hpp), and the strategies of the updates of a factor.
#pragma once

#include <algorithm>

#include "polyad/core/spaces.hpp"
#include "polyad/core/types.hpp"
#include "polyad/kernel/machine.hpp"
#include "polyad/kernel/rank_dispatch.hpp"

namespace polyad::detail {

/// update_factor in one pass: the Gram matrix is summed from a tile in the scratch pad.
struct FusedUpdate {};
/// update_factor in two passes: solve_rows and gram. Hosts use it, since a thread's registers hold more of G
/// than a team of one could sum from a pad. Devices use it from R = 33 on, where W and a tile do not fit the
/// pad. They also use it for 25 to 32 columns of doubles with many rows, where a BLAS does both passes,
/// unless <V, A> is needed.
///
/// 23.8 M rows, R = 32, f64, H200, ms: one pass 6.9; BLAS 3.3 + 1.6, and 2.9 more for <V, A>.
struct SeparateUpdate {};
/// A host's single pass, for R = 4, 8, 16 and 32: tiles that stay in the first-level cache
/// (dense/update/tiled_update.hpp). Other R would multiply by partial blocks, which a host does slowly.
struct TiledUpdate {};

/// Whether the squares of a matrix' entries are known to be in the range of its own type.
enum class Squares { in_any_range, in_range };

/// Whether a BLAS is faster for a matrix of 25 columns or more. BLAS kernels are made for wide matrices, so
/// this takes many rows.
[[nodiscard]] constexpr bool is_wide_and_long(count_t rows, count_t columns) {
  return columns > 24 && rows >= count_t(1) << 20;
}

/// Calls f(strategy) for a matrix of rows x rank.
template <class Space, class Scalar, class F>
void with_update_strategy(count_t rows, count_t rank, bool inner_product_is_wanted, F&& f) {
  if constexpr (is_device_space<Space>) {
    bool const by_blas =
        sizeof(Scalar) == sizeof(double) && is_wide_and_long(rows, rank) && !inner_product_is_wanted;
    if (rank <= full_block && !by_blas) return f(FusedUpdate{});
  } else if (rank == static_cast<count_t>(block_for(rank))) {
    return f(TiledUpdate{});
  }
  f(SeparateUpdate{});
}

/// The coordinate descent of an update with bounds in one pass with its sums, for R <= 32. Devices take it.
/// It computes with floats if the factor has them and if their squares are in the range of floats.
/// \tparam IsShort  for a matrix of few rows: a thread has one of a tile
template <class Number, bool IsShort = false>
struct DescentByTiles {};
/// The descent, then the sums, for any R. The caches of a host hold what the second pass reads.
struct DescentByRows {};

/// Calls f(strategy) for a matrix of this shape. A short one has a tile for each multiprocessor at most.
template <class Scalar, class Space, class F>
void with_descent_strategy(Space const& space, count_t rows, count_t rank, Squares squares, F&& f) {
  if constexpr (is_device_space<Space>) {
    bool const is_short = rows <= multiprocessors(space) * device_team_threads;
    auto const by_tiles = [&](auto number) {
      using Number = decltype(number);
      return is_short ? f(DescentByTiles<Number, true>{}) : f(DescentByTiles<Number, false>{});
    };
    if (rank <= static_cast<count_t>(full_block))
      return squares == Squares::in_range ? by_tiles(Scalar()) : by_tiles(double());
  }
  f(DescentByRows{});
}

/// The division of FusedUpdate's tile of A among a team: a thread has parts of height x width entries. The
/// registers let `teams` be resident on a multiprocessor.
///
/// Measured for 23.8 M rows, ms, parts of 4 x 4 and the chosen ones: R = 32 f32 5.8 and 3.1, f64 7.2 and 6.9;
/// R = 16 2.2 and 1.2, 2.7 and 2.5; R = 8 1.0 and 0.67, 1.35 and 1.15. Taller parts ran out of registers;
/// smaller ones read the scratch pad more often. For R = 32 f32 on the H200, 8 x 4 takes 3.17, 4 x 8 3.21, 8
/// x 8 3.35.
template <class Scalar, int Block>
struct UpdateShape {
  static constexpr bool of_floats = sizeof(Scalar) == sizeof(float);
  static constexpr int threads    = device_team_threads;
  static constexpr int height     = Block == 32 && of_floats ? 8 : 4;
  static constexpr int width      = Block == 8 || (Block == 32 && of_floats) ? 4 : 8;
  static constexpr int teams      = Block == 8 ? 5 : Block == 32 && !of_floats ? 3 : 4;
};

/// Whether multiply_rows calls the vendor's BLAS for a product of K by S columns.
///
/// H100, 17.3 M rows, ms, our kernel and BLAS: K = S = 64 f32 11.0 and 4.8, f64 14.8 and 6.1; 128 44 and
/// 15.6, 65 and 14.8; 100,000 rows of 512 4.3 and 1.07, 5.6 and 0.97. H200, 23.8 M rows, K = S = 32: f32 4.2
/// and 2.7; f64 BLAS 3.3, a copy 2.9.
template <class Space>
inline constexpr bool may_multiply_by_blas = is_device_space<Space>;
template <class Space>
[[nodiscard]] constexpr bool multiplies_by_blas(count_t rows, count_t inner, count_t columns) {
  count_t const narrower = std::min(inner, columns);
  return may_multiply_by_blas<Space> && (narrower > full_block || is_wide_and_long(rows, narrower));
}

/// Whether transposed_product calls the vendor's BLAS for J x R sums. Floats become doubles before, which
/// pays for more sums.
///
/// H200, J = R, 2^28 / R rows, ms, our kernel and BLAS. Doubles: R = 8 8.8 and 11.2, 16 6.2 and 1.0, 32 5.4
/// and 1.0, 64 8.1 and 1.0, 128 21.5 and 1.4, 512 2780 and 4.6. Floats: 16 5.4 and 52, 32 4.5 and 26, 64 6.4
/// and 7.2, 128 19.8 and 5.5, 512 2800 and 8.4.
template <class Scalar>
[[nodiscard]] constexpr bool transposes_by_blas(count_t J, count_t R) {
  return std::min(J, R) >= 16 && (sizeof(Scalar) == sizeof(double) || J * R >= count_t(1) << 13);
}

/// Whether many teams form the pseudo-inverse of a singular H of more than one_team_rank columns
/// (dense/update/low_rank_inverse.hpp). Devices, where this was not measured, leave it to one team.
template <class Space>
inline constexpr bool many_teams_for_singular = !is_device_space<Space>;
/// Whether the host knows if H was singular when normal_equations returns: a host's kernels have ended then.
template <class Space>
inline constexpr bool sees_singular_at_once = !is_device_space<Space>;

/// For more than 32 columns: the Gram matrix is cut into blocks of 64 x 64. A thread keeps 8 x 8 sums of a
/// block in registers for all rows of its chunk (dense/gram_by_parts.hpp).
struct GramByParts {};
/// The same for floats whose products are in the range of floats, too.
struct GramInFloats {};
/// By rows: for each tile of rows, the sums are read from the chunk's own matrix and written back
/// (dense/gram.hpp).
struct GramByRows {};
/// By the vendor's BLAS (dense/blas.hpp), in the precision of the values. Not for floats: their sums over
/// millions of rows would have an error of 1e-4.
struct GramByBlas {};

/// Calls f(strategy) for a matrix of rows x rank.
///
/// H100, 17.3 M rows, ms, by rows, by parts, BLAS: R = 64 f32 17.0, 6.8, -, f64 17.6, 7.3, 3.2; R = 128 60.7,
/// 30.5, - and 61.3, 31.2, 11.8; 100,000 rows of R = 512 74, 2.5, - and 75, 2.6, 0.88. H200, in floats: 3.8,
/// 15.6 and 1.4; 32 doubles of 23.8 M rows by a BLAS 1.6.
template <class Space, class Scalar, class F>
void with_gram_strategy(count_t rows, count_t rank, Squares squares, F&& f) {
  if constexpr (is_device_space<Space>) {
    if constexpr (sizeof(Scalar) == sizeof(double)) {
      if (multiplies_by_blas<Space>(rows, rank, rank)) return f(GramByBlas{});
    } else if (rank > full_block) {
      if (squares == Squares::in_range) return f(GramInFloats{});
      return f(GramByParts{});
    }
  }
  f(GramByRows{});
}

/// Whether several teams may share a chunk of gram's rows: a host has few chunks at large ranks, as
/// 8 at R = 1024.
template <class Space>
inline constexpr bool shares_gram_chunks = !is_device_space<Space>;

/// The number of row chunks with their own sums, of `bytes` each. Enough chunks to fill the machine (four
/// teams on each of a device's multiprocessors), but at most 64 MiB of sums. The number does not depend on a
/// host's threads, so the sums do not either.
template <class Space>
count_t partial_sums(Space const& space, count_t bytes) {
  count_t const wanted = is_device_space<Space> ? 4 * multiprocessors(space) : 256;
  return std::clamp<count_t>((count_t(64) << 20) / bytes, 1, wanted);
}

/// Chunks of update_factor: as many as a device's resident teams. On a host the number does not depend on the
/// threads, so the sums do not either.
template <class Space>
count_t chunks_at_a_time(Space const& space, int teams) {
  return is_device_space<Space> ? multiprocessors(space) * teams : 256;
}

/// A policy for short kernels that an iteration launches often. Kokkos passes kernels of more than 512 bytes
/// to a device through one buffer in constant memory. The host waits before the next launch of such a kernel
/// until the last one has ended, so it cannot run ahead. With the hint, the kernel is an argument of its
/// launch.
template <class Policy>
[[nodiscard]] auto without_waiting(Policy const& policy) {
  if constexpr (is_device_space<typename Policy::execution_space>)
    return Kokkos::Experimental::require(policy, Kokkos::Experimental::WorkItemProperty::HintLightWeight);
  else
    return policy;
}

/// Whether one team scales the columns of a matrix of so many entries and their Gram matrix: on a device, a
/// second launch costs more.
template <class Space>
[[nodiscard]] bool scales_in_one_launch(count_t entries) {
  return is_device_space<Space> && entries <= count_t{1} << 16;
}

/// Columns of the widest block of a Gram matrix. Hosts have 16: a thread then holds 8 rows of a block in
/// registers, and fewer blocks cross the diagonal.
template <class Space>
inline constexpr int widest_gram_block = is_device_space<Space> ? full_block : 16;

/// The most rows of a Gram matrix of this rank that a thread sums at the same time.
template <class Space>
constexpr count_t most_gram_rows(count_t rank) {
  return rank > 4 && !is_device_space<Space> ? 8 : 4;
}

/// Rows of a transposed product's sums that a thread holds at a time. 32 x 32 sums occupy a device's team of
/// 128 GPU threads.
template <class Space, class Scalar>
inline constexpr int transposed_rows = is_device_space<Space> && sizeof(Scalar) == sizeof(float) ? 2 : 4;

/// Numbers of a row that are read at once. A host multiplies directly from memory.
template <class Space>
inline constexpr int transposed_pack = is_device_space<Space> ? 2 : 1;

/// Bytes of the scratch pad for a workspace of `bytes`: all of them, or none. A host needs no pad, since it
/// has caches.
template <class Space>
constexpr int pad_for(count_t bytes) {
  return is_device_space<Space> && bytes <= device_team_scratch ? static_cast<int>(bytes) : 0;
}

}  // namespace polyad::detail
