// SPDX-License-Identifier: BSD-3-Clause
// Reading a format's nonzeros back as coordinates (ReadableFormat of formats/format.hpp). A source knows
// where they are:
//
//   source.read(p, index)    the value of nonzero p, and its N indices
//
// A format may keep its nonzeros in several pieces, each with a source.
#pragma once

#include <Kokkos_Core.hpp>
#include <algorithm>

#include "polyad/core/types.hpp"
#include "polyad/formats/format.hpp"

namespace polyad::detail {

/// Copies nonzeros first ... of a source to the entries offset ... of a block.
template <class Space, class Scalar, class Source>
struct CopyNonzeros {
  Source source;
  NonzeroBlock<Scalar, Space> block;
  count_t first;
  count_t offset;

  KOKKOS_FUNCTION void operator()(count_t k) const {
    block.values(offset + k) = source.read(first + k, &block.indices(offset + k, 0));
  }
};

/// Fills a block from a format's pieces, which are passed in their order.
template <class Space, class Scalar>
class NonzeroReader {
public:
  /// \throws UsageError as expect_nonzero_block
  template <class F>
  NonzeroReader(Space const& space, F const& format, count_t first, NonzeroBlock<Scalar, Space> const& block)
      : m_space(space), m_block(block), m_first(first) {
    expect_nonzero_block(format.extents(), format.nnz(), first, block);
  }

  /// The next piece, of nnz nonzeros. Does not wait.
  template <class Source>
  void piece(Source const& source, count_t nnz) {
    count_t const begin = std::max(m_first, m_begin);
    count_t const end   = std::min(m_first + m_block.count(), m_begin + nnz);
    if (begin < end)
      Kokkos::parallel_for(
          "polyad::read_nonzeros",
          Kokkos::RangePolicy<Space, Kokkos::IndexType<count_t>>(m_space, 0, end - begin),
          CopyNonzeros<Space, Scalar, Source>{source, m_block, begin - m_begin, begin - m_first});
    m_begin += nnz;
  }

private:
  Space m_space;
  NonzeroBlock<Scalar, Space> m_block;
  count_t m_first;      // first nonzero of the block
  count_t m_begin = 0;  // where the next piece begins
};

/// The last number of an increasing array, from `begin` on, that does not exceed p.
template <class Number>
KOKKOS_FUNCTION count_t last_at_most(Number const* numbers, count_t count, count_t p) {
  count_t low  = 0;
  count_t high = count - 1;
  while (low < high) {
    count_t const middle = (low + high + 1) / 2;
    if (numbers[middle] <= p)
      low = middle;
    else
      high = middle - 1;
  }
  return low;
}

/// Instantiates the read_nonzeros of a format, a class template.
#define POLYAD_READ_NONZEROS(Format, Scalar, Index)                                                       \
  template void read_nonzeros(CompiledSpace const&, Format<Scalar, Index, CompiledSpace> const&, count_t, \
                              NonzeroBlock<Scalar, CompiledSpace> const&)

}  // namespace polyad::detail
