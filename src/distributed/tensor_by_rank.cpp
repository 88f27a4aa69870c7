// SPDX-License-Identifier: BSD-3-Clause
#include "polyad/formats/tensor_by_rank.hpp"

#include "polyad/core/instances.hpp"
#include "run/row_distribution.hpp"

namespace polyad {

template <class Scalar, class Space>
TensorByRank<Scalar, Space>::TensorByRank(Space const& space, Format X)
    : m_facts{X.extents(), X.nnz(), 0, X.norm_squared()},
      m_formats{std::move(X)},
      m_rows(std::make_shared<detail::RowDistribution<Scalar, Space>>(space, m_facts.extents)) {}

#define POLYAD_TENSOR_BY_RANK(Scalar)                                              \
  template TensorByRank<Scalar, CompiledSpace>::TensorByRank(CompiledSpace const&, \
                                                             AnyFormat<Scalar, CompiledSpace>)
POLYAD_EACH_SCALAR(, POLYAD_TENSOR_BY_RANK);

}  // namespace polyad
