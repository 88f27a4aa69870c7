// SPDX-License-Identifier: BSD-3-Clause
// The metrics of one query, and their means over users. Definitions: polyad/fast_tucker/evaluate.hpp.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <limits>
#include <span>
#include <vector>

#include "polyad/core/types.hpp"
#include "polyad/fast_tucker/evaluation.hpp"

namespace polyad::detail {

using MetricsOfUser = std::array<double, metrics_of_user>;

/// The relevant items of a query, in increasing order, and their gains.
struct RelevantItems {
  std::span<count_t const> items;
  std::span<double const> gains;

  /// The gain of an item, 0 if it is not relevant.
  [[nodiscard]] double gain(count_t item) const {
    auto const found = std::lower_bound(items.begin(), items.end(), item);
    return found != items.end() && *found == item ? gains[static_cast<std::size_t>(found - items.begin())]
                                                  : 0.0;
  }
  /// The largest DCG at k.
  [[nodiscard]] double ideal(count_t k) const {
    std::vector<double> best(gains.begin(), gains.end());
    std::sort(best.begin(), best.end(), std::greater<>());
    double sum = 0;
    for (std::size_t i = 0; i < best.size() && i < k; ++i)
      sum += best[i] / std::log2(2.0 + static_cast<double>(i));
    return sum;
  }
};

/// All but the AUC, which the scores decide.
/// \param list     the first items of the ranking, at most k
/// \param novelty  one number per item; empty: not known
inline MetricsOfUser query_metrics(std::span<count_t const> list, RelevantItems const& relevant, count_t k,
                                   std::span<double const> novelty) {
  double hits = 0, dcg = 0, precisions = 0, reciprocal = 0, surprise = 0;
  for (std::size_t i = 0; i < list.size(); ++i) {
    auto const rank = static_cast<double>(i + 1);
    if (!novelty.empty()) surprise += novelty[list[i]];
    double const gain = relevant.gain(list[i]);
    if (!(gain > 0)) continue;
    hits += 1;
    dcg += gain / std::log2(1 + rank);
    precisions += hits / rank;
    if (reciprocal == 0) reciprocal = 1 / rank;
  }
  auto const all  = static_cast<double>(relevant.items.size());
  auto const none = std::numeric_limits<double>::quiet_NaN();
  MetricsOfUser metrics{};
  auto const set = [&](Metric metric, double value) { metrics[static_cast<std::size_t>(metric)] = value; };
  set(Metric::precision, hits / static_cast<double>(k));
  set(Metric::recall, hits / all);
  set(Metric::ndcg, dcg / relevant.ideal(k));
  set(Metric::map, precisions / all);
  set(Metric::mrr, reciprocal);
  set(Metric::hit_rate, hits > 0 ? 1 : 0);
  set(Metric::auc, none);
  set(Metric::novelty, novelty.empty() || list.empty() ? none : surprise / static_cast<double>(list.size()));
  return metrics;
}

/// The mean of the numbers that are there, and its standard error.
inline Estimate mean_of(std::span<double const> numbers) {
  Estimate result;
  long double sum = 0, squares = 0;
  for (double const x : numbers) {
    if (std::isnan(x)) continue;
    sum += x;
    ++result.users;
  }
  if (result.users == 0) return result;
  auto const count       = static_cast<long double>(result.users);
  long double const mean = sum / count;
  result.value           = static_cast<double>(mean);
  for (double const x : numbers)
    if (!std::isnan(x)) squares += (x - mean) * (x - mean);
  if (result.users > 1) result.error = static_cast<double>(std::sqrt(squares / (count - 1) / count));
  return result;
}

/// Sums of errors of a user's entries.
struct ErrorsOfUser {
  double squares   = 0;
  double absolutes = 0;
  count_t entries  = 0;
};

/// sum of f(user) over the entries of the users, with the standard error of this ratio (Cochran, "Sampling
/// Techniques", 1977, section 6.4): users are drawn, with all their entries.
template <class F>
Estimate ratio_over_users(std::span<ErrorsOfUser const> users, F&& f) {
  Estimate result;
  long double sum = 0, entries = 0, squares = 0;
  for (auto const& user : users) {
    if (user.entries == 0) continue;
    ++result.users;
    sum += f(user);
    entries += static_cast<long double>(user.entries);
  }
  if (result.users == 0) return result;
  auto const count        = static_cast<long double>(result.users);
  long double const ratio = sum / entries;
  result.value            = static_cast<double>(ratio);
  for (auto const& user : users) {
    if (user.entries == 0) continue;
    long double const e = f(user) - ratio * static_cast<long double>(user.entries);
    squares += e * e;
  }
  if (result.users > 1)
    result.error = static_cast<double>(std::sqrt(squares * count / (count - 1)) / entries);
  return result;
}

inline Estimate rmse_of(std::span<ErrorsOfUser const> users) {
  auto result  = ratio_over_users(users, [](ErrorsOfUser const& user) { return user.squares; });
  result.value = std::sqrt(result.value);
  // The derivative of the root.
  result.error = result.value > 0 ? result.error / (2 * result.value) : result.error;
  return result;
}

inline Estimate mae_of(std::span<ErrorsOfUser const> users) {
  return ratio_over_users(users, [](ErrorsOfUser const& user) { return user.absolutes; });
}

}  // namespace polyad::detail
