// SPDX-License-Identifier: BSD-3-Clause
// The options and the result of evaluate (fast_tucker/evaluate.hpp), and what they mean. Free of Kokkos.
//
// evaluate measures the recommendations of a FastTucker model on test entries, by the usual metrics of
// rankings, next to RMSE and MAE, and compares it with two baselines: the model's biases alone, and the most
// popular items.
//
// A user is a row of one mode, and an item is a row of another one. A query is a user with one row of each
// other mode (the contexts): all combinations that occur in relevant test entries. An entry is relevant if
// its value is above 0 and at least `relevant`. Entries of one item in one query count once, with the largest
// value. The candidates of a query are the items with entries in the training set, without those that `seen`
// has for the same user in any context. They are ranked as `recommend` does, before predictions are clipped,
// and the lower row comes first if scores are equal. Let L be the first k, T the relevant items of the query,
// and g(i) the value of a relevant item, 0 for others:
//
//   precision  |L and T| / k, also if there are fewer than k candidates
//   recall     |L and T| / |T|
//   ndcg       sum over the ranks r of L of g(r) / log2(1 + r), over the same sum for the k largest g of T
//   map        (1 / |T|) sum over the ranks r of relevant items in L of precision(r)
//   mrr        1 / rank of the first relevant item of L, or 0
//   hit_rate   1 if L has a relevant item, or 0
//   auc        the share of the pairs of a relevant and another candidate that are in the right order, exact
//              over all candidates; equal scores count one half
//   novelty    the mean over L of -log2(users with an entry of the item / users), both in `seen`; an item
//              without entries counts as one with one user
//   coverage   the share of the items with entries that are in L of at least one query
//
// Relevant items that are not candidates (unknown, without entries, or seen) stay in T and count as missed;
// the AUC leaves them out. A user's value is the mean over the user's queries. The value of a metric is the
// mean over users who have a relevant entry, and its error is the standard error of this mean: users are
// drawn, not entries. RMSE and MAE are those of all test entries, clipped, with errors for draws of users.
// The scores of implicit feedback are near 1 for any count, so they are compared with its targets instead.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

namespace polyad {

enum class Metric { precision, recall, ndcg, map, mrr, hit_rate, auc, novelty, coverage, rmse, mae };
inline constexpr std::array metric_names{"precision", "recall",  "ndcg",     "map",  "mrr", "hit_rate",
                                         "auc",       "novelty", "coverage", "rmse", "mae"};
/// The first metrics of the list have a value for each user.
inline constexpr std::size_t metrics_of_user = 8;

struct EvaluationOptions {
  int user_mode         = 0;
  int item_mode         = 1;
  std::uint64_t count   = 10;     // k, at most 2^31
  double relevant       = 0;      // entries of at least this value, and above 0, are relevant
  bool average_contexts = false;  // a query is a user, with means over the rows of all other modes
  bool rank_seen        = false;  // items that a user has seen stay candidates
  bool baselines        = true;   // biases and popular, where these are known
  bool per_user         = false;  // Evaluation::of_users
  bool implicit_targets = false;  // RMSE and MAE are distances from 1, of values above 0, and from 0
  std::vector<std::vector<std::uint8_t>> observed =
      {};                               // the rows with training entries, as RankingOptions has them
  std::uint64_t rows_at_a_time    = 0;  // as in RankingOptions: for tests
  std::uint64_t queries_at_a_time = 0;  // the same
};

/// An estimate that does not exist is NaN.
struct Estimate {
  double value        = std::numeric_limits<double>::quiet_NaN();
  double error        = std::numeric_limits<double>::quiet_NaN();  // the standard error; needs two users
  std::uint64_t users = 0;                                         // users that have a value
};

/// The metrics of one method over one class of users.
struct MethodScores {
  std::string method;         // "model", "biases" or "popular"
  std::string activity;       // "all"; or by entries in `seen`: "few" (0 to 3), "some" (4 to 19), "many"
  std::uint64_t users   = 0;  // users with relevant entries
  std::uint64_t entries = 0;  // test entries
  std::array<Estimate, metric_names.size()> metrics;
  [[nodiscard]] Estimate const& operator[](Metric metric) const {
    return metrics[static_cast<std::size_t>(metric)];
  }
};

/// The values of each user for one method: U x metrics_of_user, row-major.
struct UserScores {
  std::string method;
  std::vector<double> values;
};

struct Evaluation {
  std::vector<MethodScores> scores;  // by methods; of each "all" first, then classes that have test entries
  std::uint64_t entries  = 0;        // test entries
  std::uint64_t relevant = 0;        // items of queries that are relevant
  std::uint64_t users    = 0;        // users with relevant entries
  std::uint64_t queries  = 0;
  std::uint64_t left_out = 0;  // users of the test set without a relevant entry
  std::uint64_t unknown  = 0;  // queries with an index that the model does not have, or that has no entries
  std::uint64_t unreachable            = 0;   // relevant items that are not candidates
  std::uint64_t candidates             = 0;   // items with entries in the training set
  std::vector<std::uint64_t> user_rows = {};  // with per_user: the rows of the users, increasing
  std::vector<UserScores> of_users     = {};  // likewise
};

}  // namespace polyad
