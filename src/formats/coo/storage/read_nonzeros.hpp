// SPDX-License-Identifier: BSD-3-Clause
// read_nonzeros of the coordinate formats. Each is compiled with its format, since a build may have only some
// formats.
#pragma once

#include <Kokkos_Core.hpp>
#include <cstddef>

#include "formats/coo/storage/coo_permuted.hpp"
#include "formats/coo/storage/coo_scratch.hpp"
#include "formats/coo/storage/coo_tiny_vec.hpp"
#include "formats/coo/storage/sorted.hpp"
#include "formats/coo/storage/streamed_sorted.hpp"
#include "formats/walks/nonzero_reader.hpp"
#include "polyad/core/types.hpp"

namespace polyad::detail {

/// Coordinates by nonzeros: P x N.
template <class Scalar, class Index>
struct RowMajorNonzeros {
  Index const* data;
  Scalar const* values;
  int order;

  [[nodiscard]] KOKKOS_FUNCTION Scalar read(count_t p, count_t* index) const {
    for (int n = 0; n < order; ++n) index[n] = data[p * order + n];
    return values[p];
  }
};

/// The copy of one mode: N x P, row m with the indices of modes[m].
template <class Scalar, class Index>
struct CopiedNonzeros {
  Index const* data;
  count_t stride;
  Scalar const* values;
  Kokkos::Array<int, max_order> modes;
  int order;

  [[nodiscard]] KOKKOS_FUNCTION Scalar read(count_t p, count_t* index) const {
    for (int m = 0; m < order; ++m) index[modes[m]] = data[m * stride + p];
    return values[p];
  }
};

template <class Space, class Scalar, KeepsCoordinates F>
void read_nonzeros(Space const& space, F const& X, count_t first, NonzeroBlock<Scalar, Space> const& block) {
  auto const& coo = X.coo();
  NonzeroReader<Space, Scalar>(space, X, first, block)
      .piece(RowMajorNonzeros<Scalar, typename F::index_type>{coo.indices().data(), coo.values().data(),
                                                              coo.order()},
             coo.nnz());
}

/// \param copy  a SortedCopy, or the HostCopy of `streamed-sorted`
template <class Space, class Scalar, class F, class Copy>
void read_copy(Space const& space, Copy const& copy, F const& X, count_t first,
               NonzeroBlock<Scalar, Space> const& block) {
  using Index = typename F::index_type;
  NonzeroReader<Space, Scalar>(space, X, first, block)
      .piece(CopiedNonzeros<Scalar, Index>{copy.indices.data(), copy.indices.stride(0), copy.values.data(),
                                           copy.modes, X.extents().order()},
             X.nnz());
}

template <class Space, class Scalar, class Index>
void read_nonzeros(Space const& space, Sorted<Scalar, Index, Space> const& X, count_t first,
                   NonzeroBlock<Scalar, Space> const& block) {
  if (X.permuted()) return read_nonzeros(space, *X.permuted(), first, block);
  int mode = 0;  // the first one with a copy
  while (mode + 1 < X.extents().order() && X.copy(mode).nnz == 0) ++mode;
  read_copy(space, X.copy(mode), X, first, block);
}

template <class Space, class Scalar, class Index>
void read_nonzeros(Space const& space, StreamedSorted<Scalar, Index, Space> const& X, count_t first,
                   NonzeroBlock<Scalar, Space> const& block) {
  read_copy(space, X.copy(0), X, first, block);  // pinned memory, which a device reads too
}

}  // namespace polyad::detail
