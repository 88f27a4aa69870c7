// SPDX-License-Identifier: BSD-3-Clause
// The residuals of nonzeros, kept one by one: for residual sweeps over rows that are too long for registers.
// A source says where the nonzeros are, as in formats/coo/storage/nonzero_sources.hpp.
#pragma once

#include <Kokkos_Core.hpp>

#include "kernel/launch.hpp"
#include "polyad/kernel/lanes.hpp"
#include "polyad/kernel/other_factors.hpp"
#include "polyad/kernel/rank_dispatch.hpp"
#include "polyad/kernel/tiny_vec.hpp"
#include "polyad/kernel/whole_row_walk.hpp"

namespace polyad::detail {

/// Only the residuals, for rows of any length.
template <class Space, class Scalar, class Source>
struct FormResiduals {
  using Row = TinyVec<Space, Scalar, full_block>;
  Source source;
  Scalar const* C;
  count_t stride;
  OtherFactors<Scalar, any_order> factors;
  Scalar* residuals;
  int rank;
  WholeRowWalk chunks;

  KOKKOS_FUNCTION void walk(count_t begin, count_t end, int lane) const {
    for (count_t p = begin; p < end; ++p) {
      auto const at = source.template at<1>(p);
      Scalar sum    = 0;
      for (int first = 0; first < rank; first += full_block) {
        Columns const columns = columns_or_none<Row>(first, rank, lane);
        Row product(C + source.row(at, 0) * stride, columns);
        for (int m = 1; m < factors.size(); ++m)
          product *= Row(factors.row(m, source.template indices<1>(at, m).element[0]), columns);
        sum +=
            product.dot(Row(factors.row(0, source.template indices<1>(at, 0).element[0]), columns), columns);
      }
      Scalar const e = source.value(at, 0) - sum_over_lanes<Row::lanes>(sum);
      if (lane == 0) residuals[source.position(p)] = e;
    }
  }
  template <class Member>
  KOKKOS_FUNCTION void operator()(Member const& member) const {
    chunks.template operator()<Row>(member,
                                    [&](count_t begin, count_t end, int lane) { walk(begin, end, lane); });
  }
};

/// \throws UsageError when the workspace of a residual sweep was made for a shorter tensor or a lower rank
inline void expect_room_for_residuals(count_t entries, count_t nnz) {
  POLYAD_EXPECTS(entries >= nnz, "a workspace with room for ", entries, " residuals, for ", nnz,
                 " nonzeros: it was made for another tensor or rank");
}

/// e = x - sum over r of prod over all modes of C^(n)(i_n, r) of each nonzero. Launches on `space` and
/// returns without waiting. \throws UsageError when there is no room for them
template <class Space, class Scalar, class Source>
void form_residuals(Space const& space, Source const& source, FactorMatrices<Scalar, Space> const& C,
                    int mode, OtherFactors<Scalar, any_order> const& others, WholeRowWalk const& chunks,
                    Kokkos::View<Scalar*, typename Space::device_type> const& residuals) {
  expect_room_for_residuals(residuals.extent(0), chunks.nnz);
  using Kernel = FormResiduals<Space, Scalar, Source>;
  detail::launch("polyad::form_residuals", chunks.template policy<typename Kernel::Row>(space),
                 Kernel{source, C[mode].data(), C[mode].stride(0), others, residuals.data(),
                        checked_rank(C.rank()), chunks});
}

}  // namespace polyad::detail
