// SPDX-License-Identifier: BSD-3-Clause
// For each mode: the rows to solve are marked and numbered, their entries are copied with these numbers in
// place of the rows, and the format of this small tensor solves for all of them at once. Ranks divide the
// rows of the mode, and get each other's rows before the next mode.
#include "polyad/fast_tucker/fast_tucker.hpp"

#include <Kokkos_Core.hpp>
#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <vector>

#include "distributed/over_ranks.hpp"
#include "distributed/rows_of_mode.hpp"
#include "fast_tucker/fold_in/fold_in_kernels.hpp"
#include "fast_tucker/implicit/implicit.hpp"
#include "fast_tucker/implicit/implicit_cells.hpp"
#include "fast_tucker/optimizers/gradients.hpp"
#include "fast_tucker/optimizers/orthogonal_squares.hpp"
#include "polyad/core/instances.hpp"
#include "polyad/distributed/communicator.hpp"
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

  /// \param entries  this rank's part
  FoldIn(Communicator<Space> const& ranks, Model const& model, Tensor const& entries,
         FoldInOptions const& options)
      : m_ranks(ranks),
        m_all(ranks),
        m_space(ranks.space()),
        m_options(options),
        m_old(model.extents()),
        m_entries(entries) {
    m_all.together([&] {
      expect_options(model);
      expect_coordinates_inside(m_space, entries);
      m_entries = up_to_last_time(entries, model.time_mode);
    });
    auto const of_all = common_extents(ranks.host(), m_entries.extents());
    std::vector<count_t> extents;
    for (int n = 0; n < model.order(); ++n) extents.push_back(std::max(model.extents()[n], of_all[n]));
    m_entries = Tensor(Extents(std::span<count_t const>(extents)), m_entries.indices(), m_entries.values());
    if (options.implicit) {
      expect_implicit_values(m_space, TrainingSet<Scalar, Index, Space>(m_entries), m_all);
      auto const rows = RowsOfMode<Scalar, Index, Space>(ranks, m_entries, 0).deal(m_entries);
      m_entries       = m_all.together([&] { return sum_duplicates(m_space, rows).tensor; });
    }
    m_all.together([&] { extend(model, extents); });
  }

  /// \param added  whose rows are solved; null: the rows beyond the old extents, and rows of `entries` of
  ///               which the training set has no entry
  [[nodiscard]] Model run(Tensor const* added) {
    Tensor marked;
    m_all.together([&] {
      prepare();
      if (added != nullptr) marked = up_to_last_time(*added, m_model.time_mode);
    });
    for (int n = 0; n < m_model.order(); ++n)
      if (computes(n)) compute(n, added != nullptr ? &marked : nullptr);
    m_space.fence("polyad::fold_in");
    return m_model;
  }

private:
  using Range  = Kokkos::RangePolicy<Space, Kokkos::IndexType<count_t>>;
  using Biases = Kokkos::View<double*, typename Space::device_type>;

  /// What all modes need, before any row is solved: the old rows alone have a size.
  void prepare() {
    m_C = make_intermediates(m_space, m_model);
    if (m_options.implicit) {
      m_cells.emplace(m_space, m_model.order(), m_model.rank());
      for (int n = 0; n < m_model.order(); ++n) update_cells(n);
    }
    for (int n = 0; n < m_model.order(); ++n) {
      m_units.push_back(shrinks() ? unit_of(n, m_C) : 0.0);
      m_are_ones.push_back(continue_ones(n, m_C));
    }
  }
  /// All rows of C^(n) are here.
  void update_cells(int n) {
    RowDistribution<Scalar, Space> const rows(m_space, m_model.extents());
    if (m_cells) m_cells->update(m_space, n, m_C[n], rows);
  }

  /// The rows of mode n, of which each rank solves some.
  void compute(int n, Tensor const* added) {
    RowsOfMode<Scalar, Index, Space> const shares(m_ranks, m_entries, n);
    m_own = shares.deal(m_entries);
    std::optional<Tensor> marked;
    if (added != nullptr) marked = shares.deal(*added);
    auto const cuts  = shares.cuts(m_model.extents()[n]);
    auto const here  = static_cast<std::size_t>(m_ranks.rank());
    auto const count = m_all.together(
        [&] { return number_rows(n, marked ? &*marked : nullptr, cuts.at(here), cuts.at(here + 1)); });
    if (summed(m_ranks.host(), {count})[0] == 0) return;
    bool const are_ones      = m_are_ones[static_cast<std::size_t>(n)];
    std::uint64_t const left = marked && !are_ones ? classes_left(n, *marked) : 0;
    m_all.together([&] {
      if (count == 0) return;
      if (are_ones) return solve_biases(n, count);
      solve(n, count);
      if (left != 0)
        Kokkos::parallel_for("polyad::zero_solved", Range(m_space, 0, m_model.extents()[n]),
                             ZeroSolvedRows<Scalar, Space>{m_marks, m_row_entries, m_model.A(n), left});
    });
    shares.share(m_model.A(n));
    if (m_model.has_biases()) shares.share(m_model.bias(n));
    m_all.together([&] {
      form_intermediates(m_space, m_model, n, m_C);
      update_cells(n);
    });
  }

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

  /// Marks and numbers the rows of mode n to solve, of those from `first` to `end` that are this rank's.
  /// Waits. Returns how many there are.
  [[nodiscard]] count_t number_rows(int n, Tensor const* added, count_t first, count_t end) {
    count_t const extent = m_model.extents()[n];
    expect_fits(m_space, "the rows to solve", extent, 2 * sizeof(count_t));
    m_marks             = MarkedRows<Space>(Kokkos::view_alloc(m_space, "polyad::marked_rows"), extent);
    m_numbers           = MarkedRows<Space>(Kokkos::view_alloc(m_space, "polyad::numbered_rows"), extent);
    auto const observed = observed_of(m_space, m_options.observed, n);
    if (added != nullptr)
      mark(n, *added);
    else if (observed.extent(0) > 0)
      mark(n, m_own);
    if (added == nullptr)
      Kokkos::parallel_for("polyad::mark_new", Range(m_space, 0, extent),
                           MarkNew<Space>{m_marks, m_old[n], observed});
    for (auto const& others : {Kokkos::make_pair(count_t(0), first), Kokkos::make_pair(end, extent)})
      Kokkos::deep_copy(m_space, Kokkos::subview(m_marks, others), count_t(0));
    count_t count = 0;
    Kokkos::parallel_scan("polyad::number_rows", Range(m_space, 0, extent),
                          NumberMarked<Space>{m_marks, m_numbers}, count);
    m_space.fence("polyad::fold_in");
    return count;
  }

  /// The classes of rows that the model leaves to mean and biases (row_classes.hpp): rows of these that are
  /// solved again have been zero on all ranks, and none has not. Waits.
  [[nodiscard]] std::uint64_t classes_left(int n, Tensor const& added) {
    if (m_options.implicit || !m_model.has_biases() || n == m_model.time_mode) return 0;
    std::uint64_t zero = 0, others = 0;
    m_all.together([&] {
      count_t const extent = m_model.extents()[n];
      expect_fits(m_space, "the entries of each row", extent, 2 * sizeof(std::uint64_t));
      m_row_entries                   = entries_of_each_row(n, m_own);
      RowCounts<Space> const of_added = entries_of_each_row(n, added);
      for (bool const is_zero : {true, false})
        Kokkos::parallel_reduce(
            "polyad::classes_of_rows", Range(m_space, 0, m_old[n]),
            ClassesOfRows<Scalar, Space>{m_marks, m_row_entries, of_added, m_model.A(n), is_zero},
            Kokkos::BOr<std::uint64_t>(is_zero ? zero : others));
    });
    std::uint64_t left = 0;
    for (int c = 0; c < row_classes; ++c) {
      std::uint64_t const bit = std::uint64_t(1) << c;
      bool const was_zero = m_all.any((zero & bit) != 0), was_not = m_all.any((others & bit) != 0);
      if (was_zero && !was_not) left |= bit;
    }
    return left;
  }
  [[nodiscard]] RowCounts<Space> entries_of_each_row(int n, Tensor const& entries) const {
    RowCounts<Space> const counts(Kokkos::view_alloc(m_space, "polyad::entries_of_rows"),
                                  m_model.extents()[n]);
    Kokkos::parallel_for("polyad::count_entries", Range(m_space, 0, entries.nnz()),
                         CountEntriesOfRows<Index, RowCounts<Space>>{entries.indices().data(),
                                                                     static_cast<count_t>(entries.order()),
                                                                     static_cast<count_t>(n), counts});
    return counts;
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
    auto const rest = polyad::without_biases(m_space, m_own, m_model);
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

  void solve(int n, count_t count) {
    auto entries = entries_of_rows(n, count);
    auto X       = format_of(n, entries);
    Biases biases;
    if (m_model.has_biases()) {
      biases = subtract_biases(n, count, X, entries);
      X      = format_of(n, entries);
    }
    auto const starts = X.make_row_workspace(m_space);
    auto at           = m_C;
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
    if (m_cells) {
      problem.alpha  = *m_options.implicit;
      problem.others = m_cells->others(m_space, n);
    }
    Kokkos::View<double, typename Space::device_type> const on_device(
        Kokkos::view_alloc(m_space, "polyad::shrinkage_unit"));
    Kokkos::deep_copy(m_space, on_device, m_units[static_cast<std::size_t>(n)]);
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

  Communicator<Space> m_ranks;
  AllRanks<Space> m_all;
  Space m_space;
  FoldInOptions m_options;
  Extents m_old;
  Tensor m_entries;  // this rank's part
  Tensor m_own;      // all entries of this rank's rows of a mode
  Model m_model;
  FactorMatrices<Scalar, Space> m_C;
  std::optional<ImplicitCells<Scalar, Space>> m_cells;  // with implicit feedback
  std::vector<double> m_units;                          // P_n of each mode
  std::vector<bool> m_are_ones;                         // for each mode
  MarkedRows<Space> m_marks, m_numbers;
  RowCounts<Space> m_row_entries;
};

}  // namespace

template <class Scalar, class Index, class Space>
FastTuckerModel<Scalar, Space> fold_in(Communicator<Space> const& ranks,
                                       FastTuckerModel<Scalar, Space> const& model,
                                       CooTensor<Scalar, Index, Space> const& entries,
                                       FoldInOptions const& options) {
  return FoldIn<Scalar, Index, Space>(ranks, model, entries, options).run(nullptr);
}

template <class Scalar, class Index, class Space>
FastTuckerModel<Scalar, Space> update_rows(Communicator<Space> const& ranks,
                                           FastTuckerModel<Scalar, Space> const& model,
                                           CooTensor<Scalar, Index, Space> const& entries,
                                           CooTensor<Scalar, Index, Space> const& added,
                                           FoldInOptions const& options) {
  AllRanks<Space>(ranks).together([&] {
    POLYAD_EXPECTS(added.order() == entries.order(), "added entries of order ", added.order(),
                   " to entries of order ", entries.order());
    for (int n = 0; n < added.order(); ++n)
      POLYAD_EXPECTS(added.extents()[n] <= std::max(entries.extents()[n], model.extents()[n]), "mode ", n,
                     " of the added entries has ", added.extents()[n], " rows, but all entries have ",
                     entries.extents()[n]);
    expect_coordinates_inside(ranks.space(), added);
  });
  return FoldIn<Scalar, Index, Space>(ranks, model, entries, options).run(&added);
}

template <class Scalar, class Index, class Space>
FastTuckerModel<Scalar, Space> fold_in(Space const& space, FastTuckerModel<Scalar, Space> const& model,
                                       CooTensor<Scalar, Index, Space> const& entries,
                                       FoldInOptions const& options) {
  return fold_in(Communicator<Space>(space), model, entries, options);
}

template <class Scalar, class Index, class Space>
FastTuckerModel<Scalar, Space> update_rows(Space const& space, FastTuckerModel<Scalar, Space> const& model,
                                           CooTensor<Scalar, Index, Space> const& entries,
                                           CooTensor<Scalar, Index, Space> const& added,
                                           FoldInOptions const& options) {
  return update_rows(Communicator<Space>(space), model, entries, added, options);
}

#define POLYAD_FOLD_IN(Scalar, Index)                                                                 \
  template FastTuckerModel<Scalar, CompiledSpace> fold_in(                                            \
      Communicator<CompiledSpace> const&, FastTuckerModel<Scalar, CompiledSpace> const&,              \
      CooTensor<Scalar, Index, CompiledSpace> const&, FoldInOptions const&);                          \
  template FastTuckerModel<Scalar, CompiledSpace> update_rows(                                        \
      Communicator<CompiledSpace> const&, FastTuckerModel<Scalar, CompiledSpace> const&,              \
      CooTensor<Scalar, Index, CompiledSpace> const&, CooTensor<Scalar, Index, CompiledSpace> const&, \
      FoldInOptions const&);                                                                          \
  template FastTuckerModel<Scalar, CompiledSpace> fold_in(                                            \
      CompiledSpace const&, FastTuckerModel<Scalar, CompiledSpace> const&,                            \
      CooTensor<Scalar, Index, CompiledSpace> const&, FoldInOptions const&);                          \
  template FastTuckerModel<Scalar, CompiledSpace> update_rows(                                        \
      CompiledSpace const&, FastTuckerModel<Scalar, CompiledSpace> const&,                            \
      CooTensor<Scalar, Index, CompiledSpace> const&, CooTensor<Scalar, Index, CompiledSpace> const&, \
      FoldInOptions const&)
POLYAD_EACH_SCALAR_AND_INDEX(, POLYAD_FOLD_IN);

}  // namespace polyad
