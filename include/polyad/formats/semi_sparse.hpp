// SPDX-License-Identifier: BSD-3-Clause
// Operations on semi-sparse tensors (tensor/semi_sparse_tensor.hpp), by F-COO's products. SpTTM is a sparse
// tensor times a matrix. The functions sort and allocate; SpttmPlan does both once, for several matrices.
#pragma once

#include <memory>
#include <type_traits>

#include "polyad/tensor/coo_tensor.hpp"
#include "polyad/tensor/factor_matrices.hpp"
#include "polyad/tensor/semi_sparse_tensor.hpp"

namespace polyad {

namespace detail {
template <class Scalar, class Index, class Space>
struct FlaggedNonzeros;
}

/// SpTTM on mode n of one tensor, Y = X x_n U, for several U (Liu et al., section III: the nonzeros sorted by
/// fiber, with a flag where a fiber begins).
template <class Scalar, class Index, class Space>
class SpttmPlan {
public:
  using Output = SemiSparseTensor<Scalar, Index, Space>;

  /// Sorts the nonzeros by fiber; waits. \throws UsageError for no mode or a coordinate outside; MemoryError
  SpttmPlan(Space const& space, CooTensor<Scalar, Index, Space> const& X, int mode);

  /// Makes Y for a U of `columns` columns. All outputs share the fibers' coordinates. Each fiber has a row,
  /// which multiply sets. Does not wait. \throws MemoryError
  [[nodiscard]] Output make_output(Space const& space, count_t columns) const;
  /// Y = X x_n U, U I_n x R. Launches on `space` and returns without waiting; allocates nothing. A device's U
  /// whose rows are not packed is copied first: then the call waits.
  /// \throws UsageError when the shapes do not match; MemoryError for the copy
  void multiply(Space const& space, FactorMatrix<Scalar, Space> const& U, Output const& Y) const;

private:
  int m_mode;
  std::shared_ptr<detail::FlaggedNonzeros<Scalar, Index, Space> const> m_nonzeros;
};

/// SpTTM on mode n, Y = X x_n U for U of I_n x R: mode n becomes dense with R columns. Waits for `space`.
/// \throws UsageError when the shapes do not match; MemoryError before it allocates
template <class Scalar, class Index, class Space>
[[nodiscard]] SemiSparseTensor<Scalar, Index, Space> spttm(
    Space const& space, CooTensor<Scalar, Index, Space> const& X,
    std::type_identity_t<FactorMatrix<Scalar, Space>> const& U, int mode);

/// The same along another mode of a semi-sparse tensor that is still sparse; the rows have the new dense mode
/// first. At least one other sparse mode must remain. Waits for `space`.
/// \throws UsageError; MemoryError before it allocates
template <class Scalar, class Index, class Space>
[[nodiscard]] SemiSparseTensor<Scalar, Index, Space> spttm(
    Space const& space, SemiSparseTensor<Scalar, Index, Space> const& Y,
    std::type_identity_t<FactorMatrix<Scalar, Space>> const& U, int mode);

/// V = the MTTKRP of a semi-sparse tensor on any mode, V (I_n x R) overwritten. A^(d) of a dense mode has as
/// many rows as the mode has columns. Waits for `space`.
/// \throws UsageError when the shapes do not match; MemoryError before it allocates
template <class Scalar, class Index, class Space>
void mttkrp(Space const& space, SemiSparseTensor<Scalar, Index, Space> const& Y,
            FactorMatrices<Scalar, Space> const& factors, int mode, FactorMatrix<Scalar, Space> const& V);

}  // namespace polyad
