// SPDX-License-Identifier: BSD-3-Clause
// read_nonzeros of the formats in linear orders. Each is compiled with its format, since a build may have
// only some formats.
#pragma once

#include <Kokkos_Core.hpp>
#include <cstddef>

#include "formats/blco/storage/alto.hpp"
#include "formats/blco/storage/blco.hpp"
#include "formats/blco/storage/streamed_blco.hpp"
#include "formats/walks/nonzero_reader.hpp"
#include "polyad/core/types.hpp"

namespace polyad::detail {

template <class Scalar, class Index>
struct LinearNonzeros {
  BlcoNonzeros<Scalar, Index> nonzeros;

  [[nodiscard]] KOKKOS_FUNCTION Scalar read(count_t p, count_t* index) const {
    nonzeros.for_each_index(p, nonzeros.block_of(p), [&](int n, Index i) { index[n] = i; });
    return nonzeros.values[p];
  }
};

/// Indices by modes; those of grouped modes by groups.
template <class Scalar, class Index>
struct AltoNonzeros {
  Index const* indices;  // (N - g) x P
  count_t index_stride;
  Index const* group_indices;  // g x groups
  count_t group_stride;
  Index const* starts;  // where the groups begin
  count_t groups;
  Scalar const* values;
  Kokkos::Array<int, max_order> modes;
  int grouped;
  int order;

  [[nodiscard]] KOKKOS_FUNCTION Scalar read(count_t p, count_t* index) const {
    count_t const group = grouped > 0 ? last_at_most(starts, groups, p) : 0;
    for (int m = 0; m < order; ++m)
      index[modes[m]] =
          m < grouped ? group_indices[m * group_stride + group] : indices[(m - grouped) * index_stride + p];
    return values[p];
  }
};

template <class Space, class Scalar, class Index>
void read_nonzeros(Space const& space, Alto<Scalar, Index, Space> const& X, count_t first,
                   NonzeroBlock<Scalar, Space> const& block) {
  NonzeroReader<Space, Scalar>(space, X, first, block)
      .piece(AltoNonzeros<Scalar, Index>{X.indices().data(), X.indices().stride(0), X.group_indices().data(),
                                         X.group_indices().stride(0), X.starts().data(), X.groups(),
                                         X.values().data(), X.modes(), X.grouped(), X.extents().order()},
             X.nnz());
}

template <class Space, class Scalar, class Index>
void read_nonzeros(Space const& space, Blco<Scalar, Index, Space> const& X, count_t first,
                   NonzeroBlock<Scalar, Space> const& block) {
  NonzeroReader<Space, Scalar>(space, X, first, block)
      .piece(LinearNonzeros<Scalar, Index>{X.blocks().nonzeros()}, X.nnz());
}

template <class Space, class Scalar, class Index>
void read_nonzeros(Space const& space, StreamedBlco<Scalar, Index, Space> const& X, count_t first,
                   NonzeroBlock<Scalar, Space> const& block) {
  auto const& headers = X.headers();
  // Indices and values are in pinned memory, which a device reads too.
  NonzeroReader<Space, Scalar>(space, X, first, block)
      .piece(LinearNonzeros<Scalar, Index>{{X.linear().data(), X.values().data(), headers.begins.data(),
                                            headers.uppers.data(), headers.block_map.data(), X.nnz(),
                                            X.encoding()}},
             X.nnz());
}

}  // namespace polyad::detail
