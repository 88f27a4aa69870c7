// SPDX-License-Identifier: BSD-3-Clause
// FlaggedNonzeros: the nonzeros for one operation on one set of modes, as F-COO stores them (Liu et al.,
// CLUSTER 2017, section IV). The operation keeps its index modes and multiplies along its product modes:
//
//   SpMTTKRP, SpTTMc on mode n    index {n},             product all others
//   SpTTM on mode n               index all others,      product {n}
//
// The nonzeros are sorted by the index modes. Nonzeros with the same indices in all of these form a segment,
// which is one row of the output. A nonzero has its product indices, its value and one bit (Figure 2):
//
//   bit flag bf     0 where a segment ends with this nonzero, 1 otherwise
//   start flag sf   one bit per partition of `threadlen` nonzeros: 1 where it begins a segment, 0 where it
//                   continues that of the partition before
//
// That is M s_o + s_r + 1/8 + 1/(8 threadlen) bytes per nonzero, M product modes (Table II). In addition
// there are the index coordinates of each segment, and for each partition the number of the segment in which
// it begins.
#pragma once

#include <Kokkos_Core.hpp>
#include <cstddef>
#include <cstdint>

#include "polyad/core/spaces.hpp"
#include "polyad/core/types.hpp"

namespace polyad::detail {

/// Nonzeros of a partition, the paper's threadlen: 8, 16, 32 or 64, so that a thread reads all its bit flags
/// at once. The default is the paper's best for SpMTTKRP on its two denser tensors (Table V).
inline constexpr int default_threadlen = 64;

/// The meaning of the rows in an operation's output.
enum class FCooRows {
  of_mode,     // the index mode's I_n rows (SpMTTKRP, SpTTMc: K = 1)
  of_segments  // one per segment, in order (SpTTM)
};

/// The division of the nonzeros among threads. The paper tunes threadlen and the threads of a team for a
/// tensor and an operation (Figure 5, Table V). Here `tune` does it.
struct FCooShape {
  int team_threads = 128;  // GPU threads of a team: 32, 64, 128 or 256
};

template <class Scalar, class Index, class Space>
struct FlaggedNonzeros {
  using scalar_type                    = Scalar;
  using index_type                     = Index;
  using space_type                     = Space;
  using device_type                    = typename Space::device_type;
  using indices_type                   = Kokkos::View<Index**, Kokkos::LayoutRight, device_type>;
  using values_type                    = Kokkos::View<Scalar*, device_type>;
  using numbers_type                   = Kokkos::View<Index*, device_type>;
  using flags_type                     = Kokkos::View<std::uint64_t*, device_type>;
  using starts_type                    = Kokkos::View<std::uint32_t*, device_type>;
  static constexpr count_t flags_bits  = 64;  // bits of a word of bit flags
  static constexpr count_t starts_bits = 32;  // bits of a word of start flags

  Extents extents;
  Kokkos::Array<int, max_order> modes{};  // the K index modes, then the M product modes, shortest first
  int index_modes  = 0;                   // K
  FCooRows rows    = FCooRows::of_mode;
  count_t nnz      = 0;  // P
  count_t segments = 0;  // S
  int threadlen    = default_threadlen;

  indices_type indices;        // M x P, rows padded to whole packs of four
  values_type values;          // P
  flags_type flags;            // bf: bit p % 64 of word p / 64; bits past the last nonzero are 0
  starts_type starts;          // sf: bit q % 32 of word q / 32
  indices_type coordinates;    // K x (S + 1): of every segment; the last column only pads
  numbers_type first_segment;  // for every partition: the segment of its first nonzero
  numbers_type cleared;  // output rows that must be zero before a walk: those without nonzeros, and those
                         // whose segment crosses a partition's border

  [[nodiscard]] int product_modes() const { return extents.order() - index_modes; }
  /// The m-th product mode.
  [[nodiscard]] int product_mode(int m) const { return modes[index_modes + m]; }
  [[nodiscard]] count_t partitions() const { return ceil_div(nnz, threadlen); }
  /// Rows of the output.
  [[nodiscard]] count_t output_rows() const {
    return rows == FCooRows::of_mode ? extents[modes[0]] : segments;
  }
  /// The length of rows of 16-byte packs of four: P rounded up.
  [[nodiscard]] static count_t padded(count_t nnz) { return ceil_div(nnz, 4) * 4; }

  /// The bytes of Table II: product indices, values and both kinds of flags, the flags in whole words.
  [[nodiscard]] count_t nonzero_bytes() const {
    return nnz * (sizeof(Scalar) + product_modes() * sizeof(Index)) +
           ceil_div(nnz, flags_bits) * sizeof(std::uint64_t) +
           ceil_div(partitions(), starts_bits) * sizeof(std::uint32_t);
  }
  /// The other bytes: the segments' coordinates, the partitions' segments, and the list of cleared rows.
  [[nodiscard]] count_t segment_bytes() const {
    return (segments * index_modes + partitions() + cleared.extent(0)) * sizeof(Index);
  }
};

}  // namespace polyad::detail
