// SPDX-License-Identifier: BSD-3-Clause
// HeldTensor: the tensor of a run of CP-ALS, whatever the type of its coordinates.
#pragma once

#include <memory>

#include "polyad/core/error.hpp"
#include "polyad/formats/tensor_by_rank.hpp"
#include "run/row_distribution.hpp"

namespace polyad::detail {

template <class Scalar, class Space>
struct HeldTensor {
  std::shared_ptr<FormatInterface<Scalar, Space> const> format;  // has this rank's nonzeros
  std::shared_ptr<RowDistribution<Scalar, Space>> rows;          // never null
  count_t nnz;                                                   // here and below: of the whole tensor
  double norm_squared;

  /// \throws UsageError unless X has one format for all modes
  explicit HeldTensor(TensorByRank<Scalar, Space> const& X)
      : format(X.format(0).erased()), rows(X.rows()), nnz(X.nnz()), norm_squared(X.norm_squared()) {
    POLYAD_EXPECTS(X.formats().size() == 1, "the tensor is divided for tucker: divide it by `distribute`");
  }
};

}  // namespace polyad::detail
