// SPDX-License-Identifier: BSD-3-Clause
// The nonzeros of BLCO and their blocks (BLCO, section 4). Linear indices and values are in ALTO's order. The
// nonzeros of a block share the stripped bits of all indices, and there are at most `max_block` of them. A
// map gives the block of any nonzero, so one launch covers all blocks and a work-group may start anywhere.
#pragma once

#include <Kokkos_Core.hpp>
#include <cstdint>

#include "formats/blco/storage/blco_encoding.hpp"
#include "polyad/core/types.hpp"

namespace polyad::detail {

/// Nonzeros between two entries of the map from a nonzero to its block.
inline constexpr count_t block_map_step = 256;

/// The nonzeros as a kernel sees them: all of them, or a section that was sent to the device.
template <class Scalar, class Index>
struct BlcoNonzeros {
  std::uint64_t const* linear;  // nnz x words
  Scalar const* values;         // nnz
  count_t const* begins;        // B + 1: the first nonzero of every block, and P
  Index const* uppers;          // B x N: the stripped bits of every mode, in their place
  count_t const* block_map;     // ceil(P / step) + 1: the block of nonzero step * c, and the last block
  count_t nnz;
  BlcoEncoding encoding;
  count_t first = 0;  // where the section begins among all P nonzeros, by which blocks are counted

  /// The block of nonzero i of this section.
  [[nodiscard]] KOKKOS_FUNCTION count_t block_of(count_t i) const {
    count_t const p = first + i;
    count_t low     = block_map[p / block_map_step];
    count_t high    = block_map[p / block_map_step + 1];
    while (low < high) {  // the last block that begins at p or before
      count_t const middle = (low + high + 1) / 2;
      if (begins[middle] <= p)
        low = middle;
      else
        high = middle - 1;
    }
    return low;
  }
  template <int Words>
  [[nodiscard]] KOKKOS_FUNCTION LinearIndex<Words> linear_index(count_t p) const {
    LinearIndex<Words> index;
    for (int w = 0; w < Words; ++w) index.word[w] = linear[p * Words + w];
    return index;
  }
  /// The stripped bits of a block's mode n.
  [[nodiscard]] KOKKOS_FUNCTION Index upper(count_t block, int n) const {
    return uppers[block * encoding.order() + n];
  }

  /// Calls use(n, index) for the index of every mode of nonzero p, which belongs to `block`.
  template <class Use>
  KOKKOS_FUNCTION void for_each_index(count_t p, count_t block, Use const& use) const {
    if (encoding.words() == 1) {
      auto const linear_p = linear_index<1>(p);
      for (int n = 0; n < encoding.order(); ++n)
        use(n, static_cast<Index>(encoding.decode(n, linear_p)) | upper(block, n));
    } else {
      auto const linear_p = linear_index<2>(p);
      for (int n = 0; n < encoding.order(); ++n)
        use(n, static_cast<Index>(encoding.decode(n, linear_p)) | upper(block, n));
    }
  }
  /// The index of one mode.
  [[nodiscard]] KOKKOS_FUNCTION Index index(count_t p, count_t block, int n) const {
    auto const lower = encoding.words() == 1 ? encoding.decode(n, linear_index<1>(p))
                                             : encoding.decode(n, linear_index<2>(p));
    return static_cast<Index>(lower) | upper(block, n);
  }
};

/// Owns the headers of the blocks, and their map.
template <class Index, class Device>
struct BlcoHeaders {
  Kokkos::View<count_t*, Device> begins;
  Kokkos::View<Index*, Device> uppers;
  Kokkos::View<count_t*, Device> block_map;

  [[nodiscard]] count_t count() const { return begins.extent(0) == 0 ? 0 : begins.extent(0) - 1; }
  [[nodiscard]] count_t storage_bytes() const {
    return (begins.extent(0) + block_map.extent(0)) * sizeof(count_t) + uppers.extent(0) * sizeof(Index);
  }
  /// Bytes of one header.
  static count_t header_bytes(int order) { return sizeof(count_t) + order * sizeof(Index); }
};

/// Owns the nonzeros and their headers.
template <class Scalar, class Index, class Space>
struct BlcoBlocks {
  using Device = typename Space::device_type;
  Kokkos::View<std::uint64_t*, Device> linear;
  Kokkos::View<Scalar*, Device> values;
  BlcoHeaders<Index, Device> headers;
  BlcoEncoding encoding;

  [[nodiscard]] count_t nnz() const { return values.extent(0); }
  [[nodiscard]] count_t count() const { return headers.count(); }
  [[nodiscard]] count_t storage_bytes() const {
    return linear.extent(0) * sizeof(std::uint64_t) + nnz() * sizeof(Scalar) + headers.storage_bytes();
  }
  [[nodiscard]] BlcoNonzeros<Scalar, Index> nonzeros() const {
    return {
        linear.data(), values.data(), headers.begins.data(), headers.uppers.data(), headers.block_map.data(),
        nnz(),         encoding};
  }
};

}  // namespace polyad::detail
