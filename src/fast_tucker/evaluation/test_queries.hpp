// SPDX-License-Identifier: BSD-3-Clause
// TestQueries: the queries of a test set and their relevant items, in host memory.
#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

#include "polyad/core/error.hpp"
#include "polyad/fast_tucker/evaluation.hpp"
#include "polyad/fast_tucker/recommend.hpp"
#include "polyad/tensor/coo_tensor.hpp"

namespace polyad::detail {

/// A test set in host memory: P x N indices, row-major, and P values.
struct TestEntries {
  int order = 0;
  std::vector<count_t> indices;
  std::vector<double> values;
  [[nodiscard]] count_t nnz() const { return values.size(); }
  [[nodiscard]] count_t index(count_t p, int n) const {
    return indices[p * static_cast<count_t>(order) + static_cast<count_t>(n)];
  }
};

/// Waits for `space`. \throws UsageError for a value that is not finite
template <class Scalar, class Index, class Space>
TestEntries test_entries(Space const& space, CooTensor<Scalar, Index, Space> const& test) {
  using HostSpace = Kokkos::DefaultHostExecutionSpace;
  auto const host = download<HostSpace>(space, test);
  auto const N    = static_cast<count_t>(test.order());
  TestEntries entries;
  entries.order = test.order();
  entries.indices.reserve(checked_product("the coordinates of the test set", test.nnz(), N));
  entries.values.reserve(test.nnz());
  for (count_t p = 0; p < test.nnz(); ++p) {
    for (count_t n = 0; n < N; ++n) entries.indices.push_back(static_cast<count_t>(host.indices()(p, n)));
    entries.values.push_back(static_cast<double>(host.values()(p)));
    POLYAD_EXPECTS(std::isfinite(entries.values.back()), "the value of test entry ", p, " is not finite");
  }
  return entries;
}

/// Q queries, sorted by users. The relevant items of query q are those from starts[q] to starts[q + 1], in
/// increasing order, each once.
struct TestQueries {
  std::vector<count_t> indices;  // Q x (N - 1), as `recommend` takes them
  std::vector<count_t> seen_by;  // the same with every_row for contexts: any entry of the user is seen
  std::vector<count_t> users;    // Q: rows of the mode of users
  std::vector<count_t> starts;   // Q + 1
  std::vector<count_t> items;
  std::vector<double> gains;
  [[nodiscard]] count_t count() const { return users.size(); }
};

/// The order of entries in queries: by user, contexts, item, and the largest value first.
class QueryOrder {
public:
  QueryOrder(TestEntries const& entries, EvaluationOptions const& options) : m_entries(entries) {
    m_modes.push_back(options.user_mode);
    for (int n = 0; n < entries.order && !options.average_contexts; ++n)
      if (n != options.user_mode && n != options.item_mode) m_modes.push_back(n);
    m_item = options.item_mode;
  }
  [[nodiscard]] bool same_query(count_t p, count_t q) const { return compare(p, q) == 0; }
  [[nodiscard]] bool same_item(count_t p, count_t q) const {
    return m_entries.index(p, m_item) == m_entries.index(q, m_item);
  }
  [[nodiscard]] bool operator()(count_t p, count_t q) const {
    if (int const order = compare(p, q); order != 0) return order < 0;
    if (!same_item(p, q)) return m_entries.index(p, m_item) < m_entries.index(q, m_item);
    return m_entries.values[p] > m_entries.values[q];
  }

private:
  [[nodiscard]] int compare(count_t p, count_t q) const {
    for (int const n : m_modes)
      if (count_t const a = m_entries.index(p, n), b = m_entries.index(q, n); a != b) return a < b ? -1 : 1;
    return 0;
  }
  TestEntries const& m_entries;
  std::vector<int> m_modes;
  int m_item;
};

inline TestQueries test_queries(TestEntries const& entries, EvaluationOptions const& options) {
  std::vector<count_t> relevant;
  for (count_t p = 0; p < entries.nnz(); ++p)
    if (entries.values[p] > 0 && entries.values[p] >= options.relevant) relevant.push_back(p);
  QueryOrder const before(entries, options);
  std::sort(relevant.begin(), relevant.end(), before);
  TestQueries queries;
  for (std::size_t i = 0; i < relevant.size(); ++i) {
    count_t const p = relevant[i];
    bool const same = i > 0 && before.same_query(relevant[i - 1], p);
    if (same && before.same_item(relevant[i - 1], p)) continue;
    if (!same) {
      queries.starts.push_back(queries.items.size());
      queries.users.push_back(entries.index(p, options.user_mode));
      for (int n = 0; n < entries.order; ++n) {
        if (n == options.item_mode) continue;
        bool const is_user = n == options.user_mode;
        queries.indices.push_back(is_user || !options.average_contexts ? entries.index(p, n) : every_row);
        queries.seen_by.push_back(is_user ? entries.index(p, n) : every_row);
      }
    }
    queries.items.push_back(entries.index(p, options.item_mode));
    queries.gains.push_back(entries.values[p]);
  }
  queries.starts.push_back(queries.items.size());
  return queries;
}

/// What a rank evaluates: its users' entries of the test set and of the training set.
template <class Scalar, class Index, class Space>
struct OwnSets {
  TestEntries entries;
  TestQueries queries;
  CooTensor<Scalar, Index, Space> seen;
};

}  // namespace polyad::detail
