// SPDX-License-Identifier: BSD-3-Clause
#include "polyad/tucker/tucker.hpp"

#include <Kokkos_Core.hpp>
#include <algorithm>
#include <cmath>
#include <filesystem>
#include <iterator>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/run_limits.hpp"
#include "dense/scale_matrix.hpp"
#include "fit/fit.hpp"
#include "fit/measure_tucker.hpp"
#include "fit/stop_rule.hpp"
#include "fit/sum_cells.hpp"
#include "io/checkpoints/same_run.hpp"
#include "polyad/core/error.hpp"
#include "polyad/core/instances.hpp"
#include "polyad/dense/nvecs.hpp"
#include "polyad/io/checkpoint.hpp"
#include "polyad/tensor/compact.hpp"
#include "run/row_distribution.hpp"
#include "run/run_loop.hpp"
#include "run/run_options.hpp"
#include "tensor/copied.hpp"
#include "tucker/leading_scratch.hpp"
#include "tucker/leading_vectors.hpp"
#include "tucker/wide_product.hpp"

namespace polyad {

using namespace detail;
namespace {

/// "R_0 x R_1 x ...", for messages.
std::string product_text(std::vector<count_t> const& ranks) {
  std::string text;
  for (count_t const rank : ranks) text += (text.empty() ? "" : " x ") + std::to_string(rank);
  return text;
}

/// \throws UsageError unless there are N ranks, each from 1 to I_n and to the product of the others;
///         MemoryError when the size of the core does not fit 64 bits
void expect_tucker_ranks(Extents const& extents, std::vector<count_t> const& ranks) {
  POLYAD_EXPECTS(extents.order() >= 2, "a Tucker decomposition needs two modes or more");
  POLYAD_EXPECTS(std::ssize(ranks) == extents.order(), ranks.size(), " ranks for a tensor of order ",
                 extents.order());
  for (count_t const rank : ranks)
    if (rank > 0) checked_rank(rank);
  for (std::size_t n = 0; n < ranks.size(); ++n)
    POLYAD_EXPECTS(ranks[n] >= 1 && ranks[n] <= extents[n], "rank ", ranks[n], " of mode ", n, ": it has ",
                   extents[n], " rows");
  for (std::size_t n = 0; n < ranks.size(); ++n) {
    count_t others = 1;
    for (std::size_t m = 0; m < ranks.size(); ++m)
      if (m != n) others = checked_product("the core, " + product_text(ranks) + ",", others, ranks[m]);
    POLYAD_EXPECTS(ranks[n] <= others, "rank ", ranks[n], " of mode ", n,
                   " exceeds the product of the others, ", others);
  }
}

/// expect_tucker_ranks, and that the options' lists are of these rows.
void expect_stored_ranks(Extents const& extents, TuckerOptions const& options) {
  expect_stored_rows(options.rows, extents);
  for (std::size_t n = 0; n < std::min(options.rows.size(), options.ranks.size()); ++n) {
    auto const& rows = options.rows[n];
    POLYAD_EXPECTS(!rows.is_list() || options.ranks[n] <= rows.size(), "rank ", options.ranks[n], " of mode ",
                   n, ": only ", rows.size(), " of its ", rows.extent(), " rows occur");
  }
  expect_tucker_ranks(extents, options.ranks);
}

/// Y for every mode, all in one buffer of the size of the largest: HOOI needs one at a time. On several ranks
/// with the rows of X's formats.
/// \throws MemoryError before it is allocated
template <class Scalar, class Space>
std::vector<FactorMatrix<Scalar, Space>> make_shared_outputs(
    Space const& space, TensorByRank<Scalar, Space> const& X,
    std::vector<FactorMatrix<Scalar, Space>> const& U) {
  auto const rows            = [&](int n) { return X.format(n).extents()[n]; };
  constexpr count_t too_many = std::numeric_limits<count_t>::max();
  std::vector<count_t> columns;
  int const order = X.extents().order();
  int largest     = 0;
  count_t least   = 0;  // elements of the largest so far
  for (int n = 0; n < order; ++n) {
    count_t D = 1;
    for (int m = 0; m < order; ++m)
      if (m != n && __builtin_mul_overflow(D, U[m].extent(1), &D)) D = too_many;
    count_t elements = 0;
    if (D == too_many || __builtin_mul_overflow(rows(n), padded_rank<Scalar>(D), &elements))
      elements = too_many;  // make_spttmc_output refuses it
    columns.push_back(D);
    if (elements > least) {
      largest = n;
      least   = elements;
    }
  }
  auto const buffer = make_spttmc_output(space, X.format(largest).extents(), U, largest);
  std::vector<FactorMatrix<Scalar, Space>> Y(columns.size(), buffer);
  for (int n = 0; n < order; ++n)
    if (n != largest) Y[n] = matrix_at<Scalar, Space>(buffer.data(), rows(n), columns[n]);
  return Y;
}

/// random_tucker_start, which ranks make together: each has whole factors.
template <class Scalar, class Space>
TuckerStart<Scalar, Space> random_start(Space const& space, TuckerOptions const& options,
                                        std::shared_ptr<RowDistribution<Scalar, Space> const> const& rows) {
  auto const& extents = rows->extents();
  expect_stored_ranks(extents, options);
  LeadingVectors<Scalar, Space> vectors(space, options.vectors, rows);
  TuckerStart<Scalar, Space> U;
  for (int n = 0; n < extents.order(); ++n) {
    auto const made = [&](char const* label, count_t count) {
      return rows->together(
          [&] { return make_factor_matrix<Scalar>(space, label, count, options.ranks[n]); });
    };
    auto const random = made("polyad::tucker_start", rows->rows(n));
    U.push_back(made("polyad::tucker_factor", extents[n]));
    rows->fill_random(space, n, random, options.rows, options.seed);
    vectors.orthonormalize(random, rows->owned(n, U.back()), n);
    rows->gather_rows(n, U.back());
  }
  return U;
}

/// The fit of the model as it is. The formula of the last iteration is used if its error does not matter.
/// \param is_start  The factors are a caller's. If their columns are not orthonormal, the formula is wrong.
template <class Scalar, class Space>
Fit final_fit(Space const& space, TensorByRank<Scalar, Space> const& X,
              TuckerModel<Scalar, Space> const& model, double scale, SquaredNorms const& formula,
              bool is_start) {
  auto const& tensor = *X.format(0).erased();
  auto const& rows   = *X.rows();
  // The end of a run must not fail for lack of memory.
  count_t const bytes = bytes_to_measure_tucker(model.core.size());
  bool const fits     = bytes <= available_memory(space);
  if (!tensor.is_readable() || rows.any(!fits)) return fit_of(formula);
  auto const fit = fit_of_iteration(formula);
  if (!is_start && is_exact_enough<Scalar>(fit)) return fit;
  StoredTucker<Scalar, Space> stored{model.factors, model.factors, model.core};
  for (int n = 0; n < X.extents().order(); ++n) stored.owned[n] = rows.owned(n, model.factors[n]);
  stored.factors[0] = stored.owned[0];  // the first format has the nonzeros of these rows
  return measure_tucker_fit(space, tensor, stored, scale, rows.rank_sums());
}

/// \throws UsageError when the start, the format or the limits make no sense
template <class Scalar, class Space>
void expect_hooi_arguments(TensorByRank<Scalar, Space> const& X, TuckerOptions const& options,
                           TuckerStart<Scalar, Space> const& start) {
  Extents const extents = X.extents();
  expect_stored_ranks(extents, options);
  POLYAD_EXPECTS(std::ssize(start) == extents.order(), start.size(), " factors to start from");
  for (int n = 0; n < extents.order(); ++n) {
    auto const& U = start[n];
    POLYAD_EXPECTS(U.extent(0) == extents[n] && U.extent(1) == options.ranks[n], "the start of mode ", n,
                   " is ", U.extent(0), " x ", U.extent(1));
  }
  POLYAD_EXPECTS(X.format(0).supports(Capability::ttmc), "the format ", X.chosen(), " has no ",
                 to_string(Capability::ttmc));
  expect_run_limits(options.vectors.max_iterations, options.vectors.tolerance);
  for (auto const& format : X.formats()) expect_no_duplicates(*format.erased());
}

/// The squared norm of the tensor. \throws NumericalError when it allows no fit
template <class Scalar, class Space>
ScaledNorm norm_of(Space const& space, TensorByRank<Scalar, Space> const& X) {
  auto const norm = scaled_norm(space, *X.format(0).erased(), X.norm_squared(), X.rows()->rank_sums());
  expect_fit_exists(norm);
  return norm;
}

/// HOOI on one rank, or on all ranks together: a driver of the run loop (run/run_loop.hpp).
template <class Scalar, class Space>
class Hooi {
public:
  using Iteration = TuckerIteration;
  using Result    = TuckerResult<Scalar, Space>;

  using Tensor = TensorByRank<Scalar, Space>;
  using Matrix = FactorMatrix<Scalar, Space>;

  /// Allocates everything. \throws UsageError, NumericalError; MemoryError
  Hooi(Space const& space, Tensor const& X, TuckerOptions const& options,
       TuckerStart<Scalar, Space> const& start)
      : m_space(space),
        m_tensor(X),
        m_options(options),
        m_seed(options.seed),
        m_rows(*X.rows()),
        m_rule(options.tolerance),
        m_order(X.extents().order()),
        m_norm(norm_of(space, X)),
        m_vectors(space, options.vectors, X.rows()) {
    m_result.model.rows = options.rows;
    m_rows.together([&] { allocate(start); });
  }

  [[nodiscard]] int iterations() const { return m_iterations; }
  void launch() { m_clock.reset(); }
  /// Makes the whole iteration: its numbers are on the host again and again.
  [[nodiscard]] Ended<TuckerIteration> finish() {
    double const captured = update_factors();
    if (!std::isfinite(captured))
      throw NumericalError("the factors are not finite: iteration " + std::to_string(m_iterations + 1));
    FormulaNumbers const known{m_norm.squared, captured, captured, std::sqrt(captured)};
    double const before = m_result.fit;
    m_formula           = squares_of_formula<Scalar>(known, m_order);
    m_result.fit        = fit_of_iteration(m_formula).value;
    auto const met      = m_rule.after(m_result.fit, usual_error_of_fit<Scalar>(known, m_result.fit));
    return {{++m_iterations, m_result.fit, m_result.fit - before, m_clock.seconds()}, met};
  }

  /// All ranks have the whole factors. Waits.
  void save(std::filesystem::path const& path) const {
    m_rows.on_root([&] {
      io::write_tucker_checkpoint(path, state(), [&](std::size_t n, count_t first, count_t count) {
        auto const rows = Kokkos::make_pair(first, first + count);
        return to_host<Scalar>(m_space,
                               Matrix(Kokkos::subview(m_result.model.factors[n], rows, Kokkos::ALL)));
      });
    });
  }
  /// Waits. \throws InputError on all ranks for a file that is damaged or of another run
  std::optional<StopReason> load(std::filesystem::path const& path) {
    double facts[] = {0, 0};  // the number of the iteration and the fit
    m_rows.on_root([&] {
      auto found            = io::read_tucker_checkpoint(path);
      auto const run        = state();
      auto const difference = io::difference_of_runs(
          found, run, m_rows.keeps_format(), found.rows == run.rows,
          io::difference_of("the ranks", product_text(found.ranks), product_text(run.ranks)));
      if (!difference.empty()) throw InputError(path.string(), 0, 0, difference);
      for (std::size_t n = 0; n < found.factors.size(); ++n)
        from_host<Scalar>(m_space, found.factors[n], m_result.model.factors[n]);
      facts[0] = static_cast<double>(found.iteration);
      facts[1] = found.fit;
      m_seed   = found.seed;
    });
    m_rows.broadcast_from_root(facts, std::size(facts));
    for (auto const& U : m_result.model.factors) m_rows.broadcast_from_root(U);
    m_space.fence("polyad::tucker");
    m_iterations = static_cast<int>(facts[0]);
    m_result.fit = facts[1];
    if (m_iterations > 0) m_rule.restore(m_result.fit);
    return std::nullopt;
  }

  /// The core and the fit of the model as it is. Call it once.
  [[nodiscard]] TuckerResult<Scalar, Space> take_result(bool is_start) {
    if (is_start) multiply(m_order - 1);
    form_core();
    if (is_start) m_formula = formula_of_start();
    m_outputs.clear();  // frees memory for the fit
    auto const fit      = final_fit(m_space, m_tensor, m_result.model, m_norm.scale, m_formula, is_start);
    m_result.fit        = fit.value;
    m_result.fit_error  = fit.error;
    m_result.iterations = m_iterations;
    if (m_norm.scale != 1) scale_matrix(m_space, m_result.model.core, 1 / m_norm.scale);
    m_space.fence("polyad::tucker");
    return std::move(m_result);
  }

private:
  void allocate(TuckerStart<Scalar, Space> const& start) {
    auto& model = m_result.model;
    for (auto const& U : start) model.factors.push_back(with_packed_rows<Scalar, Space>(m_space, U));
    m_outputs  = make_shared_outputs(m_space, m_tensor, model.factors);
    model.core = make_factor_matrix<Scalar>(m_space, "polyad::tucker_core", m_options.ranks.back(),
                                            m_outputs.back().extent(1));
    for (int n = 0; n < m_order; ++n) {
      auto const own = own_output(n);
      m_vectors.reserve(own.extent(0), own.extent(1), m_options.ranks[n], m_tensor.extents()[n]);
    }
  }
  /// The owned rows of X times the other factors.
  [[nodiscard]] Matrix own_output(int n) const { return m_rows.sum_rows(n, m_outputs[n]); }
  void multiply(int n) {
    auto const& Y = m_outputs[n];
    spttmc(m_space, m_tensor.format(n), m_result.model.factors, n, Y);
    if (m_norm.scale != 1) scale_matrix(m_space, Y, m_norm.scale);
  }
  /// Returns ||G||^2, the last mode's leading squares.
  [[nodiscard]] double update_factors() {
    double captured = 0;
    for (int n = 0; n < m_order; ++n) {
      auto const& U = m_result.model.factors[n];
      multiply(n);
      captured = m_vectors.find(own_output(n), U, n);
      m_rows.gather_rows(n, U);
    }
    return captured;
  }
  void form_core() {
    auto const& core = m_result.model.core;
    auto const workspace =
        m_rows.together([&] { return make_wide_product_workspace(m_space, core.extent(0), core.extent(1)); });
    auto const& last = m_result.model.factors.back();
    wide_transposed_product(m_space, m_rows.owned(m_order - 1, last), own_output(m_order - 1), workspace,
                            core);
    m_rows.sum(core);
    m_space.fence("polyad::tucker");
  }
  [[nodiscard]] SquaredNorms formula_of_start() const {
    double captured = 0;
    for (double const g : to_host<Scalar>(m_space, m_result.model.core)) captured += g * g;
    if (!std::isfinite(captured)) throw NumericalError("the core of the start is not finite");
    return squares_of_formula<Scalar>({m_norm.squared, captured, captured, std::sqrt(captured)}, m_order);
  }

  /// All but the factors.
  [[nodiscard]] io::TuckerCheckpoint state() const {
    io::TuckerCheckpoint state;
    state.precision    = sizeof(Scalar) == sizeof(float) ? "f32" : "f64";
    state.format       = m_tensor.chosen();
    state.seed         = m_seed;
    state.ranks        = m_options.ranks;
    state.nnz          = m_tensor.nnz();
    state.norm_squared = m_tensor.norm_squared();
    state.iteration    = m_iterations;
    state.fit          = m_result.fit;
    auto const& rows   = m_options.rows;
    for (int n = 0; n < m_order; ++n)
      state.extents.push_back(rows.empty() ? m_tensor.extents()[n] : rows[n].extent());
    if (std::ranges::any_of(rows, [](StoredRows const& of_mode) { return of_mode.is_list(); }))
      state.rows = rows;
    return state;
  }

  Space m_space;
  Tensor const& m_tensor;
  TuckerOptions const& m_options;
  std::uint64_t m_seed;  // that of the start; from a checkpoint, on the first rank
  RowDistribution<Scalar, Space>& m_rows;
  StopRule m_rule;
  int m_iterations = 0;  // that have ended, those before a checkpoint included
  Kokkos::Timer m_clock;
  int m_order;
  ScaledNorm m_norm;
  LeadingVectors<Scalar, Space> m_vectors;
  std::vector<Matrix> m_outputs;
  SquaredNorms m_formula;  // the last iteration's
  TuckerResult<Scalar, Space> m_result;
};

template <class Scalar, class Space>
TuckerResult<Scalar, Space> hooi(Space const& space, TensorByRank<Scalar, Space> const& X,
                                 TuckerOptions const& options, TuckerStart<Scalar, Space> const& start,
                                 TuckerCallback const& callback) {
  auto const run_options = run_options_of(options);
  expect_hooi_arguments(X, options, start);
  return RunLoop<Hooi<Scalar, Space>>(run_options, X.rows(), space, X, options, start).run(callback);
}

}  // namespace

template <class Scalar, class Space>
TuckerStart<Scalar, Space> random_tucker_start(Space const& space, Extents const& extents,
                                               TuckerOptions const& options) {
  return random_start<Scalar, Space>(space, options,
                                     std::make_shared<RowDistribution<Scalar, Space>>(space, extents));
}

template <class Scalar, class Index, class Space>
TuckerStart<Scalar, Space> hosvd_tucker_start(Space const& space,
                                              CooTensor<Scalar, Index, Space> const& tensor,
                                              TuckerOptions const& options) {
  expect_stored_ranks(tensor.extents(), options);
  // More columns than needed: the rate of convergence depends on the singular values beyond them.
  count_t const rank =
      *std::max_element(options.ranks.begin(), options.ranks.end()) + options.vectors.oversampling;
  auto const leading = nvecs(space, tensor, rank, {options.seed, 150, 1e-11, options.rows});
  LeadingVectors<Scalar, Space> vectors(space, options.vectors);
  TuckerStart<Scalar, Space> U;
  for (int n = 0; n < tensor.order(); ++n) {
    count_t const columns = options.ranks[n];
    auto const first =
        make_factor_matrix<Scalar>(space, "polyad::tucker_start", tensor.extents()[n], columns);
    FactorMatrix<Scalar, Space> const start =
        Kokkos::subview(leading[n], Kokkos::ALL, Kokkos::make_pair(count_t(0), columns));
    copy_matrix(space, first, start);
    U.push_back(make_factor_matrix<Scalar>(space, "polyad::tucker_factor", tensor.extents()[n], columns));
    vectors.orthonormalize(first, U.back());
  }
  return U;
}

template <class Scalar, class Space>
TuckerResult<Scalar, Space> tucker(Space const& space, AnyFormat<Scalar, Space> const& X,
                                   TuckerOptions const& options, TuckerStart<Scalar, Space> const& start,
                                   TuckerCallback const& callback) {
  return tucker(space, X, options, copied<Scalar, Space>(space, start), callback);
}

template <class Scalar, class Space>
TuckerResult<Scalar, Space> tucker(Space const& space, AnyFormat<Scalar, Space> const& X,
                                   TuckerOptions const& options, TuckerStart<Scalar, Space>&& start,
                                   TuckerCallback const& callback) {
  return hooi(space, TensorByRank<Scalar, Space>(space, X), options, start, callback);
}

template <class Scalar, class Space>
TuckerResult<Scalar, Space> tucker(Space const& space, TensorByRank<Scalar, Space> const& X,
                                   TuckerOptions const& options, TuckerCallback const& callback) {
  return hooi(space, X, options, random_start<Scalar, Space>(space, options, X.rows()), callback);
}

AnyFormatOptions format_options(TuckerOptions const& options) {
  AnyFormatOptions format;
  format.iterations = options.max_iterations;
  format.needs      = {Capability::ttmc};
  return format;
}

template <class Scalar, class Space>
TuckerResult<Scalar, Space> tucker(Space const& space, AnyFormat<Scalar, Space> const& X,
                                   TuckerOptions const& options, TuckerCallback const& callback) {
  return tucker(space, TensorByRank<Scalar, Space>(space, X), options, callback);
}

#define POLYAD_TUCKER(Scalar)                                                                           \
  template TuckerStart<Scalar, CompiledSpace> random_tucker_start(CompiledSpace const&, Extents const&, \
                                                                  TuckerOptions const&);                \
  template TuckerResult<Scalar, CompiledSpace> tucker(                                                  \
      CompiledSpace const&, AnyFormat<Scalar, CompiledSpace> const&, TuckerOptions const&,              \
      TuckerStart<Scalar, CompiledSpace> const&, TuckerCallback const&);                                \
  template TuckerResult<Scalar, CompiledSpace> tucker(                                                  \
      CompiledSpace const&, AnyFormat<Scalar, CompiledSpace> const&, TuckerOptions const&,              \
      TuckerStart<Scalar, CompiledSpace>&&, TuckerCallback const&);                                     \
  template TuckerResult<Scalar, CompiledSpace> tucker(CompiledSpace const&,                             \
                                                      AnyFormat<Scalar, CompiledSpace> const&,          \
                                                      TuckerOptions const&, TuckerCallback const&);     \
  template TuckerResult<Scalar, CompiledSpace> tucker(CompiledSpace const&,                             \
                                                      TensorByRank<Scalar, CompiledSpace> const&,       \
                                                      TuckerOptions const&, TuckerCallback const&)
#define POLYAD_HOSVD_TUCKER_START(Scalar, Index)                  \
  template TuckerStart<Scalar, CompiledSpace> hosvd_tucker_start( \
      CompiledSpace const&, CooTensor<Scalar, Index, CompiledSpace> const&, TuckerOptions const&)
POLYAD_EACH_SCALAR(, POLYAD_TUCKER);
POLYAD_EACH_SCALAR_AND_INDEX(, POLYAD_HOSVD_TUCKER_START);

}  // namespace polyad
