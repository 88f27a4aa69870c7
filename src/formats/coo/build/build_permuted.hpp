// SPDX-License-Identifier: BSD-3-Clause
// Building CooPermuted: one radix sort per mode, on the device.
#pragma once

#include <limits>

#include "formats/coo/storage/coo_permuted.hpp"
#include "formats/coo/storage/nonzero_sources.hpp"
#include "formats/coo/storage/row_starts.hpp"
#include "polyad/tensor/sort_by_mode.hpp"

namespace polyad::detail {

template <class Scalar, class Index, class Space>
CooPermuted<Scalar, Index, Space> CooPermuted<Scalar, Index, Space>::build(
    Space const& space, CooTensor<Scalar, Index, Space> const& coo, options_type const&) {
  POLYAD_EXPECTS(coo.nnz() <= std::numeric_limits<Index>::max(), coo.nnz(),
                 " nonzeros need 64-bit indices in this format");
  CooPermuted format;
  format.describe(space, coo);
  format.m_coo = coo;
  for (int n = 0; n < coo.order(); ++n) {
    auto const permutation = identity_permutation<Index>(space, coo.nnz());
    sort_by_mode(space, coo, n, permutation);
    format.m_permutations[n] = permutation;
  }
  return format;
}

template <class Scalar, class Index, class Space>
RowStarts<Space> CooPermuted<Scalar, Index, Space>::make_row_workspace(Space const& space) const {
  RowStarts<Space> starts;
  starts.made_for = {m_identity, 0};
  for (int n = 0; n < extents().order(); ++n)
    starts[n] =
        detail::make_row_starts(space, detail::PermutedSource<Scalar, Index>(*this, n), extents()[n], nnz());
  return starts;
}

}  // namespace polyad::detail
