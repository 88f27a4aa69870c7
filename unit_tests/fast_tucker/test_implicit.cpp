// SPDX-License-Identifier: BSD-3-Clause
// Implicit feedback against its definition: loops over all cells in long double.
#include <Kokkos_Core.hpp>
#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <map>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "fast_tucker/oracle.hpp"
#include "io/temporary_folder.hpp"
#include "polyad/fast_tucker/fast_tucker.hpp"
#include "polyad/fast_tucker/recommend.hpp"
#include "polyad/formats/capability.hpp"
#include "support/catch.hpp"
#include "support/format_list.hpp"
#include "support/instances.hpp"
#include "support/message_of.hpp"

namespace polyad::test {
namespace {

using LongMatrix = std::vector<std::vector<long double>>;

/// A model in long double: A^(n) by rows, and B^(n).
struct ImplicitOracle {
  std::vector<std::uint64_t> extents;
  std::vector<LongMatrix> A, B;
  std::map<std::vector<std::uint64_t>, long double> values;  // repeated entries are summed
  long double alpha = 1, ridge = 1;
  bool per_entry = false;

  [[nodiscard]] std::size_t order() const { return extents.size(); }
  [[nodiscard]] std::size_t rank() const { return B[0][0].size(); }

  void for_each_cell(std::function<void(std::vector<std::uint64_t> const&)> const& f) const {
    std::vector<std::uint64_t> cell(order());
    for (;;) {
      f(cell);
      std::size_t n = order();
      while (n > 0 && ++cell[n - 1] == extents[n - 1]) cell[--n] = 0;
      if (n == 0) return;
    }
  }
  [[nodiscard]] long double value(std::vector<std::uint64_t> const& cell) const {
    auto const found = values.find(cell);
    return found == values.end() ? 0 : found->second;
  }
  [[nodiscard]] long double c(std::size_t n, std::uint64_t k, std::size_t r) const {
    long double sum = 0;
    for (std::size_t j = 0; j < B[n].size(); ++j) sum += A[n][k][j] * B[n][j][r];
    return sum;
  }
  [[nodiscard]] long double score(std::vector<std::uint64_t> const& cell) const {
    long double sum = 0;
    for (std::size_t r = 0; r < rank(); ++r) {
      long double product = 1;
      for (std::size_t n = 0; n < order(); ++n) product *= c(n, cell[n], r);
      sum += product;
    }
    return sum;
  }
  [[nodiscard]] long double row_ridge(std::size_t n, std::uint64_t k) const {
    if (!per_entry) return ridge;
    long double count = 0;
    for (auto const& [cell, x] : values) count += cell[n] == k ? 1 : 0;
    return ridge * count;
  }
  [[nodiscard]] long double objective() const {
    long double loss = 0;
    for_each_cell([&](auto const& cell) {
      long double const x = value(cell), e = (x > 0 ? 1 : 0) - score(cell);
      loss += (1 + alpha * x) * e * e;
    });
    for (std::size_t n = 0; n < order(); ++n)
      for (std::uint64_t k = 0; k < extents[n]; ++k)
        for (long double const a : A[n][k]) loss += row_ridge(n, k) * a * a;
    return loss;
  }
  /// Solves M a = y by elimination with pivots.
  static std::vector<long double> solved(LongMatrix M, std::vector<long double> y) {
    std::size_t const J = y.size();
    for (std::size_t k = 0; k < J; ++k) {
      std::size_t best = k;
      for (std::size_t i = k; i < J; ++i)
        if (std::abs(M[i][k]) > std::abs(M[best][k])) best = i;
      std::swap(M[k], M[best]);
      std::swap(y[k], y[best]);
      for (std::size_t i = k + 1; i < J; ++i) {
        long double const l = M[i][k] / M[k][k];
        for (std::size_t j = k; j < J; ++j) M[i][j] -= l * M[k][j];
        y[i] -= l * y[k];
      }
    }
    for (std::size_t k = J; k-- > 0;) {
      for (std::size_t j = k + 1; j < J; ++j) y[k] -= M[k][j] * y[j];
      y[k] /= M[k][k];
    }
    return y;
  }
  void sweep() {
    for (std::size_t n = 0; n < order(); ++n) {
      std::size_t const J = B[n].size();
      std::vector<LongMatrix> M(extents[n], LongMatrix(J, std::vector<long double>(J)));
      LongMatrix y(extents[n], std::vector<long double>(J));
      for_each_cell([&](auto const& cell) {
        std::vector<long double> w(J);
        for (std::size_t r = 0; r < rank(); ++r) {
          long double product = 1;
          for (std::size_t m = 0; m < order(); ++m)
            if (m != n) product *= c(m, cell[m], r);
          for (std::size_t j = 0; j < J; ++j) w[j] += B[n][j][r] * product;
        }
        long double const x = value(cell);
        for (std::size_t i = 0; i < J; ++i) {
          if (x > 0) y[cell[n]][i] += (1 + alpha * x) * w[i];
          for (std::size_t j = 0; j < J; ++j) M[cell[n]][i][j] += (1 + alpha * x) * w[i] * w[j];
        }
      });
      for (std::uint64_t k = 0; k < extents[n]; ++k) {
        bool const is_empty = std::all_of(y[k].begin(), y[k].end(), [](auto z) { return z == 0; });
        for (std::size_t i = 0; i < J; ++i) M[k][i][i] += row_ridge(n, k);
        A[n][k] = is_empty ? std::vector<long double>(J) : solved(M[k], y[k]);
      }
    }
  }
};

/// Counts at random places. Places may repeat, counts may be 0, and the last row of each mode has none.
HostTensor random_clicks(Random& random, std::vector<std::uint64_t> const& extents, std::size_t nnz) {
  auto fewer = extents;
  for (auto& extent : fewer)
    if (extent > 3) --extent;
  auto clicks    = random_tensor(random, fewer, nnz);
  clicks.extents = extents;
  for (double& x : clicks.values) x = std::floor(2 * (std::abs(x) - 0.5));
  return clicks;
}

FastTuckerOptions implicit_options(count_t rank, std::vector<count_t> columns = {}) {
  FastTuckerOptions options;
  options.implicit   = 5;
  options.ridge      = 0.7;
  options.rank       = rank;
  options.columns    = std::move(columns);
  options.cg_steps   = 0;  // exact rows
  options.max_epochs = 1;
  options.seed       = 3;
  return options;
}

/// The start of a run with these options, as the library makes it.
template <class Scalar>
ImplicitOracle implicit_oracle(HostTensor const& clicks, FastTuckerOptions const& options) {
  TestSpace const space;
  auto const shaped = with_shape(options, static_cast<int>(clicks.order()));
  FastTuckerModel<Scalar, TestSpace> const model(space, Extents(std::span<count_t const>(clicks.extents)),
                                                 shaped.columns, shaped.rank, false);
  fill_start(space, model, 1, options.seed);
  ImplicitOracle oracle;
  oracle.extents   = clicks.extents;
  oracle.alpha     = *options.implicit;
  oracle.ridge     = *shaped.ridge;
  oracle.per_entry = options.ridge_per_entry;
  auto const rows  = [](std::vector<double> const& numbers, std::size_t columns) {
    LongMatrix matrix;
    for (std::size_t i = 0; i < numbers.size(); i += columns)
      matrix.emplace_back(numbers.begin() + static_cast<std::ptrdiff_t>(i),
                          numbers.begin() + static_cast<std::ptrdiff_t>(i + columns));
    return matrix;
  };
  for (int n = 0; n < model.order(); ++n) {
    oracle.A.push_back(rows(flat(model.A(n)), model.columns(n)));
    oracle.B.push_back(rows(flat(model.B(n)), model.rank()));
  }
  for (std::size_t p = 0; p < clicks.nnz(); ++p) {
    std::vector<std::uint64_t> cell;
    for (std::size_t n = 0; n < clicks.order(); ++n) cell.push_back(clicks.index(p, n));
    oracle.values[cell] += clicks.values[p];
  }
  return oracle;
}

/// All cells as entries, to predict them.
HostTensor cells_of_oracle(ImplicitOracle const& oracle) {
  HostTensor cells{"cells", oracle.extents, {}, {}};
  oracle.for_each_cell([&](auto const& cell) {
    cells.indices.insert(cells.indices.end(), cell.begin(), cell.end());
    cells.values.push_back(0);
  });
  return cells;
}

template <class Scalar>
FastTuckerData<Scalar, std::uint32_t, TestSpace> clicks_data(HostTensor const& clicks, bool on_host) {
  TestSpace const space;
  FastTuckerData<Scalar, std::uint32_t, TestSpace> data;
  data.train = to_device<Scalar, std::uint32_t>(space, clicks);
  if (!on_host) return data;
  data.train_on_host = download<HostOf<TestSpace>>(space, data.train);
  data.train         = {};
  return data;
}

/// Scores and objectives of a run are those of the definition.
template <class Scalar>
void expect_definition(HostTensor const& clicks, FastTuckerOptions const& options,
                       std::string const& format = "auto", bool on_host = false) {
  CAPTURE(clicks.extents, options.rank, options.columns, options.ridge_per_entry, format, sizeof(Scalar));
  TestSpace const space;
  auto oracle = implicit_oracle<Scalar>(clicks, options);
  AnyFormatOptions formats;
  formats.format    = format;
  auto const result = fast_tucker(space, clicks_data<Scalar>(clicks, on_host), options, {}, formats);
  REQUIRE(result.history.size() == static_cast<std::size_t>(options.max_epochs));
  long double const relative = sizeof(Scalar) == 4 ? 2e-4L : 1e-10L;
  for (auto const& epoch : result.history) {
    oracle.sweep();
    REQUIRE(epoch.objective);
    CHECK(std::abs(*epoch.objective - oracle.objective()) <= relative * oracle.objective());
  }
  auto const cells  = cells_of_oracle(oracle);
  auto const scores = flat(predict(space, result.model, to_device<Scalar, std::uint32_t>(space, cells)));
  std::string wrong;
  std::size_t p = 0;
  oracle.for_each_cell([&](auto const& cell) {
    long double const off = std::abs(scores[p++] - oracle.score(cell));
    if (!(off <= 2 * relative) && wrong.empty())
      wrong = "cell " + std::to_string(p - 1) + " is off by " + std::to_string(static_cast<double>(off));
  });
  CHECK(wrong == "");
  CHECK(result.model.mean == 0);
  CHECK_FALSE(result.model.has_biases());
}

TEST_CASE("a sweep of implicit feedback solves the rows of its definition", "[fast_tucker][implicit]") {
  Random random(11);
  for (auto const& extents : std::vector<std::vector<std::uint64_t>>{{9, 7}, {7, 6, 4}, {5, 4, 3, 4}}) {
    auto const clicks = random_clicks(random, extents, 40);
    expect_definition<double>(clicks, implicit_options(3));
    expect_definition<float>(clicks, implicit_options(3));
    expect_definition<double>(clicks, implicit_options(2, {4}));
    expect_definition<double>(clicks, implicit_options(4, {3}));
    expect_definition<double>(clicks, implicit_options(9));
    auto more            = implicit_options(3);
    more.max_epochs      = 3;
    more.ridge_per_entry = true;
    expect_definition<double>(clicks, more);
  }
}

TEST_CASE("all formats with least squares for rows take implicit feedback", "[fast_tucker][implicit]") {
  Random random(12);
  auto const clicks = random_clicks(random, {8, 6, 5}, 60);
  std::size_t tried = 0;
  for (auto const& format : list_of_formats({Capability::row_least_squares})) {
    expect_definition<double>(clicks, implicit_options(3), format,
                              format_offers(format, Capability::streaming));
    ++tried;
  }
  CHECK(tried >= 3);
}

TEST_CASE("rows of several chunks are those of the definition, too", "[fast_tucker][implicit]") {
  Random random(13);
  auto const clicks = random_clicks(random, {3, 2500}, 6000);
  expect_definition<double>(clicks, implicit_options(2));
  expect_definition<float>(clicks, implicit_options(2, {1}));
}

TEST_CASE("no epoch of implicit feedback raises the objective", "[fast_tucker][implicit]") {
  Random random(14);
  TestSpace const space;
  auto const expect = [&](auto scalar, HostTensor const& clicks, FastTuckerOptions options) {
    using Scalar       = decltype(scalar);
    options.max_epochs = 20;
    auto const result  = fast_tucker(space, clicks_data<Scalar>(clicks, false), options);
    double last        = std::numeric_limits<double>::infinity();
    for (auto const& epoch : result.history) {
      REQUIRE(epoch.objective);
      CHECK(*epoch.objective <= last * (sizeof(Scalar) == 4 ? 1 + 1e-6 : 1 + 1e-12));
      last = *epoch.objective;
    }
    CHECK(last < 0.98 * *result.history.front().objective);
  };
  for (auto const& extents : std::vector<std::vector<std::uint64_t>>{{60, 40}, {30, 20, 5}, {12, 10, 6, 4}}) {
    auto const clicks = random_clicks(random, extents, 400);
    expect(double(), clicks, implicit_options(6));
    expect(float(), clicks, implicit_options(6));
    auto others            = implicit_options(5, {7});
    others.implicit        = 40;
    others.ridge_per_entry = true;
    expect(double(), clicks, others);
  }
}

TEST_CASE("implicit feedback sums repeated entries, and ignores zeros", "[fast_tucker][implicit]") {
  TestSpace const space;
  HostTensor const repeated{
      "repeated", {4, 3}, {0, 0, 1, 2, 0, 0, 2, 1, 3, 0, 1, 2, 2, 2}, {1, 2, 1, 3, 0, 0.5, 1}};
  HostTensor const summed{"summed", {4, 3}, {0, 0, 1, 2, 2, 1, 2, 2}, {2, 2.5, 3, 1}};
  auto options       = implicit_options(2);
  options.max_epochs = 4;
  for (bool const on_host : {false, true}) {
    auto const a = fast_tucker(space, clicks_data<double>(repeated, on_host), options);
    auto const b = fast_tucker(space, clicks_data<double>(summed, on_host), options);
    CHECK(std::abs(*a.history.back().objective - *b.history.back().objective) < 1e-12);
    auto const A = flat(a.model.A(0));
    for (std::size_t j = 6; j < 8; ++j) CHECK(A[j] == 0);  // row 3 has an entry of 0 alone
  }
}

TEST_CASE("implicit feedback has the same bits for any number of threads", "[fast_tucker][implicit]") {
  Random random(15);
  auto const clicks  = random_clicks(random, {50, 30, 4}, 700);
  auto options       = implicit_options(6);
  options.max_epochs = 3;
  AnyFormatOptions formats;
  formats.format = "sorted";
  std::vector<double> first;
  for (auto const& space : instances_of<TestSpace>({1, 2, 5})) {
    auto const result = fast_tucker(space, clicks_data<float>(clicks, false), options, {}, formats);
    auto const A      = flat(result.model.A(0));
    if (first.empty()) first = A;
    CHECK(A == first);
  }
}

TEST_CASE("a resumed run of implicit feedback ends with the same bits", "[fast_tucker][implicit]") {
  Random random(16);
  TemporaryFolder const folder;
  TestSpace const space;
  auto const data = clicks_data<double>(random_clicks(random, {20, 15, 4}, 300), false);
  AnyFormatOptions formats;
  formats.format     = "sorted";
  auto options       = implicit_options(4);
  options.max_epochs = 6;
  auto const whole   = fast_tucker(space, data, options, {}, formats);
  auto half          = options;
  half.max_epochs    = 3;
  half.checkpoint    = folder / "half.npz";
  static_cast<void>(fast_tucker(space, data, half, {}, formats));
  auto rest         = options;
  rest.resume       = half.checkpoint;
  auto const result = fast_tucker(space, data, rest, {}, formats);
  for (int n = 0; n < 3; ++n) CHECK(flat(result.model.A(n)) == flat(whole.model.A(n)));
  CHECK(result.history.back().objective == whole.history.back().objective);
  rest.implicit = 6;  // another alpha is another run
  CHECK_THROWS_AS(fast_tucker(space, data, rest, {}, formats), InputError);
}

TEST_CASE("implicit feedback refuses what it excludes", "[fast_tucker][implicit]") {
  TestSpace const space;
  Random random(17);
  auto const clicks = random_clicks(random, {6, 5, 4}, 30);
  auto const data   = clicks_data<double>(clicks, false);
  auto const expect = [&](auto const& change) {
    auto options = implicit_options(2);
    change(options);
    CHECK_THROWS_AS(fast_tucker(space, data, options), UsageError);
  };
  expect([](auto& options) { options.implicit = 0; });
  expect([](auto& options) { options.implicit = -1; });
  expect([](auto& options) { options.implicit = std::nan(""); });
  expect([](auto& options) { options.optimizer = FastTuckerOptimizer::adam; });
  expect([](auto& options) { options.optimizer = FastTuckerOptimizer::sgd; });
  expect([](auto& options) { options.bias.time_mode = 1; });
  expect([](auto& options) { options.shrinkage = Shrinkage{}; });
  expect([](auto& options) { options.targets = {RowTarget::zero, RowTarget::zero, RowTarget::one}; });
  expect([](auto& options) { options.range = {0, 1}; });
  expect([](auto& options) { options.patience = 2; });
  expect([](auto& options) { options.core_ridge = 1; });
  auto ratings     = implicit_options(2);
  ratings.implicit = {};  // without it, the number of steps would be ignored
  CHECK(message_of([&] {
          static_cast<void>(fast_tucker(space, data, ratings));
        }).starts_with("0 steps of conjugate gradients are for implicit feedback"));
  for (double const x : {-1.0, std::nan(""), std::numeric_limits<double>::infinity()}) {
    auto bad      = clicks;
    bad.values[7] = x;
    CHECK_THROWS_AS(fast_tucker(space, clicks_data<double>(bad, false), implicit_options(2)), UsageError);
  }
}

/// Clicks of users of a few tastes. Each taste has items of its own, and a few items are liked by all.
struct MadeClicks {
  HostTensor train;
  std::vector<std::vector<std::uint64_t>> held_out;  // a list for each user
};
MadeClicks made_clicks(std::uint64_t users, std::uint64_t items) {
  Random random(18);
  MadeClicks made{{"clicks", {users, items}, {}, {}}, std::vector<std::vector<std::uint64_t>>(users)};
  auto const uniform = [&] { return static_cast<double>(random_below(random, 1000000)) / 1e6; };
  for (std::uint64_t u = 0; u < users; ++u)
    for (std::uint64_t i = 0; i < items; ++i) {
      bool const own      = i % 5 == u % 5;
      double const chance = (i < items / 10 ? 0.3 : 0.03) + (own ? 0.5 : 0);
      if (uniform() >= chance) continue;
      if (uniform() < 0.4) {
        made.held_out[u].push_back(i);
        continue;
      }
      made.train.indices.insert(made.train.indices.end(), {u, i});
      made.train.values.push_back(1);
    }
  return made;
}

TEST_CASE("implicit feedback recommends better than popularity", "[fast_tucker][implicit][figures]") {
  TestSpace const space;
  constexpr std::uint64_t users = 300, items = 100, k = 10;
  auto const made = made_clicks(users, items);
  FastTuckerOptions options;
  options.implicit   = usual_alpha;
  options.max_epochs = 10;
  options.rank       = 8;
  auto const data    = clicks_data<float>(made.train, false);
  auto const result  = fast_tucker(space, data, options);
  std::vector<count_t> queries(users);
  std::iota(queries.begin(), queries.end(), count_t(0));
  RankingOptions ranking;
  ranking.count = k;
  auto const found =
      recommend(space, result.model, 1, std::span<count_t const>(queries), ranking, data.train);
  std::vector<std::uint64_t> clicks(items), by_clicks(items);
  std::vector<std::vector<bool>> seen(users, std::vector<bool>(items));
  for (std::size_t p = 0; p < made.train.nnz(); ++p) {
    ++clicks[made.train.index(p, 1)];
    seen[made.train.index(p, 0)][made.train.index(p, 1)] = true;
  }
  std::iota(by_clicks.begin(), by_clicks.end(), std::uint64_t(0));
  std::stable_sort(by_clicks.begin(), by_clicks.end(), [&](auto a, auto b) { return clicks[a] > clicks[b]; });
  double of_model = 0, of_popularity = 0;
  for (std::uint64_t u = 0; u < users; ++u) {
    auto const& held    = made.held_out[u];
    auto const is_right = [&](std::uint64_t i) {
      return std::find(held.begin(), held.end(), i) != held.end();
    };
    for (count_t at = found.starts[u]; at < found.starts[u + 1]; ++at) {
      CHECK_FALSE(seen[u][found.rows[at]]);
      of_model += is_right(found.rows[at]) ? 1 : 0;
    }
    std::uint64_t listed = 0;
    for (std::uint64_t const i : by_clicks)
      if (!seen[u][i] && listed++ < k) of_popularity += is_right(i) ? 1 : 0;
  }
  of_model /= static_cast<double>(users * k);
  of_popularity /= static_cast<double>(users * k);
  CAPTURE(of_model, of_popularity);
  CHECK(of_popularity > 0.1);
  CHECK(of_model > 1.3 * of_popularity);
}

}  // namespace
}  // namespace polyad::test
