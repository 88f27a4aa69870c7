// SPDX-License-Identifier: BSD-3-Clause
// A tree and its bins as the kernels of the CSF family see them, by pointers; and how kernels write a slice.
#pragma once

#include <Kokkos_Core.hpp>

#include "formats/csf/costs/csf_tuning.hpp"
#include "formats/csf/storage/csf_bins.hpp"
#include "formats/csf/storage/csf_tree.hpp"
#include "kernel/launch.hpp"
#include "kernel/launch_shape.hpp"
#include "kernel/rows_at.hpp"
#include "polyad/core/spaces.hpp"
#include "polyad/kernel/chunk_walk.hpp"
#include "polyad/kernel/other_factors.hpp"
#include "polyad/kernel/team_sums.hpp"
#include "polyad/kernel/tiny_vec.hpp"

namespace polyad::detail {

/// The arrays of a tree. Order is N if a kernel is compiled for it, or any_order.
template <class Scalar, class Index, int Order>
struct TreeArrays {
  static constexpr int capacity = Order > 0 ? Order : max_order;
  Index const* indices[capacity]{};
  Index const* pointers[capacity]{};
  Index nodes[capacity]{};
  Scalar const* values = nullptr;

  template <class Space>
  explicit TreeArrays(CsfTree<Scalar, Index, Space> const& tree) : values(tree.values.data()) {
    for (int l = 0; l < tree.order; ++l) {
      indices[l]  = tree.indices[l].data();
      pointers[l] = tree.pointers[l].data();
      nodes[l]    = static_cast<Index>(tree.nodes(l));
    }
  }
};

/// The arrays of a tree's bins.
template <class Index, int Order>
struct BinArrays {
  static constexpr int capacity = Order > 0 ? Order : max_order;
  Index const* begins;
  unsigned char const* starts_slice;
  Index const* nodes[capacity]{};

  template <class Space>
  explicit BinArrays(CsfBins<Index, Space> const& bins)
      : begins(bins.begins.data()), starts_slice(bins.starts_slice.data()) {
    for (int l = 0; l < capacity; ++l) nodes[l] = bins.nodes[l].data();
  }
};

/// The current slice of a walk and its sum. `shared`: other bins also hold nonzeros of the slice.
template <class Row, class Index>
struct SliceSum {
  Index slice;
  bool shared;
  Row sum;
};

template <class Row, class Scalar, class Index>
struct SliceWriter {
  Index const* rows;      // the slices' indices
  RowsAt<Scalar> output;  // I_n x R

  // The sum is passed by value, and the functions that change it are inlined. GCC keeps a sum in memory
  // instead of registers if a call can reach it.
  KOKKOS_FUNCTION void write(Index slice, bool shared, Row const sum, auto const& columns) const {
    Scalar* const row = output.row(rows[slice]);
    if (shared)
      sum.atomic_add_to(row, columns);  // the workers of the neighbouring bins add to it too
    else
      sum.store(row, columns);
  }
  /// Writes the slice's sum over this bin, and begins the next slice.
  KOKKOS_FORCEINLINE_FUNCTION void next(SliceSum<Row, Index>& run, auto const& columns) const {
    write(run.slice, run.shared, run.sum, columns);
    ++run.slice;
    run.shared = false;
    run.sum    = Row(Scalar(0));
  }
  /// Writes the bin's last slice. If other bins share it, the sum is left to the team.
  template <class Last>
  KOKKOS_FORCEINLINE_FUNCTION void last(SliceSum<Row, Index> const& run, bool shared, auto const& columns,
                                        Last const& team) const {
    if constexpr (Last::is_wanted) {
      if (run.shared || shared) return team.leave(rows[run.slice], run.sum, columns);
      team.leave_nothing();
    }
    write(run.slice, run.shared || shared, run.sum, columns);
  }
};

/// The teams on a multiprocessor for which the compiler must leave registers, as measured for `sorted`.
template <class Scalar, int Order>
using CsfBounds =
    Kokkos::LaunchBounds<device_team_threads, Order == 3 || (Order == 4 && sizeof(Scalar) == 8) ? 6 : 4>;

/// Launches a Kernel in which each thread walks one bin. The kernel's arguments are the tree, its bins, the
/// factors of the levels below the root, the output for slices, and the walk.
template <class Kernel, bool Together, int Order, class Space, class Scalar, class Index>
void launch_bins(char const* label, Space const& space, CsfTree<Scalar, Index, Space> const& tree,
                 CsfBins<Index, Space> const& bins, FactorMatrices<Scalar, Space> const& factors,
                 ColumnBlocks blocks, FactorMatrix<Scalar, Space> const& V) {
  using Row    = typename Kernel::Row;
  using Bounds = CsfBounds<Scalar, Order>;
  ChunkWalk const workers{bins.size(), 1, blocks};
  launch_with_local_copy(
      label, policy_with_team_sums<Together, Row, Row::block, Scalar, Index, Bounds>(space, workers),
      Kernel{TreeArrays<Scalar, Index, Order>(tree),
             BinArrays<Index, Order>(bins),
             OtherFactors<Scalar, Order>(factors, tree.modes),
             {tree.indices[0].data(), RowsAt<Scalar>(V)},
             workers});
}

}  // namespace polyad::detail
