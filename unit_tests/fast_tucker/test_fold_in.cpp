// SPDX-License-Identifier: BSD-3-Clause
// Rows that are computed from their entries without a new fit: a row that the model has is found again.
#include <Kokkos_Core.hpp>
#include <algorithm>
#include <cmath>
#include <span>
#include <vector>

#include "fast_tucker/oracle.hpp"
#include "polyad/fast_tucker/fast_tucker.hpp"
#include "support/catch.hpp"

namespace polyad::test {
namespace {

/// The model without its last rows of a mode.
FastTuckerModel<double, TestSpace> without_rows(TestSpace const& space,
                                                FastTuckerModel<double, TestSpace> const& model, int mode,
                                                count_t rows) {
  std::vector<count_t> extents, columns;
  for (int n = 0; n < model.order(); ++n) {
    extents.push_back(n == mode ? rows : model.extents()[n]);
    columns.push_back(model.columns(n));
  }
  FastTuckerModel<double, TestSpace> result(space, Extents(std::span<count_t const>(extents)), columns,
                                            model.rank(), model.has_biases());
  result.mean = model.mean;
  for (int n = 0; n < model.order(); ++n) {
    auto const part = Kokkos::make_pair(count_t(0), extents[static_cast<std::size_t>(n)]);
    Kokkos::deep_copy(result.A(n), Kokkos::subview(model.A(n), part, Kokkos::ALL));
    Kokkos::deep_copy(result.B(n), model.B(n));
    if (model.has_biases()) Kokkos::deep_copy(result.bias(n), Kokkos::subview(model.bias(n), part));
  }
  return result;
}

double largest_difference(std::vector<double> const& a, std::vector<double> const& b) {
  REQUIRE(a.size() == b.size());
  double most = 0;
  for (std::size_t i = 0; i < a.size(); ++i) most = std::max(most, std::abs(a[i] - b[i]));
  return most;
}

/// A random tensor with values 1, 2, ..., sometimes twice at one place.
HostTensor whole_values(Random& random, std::vector<std::uint64_t> const& extents, std::size_t nnz) {
  auto X = random_tensor(random, extents, nnz);
  for (double& x : X.values) x = 1 + std::floor(2 * std::abs(x));
  return X;
}

TEST_CASE("folded rows are those that an epoch solves", "[fast_tucker][fold_in]") {
  TestSpace const space;
  Random random(21);
  auto const X   = whole_values(random, {24, 15, 5}, 500);
  auto const all = to_device<double, std::uint32_t>(space, X);
  for (bool const implicit : {false, true})
    for (count_t const J : {4, 6}) {
      CAPTURE(implicit, J);
      FastTuckerOptions options;
      options.rank         = 4;
      options.columns      = {J};
      options.ridge        = 1.5;
      options.max_epochs   = 30;
      options.biases       = false;
      options.update_cores = false;
      if (implicit) options.implicit = 6;
      auto const model = fast_tucker(space, all, options).model;
      FoldInOptions fold;
      fold.ridge    = options.ridge;
      fold.implicit = options.implicit;
      // The last mode is solved last: the rows of an epoch are solutions with the final rows of the others.
      auto const folded = fold_in(space, without_rows(space, model, 2, 3), all, fold);
      REQUIRE(folded.extents() == model.extents());
      CHECK(largest_difference(flat(folded.A(2)), flat(model.A(2))) < 1e-9);
      for (int n = 0; n < 2; ++n) CHECK(flat(folded.A(n)) == flat(model.A(n)));
    }
}

TEST_CASE("rows with added entries are solved again, and others stay", "[fast_tucker][fold_in]") {
  TestSpace const space;
  Random random(22);
  auto const X = whole_values(random, {20, 12}, 150);
  HostTensor added{"added", {20, 12}, {3, 4, 3, 7}, {5, 2}};
  auto both = X;
  both.indices.insert(both.indices.end(), added.indices.begin(), added.indices.end());
  both.values.insert(both.values.end(), added.values.begin(), added.values.end());
  FastTuckerOptions options;
  options.rank       = 3;
  options.shrinkage  = Shrinkage{};
  options.max_epochs = 5;
  auto const model   = fast_tucker(space, to_device<double, std::uint32_t>(space, X), options).model;
  auto const updated = update_rows(space, model, to_device<double, std::uint32_t>(space, both),
                                   to_device<double, std::uint32_t>(space, added));
  for (int n = 0; n < 2; ++n) {
    auto const before = flat(model.A(n)), after = flat(updated.A(n));
    for (std::size_t k = 0; k < X.extents[static_cast<std::size_t>(n)]; ++k) {
      bool const touched = n == 0 ? k == 3 : k == 4 || k == 7;
      bool same          = true;
      for (std::size_t j = 0; j < 3; ++j) same = same && before[3 * k + j] == after[3 * k + j];
      CHECK(same != touched);
    }
  }
}

TEST_CASE("rows of a class that the model leaves to its biases stay without factors",
          "[fast_tucker][fold_in]") {
  TestSpace const space;
  Random random(28);
  // Users 0 and 1 have two entries each and zeros; user 2 has five, and so has user 3, which has a row.
  auto host_model = random_model(random, {6, 40}, 3, 3, true);
  for (std::size_t const user : {0, 1, 2})
    for (std::size_t j = 0; j < 3; ++j) host_model.A[0](user, j) = 0;
  auto const model = to_device<double>(space, host_model);
  HostTensor added{"added", {7, 40}, {}, {}}, all{"all", {7, 40}, {}, {}};
  auto const put = [](HostTensor& X, std::uint64_t user, std::uint64_t item) {
    X.indices.insert(X.indices.end(), {user, item});
    X.values.push_back(1 + static_cast<double>((3 * user + item) % 5));
  };
  std::size_t const old_entries[] = {2, 2, 5, 5, 0, 0, 0}, new_entries[] = {1, 3, 1, 1, 0, 0, 2};
  for (std::uint64_t user = 0; user < 7; ++user)
    for (std::uint64_t item = 0; item < old_entries[user] + new_entries[user]; ++item) {
      put(all, user, item);
      if (item >= old_entries[user]) put(added, user, item);
    }
  FoldInOptions fold;
  fold.modes         = {0};
  auto const updated = update_rows(space, model, to_device<double, std::uint32_t>(space, all),
                                   to_device<double, std::uint32_t>(space, added), fold);
  auto const rows    = flat(updated.A(0));
  auto const is_zero = [&](std::size_t user) {
    return std::all_of(rows.begin() + 3 * static_cast<std::ptrdiff_t>(user),
                       rows.begin() + 3 * static_cast<std::ptrdiff_t>(user) + 3,
                       [](double x) { return x == 0; });
  };
  CHECK(is_zero(0));        // three entries: still of the class
  CHECK_FALSE(is_zero(1));  // five entries: of another class
  CHECK_FALSE(is_zero(2));  // its class is not left, by user 3
  CHECK_FALSE(is_zero(3));
  CHECK(is_zero(6));  // a new user with two entries
  for (std::size_t const user : {0, 1, 2, 3, 6}) CHECK(flat(updated.bias(0))[user] != 0);
}

TEST_CASE("a new row has a damped bias, by the definition", "[fast_tucker][fold_in]") {
  TestSpace const space;
  Random random(23);
  auto const host  = random_model(random, {6, 5}, 3, 3, true);
  auto const model = to_device<double>(space, host);
  // User 6 is new, with three entries.
  HostTensor const entries{"new", {7, 5}, {6, 0, 6, 2, 6, 3}, {4, 3, 5}};
  FoldInOptions fold;
  fold.ridge        = 0.5;
  fold.bias_damping = 2;
  auto const folded = fold_in(space, model, to_device<double, std::uint32_t>(space, entries), fold);
  REQUIRE(folded.extents()[0] == 7);
  long double sum = 0;
  for (std::size_t p = 0; p < 3; ++p)
    sum += entries.values[p] - host.mean - host.bias[1][entries.index(p, 1)];
  double const bias = static_cast<double>(sum / 5);
  CHECK(std::abs(flat(folded.bias(0))[6] - bias) < 1e-12);
  // The gradient of sum (e - a . w)^2 + 0.5 |a|^2 vanishes.
  auto const C = oracle_intermediates(host);
  auto const a = flat(folded.A(0));
  std::vector<long double> gradient(3);
  for (std::size_t j = 0; j < 3; ++j) gradient[j] = 0.5L * a[18 + j];
  for (std::size_t p = 0; p < 3; ++p) {
    std::vector<long double> w(3);
    long double score = 0;
    for (std::size_t j = 0; j < 3; ++j) {
      for (std::size_t r = 0; r < 3; ++r) w[j] += host.B[0](j, r) * C(1, entries.index(p, 1), r).value;
      score += a[18 + j] * w[j];
    }
    long double const e = entries.values[p] - host.mean - host.bias[1][entries.index(p, 1)] - bias - score;
    for (std::size_t j = 0; j < 3; ++j) gradient[j] -= e * w[j];
  }
  for (std::size_t j = 0; j < 3; ++j) CHECK(std::abs(gradient[j]) < 1e-10L);
  auto const old = flat(model.A(0));
  for (std::size_t i = 0; i < old.size(); ++i) CHECK(a[i] == old[i]);
  CHECK(flat(folded.bias(1)) == flat(model.bias(1)));
}

TEST_CASE("new users and new items at once, and rows without entries", "[fast_tucker][fold_in]") {
  TestSpace const space;
  Random random(24);
  auto const model = to_device<double>(space, random_model(random, {6, 5}, 3, 3, true));
  // User 7 and item 6 are new and known to each other; user 6 and item 5 have no entry.
  HostTensor const entries{"new", {8, 7}, {7, 1, 7, 2, 7, 6, 2, 6}, {4, 1, 5, 3}};
  auto const folded = fold_in(space, model, to_device<double, std::uint32_t>(space, entries));
  CHECK(folded.extents() == Extents({8, 7}));
  auto const a = flat(folded.A(0)), b = flat(folded.A(1));
  for (std::size_t j = 0; j < 3; ++j) CHECK(a[18 + j] == 0);
  bool user_is_zero = true, item_is_zero = true;
  for (std::size_t j = 0; j < 3; ++j) user_is_zero = user_is_zero && a[21 + j] == 0;
  for (std::size_t j = 0; j < 4; ++j) item_is_zero = item_is_zero && b[24 + j] == 0;
  CHECK_FALSE(user_is_zero);
  CHECK_FALSE(item_is_zero);
  for (std::size_t j = 0; j < 4; ++j) CHECK(b[20 + j] == 0);
}

TEST_CASE("gaps between numbers of rows are new rows, and one mode can be solved alone",
          "[fast_tucker][fold_in]") {
  TestSpace const space;
  Random random(26);
  auto const model = to_device<double>(space, random_model(random, {6, 5}, 3, 3, true));
  // The training set has no entry of users 2 and 4. User 2 has one now, and so has user 1; item 5 is new.
  HostTensor const entries{"new", {6, 6}, {2, 1, 2, 3, 1, 2, 2, 5}, {4, 1, 5, 3}};
  auto const X = to_device<double, std::uint32_t>(space, entries);
  FoldInOptions fold;
  fold.observed     = {{1, 1, 0, 1, 0, 1}, {}};
  auto const folded = fold_in(space, model, X, fold);
  auto const a = flat(model.A(0)), b = flat(folded.A(0));
  auto const row_stays = [&](std::size_t k) {
    bool same = true;
    for (std::size_t j = 0; j < 3; ++j) same = same && a[3 * k + j] == b[3 * k + j];
    return same;
  };
  for (std::size_t k = 0; k < 6; ++k) CHECK(row_stays(k) == (k != 2));
  CHECK(flat(folded.bias(0))[4] == flat(model.bias(0))[4]);
  CHECK(flat(folded.A(1))[20] != 0);
  // The same row as that of a user beyond the model's.
  HostTensor beyond = entries;
  beyond.extents    = {7, 6};
  for (std::size_t p : {0, 1, 3}) beyond.indices[2 * p] = 6;
  fold.observed    = {};
  fold.modes       = {0};
  auto const other = fold_in(space, model, to_device<double, std::uint32_t>(space, beyond), fold);
  auto const c     = flat(other.A(0));
  for (std::size_t j = 0; j < 3; ++j) CHECK(std::abs(c[18 + j] - b[6 + j]) < 1e-12);
  for (std::size_t j = 0; j < 4; ++j) CHECK(flat(other.A(1))[20 + j] == 0);
  fold.modes = {2};
  CHECK_THROWS_AS(fold_in(space, model, X, fold), UsageError);
  fold.modes    = {};
  fold.observed = {{1, 1}, {}};
  CHECK_THROWS_AS(fold_in(space, model, X, fold), UsageError);
}

TEST_CASE("later times count as the last one", "[fast_tucker][fold_in]") {
  TestSpace const space;
  Random random(27);
  auto model      = to_device<double>(space, random_model(random, {6, 5, 4}, 3, 3, true));
  model.time_mode = 2;
  HostTensor const last{"last", {7, 5, 4}, {6, 1, 3, 6, 2, 0, 6, 4, 3}, {4, 1, 5}};
  HostTensor const later{"later", {7, 5, 90}, {6, 1, 3, 6, 2, 0, 6, 4, 89}, {4, 1, 5}};
  auto const a = fold_in(space, model, to_device<double, std::uint32_t>(space, last));
  auto const b = fold_in(space, model, to_device<double, std::uint32_t>(space, later));
  CHECK(b.extents() == Extents({7, 5, 4}));
  CHECK(flat(a.A(0)) == flat(b.A(0)));
  CHECK(flat(a.bias(0)) == flat(b.bias(0)));
  auto const X = to_device<double, std::uint32_t>(space, later);
  auto const c = update_rows(space, model, X, X);
  CHECK(flat(c.A(2)).size() == flat(model.A(2)).size());
}

TEST_CASE("a mode that the fit left out keeps its ones", "[fast_tucker][fold_in]") {
  TestSpace const space;
  Random random(28);
  auto host = random_model(random, {6, 5, 4}, 3, 3, true);
  // C^(2) = ones: the first column of A times the first row of B.
  auto& A = host.A[2];
  auto& B = host.B[2];
  for (std::size_t j = 0; j < 5; ++j) {
    for (std::size_t k = 0; k < 4; ++k) A(k, j) = j == 0 ? 0.5 : 0;
    for (std::size_t r = 0; r < 3; ++r) B(j, r) = j == 0 ? 2 : 0.25;
  }
  auto const model = to_device<double>(space, host);
  HostTensor const entries{"new", {7, 5, 6}, {6, 1, 5, 6, 2, 1, 0, 3, 5}, {4, 1, 5}};
  auto const X = to_device<double, std::uint32_t>(space, entries);
  FoldInOptions fold;
  fold.bias_damping = 1;
  for (bool const says : {false, true}) {
    CAPTURE(says);
    if (says) fold.targets = {RowTarget::zero, RowTarget::zero, RowTarget::left_out};
    auto const updated = update_rows(space, model, X, X, fold);
    auto const rows    = flat(updated.A(2));
    for (std::size_t k : {0, 1, 5}) {
      CAPTURE(k);
      CHECK(rows[5 * k] == 0.5);
      for (std::size_t j = 1; j < 5; ++j) CHECK(rows[5 * k + j] == 0);
    }
    CHECK(flat(updated.bias(2))[5] != 0);
    CHECK(flat(updated.bias(2))[1] != flat(model.bias(2))[1]);
    CHECK(flat(updated.bias(2))[0] == flat(model.bias(2))[0]);
    // A new context has ones before its users are solved, so that a user known in it alone learns from it.
    HostTensor const alone{"alone", {7, 5, 6}, {6, 1, 5, 6, 2, 5}, {4, 1}};
    fold.modes       = {0};
    auto const user  = flat(fold_in(space, model, to_device<double, std::uint32_t>(space, alone), fold).A(0));
    fold.modes       = {};
    bool has_factors = false;
    for (std::size_t j = 0; j < 3; ++j) has_factors = has_factors || user[18 + j] != 0;
    CHECK(has_factors);
  }
}

TEST_CASE("fold_in refuses what makes no sense", "[fast_tucker][fold_in]") {
  TestSpace const space;
  Random random(25);
  auto const model   = to_device<double>(space, random_model(random, {6, 5}, 3, 3, true));
  auto const entries = to_device<double, std::uint32_t>(space, HostTensor{"new", {7, 5}, {6, 1}, {-4}});
  FoldInOptions fold;
  fold.implicit = 3;  // the model has biases
  CHECK_THROWS_AS(fold_in(space, model, entries, fold), UsageError);
  auto const bare = to_device<double>(space, random_model(random, {6, 5}, 3, 3, false));
  CHECK_THROWS_AS(fold_in(space, bare, entries, fold), UsageError);  // a negative count
  fold       = {};
  fold.ridge = -1;
  CHECK_THROWS_AS(fold_in(space, model, entries, fold), UsageError);
  fold.ridge     = 1;
  fold.shrinkage = Shrinkage{};
  CHECK_THROWS_AS(fold_in(space, model, entries, fold), UsageError);
  auto const other = to_device<double, std::uint32_t>(space, HostTensor{"new", {7, 5, 2}, {6, 1, 1}, {4}});
  CHECK_THROWS_AS(fold_in(space, model, other), UsageError);
}

}  // namespace
}  // namespace polyad::test
