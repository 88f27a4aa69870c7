// SPDX-License-Identifier: BSD-3-Clause
// nvecs: orthonormal columns that span the leading left singular vectors of every unfolding.
#include "polyad/dense/nvecs.hpp"

#include <Kokkos_Core.hpp>
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include "dense/mode_fibers.hpp"
#include "polyad/testing/small_tensors.hpp"
#include "support/catch.hpp"
#include "support/device_data.hpp"
#include "support/oracle.hpp"

namespace polyad::test {
namespace {

/// The factors on the host.
template <class Scalar, class Index = std::uint32_t>
HostFactors nvecs_of(HostTensor const& tensor, std::size_t rank) {
  TestSpace const space;
  auto const factors = nvecs(space, to_device<Scalar, Index>(space, tensor), rank);
  space.fence("polyad::test");
  HostFactors result;
  for (int n = 0; n < factors.order(); ++n) {
    result.emplace_back(factors[n].extent(0), rank);
    result.back().data = flat(factors[n]);
  }
  return result;
}

/// How far Q'Q is from the identity, at most.
long double distance_to_orthonormal(HostMatrix const& Q) {
  auto const G      = oracle_product_of_transposed(Q, Q);
  long double worst = 0;
  for (std::size_t e = 0; e < G.value.size(); ++e)
    worst = std::max(worst, std::abs(G.value[e] - (e / Q.columns == e % Q.columns ? 1 : 0)));
  return worst;
}

TEST_CASE("nvecs: a diagonal tensor's singular vectors are unit vectors, the largest first", "[cp]") {
  HostTensor tensor{"diagonal", {6, 5, 7}, {}, {}};
  std::vector<double> const weights{1, 0.1, 10, 0.01, 3};
  for (std::size_t i = 0; i < weights.size(); ++i) {
    tensor.indices.insert(tensor.indices.end(), {i, i, i});
    tensor.values.push_back(weights[i]);
  }
  std::vector<std::size_t> const order{2, 4, 0};
  for (auto const& Q : nvecs_of<double>(tensor, 3)) {
    CHECK(distance_to_orthonormal(Q) < 1e-12L);
    for (std::size_t r = 0; r < 3; ++r)
      CHECK(std::abs(std::abs(Q(order[r], r)) - 1) < 1e-3);  // the iteration ends at a change of 1e-4
  }
}

TEST_CASE("nvecs: orthonormal columns for every kind of tensor", "[cp]") {
  for (Kind const kind : {Kind::shuffled, Kind::duplicates})
    for (std::size_t const order : {2, 4}) {
      auto const tensor = distinct(small_tensor(kind, order));
      CAPTURE(tensor.name);
      // No more columns than any unfolding has rank, or random ones would stand in.
      for (auto const& Q : nvecs_of<double>(tensor, kind == Kind::duplicates ? 2 : 5))
        CHECK(distance_to_orthonormal(Q) < 1e-9L);
    }
}

TEST_CASE("nvecs: short and long modes in one tensor, every scalar and coordinate", "[cp]") {
  // Mode 0 is short (30 * 30 <= 1000 nonzeros), mode 1 is not.
  Random random(41);
  auto const tensor = distinct(random_tensor(random, {30, 400, 20}, 1000));
  auto const check  = [&](HostFactors const& factors, long double bound) {
    for (auto const& Q : factors) CHECK(distance_to_orthonormal(Q) < bound);
  };
  check(nvecs_of<double>(tensor, 4), 1e-9L);
  check(nvecs_of<double, std::uint64_t>(tensor, 4), 1e-9L);
  check(nvecs_of<float>(tensor, 4), 1e-4L);
  check(nvecs_of<float, std::uint64_t>(tensor, 4), 1e-4L);
}

TEST_CASE("nvecs: fibers longer than a thread walks alone", "[cp]") {
  // Each fiber has rows and a singular value of its own: length^(1/2) times its value.
  std::vector<std::pair<std::size_t, double>> const fibers{
      {1024, 8}, {1, 100}, {1025, 1.5}, {2048, 0.5}, {2049, 0.25}, {5000, 0.0625}, {3, 0.25}};
  std::size_t rows = 0;
  HostTensor tensor{"long fibers", {0, fibers.size(), 2}, {}, {}};
  std::vector<std::size_t> first;
  for (std::size_t f = 0; f < fibers.size(); ++f) {
    first.push_back(rows);
    for (std::size_t k = 0; k < fibers[f].first; ++k) {
      tensor.indices.insert(tensor.indices.end(), {rows++, f, f % 2});
      tensor.values.push_back(fibers[f].second);
    }
  }
  tensor.extents[0] = rows;
  Random random(6);
  tensor = reordered(tensor, random_order(random, tensor.nnz()));
  TestSpace const space;
  auto const Q = flat(nvecs(space, to_device<double, std::uint32_t>(space, tensor), 6, {0, 200, 1e-14})[0]);
  // 256, 100, 48, 22.6, 11.3, 4.4: in this order.
  for (std::size_t r = 0; r < 6; ++r) {
    double const entry = 1 / std::sqrt(static_cast<double>(fibers[r].first));
    for (std::size_t i = 0; i < rows; ++i) {
      bool const inside = i >= first[r] && i < first[r] + fibers[r].first;
      if (std::abs(std::abs(Q[i * 6 + r]) - (inside ? entry : 0)) > 1e-5) {
        CAPTURE(r, i, inside, entry, Q[i * 6 + r]);
        FAIL("not a singular vector");
      }
    }
  }
}

TEST_CASE("nvecs: a launch holds the fibers of more nonzeros than an int counts", "[cp]") {
  count_t const nnz = count_t(1) << 33;
  CHECK(fibers_shape<TestSpace>(nnz).league <= count_t(std::numeric_limits<int>::max()));
  LaunchShape const shape = fibers_shape<TestSpace>(nnz + 1);
  CHECK(shape.league * static_cast<count_t>(shape.team) * fiber_positions<TestSpace> > nnz);
}

/// The largest entry of |Q'P| - 1: how far the columns of Q are from those of P, up to their signs.
long double off_by_more_than_signs(HostMatrix const& Q, HostMatrix const& P) {
  auto const G      = oracle_product_of_transposed(Q, P);
  long double worst = 0;
  for (std::size_t e = 0; e < G.value.size(); ++e)
    worst = std::max(worst, std::abs(std::abs(G.value[e]) - (e / Q.columns == e % Q.columns ? 1 : 0)));
  return worst;
}

TEST_CASE("nvecs: the same vectors at every scale of the values", "[cp]") {
  // Mode 0 is short, mode 1 is not; singular values with gaps between them.
  Random random(43);
  auto tensor = distinct(random_tensor(random, {30, 300, 20}, 1500));
  for (std::size_t p = 0; p < tensor.nnz(); ++p)
    tensor.values[p] *= std::pow(0.25, static_cast<double>(tensor.index(p, 2) % 5));
  auto const at_scale = [&](double scale) {
    auto scaled = tensor;
    for (double& value : scaled.values) value *= scale;
    return scaled;
  };
  auto const check = [&]<class Scalar>(Scalar, std::vector<double> const& scales, long double bound) {
    auto const expected = nvecs_of<Scalar>(tensor, 3);
    for (double const scale : scales) {
      CAPTURE(scale, sizeof(Scalar));
      auto const found = nvecs_of<Scalar>(at_scale(scale), 3);
      for (std::size_t n = 0; n < 3; ++n) {
        CHECK(distance_to_orthonormal(found[n]) < bound);
        CHECK(off_by_more_than_signs(found[n], expected[n]) < bound);
      }
    }
  };
  check(float(), {1e18, 1e30, 3e37, 1e-18, 1e-25, 1e-30, 1e-36}, 1e-3L);
  check(double(), {1e100, 1e150, 1e300, 1e307, 1e-100, 1e-150, 1e-300}, 1e-6L);
}

TEST_CASE("nvecs: values that are not finite are refused", "[cp]") {
  Random random(2);
  for (double const value :
       {std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity()}) {
    auto tensor      = distinct(random_tensor(random, {5, 6, 7}, 40));
    tensor.values[7] = value;
    CHECK_THROWS_AS(nvecs_of<double>(tensor, 2), NumericalError);
    CHECK_THROWS_AS(nvecs_of<float>(tensor, 2), NumericalError);
  }
}

TEST_CASE("nvecs: an empty tensor gets the random start", "[cp]") {
  TestSpace const space;
  auto const tensor = small_tensor(Kind::empty, 3);
  FactorMatrices<double, TestSpace> const random(space, Extents{29, 23, 17}, 4);
  fill_random(space, random, 0);
  space.fence("polyad::test");
  auto const factors = nvecs_of<double>(tensor, 4);
  for (int n = 0; n < 3; ++n) CHECK(factors[static_cast<std::size_t>(n)].data == flat(random[n]));
}

}  // namespace
}  // namespace polyad::test
