// SPDX-License-Identifier: BSD-3-Clause
#include "polyad/fast_tucker/evaluate.hpp"

#include <algorithm>
#include <cmath>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "fast_tucker/evaluation/popularity.hpp"
#include "fast_tucker/evaluation/query_metrics.hpp"
#include "fast_tucker/evaluation/rank_pairs.hpp"
#include "fast_tucker/evaluation/test_queries.hpp"
#include "fast_tucker/ranking/query_weights.hpp"
#include "fast_tucker/ranking/ranking.hpp"
#include "kernel/launch_shape.hpp"
#include "polyad/fast_tucker/predict.hpp"
#include "tensor/coordinates_inside.hpp"

namespace polyad {

using namespace detail;
namespace {

/// The lists and AUCs of all queries for one model.
struct RankedQueries {
  Rankings lists;
  std::vector<double> auc;  // NaN: no pair
  count_t unreachable = 0;  // relevant items that are not candidates
};

/// A batch of queries: those from `first` on.
struct Batch {
  count_t first;
  count_t count;
};

/// Ranks the candidates of all queries of a test set by a model.
template <class Scalar, class Space>
class QueryRanking {
public:
  QueryRanking(Space const& space, FastTuckerModel<Scalar, Space> const& model, TestQueries const& queries,
               EvaluationOptions const& options, SeenRows<Space> const& seen)
      : m_space(space),
        m_model(model),
        m_queries(queries),
        m_mode(options.item_mode),
        m_seen(seen),
        m_ranking(space, model, options.item_mode, queries.count(), to_ranking(options), false),
        m_weights(space, model, options.item_mode, m_ranking.blocks().queries, options.observed) {
    m_result.lists.starts.push_back(0);
  }

  RankedQueries run() {
    count_t const batch = m_ranking.blocks().queries;
    for (count_t first = 0; first < m_queries.count(); first += batch)
      rank({first, std::min(batch, m_queries.count() - first)});
    return std::move(m_result);
  }

private:
  static RankingOptions to_ranking(EvaluationOptions const& options) {
    RankingOptions ranking;
    ranking.count             = options.count;
    ranking.rows_at_a_time    = options.rows_at_a_time;
    ranking.queries_at_a_time = options.queries_at_a_time;
    ranking.observed          = options.observed;
    return ranking;
  }

  [[nodiscard]] count_t rows() const { return m_model.extents()[m_mode]; }
  [[nodiscard]] count_t columns_of(count_t first) const {
    return std::min(m_ranking.blocks().rows, rows() - first);
  }
  [[nodiscard]] BlockScores<Scalar, Space> block(count_t first) const {
    return {m_ranking.products(), m_ranking.base, m_ranking.bias(), first, columns_of(first)};
  }

  void rank(Batch batch) {
    auto const width = static_cast<std::ptrdiff_t>(m_model.order() - 1);
    auto const begin = m_queries.indices.begin() + batch.first * width;
    m_weights.form(std::vector<count_t>(begin, begin + static_cast<std::ptrdiff_t>(batch.count) * width),
                   m_ranking.weights, m_ranking.base);
    m_ranking.begin();
    count_t const first_item = m_queries.starts[batch.first];
    count_t const items      = m_queries.starts[batch.first + batch.count] - first_item;
    std::vector<count_t> owners;
    for (count_t q = 0; q < batch.count; ++q)
      owners.resize(m_queries.starts[batch.first + q + 1] - first_item, q);
    auto const from = m_queries.items.begin() + first_item;
    GatherScores<Scalar, Space> gather{
        {},
        numbers_from(m_space, "polyad::relevant_queries", owners),
        numbers_from(m_space, "polyad::relevant_items",
                     std::vector<count_t>(from, from + static_cast<std::ptrdiff_t>(items))),
        QueryDoubles<Space>("polyad::relevant_scores", items)};
    Kokkos::deep_copy(m_space, gather.scores, -Kokkos::Experimental::infinity_v<double>);
    for (count_t first = 0; first < rows(); first += m_ranking.blocks().rows) {
      m_ranking.score(first, columns_of(first), batch.first, batch.count, m_seen);
      gather.block = block(first);
      Kokkos::parallel_for("polyad::gather_scores",
                           Kokkos::RangePolicy<Space, Kokkos::IndexType<count_t>>(m_space, 0, items), gather);
      m_ranking.select(first, columns_of(first), batch.count);
    }
    m_ranking.collect(batch.count, m_model.range, m_result.lists);
    count_pairs(batch, gather.scores);
  }

  /// Sorts the scores of relevant candidates, and compares them with those of all candidates.
  void count_pairs(Batch batch, QueryDoubles<Space> const& scores) {
    auto const host = to_host_copy(m_space, scores);
    m_space.fence("polyad::relevant_scores");
    std::vector<count_t> starts{0};
    std::vector<double> sorted;
    count_t const first_item = m_queries.starts[batch.first];
    for (count_t q = batch.first; q < batch.first + batch.count; ++q) {
      for (count_t i = m_queries.starts[q]; i < m_queries.starts[q + 1]; ++i) {
        double const score = host(i - first_item);
        if (score > -Kokkos::Experimental::infinity_v<double>)
          sorted.push_back(score);
        else
          ++m_result.unreachable;
      }
      std::sort(sorted.begin() + starts.back(), sorted.end());
      starts.push_back(sorted.size());
    }
    QueryDoubles<Space> const on_device(
        Kokkos::view_alloc(m_space, Kokkos::WithoutInitializing, "polyad::sorted_scores"), sorted.size());
    Kokkos::deep_copy(m_space, on_device,
                      Kokkos::View<double const*, Kokkos::HostSpace, Kokkos::MemoryUnmanaged>(sorted.data(),
                                                                                              sorted.size()));
    CountPairs<Scalar, Space> kernel{{},
                                     numbers_from(m_space, "polyad::relevant_starts", starts),
                                     on_device,
                                     QueryNumbers<Space>("polyad::pairs", batch.count),
                                     QueryNumbers<Space>("polyad::candidates", batch.count),
                                     true};
    bool const is_there = rows() <= m_ranking.blocks().rows;  // the scores of the only block
    for (count_t first = 0; first < rows(); first += m_ranking.blocks().rows) {
      if (!is_there) m_ranking.score(first, columns_of(first), batch.first, batch.count, m_seen);
      kernel.block = block(first);
      for (bool const counts_pairs : {true, false}) {
        kernel.counts_pairs = counts_pairs;
        Kokkos::parallel_for("polyad::count_pairs",
                             team_policy(m_space, launch_shape<Space>(batch.count, 256, 1)), kernel);
      }
    }
    auto const pairs      = to_host_copy(m_space, kernel.pairs);
    auto const candidates = to_host_copy(m_space, kernel.candidates);
    m_space.fence("polyad::count_pairs");
    for (count_t q = 0; q < batch.count; ++q) {
      // Among themselves relevant items have as many pairs in order as out of order.
      count_t const relevant = starts[q + 1] - starts[q], others = candidates(q) - relevant;
      m_result.auc.push_back(relevant == 0 || others == 0
                                 ? std::numeric_limits<double>::quiet_NaN()
                                 : static_cast<double>(pairs(q) - relevant * relevant) /
                                       (2 * static_cast<double>(relevant) * static_cast<double>(others)));
    }
  }

  Space m_space;
  FastTuckerModel<Scalar, Space> m_model;
  TestQueries const& m_queries;
  int m_mode;
  SeenRows<Space> m_seen;
  Ranking<Scalar, Space> m_ranking;
  QueryWeights<Scalar, Space> m_weights;
  RankedQueries m_result;
};

/// A model without interaction, whose biases are zero.
template <class Scalar, class Space>
FastTuckerModel<Scalar, Space> model_without_interaction(Space const& space, Extents const& extents) {
  return {space, extents, std::vector<count_t>(extents.order(), 1), 1, true};
}

/// A model that ranks items by their users. \throws MemoryError
template <class Scalar, class Space>
FastTuckerModel<Scalar, Space> popular_model(Space const& space, Extents const& extents, int item_mode,
                                             Popularity const& known) {
  auto const model = model_without_interaction<Scalar>(space, extents);
  auto const& bias = model.bias(item_mode);
  auto const host  = Kokkos::create_mirror_view(Kokkos::HostSpace(), bias);
  for (count_t i = 0; i < host.extent(0); ++i)
    host(i) = i < known.users_of_items.size() ? static_cast<Scalar>(known.users_of_items[i]) : Scalar(0);
  Kokkos::deep_copy(space, bias, host);
  space.fence("polyad::popular_model");
  return model;
}

/// Mean, biases and drifts of an entry with indices that a model does not have.
template <class Scalar, class Space>
class KnownBiases {
public:
  KnownBiases(Space const& space, FastTuckerModel<Scalar, Space> const& model) : m_model(model) {
    for (int n = 0; n < model.order(); ++n) {
      m_biases.push_back(to_host_copy(space, model.bias(n)));
      m_drifts.push_back(to_host_copy(space, model.drift(n)));
    }
    space.fence("polyad::known_biases");
  }
  [[nodiscard]] double operator()(TestEntries const& entries, count_t p) const {
    double sum = m_model.mean;
    for (int n = 0; n < entries.order; ++n) {
      count_t const i   = entries.index(p, n);
      auto const& bias  = m_biases[n];
      auto const& drift = m_drifts[n];
      if (i < bias.extent(0)) sum += static_cast<double>(bias(i));
      if (drift.extent(1) == 0 || i >= drift.extent(0)) continue;
      count_t const time = entries.index(p, m_model.time_mode), times = m_model.extents()[m_model.time_mode];
      if (time < times) sum += drift(i, time_bin(time, drift.extent(1), times));
    }
    return std::min(std::max(sum, m_model.range.lowest), m_model.range.highest);
  }

private:
  using HostBias = decltype(to_host_copy(std::declval<Space>(), std::declval<BiasVector<Scalar, Space>>()));
  using HostDrift =
      decltype(to_host_copy(std::declval<Space>(), std::declval<FactorMatrix<Scalar, Space>>()));
  FastTuckerModel<Scalar, Space> m_model;
  std::vector<HostBias> m_biases;
  std::vector<HostDrift> m_drifts;
};

/// The predictions of all test entries. Waits. \throws NumericalError when one is not finite
template <class Scalar, class Space>
std::vector<double> predictions_of(Space const& space, FastTuckerModel<Scalar, Space> const& model,
                                   TestEntries const& entries) {
  std::vector<double> predictions(entries.nnz());
  std::vector<count_t> inside, indices;
  std::vector<double> values;
  KnownBiases<Scalar, Space> const biases(space, model);
  for (count_t p = 0; p < entries.nnz(); ++p) {
    bool is_inside = true;
    for (int n = 0; n < entries.order; ++n) is_inside = is_inside && entries.index(p, n) < model.extents()[n];
    if (!is_inside) {
      predictions[p] = biases(entries, p);
      continue;
    }
    inside.push_back(p);
    for (int n = 0; n < entries.order; ++n) indices.push_back(entries.index(p, n));
  }
  values.resize(inside.size());
  auto const places = upload<Scalar, count_t>(space, model.extents(), std::span<count_t const>(indices),
                                              std::span<double const>(values));
  auto const found  = to_host_copy(space, predict(space, model, places));
  space.fence("polyad::predictions");
  for (std::size_t i = 0; i < inside.size(); ++i) {
    predictions[inside[i]] = static_cast<double>(found(i));
    if (!std::isfinite(predictions[inside[i]]))
      throw NumericalError("a prediction is not finite: the model's numbers are too large");
  }
  return predictions;
}

/// The classes of users by their entries in the training set; class 0 has all.
constexpr std::array<char const*, 4> classes{"all", "few", "some", "many"};

std::size_t class_of(count_t entries) {
  return entries < 4 ? 1 : entries < 20 ? 2 : 3;
}

/// Puts the scores of methods together.
class Scorer {
public:
  Scorer(TestEntries const& entries, TestQueries const& queries, Popularity const& known,
         EvaluationOptions const& options, count_t items, count_t candidates)
      : m_entries(entries),
        m_queries(queries),
        m_known(known),
        m_options(options),
        m_items(items),
        m_candidates(candidates) {
    for (count_t p = 0; p < entries.nnz(); ++p) m_test_users.push_back(entries.index(p, options.user_mode));
    std::sort(m_test_users.begin(), m_test_users.end());
    m_test_users.erase(std::unique(m_test_users.begin(), m_test_users.end()), m_test_users.end());
    for (count_t i = 0; i < items && known.users > 0; ++i) {
      count_t const users = i < known.users_of_items.size() ? known.users_of_items[i] : 0;
      m_novelty.push_back(std::log2(static_cast<double>(known.users)) -
                          std::log2(static_cast<double>(std::max<count_t>(users, 1))));
    }
    for (count_t q = 0; q < queries.count(); ++q)
      if (m_users.empty() || m_users.back() != queries.users[q]) m_users.push_back(queries.users[q]);
  }

  [[nodiscard]] std::vector<count_t> const& users() const { return m_users; }

  /// Users of the test set without a relevant entry.
  [[nodiscard]] count_t users_left_out() const { return m_test_users.size() - m_users.size(); }

  /// \param predictions  those of all test entries; empty: the method predicts no values
  void add(std::string const& method, RankedQueries const& ranked, std::vector<double> const& predictions,
           Evaluation& result) const {
    auto const values  = values_of_users(ranked);
    auto const covered = covered_items(ranked);
    auto const errors  = errors_of_users(predictions);
    for (std::size_t c = 0; c < classes.size(); ++c) {
      if (c > 0 && m_known.users == 0) break;
      MethodScores scores;
      scores.method   = method;
      scores.activity = classes[c];
      std::vector<double> column;
      for (std::size_t m = 0; m < metrics_of_user; ++m) {
        column.clear();
        for (std::size_t u = 0; u < m_users.size(); ++u)
          if (belongs(m_users[u], c)) column.push_back(values[u][m]);
        scores.metrics[m] = mean_of(column);
      }
      scores.users       = column.size();
      Estimate& coverage = scores.metrics[static_cast<std::size_t>(Metric::coverage)];
      if (m_candidates > 0 && scores.users > 0) {
        coverage.value = static_cast<double>(covered[c]) / static_cast<double>(m_candidates);
        coverage.users = scores.users;
      }
      scores.entries = entries_of(c);
      if (!errors.empty()) add_errors(errors, c, scores);
      if (c == 0 || scores.entries > 0) result.scores.push_back(std::move(scores));
    }
    if (!m_options.per_user) return;
    UserScores of_users{method, {}};
    for (auto const& user : values) of_users.values.insert(of_users.values.end(), user.begin(), user.end());
    result.of_users.push_back(std::move(of_users));
  }

private:
  [[nodiscard]] std::size_t class_of_user(count_t user) const {
    return class_of(user < m_known.entries_of_users.size() ? m_known.entries_of_users[user] : 0);
  }
  /// A user's place among those with test entries.
  [[nodiscard]] std::size_t number_of(count_t user) const {
    return std::lower_bound(m_test_users.begin(), m_test_users.end(), user) - m_test_users.begin();
  }
  [[nodiscard]] bool belongs(count_t user, std::size_t c) const { return c == 0 || class_of_user(user) == c; }

  [[nodiscard]] count_t entries_of(std::size_t c) const {
    count_t count = 0;
    for (count_t p = 0; p < m_entries.nnz(); ++p)
      count += belongs(m_entries.index(p, m_options.user_mode), c) ? 1 : 0;
    return count;
  }

  /// The mean of each user's queries, of those that have a value.
  [[nodiscard]] std::vector<MetricsOfUser> values_of_users(RankedQueries const& ranked) const {
    std::vector<MetricsOfUser> values;
    values.reserve(m_users.size());
    std::array<count_t, metrics_of_user> counts{};
    auto const finish = [&] {
      for (std::size_t m = 0; m < metrics_of_user && !values.empty(); ++m)
        values.back()[m] = counts[m] > 0 ? values.back()[m] / static_cast<double>(counts[m])
                                         : std::numeric_limits<double>::quiet_NaN();
    };
    for (count_t q = 0; q < m_queries.count(); ++q) {
      if (q == 0 || m_queries.users[q] != m_queries.users[q - 1]) {
        finish();
        values.push_back({});
        counts = {};
      }
      auto metrics = query_metrics(list_of(ranked, q), relevant_of(q), m_options.count, m_novelty);
      metrics[static_cast<std::size_t>(Metric::auc)] = ranked.auc[q];
      for (std::size_t m = 0; m < metrics_of_user; ++m)
        if (!std::isnan(metrics[m])) {
          values.back()[m] += metrics[m];
          ++counts[m];
        }
    }
    finish();
    return values;
  }

  [[nodiscard]] static std::span<count_t const> list_of(RankedQueries const& ranked, count_t q) {
    auto const& lists = ranked.lists;
    return std::span(lists.rows).subspan(lists.starts[q], lists.starts[q + 1] - lists.starts[q]);
  }
  [[nodiscard]] RelevantItems relevant_of(count_t q) const {
    count_t const first = m_queries.starts[q], count = m_queries.starts[q + 1] - first;
    return {std::span(m_queries.items).subspan(first, count),
            std::span(m_queries.gains).subspan(first, count)};
  }

  /// How many items are in lists of each class of users.
  [[nodiscard]] std::array<count_t, classes.size()> covered_items(RankedQueries const& ranked) const {
    std::vector<std::uint8_t> marks(m_items, 0);
    for (count_t q = 0; q < m_queries.count(); ++q)
      for (count_t const item : list_of(ranked, q))
        marks[item] = static_cast<std::uint8_t>(marks[item] | 1U | (1U << class_of_user(m_queries.users[q])));
    std::array<count_t, classes.size()> covered{};
    for (auto const mark : marks)
      for (std::size_t c = 0; c < classes.size(); ++c) covered[c] += (mark >> c) & 1U;
    return covered;
  }

  [[nodiscard]] std::vector<ErrorsOfUser> errors_of_users(std::vector<double> const& predictions) const {
    if (predictions.empty()) return {};
    std::vector<ErrorsOfUser> errors(m_test_users.size());
    for (count_t p = 0; p < m_entries.nnz(); ++p) {
      auto& user     = errors[number_of(m_entries.index(p, m_options.user_mode))];
      double const e = m_entries.values[p] - predictions[p];
      user.squares += e * e;
      user.absolutes += std::abs(e);
      ++user.entries;
    }
    return errors;
  }
  void add_errors(std::vector<ErrorsOfUser> const& errors, std::size_t c, MethodScores& scores) const {
    std::vector<ErrorsOfUser> of_class;
    for (std::size_t u = 0; u < errors.size(); ++u)
      if (belongs(m_test_users[u], c)) of_class.push_back(errors[u]);
    scores.metrics[static_cast<std::size_t>(Metric::rmse)] = rmse_of(of_class);
    scores.metrics[static_cast<std::size_t>(Metric::mae)]  = mae_of(of_class);
  }

  TestEntries const& m_entries;
  TestQueries const& m_queries;
  Popularity const& m_known;
  EvaluationOptions const& m_options;
  count_t m_items;
  count_t m_candidates;
  std::vector<count_t> m_test_users;  // rows with test entries, increasing
  std::vector<double> m_novelty;
  std::vector<count_t> m_users;
};

template <class Scalar, class Space>
void expect_evaluation(FastTuckerModel<Scalar, Space> const& model, EvaluationOptions const& options,
                       int order_of_test, int order_of_seen) {
  int const N = model.order();
  for (int const mode : {options.user_mode, options.item_mode})
    POLYAD_EXPECTS(mode >= 0 && mode < N, "mode ", mode, " of a model of ", N, " modes, which count from 0");
  POLYAD_EXPECTS(options.user_mode != options.item_mode, "mode ", options.user_mode,
                 " cannot have both the users and the items");
  POLYAD_EXPECTS(options.count >= 1 && options.count <= count_t(1) << 31, "the first ", options.count,
                 " items are evaluated: 1 to 2^31");
  POLYAD_EXPECTS(!std::isnan(options.relevant), "the smallest relevant value is not a number");
  for (int const order : {order_of_test, order_of_seen})
    POLYAD_EXPECTS(order == N, "entries of order ", order, " for a model of ", N, " modes");
  expect_observed_fits(model, options.observed);
}

/// Queries with an index that the model does not know.
template <class Scalar, class Space>
count_t unknown_queries(FastTuckerModel<Scalar, Space> const& model, TestQueries const& queries,
                        EvaluationOptions const& options) {
  count_t const width = model.order() - 1;
  count_t unknown     = 0;
  for (count_t q = 0; q < queries.count(); ++q) {
    bool is_unknown = false;
    for (count_t m = 0; m < width; ++m) {
      count_t const index = queries.indices[q * width + m];
      int const n         = static_cast<int>(m) + (static_cast<int>(m) < options.item_mode ? 0 : 1);
      is_unknown = is_unknown || (index != every_row &&
                                  (index >= model.extents()[n] || !is_observed(options.observed, n, index)));
    }
    unknown += is_unknown ? 1 : 0;
  }
  return unknown;
}

}  // namespace

template <class Scalar, class Index, class Space>
Evaluation evaluate(Space const& space, FastTuckerModel<Scalar, Space> const& model,
                    CooTensor<Scalar, Index, Space> const& test, EvaluationOptions const& options,
                    CooTensor<Scalar, Index, Space> const& seen) {
  expect_evaluation(model, options, test.order(), seen.nnz() > 0 ? seen.order() : model.order());
  expect_coordinates_inside(space, test);
  expect_coordinates_inside(space, seen);
  auto const entries  = test_entries(space, test);
  auto const queries  = test_queries(entries, options);
  auto const known    = popularity(space, seen, options.user_mode, options.item_mode);
  count_t const items = model.extents()[options.item_mode];
  SeenRows<Space> left_out;
  if (seen.nnz() > 0 && queries.count() > 0 && !options.rank_seen)
    left_out = find_seen(space, seen, options.item_mode, items, std::span<count_t const>(queries.seen_by));
  Evaluation result;
  result.candidates = observed_count(options.observed, options.item_mode, items);
  Scorer const scorer(entries, queries, known, options, items, result.candidates);
  result.entries  = entries.nnz();
  result.relevant = queries.items.size();
  result.users    = scorer.users().size();
  result.queries  = queries.count();
  result.left_out = scorer.users_left_out();
  result.unknown  = unknown_queries(model, queries, options);
  if (options.per_user) result.user_rows = scorer.users();
  auto const add = [&](std::string const& method, FastTuckerModel<Scalar, Space> const& of_method,
                       bool predicts) {
    RankedQueries ranked;
    ranked.lists.starts.push_back(0);
    if (queries.count() > 0 && items > 0)
      ranked = QueryRanking<Scalar, Space>(space, of_method, queries, options, left_out).run();
    else
      ranked.auc.resize(queries.count());
    scorer.add(method, ranked, predicts ? predictions_of(space, of_method, entries) : std::vector<double>(),
               result);
    return ranked.unreachable;
  };
  result.unreachable = add("model", model, true);
  if (!options.baselines) return result;
  if (model.has_biases()) {
    auto biases = model_without_interaction<Scalar>(space, model.extents());
    biases.share_biases(model);
    biases.range = model.range;
    add("biases", biases, true);
  }
  if (known.users > 0)
    add("popular", popular_model<Scalar>(space, model.extents(), options.item_mode, known), false);
  return result;
}

POLYAD_EACH_SCALAR_AND_INDEX(, POLYAD_EVALUATE);

}  // namespace polyad
