// SPDX-License-Identifier: BSD-3-Clause
// Scorer: the scores of methods over classes of users. Each rank has queries of its own users. What it finds
// of each user is gathered, so that all ranks compute the same means as one rank.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "distributed/rows_of_mode.hpp"
#include "fast_tucker/evaluation/popularity.hpp"
#include "fast_tucker/evaluation/query_metrics.hpp"
#include "fast_tucker/evaluation/test_queries.hpp"
#include "fast_tucker/search/row_classes.hpp"
#include "polyad/fast_tucker/recommend.hpp"

namespace polyad::detail {

/// The lists and AUCs of all queries for one model.
struct RankedQueries {
  Rankings lists;
  std::vector<double> auc;  // NaN: no pair
  count_t unreachable = 0;  // relevant items that are not candidates
};

/// The classes of users by their entries in the training set; class 0 has all.
inline constexpr std::array<char const*, 4> user_classes{"all", "few", "some", "many"};

inline count_t class_of(count_t entries) {
  return count_t(class_of_row(entries)) + 1;
}

/// Some users of all ranks, increasing, and the class of each.
struct UsersOfAll {
  std::vector<count_t> rows;
  std::vector<count_t> classes;
  [[nodiscard]] bool belongs(std::size_t u, std::size_t c) const { return c == 0 || classes[u] == c; }
};

/// All ranks call its functions together, and all throw if one does.
template <class Space>
class Scorer {
public:
  /// \param known       of the entries of this rank's users, but of all ranks' items
  /// \param candidates  the items with entries in the training set
  Scorer(Communicator<Space> const& ranks, TestEntries const& entries, TestQueries const& queries,
         Popularity const& known, EvaluationOptions const& options, count_t items, count_t candidates)
      : m_all(ranks),
        m_ranks(ranks.host()),
        m_entries(entries),
        m_queries(queries),
        m_known(known),
        m_options(options),
        m_items(items),
        m_candidates(candidates) {
    std::vector<count_t> entries_of_users, users;
    m_all.together([&] {
      for (count_t p = 0; p < entries.nnz(); ++p) m_own_users.push_back(entries.index(p, options.user_mode));
      std::sort(m_own_users.begin(), m_own_users.end());
      m_own_users.erase(std::unique(m_own_users.begin(), m_own_users.end()), m_own_users.end());
      entries_of_users.resize(m_own_users.size());
      for (count_t p = 0; p < entries.nnz(); ++p)
        ++entries_of_users[number_of(entries.index(p, options.user_mode))];
      for (count_t i = 0; i < items && known.users > 0; ++i) {
        count_t const users_of_item = i < known.users_of_items.size() ? known.users_of_items[i] : 0;
        m_novelty.push_back(std::log2(static_cast<double>(known.users)) -
                            std::log2(static_cast<double>(std::max<count_t>(users_of_item, 1))));
      }
      for (count_t q = 0; q < queries.count(); ++q)
        if (users.empty() || users.back() != queries.users[q]) users.push_back(queries.users[q]);
    });
    m_test_users       = of_all(m_own_users);
    m_users            = of_all(users);
    m_entries_of_users = gathered(m_ranks, entries_of_users);
  }

  /// The users of all ranks who have a relevant entry.
  [[nodiscard]] std::vector<count_t> const& users() const { return m_users.rows; }

  /// Users of the test set without a relevant entry.
  [[nodiscard]] count_t users_left_out() const { return m_test_users.rows.size() - m_users.rows.size(); }

  /// \param ranked       the queries of this rank
  /// \param predictions  those of this rank's test entries; null: the method predicts no values
  void add(std::string const& method, RankedQueries const& ranked, std::vector<double> const* predictions,
           Evaluation& result) const {
    auto const values  = gathered(m_ranks, m_all.together([&] { return values_of_users(ranked); }));
    auto const covered = covered_items(ranked);
    std::vector<ErrorsOfUser> errors;
    if (predictions != nullptr) errors = errors_of_users(*predictions);
    for (std::size_t c = 0; c < user_classes.size(); ++c) {
      if (c > 0 && m_known.users == 0) break;
      MethodScores scores;
      scores.method   = method;
      scores.activity = user_classes[c];
      std::vector<double> column;
      for (std::size_t m = 0; m < metrics_of_user; ++m) {
        column.clear();
        for (std::size_t u = 0; u < m_users.rows.size(); ++u)
          if (m_users.belongs(u, c)) column.push_back(values[u * metrics_of_user + m]);
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
    if (m_options.per_user) result.of_users.push_back({method, values});
  }

private:
  [[nodiscard]] count_t class_of_user(count_t user) const {
    return class_of(user < m_known.entries_of_users.size() ? m_known.entries_of_users[user] : 0);
  }
  /// \param own  this rank's
  [[nodiscard]] UsersOfAll of_all(std::vector<count_t> const& own) const {
    auto const classes = m_all.together([&] {
      std::vector<count_t> numbers;
      for (count_t const user : own) numbers.push_back(class_of_user(user));
      return numbers;
    });
    return {gathered(m_ranks, own), gathered(m_ranks, classes)};
  }
  /// A user's place among those of this rank with test entries.
  [[nodiscard]] std::size_t number_of(count_t user) const {
    return std::lower_bound(m_own_users.begin(), m_own_users.end(), user) - m_own_users.begin();
  }

  [[nodiscard]] count_t entries_of(std::size_t c) const {
    count_t count = 0;
    for (std::size_t u = 0; u < m_entries_of_users.size(); ++u)
      count += m_test_users.belongs(u, c) ? m_entries_of_users[u] : 0;
    return count;
  }

  /// The mean of each user's queries, of those that have a value: U x metrics_of_user, of this rank's users.
  [[nodiscard]] std::vector<double> values_of_users(RankedQueries const& ranked) const {
    std::vector<double> values;
    MetricsOfUser sums{};
    std::array<count_t, metrics_of_user> counts{};
    for (count_t q = 0; q < m_queries.count(); ++q) {
      auto metrics = query_metrics(list_of(ranked, q), relevant_of(q), m_options.count, m_novelty);
      metrics[static_cast<std::size_t>(Metric::auc)] = ranked.auc[q];
      for (std::size_t m = 0; m < metrics_of_user; ++m)
        if (!std::isnan(metrics[m])) {
          sums[m] += metrics[m];
          ++counts[m];
        }
      bool const is_last = q + 1 == m_queries.count() || m_queries.users[q + 1] != m_queries.users[q];
      if (!is_last) continue;
      for (std::size_t m = 0; m < metrics_of_user; ++m)
        values.push_back(counts[m] > 0 ? sums[m] / static_cast<double>(counts[m])
                                       : std::numeric_limits<double>::quiet_NaN());
      sums   = {};
      counts = {};
    }
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

  /// How many items are in lists of each class of users, of all ranks.
  [[nodiscard]] std::array<count_t, user_classes.size()> covered_items(RankedQueries const& ranked) const {
    auto const marks = m_all.together([&] {
      std::vector<count_t> lists(m_items, 0);  // 16 bits for each class: ranks that have the item in a list
      for (count_t q = 0; q < m_queries.count(); ++q)
        for (count_t const item : list_of(ranked, q))
          lists[item] |= 1U | (count_t(1) << 16 * class_of_user(m_queries.users[q]));
      return lists;
    });
    std::array<count_t, user_classes.size()> covered{};
    for (auto const mark : summed(m_ranks, marks))
      for (std::size_t c = 0; c < user_classes.size(); ++c)
        covered[c] += (mark >> 16 * c & 0xFFFFU) > 0 ? 1 : 0;
    return covered;
  }

  /// Those of all ranks' users with test entries.
  [[nodiscard]] std::vector<ErrorsOfUser> errors_of_users(std::vector<double> const& predictions) const {
    auto const sums = m_all.together([&] {
      std::vector<double> numbers(2 * m_own_users.size());
      for (count_t p = 0; p < m_entries.nnz(); ++p) {
        std::size_t const u = number_of(m_entries.index(p, m_options.user_mode));
        double const value  = m_entries.values[p];
        double const truth  = !m_options.implicit_targets ? value : value > 0 ? 1 : 0;
        double const e      = truth - predictions[p];
        numbers[2 * u] += e * e;
        numbers[2 * u + 1] += std::abs(e);
      }
      return numbers;
    });
    auto const all  = gathered(m_ranks, sums);
    std::vector<ErrorsOfUser> errors;
    for (std::size_t u = 0; u < m_entries_of_users.size(); ++u)
      errors.push_back({all[2 * u], all[2 * u + 1], m_entries_of_users[u]});
    return errors;
  }
  void add_errors(std::vector<ErrorsOfUser> const& errors, std::size_t c, MethodScores& scores) const {
    std::vector<ErrorsOfUser> of_class;
    for (std::size_t u = 0; u < errors.size(); ++u)
      if (m_test_users.belongs(u, c)) of_class.push_back(errors[u]);
    scores.metrics[static_cast<std::size_t>(Metric::rmse)] = rmse_of(of_class);
    scores.metrics[static_cast<std::size_t>(Metric::mae)]  = mae_of(of_class);
  }

  AllRanks<Space> m_all;
  RankGroup m_ranks;
  TestEntries const& m_entries;
  TestQueries const& m_queries;
  Popularity const& m_known;
  EvaluationOptions const& m_options;
  count_t m_items;
  count_t m_candidates;
  std::vector<count_t> m_own_users;         // rows of this rank with test entries, increasing
  UsersOfAll m_test_users;                  // the same of all ranks
  UsersOfAll m_users;                       // those with relevant entries, of all ranks
  std::vector<count_t> m_entries_of_users;  // the test entries of each of m_test_users
  std::vector<double> m_novelty;
};

}  // namespace polyad::detail
