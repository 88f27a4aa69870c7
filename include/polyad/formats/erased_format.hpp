// SPDX-License-Identifier: BSD-3-Clause
// What AnyFormat (formats/any_format.hpp) knows of the format inside: the contract of formats/format.hpp, and
// all that a format may offer beside it, as virtual functions.
#pragma once

#include <memory>
#include <vector>

#include "polyad/formats/capability.hpp"
#include "polyad/formats/format.hpp"
#include "polyad/formats/row_shrinkage.hpp"
#include "polyad/formats/sgd_format.hpp"

namespace polyad::detail {

/// A workspace of the format inside.
class ErasedWorkspace {
public:
  virtual ~ErasedWorkspace() = default;
};

/// Each operation, `do_` before its name, is what format.hpp, row_shrinkage.hpp and sgd_format.hpp say.
/// \throws UsageError for an operation that the format has not, or a workspace of another format
template <class Scalar, class Space>
class ErasedFormat {
public:
  using Matrix  = FactorMatrix<Scalar, Space>;
  using Factors = FactorMatrices<Scalar, Space>;
  using Model   = FastTuckerModel<Scalar, Space>;

  virtual ~ErasedFormat()                                     = default;
  [[nodiscard]] virtual char const* name() const              = 0;
  [[nodiscard]] virtual bool can(Capability capability) const = 0;
  [[nodiscard]] virtual Extents const& extents() const        = 0;
  [[nodiscard]] virtual count_t nnz() const                   = 0;
  [[nodiscard]] virtual count_t storage_bytes() const         = 0;
  [[nodiscard]] virtual double norm_squared() const           = 0;

  [[nodiscard]] virtual std::unique_ptr<ErasedWorkspace> make_workspace(Space const&, count_t rank) const = 0;
  virtual void do_mttkrp(Space const&, Factors const&, int mode, ErasedWorkspace*, Matrix const& V) const = 0;

  [[nodiscard]] virtual std::unique_ptr<ErasedWorkspace> do_make_residual_workspace(Space const&,
                                                                                    count_t rank) const = 0;
  virtual void do_residual_mttkrp(Space const&, Factors const& C, int mode, ErasedWorkspace*,
                                  Matrix const& G) const                                                = 0;

  [[nodiscard]] virtual RowStarts<Space> make_row_workspace(Space const&) const  = 0;
  virtual void do_least_squares_rows(Space const&, Factors const& C, int mode,
                                     RowProblem<Scalar, Space> const&, RowStarts<Space> const&,
                                     Matrix const& A, RowShrinkage const&) const = 0;

  virtual void do_sgd_factor_sweep(Space const&, Model const&, Factors const& C, int mode, SgdStep, SgdForm,
                                   SgdWorkspace<Scalar, Space> const&) const = 0;
  virtual void do_sgd_core_sweep(Space const&, Model const&, Factors const& C, int mode, SgdForm,
                                 SgdWorkspace<Scalar, Space> const&) const   = 0;

  [[nodiscard]] virtual Matrix make_ttmc_output(Space const&, std::vector<Matrix> const& U,
                                                int mode) const                                  = 0;
  virtual void ttmc(Space const&, std::vector<Matrix> const& U, int mode, Matrix const& Y) const = 0;
};

}  // namespace polyad::detail
