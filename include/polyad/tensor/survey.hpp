// SPDX-License-Identifier: BSD-3-Clause
// A survey of a tensor before any format is built: how its nonzeros spread over the rows of each mode, and
// how many fibers it has. It takes one pass over a list of coordinates in host memory, without Kokkos and
// without sorting. any_format's cost model is based on it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace polyad {

/// The rows of one mode, by how many nonzeros they have.
struct ModeSurvey {
  static constexpr std::size_t bins = 40;

  std::uint64_t extent = 0;
  /// [b]: the rows of 2^b to 2^(b+1) - 1 nonzeros, and the nonzeros in them.
  std::array<std::uint64_t, bins> rows{};
  std::array<std::uint64_t, bins> nonzeros{};
  std::uint64_t longest = 0;  // nonzeros of the fullest row
  /// Fibers of the tree whose root is this mode and whose leaf is the longest other mode: distinct indices in
  /// all modes but the leaf. An estimate, accurate to about a hundredth for thousands of fibers.
  double fibers = 0;
  /// Fibers along this mode: distinct indices in all other modes. The same kind of estimate.
  double fibers_along = 0;

  /// Rows that have a nonzero.
  [[nodiscard]] std::uint64_t used() const;
};

struct TensorSurvey {
  std::uint64_t nnz = 0;  // duplicates count one by one
  std::vector<ModeSurvey> modes;

  [[nodiscard]] int order() const { return static_cast<int>(modes.size()); }
  /// Bits of a linear index: of each mode's largest index, added up (ALTO, BLCO).
  [[nodiscard]] int linear_bits() const;
};

/// The leaf of the tree with this root: the longest other mode, or the last of several such modes.
[[nodiscard]] int leaf_of(TensorSurvey const& tensor, int root);

/// \param indices  nnz x N, row-major, counted from 0, each below its extent
/// \param threads  the most threads to use, at most one per mode. 0: as many as the machine has
/// Takes 4 bytes for each row of a mode, but at most 4 KiB or 32 bytes per nonzero. Modes with more rows are
/// counted by hashes. Rows with the same hash count as one, which loses at most about one row in nine.
/// \throws UsageError naming a nonzero with an index outside
template <class Index>
[[nodiscard]] TensorSurvey survey_tensor(std::span<std::uint64_t const> extents,
                                         std::span<Index const> indices, int threads = 0);

extern template TensorSurvey survey_tensor(std::span<std::uint64_t const>, std::span<std::uint32_t const>,
                                           int);
extern template TensorSurvey survey_tensor(std::span<std::uint64_t const>, std::span<std::uint64_t const>,
                                           int);

}  // namespace polyad
