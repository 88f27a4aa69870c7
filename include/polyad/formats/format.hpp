// SPDX-License-Identifier: BSD-3-Clause
// The contract of a storage format. A format is one folder here and one line in registry.hpp; the drivers,
// the conformance tests, the benchmarks and the tool know it only through what stands on this page.
#pragma once

#include <concepts>
#include <string_view>

#include "polyad/core/types.hpp"
#include "polyad/kernel/rank_dispatch.hpp"
#include "polyad/tensor/coo_tensor.hpp"
#include "polyad/tensor/factor_matrices.hpp"

namespace polyad {

/// Format F on execution space F::space_type with values F::scalar_type and coordinates F::index_type:
///
///   F::build(space, coo, options) -> F       options: F::options_type, default-constructible
///   f.extents(), f.nnz(), f.storage_bytes(), F::name
///   f.norm_squared()                         ||X||_F^2, summed in double by build
///   f.make_workspace(space, R)               all scratch that mttkrp needs for rank R, made once
///   mttkrp(space, f, factors, mode, workspace, V)
///                                            V (I_mode x R) is overwritten:
///                                            V(k, r) = sum over nonzeros with i_mode = k of
///                                                      x * prod over m != mode of A^(m)(i_m, r)
///
/// mttkrp launches on `space` and returns without waiting; it allocates nothing. It throws UsageError when
/// shapes do not match.
template <class F>
concept Format =
    requires(typename F::space_type const& space,
             CooTensor<typename F::scalar_type, typename F::index_type, typename F::space_type> const& coo,
             typename F::options_type const& options, F const& format,
             FactorMatrices<typename F::scalar_type, typename F::space_type> const& factors,
             typename F::workspace_type& workspace,
             FactorMatrix<typename F::scalar_type, typename F::space_type> const& V) {
      { std::string_view(F::name) };
      { F::build(space, coo, options) } -> std::same_as<F>;
      { format.extents() } -> std::convertible_to<Extents>;
      { format.nnz() } -> std::convertible_to<count_t>;
      { format.storage_bytes() } -> std::convertible_to<count_t>;
      { format.norm_squared() } -> std::convertible_to<double>;
      { format.make_workspace(space, count_t()) } -> std::same_as<typename F::workspace_type>;
      { mttkrp(space, format, factors, 0, workspace, V) } -> std::same_as<void>;
    };

/// The workspace of a format that needs none.
struct NoWorkspace {};

/// Scratch of a residual sweep: the format's own, and one number a nonzero where the rank is too large to
/// keep the residuals in registers.
template <class Scalar, class FormatWorkspace, class Space>
struct ResidualWorkspace {
  FormatWorkspace format;
  Kokkos::View<Scalar*, typename Space::device_type> residuals;
};

/// A format that may offer the residual sweep, the MTTKRP of what a model leaves (fast_tucker/):
///
///   make_residual_workspace(space, f, R)     all scratch that residual_mttkrp needs for rank R, made once
///   residual_mttkrp(space, f, C, mode, workspace, G)
///                                            G (I_mode x R) is overwritten:
///                                            G(k, r) = sum over nonzeros with i_mode = k of
///                                                      e * prod over m != mode of C^(m)(i_m, r),
///                                            e = x - sum over r of prod over all m of C^(m)(i_m, r)
///
/// Duplicates stay separate observations and explicit zeros count. On devices the rows of C and G allow
/// 16-byte packs (make_packed_factors). Otherwise as mttkrp.
template <class F>
using residual_workspace =
    ResidualWorkspace<typename F::scalar_type, typename F::workspace_type, typename F::space_type>;

template <class F>
concept ResidualFormat =
    Format<F> && requires(typename F::space_type const& space, F const& format,
                          FactorMatrices<typename F::scalar_type, typename F::space_type> const& C,
                          residual_workspace<F>& workspace,
                          FactorMatrix<typename F::scalar_type, typename F::space_type> const& G) {
      { residual_mttkrp(space, format, C, 0, workspace, G) } -> std::same_as<void>;
    };

/// \throws MemoryError
template <class F>
residual_workspace<F> make_residual_workspace(typename F::space_type const& space, F const& format,
                                              count_t rank) {
  using Scalar = typename F::scalar_type;
  residual_workspace<F> workspace{format.make_workspace(space, rank), {}};
  if (rank > static_cast<count_t>(full_block)) {
    expect_fits(space, "the residuals", format.nnz(), sizeof(Scalar));
    workspace.residuals = Kokkos::View<Scalar*, typename F::space_type::device_type>(
        Kokkos::view_alloc(space, Kokkos::WithoutInitializing, "polyad::residuals"), format.nnz());
  }
  return workspace;
}

/// A format that may offer least squares for the rows of one mode, each with all its nonzeros at hand:
///
///   f.make_row_workspace(space)              where the rows begin, of every mode; made once
///   least_squares_rows(space, f, C, mode, problem, workspace, A)
///                                            each row a of A (I_mode x J) becomes the minimiser of
///                                            sum over its nonzeros of (x - a . B p)^2 + ridge |a|^2
///
/// with p the product of the other modes' rows of C and B (J x R). A row without nonzeros becomes zero.
/// Launches on `space` and returns without waiting; allocates nothing; the same bits in every run on one
/// device, and on hosts with any number of threads.
template <class Scalar, class Space>
struct RowProblem {
  FactorMatrix<Scalar, Space> B;           // J x R
  FactorMatrix<Scalar, Space> transposed;  // B', R x J
  double ridge;
  bool per_entry;  // the ridge counts once for every nonzero of the row, as in Li et al., and not once a row
};

template <class F>
concept RowLeastSquaresFormat =
    Format<F> && requires(typename F::space_type const& space, F const& format,
                          FactorMatrices<typename F::scalar_type, typename F::space_type> const& C,
                          RowProblem<typename F::scalar_type, typename F::space_type> const& problem,
                          FactorMatrix<typename F::scalar_type, typename F::space_type> const& A) {
      {
        least_squares_rows(space, format, C, 0, problem, format.make_row_workspace(space), A)
      } -> std::same_as<void>;
    };

/// Throws UsageError unless the arguments of an mttkrp fit the tensor and each other.
template <class Scalar, class Space>
void expect_mttkrp_arguments(Extents const& extents, FactorMatrices<Scalar, Space> const& factors, int mode,
                             FactorMatrix<Scalar, Space> const& V) {
  expect_mode(mode, extents);
  expect_factors(factors, extents);
  checked_rank(factors.rank());
  POLYAD_EXPECTS(V.extent(0) == extents[mode] && V.extent(1) == factors.rank(), "the output of mode ", mode,
                 " is ", V.extent(0), " x ", V.extent(1), ", not ", extents[mode], " x ", factors.rank());
}

/// Whether all rows that an mttkrp reads and writes allow 16-byte packs.
template <class Scalar, class Space>
bool rows_are_aligned(FactorMatrices<Scalar, Space> const& factors, FactorMatrix<Scalar, Space> const& V) {
  bool aligned = rows_are_aligned(V.data(), V.stride(0), V.extent(1));
  for (int n = 0; n < factors.order(); ++n)
    aligned = aligned && rows_are_aligned(factors[n].data(), factors[n].stride(0), factors.rank());
  return aligned;
}

/// Throws UsageError unless the arguments of a residual sweep fit the tensor, each other and the kernels.
template <class Scalar, class Space>
void expect_residual_arguments(Extents const& extents, FactorMatrices<Scalar, Space> const& C, int mode,
                               FactorMatrix<Scalar, Space> const& G) {
  expect_mttkrp_arguments(extents, C, mode, G);
  POLYAD_EXPECTS(extents.order() >= 2, "a residual sweep needs a tensor of two modes or more");
  POLYAD_EXPECTS(!is_device_space<Space> || rows_are_aligned(C, G),
                 "the rows of C or G do not allow packs of 16 bytes (make_packed_factors)");
}

}  // namespace polyad
