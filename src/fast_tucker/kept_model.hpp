// SPDX-License-Identifier: BSD-3-Clause
// KeptModel: copies of a FastTucker model's matrices, with which a run returns to its best epoch or to its
// last sound one.
#pragma once

#include <array>

#include "polyad/tensor/factor_matrices.hpp"
#include "polyad/tensor/fast_tucker_model.hpp"

namespace polyad::detail {

/// Copies of a model's matrices, to return to.
template <class Scalar, class Space>
struct KeptModel {
  KeptModel(Space const& space, FastTuckerModel<Scalar, Space> const& model) {
    for (int n = 0; n < model.order(); ++n) {
      auto const m = static_cast<std::size_t>(n);
      A[m]         = make_factor_matrix<Scalar>(space, "polyad::kept_factor", model.A(n).extent(0),
                                                model.A(n).extent(1));
      B[m] =
          make_factor_matrix<Scalar>(space, "polyad::kept_core", model.B(n).extent(0), model.B(n).extent(1));
    }
  }
  void keep(Space const& space, FastTuckerModel<Scalar, Space> const& model) const {
    for (int n = 0; n < model.order(); ++n) {
      copy_matrix(space, A[n], model.A(n));
      copy_matrix(space, B[n], model.B(n));
    }
  }
  void restore(Space const& space, FastTuckerModel<Scalar, Space> const& model) const {
    for (int n = 0; n < model.order(); ++n) {
      copy_matrix(space, model.A(n), A[n]);
      copy_matrix(space, model.B(n), B[n]);
    }
  }
  std::array<FactorMatrix<Scalar, Space>, max_order> A;
  std::array<FactorMatrix<Scalar, Space>, max_order> B;
};

}  // namespace polyad::detail
