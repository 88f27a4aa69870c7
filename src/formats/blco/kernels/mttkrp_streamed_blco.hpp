// SPDX-License-Identifier: BSD-3-Clause
// The contract's mttkrp for a streamed BLCO tensor. Section c of the nonzeros goes to buffer c mod K.
// Instance c mod K of the execution space first copies it and then adds its products to V. Meanwhile the
// other instances work on other sections (BLCO, section 4.2). Passes alternate between forwards and
// backwards. The next pass therefore need not send the sections again that the buffers still hold.
#pragma once

#include <Kokkos_Core.hpp>
#include <algorithm>

#include "core/space_instances.hpp"
#include "formats/blco/kernels/mttkrp_blco.hpp"
#include "formats/blco/storage/streamed_blco.hpp"
#include "polyad/core/error.hpp"
#include "polyad/core/spaces.hpp"
#include "polyad/core/types.hpp"
#include "polyad/formats/format.hpp"
#include "polyad/tensor/factor_matrices.hpp"

namespace polyad::detail {

template <class Space, class Scalar, class Index>
void mttkrp(Space const& space, StreamedBlco<Scalar, Index, Space> const& X,
            FactorMatrices<Scalar, Space> const& factors, int mode,
            StreamedBlcoWorkspace<Scalar, Space>& work, FactorMatrix<Scalar, Space> const& V) {
  expect_mttkrp_arguments(X.extents(), factors, mode, V);
  work.made_for.expect(X.identity(), factors.rank(), X.name);
  if (X.nnz() == 0) return zero_matrix(space, V);
  BlcoResolution const resolution = X.resolve(space, mode);
  auto const target = detail::tile_target<Scalar, Space>(resolution, work.copies, factors.rank(), V);
  zero_matrix(space, target);

  count_t const sections = ceil_div(X.nnz(), work.section);
  count_t const count    = work.buffers.size();
  for (count_t s = 0; s < sections; ++s) {
    count_t const section = work.is_backward ? sections - 1 - s : s;
    count_t const begin   = section * work.section;
    count_t const end     = std::min(X.nnz(), begin + work.section);
    auto& buffer          = work.buffers[section % count];
    if (buffer.section != section) X.send(buffer, begin, end);
    buffer.section = section;
    // The first kernels wait for the factors and the zeroed V. The copies need not wait.
    if (s < count) enqueue_after(buffer.instance, space);
    detail::add_tile_products(buffer.instance, X.nonzeros(buffer, begin, end), X.options().blco, factors,
                              mode, resolution, target);
  }
  for (auto const& buffer : work.buffers) enqueue_after(space, buffer.instance);
  work.is_backward = !work.is_backward;
  if (resolution.copies > 0) detail::merge_copies(space, resolution.copies, work.copies, V);
}

}  // namespace polyad::detail
