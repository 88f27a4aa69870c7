// SPDX-License-Identifier: BSD-3-Clause
// The contract of a format that offers the FastTucker sweeps of Li et al. ("cuFasterTucker", 2022), which
// update the factors nonzero by nonzero:
//
//   sgd_factor_sweep(space, f, model, C, mode, rates, form, workspace)
//       for each nonzero, with a = A^(n)(i_n, :), p the product of the other modes' rows of C, w = B^(n) p:
//           a <- a + step ((x - a . w) w - ridge a)                          (Algorithm 3, line 11)
//   sgd_core_sweep(space, f, model, C, mode, form, workspace)
//       workspace.P (J_n x R) = sum over ALL nonzeros of (x - a . w) a' p, minus the gradient of B^(n)
//
// Both launch on `space` and return without waiting, and allocate nothing. C^(n) = A^(n) B^(n) are the
// reusable intermediates; they are read where form.intermediates is set, and then must be up to date.
//
// No update is lost: a step is added to its row with atomics, since any two nonzeros may share the row. But a
// row is read while others add to it, so that steps are made from rows as they stood shortly before; on a
// device, where many nonzeros of a row are under way at the same time, that asks for smaller steps. No two
// runs give the same bits, but on one thread of a host.
#pragma once

#include <concepts>

#include "polyad/tensor/fast_tucker_model.hpp"

namespace polyad {

/// Which of the paper's methods a sweep follows.
struct SgdForm {
  bool intermediates =
      true;  // FasterTucker: rows of C are read; false, FastTucker: every row a B is formed again for
             // every nonzero, (N - 1) J R multiplications more
  bool share_fibers =
      true;  // p and w are formed once a fiber, not once a nonzero; plain coordinates have no fibers
};

/// Of one sweep, in the notation above. The ridge counts once for every nonzero.
struct SgdStep {
  double step;
  double ridge;
};

/// Scratch of both sweeps of one mode.
template <class Scalar, class Space>
struct SgdWorkspace {
  FactorMatrix<Scalar, Space> transposed;  // B', R x J
  FactorMatrix<Scalar, Space> P;           // J x R
  /// The teams' own sums: chunks x J x R, rounded up to whole blocks of columns.
  Kokkos::View<double***, Kokkos::LayoutRight, typename Space::device_type> sums;
};

template <class F>
concept SgdFormat = requires(typename F::space_type const& space, F const& format,
                             FastTuckerModel<typename F::scalar_type, typename F::space_type> const& model,
                             FactorMatrices<typename F::scalar_type, typename F::space_type> const& C,
                             SgdWorkspace<typename F::scalar_type, typename F::space_type> const& workspace) {
  { sgd_factor_sweep(space, format, model, C, 0, SgdStep{}, SgdForm{}, workspace) } -> std::same_as<void>;
  { sgd_core_sweep(space, format, model, C, 0, SgdForm{}, workspace) } -> std::same_as<void>;
};

}  // namespace polyad
