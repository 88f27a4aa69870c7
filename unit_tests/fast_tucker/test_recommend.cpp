// SPDX-License-Identifier: BSD-3-Clause
// The best rows of a mode against all rows, scored by the definition and sorted.
#include "polyad/fast_tucker/recommend.hpp"

#include <Kokkos_Core.hpp>
#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <set>
#include <vector>

#include "fast_tucker/oracle.hpp"
#include "support/catch.hpp"

namespace polyad::test {
namespace {

using Query = std::vector<count_t>;  // an index of each mode but one, or every_row

/// The mean of the oracle's predictions over all rows of the modes that are averaged over.
long double oracle_score(HostModel const& model, std::size_t mode, Query const& query, std::uint64_t row) {
  std::size_t const order = model.order();
  std::vector<std::uint64_t> at(order);
  long double score = model.mean;
  std::vector<std::vector<long double>> c(order);
  for (std::size_t n = 0, position = 0; n < order; ++n) {
    count_t const index = n == mode ? row : query[position++];
    auto const of_row   = [&](std::uint64_t i, std::size_t r) {
      long double sum = 0;
      for (std::size_t j = 0; j < model.A[n].columns; ++j)
        sum += static_cast<long double>(model.A[n](i, j)) * model.B[n](j, r);
      return sum;
    };
    std::uint64_t const rows = model.A[n].rows;
    c[n].assign(model.rank(), 0);
    if (index == every_row) {
      for (std::uint64_t i = 0; i < rows; ++i) {
        for (std::size_t r = 0; r < model.rank(); ++r)
          c[n][r] += of_row(i, r) / static_cast<long double>(rows);
        if (!model.bias.empty()) score += model.bias[n][i] / static_cast<long double>(rows);
      }
    } else if (index < rows) {
      for (std::size_t r = 0; r < model.rank(); ++r) c[n][r] = of_row(index, r);
      if (!model.bias.empty()) score += model.bias[n][index];
    }
  }
  for (std::size_t r = 0; r < model.rank(); ++r) {
    long double product = 1;
    for (std::size_t n = 0; n < order; ++n) product *= c[n][r];
    score += product;
  }
  return score;
}

/// Row by row: of scores that differ by more than rounding, the order is the oracle's.
void expect_best(Rankings const& found, std::size_t q, std::vector<std::optional<long double>> const& scores,
                 count_t wanted, long double tolerance) {
  std::vector<long double> sorted;
  for (auto const& score : scores)
    if (score) sorted.push_back(*score);
  std::sort(sorted.begin(), sorted.end(), std::greater<>());
  count_t const count = std::min<count_t>(wanted, sorted.size());
  REQUIRE(found.starts[q + 1] - found.starts[q] == count);
  std::set<count_t> rows;
  for (count_t i = 0; i < count; ++i) {
    count_t const row = found.rows[found.starts[q] + i];
    REQUIRE(row < scores.size());
    REQUIRE(scores[row]);  // not left out
    CHECK(rows.insert(row).second);
    CHECK(std::abs(found.scores[found.starts[q] + i] - *scores[row]) <= tolerance);
    CHECK(std::abs(*scores[row] - sorted[i]) <= 2 * tolerance);
  }
}

template <class Scalar, class Index>
void expect_recommendations(std::size_t order, std::size_t rank, bool biases, RankingOptions options) {
  CAPTURE(order, rank, biases, options.count, options.rows_at_a_time, options.queries_at_a_time);
  TestSpace const space;
  Random random(order + 10 * rank);
  std::vector<std::uint64_t> extents{61, 7, 5, 4, 3};
  extents.resize(order);
  std::rotate(extents.begin(), extents.begin() + static_cast<std::ptrdiff_t>(rank % order), extents.end());
  auto const host  = random_model(random, extents, 3, rank, biases);
  auto const model = to_device<Scalar>(space, host);
  for (std::size_t mode = 0; mode < order; ++mode) {
    std::vector<Query> queries;
    std::vector<count_t> flat_queries;
    count_t unknown = 0;
    for (std::size_t q = 0; q < 9; ++q) {
      Query query;
      bool cold = false;
      for (std::size_t n = 0; n < order; ++n) {
        if (n == mode) continue;
        auto const pick = static_cast<count_t>(std::abs(random_number(random) + 1) * 1000);
        query.push_back(q % 3 == 1 && pick % 2 == 0 ? every_row : pick % (extents[n] + (q == 8 ? 2 : 0)));
        cold = cold || (query.back() != every_row && query.back() >= extents[n]);
      }
      if (q == 7) query = queries[2];  // twice
      cold = cold && q != 7;
      unknown += cold ? 1 : 0;
      queries.push_back(query);
      flat_queries.insert(flat_queries.end(), query.begin(), query.end());
    }
    // Entries that were seen: some of a query's, one beyond the extents, and all of query 0.
    HostTensor seen{"seen", extents, {}, {}};
    for (auto& extent : seen.extents) extent += 2;
    auto const see = [&](Query const& query, std::uint64_t row) {
      for (std::size_t n = 0, position = 0; n < order; ++n) {
        count_t const index = n == mode ? row : query[position++];
        seen.indices.push_back(index == every_row ? 0 : index);
      }
      seen.values.push_back(1);
    };
    for (std::uint64_t row = 0; row < extents[mode] + 2; ++row) see(queries[0], row);
    for (std::size_t q = 1; q < 9; ++q) {
      see(queries[q], q % extents[mode]);
      see(queries[q], (2 * q) % extents[mode]);
    }
    auto const was_seen = [&](Query const& query, std::uint64_t row) {
      for (std::size_t p = 0; p < seen.nnz(); ++p) {
        bool same = seen.index(p, mode) == row;
        for (std::size_t n = 0, position = 0; n < order; ++n) {
          if (n == mode) continue;
          count_t const index = query[position++];
          same                = same && (index == every_row || index == seen.index(p, n));
        }
        if (same) return true;
      }
      return false;
    };
    auto const found = recommend(space, model, static_cast<int>(mode), std::span<count_t const>(flat_queries),
                                 options, to_device<Scalar, Index>(space, seen));
    auto const all =
        recommend(space, model, static_cast<int>(mode), std::span<count_t const>(flat_queries), options);
    CHECK(found.unknown == unknown);
    REQUIRE(found.starts.size() == 10);
    CHECK(found.starts[1] == 0);  // query 0 has seen all
    for (std::size_t q = 0; q < queries.size(); ++q) {
      std::vector<std::optional<long double>> scores, unseen;
      long double largest = 1;
      for (std::uint64_t row = 0; row < extents[mode]; ++row) {
        scores.emplace_back(oracle_score(host, mode, queries[q], row));
        largest = std::max(largest, std::abs(*scores.back()));
        unseen.push_back(was_seen(queries[q], row) ? std::nullopt : scores.back());
      }
      long double const tolerance = 400 * std::numeric_limits<Scalar>::epsilon() * largest;
      expect_best(all, q, scores, options.count, tolerance);
      expect_best(found, q, unseen, options.count, tolerance);
    }
  }
}

TEST_CASE("recommendations are the best of all rows", "[fast_tucker][recommend]") {
  for (std::size_t const order : {2, 3, 4, 5}) {
    expect_recommendations<double, std::uint32_t>(order, 3, true, {.count = 4});
    expect_recommendations<double, std::uint64_t>(order, 7, order % 2 == 0, {.count = 1000});
    expect_recommendations<float, std::uint32_t>(order, 40, order % 2 == 1, {.count = 5});
    // Blocks smaller than the candidates and the queries, and fewer rows than requested.
    expect_recommendations<double, std::uint32_t>(order, 2, true,
                                                  {.count = 6, .rows_at_a_time = 5, .queries_at_a_time = 2});
    expect_recommendations<float, std::uint64_t>(order, 5, true,
                                                 {.count = 30, .rows_at_a_time = 7, .queries_at_a_time = 4});
  }
}

/// A matrix model of one column: the prediction for row k of mode 1 is values[k], exactly.
FastTuckerModel<double, TestSpace> model_of_values(TestSpace const& space,
                                                   std::vector<double> const& values) {
  Random random(1);
  auto host = random_model(random, {1, values.size()}, 1, 1, false);
  for (auto* matrices : {&host.A, &host.B})
    for (auto& matrix : *matrices) {
      matrix.columns = matrices == &host.A ? 1 : matrix.columns;
      if (matrices == &host.B) matrix.rows = 1;
      matrix.data.assign(matrix.rows * matrix.columns, 1.0);
    }
  host.A[1].data = values;
  return to_device<double>(space, host);
}

TEST_CASE("of equal predictions the lower row comes first, in any blocks", "[fast_tucker][recommend]") {
  TestSpace const space;
  Random random(5);
  std::vector<double> values(20000);
  for (auto& x : values) x = std::floor(8 * random_number(random));  // 16 numbers, 0 and -0 among them
  for (std::size_t i = 0; i < values.size(); i += 3)
    if (values[i] == 0) values[i] = -0.0;
  std::vector<count_t> order(values.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::stable_sort(order.begin(), order.end(), [&](count_t a, count_t b) { return values[a] > values[b]; });
  std::vector<count_t> const query{0, 0, 0};
  auto const model = model_of_values(space, values);
  for (count_t const count : {1, 10, 1300, 11000, 20000, 30000})
    for (count_t const block : {0, 999, 1 << 14}) {
      CAPTURE(count, block);
      auto const found = recommend(space, model, 1, std::span<count_t const>(query),
                                   {.count = count, .rows_at_a_time = block});
      std::vector<count_t> wanted(
          order.begin(), order.begin() + std::min<std::ptrdiff_t>(static_cast<std::ptrdiff_t>(count), 20000));
      for (int q = 0; q < 3; ++q)
        CHECK(std::vector<count_t>(found.rows.begin() + static_cast<std::ptrdiff_t>(found.starts[q]),
                                   found.rows.begin() + static_cast<std::ptrdiff_t>(found.starts[q + 1])) ==
              wanted);
    }
}

TEST_CASE("scores are what is ranked, not clipped", "[fast_tucker][recommend]") {
  TestSpace const space;
  auto model  = model_of_values(space, {1, 7, 9, 2, 8, -5});
  model.range = {0, 5};
  std::vector<count_t> const query{0};
  auto const found = recommend(space, model, 1, std::span<count_t const>(query), {.count = 6});
  CHECK(found.rows == std::vector<count_t>{2, 4, 1, 3, 0, 5});
  CHECK(found.scores == std::vector<double>{9, 8, 7, 2, 1, -5});
}

TEST_CASE("similar rows are those of the largest cosines", "[fast_tucker][recommend]") {
  TestSpace const space;
  Random random(9);
  for (std::size_t const order : {2, 4}) {
    std::vector<std::uint64_t> extents{40, 23, 5, 6};
    extents.resize(order);
    auto host = random_model(random, extents, 3, 6, true);
    for (std::size_t j = 0; j < host.A[0].columns; ++j) host.A[0].data[7 * host.A[0].columns + j] = 0;
    auto const model = to_device<double>(space, host);
    for (std::size_t mode = 0; mode < order; ++mode) {
      std::vector<count_t> rows{3, 0, 3, 4};
      auto const found =
          similar(space, model, static_cast<int>(mode), std::span<count_t const>(rows),
                  {.count = 8, .rows_at_a_time = mode == 0 ? count_t(9) : 0, .queries_at_a_time = 3});
      // What a row adds to the predictions for all rows of the other modes.
      auto const c_of = [&](std::size_t n, std::uint64_t i, std::size_t r) {
        long double sum = 0;
        for (std::size_t j = 0; j < host.A[n].columns; ++j)
          sum += static_cast<long double>(host.A[n](i, j)) * host.B[n](j, r);
        return sum;
      };
      auto const c = [&](std::uint64_t i) {
        std::vector<std::vector<long double>> products(1);
        for (std::size_t r = 0; r < 6; ++r) products[0].push_back(c_of(mode, i, r));
        for (std::size_t n = 0; n < order; ++n) {
          if (n == mode) continue;
          std::vector<std::vector<long double>> longer;
          for (auto const& product : products)
            for (std::uint64_t k = 0; k < extents[n]; ++k) {
              longer.push_back(product);
              for (std::size_t r = 0; r < 6; ++r) longer.back()[r] *= c_of(n, k, r);
            }
          products = std::move(longer);
        }
        std::vector<long double> row;
        for (auto const& product : products) {
          long double sum = 0;
          for (long double const x : product) sum += x;
          row.push_back(sum);
        }
        return row;
      };
      for (std::size_t q = 0; q < rows.size(); ++q) {
        std::vector<std::optional<long double>> cosines(extents[mode]);
        auto const own = c(rows[q]);
        for (std::uint64_t k = 0; k < extents[mode]; ++k) {
          if (k == rows[q]) continue;
          auto const other = c(k);
          long double dot = 0, left = 0, right = 0;
          for (std::size_t r = 0; r < own.size(); ++r) {
            dot += own[r] * other[r];
            left += own[r] * own[r];
            right += other[r] * other[r];
          }
          cosines[k] = left * right > 0 ? dot / std::sqrt(left * right) : 0;
        }
        expect_best(found, q, cosines, 8, 1e-11L);
      }
    }
  }
  // Rows whose squares leave the range of numbers.
  auto const model = model_of_values(space, {1e300, -1e-300, 2e-300, 0, 1e200});
  std::vector<count_t> const row{0};
  auto const found = similar(space, model, 1, std::span<count_t const>(row));
  CHECK(found.rows == std::vector<count_t>{2, 4, 3, 1});
  CHECK(found.scores == std::vector<double>{1, 1, 0, -1});
}

TEST_CASE("similar rows do not depend on the scale of columns", "[fast_tucker][recommend]") {
  TestSpace const space;
  Random random(12);
  auto host               = random_model(random, {30, 20, 6}, 4, 4, true);
  auto scaled             = host;
  double const factors[4] = {1000, 1, 0.01, -3};
  for (std::size_t r = 0; r < 4; ++r) {
    for (std::size_t j = 0; j < host.B[1].rows; ++j) scaled.B[1](j, r) *= factors[r];
    for (std::size_t j = 0; j < host.B[0].rows; ++j) scaled.B[0](j, r) /= factors[r];
  }
  std::vector<count_t> const rows{2, 9};
  auto const ask = [&](auto const& of) {
    return similar(space, to_device<double>(space, of), 1, std::span<count_t const>(rows), {.count = 19});
  };
  auto const found = ask(host), other = ask(scaled);
  CHECK(found.rows == other.rows);
  for (std::size_t i = 0; i < found.scores.size(); ++i)
    CHECK(std::abs(found.scores[i] - other.scores[i]) < 1e-9);
}

TEST_CASE("queries that make no sense are refused", "[fast_tucker][recommend]") {
  TestSpace const space;
  Random random(2);
  auto const host  = random_model(random, {6, 5, 4}, 2, 3, true);
  auto const model = to_device<double>(space, host);
  std::vector<count_t> const two{1, 1}, three{1, 1, 1}, none;
  auto const ask = [&](int mode, std::vector<count_t> const& queries, count_t count) {
    return recommend(space, model, mode, std::span<count_t const>(queries), {.count = count});
  };
  CHECK_THROWS_AS(ask(3, two, 1), UsageError);
  CHECK_THROWS_AS(ask(-1, two, 1), UsageError);
  CHECK_THROWS_AS(ask(1, three, 1), UsageError);
  CHECK_THROWS_AS(ask(1, two, 0), UsageError);
  CHECK(ask(1, none, 1).rows.empty());
  CHECK(ask(1, none, 1).starts == std::vector<count_t>{0});
  std::vector<count_t> const beyond{5};
  CHECK_THROWS_AS(similar(space, model, 1, std::span<count_t const>(beyond)), UsageError);
  HostTensor seen{"order 2", {6, 5}, {1, 1}, {1.0}};
  CHECK_THROWS_AS(recommend(space, model, 1, std::span<count_t const>(two), {},
                            to_device<double, std::uint32_t>(space, seen)),
                  UsageError);
  auto const too_large = model_of_values(space, {1, std::numeric_limits<double>::quiet_NaN(), 2});
  std::vector<count_t> const first{0};
  CHECK_THROWS_AS(recommend(space, too_large, 1, std::span<count_t const>(first)), NumericalError);
}

}  // namespace
}  // namespace polyad::test
