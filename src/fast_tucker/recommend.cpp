// SPDX-License-Identifier: BSD-3-Clause
#include "polyad/fast_tucker/recommend.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "dense/intermediates.hpp"
#include "fast_tucker/interaction_metric.hpp"
#include "fast_tucker/seen_rows.hpp"
#include "fast_tucker/select_best.hpp"
#include "kernel/launch_shape.hpp"
#include "polyad/core/instances.hpp"
#include "polyad/kernel/machine.hpp"
#include "tensor/coordinates_inside.hpp"

namespace polyad {

using namespace detail;
namespace {

template <class Space>
using Numbers = Kokkos::View<count_t*, typename Space::device_type>;
template <class Space>
using Doubles = Kokkos::View<double*, typename Space::device_type>;

using Mark = ObservedRows::value_type::value_type;

/// The rows of a mode: 0 if the training set has no entries of one. Without elements, it has some of every
/// row.
template <class Space>
using Observed = Kokkos::View<Mark const*, typename Space::device_type>;

/// Copies what is said of mode n to the device. Waits.
template <class Space>
Observed<Space> observed_of(Space const& space, ObservedRows const& observed, int n) {
  if (observed.empty() || of_mode(observed, n).empty()) return {};
  auto const& rows = of_mode(observed, n);
  Kokkos::View<Mark*, typename Space::device_type> const copy(
      Kokkos::view_alloc(space, Kokkos::WithoutInitializing, "polyad::observed_rows"), rows.size());
  Kokkos::deep_copy(
      space, copy,
      Kokkos::View<Mark const*, Kokkos::HostSpace, Kokkos::MemoryUnmanaged>(rows.data(), rows.size()));
  space.fence("polyad::observed_rows");
  return copy;
}

/// \throws UsageError unless nothing is said, or something of all rows of each mode
template <class Scalar, class Space>
void expect_observed_fits(FastTuckerModel<Scalar, Space> const& model, ObservedRows const& observed) {
  if (observed.empty()) return;
  POLYAD_EXPECTS(observed.size() == static_cast<std::size_t>(model.order()), "it is said of ",
                 observed.size(), " modes which rows were observed, but the model has ", model.order());
  for (int n = 0; n < model.order(); ++n)
    POLYAD_EXPECTS(of_mode(observed, n).empty() || of_mode(observed, n).size() == model.extents()[n],
                   "it is said of ", of_mode(observed, n).size(), " rows of mode ", n,
                   " whether they were observed, but the model has ", model.extents()[n]);
}

/// Whether row k of mode n has entries, as far as it is known. The row is one of the mode's.
bool is_observed(ObservedRows const& observed, int n, count_t k) {
  return observed.empty() || of_mode(observed, n).empty() || of_mode(observed, n)[k] != 0;
}

/// How many of the rows of mode n have entries, at least 1.
count_t observed_count(ObservedRows const& observed, int n, count_t extent) {
  if (observed.empty() || of_mode(observed, n).empty()) return extent;
  auto const& rows = of_mode(observed, n);
  return std::max<count_t>(rows.size() - static_cast<count_t>(std::count(rows.begin(), rows.end(), 0)), 1);
}

/// Marks the rows of a mode that occur, and counts the nonzeros whose index is outside.
template <class Index, class Space>
struct MarkObserved {
  Kokkos::View<Index**, Kokkos::LayoutRight, typename Space::device_type> indices;
  int mode;
  Kokkos::View<std::uint32_t*, typename Space::device_type> marks;
  KOKKOS_FUNCTION void operator()(count_t p, count_t& outside) const {
    count_t const row = indices(p, mode);
    if (row >= marks.extent(0))
      ++outside;
    else
      Kokkos::atomic_store(&marks(row), std::uint32_t(1));  // other nonzeros of the row store the same
  }
};

/// products(q, k) = -infinity for rows that have no entries: they are not ranked.
template <class Scalar, class Space>
struct LeaveOutEmpty {
  FactorMatrix<Scalar, Space> products;  // Q x K
  Observed<Space> observed;
  count_t first;
  KOKKOS_FUNCTION void operator()(count_t k) const {
    if (observed(first + k) != 0) return;
    for (count_t q = 0; q < products.extent(0); ++q)
      products(q, k) = -Kokkos::Experimental::infinity_v<Scalar>;
  }
};

/// A team a column: mean(j) over the rows of a matrix that have entries, `count` of them.
template <class Scalar, class Space>
struct MeanOfRows {
  Scalar const* matrix;
  count_t stride;
  count_t rows;
  Observed<Space> observed;
  count_t count;
  Doubles<Space> mean;
  template <class Member>
  KOKKOS_FUNCTION void operator()(Member const& member) const {
    auto const j = static_cast<count_t>(member.league_rank());
    double total = 0;
    Kokkos::parallel_reduce(
        Kokkos::TeamThreadRange(member, rows),
        [&](count_t const i, double& sum) {
          if (observed.extent(0) == 0 || observed(i) != 0) sum += static_cast<double>(matrix[i * stride + j]);
        },
        total);
    Kokkos::single(Kokkos::PerTeam(member), [&] { mean(j) = total / static_cast<double>(count); });
  }
};

/// rows(q, :) = the query's row of A: the mean of all, or zeros where the mode has no such row.
template <class Scalar, class Space>
struct TakeRows {
  Numbers<Space> indices;  // of the batch's queries: number i of each
  count_t stride;          // numbers of a query
  count_t position;        // i
  FactorMatrix<Scalar, Space> A;
  Doubles<Space> mean;
  FactorMatrix<Scalar, Space> rows;
  KOKKOS_FUNCTION void operator()(count_t i) const {
    count_t const q     = i / A.extent(1);
    count_t const j     = i % A.extent(1);
    count_t const index = indices(q * stride + position);
    rows(q, j)          = index < A.extent(0)  ? A(index, j)
                          : index == every_row ? static_cast<Scalar>(mean(j))
                                               : Scalar(0);
  }
};

template <class Scalar, class Space>
struct AddBiases {
  Numbers<Space> indices;
  count_t stride;
  count_t position;
  BiasVector<Scalar, Space> bias;
  Doubles<Space> mean;
  Doubles<Space> base;
  KOKKOS_FUNCTION void operator()(count_t q) const {
    count_t const index = indices(q * stride + position);
    if (index < bias.extent(0))
      base(q) += static_cast<double>(bias(index));
    else if (index == every_row)
      base(q) += mean(0);
  }
};

/// The bins of a mode's drift.
template <class Space>
struct TimeBins {
  Doubles<Space> shares;  // for each bin, the share that it has of all times with entries
  count_t times;
  /// The share of bin b in a query's time. It is 0 or 1 for one time, and the bin's share for every_row.
  [[nodiscard]] KOKKOS_FUNCTION double share(count_t time, count_t b) const {
    if (time == every_row) return shares(b);
    return time_bin(time, shares.extent(0), times) == b ? 1 : 0;
  }
};

/// The bins of mode n's drift. Waits.
template <class Scalar, class Space>
TimeBins<Space> time_bins(Space const& space, FastTuckerModel<Scalar, Space> const& model,
                          ObservedRows const& observed, int n) {
  count_t const times = model.extents()[model.time_mode], bins = model.drift(n).extent(1);
  std::vector<double> shares(bins, 0);
  for (count_t t = 0; t < times; ++t)
    if (is_observed(observed, model.time_mode, t)) shares[time_bin(t, bins, times)] += 1;
  for (double& share : shares) share /= static_cast<double>(observed_count(observed, model.time_mode, times));
  Doubles<Space> const copy("polyad::shares_of_bins", bins);
  Kokkos::deep_copy(
      space, copy,
      Kokkos::View<double const*, Kokkos::HostSpace, Kokkos::MemoryUnmanaged>(shares.data(), bins));
  space.fence("polyad::shares_of_bins");
  return {copy, times};
}

/// The queries of a batch: `stride` indices each.
template <class Space>
struct QueryIndices {
  Numbers<Space> indices;
  count_t stride;
  [[nodiscard]] KOKKOS_FUNCTION count_t at(count_t q, count_t position) const {
    return indices(q * stride + position);
  }
};

/// The drift of a row's biases, or of the mean row's; 0 for a row that the mode does not have.
template <class Scalar, class Space>
struct RowDrift {
  FactorMatrix<Scalar, Space> drift;
  Doubles<Space> mean;
  [[nodiscard]] KOKKOS_FUNCTION double at(count_t row, count_t b) const {
    return row < drift.extent(0) ? static_cast<double>(drift(row, b)) : row == every_row ? mean(b) : 0;
  }
};

/// base(q) += the drift of the query's row at the query's time.
template <class Scalar, class Space>
struct AddDrifts {
  QueryIndices<Space> queries;
  count_t position;
  count_t position_of_time;
  RowDrift<Scalar, Space> drifts;
  TimeBins<Space> time;
  Doubles<Space> base;
  KOKKOS_FUNCTION void operator()(count_t q) const {
    count_t const bins = drifts.drift.extent(1);
    for (count_t b = 0; b < bins; ++b)
      base(q) += time.share(queries.at(q, position_of_time), b) * drifts.at(queries.at(q, position), b);
  }
};

/// The drifts of the ranked mode enter the scores as a product: the rows' drifts times the shares of the
/// bins.
template <class Scalar, class Space>
struct TakeShares {
  QueryIndices<Space> queries;
  count_t position_of_time;
  TimeBins<Space> time;
  FactorMatrix<Scalar, Space> shares;  // Q x bins
  KOKKOS_FUNCTION void operator()(count_t i) const {
    count_t const bins = shares.extent(1);
    shares(i / bins, i % bins) =
        static_cast<Scalar>(time.share(queries.at(i / bins, position_of_time), i % bins));
  }
};

/// If times are ranked, the part of the drifts is a product of the query's drifts and the bins of the times.
template <class Scalar, class Space>
struct TakeDrifts {
  QueryIndices<Space> queries;
  count_t position;
  RowDrift<Scalar, Space> drifts;
  FactorMatrix<Scalar, Space> taken;  // Q x bins
  KOKKOS_FUNCTION void operator()(count_t i) const {
    count_t const bins        = taken.extent(1);
    taken(i / bins, i % bins) = static_cast<Scalar>(drifts.at(queries.at(i / bins, position), i % bins));
  }
};

/// turned(b, k): the drift of row first + k in bin b; if times are ranked, whether time first + k lies in bin
/// b.
template <class Scalar, class Space>
struct TurnDrifts {
  FactorMatrix<Scalar, Space> drift;  // of the ranked mode
  bool ranks_times;
  count_t first;
  count_t times;
  FactorMatrix<Scalar, Space> turned;  // bins x K
  KOKKOS_FUNCTION void operator()(count_t k) const {
    count_t const bins = turned.extent(0);
    for (count_t b = 0; b < bins; ++b)
      turned(b, k) = !ranks_times                            ? drift(first + k, b)
                     : time_bin(first + k, bins, times) == b ? Scalar(1)
                                                             : Scalar(0);
  }
};

/// Columns of the products for drifts: the bins of the ranked mode or, if times are ranked, of all other
/// modes.
template <class Scalar, class Space>
count_t drift_columns(FastTuckerModel<Scalar, Space> const& model, int mode) {
  if (model.time_mode < 0) return 0;
  if (mode != model.time_mode) return model.drift(mode).extent(1);
  count_t columns = 0;
  for (int n = 0; n < model.order(); ++n) columns += n == mode ? 0 : model.drift(n).extent(1);
  return columns;
}

template <class Scalar, class Space>
struct MultiplyEntries {
  FactorMatrix<Scalar, Space> by;
  FactorMatrix<Scalar, Space> product;
  KOKKOS_FUNCTION void operator()(count_t i) const {
    product(i / by.extent(1), i % by.extent(1)) *= by(i / by.extent(1), i % by.extent(1));
  }
};

/// Turned(r, k) = C(k, r), of rows that are scaled to length 1 where cosines are asked for.
template <class Scalar, class Space>
struct TurnRows {
  FactorMatrix<Scalar, Space> C;
  FactorMatrix<Scalar, Space> turned;
  bool unit_rows;
  KOKKOS_FUNCTION void operator()(count_t k) const {
    double scale = 1;
    if (unit_rows) {
      double largest = 0, squares = 0;  // scaled by the largest, squares cannot overflow
      for (count_t r = 0; r < C.extent(1); ++r)
        largest = Kokkos::max(largest, Kokkos::abs(static_cast<double>(C(k, r))));
      for (count_t r = 0; r < C.extent(1) && largest > 0; ++r) {
        double const c = static_cast<double>(C(k, r)) / largest;
        squares += c * c;
      }
      scale = squares > 0 ? 1 / Kokkos::sqrt(squares) : 0;
      for (count_t r = 0; r < C.extent(1); ++r)
        turned(r, k) =
            largest > 0 ? static_cast<Scalar>(static_cast<double>(C(k, r)) / largest * scale) : Scalar(0);
      return;
    }
    for (count_t r = 0; r < C.extent(1); ++r) turned(r, k) = C(k, r);
  }
};

/// How much is scored at a time.
struct Blocks {
  count_t rows;     // K
  count_t queries;  // of a batch
  count_t groups;   // lists of a query
};

/// Scores at a time: some 64 MiB of floats on a device; on a host, what fits its second-level caches.
template <class Space>
count_t scores_at_a_time(Space const& space) {
  return items_per_thread<Space>(count_t(1) << 17, count_t(1) << 16) * multiprocessors(space);
}

template <class Space>
Blocks choose_blocks(Space const& space, count_t rows, count_t queries, count_t rank, count_t wanted,
                     RankingOptions const& options) {
  Blocks blocks{options.rows_at_a_time, options.queries_at_a_time, 1};
  count_t const most = scores_at_a_time(space);
  if (blocks.queries == 0) blocks.queries = std::clamp<count_t>(most / 4 / wanted, 1, 256);
  blocks.queries = std::min(blocks.queries, queries);
  // A block's rows of C are stored twice, the second time by columns.
  if (blocks.rows == 0) blocks.rows = std::clamp<count_t>(most / (blocks.queries + 2 * rank), 1024, 1 << 19);
  blocks.rows = std::min({blocks.rows, rows, (count_t(1) << 20) - 1});
  // Each list has a team. If there are too few queries to fill the machine, a query gets several lists of at
  // least 1024 columns.
  count_t const teams = items_per_thread<Space>(4, 2) * multiprocessors(space);
  if (wanted <= 1024)
    blocks.groups = std::clamp<count_t>(teams / blocks.queries, 1, std::max<count_t>(blocks.rows / 1024, 1));
  return blocks;
}

template <class Space, class View>
auto to_host_copy(Space const& space, View const& view) {
  auto const host = Kokkos::create_mirror_view(Kokkos::HostSpace(), view);
  Kokkos::deep_copy(space, host, view);
  return host;
}

/// Ranks the rows of a mode by their scores, one batch of queries at a time.
template <class Scalar, class Space>
class Ranking {
public:
  Ranking(Space const& space, FastTuckerModel<Scalar, Space> const& model, int mode, count_t queries,
          RankingOptions const& options, bool cosines)
      : m_space(space),
        m_model(model),
        m_mode(mode),
        m_cosines(cosines),
        m_observed(observed_of(space, options.observed, mode)),
        m_wanted(std::min(options.count, model.extents()[mode])),
        m_blocks(choose_blocks(space, model.extents()[mode], queries, model.rank(),
                               std::max<count_t>(m_wanted, 1), options)) {
    count_t const R = model.rank(), K = m_blocks.rows, Q = m_blocks.queries;
    count_t const columns = R + (cosines ? 0 : drift_columns(model, mode));
    weights               = make_factor_matrix<Scalar>(space, "polyad::query_weights", Q, columns);
    m_C                   = make_factor_matrix<Scalar>(space, "polyad::scored_rows", K, R);
    m_turned              = make_factor_matrix<Scalar>(space, "polyad::turned_rows", columns, K);
    m_products            = make_factor_matrix<Scalar>(space, "polyad::scores", Q, K);
    base                  = Doubles<Space>("polyad::query_base", Q);
    expect_fits(space, "the columns that are kept", checked_product("the columns that are kept", Q, K),
                sizeof(std::uint32_t));
    m_kept = decltype(m_kept)(Kokkos::view_alloc(space, Kokkos::WithoutInitializing, "polyad::kept_columns"),
                              Q, K);
    m_not_finite        = decltype(m_not_finite)("polyad::not_finite");
    count_t const lists = Q * m_blocks.groups;
    for (auto* best : {&m_best, &m_next}) {
      expect_fits(space, "the best rows", checked_product("the best rows", lists, m_wanted),
                  sizeof(double) + sizeof(count_t));
      best->scores = decltype(best->scores)(
          Kokkos::view_alloc(space, Kokkos::WithoutInitializing, "polyad::best_scores"), lists, m_wanted);
      best->rows = decltype(best->rows)(
          Kokkos::view_alloc(space, Kokkos::WithoutInitializing, "polyad::best_rows"), lists, m_wanted);
      best->counts = decltype(best->counts)("polyad::best_counts", lists);
    }
  }

  [[nodiscard]] Blocks const& blocks() const { return m_blocks; }
  [[nodiscard]] FactorMatrix<Scalar, Space> first_rows(FactorMatrix<Scalar, Space> const& matrix,
                                                       count_t rows) const {
    return Kokkos::subview(matrix, Kokkos::make_pair(count_t(0), rows), Kokkos::ALL);
  }

  /// Appends the best rows of the queries whose weights and bases stand in `weights` and `base`. Waits.
  void rank(count_t first_query, count_t queries, SeenRows<Space> const& seen, ValueRange range,
            Rankings& result) {
    Kokkos::deep_copy(m_space, m_best.counts, count_t(0));
    count_t const rows = m_model.extents()[m_mode];
    for (count_t first = 0; first < rows; first += m_blocks.rows)
      score(first, std::min(m_blocks.rows, rows - first), first_query, queries, seen);
    collect(queries, range, result);
  }

  FactorMatrix<Scalar, Space> weights;  // Q x R
  Doubles<Space> base;                  // Q

private:
  void score(count_t first, count_t columns, count_t first_query, count_t queries,
             SeenRows<Space> const& seen) {
    auto const C = first_rows(m_C, columns);
    FactorMatrix<Scalar, Space> const A =
        Kokkos::subview(m_model.A(m_mode), Kokkos::make_pair(first, first + columns), Kokkos::ALL);
    FactorMatrix<Scalar, Space> const turned =
        Kokkos::subview(m_turned, Kokkos::ALL, Kokkos::make_pair(count_t(0), columns));
    FactorMatrix<Scalar, Space> const products = Kokkos::subview(
        m_products, Kokkos::make_pair(count_t(0), queries), Kokkos::make_pair(count_t(0), columns));
    intermediates(m_space, A, m_model.B(m_mode), C);
    Kokkos::parallel_for("polyad::turn_rows",
                         Kokkos::RangePolicy<Space, Kokkos::IndexType<count_t>>(m_space, 0, columns),
                         TurnRows<Scalar, Space>{C, turned, m_cosines});
    if (weights.extent(1) > m_model.rank()) turn_drifts(first, columns);
    multiply_rows(m_space, first_rows(weights, queries), turned, products);
    if (m_observed.extent(0) > 0)
      Kokkos::parallel_for("polyad::leave_out_empty",
                           Kokkos::RangePolicy<Space, Kokkos::IndexType<count_t>>(m_space, 0, columns),
                           LeaveOutEmpty<Scalar, Space>{products, m_observed, first});
    if (seen.rows.extent(0) > 0)
      Kokkos::parallel_for("polyad::leave_out", team_policy(m_space, launch_shape<Space>(queries, 128, 1)),
                           LeaveOut<Space, Scalar>{products, seen, first_query, first, columns});
    using Kernel = SelectBest<Space, Scalar>;
    Kernel kernel{products,
                  base.data(),
                  m_model.has_biases() && !m_cosines ? m_model.bias(m_mode).data() : nullptr,
                  first,
                  columns,
                  m_blocks.groups,
                  ceil_div(columns, m_blocks.groups),
                  m_wanted,
                  m_best,
                  m_next,
                  m_kept,
                  m_not_finite};
    auto policy = team_policy(m_space, launch_shape<Space>(queries * m_blocks.groups, 256, 1));
    policy.set_scratch_size(
        0, Kokkos::PerTeam(static_cast<int>(sizeof(typename Kernel::Pad) + alignof(typename Kernel::Pad))));
    Kokkos::parallel_for("polyad::select_best", policy, kernel);
    std::swap(m_best, m_next);
  }

  void turn_drifts(count_t first, count_t columns) const {
    int const time      = m_model.time_mode;
    bool const of_times = m_mode == time;
    count_t row         = m_model.rank();
    for (int n = 0; n < m_model.order(); ++n) {
      count_t const bins = m_model.drift(n).extent(1);
      if (bins == 0 || (of_times ? n == m_mode : n != m_mode)) continue;
      FactorMatrix<Scalar, Space> const turned = Kokkos::subview(m_turned, Kokkos::make_pair(row, row + bins),
                                                                 Kokkos::make_pair(count_t(0), columns));
      Kokkos::parallel_for(
          "polyad::turn_drifts", Kokkos::RangePolicy<Space, Kokkos::IndexType<count_t>>(m_space, 0, columns),
          TurnDrifts<Scalar, Space>{m_model.drift(n), of_times, first, m_model.extents()[time], turned});
      row += bins;
    }
  }

  void collect(count_t queries, ValueRange range, Rankings& result) const {
    auto const scores     = to_host_copy(m_space, m_best.scores);
    auto const rows       = to_host_copy(m_space, m_best.rows);
    auto const counts     = to_host_copy(m_space, m_best.counts);
    auto const not_finite = to_host_copy(m_space, m_not_finite);
    m_space.fence("polyad::rank");
    if (not_finite() != 0)
      throw NumericalError("a prediction is not finite: the model's numbers are too large");
    std::vector<std::pair<double, count_t>> best;
    for (count_t q = 0; q < queries; ++q) {
      best.clear();
      for (count_t l = q * m_blocks.groups; l < (q + 1) * m_blocks.groups; ++l)
        for (count_t i = 0; i < counts(l); ++i) best.emplace_back(scores(l, i), rows(l, i));
      std::sort(best.begin(), best.end(), [](auto const& a, auto const& b) {
        return a.first != b.first ? a.first > b.first : a.second < b.second;
      });
      if (best.size() > m_wanted) best.resize(m_wanted);
      for (auto const& [score, row] : best) {
        result.rows.push_back(row);
        result.scores.push_back(std::min(std::max(score, range.lowest), range.highest));
      }
      result.starts.push_back(result.rows.size());
    }
  }

  Space m_space;
  FastTuckerModel<Scalar, Space> m_model;
  int m_mode;
  bool m_cosines;
  Observed<Space> m_observed;
  count_t m_wanted;
  Blocks m_blocks;
  FactorMatrix<Scalar, Space> m_C;         // K x R
  FactorMatrix<Scalar, Space> m_turned;    // R x K
  FactorMatrix<Scalar, Space> m_products;  // Q x K
  Kokkos::View<std::uint32_t**, Kokkos::LayoutRight, typename Space::device_type> m_kept;
  Kokkos::View<int, typename Space::device_type> m_not_finite;
  BestLists<Space> m_best, m_next;
};

template <class Scalar, class Space>
Doubles<Space> mean_of_rows(Space const& space, Scalar const* matrix, count_t stride, count_t rows,
                            Observed<Space> const& observed, count_t count, count_t columns) {
  Doubles<Space> const mean("polyad::mean_row", columns);
  Kokkos::parallel_for("polyad::mean_of_rows", team_policy(space, launch_shape<Space>(columns, 256, 1)),
                       MeanOfRows<Scalar, Space>{matrix, stride, rows, observed, count, mean});
  return mean;
}

/// The products of the other modes' rows of C, and the biases, for one batch of queries at a time.
template <class Scalar, class Space>
class QueryWeights {
public:
  QueryWeights(Space const& space, FastTuckerModel<Scalar, Space> const& model, int mode, count_t batch,
               ObservedRows const& observed)
      : m_space(space), m_model(model), m_mode(mode) {
    m_factors = make_factor_matrix<Scalar>(space, "polyad::query_factors", batch, model.rank());
    for (int n = 0; n < model.order(); ++n) {
      if (n == mode) continue;
      auto const& A      = model.A(n);
      of_mode(m_rows, n) = make_factor_matrix<Scalar>(space, "polyad::query_rows", batch, A.extent(1));
      auto const of_rows = observed_of(space, observed, n);
      auto const mean_of = [&](Scalar const* matrix, count_t stride, count_t columns) {
        return mean_of_rows<Scalar>(space, matrix, stride, A.extent(0), of_rows,
                                    observed_count(observed, n, A.extent(0)), columns);
      };
      of_mode(m_mean_row, n) = mean_of(A.data(), static_cast<count_t>(A.stride(0)), A.extent(1));
      if (model.has_biases()) of_mode(m_mean_bias, n) = mean_of(model.bias(n).data(), 1, 1);
      auto const& drift = model.drift(n);
      if (drift.extent(1) > 0)
        of_mode(m_mean_drift, n) =
            mean_of(drift.data(), static_cast<count_t>(drift.stride(0)), drift.extent(1));
    }
    for (int n = 0; n < model.order() && model.time_mode >= 0; ++n)
      if (model.drift(n).extent(1) > 0) of_mode(m_bins, n) = time_bins(space, model, observed, n);
  }

  /// Waits for the upload of the indices, and for its kernels: they read the indices.
  void form(std::vector<count_t> const& indices, FactorMatrix<Scalar, Space> const& weights,
            Doubles<Space> const& base) const {
    auto const on_device = numbers_from(m_space, "polyad::queries", indices);
    auto const width     = static_cast<count_t>(m_model.order() - 1);
    count_t const Q      = indices.size() / width;
    auto const range     = [&](count_t end) {
      return Kokkos::RangePolicy<Space, Kokkos::IndexType<count_t>>(m_space, 0, end);
    };
    auto const first = [&](FactorMatrix<Scalar, Space> const& matrix) -> FactorMatrix<Scalar, Space> {
      return Kokkos::subview(matrix, Kokkos::make_pair(count_t(0), Q), Kokkos::ALL);
    };
    FactorMatrix<Scalar, Space> const products =
        Kokkos::subview(weights, Kokkos::ALL, Kokkos::make_pair(count_t(0), m_model.rank()));
    Kokkos::deep_copy(m_space, base, m_model.mean);
    count_t position = 0;
    for (int n = 0; n < m_model.order(); ++n) {
      if (n == m_mode) continue;
      auto const& A   = m_model.A(n);
      auto const rows = first(of_mode(m_rows, n));
      Kokkos::parallel_for(
          "polyad::take_rows", range(Q * A.extent(1)),
          TakeRows<Scalar, Space>{on_device, width, position, A, of_mode(m_mean_row, n), rows});
      intermediates(m_space, rows, m_model.B(n), first(position == 0 ? products : m_factors));
      if (position > 0)
        Kokkos::parallel_for("polyad::query_weights", range(Q * m_model.rank()),
                             MultiplyEntries<Scalar, Space>{m_factors, products});
      if (m_model.has_biases())
        Kokkos::parallel_for("polyad::query_biases", range(Q),
                             AddBiases<Scalar, Space>{on_device, width, position, m_model.bias(n),
                                                      of_mode(m_mean_bias, n), base});
      ++position;
    }
    if (m_model.time_mode >= 0) form_drifts({on_device, width}, Q, weights, base);
    m_space.fence("polyad::query_weights");  // the indices go
  }

private:
  /// A mode's place among the indices of a query.
  [[nodiscard]] count_t position_of(int n) const { return static_cast<count_t>(n < m_mode ? n : n - 1); }

  /// The drifts: added to the base if they are the same for all rows, otherwise as columns of the weights.
  void form_drifts(QueryIndices<Space> const& queries, count_t Q, FactorMatrix<Scalar, Space> const& weights,
                   Doubles<Space> const& base) const {
    int const time      = m_model.time_mode;
    bool const of_times = m_mode == time;
    count_t column      = m_model.rank();
    auto const range    = [&](count_t end) {
      return Kokkos::RangePolicy<Space, Kokkos::IndexType<count_t>>(m_space, 0, end);
    };
    for (int n = 0; n < m_model.order(); ++n) {
      auto const& drift  = m_model.drift(n);
      count_t const bins = drift.extent(1);
      if (bins == 0) continue;
      RowDrift<Scalar, Space> const drifts{drift, of_mode(m_mean_drift, n)};
      if (!of_times && n != m_mode) {
        Kokkos::parallel_for("polyad::query_drifts", range(Q),
                             AddDrifts<Scalar, Space>{queries, position_of(n), position_of(time), drifts,
                                                      of_mode(m_bins, n), base});
        continue;
      }
      FactorMatrix<Scalar, Space> const columns = Kokkos::subview(weights, Kokkos::make_pair(count_t(0), Q),
                                                                  Kokkos::make_pair(column, column + bins));
      if (of_times)
        Kokkos::parallel_for("polyad::query_drifts", range(Q * bins),
                             TakeDrifts<Scalar, Space>{queries, position_of(n), drifts, columns});
      else
        Kokkos::parallel_for(
            "polyad::query_drifts", range(Q * bins),
            TakeShares<Scalar, Space>{queries, position_of(time), of_mode(m_bins, n), columns});
      column += bins;
    }
  }

  Space m_space;
  FastTuckerModel<Scalar, Space> m_model;
  int m_mode;
  FactorMatrix<Scalar, Space> m_factors;
  std::array<FactorMatrix<Scalar, Space>, max_order> m_rows;
  std::array<Doubles<Space>, max_order> m_mean_row;
  std::array<Doubles<Space>, max_order> m_mean_bias;
  std::array<Doubles<Space>, max_order> m_mean_drift;
  std::array<TimeBins<Space>, max_order> m_bins;
};

template <class Scalar, class Space>
void expect_ranking(FastTuckerModel<Scalar, Space> const& model, int mode, RankingOptions const& options) {
  POLYAD_EXPECTS(mode >= 0 && mode < model.order(), "mode ", mode, " of a model of ", model.order(),
                 " modes, which count from 0");
  POLYAD_EXPECTS(options.count >= 1 && options.count <= count_t(1) << 31, options.count,
                 " rows are wanted of each query: 1 to 2^31");
  expect_observed_fits(model, options.observed);
}

}  // namespace

template <class Scalar, class Index, class Space>
Rankings recommend(Space const& space, FastTuckerModel<Scalar, Space> const& model, int mode,
                   std::span<count_t const> queries, RankingOptions const& options,
                   CooTensor<Scalar, Index, Space> const& seen) {
  expect_ranking(model, mode, options);
  auto const width = static_cast<std::size_t>(model.order() - 1);
  POLYAD_EXPECTS(queries.size() % width == 0, queries.size(), " indices for queries of ", width, " each");
  POLYAD_EXPECTS(seen.nnz() == 0 || seen.order() == model.order(), "entries of order ", seen.order(),
                 " were seen, but the model has ", model.order(), " modes");
  expect_coordinates_inside(space, seen);
  Rankings result;
  result.starts.push_back(0);
  count_t const Q = queries.size() / width;
  if (Q == 0) return result;
  for (count_t q = 0; q < Q; ++q) {
    bool unknown = false;
    for (std::size_t m = 0; m < width; ++m) {
      count_t const index = queries[q * width + m];
      int const n         = static_cast<int>(m) + (static_cast<int>(m) < mode ? 0 : 1);
      unknown = unknown || (index != every_row &&
                            (index >= model.extents()[n] || !is_observed(options.observed, n, index)));
    }
    result.unknown += unknown ? 1 : 0;
  }
  Ranking<Scalar, Space> ranking(space, model, mode, Q, options, false);
  count_t const batch = ranking.blocks().queries;
  QueryWeights<Scalar, Space> const weights(space, model, mode, batch, options.observed);
  SeenRows<Space> left_out;
  if (seen.nnz() > 0) left_out = find_seen(space, seen, mode, model.extents()[mode], queries);
  for (count_t first = 0; first < Q; first += batch) {
    count_t const count = std::min(batch, Q - first);
    auto const begin    = queries.begin() + static_cast<std::ptrdiff_t>(first * width);
    weights.form(std::vector<count_t>(begin, begin + static_cast<std::ptrdiff_t>(count * width)),
                 ranking.weights, ranking.base);
    // What is ranked is what is returned: clipped, the best ones would all be the largest value.
    ranking.rank(first, count, left_out, ValueRange(), result);
  }
  return result;
}

template <class Scalar, class Space>
Rankings similar(Space const& space, FastTuckerModel<Scalar, Space> const& given, int mode,
                 std::span<count_t const> rows, RankingOptions const& options) {
  expect_ranking(given, mode, options);
  Rankings result;
  result.starts.push_back(0);
  auto const& A = given.A(mode);
  for (count_t const row : rows)
    POLYAD_EXPECTS(row < A.extent(0), "row ", row, " of mode ", mode, ", which has ", A.extent(0), " rows");
  if (rows.empty()) return result;
  auto const model = with_interaction_metric(space, given, mode);
  Ranking<Scalar, Space> ranking(space, model, mode, rows.size(), options, true);
  count_t const batch = ranking.blocks().queries;
  auto const own      = make_factor_matrix<Scalar>(space, "polyad::query_rows", batch, A.extent(1));
  auto const C        = make_factor_matrix<Scalar>(space, "polyad::query_factors", batch, model.rank());
  auto const by_rows  = make_factor_matrix<Scalar>(space, "polyad::query_turned", model.rank(), batch);
  for (count_t first = 0; first < rows.size(); first += batch) {
    count_t const count = std::min<count_t>(batch, rows.size() - first);
    std::vector<count_t> indices(rows.begin() + static_cast<std::ptrdiff_t>(first),
                                 rows.begin() + static_cast<std::ptrdiff_t>(first + count));
    auto const on_device = numbers_from(space, "polyad::queries", indices);
    auto const range     = [&](count_t end) {
      return Kokkos::RangePolicy<Space, Kokkos::IndexType<count_t>>(space, 0, end);
    };
    Kokkos::parallel_for("polyad::take_rows", range(count * A.extent(1)),
                         TakeRows<Scalar, Space>{on_device, 1, 0, A, Doubles<Space>(), own});
    intermediates(space, ranking.first_rows(own, count), model.B(mode), ranking.first_rows(C, count));
    // Turned twice: the first turn scales the rows.
    FactorMatrix<Scalar, Space> const turned =
        Kokkos::subview(by_rows, Kokkos::ALL, Kokkos::make_pair(count_t(0), count));
    Kokkos::parallel_for("polyad::turn_rows", range(count),
                         TurnRows<Scalar, Space>{ranking.first_rows(C, count), turned, true});
    Kokkos::parallel_for("polyad::turn_rows", range(model.rank()),
                         TurnRows<Scalar, Space>{turned, ranking.weights, false});
    // A query has seen its own row.
    SeenRows<Space> seen;
    std::vector<count_t> starts(count + 1);
    for (count_t q = 0; q <= count; ++q) starts[q] = q;
    seen.rows   = on_device;
    seen.starts = numbers_from(space, "polyad::seen_starts", starts);
    starts.pop_back();
    seen.slots = numbers_from(space, "polyad::seen_slots", starts);
    ranking.rank(0, count, seen, {-1, 1}, result);
  }
  return result;
}

template <class Scalar, class Index, class Space>
ObservedRows observed_rows(Space const& space, CooTensor<Scalar, Index, Space> const& X) {
  using Marks = Kokkos::View<std::uint32_t*, typename Space::device_type>;
  ObservedRows observed(static_cast<std::size_t>(X.order()));
  bool some_are_empty = false;
  for (int n = 0; n < X.order(); ++n) {
    expect_fits(space, "the rows that were observed", X.extents()[n], sizeof(std::uint32_t));
    Marks const marks(Kokkos::view_alloc(space, "polyad::observed_rows"), X.extents()[n]);
    count_t outside = 0;
    Kokkos::parallel_reduce("polyad::mark_observed",
                            Kokkos::RangePolicy<Space, Kokkos::IndexType<count_t>>(space, 0, X.nnz()),
                            MarkObserved<Index, Space>{X.indices(), n, marks}, outside);
    space.fence("polyad::observed_rows");
    POLYAD_EXPECTS(outside == 0, outside, " nonzeros have an index outside mode ", n, " of ", X.extents()[n],
                   " rows");
    auto const on_host = to_host_copy(space, marks);
    space.fence("polyad::observed_rows");
    auto& rows = of_mode(observed, n);
    rows.assign(on_host.data(), on_host.data() + on_host.size());
    if (std::find(rows.begin(), rows.end(), Mark(0)) == rows.end())
      rows = {};
    else
      some_are_empty = true;
  }
  if (!some_are_empty) observed.clear();
  return observed;
}

#define POLYAD_RECOMMEND(Scalar, Index)                                                           \
  template Rankings recommend(Kokkos::DefaultExecutionSpace const&,                               \
                              FastTuckerModel<Scalar, Kokkos::DefaultExecutionSpace> const&, int, \
                              std::span<count_t const>, RankingOptions const&,                    \
                              CooTensor<Scalar, Index, Kokkos::DefaultExecutionSpace> const&);    \
  template ObservedRows observed_rows(Kokkos::DefaultExecutionSpace const&,                       \
                                      CooTensor<Scalar, Index, Kokkos::DefaultExecutionSpace> const&)
#define POLYAD_SIMILAR(Scalar)                                                                  \
  template Rankings similar(Kokkos::DefaultExecutionSpace const&,                               \
                            FastTuckerModel<Scalar, Kokkos::DefaultExecutionSpace> const&, int, \
                            std::span<count_t const>, RankingOptions const&)
POLYAD_EACH_SCALAR_AND_INDEX(, POLYAD_RECOMMEND);
POLYAD_EACH_SCALAR(, POLYAD_SIMILAR);

}  // namespace polyad
