// SPDX-License-Identifier: BSD-3-Clause
// For each mode: the rows to solve are marked and numbered, their entries are copied with these numbers in
// place of the rows, and the format of this small tensor solves for all of them at once.
#include "polyad/fast_tucker/fast_tucker.hpp"

#include <Kokkos_Core.hpp>
#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "fast_tucker/fold_in/fold_in_kernels.hpp"
#include "fast_tucker/implicit/implicit.hpp"
#include "fast_tucker/implicit/implicit_cells.hpp"
#include "fast_tucker/optimizers/gradients.hpp"
#include "fast_tucker/optimizers/orthogonal_squares.hpp"
#include "polyad/core/instances.hpp"
#include "polyad/fast_tucker/predict.hpp"
#include "polyad/formats/any_format.hpp"
#include "polyad/tensor/sum_duplicates.hpp"
#include "tensor/coordinates_inside.hpp"

namespace polyad {

using namespace detail;
namespace {

template <class Scalar, class Index, class Space>
class FoldIn {
public:
  using Model  = FastTuckerModel<Scalar, Space>;
  using Tensor = CooTensor<Scalar, Index, Space>;

  FoldIn(Space const& space, Model const& model, Tensor const& entries, FoldInOptions const& options)
      : m_space(space), m_options(options), m_old(model.extents()), m_entries(entries) {
    expect_options(model);
    expect_coordinates_inside(space, entries);
    m_entries = up_to_last_time(entries, model.time_mode);
    std::vector<count_t> extents;
    for (int n = 0; n < model.order(); ++n)
      extents.push_back(std::max(model.extents()[n], m_entries.extents()[n]));
    m_entries = Tensor(Extents(std::span<count_t const>(extents)), m_entries.indices(), m_entries.values());
    if (options.implicit) {
      expect_implicit_values(space, TrainingSet<Scalar, Index, Space>(m_entries), RunRanks());
      m_entries = sum_duplicates(space, m_entries).tensor;
    }
    extend(model, extents);
  }

  /// \param added  whose rows are solved; null: the rows beyond the old extents, and rows of `entries` of
  ///               which the training set has no entry
  [[nodiscard]] Model run(Tensor const* added) {
    auto const C = make_intermediates(m_space, m_model);
    RowDistribution<Scalar, Space> const rows(m_space, m_model.extents());
    std::optional<ImplicitCells<Scalar, Space>> cells;
    if (m_options.implicit) {
      cells.emplace(m_space, m_model.order(), m_model.rank());
      for (int n = 0; n < m_model.order(); ++n) cells->update(m_space, n, C[n], rows);
    }
    // Before any row is solved: the old rows alone have a size.
    std::vector<double> units;
    std::vector<bool> are_ones;
    for (int n = 0; n < m_model.order(); ++n) {
      units.push_back(shrinks() ? unit_of(n, C) : 0.0);
      are_ones.push_back(continue_ones(n, C));
    }
    for (int n = 0; n < m_model.order(); ++n) {
      if (!computes(n)) continue;
      count_t const count = number_rows(n, added);
      if (count == 0) continue;
      if (are_ones[static_cast<std::size_t>(n)])
        solve_biases(n, count);
      else
        solve(n, count, C, cells ? &*cells : nullptr, units[static_cast<std::size_t>(n)]);
      form_intermediates(m_space, m_model, n, C);
      if (cells) cells->update(m_space, n, C[n], rows);
    }
    m_space.fence("polyad::fold_in");
    return m_model;
  }

private:
  using Range  = Kokkos::RangePolicy<Space, Kokkos::IndexType<count_t>>;
  using Biases = Kokkos::View<double*, typename Space::device_type>;

  void expect_options(Model const& model) const {
    POLYAD_EXPECTS(m_entries.order() == model.order(), "entries of order ", m_entries.order(),
                   " for a model of order ", model.order());
    auto const& options = m_options;
    FastTuckerOptions as_fit;
    as_fit.implicit  = options.implicit;
    as_fit.shrinkage = options.shrinkage;
    as_fit.targets   = options.targets;
    expect_implicit_options(as_fit);
    POLYAD_EXPECTS(!options.implicit || (!model.has_biases() && model.mean == 0),
                   "a model of implicit feedback has no mean and no biases, but this one does");
    POLYAD_EXPECTS(!options.ridge || !options.shrinkage, "rows have a ridge or a shrinkage, not both");
    POLYAD_EXPECTS(options.ridge.value_or(0) >= 0 && std::isfinite(options.ridge.value_or(0)), "the ridge ",
                   options.ridge.value_or(0), " is not a number of at least 0");
    POLYAD_EXPECTS(options.bias_damping >= 0, "the damping ", options.bias_damping, " is negative");
    POLYAD_EXPECTS(
        options.targets.empty() || options.targets.size() == static_cast<std::size_t>(model.order()),
        "there are ", options.targets.size(), " targets for ", model.order(), " modes");
    for (int const n : options.modes)
      POLYAD_EXPECTS(n >= 0 && n < model.order(), "rows of mode ", n, " of a model of ", model.order(),
                     " modes");
    POLYAD_EXPECTS(
        options.observed.empty() || options.observed.size() == static_cast<std::size_t>(model.order()),
        "rows with entries are marked for ", options.observed.size(), " modes of ", model.order());
    for (std::size_t n = 0; n < options.observed.size(); ++n)
      POLYAD_EXPECTS(options.observed[n].empty() || options.observed[n].size() == m_old[static_cast<int>(n)],
                     "mode ", n, " has ", m_old[static_cast<int>(n)], " rows, but ",
                     options.observed[n].size(), " are marked");
  }
  [[nodiscard]] bool computes(int n) const {
    return m_options.modes.empty() || std::ranges::find(m_options.modes, n) != m_options.modes.end();
  }
  /// The entries, whose times after the model's last one become the last. Waits if there are any.
  [[nodiscard]] Tensor up_to_last_time(Tensor const& entries, int time_mode) const {
    if (time_mode < 0 || entries.extents()[time_mode] <= m_old[time_mode]) return entries;
    std::vector<count_t> extents;
    for (int n = 0; n < entries.order(); ++n)
      extents.push_back(n == time_mode ? m_old[n] : entries.extents()[n]);
    auto const clamped =
        make_coo_tensor<Scalar, Index>(m_space, Extents(std::span<count_t const>(extents)), entries.nnz());
    Kokkos::deep_copy(m_space, clamped.indices(), entries.indices());
    Kokkos::deep_copy(m_space, clamped.values(), entries.values());
    Kokkos::parallel_for("polyad::clamp_times", Range(m_space, 0, clamped.nnz()),
                         ClampTimes<Index, Space>{clamped.indices(), time_mode, m_old[time_mode] - 1});
    m_space.fence("polyad::fold_in");
    return clamped;
  }
  [[nodiscard]] bool shrinks() const {
    return !m_options.implicit && !m_options.ridge && !m_options.ridge_per_entry;
  }
  [[nodiscard]] RowTarget target(int n) const {
    return m_options.targets.empty() ? RowTarget::zero : m_options.targets[static_cast<std::size_t>(n)];
  }

  /// A copy of the model with zeros for the new rows.
  void extend(Model const& model, std::vector<count_t> const& extents) {
    std::vector<count_t> columns;
    for (int n = 0; n < model.order(); ++n) columns.push_back(model.columns(n));
    m_model           = Model(m_space, m_entries.extents(), columns, model.rank(), model.has_biases());
    m_model.mean      = model.mean;
    m_model.range     = model.range;
    m_model.time_mode = model.time_mode;
    for (int n = 0; n < model.order(); ++n) {
      count_t const old   = m_old[n];
      auto const of_model = Kokkos::make_pair(count_t(0), old);
      using Matrix        = FactorMatrix<Scalar, Space>;
      copy_matrix(m_space, Matrix(Kokkos::subview(m_model.A(n), of_model, Kokkos::ALL)), model.A(n));
      copy_matrix(m_space, m_model.B(n), model.B(n));
      if (model.has_biases())
        Kokkos::deep_copy(m_space, Kokkos::subview(m_model.bias(n), of_model), model.bias(n));
      auto const& drift = model.drift(n);
      if (drift.extent(1) == 0) continue;
      m_model.drift(n) = make_factor_matrix<Scalar>(m_space, "polyad::drift_" + std::to_string(n),
                                                    extents[static_cast<std::size_t>(n)], drift.extent(1));
      copy_matrix(m_space, Matrix(Kokkos::subview(m_model.drift(n), of_model, Kokkos::ALL)), drift);
    }
  }

  /// Marks and numbers the rows of mode n to solve. Waits. Returns how many there are.
  [[nodiscard]] count_t number_rows(int n, Tensor const* added) {
    count_t const extent = m_model.extents()[n];
    expect_fits(m_space, "the rows to solve", extent, 2 * sizeof(count_t));
    m_marks             = MarkedRows<Space>(Kokkos::view_alloc(m_space, "polyad::marked_rows"), extent);
    m_numbers           = MarkedRows<Space>(Kokkos::view_alloc(m_space, "polyad::numbered_rows"), extent);
    auto const observed = observed_of(m_space, m_options.observed, n);
    if (added != nullptr)
      mark(n, *added);
    else if (observed.extent(0) > 0)
      mark(n, m_entries);
    if (added == nullptr)
      Kokkos::parallel_for("polyad::mark_new", Range(m_space, 0, extent),
                           MarkNew<Space>{m_marks, m_old[n], observed});
    count_t count = 0;
    Kokkos::parallel_scan("polyad::number_rows", Range(m_space, 0, extent),
                          NumberMarked<Space>{m_marks, m_numbers}, count);
    m_space.fence("polyad::fold_in");
    return count;
  }

  void mark(int n, Tensor const& entries) const {
    Kokkos::parallel_for("polyad::mark_added", Range(m_space, 0, entries.nnz()),
                         MarkAdded<Index, Space>{entries.indices(), n, m_marks});
  }
  /// Whether the fit left mode n out (RowTarget::left_out), so that its rows are ones. Without targets this
  /// shows in the rows themselves. New rows become ones, too. Waits.
  [[nodiscard]] bool continue_ones(int n, FactorMatrices<Scalar, Space> const& C) {
    if (m_options.implicit || !(m_options.targets.empty() || target(n) == RowTarget::left_out)) return false;
    Range const range(m_space, 0, m_old[n]);
    count_t fitted = 0, first = 0;
    Kokkos::parallel_reduce("polyad::fitted_rows", range, FittedRows<Scalar, Space>{C[n]}, fitted);
    Kokkos::parallel_reduce("polyad::first_row", range, FirstRow<Scalar, Space>{C[n]},
                            Kokkos::Min<count_t>(first));
    if (fitted > 0 || first >= m_old[n]) return false;
    Kokkos::parallel_for("polyad::copy_row", Range(m_space, 0, C[n].extent(0) - m_old[n]),
                         CopyRow<Scalar, Space>{m_model.A(n), m_old[n], first});
    form_intermediates(m_space, m_model, n, C);
    return true;
  }

  /// Their entries, without mean and the biases of all modes but n's own marked rows.
  [[nodiscard]] Tensor entries_of_rows(int n, count_t count) {
    if (m_model.has_biases())
      Kokkos::parallel_for("polyad::forget_biases", Range(m_space, 0, m_model.extents()[n]),
                           ForgetBiases<Scalar, Space>{m_marks, m_model.bias(n)});
    auto const rest = polyad::without_biases(m_space, m_entries, m_model);
    SelectEntries<Scalar, Index, Space> select{rest.indices(), rest.values(), n, m_marks, m_numbers, {}, {},
                                               false};
    count_t nnz = 0;
    Kokkos::parallel_scan("polyad::count_entries", Range(m_space, 0, rest.nnz()), select, nnz);
    m_space.fence("polyad::fold_in");
    std::vector<count_t> extents;
    for (int m = 0; m < m_model.order(); ++m) extents.push_back(m == n ? count : m_model.extents()[m]);
    auto const selected =
        make_coo_tensor<Scalar, Index>(m_space, Extents(std::span<count_t const>(extents)), nnz);
    select.to_indices = selected.indices();
    select.to_values  = selected.values();
    select.copies     = true;
    Kokkos::parallel_scan("polyad::select_entries", Range(m_space, 0, rest.nnz()), select, nnz);
    m_space.fence("polyad::fold_in");
    return selected;
  }

  [[nodiscard]] AnyFormat<Scalar, Space> format_of(int n, Tensor const& entries) const {
    AnyFormatOptions options;
    options.rank       = m_model.rank();
    options.iterations = 1;
    options.duplicates = Duplicates::keep;
    options.needs      = {Capability::row_least_squares};
    options.only_mode  = n;
    return any_format(m_space, entries, options);
  }

  /// P_n, as shrinkage.hpp has it, with every row that is not zero counted once. Waits.
  [[nodiscard]] double unit_of(int n, FactorMatrices<Scalar, Space> const& C) const {
    count_t const R = m_model.rank();
    std::vector<double> products(R, 1.0);
    for (int m = 0; m < m_model.order(); ++m) {
      if (m == n) continue;
      std::vector<double> sums(R + 1);
      for (count_t r = 0; r <= R; ++r)
        Kokkos::parallel_reduce("polyad::sum_of_column", Range(m_space, 0, C[m].extent(0)),
                                SumOfColumn<Scalar, Space>{C[m], r}, sums[r]);
      for (count_t r = 0; r < R; ++r) products[r] *= sums[r] / std::max(sums[R], 1.0);
    }
    double unit = 0;
    for (double const product : products) unit += product;
    return unit;
  }

  void solve(int n, count_t count, FactorMatrices<Scalar, Space> const& C,
             ImplicitCells<Scalar, Space>* cells, double unit) {
    auto entries = entries_of_rows(n, count);
    auto X       = format_of(n, entries);
    Biases biases;
    if (m_model.has_biases()) {
      biases = subtract_biases(n, count, X, entries);
      X      = format_of(n, entries);
    }
    auto const starts = X.make_row_workspace(m_space);
    auto at           = C;
    at[n]             = make_factor_matrix<Scalar>(m_space, "polyad::fold_in_C", count, m_model.rank());
    auto const solved = make_factor_matrix<Scalar>(m_space, "polyad::fold_in_A", count, m_model.columns(n));
    auto const transposed =
        make_factor_matrix<Scalar>(m_space, "polyad::transposed_core", m_model.rank(), m_model.columns(n));
    scaled_transpose(m_space, 1.0, m_model.B(n), transposed);
    double const usual =
        m_options.implicit ? implicit_ridge(*m_options.implicit, m_model.order()) : usual_ridge;
    double const ridge = m_options.ridge.value_or(usual);
    RowProblem<Scalar, Space> problem{
        m_model.B(n), transposed, shrinks() ? 0.0 : ridge, m_options.ridge_per_entry, 0, {}};
    if (m_model.columns(n) >= m_model.rank()) problem.squares = orthogonal_squares(m_space, m_model.B(n));
    if (cells != nullptr) {
      problem.alpha  = *m_options.implicit;
      problem.others = cells->others(m_space, n);
    }
    Kokkos::View<double, typename Space::device_type> const on_device(
        Kokkos::view_alloc(m_space, "polyad::shrinkage_unit"));
    Kokkos::deep_copy(m_space, on_device, unit);
    RowShrinkage penalty;
    if (shrinks()) {
      Shrinkage const shrinkage = m_options.shrinkage.value_or(Shrinkage{});
      bool const to_one         = target(n) == RowTarget::one;
      penalty.unit              = on_device.data();
      penalty.nonzeros          = to_one ? shrinkage.to_one : shrinkage.observations;
      penalty.share             = to_one ? 0.0 : shrinkage.share;
      penalty.target            = to_one ? 1 : 0;
    }
    least_squares_rows(m_space, X, at, n, problem, starts, solved, penalty);
    Kokkos::parallel_for(
        "polyad::put_rows", Range(m_space, 0, m_model.extents()[n]),
        PutRows<Scalar, Space>{m_marks, m_numbers, solved, m_model.A(n), biases, m_model.bias(n)});
    m_space.fence("polyad::fold_in");  // before the format is released
  }

  /// The biases of the marked rows.
  void solve_biases(int n, count_t count) {
    if (!m_model.has_biases()) return;
    auto const entries = entries_of_rows(n, count);
    auto const X       = format_of(n, entries);
    auto const biases  = subtract_biases(n, count, X, entries);
    Kokkos::parallel_for("polyad::put_biases", Range(m_space, 0, m_model.extents()[n]),
                         PutBiases<Scalar, Space>{m_marks, m_numbers, biases, m_model.bias(n)});
    m_space.fence("polyad::fold_in");
  }

  /// The rows' biases, which are subtracted from their entries.
  [[nodiscard]] Biases subtract_biases(int n, count_t count, AnyFormat<Scalar, Space> const& X,
                                       Tensor const& entries) const {
    FactorMatrices<Scalar, Space> const ones(m_space, X.extents(), 1);
    for (int m = 0; m < m_model.order(); ++m) Kokkos::deep_copy(m_space, ones[m], Scalar(1));
    auto const sums = make_output_matrix<Scalar>(m_space, "polyad::sums_of_rows", count, 1);
    auto workspace  = X.make_workspace(m_space, 1);
    mttkrp(m_space, X, ones, n, workspace, sums);
    Biases const biases(Kokkos::view_alloc(m_space, "polyad::fold_in_biases"), count);
    Kokkos::parallel_for(
        "polyad::damped_means", Range(m_space, 0, count),
        DampedMeans<Scalar, Space>{sums, X.make_row_workspace(m_space)[n], m_options.bias_damping, biases});
    Kokkos::parallel_for(
        "polyad::subtract_biases", Range(m_space, 0, entries.nnz()),
        SubtractBiases<Scalar, Index, Space>{entries.indices(), entries.values(), n, biases});
    m_space.fence("polyad::fold_in");
    return biases;
  }

  Space m_space;
  FoldInOptions m_options;
  Extents m_old;
  Tensor m_entries;
  Model m_model;
  MarkedRows<Space> m_marks, m_numbers;
};

}  // namespace

template <class Scalar, class Index, class Space>
FastTuckerModel<Scalar, Space> fold_in(Space const& space, FastTuckerModel<Scalar, Space> const& model,
                                       CooTensor<Scalar, Index, Space> const& entries,
                                       FoldInOptions const& options) {
  return FoldIn<Scalar, Index, Space>(space, model, entries, options).run(nullptr);
}

template <class Scalar, class Index, class Space>
FastTuckerModel<Scalar, Space> update_rows(Space const& space, FastTuckerModel<Scalar, Space> const& model,
                                           CooTensor<Scalar, Index, Space> const& entries,
                                           CooTensor<Scalar, Index, Space> const& added,
                                           FoldInOptions const& options) {
  POLYAD_EXPECTS(added.order() == entries.order(), "added entries of order ", added.order(),
                 " to entries of order ", entries.order());
  for (int n = 0; n < added.order(); ++n)
    POLYAD_EXPECTS(added.extents()[n] <= std::max(entries.extents()[n], model.extents()[n]), "mode ", n,
                   " of the added entries has ", added.extents()[n], " rows, but all entries have ",
                   entries.extents()[n]);
  expect_coordinates_inside(space, added);
  return FoldIn<Scalar, Index, Space>(space, model, entries, options).run(&added);
}

#define POLYAD_FOLD_IN(Scalar, Index)                                                                      \
  template FastTuckerModel<Scalar, Kokkos::DefaultExecutionSpace> fold_in(                                 \
      Kokkos::DefaultExecutionSpace const&, FastTuckerModel<Scalar, Kokkos::DefaultExecutionSpace> const&, \
      CooTensor<Scalar, Index, Kokkos::DefaultExecutionSpace> const&, FoldInOptions const&);               \
  template FastTuckerModel<Scalar, Kokkos::DefaultExecutionSpace> update_rows(                             \
      Kokkos::DefaultExecutionSpace const&, FastTuckerModel<Scalar, Kokkos::DefaultExecutionSpace> const&, \
      CooTensor<Scalar, Index, Kokkos::DefaultExecutionSpace> const&,                                      \
      CooTensor<Scalar, Index, Kokkos::DefaultExecutionSpace> const&, FoldInOptions const&)
POLYAD_EACH_SCALAR_AND_INDEX(, POLYAD_FOLD_IN);

}  // namespace polyad
