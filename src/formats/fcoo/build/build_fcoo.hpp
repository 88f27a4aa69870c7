// SPDX-License-Identifier: BSD-3-Clause
// Building f-coo, its division into partitions of another length, and SpTTM's nonzeros.
#pragma once

#include <Kokkos_Core.hpp>
#include <cstddef>

#include "formats/fcoo/build/build_flagged.hpp"
#include "formats/fcoo/kernels/sum_flagged.hpp"
#include "formats/fcoo/storage/fcoo.hpp"
#include "formats/fcoo/storage/flagged_nonzeros.hpp"
#include "polyad/core/error.hpp"
#include "polyad/core/types.hpp"
#include "polyad/tensor/coo_tensor.hpp"

namespace polyad::detail {

template <class Scalar, class Index, class Space>
FCoo<Scalar, Index, Space> FCoo<Scalar, Index, Space>::build(Space const& space,
                                                             CooTensor<Scalar, Index, Space> const& coo,
                                                             options_type const& options) {
  expect_shape(options.shape);
  FCoo format;
  format.describe(space, coo);
  format.m_options    = options;
  int const threadlen = options.threadlen == 0 ? automatic_threadlen(space, coo.nnz()) : options.threadlen;
  bool counted        = false;
  for (int n = 0; n < coo.order(); ++n) {
    if (!format.keeps(n)) continue;
    auto& nonzeros = format.m_nonzeros[n];
    nonzeros       = make_flagged(space, coo, mode_first(coo.order(), n), 1, FCooRows::of_mode, threadlen);
    if (!counted) format.m_duplicates = count_repeated(space, nonzeros);
    counted = true;
  }
  return format;
}

template <class Scalar, class Index, class Space>
FCoo<Scalar, Index, Space> FCoo<Scalar, Index, Space>::reshaped(Space const& space,
                                                                options_type const& options) const {
  expect_shape(options.shape);
  FCoo result                = *this;
  result.m_options           = options;
  result.m_options.only_mode = m_options.only_mode;
  int const threadlen        = options.threadlen == 0 ? automatic_threadlen(space, m_nnz) : options.threadlen;
  for (int n = 0; n < m_extents.order(); ++n)
    if (keeps(n)) result.m_nonzeros[n] = repartitioned(space, nonzeros(n), threadlen);
  return result;
}

template <class Scalar, class Index, class Space>
FlaggedNonzeros<Scalar, Index, Space> build_spttm(Space const& space,
                                                  CooTensor<Scalar, Index, Space> const& coo, int mode,
                                                  int threadlen) {
  expect_mode(mode, coo.extents());
  POLYAD_EXPECTS(coo.order() >= 2, "a tensor of order 1 has no fibers besides itself");
  return make_flagged(space, coo, mode_last(coo.order(), mode), coo.order() - 1, FCooRows::of_segments,
                      threadlen == 0 ? automatic_threadlen(space, coo.nnz()) : threadlen);
}

#define POLYAD_BUILD_SPTTM(Scalar, Index)                             \
  template FlaggedNonzeros<Scalar, Index, CompiledSpace> build_spttm( \
      CompiledSpace const&, CooTensor<Scalar, Index, CompiledSpace> const&, int, int)

}  // namespace polyad::detail
