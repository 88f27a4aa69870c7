// SPDX-License-Identifier: BSD-3-Clause
// MTTKRP-A (GenTen, section 4.1, Figure 1). The product of a nonzero is formed in the team's scratch pad.
//
//   for each block of FBS columns                                 operator(): the loop over `first`
//     for each nonzero p of the thread's NZPTM = chunk nonzeros   the loop over `p`
//       tmp(:) = x                                                the first loop over the lanes' columns
//       tmp(:) *= A^(m)(i_m, :) for each other mode m             the loop over `m`
//       V(i_n, :) += tmp(:), with atomics                         the last loop
//
// Bytes and flops are those of MTTKRP-B, but the nonzeros are read again for each block of columns. The
// product's row is also written to the scratch pad N times and read N times. The paper's weights lambda are
// left out: the caller scales the factors.
#pragma once

#include <Kokkos_Core.hpp>
#include <algorithm>
#include <bit>

#include "formats/coo/storage/coo_scratch.hpp"
#include "kernel/launch.hpp"
#include "kernel/launch_shape.hpp"
#include "kernel/rows_at.hpp"
#include "polyad/core/instances.hpp"
#include "polyad/kernel/chunk_walk.hpp"
#include "polyad/kernel/machine.hpp"
#include "polyad/kernel/other_factors.hpp"

namespace polyad::detail {

template <class Space, class Scalar, class Index>
struct MttkrpScratch {
  using ScratchPad = Kokkos::View<Scalar**, Kokkos::LayoutRight, typename Space::scratch_memory_space,
                                  Kokkos::MemoryTraits<Kokkos::Unmanaged>>;

  Index const* indices;  // P x N
  Scalar const* values;
  OtherFactors<Scalar, any_order> factors;
  int mode;
  RowsAt<Scalar> output;  // I_n x R
  count_t nnz;
  count_t chunk;   // the paper's NZPTM
  int rank;        // R
  int block_size;  // the paper's FBS

  template <class Member>
  KOKKOS_FUNCTION void operator()(Member const& member) const {
    ScratchPad const scratch(member.team_scratch(0), member.team_size(), block_size);
    Scalar* const product = &scratch(member.team_rank(), 0);
    count_t const order   = factors.size() + 1;
    count_t const league  = member.league_rank();
    count_t const thread  = league * member.team_size() + member.team_rank();
    count_t const begin   = Kokkos::min(nnz, thread * chunk);
    count_t const end     = Kokkos::min(nnz, begin + chunk);
    for (int first = 0; first < rank; first += block_size) {
      // A lane touches the same columns in every loop below, so the scratch pad needs no barrier.
      auto const columns = Kokkos::ThreadVectorRange(member, Kokkos::min(block_size, rank - first));
      for (count_t p = begin; p < end; ++p) {
        Index const* const index = indices + p * order;
        Scalar const value       = values[p];
        Kokkos::parallel_for(columns, [&](int const j) { product[j] = value; });
        for (int m = 0; m < factors.size(); ++m) {
          Scalar const* const row = factors.row(m, index[factors.mode(m)]) + first;
          Kokkos::parallel_for(columns, [&](int const j) { product[j] *= row[j]; });
        }
        Scalar* const target = output.row(index[mode]) + first;
        // Any thread may add to this row.
        Kokkos::parallel_for(columns, [&](int const j) { Kokkos::atomic_add(target + j, product[j]); });
      }
    }
  }
};

/// Table 3 of the paper: FBS = min(2^ceil(log2 R), 32); on a GPU min(FBS, 16) lanes and teams of 128
/// GPU threads; on a CPU one thread of one lane.
template <class Space>
LaunchShape scratch_launch_shape(count_t nnz, count_t chunk, int block_size) {
  int const vector = std::min(block_size, 16);
  return thread_for_each<Space>(ceil_div(nnz, chunk), device_team_threads / vector, vector);
}

/// The contract's mttkrp (formats/format.hpp) by MTTKRP-A.
template <class Space, class Scalar, class Index>
void mttkrp(Space const& space, CooScratch<Scalar, Index, Space> const& X,
            FactorMatrices<Scalar, Space> const& factors, int mode, NoWorkspace& workspace,
            FactorMatrix<Scalar, Space> const& V) {
  expect_mttkrp_arguments(X.extents(), factors, mode, V);
  workspace.expect(X.identity(), factors.rank(), X.name);
  zero_matrix(space, V);
  if (X.nnz() == 0) return;
  using Kernel            = detail::MttkrpScratch<Space, Scalar, Index>;
  int const rank          = checked_rank(factors.rank());
  int const block_size    = static_cast<int>(std::min(std::bit_ceil(static_cast<unsigned>(rank)), 32U));
  count_t const chunk     = chunk_length(space, X.nnz(), std::min(block_size, 16));
  LaunchShape const shape = detail::scratch_launch_shape<Space>(X.nnz(), chunk, block_size);
  auto policy             = team_policy(space, shape);
  policy.set_scratch_size(0, Kokkos::PerTeam(Kernel::ScratchPad::shmem_size(shape.team, block_size)));
  detail::launch("polyad::mttkrp_scratch", policy,
                 Kernel{X.coo().indices().data(), X.coo().values().data(),
                        OtherFactors<Scalar, any_order>(factors, mode), mode, RowsAt<Scalar>(V), X.nnz(),
                        chunk, rank, block_size});
}

}  // namespace polyad::detail
