// SPDX-License-Identifier: BSD-3-Clause
// The residual sweep (ResidualFormat of formats/format.hpp) on `b-csf` and `hb-csf`. One walk over the mode's
// trees forms the residual of each nonzero, and the product of a fiber's rows once. The format's MTTKRP then
// takes the residuals as values. This reads twice as much as the sweep on `sorted`, which does both at once.
#pragma once

#include <Kokkos_Core.hpp>

#include "dense/transposed_product.hpp"
#include "formats/csf/kernels/csf_walk.hpp"
#include "formats/csf/kernels/mttkrp_b_csf.hpp"
#include "formats/csf/kernels/mttkrp_slices.hpp"
#include "formats/csf/storage/b_csf.hpp"
#include "formats/csf/storage/hb_csf.hpp"
#include "formats/csf/storage/tree_fibers.hpp"
#include "formats/walks/fiber_products.hpp"
#include "formats/walks/form_residuals.hpp"
#include "kernel/launch.hpp"
#include "polyad/formats/format.hpp"
#include "polyad/kernel/chunk_walk.hpp"
#include "polyad/kernel/machine.hpp"

namespace polyad::detail {

/// e = x - sum over r of p(r) c(r). Each thread walks one bin.
template <class Space, class Scalar, class Index, int Block>
struct FormTreeResiduals {
  using Row = TinyVec<Space, Scalar, Block>;

  TreeFibers<Scalar, Index> source;
  LevelRows<Scalar> factors;
  int rank;
  int level;  // level of the scratch pad
  Scalar* residuals;

  KOKKOS_FUNCTION void walk(count_t bin, Scalar* p, int lane) const {
    count_t i         = source.begin(bin);
    count_t const end = source.begin(bin + 1);
    if (i == end) return;
    auto at = source.start(bin);
    while (i < end) {
      form_fiber_product<Row>(source, at, i, factors, rank, Block, p, lane);
      for (count_t const stop = Kokkos::min(source.fiber_end(at, i), end); i < stop; ++i) {
        Scalar const e = source.value(i) - interaction<Row>(factors, source.leaf(i), p, rank, Block, lane);
        if (lane == 0) residuals[i] = e;
      }
      if (i < end) source.advance(at, i);
    }
  }

  template <class Member>
  KOKKOS_FUNCTION void operator()(Member const& member) const {
    int const length     = pad_row<Scalar>(rank, Block);
    auto* const rows     = static_cast<Scalar*>(member.team_scratch(level).get_shmem_aligned(
        (member.team_size() * length) * sizeof(Scalar), row_alignment));
    count_t const league = member.league_rank();
    count_t const bin    = league * member.team_size() + member.team_rank();
    if (bin >= source.bins()) return;
    Kokkos::parallel_for(Kokkos::ThreadVectorRange(member, Row::lanes),
                         [&](int const lane) { walk(bin, rows + member.team_rank() * length, lane); });
  }
};

/// Entries for the residuals of `nnz` nonzeros, rounded up so that the next tree's begin with a whole pack.
inline count_t padded_residuals(count_t nnz) {
  return ceil_div(nnz, 4) * 4;
}

/// The residuals of one tree's nonzeros, in its order. Launches on `space` and returns without waiting.
template <class Space, class Scalar, class Index>
void form_tree_residuals(Space const& space, CsfTree<Scalar, Index, Space> const& tree,
                         CsfBins<Index, Space> const& bins, FactorMatrices<Scalar, Space> const& C,
                         Kokkos::View<Scalar*, typename Space::device_type> const& residuals) {
  if (tree.nnz() == 0) return;
  detail::with_fiber_block<Space, Index>(C.rank(), [&](auto block) {
    using Kernel        = detail::FormTreeResiduals<Space, Scalar, Index, block()>;
    constexpr int lanes = Kernel::Row::lanes;
    int const team      = team_threads<Space>(lanes);
    auto const rank     = static_cast<int>(C.rank());
    Kernel kernel{detail::TreeFibers<Scalar, Index>(space, tree, bins),
                  detail::LevelRows<Scalar>(C, tree.modes), rank, 0, residuals.data()};
    auto policy = team_policy<detail::CsfBounds<Scalar, 3>>(
        space, LaunchShape{ceil_div(kernel.source.bins(), team), team, lanes});
    kernel.level = detail::set_pad(
        policy, static_cast<std::ptrdiff_t>(team * detail::pad_row<Scalar>(rank, block())) * sizeof(Scalar));
    detail::launch("polyad::form_tree_residuals", policy, kernel);
  });
}

template <class Space, class Scalar, class Index>
void residual_mttkrp(Space const& space, BCsf<Scalar, Index, Space> const& X,
                     FactorMatrices<Scalar, Space> const& C, int mode,
                     ResidualWorkspace<Scalar, NoWorkspace, Space>& workspace,
                     FactorMatrix<Scalar, Space> const& G) {
  expect_residual_arguments(X.extents(), C, mode, G);
  workspace.format.expect(X.identity(), C.rank(), X.name);
  expect_room_for_residuals(workspace.residuals.extent(0), X.nnz() + residual_padding);
  POLYAD_EXPECTS(!X.leaves(), "b-csf with the modes at the leaves has no residual sweep");
  auto binned = X.tree(mode);
  form_tree_residuals(space, binned.tree, binned.bins, C, workspace.residuals);
  binned.tree.values = Kokkos::subview(workspace.residuals, Kokkos::make_pair(count_t(0), binned.tree.nnz()));
  zero_rows(space, X.cleared(mode), C, G);
  detail::mttkrp_binned(space, binned, C, G);
}

template <class Space, class Scalar, class Index>
void residual_mttkrp(Space const& space, HbCsf<Scalar, Index, Space> const& X,
                     FactorMatrices<Scalar, Space> const& C, int mode,
                     ResidualWorkspace<Scalar, NoWorkspace, Space>& workspace,
                     FactorMatrix<Scalar, Space> const& G) {
  expect_residual_arguments(X.extents(), C, mode, G);
  workspace.format.expect(X.identity(), C.rank(), X.name);
  expect_room_for_residuals(workspace.residuals.extent(0), X.nnz() + residual_padding);
  auto groups        = X.groups(mode);
  count_t begin      = 0;
  auto const replace = [&](auto& tree, auto const& bins) {
    count_t const nnz    = tree.nnz();
    auto const residuals = Kokkos::subview(workspace.residuals, Kokkos::make_pair(begin, begin + nnz));
    form_tree_residuals<Space, Scalar, Index>(space, tree, bins, C, residuals);
    tree.values = residuals;
    begin += detail::padded_residuals(nnz);
  };
  replace(groups.coo, CsfBins<Index, Space>{});
  replace(groups.csl.tree, groups.csl.bins);
  replace(groups.b_csf.tree, groups.b_csf.bins);
  zero_rows(space, groups.cleared, C, G);
  mttkrp_singles(space, groups.coo, C, G);
  detail::mttkrp_binned(space, groups.csl, C, G);
  detail::mttkrp_binned(space, groups.b_csf, C, G);
}

}  // namespace polyad::detail
