// SPDX-License-Identifier: BSD-3-Clause
// The nonzeros for a walk in the order of one mode's rows, from a sorted copy or from coordinates and a
// permutation. A kernel written for this interface serves both formats.
//
//   source.template at<Count>(p)      the nonzeros at positions p ... p + Count - 1 of the order
//   source.row(at, u), value(at, u)   row of the output mode, and value, of the u-th of them
//   source.template indices<Count>(at, m)   their indices in the m-th other mode, as OtherFactors count them
//   source.template prefetch<Row>(p)  prefetches the nonzero at position p, which a host's walk reads soon
#pragma once

#include <Kokkos_Core.hpp>

#include "formats/coo/storage/coo_permuted.hpp"
#include "formats/coo/storage/sorted_copy.hpp"
#include "kernel/prefetch.hpp"
#include "polyad/core/types.hpp"
#include "polyad/kernel/other_factors.hpp"
#include "polyad/kernel/tiny_vec.hpp"

namespace polyad::detail {

/// Streams: packs of Count positions are read at once; positions are multiples of Count.
template <class Scalar, class Index>
struct SortedSource {
  using index_type = Index;

  Index const* data;  // N x P, row-major; row 0 holds the output mode's indices
  count_t stride;
  Scalar const* values;

  template <class Space>
  explicit SortedSource(SortedCopy<Scalar, Index, Space> const& copy)
      : data(copy.indices.data()), stride(copy.indices.stride(0)), values(copy.values.data()) {}

  template <int Count>
  struct At {
    count_t first;
    Pack<Index, Count> rows;
    Pack<Scalar, Count> x;
  };
  template <int Count>
  [[nodiscard]] KOKKOS_FORCEINLINE_FUNCTION At<Count> at(count_t p) const {
    return {p, *reinterpret_cast<Pack<Index, Count> const*>(data + p),
            *reinterpret_cast<Pack<Scalar, Count> const*>(values + p)};
  }
  template <int Count>
  [[nodiscard]] KOKKOS_FORCEINLINE_FUNCTION Index row(At<Count> const& at, int u) const {
    return at.rows.element[u];
  }
  template <int Count>
  [[nodiscard]] KOKKOS_FORCEINLINE_FUNCTION Scalar value(At<Count> const& at, int u) const {
    return at.x.element[u];
  }
  template <int Count>
  [[nodiscard]] KOKKOS_FORCEINLINE_FUNCTION Pack<Index, Count> indices(At<Count> const& at, int m) const {
    return *reinterpret_cast<Pack<Index, Count> const*>(data + (m + 1) * stride + at.first);
  }
  [[nodiscard]] KOKKOS_FORCEINLINE_FUNCTION Index row(count_t p) const { return data[p]; }
  /// The processor itself prefetches streams.
  template <class Row>
  KOKKOS_FORCEINLINE_FUNCTION void prefetch(count_t) const {}
  /// The index, in an array like `values`, of the nonzero at position p of the order.
  [[nodiscard]] KOKKOS_FORCEINLINE_FUNCTION count_t position(count_t p) const { return p; }
};

/// Scattered reads of whole coordinates. Order is N if a kernel is compiled for it, or any_order.
template <class Scalar, class Index, int Order = any_order>
struct PermutedSource {
  using index_type = Index;

  Index const* permutation;
  Index const* data;  // P x N
  Scalar const* values;
  count_t nnz;
  int order;
  int mode;

  template <class Space>
  PermutedSource(CooPermuted<Scalar, Index, Space> const& X, int n)
      : permutation(X.permutation(n).data()),
        data(X.coo().indices().data()),
        values(X.coo().values().data()),
        nnz(X.nnz()),
        order(X.extents().order()),
        mode(n) {}

  template <int Count>
  struct At {
    Index nonzero[Count];
  };
  template <int Count>
  [[nodiscard]] KOKKOS_FORCEINLINE_FUNCTION At<Count> at(count_t p) const {
    At<Count> at;
    for (int u = 0; u < Count; ++u) at.nonzero[u] = permutation[p + u];
    return at;
  }
  [[nodiscard]] KOKKOS_FORCEINLINE_FUNCTION Index index(Index nonzero, int n) const {
    return data[static_cast<count_t>(nonzero) * (Order > 0 ? Order : order) + n];
  }
  template <int Count>
  [[nodiscard]] KOKKOS_FORCEINLINE_FUNCTION Index row(At<Count> const& at, int u) const {
    return index(at.nonzero[u], mode);
  }
  template <int Count>
  [[nodiscard]] KOKKOS_FORCEINLINE_FUNCTION Scalar value(At<Count> const& at, int u) const {
    return values[at.nonzero[u]];
  }
  template <int Count>
  [[nodiscard]] KOKKOS_FORCEINLINE_FUNCTION Pack<Index, Count> indices(At<Count> const& at, int m) const {
    Pack<Index, Count> result;
    for (int u = 0; u < Count; ++u) result.element[u] = index(at.nonzero[u], m < mode ? m : m + 1);
    return result;
  }
  [[nodiscard]] KOKKOS_FORCEINLINE_FUNCTION Index row(count_t p) const { return index(permutation[p], mode); }
  template <class Row>
  KOKKOS_FORCEINLINE_FUNCTION void prefetch([[maybe_unused]] count_t p) const {
    if constexpr (Row::form == RowForm::simd) {
      if (p >= nnz) return;
      count_t const nonzero = permutation[p];
      prefetch_line<Row>(data + nonzero * order);
      prefetch_line<Row>(values + nonzero);
    }
  }
  [[nodiscard]] KOKKOS_FORCEINLINE_FUNCTION count_t position(count_t p) const { return permutation[p]; }
};

}  // namespace polyad::detail
