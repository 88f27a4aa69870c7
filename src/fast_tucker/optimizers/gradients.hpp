// SPDX-License-Identifier: BSD-3-Clause
// Gradients of a FastTucker model from a residual sweep. With L = 1/2 sum of e^2 over the observations and
// G^(n)(k, :) = sum over observations with i_n = k of e p, p the product of the other modes' rows of C:
//
//   dL/dB^(n) = - A^(n)' G^(n)   the core gradient of Li et al. ("cuFasterTucker", 2022, eq. 9), over Omega
//   dL/dA^(n) = - G^(n) B^(n)'   their factor gradients (eq. 7), summed over each whole row
#pragma once

#include <Kokkos_Core.hpp>

#include "dense/multiply_rows.hpp"
#include "dense/transposed_product.hpp"
#include "polyad/tensor/fast_tucker_model.hpp"

namespace polyad::detail {

template <class Scalar, class Space>
struct ScaledTranspose {
  Scalar scale;
  FactorMatrix<Scalar, Space> matrix;
  FactorMatrix<Scalar, Space> transposed;
  KOKKOS_FUNCTION void operator()(count_t i) const {
    for (count_t j = 0; j < matrix.extent(1); ++j) transposed(j, i) = scale * matrix(i, j);
  }
};

/// out (R x J) = scale B'. Launches on `space` and returns without waiting.
template <class Scalar, class Space>
void scaled_transpose(Space const& space, double scale, FactorMatrix<Scalar, Space> const& B,
                      FactorMatrix<Scalar, Space> const& out) {
  POLYAD_EXPECTS(B.extent(0) == out.extent(1) && B.extent(1) == out.extent(0), "B is ", B.extent(0), " x ",
                 B.extent(1), " and its transpose is ", out.extent(0), " x ", out.extent(1));
  Kokkos::parallel_for("polyad::scaled_transpose",
                       Kokkos::RangePolicy<Space, Kokkos::IndexType<count_t>>(space, 0, B.extent(0)),
                       detail::ScaledTranspose<Scalar, Space>{static_cast<Scalar>(scale), B, out});
}

/// Scratch of `gradients` for one mode.
template <class Scalar, class Space>
struct GradientWorkspace {
  FactorMatrix<Scalar, Space> negative_B;  // R x J_n, - B'
  TransposedProductWorkspace<Space> sums;
};

/// \throws MemoryError
template <class Scalar, class Space>
GradientWorkspace<Scalar, Space> make_gradient_workspace(Space const& space,
                                                         FastTuckerModel<Scalar, Space> const& model, int n) {
  return {make_factor_matrix<Scalar>(space, "polyad::negative_B", model.rank(), model.columns(n)),
          make_transposed_product_workspace(space, model.columns(n), model.rank())};
}

/// dL/dA^(n) (I_n x J_n) and dL/dB^(n) (J_n x R), both overwritten. Launches on `space` and returns without
/// waiting.
template <class Scalar, class Space>
void gradients(Space const& space, FastTuckerModel<Scalar, Space> const& model, int n,
               FactorMatrix<Scalar, Space> const& G, GradientWorkspace<Scalar, Space> const& workspace,
               FactorMatrix<Scalar, Space> const& dA, FactorMatrix<Scalar, Space> const& dB) {
  transposed_product(space, -1.0, model.A(n), G, workspace.sums, dB);
  scaled_transpose(space, -1.0, model.B(n), workspace.negative_B);
  multiply_rows(space, G, workspace.negative_B, dA);
}

}  // namespace polyad::detail
