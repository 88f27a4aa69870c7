// SPDX-License-Identifier: BSD-3-Clause
// The start of HOOI by the truncated HOSVD: U^(n) = the R_n leading left singular vectors of X_(n) (De
// Lathauwer, De Moor & Vandewalle, SIAM J. Matrix Anal. Appl. 21(4), 2000). Found by dense/nvecs.hpp.
#pragma once

#include <Kokkos_Core.hpp>
#include <algorithm>
#include <vector>

#include "polyad/dense/nvecs.hpp"
#include "polyad/tucker/hooi.hpp"

namespace polyad {

/// Factors with orthonormal columns for tucker_hooi. Beyond the rank of X_(n) they are random directions.
/// Takes up to 150 iterations of nvecs a mode. Waits for `space`.
/// \throws UsageError when the ranks do not match; MemoryError
template <class Scalar, class Index, class Space>
std::vector<FactorMatrix<Scalar, Space>> hosvd_tucker_start(Space const& space,
                                                            CooTensor<Scalar, Index, Space> const& tensor,
                                                            TuckerOptions const& options) {
  expect_tucker_ranks(tensor.extents(), options.ranks);
  // More columns than are wanted: a subspace is found at the rate of the singular values behind it.
  count_t const rank =
      *std::max_element(options.ranks.begin(), options.ranks.end()) + options.vectors.oversampling;
  auto const leading = nvecs(space, tensor, rank, {options.seed, 150, 1e-11});
  LeadingVectors<Scalar, Space> vectors(space, options.vectors);
  std::vector<FactorMatrix<Scalar, Space>> U;
  for (int n = 0; n < tensor.order(); ++n) {
    count_t const columns = options.ranks[static_cast<std::size_t>(n)];
    auto const first =
        make_factor_matrix<Scalar>(space, "polyad::tucker_start", tensor.extents()[n], columns);
    Kokkos::deep_copy(space, first,
                      Kokkos::subview(leading[n], Kokkos::ALL, Kokkos::make_pair(count_t(0), columns)));
    U.push_back(make_factor_matrix<Scalar>(space, "polyad::tucker_factor", tensor.extents()[n], columns));
    vectors.orthonormalize(first, U.back());
  }
  return U;
}

}  // namespace polyad
