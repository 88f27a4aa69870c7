// SPDX-License-Identifier: BSD-3-Clause
// The strategies of `blco` and `alto` on each machine, with their numbers. Each strategy is a class here,
// with a kernel of its own that compiles for any backend. The library has only the strategies in use. The
// tests and polyad_perf also compile the others (docs/developer/strategies.md has the measured times).
#pragma once

#include <algorithm>
#include <string>
#include <type_traits>

#include "formats/blco/costs/most_private_rows.hpp"
#include "polyad/core/error.hpp"
#include "polyad/core/spaces.hpp"
#include "polyad/core/types.hpp"
#include "polyad/kernel/machine.hpp"

namespace polyad::detail {

/// alto: a thread walks one long chunk. It has private copies of the rows of V that other chunks write too,
/// and adds them to V at the end. Or it locks these rows (formats/blco/kernels/mttkrp_alto_private.hpp).
struct AltoPrivateRows {
  static constexpr char const* walk = "private";
  static constexpr bool has_chunks  = true;
};
/// alto: threads walk short chunks and add the sums of runs with atomics
/// (formats/blco/kernels/mttkrp_alto_atomics.hpp).
struct AltoAtomics {
  static constexpr char const* walk = "atomics";
  static constexpr bool has_chunks  = false;
};
/// Whether threads get copies: a device has too many threads for that.
template <class Space>
using AltoStrategy = std::conditional_t<is_device_space<Space>, AltoAtomics, AltoPrivateRows>;

/// blco: teams group the nonzeros of a tile by their row (the paper's;
/// formats/blco/kernels/mttkrp_blco_tiles.hpp).
struct BlcoTiled {
  static constexpr char const* walk = "tiles";
  static constexpr bool has_chunks  = false;
};
/// blco: a thread walks one long chunk, with private copies as in `alto`
/// (formats/blco/kernels/mttkrp_blco_chunks.hpp). Modes with too many private rows take the tiles.
struct BlcoChunked {
  static constexpr char const* walk = "chunks";
  static constexpr bool has_chunks  = true;
};
template <class Space>
using BlcoStrategy = std::conditional_t<is_device_space<Space>, BlcoTiled, BlcoChunked>;

/// \throws UsageError if the requested walk is not in this build
inline void expect_in_library(std::string const& walk, std::string const& compiled) {
  POLYAD_EXPECTS(walk == compiled, "walk=", walk,
                 " is slower on this backend, and compiled for polyad_perf alone");
}

/// Chunks for private rows: one for each thread of a host, or multiprocessor of a device.
template <class Space>
[[nodiscard]] count_t private_chunks(Space const& space, count_t nnz) {
  return std::min(nnz, multiprocessors(space));
}

/// GPU threads in the largest team.
inline constexpr int blco_team_threads = 256;
/// Copies of V: one for each group of multiprocessors (GPC) of a GH100.
inline constexpr count_t blco_copies = 8;

/// Nonzeros of a tile. On a device, 1792 nonzeros take 37 KiB of scratch memory (order 3, float) or 44
/// (double). Three or four such tiles leave 80 to 120 KiB of a multiprocessor to its first-level cache. On a
/// host a team is one thread, and its tile stays in the first-level cache.
template <class Space>
inline constexpr int usual_tile = is_device_space<Space> ? 1792 : 504;

/// Teams that the machine runs at the same time, if a device's multiprocessor holds `on_multiprocessor` of
/// them.
template <class Space>
[[nodiscard]] count_t teams_at_a_time(Space const& space, int on_multiprocessor) {
  return multiprocessors(space) * (is_device_space<Space> ? on_multiprocessor : 1);
}

}  // namespace polyad::detail
