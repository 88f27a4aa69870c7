// SPDX-License-Identifier: BSD-3-Clause
// Operations on semi-sparse tensors (tensor/semi_sparse_tensor.hpp), by F-COO's products.
//
// These functions sort and allocate. For a kernel that does neither, see build_spttm and spttm (fcoo.hpp).
#pragma once

#include <type_traits>

#include "polyad/tensor/coo_tensor.hpp"
#include "polyad/tensor/factor_matrices.hpp"
#include "polyad/tensor/semi_sparse_tensor.hpp"

namespace polyad {

/// SpTTM on mode n, Y = X x_n U for U of I_n x R: mode n becomes dense with R columns. Waits for `space`.
/// \throws UsageError when the shapes do not match; MemoryError before it allocates
template <class Scalar, class Index, class Space>
SemiSparseTensor<Scalar, Index, Space> spttm(Space const& space, CooTensor<Scalar, Index, Space> const& X,
                                             std::type_identity_t<FactorMatrix<Scalar, Space>> const& U,
                                             int mode);

/// The same along another, still sparse mode of a semi-sparse tensor; the rows have the new dense mode first.
/// One sparse mode must be left. Waits for `space`.
/// \throws UsageError; MemoryError before it allocates
template <class Scalar, class Index, class Space>
SemiSparseTensor<Scalar, Index, Space> spttm(Space const& space,
                                             SemiSparseTensor<Scalar, Index, Space> const& Y,
                                             std::type_identity_t<FactorMatrix<Scalar, Space>> const& U,
                                             int mode);

/// V = the MTTKRP of a semi-sparse tensor on any mode, V (I_n x R) overwritten. A^(d) of a dense mode has as
/// many rows as the mode has columns. Waits for `space`.
/// \throws UsageError when the shapes do not match; MemoryError before it allocates
template <class Scalar, class Index, class Space>
void mttkrp(Space const& space, SemiSparseTensor<Scalar, Index, Space> const& Y,
            FactorMatrices<Scalar, Space> const& factors, int mode, FactorMatrix<Scalar, Space> const& V);

}  // namespace polyad
