// SPDX-License-Identifier: BSD-3-Clause
// FastTuckerEpochs: one epoch of fast_tucker, by any of its optimisers.
#pragma once

#include <Kokkos_Core.hpp>
#include <algorithm>
#include <array>
#include <vector>

#include "dense/intermediates.hpp"
#include "fast_tucker/adam.hpp"
#include "fast_tucker/core_step.hpp"
#include "fast_tucker/gradients.hpp"
#include "fast_tucker/orthogonal_squares.hpp"
#include "fast_tucker/sgd.hpp"
#include "fast_tucker/shrinkage.hpp"
#include "formats/row_owners.hpp"
#include "polyad/core/per_mode.hpp"
#include "polyad/fast_tucker/fast_tucker.hpp"

namespace polyad::detail {

/// The epochs of one run, without the errors: for benchmarks and for custom loops. The constructor allocates
/// everything. Shares X. On several ranks the model's A^(n) have the rows that this rank owns, and all ranks
/// call the functions together; save and restore are for one rank.
template <class Scalar, class Index, class Space>
class FastTuckerEpochs {
public:
  using Tensor = DividedTensor<Scalar, Index, Space>;

  /// \throws UsageError when shapes or rates make no sense or the format lacks what the optimiser needs;
  /// MemoryError
  FastTuckerEpochs(Space const& space, Tensor const& X, FastTuckerModel<Scalar, Space> const& model,
                   FastTuckerOptions const& options)
      : m_space(space), m_tensor(X), m_model(model), m_options(options) {
    POLYAD_EXPECTS(X.extents() == model.extents(), "the tensor is ", to_string(X.extents()),
                   " but the model is ", to_string(model.extents()));
    POLYAD_EXPECTS(X.nnz() > 0, "there are no observations to learn from");
    POLYAD_EXPECTS(ridge() >= 0 && options.core_ridge >= 0, "a ridge is negative");
    Shrinkage const shrinkage = options.shrinkage.value_or(Shrinkage{});
    POLYAD_EXPECTS(shrinkage.observations >= 0 && shrinkage.share >= 0 && shrinkage.to_one >= 0,
                   "rows are shrunk by ", shrinkage.observations, " observations and a share of ",
                   shrinkage.share, ", or to one by ", shrinkage.to_one);
    POLYAD_EXPECTS(
        options.targets.empty() || options.targets.size() == static_cast<std::size_t>(model.order()),
        "there are ", options.targets.size(), " targets for ", model.order(), " modes");
    POLYAD_EXPECTS(options.adam.step > 0 && options.sgd.step > 0 && options.sgd.core_step > 0,
                   "the learning rate must be more than 0");
    POLYAD_EXPECTS(options.sgd.decay >= 0, "the decay of the learning rate is negative");
    bool const als = options.optimizer == FastTuckerOptimizer::als;
    bool const sgd = options.optimizer == FastTuckerOptimizer::sgd;
    POLYAD_EXPECTS(als || !X.owners(), "only als runs on several ranks");
    for (auto const& format : X.formats()) {
      expect(sgd || format.can(Capability::residual_sweep), Capability::residual_sweep);
      expect(!als || format.can(Capability::row_least_squares), Capability::row_least_squares);
      expect(!sgd || format.can(Capability::sgd), Capability::sgd);
    }
    POLYAD_EXPECTS(als || sgd || !options.ridge_per_entry, "a ridge per entry is for als and sgd");
    m_C = FactorMatrices<Scalar, Space>(space, model.extents(), model.rank());
    for (int n = 0; n < model.order(); ++n) form_C(n);
    if (sgd) {
      for (int n = 0; n < model.order(); ++n) work(n).sgd = make_sgd_workspace(space, model, n);
      space.fence("polyad::fast_tucker");
      return;
    }
    count_t longest = 0;
    for (int n = 0; n < model.order(); ++n) longest = std::max<count_t>(longest, model.A(n).extent(0));
    m_G = make_output_matrix<Scalar>(space, "polyad::residual_sweep", longest, model.rank());
    for (auto const& format : X.formats())
      m_workspaces.push_back(make_residual_workspace(space, format, model.rank()));
    for (int n = 0; n < model.order(); ++n) als ? make_als_work(n) : make_adam_work(n);
    if (als) {
      for (auto const& format : X.formats()) m_rows.push_back(format.make_row_workspace(space));
      count_t most = 0;
      for (auto const& format : X.formats()) most = std::max(most, format.nnz());
      m_sums    = make_row_sums(most, model.rank());
      m_squares = ColumnSquares<Scalar, Space>(space, model.order(), model.rank());
      for (int n = 0; n < model.order(); ++n) update_squares(n);
    }
    space.fence("polyad::fast_tucker");
  }

  /// Continues with other targets, shrinkage or ridge from the current model, which the caller may have
  /// changed. Launches on the space and returns without waiting.
  void go_on_with(FastTuckerOptions const& options) {
    m_options.targets         = options.targets;
    m_options.shrinkage       = options.shrinkage;
    m_options.ridge           = options.ridge;
    m_options.ridge_per_entry = options.ridge_per_entry;
    m_options.update_cores    = m_options.update_cores && options.update_cores;  // else without their scratch
    for (int n = 0; n < m_model.order(); ++n) {
      form_C(n);
      update_squares(n);
    }
  }

  /// One epoch. Launches on the space and returns without waiting; allocates nothing.
  void run() {
    ++m_epoch;
    if (m_options.optimizer == FastTuckerOptimizer::sgd) {
      sgd_factors();
      if (m_options.update_cores) sgd_cores();
      return;
    }
    for (int n = 0; n < m_model.order(); ++n)
      m_options.optimizer == FastTuckerOptimizer::als ? als_mode(n) : adam_mode(n);
    if (!shrinks()) return;
    Kokkos::Array<bool, max_order> balanced{};
    for (int n = 0; n < m_model.order(); ++n) balanced[n] = target(n) == RowTarget::zero;
    m_squares.balance(m_space, m_model, m_C, balanced);
  }

  /// The two halves of an epoch of sgd, for benchmarks. Without `sgd.form.intermediates`, C is out of date
  /// between them.
  void sgd_factors() {
    for (int n = 0; n < m_model.order(); ++n)
      sgd_factor_step(m_space, X(n), m_model, n, m_options.sgd, std::max(m_epoch, 1), ridge(),
                      m_options.ridge_per_entry, m_C, work(n).sgd);
  }
  void sgd_cores() {
    for (int n = 0; n < m_model.order(); ++n)
      sgd_core_step(m_space, X(n), m_model, n, m_options.sgd, std::max(m_epoch, 1), m_options.core_ridge, m_C,
                    work(n).sgd);
  }

  /// The intermediates of the current model. Launches on the space if they have to be formed.
  [[nodiscard]] FactorMatrices<Scalar, Space> const& intermediates() const {
    if (m_options.optimizer == FastTuckerOptimizer::sgd && !m_options.sgd.form.intermediates)
      for (int n = 0; n < m_model.order(); ++n) form_intermediates(m_space, m_model, n, m_C);
    return m_C;
  }

  /// Saves the number of epochs, the matrices and the optimiser's own state. Waits.
  void save(FastTuckerState& state) const {
    state.epoch = static_cast<std::uint64_t>(m_epoch);
    for (auto* matrices : {&state.factors, &state.cores, &state.intermediates, &state.moments})
      matrices->clear();
    for (int n = 0; n < m_model.order(); ++n) {
      state.factors.push_back(to_host<Scalar>(m_space, m_model.A(n)));
      state.cores.push_back(to_host<Scalar>(m_space, m_model.B(n)));
      state.intermediates.push_back(to_host<Scalar>(m_space, m_C[n]));
      if (m_options.optimizer != FastTuckerOptimizer::adam) continue;
      for (auto const* adam : {&of_mode(m_work, n).adam_A, &of_mode(m_work, n).adam_B}) {
        state.moments.push_back(to_host<Scalar>(m_space, adam->mean));
        state.moments.push_back(to_host<Scalar>(m_space, adam->square));
      }
    }
    if (m_options.optimizer == FastTuckerOptimizer::als) state.squares = m_squares.to_host(m_space);
  }
  /// Goes on from there. Waits. \throws UsageError unless the shapes are this run's
  void restore(FastTuckerState const& state) {
    auto const order = static_cast<std::size_t>(m_model.order());
    bool const adam  = m_options.optimizer == FastTuckerOptimizer::adam;
    bool const als   = m_options.optimizer == FastTuckerOptimizer::als;
    POLYAD_EXPECTS(state.factors.size() == order && state.cores.size() == order &&
                       state.intermediates.size() == order &&
                       state.moments.size() == (adam ? 4 * order : 0) &&
                       state.squares.size() == (als ? order * m_model.rank() : 0),
                   "the state is of another run");
    m_epoch = static_cast<int>(state.epoch);
    for (int n = 0; n < m_model.order(); ++n) {
      from_host<Scalar>(m_space, of_mode(state.factors, n), m_model.A(n));
      from_host<Scalar>(m_space, of_mode(state.cores, n), m_model.B(n));
      from_host<Scalar>(m_space, of_mode(state.intermediates, n), m_C[n]);
      if (als && !steps_core(n) && m_model.columns(n) >= m_model.rank())
        work(n).squares = orthogonal_squares(m_space, m_model.B(n));
      if (!adam) continue;
      auto const* moments = &state.moments[4 * static_cast<std::size_t>(n)];
      for (auto* of : {&work(n).adam_A, &work(n).adam_B}) {
        from_host<Scalar>(m_space, *moments++, of->mean);
        from_host<Scalar>(m_space, *moments++, of->square);
      }
    }
    if (als) m_squares.from_host(m_space, state.squares);
  }

private:
  using RowSums = decltype(RowProblem<Scalar, Space>::sums);
  struct Work {
    GradientWorkspace<Scalar, Space> gradient;
    FactorMatrix<Scalar, Space> dA, dB;
    AdamState<Scalar, Space> adam_A, adam_B;
    FactorMatrix<Scalar, Space> transposed;  // B', R x J
    double squares = 0;                      // B' B is this times the identity, where not 0
    CoreStepWorkspace<Scalar, Space> core;
    SgdWorkspace<Scalar, Space> sgd;
  };

  [[nodiscard]] double ridge() const { return m_options.ridge.value_or(5); }
  [[nodiscard]] bool shrinks() const {
    return m_options.optimizer == FastTuckerOptimizer::als && !m_options.ridge && !m_options.ridge_per_entry;
  }
  /// With shrinkage of C^(n) itself and J >= R, the rows of A^(n) alone reach the least loss. A step of B^(n)
  /// could not lower it.
  [[nodiscard]] bool steps_core(int n) const {
    return m_options.update_cores && !(shrinks() && m_model.columns(n) >= m_model.rank());
  }
  [[nodiscard]] RowTarget target(int n) const {
    return m_options.targets.empty() ? RowTarget::zero : m_options.targets[static_cast<std::size_t>(n)];
  }
  [[nodiscard]] auto const& X(int n) const { return m_tensor.format(n); }
  /// C with the owned rows of mode n alone, as the observations of this mode see it.
  [[nodiscard]] FactorMatrices<Scalar, Space> own_C(int n) const {
    auto C = m_C;
    if (m_tensor.owners()) C[n] = m_tensor.owners()->owned(n, C[n]);
    return C;
  }
  /// C^(n) = A^(n) B^(n), and the other rows from their owners.
  void form_C(int n) const {
    form_intermediates(m_space, m_model, n, own_C(n));
    if (m_tensor.owners()) m_tensor.owners()->gather_rows(n, m_C[n]);
  }
  void update_squares(int n) const {
    m_squares.update(m_space, n, own_C(n)[n], of_mode(row_starts(n), n), m_tensor.nnz(), G(n));
    if (m_tensor.owners()) m_tensor.owners()->sum(m_squares.of_columns(n), m_model.rank());
  }
  [[nodiscard]] Work& work(int n) { return of_mode(m_work, n); }
  [[nodiscard]] AnyWorkspace& workspace(int n) {
    return m_workspaces[m_tensor.owners() ? static_cast<std::size_t>(n) : 0];
  }
  [[nodiscard]] RowStarts<Space> const& row_starts(int n) const {
    return m_rows[m_tensor.owners() ? static_cast<std::size_t>(n) : 0];
  }
  [[nodiscard]] FactorMatrix<Scalar, Space> G(int n) const {
    count_t const rows = m_model.A(n).extent(0);
    return Kokkos::subview(m_G, Kokkos::make_pair(count_t(0), rows), Kokkos::ALL);
  }
  void make_als_work(int n) {
    work(n).transposed =
        make_factor_matrix<Scalar>(m_space, "polyad::transposed_core", m_model.rank(), m_model.columns(n));
    if (steps_core(n))
      work(n).core = CoreStepWorkspace<Scalar, Space>(m_space, m_model, n);
    else if (m_model.columns(n) >= m_model.rank())
      work(n).squares = orthogonal_squares(m_space, m_model.B(n));
  }
  /// \throws MemoryError
  [[nodiscard]] RowSums make_row_sums(count_t nnz, count_t rank) const {
    count_t const size = row_sums_size(nnz, rank);
    expect_fits(m_space, "the sums of long rows", size, sizeof(Scalar));
    return RowSums(Kokkos::view_alloc(m_space, Kokkos::WithoutInitializing, "polyad::row_sums"), size);
  }
  void make_adam_work(int n) {
    auto const like = [&](FactorMatrix<Scalar, Space> const& matrix) {
      return make_factor_matrix<Scalar>(m_space, "polyad::gradient", matrix.extent(0), matrix.extent(1));
    };
    work(n).gradient = make_gradient_workspace(m_space, m_model, n);
    work(n).dA       = like(m_model.A(n));
    work(n).dB       = like(m_model.B(n));
    work(n).adam_A   = {m_space, m_model.A(n)};
    work(n).adam_B   = {m_space, m_model.B(n)};
  }

  void als_mode(int n) {
    if (target(n) == RowTarget::left_out) return;
    bool const to_one = target(n) == RowTarget::one;
    scaled_transpose(m_space, 1.0, m_model.B(n), work(n).transposed);
    RowProblem<Scalar, Space> const problem{m_model.B(n),
                                            work(n).transposed,
                                            shrinks() || to_one ? 0.0 : ridge(),
                                            m_options.ridge_per_entry,
                                            work(n).squares,
                                            m_sums};
    RowPenalty<Space> penalty;
    if (shrinks() || to_one) {
      Shrinkage const shrinkage = m_options.shrinkage.value_or(Shrinkage{});
      m_squares.set_unit(m_space, n);
      penalty.starts         = of_mode(row_starts(n), n);
      penalty.shrinkage.unit = m_squares.unit();
      if (to_one) {
        penalty.shrinkage.nonzeros = shrinkage.to_one;
        penalty.shrinkage.target   = 1;
      } else {
        penalty.shrinkage.nonzeros = shrinkage.observations;
        penalty.shrinkage.share    = shrinkage.share;
      }
    }
    auto const C      = own_C(n);
    bool const is_any = C[n].extent(0) > 0;
    if (is_any)
      least_squares_rows(m_space, X(n), C, n, problem, row_starts(n), m_model.A(n), penalty.shrinkage);
    form_intermediates(m_space, m_model, n, C);
    auto* const owners = m_tensor.owners().get();
    if (steps_core(n))
      core_step(m_space, X(n), m_model, n, m_options.core_ridge, C, workspace(n), work(n).core, G(n), penalty,
                owners);
    if (owners) owners->gather_rows(n, m_C[n]);
    if (shrinks() || !m_options.targets.empty()) update_squares(n);
  }
  void adam_mode(int n) {
    residual_mttkrp(m_space, X(n), m_C, n, workspace(n), G(n));
    gradients(m_space, m_model, n, G(n), work(n).gradient, work(n).dA, work(n).dB);
    adam_step(m_space, m_options.adam, m_epoch, ridge(), work(n).dA, work(n).adam_A, m_model.A(n));
    if (m_options.update_cores)
      adam_step(m_space, m_options.adam, m_epoch, m_options.core_ridge, work(n).dB, work(n).adam_B,
                m_model.B(n));
    form_intermediates(m_space, m_model, n, m_C);
  }
  void expect(bool offered, Capability capability) const {
    POLYAD_EXPECTS(offered, "the format ", m_tensor.chosen(), " has no ", to_string(capability));
  }

  Space m_space;
  Tensor m_tensor;
  FastTuckerModel<Scalar, Space> m_model;
  FastTuckerOptions m_options;
  FactorMatrices<Scalar, Space> m_C;
  FactorMatrix<Scalar, Space> m_G;         // of the longest mode, shared by all
  std::vector<AnyWorkspace> m_workspaces;  // of each format
  std::vector<RowStarts<Space>> m_rows;    // one per format
  RowSums m_sums;                          // shared by all modes
  ColumnSquares<Scalar, Space> m_squares;
  std::array<Work, max_order> m_work;
  int m_epoch = 0;
};

template <class Scalar, class Index, class Space>
FastTuckerEpochs(Space const&, AnyFormat<Scalar, Index, Space> const&, FastTuckerModel<Scalar, Space> const&,
                 FastTuckerOptions const&) -> FastTuckerEpochs<Scalar, Index, Space>;

}  // namespace polyad::detail
