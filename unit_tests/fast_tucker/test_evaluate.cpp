// SPDX-License-Identifier: BSD-3-Clause
// The metrics of rankings against their definitions: plain loops over all users and items in long double.
#include "polyad/fast_tucker/evaluate.hpp"

#include <Kokkos_Core.hpp>
#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "fast_tucker/oracle.hpp"
#include "polyad/core/error.hpp"
#include "polyad/fast_tucker/recommend.hpp"
#include "support/catch.hpp"

namespace polyad::test {
namespace {

using EvaluatedPlace = std::vector<std::uint64_t>;

/// Lists of entries to evaluate with.
struct EvaluatedSets {
  HostTensor test{"test", {}, {}, {}};
  HostTensor seen{"seen", {}, {}, {}};
};

void append_entry(HostTensor& to, EvaluatedPlace const& place, double value) {
  to.indices.insert(to.indices.end(), place.begin(), place.end());
  to.values.push_back(value);
}

/// The prediction for a place, some of whose indices are averaged over; unknown ones contribute nothing.
long double oracle_evaluated_score(HostModel const& model, EvaluatedPlace const& place) {
  std::size_t const order = model.order();
  long double score       = model.mean;
  std::vector<std::vector<long double>> c(order, std::vector<long double>(model.rank(), 0));
  for (std::size_t n = 0; n < order; ++n) {
    std::uint64_t const rows = model.A[n].rows;
    for (std::uint64_t i = 0; i < rows; ++i) {
      if (place[n] != every_row && place[n] != i) continue;
      long double const share = place[n] == every_row ? 1.0L / static_cast<long double>(rows) : 1.0L;
      for (std::size_t r = 0; r < model.rank(); ++r)
        for (std::size_t j = 0; j < model.A[n].columns; ++j)
          c[n][r] += share * static_cast<long double>(model.A[n](i, j)) * model.B[n](j, r);
      if (!model.bias.empty()) score += share * model.bias[n][i];
    }
  }
  for (std::size_t r = 0; r < model.rank(); ++r) {
    long double product = 1;
    for (std::size_t n = 0; n < order; ++n) product *= c[n][r];
    score += product;
  }
  return score;
}

constexpr std::size_t oracle_metrics = 8;
using OracleValues =
    std::map<std::uint64_t, std::vector<std::vector<long double>>>;  // for each user, for each query

/// All metrics of users by their definition. NaN: there is none.
struct EvaluationOracle {
  HostModel const& model;
  EvaluatedSets const& sets;
  EvaluationOptions const& options;
  std::vector<bool> has_entries;  // for each item
  std::set<std::uint64_t> recommended = {};
  std::uint64_t unreachable           = 0;

  [[nodiscard]] std::uint64_t user(HostTensor const& X, std::size_t p) const {
    return X.index(p, static_cast<std::size_t>(options.user_mode));
  }
  [[nodiscard]] std::uint64_t item(HostTensor const& X, std::size_t p) const {
    return X.index(p, static_cast<std::size_t>(options.item_mode));
  }
  [[nodiscard]] bool has_seen(std::uint64_t who, std::uint64_t what) const {
    for (std::size_t p = 0; p < sets.seen.nnz(); ++p)
      if (user(sets.seen, p) == who && item(sets.seen, p) == what) return true;
    return false;
  }
  [[nodiscard]] std::uint64_t users_of(std::optional<std::uint64_t> what) const {
    std::set<std::uint64_t> users;
    for (std::size_t p = 0; p < sets.seen.nnz(); ++p)
      if (!what || item(sets.seen, p) == *what) users.insert(user(sets.seen, p));
    return users.size();
  }

  /// \param query  a place whose item plays no part  \param gains  of relevant items
  std::vector<long double> of_query(EvaluatedPlace query, std::map<std::uint64_t, double> const& gains,
                                    bool popular) {
    auto const items_at     = static_cast<std::size_t>(options.item_mode);
    std::uint64_t const who = query[static_cast<std::size_t>(options.user_mode)];
    std::vector<std::pair<long double, std::uint64_t>> ranked;
    for (std::uint64_t i = 0; i < model.A[items_at].rows; ++i) {
      if (!has_entries[i] || (!options.rank_seen && has_seen(who, i))) continue;
      query[items_at] = i;
      ranked.emplace_back(
          popular ? static_cast<long double>(users_of(i)) : oracle_evaluated_score(model, query), i);
    }
    std::stable_sort(ranked.begin(), ranked.end(),
                     [](auto const& a, auto const& b) { return a.first > b.first; });
    long double hits = 0, dcg = 0, precisions = 0, first = 0, novelty = 0, ideal = 0, right = 0, pairs = 0;
    for (std::size_t r = 0; r < ranked.size() && r < options.count; ++r) {
      auto const i = ranked[r].second;
      recommended.insert(i);
      novelty -= std::log2(static_cast<long double>(std::max<std::uint64_t>(users_of(i), 1)) /
                           static_cast<long double>(users_of({})));
      if (!gains.contains(i)) continue;
      hits += 1;
      dcg += gains.at(i) / std::log2(static_cast<long double>(r) + 2);
      precisions += hits / static_cast<long double>(r + 1);
      if (first == 0) first = 1.0L / static_cast<long double>(r + 1);
    }
    std::vector<double> best;
    for (auto const& [i, gain] : gains) best.push_back(gain);
    std::sort(best.rbegin(), best.rend());
    for (std::size_t r = 0; r < best.size() && r < options.count; ++r)
      ideal += best[r] / std::log2(static_cast<long double>(r) + 2);
    std::uint64_t reached = 0;
    for (auto const& a : ranked) {
      if (!gains.contains(a.second)) continue;
      ++reached;
      for (auto const& b : ranked) {
        if (gains.contains(b.second)) continue;
        pairs += 1;
        right += a.first > b.first ? 1.0L : a.first == b.first ? 0.5L : 0.0L;
      }
    }
    unreachable += gains.size() - reached;
    auto const none   = std::numeric_limits<long double>::quiet_NaN();
    auto const count  = static_cast<long double>(std::min<std::size_t>(ranked.size(), options.count));
    auto const all    = static_cast<long double>(gains.size());
    bool const is_new = sets.seen.nnz() == 0 || ranked.empty();
    return {hits / static_cast<long double>(options.count),
            hits / all,
            dcg / ideal,
            precisions / all,
            first,
            hits > 0 ? 1.0L : 0.0L,
            pairs > 0 ? right / pairs : none,
            is_new ? none : novelty / count};
  }

  OracleValues values(bool popular) {
    std::map<EvaluatedPlace, std::map<std::uint64_t, double>> queries;
    for (std::size_t p = 0; p < sets.test.nnz(); ++p) {
      double const value = sets.test.values[p];
      if (!(value > 0 && value >= options.relevant)) continue;
      EvaluatedPlace query;
      for (std::size_t n = 0; n < model.order(); ++n) {
        auto const mode = static_cast<int>(n);
        query.push_back(mode == options.item_mode                                ? 0
                        : mode == options.user_mode || !options.average_contexts ? sets.test.index(p, n)
                                                                                 : every_row);
      }
      double& gain = queries[query][item(sets.test, p)];
      gain         = std::max(gain, value);
    }
    OracleValues result;
    for (auto const& [query, gains] : queries)
      result[query[static_cast<std::size_t>(options.user_mode)]].push_back(of_query(query, gains, popular));
    return result;
  }
};

/// Mean over users of the means of their queries, and the standard error.
Estimate oracle_estimate(OracleValues const& values, std::size_t metric) {
  std::vector<long double> users;
  for (auto const& [user, queries] : values) {
    long double sum = 0, count = 0;
    for (auto const& query : queries)
      if (!std::isnan(query[metric])) {
        sum += query[metric];
        count += 1;
      }
    if (count > 0) users.push_back(sum / count);
  }
  Estimate result;
  result.users = users.size();
  if (users.empty()) return result;
  auto const count = static_cast<long double>(users.size());
  long double mean = 0, squares = 0;
  for (auto const x : users) mean += x / count;
  for (auto const x : users) squares += (x - mean) * (x - mean);
  result.value = static_cast<double>(mean);
  if (users.size() > 1) result.error = static_cast<double>(std::sqrt(squares / (count - 1) / count));
  return result;
}

void expect_estimate(Estimate const& found, Estimate const& wanted) {
  CHECK(found.users == wanted.users);
  CHECK(std::isnan(found.value) == std::isnan(wanted.value));
  CHECK(std::isnan(found.error) == std::isnan(wanted.error));
  if (!std::isnan(wanted.value))
    CHECK(std::abs(found.value - wanted.value) <= 1e-12 * std::max(1.0, std::abs(wanted.value)));
  if (!std::isnan(wanted.error)) CHECK(std::abs(found.error - wanted.error) <= 1e-10);
}

MethodScores const& scores_of(Evaluation const& evaluation, std::string const& method,
                              std::string const& activity = "all") {
  for (auto const& scores : evaluation.scores)
    if (scores.method == method && scores.activity == activity) return scores;
  FAIL("there are no scores of " << method << " for " << activity);
  return evaluation.scores.front();
}

/// Random sets whose items and users reach beyond the model's.
EvaluatedSets random_sets(Random& random, std::vector<std::uint64_t> const& extents, bool with_seen) {
  EvaluatedSets sets;
  sets.test.extents = sets.seen.extents = extents;
  for (auto& extent : sets.test.extents) extent += 1;
  auto const draw = [&](std::vector<std::uint64_t> const& within) {
    EvaluatedPlace place;
    for (auto const extent : within) place.push_back(random_below(random, extent));
    return place;
  };
  for (int i = 0; i < 90; ++i)
    append_entry(sets.test, draw(sets.test.extents), std::round(random_number(random) * 5) / 2);
  if (!with_seen) return sets;
  for (int i = 0; i < 150; ++i) {
    auto place = draw(sets.seen.extents);
    if (i % 3 == 0) place[0] = 1;  // an active user
    append_entry(sets.seen, place, 1);
    if (i % 7 == 0) append_entry(sets.seen, place, 2);  // repeated
  }
  return sets;
}

void expect_metrics(std::vector<std::uint64_t> const& extents, EvaluationOptions options, bool with_seen,
                    unsigned seed) {
  CAPTURE(extents, options.count, options.user_mode, options.item_mode, options.relevant, with_seen, seed);
  TestSpace const space;
  Random random(seed);
  auto const host  = random_model(random, extents, 2, 4, seed % 2 == 0);
  auto model       = to_device<double>(space, host);
  model.range      = {-0.1, 0.1};  // which ranks are not limited by
  auto const sets  = random_sets(random, extents, with_seen);
  auto const items = static_cast<std::size_t>(options.item_mode);
  std::vector<bool> has_entries(extents[items], true);
  if (seed % 3 == 0) {
    options.observed.resize(extents.size());
    for (std::size_t i = 0; i < extents[items]; ++i) {
      has_entries[i] = i % 5 != 2;
      options.observed[items].push_back(i % 5 != 2 ? 1 : 0);
    }
  }
  auto const test = to_device<double, std::uint32_t>(space, sets.test);
  CooTensor<double, std::uint32_t, TestSpace> seen;
  if (with_seen) seen = to_device<double, std::uint32_t>(space, sets.seen);
  auto const found = evaluate(space, model, test, options, seen);
  for (bool const popular : {false, true}) {
    if (popular && !with_seen) break;
    EvaluationOracle oracle{host, sets, options, has_entries};
    auto const values  = oracle.values(popular);
    auto const& scores = scores_of(found, popular ? "popular" : "model");
    CHECK(scores.users == values.size());
    for (std::size_t m = 0; m < oracle_metrics; ++m) {
      CAPTURE(metric_names[m], popular);
      expect_estimate(scores.metrics[m], oracle_estimate(values, m));
    }
    auto const candidates = std::count(has_entries.begin(), has_entries.end(), true);
    CHECK(scores[Metric::coverage].value ==
          static_cast<double>(oracle.recommended.size()) / static_cast<double>(candidates));
    if (!popular) CHECK(found.unreachable == oracle.unreachable);
  }
}

TEST_CASE("metrics of rankings are those of their definitions", "[fast_tucker][evaluate]") {
  unsigned seed = 0;
  for (bool const with_seen : {true, false})
    for (count_t const k : {1, 3, 100}) {
      expect_metrics({20, 17}, {.count = k}, with_seen, ++seed);
      expect_metrics({20, 17}, {.count = k, .relevant = 1.5, .rank_seen = true}, with_seen, ++seed);
      expect_metrics(
          {9, 4, 17},
          {.user_mode = 0, .item_mode = 2, .count = k, .rows_at_a_time = 5, .queries_at_a_time = 4},
          with_seen, ++seed);
      expect_metrics({17, 5, 9}, {.user_mode = 2, .item_mode = 0, .count = k, .average_contexts = true},
                     with_seen, ++seed);
      expect_metrics({5, 3, 13, 2}, {.user_mode = 0, .item_mode = 2, .count = k, .rows_at_a_time = 1},
                     with_seen, ++seed);
    }
}

TEST_CASE("a small evaluation by hand", "[fast_tucker][evaluate]") {
  TestSpace const space;
  // Items have the scores 3, 2, 2, 1 for each of two users.
  HostModel host;
  host.A = {HostMatrix(2, 1), HostMatrix(4, 1)};
  host.B = {HostMatrix(1, 1), HostMatrix(1, 1)};
  for (auto* matrices : {&host.A, &host.B})
    for (auto& matrix : *matrices) std::fill(matrix.data.begin(), matrix.data.end(), 1.0);
  host.A[1].data   = {3, 2, 2, 1};
  auto const model = to_device<double>(space, host);
  EvaluatedSets sets;
  sets.test.extents = {2, 4};
  append_entry(sets.test, {0, 2}, 4);
  append_entry(sets.test, {0, 3}, 2);
  append_entry(sets.test, {1, 0}, 1);
  auto const test = to_device<double, std::uint32_t>(space, sets.test);
  EvaluationOptions options{.count = 3, .per_user = true};
  auto const found = evaluate(space, model, test, options, {});
  REQUIRE(found.scores.size() == 1);
  auto const& all = found.scores[0];
  // User 0 has the list 0, 1, 2 with item 2 at rank 3; of 4 pairs one is in order, and one is a tie.
  CHECK(all[Metric::precision].value == Approx(1.0 / 3));
  CHECK(all[Metric::recall].value == Approx(0.75));
  CHECK(all[Metric::ndcg].value == Approx((2.0 / (4 + 2 / std::log2(3.0)) + 1) / 2));
  CHECK(all[Metric::map].value == Approx((1.0 / 6 + 1) / 2));
  CHECK(all[Metric::mrr].value == Approx((1.0 / 3 + 1) / 2));
  CHECK(all[Metric::hit_rate].value == 1);
  CHECK(all[Metric::auc].value == Approx((0.5 / 4 + 1) / 2));
  CHECK(std::isnan(all[Metric::novelty].value));
  CHECK(all[Metric::coverage].value == 0.75);
  CHECK(all[Metric::rmse].value == Approx(std::sqrt((4.0 + 1 + 4) / 3)));
  CHECK(all[Metric::mae].value == Approx(5.0 / 3));
  CHECK(found.user_rows == std::vector<count_t>{0, 1});
  CHECK(found.of_users.at(0).values.at(2 * metrics_of_user - 2) == 1);
  // Entries of 4 and more are relevant: user 1 has none.
  options.relevant = 4;
  auto const fewer = evaluate(space, model, test, options, {});
  CHECK(fewer.users == 1);
  CHECK(fewer.left_out == 1);
  CHECK(fewer.scores[0][Metric::recall].value == 1);
  CHECK(std::isnan(fewer.scores[0][Metric::recall].error));
  // RMSE and MAE stay those of all entries.
  CHECK(fewer.scores[0][Metric::rmse].value == all[Metric::rmse].value);
  options.relevant = 5;
  auto const none  = evaluate(space, model, test, options, {});
  CHECK(none.users == 0);
  CHECK(std::isnan(none.scores.at(0)[Metric::ndcg].value));
}

TEST_CASE("errors of entries and of unknown rows, for classes of users", "[fast_tucker][evaluate]") {
  TestSpace const space;
  Random random(5);
  auto const host  = random_model(random, {30, 12}, 2, 3, true);
  auto const model = to_device<double>(space, host);
  EvaluatedSets sets;
  sets.test.extents = sets.seen.extents = {31, 13};
  for (std::uint64_t u = 0; u < 31; ++u) {
    append_entry(sets.test, {u, (3 * u) % 13}, 1);
    append_entry(sets.test, {u, (5 * u + 1) % 13}, -2);
    for (std::uint64_t i = 0; i < u; ++i) append_entry(sets.seen, {u, (u + i) % 13}, 1);
  }
  // The targets of implicit feedback are 1 for all values above 0, and 0.
  bool const is_implicit = GENERATE(false, true);
  if (is_implicit)
    for (std::size_t p = 0; p < sets.test.nnz(); p += 2) sets.test.values[p] = 1 + static_cast<double>(p % 5);
  auto const found = evaluate(space, model, to_device<double, std::uint64_t>(space, sets.test),
                              {.count = 2, .implicit_targets = is_implicit},
                              to_device<double, std::uint64_t>(space, sets.seen));
  struct Sums {
    long double squares = 0, absolutes = 0, entries = 0;
  };
  std::map<std::string, Sums> sums;
  for (std::size_t p = 0; p < sets.test.nnz(); ++p) {
    std::uint64_t const u   = sets.test.index(p, 0);
    double const value      = sets.test.values[p];
    double const target     = !is_implicit ? value : value > 0 ? 1 : 0;
    long double const error = oracle_evaluated_score(host, {u, sets.test.index(p, 1)}) - target;
    for (std::string const activity : {"all", u < 4 ? "few" : u < 20 ? "some" : "many"}) {
      sums[activity].squares += error * error;
      sums[activity].absolutes += std::abs(error);
      sums[activity].entries += 1;
    }
  }
  for (auto const& [activity, sum] : sums) {
    CAPTURE(activity);
    auto const& scores = scores_of(found, "model", activity);
    CHECK(static_cast<long double>(scores.entries) == sum.entries);
    CHECK(scores[Metric::rmse].value == Approx(static_cast<double>(std::sqrt(sum.squares / sum.entries))));
    CHECK(scores[Metric::mae].value == Approx(static_cast<double>(sum.absolutes / sum.entries)));
    CHECK(scores[Metric::rmse].error > 0);
  }
  CHECK(scores_of(found, "model", "few").users + scores_of(found, "model", "some").users +
            scores_of(found, "model", "many").users ==
        31);
  // Biases alone rank all users' items alike, and predict values; the most popular items predict none.
  CHECK(scores_of(found, "biases")[Metric::rmse].value > 0);
  CHECK(std::isnan(scores_of(found, "popular")[Metric::rmse].value));
}

TEST_CASE("wrong arguments of an evaluation", "[fast_tucker][evaluate]") {
  TestSpace const space;
  Random random(2);
  auto const model = to_device<double>(space, random_model(random, {4, 3}, 1, 1, true));
  EvaluatedSets sets;
  sets.test.extents = {4, 3};
  append_entry(sets.test, {0, 1}, 1);
  auto const test    = to_device<double, std::uint32_t>(space, sets.test);
  using Tensor       = CooTensor<double, std::uint32_t, TestSpace>;
  auto const refused = [&](EvaluationOptions const& options, Tensor const& entries, Tensor const& seen) {
    CHECK_THROWS_AS(evaluate(space, model, entries, options, seen), UsageError);
  };
  refused({.user_mode = 1}, test, {});
  refused({.user_mode = 2}, test, {});
  refused({.item_mode = -1}, test, {});
  refused({.count = 0}, test, {});
  refused({.relevant = std::numeric_limits<double>::quiet_NaN()}, test, {});
  HostTensor wide{"wide", {4, 3, 2}, {0, 1, 1}, {1}};
  refused({}, to_device<double, std::uint32_t>(space, wide), {});
  refused({}, test, to_device<double, std::uint32_t>(space, wide));
  sets.test.values[0] = std::numeric_limits<double>::infinity();
  refused({}, to_device<double, std::uint32_t>(space, sets.test), {});
}

}  // namespace
}  // namespace polyad::test
