// SPDX-License-Identifier: BSD-3-Clause
#include "polyad/fast_tucker/evaluate.hpp"

#include <algorithm>
#include <cmath>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "distributed/over_ranks.hpp"
#include "distributed/rows_of_mode.hpp"
#include "fast_tucker/evaluation/popularity.hpp"
#include "fast_tucker/evaluation/rank_pairs.hpp"
#include "fast_tucker/evaluation/scorer.hpp"
#include "fast_tucker/evaluation/test_queries.hpp"
#include "fast_tucker/ranking/query_weights.hpp"
#include "fast_tucker/ranking/ranking.hpp"
#include "kernel/launch_shape.hpp"
#include "polyad/distributed/communicator.hpp"
#include "polyad/fast_tucker/predict.hpp"
#include "tensor/coordinates_inside.hpp"

namespace polyad {

using namespace detail;
namespace {

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
    QueryDoubles<Space> const on_device(uninitialized(m_space, "polyad::sorted_scores"), sorted.size());
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

/// \throws UsageError on all ranks when options or sets make no sense on one
template <class Scalar, class Index, class Space>
OwnSets<Scalar, Index, Space> own_sets(Communicator<Space> const& ranks,
                                       FastTuckerModel<Scalar, Space> const& model,
                                       CooTensor<Scalar, Index, Space> const& test,
                                       CooTensor<Scalar, Index, Space> const& seen,
                                       EvaluationOptions const& options) {
  AllRanks<Space> const all(ranks);
  auto const& space = ranks.space();
  int const order   = common_extents(ranks.host(), test.extents()).order();
  all.together([&] {
    expect_evaluation(model, options, test.nnz() > 0 ? test.order() : order,
                      seen.nnz() > 0 ? seen.order() : model.order());
    expect_coordinates_inside(space, test);
    expect_coordinates_inside(space, seen);
  });
  RowsOfMode<Scalar, Index, Space> const users(ranks, test, options.user_mode);
  auto const own_test = users.deal(test);
  OwnSets<Scalar, Index, Space> own{{}, {}, users.deal(seen)};
  all.together([&] {
    own.entries = test_entries(space, own_test);
    own.queries = test_queries(own.entries, options);
  });
  return own;
}

/// Adds up what ranks know of items.
template <class Space>
void share_items(Communicator<Space> const& ranks, Popularity& known) {
  auto& items    = known.users_of_items;
  auto const all = of_all_ranks(ranks.host(), count_t(items.size()));
  items.resize(*std::max_element(all.begin(), all.end()));
  items       = summed(ranks.host(), std::move(items));
  known.users = summed(ranks.host(), {known.users})[0];
}

/// The model's biases alone.
template <class Scalar, class Space>
FastTuckerModel<Scalar, Space> biases_alone(Space const& space, FastTuckerModel<Scalar, Space> const& model) {
  auto biases = model_without_interaction<Scalar>(space, model.extents());
  biases.share_biases(model);
  biases.range = model.range;
  return biases;
}

}  // namespace

template <class Scalar, class Index, class Space>
Evaluation evaluate(Communicator<Space> const& ranks, FastTuckerModel<Scalar, Space> const& model,
                    CooTensor<Scalar, Index, Space> const& test, EvaluationOptions const& options,
                    CooTensor<Scalar, Index, Space> const& seen) {
  using Model = FastTuckerModel<Scalar, Space>;
  AllRanks<Space> const all(ranks);
  auto const& space   = ranks.space();
  auto const own      = own_sets(ranks, model, test, seen, options);
  auto const& queries = own.queries;
  auto known =
      all.together([&] { return popularity(space, own.seen, options.user_mode, options.item_mode); });
  share_items(ranks, known);
  count_t const items = model.extents()[options.item_mode];
  auto const left_out = all.together([&] {
    bool const leaves_out = own.seen.nnz() > 0 && queries.count() > 0 && !options.rank_seen;
    if (!leaves_out) return SeenRows<Space>();
    return find_seen(space, own.seen, options.item_mode, items, std::span<count_t const>(queries.seen_by));
  });
  Evaluation result;
  result.candidates = observed_count(options.observed, options.item_mode, items);
  Scorer<Space> const scorer(ranks, own.entries, queries, known, options, items, result.candidates);
  result.users    = scorer.users().size();
  result.left_out = scorer.users_left_out();
  if (options.per_user) result.user_rows = scorer.users();
  auto const add = [&](std::string const& method, auto const& make_model, bool predicts) {
    RankedQueries ranked;
    std::vector<double> predictions;
    all.together([&] {
      Model const of_method = make_model();
      if (queries.count() > 0 && items > 0) {
        ranked = QueryRanking<Scalar, Space>(space, of_method, queries, options, left_out).run();
      } else {
        ranked.lists.starts.assign(queries.count() + 1, 0);
        ranked.auc.resize(queries.count());
      }
      if (predicts) predictions = predictions_of(space, of_method, own.entries);
    });
    scorer.add(method, ranked, predicts ? &predictions : nullptr, result);
    return ranked.unreachable;
  };
  count_t const unreachable = add("model", [&] { return model; }, true);
  auto const sums           = summed(ranks.host(), {own.entries.nnz(), queries.items.size(), queries.count(),
                                                    unknown_queries(model, queries, options), unreachable});
  result.entries            = sums[0];
  result.relevant           = sums[1];
  result.queries            = sums[2];
  result.unknown            = sums[3];
  result.unreachable        = sums[4];
  if (!options.baselines) return result;
  if (model.has_biases()) add("biases", [&] { return biases_alone(space, model); }, true);
  if (known.users > 0)
    add(
        "popular", [&] { return popular_model<Scalar>(space, model.extents(), options.item_mode, known); },
        false);
  return result;
}

template <class Scalar, class Index, class Space>
Evaluation evaluate(Space const& space, FastTuckerModel<Scalar, Space> const& model,
                    CooTensor<Scalar, Index, Space> const& test, EvaluationOptions const& options,
                    CooTensor<Scalar, Index, Space> const& seen) {
  return evaluate(Communicator<Space>(space), model, test, options, seen);
}

#define POLYAD_EVALUATE_ON_RANKS(Scalar, Index)                                                          \
  template Evaluation evaluate(Communicator<CompiledSpace> const&,                                       \
                               FastTuckerModel<Scalar, CompiledSpace> const&,                            \
                               CooTensor<Scalar, Index, CompiledSpace> const&, EvaluationOptions const&, \
                               CooTensor<Scalar, Index, CompiledSpace> const&)
POLYAD_EACH_SCALAR_AND_INDEX(, POLYAD_EVALUATE_ON_RANKS);
POLYAD_EACH_SCALAR_AND_INDEX(, POLYAD_EVALUATE);

}  // namespace polyad
