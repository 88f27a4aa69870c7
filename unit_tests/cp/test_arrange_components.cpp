// SPDX-License-Identifier: BSD-3-Clause
// The canonical form: nothing is lost, and the order and the signs are fixed.
#include <Kokkos_Core.hpp>
#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "cp/arrange_components.hpp"
#include "support/catch.hpp"
#include "support/device_data.hpp"

namespace polyad::test {
namespace {

double extreme_of(HostMatrix const& matrix, std::size_t r) {
  double extreme = 0;
  for (std::size_t i = 0; i < matrix.rows; ++i)
    if (std::abs(matrix(i, r)) > std::abs(extreme)) extreme = matrix(i, r);
  return extreme;
}

template <class Scalar>
HostFactors arranged(HostFactors const& factors, std::vector<double>& weights) {
  TestSpace const space;
  Ktensor<Scalar, TestSpace> model{weights, to_device<Scalar>(space, factors)};
  arrange_components(space, model);
  space.fence("polyad::test");
  weights = model.weights;
  HostFactors result;
  for (std::size_t n = 0; n < factors.size(); ++n) {
    result.emplace_back(factors[n].rows, factors[n].columns);
    result.back().data = flat(model.factors[static_cast<int>(n)]);
  }
  return result;
}

template <class Scalar>
void expect_canonical(std::vector<std::uint64_t> const& extents, std::vector<double> const& weights) {
  std::size_t const rank = weights.size();
  CAPTURE(extents.size(), rank, sizeof(Scalar));
  Random random(rank);
  auto const before = random_factors(random, extents, rank);
  auto new_weights  = weights;
  auto const after  = arranged<Scalar>(before, new_weights);

  std::vector<std::size_t> source(rank);
  std::iota(source.begin(), source.end(), std::size_t(0));
  std::stable_sort(source.begin(), source.end(), [&](auto a, auto b) { return weights[a] > weights[b]; });
  std::size_t const last = extents.size() - 1;
  for (std::size_t r = 0; r < rank; ++r) {
    REQUIRE(new_weights[r] == weights[source[r]]);
    double signs = 1;  // those of all modes but the last
    for (std::size_t n = 0; n <= last; ++n) {
      double const sign = n < last ? (extreme_of(before[n], source[r]) < 0 ? -1 : 1) : signs;
      if (n < last) signs *= sign;
      for (std::size_t i = 0; i < extents[n]; ++i) REQUIRE(after[n](i, r) == sign * before[n](i, source[r]));
      if (n < last) REQUIRE(extreme_of(after[n], r) > 0);
    }
  }
}

TEST_CASE("arrange: sorted by weight, signs fixed, the same components", "[cp]") {
  expect_canonical<double>({7, 5, 3}, {1, 4, 2, 3});
  expect_canonical<float>({7, 5, 3}, {1, 4, 2, 3});
  expect_canonical<double>({7, 5}, {2, 2, 0, 2, 5, 0});  // equal weights keep their order
  expect_canonical<double>({200, 1, 64, 129}, {1});
  expect_canonical<double>({1000, 63, 65, 3, 2, 4}, {0.5, 0.25, 8, 1, 1, 3, 9});
  std::vector<double> many(130);
  for (std::size_t r = 0; r < many.size(); ++r) many[r] = static_cast<double>(r * 37 % 130);
  expect_canonical<float>({70, 33, 5}, many);
}

TEST_CASE("arrange: twice is as good as once", "[cp]") {
  Random random(1);
  std::vector<double> weights{3, 1, 2};
  auto const once  = arranged<double>(random_factors(random, {9, 8, 7}, 3), weights);
  auto again       = weights;
  auto const twice = arranged<double>(once, again);
  CHECK(again == weights);
  for (std::size_t n = 0; n < 3; ++n) CHECK(twice[n].data == once[n].data);
}

TEST_CASE("arrange: of entries of equal magnitude the first decides, and zeros stay", "[cp]") {
  HostFactors factors(2, HostMatrix(3, 2));
  factors[0].data = {-2, 0, 2, 0, 1, 0};  // the second column is zero
  factors[1].data = {5, 6, 7, 8, 9, 10};
  std::vector<double> weights{2, 1};
  auto const after = arranged<double>(factors, weights);
  CHECK(after[0].data == std::vector<double>{2, 0, -2, 0, -1, 0});
  CHECK(after[1].data == std::vector<double>{-5, 6, -7, 8, -9, 10});
}

}  // namespace
}  // namespace polyad::test
