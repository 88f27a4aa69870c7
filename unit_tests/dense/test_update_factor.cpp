// SPDX-License-Identifier: BSD-3-Clause
// update_factor against the oracle: A = V W, and G = A' A of the A that was stored. The edges are those of
// the single pass that devices take up to R = 32; hosts and larger R take two passes and are held to the
// same. Each strategy is forced on every backend as well.
#include "dense/update/update_factor.hpp"

#include <Kokkos_Core.hpp>
#include <array>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "core/space_instances.hpp"
#include "polyad/testing/oracle.hpp"
#include "support/catch.hpp"
#include "support/device_data.hpp"
#include "support/instances.hpp"
#include "support/message_of.hpp"
#include "support/oracle.hpp"

namespace polyad::test {
namespace {

struct Result {
  HostMatrix A;
  std::vector<double> G;
  std::size_t trespasses;
  double inner;  // <V, A> with the weights
};

/// The weight of column r.
double weight_of(std::size_t r) {
  return r % 2 == 0 ? 0.25 : 2;
}

/// What the machine takes.
struct Automatic {};

/// A and G, both from an output of NaN. V and W are surrounded by NaN too.
template <class Scalar, class Strategy = Automatic>
Result update_of(HostMatrix const& host_V, HostMatrix const& host_W, RowLayout layout_V, RowLayout layout_W,
                 RowLayout layout_A, TestSpace const& space = TestSpace()) {
  std::size_t const rank = host_W.rows;
  WatchedMatrix<Scalar> const V(space, layout_V, host_V, nan_value);
  WatchedMatrix<Scalar> const W(space, layout_W, host_W, nan_value);
  WatchedMatrix<Scalar> const A(space, layout_A, host_V.rows, rank);
  GramWorkspace<TestSpace> const workspace(space, rank);
  Kokkos::deep_copy(workspace.partials(), nan_value);
  WatchedMatrix<double> const G(space, RowLayout::subview, rank, rank);
  GramMatrix<TestSpace> const gram(G.matrix());
  std::vector<double> weights(rank);
  for (std::size_t r = 0; r < rank; ++r) weights[r] = weight_of(r);
  std::vector<double> const nans(workspace.partials().extent(0), nan_value);
  InnerProductSums<TestSpace> const inner{to_device(weights), to_device(nans),
                                          to_device(std::vector<double>{nan_value})};
  if constexpr (std::is_same_v<Strategy, Automatic>)
    update_factor(space, V.matrix(), W.matrix(), A.matrix(), workspace, gram, inner);
  else
    update_factor_by(Strategy(), space, V.matrix(), W.matrix(), A.matrix(), workspace, gram, inner);
  space.fence("polyad::test");
  Result result{HostMatrix(host_V.rows, rank), G.read(), A.trespasses() + G.trespasses(),
                flat(inner.result)[0]};
  result.A.data = A.read();
  return result;
}

/// Some strategies multiply and sum floats as floats over up to 32 rows. Their errors are asked to stay below
/// 1e-6, which 16 roundings of floats are: so many of doubles.
template <class Scalar, class Strategy>
std::size_t roundings_of_floats(std::size_t rows, std::size_t rank) {
  bool fused = std::is_same_v<Strategy, FusedUpdate>;
  if constexpr (std::is_same_v<Strategy, Automatic>)
    with_update_strategy<TestSpace, Scalar>(
        rows, rank, true, [&](auto strategy) { fused = std::is_same_v<decltype(strategy), FusedUpdate>; });
  bool in_floats = fused && sizeof(Scalar) == sizeof(float);
  if (!fused)
    with_gram_strategy<TestSpace, Scalar>(rows, rank, Squares::in_range, [&](auto strategy) {
      in_floats = std::is_same_v<decltype(strategy), GramInFloats>;
    });
  return in_floats ? std::size_t(16) << 29 : 0;
}

template <class Scalar, class Strategy = Automatic>
void expect_updated(std::size_t rows, std::size_t rank, RowLayout layout_V, RowLayout layout_W,
                    RowLayout layout_A) {
  CAPTURE(rows, rank, static_cast<int>(layout_V), static_cast<int>(layout_W), static_cast<int>(layout_A),
          sizeof(Scalar));
  Random random(1000 * rank + rows);
  auto const V      = random_matrix(random, rows, rank);
  auto const W      = random_matrix(random, rank, rank);  // not symmetric: a transposed read shows
  auto const result = update_of<Scalar, Strategy>(V, W, layout_V, layout_W, layout_A);
  CHECK(violation<Scalar>(oracle_product(V, W), result.A.data, 2) == "");
  OracleSums inner(1, 1);
  for (std::size_t e = 0; e < rows * rank; ++e) {
    long double const term = static_cast<long double>(weight_of(e % rank)) * V.data[e] * result.A.data[e];
    inner.value[0] += term;
    inner.magnitude[0] += std::abs(term);
  }
  inner.terms              = {rows * rank};
  std::size_t const floats = roundings_of_floats<Scalar, Strategy>(rows, rank);
  CHECK(violation<double>(inner, {result.inner}, 3) == "");
  // G belongs to A as it was stored. Sums are in double: exact for products of two floats, but not of two
  // doubles.
  CHECK(violation<double>(oracle_product_of_transposed(result.A, result.A), result.G,
                          (sizeof(Scalar) == sizeof(float) ? 1 : 2) + floats) == "");
  bool symmetric = true;
  for (std::size_t i = 0; i < rank; ++i)
    for (std::size_t j = 0; j < i; ++j)
      symmetric = symmetric && result.G[i * rank + j] == result.G[j * rank + i];
  CHECK(symmetric);
  CHECK(result.trespasses == 0);
}

template <class Scalar>
void expect_updated(std::size_t rows, std::size_t rank, RowLayout layout) {
  expect_updated<Scalar>(rows, rank, layout, layout, layout);
}

TEST_CASE("update_factor: each strategy on every backend", "[dense][strategies]") {
  constexpr auto padded = RowLayout::padded;
  for (std::size_t const rows : {1, 31, 119, 120, 121, 252, 300})
    for (std::size_t const rank : {1, 7, 8, 9, 16, 31, 32}) {
      expect_updated<float, FusedUpdate>(rows, rank, padded, padded, padded);
      expect_updated<double, FusedUpdate>(rows, rank, padded, padded, padded);
      expect_updated<float, SeparateUpdate>(rows, rank, padded, padded, padded);
    }
}

TEST_CASE("update_factor: every edge of its blocks, all layouts", "[dense]") {
  std::size_t count = 0;
  for (std::size_t const rank : {1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 32, 33, 64})
    for (RowLayout const layout : kernel_layouts<TestSpace>) {
      RowLayout const other   = kernel_layout<TestSpace>(count++);
      RowLayout const another = kernel_layout<TestSpace>(count / 2);
      expect_updated<float>(333, rank, other, another, layout);
      expect_updated<double>(333, rank, other, another, layout);
    }
}

TEST_CASE("update_factor: every edge of its tiles of rows", "[dense]") {
  std::size_t count = 0;
  // Tiles have 120 or 252 rows.
  for (std::size_t const rows : {0, 1, 2, 3, 4, 5, 63, 64, 119, 120, 121, 240, 251, 252, 253, 504, 505, 1000})
    for (std::size_t const rank : {1, 2, 3, 7, 8, 9, 15, 16, 17, 31, 32, 33, 64}) {
      RowLayout const layout = kernel_layout<TestSpace>(count++);
      expect_updated<float>(rows, rank, layout);
      expect_updated<double>(rows, rank, layout);
    }
}

TEST_CASE("update_factor: chunks of several tiles, and chunks left empty", "[dense]") {
  // A device has at most 528 chunks. With one tile each and one additional row, nearly half of them are
  // empty.
  expect_updated<float>(528 * 120 + 1, 17, RowLayout::padded);
  expect_updated<double>(528 * 120 + 1, 32, RowLayout::padded);
  expect_updated<double>(2 * 528 * 120 + 121, 18, RowLayout::padded);
  expect_updated<float>(528 * 64 + 1, 33, RowLayout::padded);
  expect_updated<float>(528 * 252 + 1, 9, RowLayout::padded);
  expect_updated<double>(528 * 252 + 253, 10, RowLayout::wide);
  expect_updated<float>(528 * 252 + 253, 3, RowLayout::wide);
  expect_updated<double>(528 * 252 + 1, 5, RowLayout::padded);
}

template <class Scalar>
void expect_same_bits(std::size_t rank, std::vector<TestSpace> const& spaces) {
  Random random(rank);
  auto const V = random_matrix(random, 5000, rank);
  auto const W = random_matrix(random, rank, rank);
  std::vector<Result> results;
  for (auto const& space : spaces)
    results.push_back(
        update_of<Scalar>(V, W, RowLayout::padded, RowLayout::padded, RowLayout::padded, space));
  for (std::size_t i = 1; i < results.size(); ++i) {
    CAPTURE(rank, sizeof(Scalar), i);
    CHECK((results[i].A.data == results[0].A.data));
    CHECK((results[i].G == results[0].G));
  }
}

void expect_same_bits(std::vector<TestSpace> const& spaces) {
  for (std::size_t const rank : {5, 16, 29, 40}) {
    expect_same_bits<float>(rank, spaces);
    expect_same_bits<double>(rank, spaces);
  }
}

TEST_CASE("update_factor: the same bits in every run", "[dense]") {
  expect_same_bits(std::vector<TestSpace>(6));
}

TEST_CASE("update_factor: the same bits on every instance, whatever its threads", "[dense]") {
  expect_same_bits(instances_of<TestSpace>({1, 2, 4, 7}));
}

TEST_CASE("update_factor: the same bits on four instances at once", "[dense]") {
  auto const spaces = make_instances(TestSpace(), 4);
  for (std::size_t const rank : {24, 64}) {
    Random random(rank);
    WatchedMatrix<double> const watched_V(TestSpace(), RowLayout::padded, random_matrix(random, 20000, rank),
                                          nan_value);
    WatchedMatrix<double> const watched_W(TestSpace(), RowLayout::padded, random_matrix(random, rank, rank),
                                          nan_value);
    auto const V = watched_V.matrix();
    auto const W = watched_W.matrix();
    GramMatrices<TestSpace> const grams("polyad::test_grams", 5, rank, rank);
    std::vector<GramWorkspace<TestSpace>> workspaces;
    std::vector<FactorMatrix<double, TestSpace>> outputs;
    for (int i = 0; i < 5; ++i) {
      workspaces.emplace_back(TestSpace(), rank);
      outputs.push_back(make_factor_matrix<double>(TestSpace(), "polyad::test", V.extent(0), rank));
    }
    Kokkos::fence("polyad::test");
    auto const update = [&](TestSpace const& space, int i) {
      update_factor(space, V, W, outputs[std::size_t(i)], workspaces[std::size_t(i)],
                    GramMatrix<TestSpace>(Kokkos::subview(grams, i, Kokkos::ALL, Kokkos::ALL)));
    };
    for (int run = 0; run < 5; ++run)
      for (int i = 0; i < 4; ++i) update(spaces[std::size_t(i)], i);
    for (auto const& space : spaces) space.fence("polyad::test");
    update(TestSpace(), 4);
    Kokkos::fence("polyad::test");
    auto const all   = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), grams);
    auto const alone = to_host<double>(TestSpace(), outputs[4]);
    for (int i = 0; i < 4; ++i) {
      CAPTURE(rank, i);
      bool same = true;
      for (std::size_t r = 0; r < rank; ++r)
        for (std::size_t s = 0; s < rank; ++s) same = same && all(i, r, s) == all(4, r, s);
      CHECK(same);
      CHECK((to_host<double>(TestSpace(), outputs[std::size_t(i)]) == alone));
    }
  }
}

TEST_CASE("update_factor: a NaN of V stays in its row of A, one of W in its column of A and G", "[dense]") {
  for (std::size_t const rank : {5, 12, 30, 40}) {
    CAPTURE(rank);
    Random random(rank);
    auto const run = [&](HostMatrix const& V, HostMatrix const& W) {
      return update_of<double>(V, W, RowLayout::padded, RowLayout::padded, RowLayout::padded);
    };
    auto const V = random_matrix(random, 300, rank);
    auto const W = random_matrix(random, rank, rank);
    // The first and last row of a tile, and of the matrix.
    for (std::size_t const row : {0, 119, 120, 251, 252, 299}) {
      auto ill           = V;
      ill(row, rank / 2) = nan_value;
      auto const result  = run(ill, W);
      bool only_there    = true;
      for (std::size_t e = 0; e < result.A.data.size(); ++e)
        only_there = only_there && std::isnan(result.A.data[e]) == (e / rank == row);
      CHECK(only_there);
      bool everywhere = true;  // every entry of G has a term of that row
      for (double const entry : result.G) everywhere = everywhere && std::isnan(entry);
      CHECK(everywhere);
    }
    std::size_t const column = rank - 2;
    auto ill                 = W;
    ill(1, column)           = nan_value;
    auto const result        = run(V, ill);
    bool only_there          = true;
    for (std::size_t e = 0; e < result.A.data.size(); ++e)
      only_there = only_there && std::isnan(result.A.data[e]) == (e % rank == column);
    for (std::size_t e = 0; e < result.G.size(); ++e)
      only_there = only_there && std::isnan(result.G[e]) == (e % rank == column || e / rank == column);
    CHECK(only_there);
  }
}

TEST_CASE("update_factor: shapes that do not match are refused", "[dense]") {
  TestSpace const space;
  auto const make = [&](count_t rows, count_t columns) {
    return make_factor_matrix<double>(space, "polyad::test", rows, columns);
  };
  auto const V = make(9, 5);
  auto const W = make(5, 5);
  auto const A = make(9, 5);
  GramWorkspace<TestSpace> const workspace(space, 5);
  GramMatrix<TestSpace> const G("G", 5, 5);
  CHECK_NOTHROW(update_factor(space, V, W, A, workspace, G));
  CHECK_THROWS_AS(update_factor(space, make(9, 4), W, A, workspace, G), UsageError);
  CHECK_THROWS_AS(update_factor(space, make(8, 5), W, A, workspace, G), UsageError);
  CHECK_THROWS_AS(update_factor(space, V, make(5, 4), A, workspace, G), UsageError);
  CHECK_THROWS_AS(update_factor(space, V, make(4, 5), A, workspace, G), UsageError);
  CHECK_THROWS_AS(update_factor(space, V, make(6, 6), A, workspace, G), UsageError);
  CHECK_THROWS_AS(update_factor(space, V, W, make(9, 6), workspace, G), UsageError);
  CHECK_THROWS_AS(update_factor(space, V, W, make(10, 5), workspace, G), UsageError);
  CHECK_THROWS_AS(update_factor(space, V, W, A, workspace, GramMatrix<TestSpace>("G", 5, 4)), UsageError);
  CHECK_THROWS_AS(update_factor(space, V, W, A, workspace, GramMatrix<TestSpace>("G", 4, 5)), UsageError);
  InnerProductSums<TestSpace> inner;
  inner.weights = Kokkos::View<double*, TestSpace::device_type>("weights", 4);
  inner.result  = Kokkos::View<double*, TestSpace::device_type>("result", 1);
  CHECK_THROWS_AS(update_factor(space, V, W, A, workspace, G, inner), UsageError);
  CHECK(message_of([&] { update_factor(space, V, W, make(9, 6), workspace, G); }) ==
        "V is 9 x 5, W is 5 x 5, A is 9 x 6 and G is 5 x 5");
  space.fence("polyad::test");
}

}  // namespace
}  // namespace polyad::test
