// SPDX-License-Identifier: BSD-3-Clause
// AnyFormat's view of the format inside (formats/any_format.hpp): the contract of formats/format.hpp as
// virtual functions, and the class that implements them for any format. The concepts decide which operations
// a format offers, so a user-defined format is treated like one of the library's.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "polyad/core/error.hpp"
#include "polyad/formats/format.hpp"

namespace polyad::detail {

/// A workspace whose type is that of a format, hidden from the drivers.
class ErasedWorkspace {
public:
  explicit ErasedWorkspace(WorkspaceOwner made_for) : m_made_for(made_for) {}
  virtual ~ErasedWorkspace() = default;
  [[nodiscard]] WorkspaceOwner const& made_for() const { return m_made_for; }

private:
  WorkspaceOwner m_made_for;
};

/// Each operation is specified in format.hpp under the same name without `do_`.
/// \throws UsageError for an operation that the format does not offer, or a workspace of another format or
///         rank
template <class Scalar, class Space>
class FormatInterface {
public:
  using Matrix    = FactorMatrix<Scalar, Space>;
  using Factors   = FactorMatrices<Scalar, Space>;
  using Model     = FastTuckerModel<Scalar, Space>;
  using Workspace = std::unique_ptr<ErasedWorkspace>;

  virtual ~FormatInterface()                                       = default;
  [[nodiscard]] virtual char const* name() const                   = 0;
  [[nodiscard]] virtual bool supports(Capability capability) const = 0;
  [[nodiscard]] virtual std::string note() const                   = 0;
  [[nodiscard]] virtual Extents const& extents() const             = 0;
  [[nodiscard]] virtual count_t nnz() const                        = 0;
  [[nodiscard]] virtual count_t storage_bytes() const              = 0;
  [[nodiscard]] virtual double norm_squared() const                = 0;
  /// How many nonzeros have the coordinates of an earlier one, if the format knows.
  [[nodiscard]] virtual std::optional<count_t> duplicates() const = 0;

  [[nodiscard]] virtual Workspace make_workspace(Space const&, count_t rank) const                        = 0;
  virtual void do_mttkrp(Space const&, Factors const&, int mode, ErasedWorkspace*, Matrix const& V) const = 0;

  [[nodiscard]] virtual Workspace do_make_residual_workspace(Space const&, count_t rank) const = 0;
  virtual void do_residual_mttkrp(Space const&, Factors const& C, int mode, ErasedWorkspace*,
                                  Matrix const& G) const                                       = 0;

  [[nodiscard]] virtual RowStarts<Space> make_row_workspace(Space const&) const  = 0;
  virtual void do_least_squares_rows(Space const&, Factors const& C, int mode,
                                     RowProblem<Scalar, Space> const&, RowStarts<Space> const&,
                                     Matrix const& A, RowShrinkage const&) const = 0;

  virtual void do_sgd_factor_sweep(Space const&, Model const&, Factors const& C, int mode, SgdStep, SgdForm,
                                   SgdWorkspace<Scalar, Space> const&) const = 0;
  virtual void do_sgd_core_sweep(Space const&, Model const&, Factors const& C, int mode, SgdForm,
                                 SgdWorkspace<Scalar, Space> const&) const   = 0;

  virtual void do_spttmc(Space const&, std::vector<Matrix> const& U, int mode, Matrix const& Y) const = 0;

  /// Whether do_read_nonzeros works.
  [[nodiscard]] virtual bool is_readable() const                                                       = 0;
  virtual void do_read_nonzeros(Space const&, count_t first, NonzeroBlock<Scalar, Space> const&) const = 0;
};

/// Throws UsageError for a format that is known to hold duplicates. No least-squares driver accepts them,
/// since their squares do not add up to the norm of their sum.
template <class Scalar, class Space>
void expect_no_duplicates(FormatInterface<Scalar, Space> const& X) {
  count_t const found = X.duplicates().value_or(0);
  POLYAD_EXPECTS(found == 0, found, " nonzeros of the tensor have the coordinates of an earlier one: sum ",
                 "duplicates first (sum_duplicates, or Duplicates::sum of any_format)");
}

template <Format F>
class FormatModel final : public FormatInterface<typename F::scalar_type, typename F::space_type> {
public:
  using Scalar    = typename F::scalar_type;
  using Space     = typename F::space_type;
  using Base      = FormatInterface<Scalar, Space>;
  using Matrix    = typename Base::Matrix;
  using Factors   = typename Base::Factors;
  using Model     = typename Base::Model;
  using Workspace = typename Base::Workspace;

  explicit FormatModel(F format) : m_format(std::move(format)) {}

  [[nodiscard]] char const* name() const override { return F::name; }
  [[nodiscard]] bool supports(Capability capability) const override {
    if constexpr (requires { m_format.supports(capability); })
      return offers<F>(capability) && m_format.supports(capability);
    else
      return offers<F>(capability);
  }
  [[nodiscard]] std::string note() const override {
    if constexpr (requires { m_format.note(); })
      return m_format.note();
    else
      return {};
  }
  [[nodiscard]] Extents const& extents() const override { return m_format.extents(); }
  [[nodiscard]] count_t nnz() const override { return m_format.nnz(); }
  [[nodiscard]] count_t storage_bytes() const override { return m_format.storage_bytes(); }
  [[nodiscard]] double norm_squared() const override { return m_format.norm_squared(); }
  [[nodiscard]] std::optional<count_t> duplicates() const override {
    if constexpr (requires { m_format.duplicates(); })
      return m_format.duplicates();
    else
      return std::nullopt;
  }

  [[nodiscard]] Workspace make_workspace(Space const& space, count_t rank) const override {
    return hold(m_format.make_workspace(space, rank), rank);
  }
  void do_mttkrp(Space const& space, Factors const& factors, int mode, ErasedWorkspace* workspace,
                 Matrix const& V) const override {
    mttkrp(space, m_format, factors, mode, own<typename F::workspace_type>(workspace, factors.rank()), V);
  }

  [[nodiscard]] Workspace do_make_residual_workspace(Space const& space, count_t rank) const override {
    expect(Capability::residual_sweep);
    using polyad::make_residual_workspace;  // or the one in the format's namespace
    if constexpr (ResidualFormat<F>) return hold(make_residual_workspace(space, m_format, rank), rank);
    return nullptr;
  }
  void do_residual_mttkrp(Space const& space, Factors const& C, int mode, ErasedWorkspace* workspace,
                          Matrix const& G) const override {
    expect(Capability::residual_sweep);
    if constexpr (ResidualFormat<F>)
      residual_mttkrp(space, m_format, C, mode, own<residual_workspace<F>>(workspace, C.rank()), G);
  }

  [[nodiscard]] RowStarts<Space> make_row_workspace(Space const& space) const override {
    expect(Capability::row_least_squares);
    if constexpr (RowLeastSquaresFormat<F>) {
      auto starts = m_format.make_row_workspace(space);
      // A user-defined format leaves it unset.
      if (!starts.made_for.is_set()) starts.made_for = {m_identity, 0};
      return starts;
    }
    return {};
  }
  void do_least_squares_rows(Space const& space, Factors const& C, int mode,
                             RowProblem<Scalar, Space> const& problem, RowStarts<Space> const& starts,
                             Matrix const& A, RowShrinkage const& shrinkage) const override {
    expect(Capability::row_least_squares);
    if constexpr (!requires { m_format.identity(); }) starts.made_for.expect(m_identity, 0, F::name);
    if constexpr (RowLeastSquaresFormat<F>)
      least_squares_rows(space, m_format, C, mode, problem, starts, A, shrinkage);
  }

  void do_sgd_factor_sweep(Space const& space, Model const& model, Factors const& C, int mode, SgdStep step,
                           SgdForm form, SgdWorkspace<Scalar, Space> const& workspace) const override {
    expect(Capability::sgd);
    if constexpr (SgdFormat<F>) sgd_factor_sweep(space, m_format, model, C, mode, step, form, workspace);
  }
  void do_sgd_core_sweep(Space const& space, Model const& model, Factors const& C, int mode, SgdForm form,
                         SgdWorkspace<Scalar, Space> const& workspace) const override {
    expect(Capability::sgd);
    if constexpr (SgdFormat<F>) sgd_core_sweep(space, m_format, model, C, mode, form, workspace);
  }

  void do_spttmc(Space const& space, std::vector<Matrix> const& U, int mode, Matrix const& Y) const override {
    expect(Capability::ttmc);
    if constexpr (TtmcFormat<F>) spttmc(space, m_format, U, mode, Y);
  }

  [[nodiscard]] bool is_readable() const override { return ReadableFormat<F>; }
  void do_read_nonzeros(Space const& space, count_t first,
                        NonzeroBlock<Scalar, Space> const& block) const override {
    POLYAD_EXPECTS(ReadableFormat<F>, "the nonzeros of the format ", F::name, " cannot be read back");
    if constexpr (ReadableFormat<F>) read_nonzeros(space, m_format, first, block);
  }

private:
  template <class Held>
  struct Holding final : ErasedWorkspace {
    Holding(Held made, WorkspaceOwner made_for) : ErasedWorkspace(made_for), workspace(std::move(made)) {}
    Held workspace;
  };
  template <class Held>
  [[nodiscard]] Workspace hold(Held workspace, count_t rank) const {
    return std::make_unique<Holding<Held>>(std::move(workspace), WorkspaceOwner(m_identity, rank));
  }
  template <class Held>
  Held& own(ErasedWorkspace* workspace, count_t rank) const {
    auto* const held = dynamic_cast<Holding<Held>*>(workspace);
    POLYAD_EXPECTS(held, "the workspace is not one for this operation of ", F::name);
    held->made_for().expect(m_identity, rank, F::name);
    return held->workspace;
  }
  void expect(Capability capability) const {
    POLYAD_EXPECTS(supports(capability), "the format ", F::name, " has no ", to_string(capability));
  }

  F m_format;
  FormatIdentity m_identity;
};

}  // namespace polyad::detail
