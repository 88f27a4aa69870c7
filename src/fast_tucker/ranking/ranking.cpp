// SPDX-License-Identifier: BSD-3-Clause
#include "fast_tucker/ranking/ranking.hpp"

#include <algorithm>
#include <utility>

#include "dense/intermediates.hpp"
#include "fast_tucker/ranking/query_weights.hpp"
#include "kernel/launch_shape.hpp"
#include "polyad/kernel/machine.hpp"

namespace polyad::detail {

namespace {

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

/// transposed(b, k): the drift of row first + k in bin b; if times are ranked, whether time first + k is in
/// bin b.
template <class Scalar, class Space>
struct TransposeDrifts {
  FactorMatrix<Scalar, Space> drift;  // the ranked mode's
  bool ranks_times;
  count_t first;
  count_t times;
  FactorMatrix<Scalar, Space> transposed;  // bins x K
  KOKKOS_FUNCTION void operator()(count_t k) const {
    count_t const bins = transposed.extent(0);
    for (count_t b = 0; b < bins; ++b)
      transposed(b, k) = !ranks_times                            ? drift(first + k, b)
                         : time_bin(first + k, bins, times) == b ? Scalar(1)
                                                                 : Scalar(0);
  }
};

/// The number of scores at a time: about 64 MiB of floats on a device; on a host, what fits its second-level
/// caches.
template <class Space>
count_t scores_at_a_time(Space const& space) {
  return items_per_thread<Space>(count_t(1) << 17, count_t(1) << 16) * multiprocessors(space);
}

template <class Space>
RankingBlocks choose_blocks(Space const& space, count_t rows, count_t queries, count_t rank, count_t wanted,
                            RankingOptions const& options) {
  RankingBlocks blocks{options.rows_at_a_time, options.queries_at_a_time, 1};
  count_t const most = scores_at_a_time(space);
  if (blocks.queries == 0) blocks.queries = std::clamp<count_t>(most / 4 / wanted, 1, 256);
  blocks.queries = std::min(blocks.queries, queries);
  // A block's rows of C are stored twice, the second time by columns.
  if (blocks.rows == 0) blocks.rows = std::clamp<count_t>(most / (blocks.queries + 2 * rank), 1024, 1 << 19);
  blocks.rows = std::min({blocks.rows, rows, (count_t(1) << 20) - 1});
  // Each list has a team. If there are too few queries to use the whole machine, a query gets several lists
  // of at least 1024 columns.
  count_t const teams = items_per_thread<Space>(4, 2) * multiprocessors(space);
  if (wanted <= 1024)
    blocks.groups = std::clamp<count_t>(teams / blocks.queries, 1, std::max<count_t>(blocks.rows / 1024, 1));
  return blocks;
}

}  // namespace

template <class Scalar, class Space>
Ranking<Scalar, Space>::Ranking(Space const& space, FastTuckerModel<Scalar, Space> const& model, int mode,
                                count_t queries, RankingOptions const& options, bool cosines)
    : m_space(space),
      m_model(model),
      m_mode(mode),
      m_cosines(cosines),
      m_observed(observed_of(space, options.observed, mode)),
      m_wanted(std::min(options.count, model.extents()[mode])),
      m_blocks(choose_blocks(space, model.extents()[mode], queries, model.rank(),
                             std::max<count_t>(m_wanted, 1), options)) {
  count_t const R = model.rank(), K = m_blocks.rows, Q = m_blocks.queries;
  count_t const columns = cosines ? R : columns_of_weights(model, mode);
  weights               = make_factor_matrix<Scalar>(space, "polyad::query_weights", Q, columns);
  m_C                   = make_factor_matrix<Scalar>(space, "polyad::scored_rows", K, R);
  m_transposed          = make_factor_matrix<Scalar>(space, "polyad::turned_rows", columns, K);
  m_products            = make_factor_matrix<Scalar>(space, "polyad::scores", Q, K);
  base                  = QueryDoubles<Space>("polyad::query_base", Q);
  expect_fits(space, "the columns that are kept", checked_product("the columns that are kept", Q, K),
              sizeof(std::uint32_t));
  m_kept              = decltype(m_kept)(uninitialized(space, "polyad::kept_columns"), Q, K);
  m_not_finite        = decltype(m_not_finite)("polyad::not_finite");
  count_t const lists = Q * m_blocks.groups;
  for (auto* best : {&m_best, &m_next}) {
    expect_fits(space, "the best rows", checked_product("the best rows", lists, m_wanted),
                sizeof(double) + sizeof(count_t));
    best->scores = decltype(best->scores)(uninitialized(space, "polyad::best_scores"), lists, m_wanted);
    best->rows   = decltype(best->rows)(uninitialized(space, "polyad::best_rows"), lists, m_wanted);
    best->counts = decltype(best->counts)("polyad::best_counts", lists);
  }
}

template <class Scalar, class Space>
void Ranking<Scalar, Space>::rank(count_t first_query, count_t queries, SeenRows<Space> const& seen,
                                  ValueRange range, Rankings& result) {
  begin();
  count_t const rows = m_model.extents()[m_mode];
  for (count_t first = 0; first < rows; first += m_blocks.rows) {
    count_t const columns = std::min(m_blocks.rows, rows - first);
    score(first, columns, first_query, queries, seen);
    select(first, columns, queries);
  }
  collect(queries, range, result);
}

template <class Scalar, class Space>
void Ranking<Scalar, Space>::begin() {
  Kokkos::deep_copy(m_space, m_best.counts, count_t(0));
}

template <class Scalar, class Space>
void Ranking<Scalar, Space>::score(count_t first, count_t columns, count_t first_query, count_t queries,
                                   SeenRows<Space> const& seen) {
  auto const C = first_rows(m_C, columns);
  FactorMatrix<Scalar, Space> const A =
      Kokkos::subview(m_model.A(m_mode), Kokkos::make_pair(first, first + columns), Kokkos::ALL);
  FactorMatrix<Scalar, Space> const transposed =
      Kokkos::subview(m_transposed, Kokkos::ALL, Kokkos::make_pair(count_t(0), columns));
  FactorMatrix<Scalar, Space> const products = Kokkos::subview(
      m_products, Kokkos::make_pair(count_t(0), queries), Kokkos::make_pair(count_t(0), columns));
  intermediates(m_space, A, m_model.B(m_mode), C);
  Kokkos::parallel_for("polyad::turn_rows",
                       Kokkos::RangePolicy<Space, Kokkos::IndexType<count_t>>(m_space, 0, columns),
                       TransposeRows<Scalar, Space>{C, transposed, m_cosines});
  if (weights.extent(1) > m_model.rank()) turn_drifts(first, columns);
  multiply_rows(m_space, first_rows(weights, queries), transposed, products);
  if (m_observed.extent(0) > 0)
    Kokkos::parallel_for("polyad::leave_out_empty",
                         Kokkos::RangePolicy<Space, Kokkos::IndexType<count_t>>(m_space, 0, columns),
                         LeaveOutEmpty<Scalar, Space>{products, m_observed, first});
  if (seen.rows.extent(0) > 0)
    Kokkos::parallel_for("polyad::leave_out", team_policy(m_space, launch_shape<Space>(queries, 128, 1)),
                         LeaveOut<Space, Scalar>{products, seen, first_query, first, columns});
}

template <class Scalar, class Space>
void Ranking<Scalar, Space>::select(count_t first, count_t columns, count_t queries) {
  FactorMatrix<Scalar, Space> const products = Kokkos::subview(
      m_products, Kokkos::make_pair(count_t(0), queries), Kokkos::make_pair(count_t(0), columns));
  using Kernel = SelectBest<Space, Scalar>;
  Kernel kernel{
      products, base.data(), bias(), first,  columns,     m_blocks.groups, ceil_div(columns, m_blocks.groups),
      m_wanted, m_best,      m_next, m_kept, m_not_finite};
  auto policy = team_policy(m_space, launch_shape<Space>(queries * m_blocks.groups, 256, 1));
  policy.set_scratch_size(
      0, Kokkos::PerTeam(static_cast<int>(sizeof(typename Kernel::Pad) + alignof(typename Kernel::Pad))));
  Kokkos::parallel_for("polyad::select_best", policy, kernel);
  std::swap(m_best, m_next);
}

template <class Scalar, class Space>
void Ranking<Scalar, Space>::turn_drifts(count_t first, count_t columns) const {
  int const time      = m_model.time_mode;
  bool const of_times = m_mode == time;
  count_t row         = m_model.rank();
  for (int n = 0; n < m_model.order(); ++n) {
    count_t const bins = m_model.drift(n).extent(1);
    if (bins == 0 || (of_times ? n == m_mode : n != m_mode)) continue;
    FactorMatrix<Scalar, Space> const transposed = Kokkos::subview(
        m_transposed, Kokkos::make_pair(row, row + bins), Kokkos::make_pair(count_t(0), columns));
    Kokkos::parallel_for("polyad::turn_drifts",
                         Kokkos::RangePolicy<Space, Kokkos::IndexType<count_t>>(m_space, 0, columns),
                         TransposeDrifts<Scalar, Space>{m_model.drift(n), of_times, first,
                                                        m_model.extents()[time], transposed});
    row += bins;
  }
}

template <class Scalar, class Space>
void Ranking<Scalar, Space>::collect(count_t queries, ValueRange range, Rankings& result) const {
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

POLYAD_EACH_SCALAR(, POLYAD_RANKING);

}  // namespace polyad::detail
