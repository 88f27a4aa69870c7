// SPDX-License-Identifier: BSD-3-Clause
// SortedCopy: the nonzeros in the order of one output mode, then of the other modes from the shortest to the
// longest. The rows of the output then come one after another, and the row of the shortest other factor stays
// the same for a while. This applies GenTen's permutation (section 6) to the data, so that a walk streams.
//
// Locality blocks: the nonzeros of a row may have different indices in the shortest other mode. That factor's
// rows then come from the second-level cache each time. In this case the mode is cut into ranges whose rows
// fit a multiprocessor's first-level cache. All nonzeros of one range come before those of the next: [range,
// output row, the others]. An output row occurs in many ranges, so all its sums are added with atomics.
#pragma once

#include <Kokkos_Core.hpp>

#include "polyad/core/types.hpp"
#include "polyad/formats/workspace_owner.hpp"
#include "polyad/tensor/factor_matrices.hpp"

namespace polyad::detail {

/// The combination of sums in rows at a chunk's borders, which other chunks share.
enum class Borders {
  /// Added to the output one after another.
  atomics,
  /// Atomics would wait for each other. A team first adds up its own sums, and a walk without team sums
  /// merges them.
  hot,
  /// Listed, then summed in a fixed order: the same bits at every run. Also for rows of floats that would
  /// lose digits if all chunks added to them.
  merge
};

template <class Scalar, class Index, class Space>
struct SortedCopy {
  using indices_type = Kokkos::View<Index**, Kokkos::LayoutRight, typename Space::device_type>;
  using values_type  = Kokkos::View<Scalar*, typename Space::device_type>;
  using rows_type    = Kokkos::View<Index*, typename Space::device_type>;

  Kokkos::Array<int, max_order> modes;  // modes[0] is the output mode, the others from the shortest on
  indices_type indices;                 // N x P: row m holds the indices of modes[m]
  values_type values;                   // P
  rows_type cleared;                    // output rows that must be zero before the walk
  count_t nnz        = 0;
  count_t rows       = 0;  // output rows that occur
  count_t chunk      = 0;  // nonzeros that a thread walks
  count_t block_rows = 0;  // rows of modes[1] in a locality block, 0: no blocks
  bool hoist = false;  // runs of (row, index of modes[1]) are long: that factor is multiplied once per run
  Borders borders = Borders::atomics;

  /// The length of rows of 16-byte packs of four: P rounded up.
  [[nodiscard]] static count_t padded(count_t nnz) { return ceil_div(nnz, 4) * 4; }
};

/// The rows at the chunks' borders, and their sums, until they are merged.
template <class Scalar, class Index, class Space>
struct SortedWorkspace {
  WorkspaceOwner made_for;
  Kokkos::View<Index*, typename Space::device_type> rows;
  FactorMatrix<Scalar, Space> sums;
};

}  // namespace polyad::detail
