// SPDX-License-Identifier: BSD-3-Clause
// The contract of a storage format: all that the drivers, the conformance checks, the benchmarks and the tool
// know about a format. The library's formats are private, in a folder for each family (blco/: alto, blco and
// streamed-blco). A user-defined format is a class like this; any_format(space, X) prepares it for a driver:
//
//   template <class Scalar, class Index, class Space>
//   class Mine {
//   public:
//     using scalar_type = Scalar;  using index_type = Index;  using space_type = Space;
//     using workspace_type = polyad::NoWorkspace;
//     struct options_type {};
//     static constexpr char const* name = "mine";
//     static Mine build(Space const&, CooTensor<Scalar, Index, Space> const& coo, options_type const& = {});
//     Extents const& extents() const;   count_t nnz() const;
//     count_t storage_bytes() const;    double norm_squared() const;
//     workspace_type make_workspace(Space const&, count_t rank) const;
//   };
//   template <class Scalar, class Index, class Space>
//   void mttkrp(Space const&, Mine<Scalar, Index, Space> const&, FactorMatrices<Scalar, Space> const& A,
//               int mode, NoWorkspace&, FactorMatrix<Scalar, Space> const& V);
//
// examples/own_format.cpp is a complete one, checked by polyad/testing/.
#pragma once

#include <Kokkos_Core.hpp>
#include <array>
#include <concepts>
#include <string_view>
#include <vector>

#include "polyad/core/types.hpp"
#include "polyad/formats/capability.hpp"
#include "polyad/formats/workspace_owner.hpp"
#include "polyad/kernel/rank_dispatch.hpp"
#include "polyad/tensor/coo_tensor.hpp"
#include "polyad/tensor/factor_matrices.hpp"
#include "polyad/tensor/fast_tucker_model.hpp"

namespace polyad {

/// Format F on execution space F::space_type with values F::scalar_type and coordinates F::index_type. Modes
/// are 0 ... N - 1, rows 0 ... I_n - 1.
///
///   F::build(space, coo, options) -> F       options: F::options_type, default-constructible
///   f.extents(), f.nnz(), f.storage_bytes(), F::name
///   f.norm_squared()                         ||X||_F^2, summed in double by build
///   f.make_workspace(space, R)               all scratch that mttkrp needs for rank R, made once, for this
///                                            format and this rank alone
///   mttkrp(space, f, factors, mode, workspace, V)
///                                            V (I_mode x R) is overwritten:
///                                            V(k, r) = sum over nonzeros with i_mode = k of
///                                                      x * prod over m != mode of A^(m)(i_m, r)
///
/// build waits for `space`. mttkrp launches on `space` and returns without waiting; it allocates nothing. It
/// throws UsageError when shapes do not match, or the workspace was made for another format or rank, before
/// anything is written (formats/workspace_owner.hpp; AnyFormat checks the workspaces of all formats). On a
/// device the rows of all matrices are packed (make_factor_matrix): AnyFormat copies others before it calls.
/// On a host they may have any stride. If V is laid out there as by make_output_matrix, a kernel may also
/// read what is right of column R in a row of V and write the same numbers back. Meanwhile nobody else may
/// write to it.
///
/// A format may also have:
///
///   f.supports(capability) -> bool           if that depends on how f was built
///   f.note() -> std::string                  why it is not stored as its name says; empty otherwise
///   f.duplicates() -> count_t                how many nonzeros have the coordinates of an earlier one, where
///                                            build sees that at no cost; or a std::optional of it
///   options.read(OptionText&)                its options from text (formats/option_text.hpp)
///   options.serve(FormatRequest const&)      what a run requires of it
///   options.deterministic                    a bool: sums are taken in a fixed order
///   F::streams = true                        build takes a tensor in host memory
///   F::default_for(capability) -> bool       any_format chooses it if the cost model cannot decide
///   F::default_for_one_mode = true           any_format chooses it if only_mode is set
///   tune(space, f, R) -> trials              its shapes, timed, the fastest first: each has `seconds` and
///                                            `options`, whose text() is accepted by read()
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

/// The workspace of a format that needs none. A default-constructed one can be used with any such format; one
/// that a format of the library made can be used only with that format and rank.
struct NoWorkspace {
  WorkspaceOwner made_for = {};

  /// \throws UsageError as WorkspaceOwner::expect
  void expect(FormatIdentity format, count_t rank, char const* name) const {
    if (made_for.is_set()) made_for.expect(format, rank, name);
  }
};

/// The requirements of a run on its format.
struct FormatRequest {
  std::vector<Capability> needs;  // in addition to the MTTKRP
  bool no_fallback     = false;   // build throws if the storage would not be what the name says
  count_t buffer_bytes = 0;       // device buffer of a streaming format; 0: all free memory
  int only_mode        = -1;      // the run uses only this mode, so a format may keep less

  [[nodiscard]] bool wants(Capability capability) const {
    for (auto const need : needs)
      if (need == capability) return true;
    return false;
  }
};

// --- the residual sweep

/// Scratch of a residual sweep: the format's own, and one number per nonzero if a row of R columns does not
/// fit the registers.
template <class Scalar, class FormatWorkspace, class Space>
struct ResidualWorkspace {
  FormatWorkspace format;
  Kokkos::View<Scalar*, typename Space::device_type> residuals;
};
template <class F>
using residual_workspace =
    ResidualWorkspace<typename F::scalar_type, typename F::workspace_type, typename F::space_type>;

/// A format that offers the residual sweep, the MTTKRP of a model's residuals (fast_tucker/):
///
///   make_residual_workspace(space, f, R)     all scratch that residual_mttkrp needs for rank R, made once
///   residual_mttkrp(space, f, C, mode, workspace, G)
///                                            G (I_mode x R) is overwritten:
///                                            G(k, r) = sum over nonzeros with i_mode = k of
///                                                      e * prod over m != mode of C^(m)(i_m, r),
///                                            e = x - sum over r of prod over all m of C^(m)(i_m, r)
///
/// Duplicates stay separate observations, and explicit zeros count. In all other respects it is like mttkrp.
template <class F>
concept ResidualFormat =
    Format<F> && requires(typename F::space_type const& space, F const& format,
                          FactorMatrices<typename F::scalar_type, typename F::space_type> const& C,
                          residual_workspace<F>& workspace,
                          FactorMatrix<typename F::scalar_type, typename F::space_type> const& G) {
      { residual_mttkrp(space, format, C, 0, workspace, G) } -> std::same_as<void>;
    };

/// The scratch of residual_mttkrp for rank R, made once. \throws MemoryError
template <class F>
[[nodiscard]] residual_workspace<F> make_residual_workspace(typename F::space_type const& space,
                                                            F const& format, count_t rank) {
  using Scalar = typename F::scalar_type;
  residual_workspace<F> workspace{format.make_workspace(space, rank), {}};
  if (rank > full_block) {
    expect_fits(space, "the residuals", format.nnz(), sizeof(Scalar));
    workspace.residuals = Kokkos::View<Scalar*, typename F::space_type::device_type>(
        uninitialized(space, "polyad::residuals"), format.nnz());
  }
  return workspace;
}

// --- least squares for rows

/// Least squares for the rows of one mode: each row a of A (I_mode x J) becomes the minimiser of
///
///   sum over its nonzeros of (x - a . B p)^2 + ridge |a|^2
///
/// with p the product of the other modes' rows of C. With `alpha` (implicit feedback) the sum is that of
/// (1 + alpha x) (1 - a . B p)^2 - (a . B p)^2 over nonzeros with x > 0, plus a . B others B' a.
template <class Scalar, class Space>
struct RowProblem {
  FactorMatrix<Scalar, Space> B;           // J x R
  FactorMatrix<Scalar, Space> transposed;  // B', R x J
  double ridge;
  bool ridge_per_entry;  // it counts once for every nonzero of the row, as in Li et al., not once per row
  /// If not 0, B' B is this times the identity: the unknowns are c = B' a. A format may ignore it.
  double squares = 0;
  /// Workspace of row_sums_size numbers: several teams share a row of many nonzeros. May be empty.
  Kokkos::View<Scalar*, typename Space::device_type> sums = {};
  double alpha = 0;  // 0: the values are the targets. Else `others` is the sum of p p' over all cells, R x R
  Kokkos::View<double**, Kokkos::LayoutRight, typename Space::device_type> others = {};
  int steps = 0;  // with alpha and squares: of conjugate gradients, from the row of C^(mode); 0: exact
  FactorMatrix<Scalar, Space> rounded = {};  // with steps: `others`
};

/// The nonzeros in a chunk of a long row. RowProblem::sums has R (R + 1) numbers for each.
KOKKOS_INLINE_FUNCTION constexpr count_t row_chunk(count_t rank) {
  return rank < 16 ? 1024 : 4 * rank * (rank + 1);
}
constexpr count_t row_sums_size(count_t nnz, count_t rank) {
  return nnz / row_chunk(rank) * rank * (rank + 1);
}

/// Shrinks the product c = B' a of each row towards zero or one; c is a row of C^(mode). The term
/// weight(n) |c - target|^2 is added to the loss of a row of n nonzeros. Unlike |a|^2, it does not depend on
/// how C^(mode) is split into A and B.
struct RowShrinkage {
  double nonzeros    = 0;        // the part of the weight that is the same for all rows
  double share       = 0;        // the part that grows with the row's nonzeros, as a fraction of them
  double const* unit = nullptr;  // multiplies both, on the device; null: no shrinkage
  double target      = 0;        // target of every element of c: 0 or 1

  /// Whether rows without nonzeros get a target other than zero. Otherwise these rows become zero.
  [[nodiscard]] KOKKOS_FUNCTION bool draws_empty_rows() const { return unit != nullptr && target != 0; }
  /// unit (nonzeros + share n); call it on the device.
  [[nodiscard]] KOKKOS_FUNCTION double weight(count_t n) const {
    return *unit * (nonzeros + share * static_cast<double>(n));
  }
};

/// For each mode I_n + 1 positions. In mode n's order, row k has the nonzeros
/// starts(k) ... starts(k + 1) - 1.
template <class Space>
struct RowStarts : std::array<Kokkos::View<count_t*, typename Space::device_type>, max_order> {
  WorkspaceOwner made_for;  // the rank does not matter
};

/// A format that offers least squares for rows, each with all its nonzeros at hand:
///
///   f.make_row_workspace(space)              where the rows of every mode begin; made once
///   least_squares_rows(space, f, C, mode, problem, starts, A, shrinkage)
///
/// A row without nonzeros becomes zero, or has the product c = target. Other formats' starts are refused with
/// a UsageError. Launches on `space` and returns without waiting; allocates nothing. The result has the same
/// bits in every run on one device, and on hosts with any number of threads.
template <class F>
concept RowLeastSquaresFormat =
    Format<F> && requires(typename F::space_type const& space, F const& format,
                          FactorMatrices<typename F::scalar_type, typename F::space_type> const& C,
                          RowProblem<typename F::scalar_type, typename F::space_type> const& problem,
                          RowStarts<typename F::space_type> const& starts,
                          FactorMatrix<typename F::scalar_type, typename F::space_type> const& A,
                          RowShrinkage const& shrinkage) {
      { format.make_row_workspace(space) } -> std::same_as<RowStarts<typename F::space_type>>;
      { least_squares_rows(space, format, C, 0, problem, starts, A, shrinkage) } -> std::same_as<void>;
    };

// --- stochastic gradient descent

/// Which of the paper's methods a sweep follows (Li et al., "cuFasterTucker", 2022).
struct SgdForm {
  /// True (FasterTucker): the sweep reads rows of C. False (FastTucker): it forms each row a B anew for every
  /// nonzero, with (N - 1) J R more multiplications.
  bool intermediates = true;
  /// p and w (SgdFormat) are formed once per fiber instead of once per nonzero. Plain coordinates have no
  /// fibers.
  bool share_fibers = true;
};

/// The parameters of one sweep. The ridge counts once for every nonzero.
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

/// A format that offers the FastTucker sweeps of Li et al., which update the factors nonzero by nonzero:
///
///   sgd_factor_sweep(space, f, model, C, mode, step, form, workspace)
///       for each nonzero, with a = A^(n)(i_n, :), p the product of the other modes' rows of C, w = B^(n) p:
///           a <- a + step ((x - a . w) w - ridge a)                          (Algorithm 4, lines 10-11)
///   sgd_core_sweep(space, f, model, C, mode, form, workspace)
///       workspace.P (J_n x R) = sum over ALL nonzeros of (x - a . w) a' p, minus the gradient of B^(n)
///
/// Both launch on `space` and return without waiting, and allocate nothing. C^(n) = A^(n) B^(n) are the
/// reusable intermediates; they are read if form.intermediates is set, and then must be up to date.
///
/// A step is added to its row with atomics, since any two nonzeros may share the row: no update is lost. But
/// a thread may read a row while others add to it, and then computes its step from older numbers. A device
/// handles many nonzeros of a row at once, and needs smaller steps. Runs give the same bits only on one
/// thread of a host.
template <class F>
concept SgdFormat =
    Format<F> && requires(typename F::space_type const& space, F const& format,
                          FastTuckerModel<typename F::scalar_type, typename F::space_type> const& model,
                          FactorMatrices<typename F::scalar_type, typename F::space_type> const& C,
                          SgdWorkspace<typename F::scalar_type, typename F::space_type> const& workspace) {
      { sgd_factor_sweep(space, format, model, C, 0, SgdStep{}, SgdForm{}, workspace) } -> std::same_as<void>;
      { sgd_core_sweep(space, format, model, C, 0, SgdForm{}, workspace) } -> std::same_as<void>;
    };

// --- SpTTMc

/// The output of SpTTMc on mode n: I_n x D, D the product of the other matrices' columns, zero. Does not
/// wait. \throws UsageError as spttmc; MemoryError with the product and its bytes before it is allocated
template <class Space, class Scalar>
[[nodiscard]] FactorMatrix<Scalar, Space> make_spttmc_output(
    Space const& space, Extents const& extents, std::vector<FactorMatrix<Scalar, Space>> const& U, int mode);

/// A format that offers SpTTMc, the product that HOOI needs (Liu et al., equation 4):
///
///   spttmc(space, f, U, mode, Y)
///       Y(k, :) = sum over the nonzeros with i_n = k of x U^(0)(i_0, :) (x) ... (x) U^(N-1)(i_{N-1}, :)
///                 without U^(n)
///
/// U[m] is I_m x R_m; U[n] is not used. Y (I_n x D, make_spttmc_output) is overwritten; the column of the
/// last matrix varies fastest. Launches on `space` and returns without waiting; allocates nothing on the
/// device. It throws UsageError when the shapes do not match.
template <class F>
concept TtmcFormat =
    Format<F> && requires(typename F::space_type const& space, F const& X,
                          std::vector<FactorMatrix<typename F::scalar_type, typename F::space_type>> const& U,
                          FactorMatrix<typename F::scalar_type, typename F::space_type> const& Y) {
      { spttmc(space, X, U, 0, Y) } -> std::same_as<void>;
    };

// --- the nonzeros

/// Memory for a number of nonzeros as coordinates and values.
template <class Scalar, class Space>
struct NonzeroBlock {
  Kokkos::View<count_t**, Kokkos::LayoutRight, typename Space::device_type> indices;  // count x N
  Kokkos::View<Scalar*, typename Space::device_type> values;                          // count

  [[nodiscard]] count_t count() const { return values.extent(0); }
};

/// A format whose nonzeros can be read back. The drivers need it for an exact fit if the formula of the fit
/// cancels, and for tensors whose squares leave the range of doubles:
///
///   read_nonzeros(space, f, first, block)
///       block = the nonzeros first ... first + block.count() - 1. Their order is the format's own, and the
///       same at every call.
///
/// Launches on `space` and returns without waiting. It throws UsageError when the block does not fit.
template <class F>
concept ReadableFormat =
    Format<F> && requires(typename F::space_type const& space, F const& format,
                          NonzeroBlock<typename F::scalar_type, typename F::space_type> const& block) {
      { read_nonzeros(space, format, count_t(), block) } -> std::same_as<void>;
    };

/// Whether formats of class F have the capability; f.supports(capability) may still return false.
template <Format F>
[[nodiscard]] constexpr bool offers(Capability capability) {
  switch (capability) {
    case Capability::mttkrp:
      return true;
    case Capability::residual_sweep:
      return ResidualFormat<F>;
    case Capability::row_least_squares:
      return RowLeastSquaresFormat<F>;
    case Capability::sgd:
      return SgdFormat<F>;
    case Capability::ttmc:
      return TtmcFormat<F>;
    case Capability::fixed_order:
      return requires(typename F::options_type options) { options.deterministic; };
    case Capability::streaming:
      return requires { requires F::streams; };
  }
  return false;
}

// --- for authors

/// Throws UsageError unless the arguments of an mttkrp fit the tensor, each other and the kernels.
template <class Scalar, class Space>
void expect_mttkrp_arguments(Extents const& extents, FactorMatrices<Scalar, Space> const& factors, int mode,
                             FactorMatrix<Scalar, Space> const& V) {
  expect_mode(mode, extents);
  expect_factors(factors, extents);
  checked_rank(factors.rank());
  POLYAD_EXPECTS(V.extent(0) == extents[mode] && V.extent(1) == factors.rank(), "the output of mode ", mode,
                 " is ", V.extent(0), " x ", V.extent(1), ", not ", extents[mode], " x ", factors.rank());
  for (int n = 0; n < factors.order(); ++n) expect_packed_rows<Scalar, Space>(factors[n]);
  expect_packed_rows<Scalar, Space>(V);
}

/// Throws UsageError unless `block` has room for nonzeros first ... of a tensor of these extents.
template <class Scalar, class Space>
void expect_nonzero_block(Extents const& extents, count_t nnz, count_t first,
                          NonzeroBlock<Scalar, Space> const& block) {
  POLYAD_EXPECTS(block.indices.extent(0) == block.count() && block.indices.extent_int(1) == extents.order() &&
                     first <= nnz && block.count() <= nnz - first,
                 "a block of ", block.indices.extent(0), " x ", block.indices.extent(1), " indices and ",
                 block.count(), " values for the nonzeros from ", first, " on, of ", nnz, " and order ",
                 extents.order());
}

/// The same for a residual sweep.
template <class Scalar, class Space>
void expect_residual_arguments(Extents const& extents, FactorMatrices<Scalar, Space> const& C, int mode,
                               FactorMatrix<Scalar, Space> const& G) {
  expect_mttkrp_arguments(extents, C, mode, G);
  POLYAD_EXPECTS(extents.order() >= 2, "a residual sweep needs a tensor of two modes or more");
}

}  // namespace polyad
