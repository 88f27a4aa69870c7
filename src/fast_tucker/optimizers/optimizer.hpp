// SPDX-License-Identifier: BSD-3-Clause
// FastTuckerOptimization: what all optimizers of fast_tucker work on. Optimizer: the interface of one. Each
// optimizer has its own file: als.hpp, adam.hpp, sgd.hpp.
#pragma once

#include <Kokkos_Core.hpp>
#include <algorithm>
#include <functional>
#include <optional>
#include <vector>

#include "dense/intermediates.hpp"
#include "polyad/fast_tucker/fast_tucker.hpp"
#include "polyad/tensor/fast_tucker_state.hpp"
#include "run/row_distribution.hpp"
#include "tensor/read_rows.hpp"

namespace polyad::detail {

/// The matrix of `space`, which it shares. Each block waits for `space`.
template <class Scalar, class Space>
[[nodiscard]] FastTuckerSnapshot::Matrix snapshot_matrix(Space const& space,
                                                         FactorMatrix<Scalar, Space> const& matrix) {
  return {matrix.extent(0), matrix.extent(1), reader_of_rows<Scalar>(space, matrix)};
}

/// A model while it is fitted to a tensor. Shares both. The model's A^(n) have the rows that this rank owns.
template <class Scalar, class Space>
struct FastTuckerOptimization {
  using Matrix = FactorMatrix<Scalar, Space>;

  Space space;
  TensorByRank<Scalar, Space> tensor;
  FastTuckerModel<Scalar, Space> model;
  FastTuckerOptions options;
  FactorMatrices<Scalar, Space> C;
  /// Called by als before each mode's update, if it is set. Its exception ends the epoch there.
  std::function<void()> between_modes = {};

  /// Allocates C, which is still to be formed. \throws MemoryError
  FastTuckerOptimization(Space const& on, TensorByRank<Scalar, Space> const& X,
                         FastTuckerModel<Scalar, Space> const& start, FastTuckerOptions const& with)
      : space(on), tensor(X), model(start), options(with), C(on, start.extents(), start.rank()) {}

  [[nodiscard]] int order() const { return model.order(); }
  [[nodiscard]] auto const& X(int n) const { return tensor.format(n); }
  [[nodiscard]] RowDistribution<Scalar, Space> const& rows() const { return *tensor.rows(); }
  [[nodiscard]] double ridge() const { return options.ridge.value_or(usual_ridge); }
  /// C with only the owned rows of mode n, as the observations of this mode see it.
  [[nodiscard]] FactorMatrices<Scalar, Space> own_C(int n) const {
    auto own = C;
    own[n]   = rows().owned(n, C[n]);
    return own;
  }
  /// C^(n) = A^(n) B^(n) for the owned rows; gets the other rows from their owners.
  void form_C(int n) const {
    form_intermediates(space, model, n, own_C(n));
    rows().gather_rows(n, C[n]);
  }
  void form_C() const {
    for (int n = 0; n < order(); ++n) form_C(n);
  }
  [[nodiscard]] FastTuckerSnapshot::Matrix in_blocks(Matrix const& matrix) const {
    return snapshot_matrix<Scalar, Space>(space, matrix);
  }
};

/// What the residual sweeps of a run write, and their workspaces.
template <class Scalar, class Space>
class ResidualSweeps {
public:
  using Run = FastTuckerOptimization<Scalar, Space>;

  /// \throws MemoryError
  explicit ResidualSweeps(Run const& run) : m_run(run) {
    count_t longest = 0;
    for (int n = 0; n < run.order(); ++n) longest = std::max<count_t>(longest, run.model.A(n).extent(0));
    m_G = make_factor_matrix<Scalar>(run.space, "polyad::residual_sweep", longest, run.model.rank());
    for (auto const& format : run.tensor.formats())
      m_workspaces.push_back(make_residual_workspace(run.space, format, run.model.rank()));
  }
  /// Scratch with a row for each row of A^(n), for the result of the sweep of mode n.
  [[nodiscard]] FactorMatrix<Scalar, Space> G(int n) const {
    count_t const rows = m_run.model.A(n).extent(0);
    return Kokkos::subview(m_G, Kokkos::make_pair(count_t(0), rows), Kokkos::ALL);
  }
  [[nodiscard]] AnyWorkspace& workspace(int n) { return m_workspaces[m_run.tensor.format_number(n)]; }

private:
  Run const& m_run;
  FactorMatrix<Scalar, Space> m_G;         // as long as the longest mode, shared by all
  std::vector<AnyWorkspace> m_workspaces;  // one for each format
};

/// One optimizer. Its constructor takes the run and allocates everything; continue_run() follows before the
/// first epoch.
class Optimizer {
public:
  virtual ~Optimizer() = default;

  /// One epoch; they count from 1. Launches on the run's space and returns without waiting; allocates
  /// nothing.
  virtual void run(int epoch) = 0;
  /// Called after the model, C or the options have changed.
  virtual void continue_run() {}
  /// Brings C up to date, if epochs do not.
  virtual void form_C() const {}
  /// With implicit feedback: the part of the objective that does not come from the entries, which is the loss
  /// of all cells as if none were an entry, and the ridge. Waits; all ranks call it.
  [[nodiscard]] virtual std::optional<double> loss_without_entries() const { return std::nullopt; }

  /// Its small numbers for a checkpoint. Waits.
  virtual void save_numbers(FastTuckerState&) const {}
  /// Refers to its matrices.
  virtual void put_matrices(FastTuckerSnapshot&) const {}
  /// Whether the state has the numbers of this optimizer.
  [[nodiscard]] virtual bool accepts(FastTuckerState const& state) const {
    return state.moments.empty() && state.squares.empty();
  }
  /// Continues from the state, after model and C were restored. Waits.
  virtual void restore(FastTuckerState const&) {}
};

}  // namespace polyad::detail
