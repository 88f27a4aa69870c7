// SPDX-License-Identifier: BSD-3-Clause
// HeldFormat: a format of any class behind the virtual functions of formats/erased_format.hpp. What it offers
// is found by the concepts, so that a format written outside the library is held like one of the library's.
#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "polyad/core/expects.hpp"
#include "polyad/formats/erased_format.hpp"

namespace polyad {

/// What HeldFormat asks of every format: the contract of formats/format.hpp without its operations.
template <class F>
concept StoredFormat = requires(F const& format) {
  typename F::scalar_type;
  typename F::index_type;
  typename F::space_type;
  { std::string_view(F::name) };
  { format.extents() } -> std::convertible_to<Extents>;
  { format.nnz() } -> std::convertible_to<count_t>;
  { format.storage_bytes() } -> std::convertible_to<count_t>;
  { format.norm_squared() } -> std::convertible_to<double>;
};

/// A format with the product that HOOI needs, SpTTMc (formats/fcoo/fcoo.hpp).
template <class F>
concept TtmcFormat =
    Format<F> && requires(typename F::space_type const& space, F const& X,
                          std::vector<FactorMatrix<typename F::scalar_type, typename F::space_type>> const& U,
                          FactorMatrix<typename F::scalar_type, typename F::space_type> const& Y) {
      { spttmc(space, X, U, 0, Y) } -> std::same_as<void>;
      { make_spttmc_output(space, X.extents(), U, 0) } -> std::same_as<std::remove_cvref_t<decltype(Y)>>;
    };

namespace detail {

template <StoredFormat F>
class HeldFormat final : public ErasedFormat<typename F::scalar_type, typename F::space_type> {
public:
  using Scalar  = typename F::scalar_type;
  using Space   = typename F::space_type;
  using Base    = ErasedFormat<Scalar, Space>;
  using Matrix  = typename Base::Matrix;
  using Factors = typename Base::Factors;
  using Model   = typename Base::Model;

  explicit HeldFormat(F format) : m_format(std::move(format)) {}

  [[nodiscard]] char const* name() const override { return F::name; }
  [[nodiscard]] bool can(Capability capability) const override {
    switch (capability) {
      case Capability::mttkrp:
        return Format<F>;
      case Capability::residual_sweep:
        return ResidualFormat<F>;
      case Capability::row_least_squares:
        return RowShrinkageFormat<F>;
      case Capability::sgd:
        return SgdFormat<F>;
      case Capability::ttmc:
        return TtmcFormat<F>;
      case Capability::streaming:
        return requires { F::runs_alone; };
    }
    return false;
  }
  [[nodiscard]] Extents const& extents() const override { return m_format.extents(); }
  [[nodiscard]] count_t nnz() const override { return m_format.nnz(); }
  [[nodiscard]] count_t storage_bytes() const override { return m_format.storage_bytes(); }
  [[nodiscard]] double norm_squared() const override { return m_format.norm_squared(); }

  [[nodiscard]] std::unique_ptr<ErasedWorkspace> make_workspace(Space const& space,
                                                                count_t rank) const override {
    if constexpr (Format<F>)
      return hold(m_format.make_workspace(space, rank));
    else
      refuse(Capability::mttkrp);
  }
  void do_mttkrp(Space const& space, Factors const& factors, int mode, ErasedWorkspace* workspace,
                 Matrix const& V) const override {
    if constexpr (Format<F>) {
      mttkrp(space, m_format, factors, mode, own<typename F::workspace_type>(workspace), V);
    } else {
      refuse(Capability::mttkrp);
    }
  }

  [[nodiscard]] std::unique_ptr<ErasedWorkspace> do_make_residual_workspace(Space const& space,
                                                                            count_t rank) const override {
    if constexpr (ResidualFormat<F>) {
      return hold(make_residual_workspace(space, m_format, rank));
    } else {
      refuse(Capability::residual_sweep);
    }
  }
  void do_residual_mttkrp(Space const& space, Factors const& C, int mode, ErasedWorkspace* workspace,
                          Matrix const& G) const override {
    if constexpr (ResidualFormat<F>) {
      residual_mttkrp(space, m_format, C, mode, own<residual_workspace<F>>(workspace), G);
    } else {
      refuse(Capability::residual_sweep);
    }
  }

  [[nodiscard]] RowStarts<Space> make_row_workspace(Space const& space) const override {
    if constexpr (RowShrinkageFormat<F>)
      return m_format.make_row_workspace(space);
    else
      refuse(Capability::row_least_squares);
  }
  void do_least_squares_rows(Space const& space, Factors const& C, int mode,
                             RowProblem<Scalar, Space> const& problem, RowStarts<Space> const& starts,
                             Matrix const& A, RowShrinkage const& shrinkage) const override {
    if constexpr (RowShrinkageFormat<F>) {
      least_squares_rows(space, m_format, C, mode, problem, starts, A, shrinkage);
    } else {
      refuse(Capability::row_least_squares);
    }
  }

  void do_sgd_factor_sweep(Space const& space, Model const& model, Factors const& C, int mode, SgdStep step,
                           SgdForm form, SgdWorkspace<Scalar, Space> const& workspace) const override {
    if constexpr (SgdFormat<F>) {
      sgd_factor_sweep(space, m_format, model, C, mode, step, form, workspace);
    } else {
      refuse(Capability::sgd);
    }
  }
  void do_sgd_core_sweep(Space const& space, Model const& model, Factors const& C, int mode, SgdForm form,
                         SgdWorkspace<Scalar, Space> const& workspace) const override {
    if constexpr (SgdFormat<F>) {
      sgd_core_sweep(space, m_format, model, C, mode, form, workspace);
    } else {
      refuse(Capability::sgd);
    }
  }

  [[nodiscard]] Matrix make_ttmc_output(Space const& space, std::vector<Matrix> const& U,
                                        int mode) const override {
    if constexpr (TtmcFormat<F>)
      return make_spttmc_output(space, m_format.extents(), U, mode);
    else
      refuse(Capability::ttmc);
  }
  void ttmc(Space const& space, std::vector<Matrix> const& U, int mode, Matrix const& Y) const override {
    if constexpr (TtmcFormat<F>)
      spttmc(space, m_format, U, mode, Y);
    else
      refuse(Capability::ttmc);
  }

private:
  template <class Workspace>
  struct Holding final : ErasedWorkspace {
    explicit Holding(Workspace made) : workspace(std::move(made)) {}
    Workspace workspace;
  };
  template <class Workspace>
  static std::unique_ptr<ErasedWorkspace> hold(Workspace workspace) {
    return std::make_unique<Holding<Workspace>>(std::move(workspace));
  }
  template <class Workspace>
  static Workspace& own(ErasedWorkspace* workspace) {
    auto* const held = dynamic_cast<Holding<Workspace>*>(workspace);
    POLYAD_EXPECTS(held, "the workspace is not one of ", F::name);
    return held->workspace;
  }
  [[noreturn]] static void refuse(Capability capability) {
    throw UsageError(std::string("the format ") + F::name + " has no " + to_string(capability));
  }

  F m_format;
};

}  // namespace detail
}  // namespace polyad
