// SPDX-License-Identifier: BSD-3-Clause
// read_nonzeros of F-COO: the bit flags of a partition say in which segment a nonzero is.
#include <cstdint>

#include "formats/fcoo/storage/fcoo.hpp"
#include "formats/walks/nonzero_reader.hpp"
#include "polyad/core/instances.hpp"

namespace polyad::detail {
namespace {

template <class Scalar, class Index>
struct FlaggedSource {
  Index const* indices;  // M x P
  count_t index_stride;
  Scalar const* values;
  std::uint64_t const* flags;
  Index const* coordinates;  // K x (S + 1)
  count_t coordinate_stride;
  Index const* first_segment;  // each partition's
  Kokkos::Array<int, max_order> modes;
  int index_modes;
  int order;
  int threadlen;

  template <class Space>
  explicit FlaggedSource(FlaggedNonzeros<Scalar, Index, Space> const& X)
      : indices(X.indices.data()),
        index_stride(X.indices.stride(0)),
        values(X.values.data()),
        flags(X.flags.data()),
        coordinates(X.coordinates.data()),
        coordinate_stride(X.coordinates.stride(0)),
        first_segment(X.first_segment.data()),
        modes(X.modes),
        index_modes(X.index_modes),
        order(X.extents.order()),
        threadlen(X.threadlen) {}

  [[nodiscard]] KOKKOS_FUNCTION Scalar read(count_t p, count_t* index) const {
    count_t const partition = p / static_cast<unsigned>(threadlen);
    auto const before       = static_cast<int>(p - partition * static_cast<unsigned>(threadlen));
    // A bit is 0 where a segment ends. A partition's bits share a word.
    std::uint64_t const word = ~flags[p / 64] >> (p - static_cast<unsigned>(before)) % 64;
    std::uint64_t const ends = word & ((std::uint64_t(1) << before) - 1);
    count_t const segment    = first_segment[partition] + Kokkos::popcount(ends);
    for (int m = 0; m < order; ++m)
      index[modes[m]] = m < index_modes ? coordinates[m * coordinate_stride + segment]
                                        : indices[(m - index_modes) * index_stride + p];
    return values[p];
  }
};

}  // namespace

template <class Space, class Scalar, class Index>
void read_nonzeros(Space const& space, FCoo<Scalar, Index, Space> const& X, count_t first,
                   NonzeroBlock<Scalar, Space> const& block) {
  int mode = 0;  // the first one with a copy
  while (!X.keeps(mode)) ++mode;
  NonzeroReader<Space, Scalar>(space, X, first, block)
      .piece(FlaggedSource<Scalar, Index>(X.nonzeros(mode)), X.nnz());
}

POLYAD_EACH_OF(FCoo, POLYAD_READ_NONZEROS);

}  // namespace polyad::detail
