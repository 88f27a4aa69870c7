// SPDX-License-Identifier: BSD-3-Clause
// coo-permuted: coordinates, values, and one permutation per mode that visits the nonzeros in the order of
// that mode's index, so that MTTKRP-C sums a whole row before it writes (GenTen, section 6).
// Storage: (s_r + 2 N s_o) bytes per nonzero, a little under twice COO.
#pragma once

#include <Kokkos_Core.hpp>
#include <array>

#include "formats/stored_tensor.hpp"
#include "polyad/core/instances.hpp"
#include "polyad/formats/format.hpp"

namespace polyad::detail {

template <class Scalar, class Index, class Space>
class CooPermuted : public StoredTensor {
public:
  using scalar_type      = Scalar;
  using index_type       = Index;
  using space_type       = Space;
  using workspace_type   = NoWorkspace;
  using permutation_type = Kokkos::View<Index*, typename Space::device_type>;
  struct options_type {};

  static constexpr char const* name        = "coo-permuted";
  static constexpr bool sweeps_coordinates = true;

  /// Keeps the tensor's Views and sorts one permutation per mode (N radix sorts, on the device).
  /// \throws UsageError when Index cannot number the nonzeros; MemoryError
  static CooPermuted build(Space const& space, CooTensor<Scalar, Index, Space> const& coo,
                           options_type const& = {});

  [[nodiscard]] count_t storage_bytes() const {
    return nnz() * (sizeof(Scalar) + 2 * m_coo.order() * sizeof(Index));
  }

  [[nodiscard]] CooTensor<Scalar, Index, Space> const& coo() const { return m_coo; }
  /// Positions of the nonzeros in the order of mode n's index.
  [[nodiscard]] permutation_type const& permutation(int n) const { return m_permutations[n]; }

  /// Where each row's nonzeros begin in the order of each mode, for least_squares_rows. \throws MemoryError
  [[nodiscard]] RowStarts<Space> make_row_workspace(Space const& space) const;

  /// The same with other values, in the order of the coordinates. The norm of the result is undefined.
  [[nodiscard]] CooPermuted with_values(typename CooTensor<Scalar, Index, Space>::values_type values) const {
    CooPermuted other = *this;
    other.m_coo       = CooTensor<Scalar, Index, Space>(m_coo.extents(), m_coo.indices(), std::move(values));
    return other;
  }

private:
  CooTensor<Scalar, Index, Space> m_coo;
  std::array<permutation_type, max_order> m_permutations;
};

#define POLYAD_COO_PERMUTED(Scalar, Index) template class CooPermuted<Scalar, Index, CompiledSpace>
POLYAD_EACH_SCALAR_AND_INDEX(extern, POLYAD_COO_PERMUTED);

/// The contract's mttkrp (formats/format.hpp) by MTTKRP-C. `packed = false` uses GenTen's strided TinyVec on
/// a device, for comparison.
template <class Space, class Scalar, class Index>
void mttkrp(Space const& space, CooPermuted<Scalar, Index, Space> const& X,
            FactorMatrices<Scalar, Space> const& factors, int mode, NoWorkspace& workspace,
            FactorMatrix<Scalar, Space> const& V, bool packed = true);

/// The residual sweep (formats/format.hpp).
template <class Space, class Scalar, class Index>
void residual_mttkrp(Space const& space, CooPermuted<Scalar, Index, Space> const& X,
                     FactorMatrices<Scalar, Space> const& C, int mode,
                     ResidualWorkspace<Scalar, NoWorkspace, Space>& workspace,
                     FactorMatrix<Scalar, Space> const& G);

/// Least squares for the rows of one mode (formats/format.hpp).
template <class Space, class Scalar, class Index>
void least_squares_rows(Space const& space, CooPermuted<Scalar, Index, Space> const& X,
                        FactorMatrices<Scalar, Space> const& C, int mode,
                        RowProblem<Scalar, Space> const& problem, RowStarts<Space> const& starts,
                        FactorMatrix<Scalar, Space> const& A, RowShrinkage const& shrinkage = {});

}  // namespace polyad::detail
