// SPDX-License-Identifier: BSD-3-Clause
// symmetric_eigen: known eigenvalues, and the definitions H Q' = Q' W and Q Q' = I.
#include <Kokkos_Core.hpp>
#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <vector>

#include "dense/symmetric_eigen.hpp"
#include "polyad/core/spaces.hpp"
#include "polyad/testing/oracle.hpp"
#include "support/catch.hpp"
#include "support/device_data.hpp"
#include "support/oracle.hpp"

namespace polyad::test {
namespace {

struct CallEigen {
  Kokkos::View<double*, TestSpace::device_type> H;
  Kokkos::View<double*, TestSpace::device_type> Q;
  Kokkos::View<double*, TestSpace::device_type> work;
  int size;
  int stride;
  template <class Member>
  KOKKOS_FUNCTION void operator()(Member const& member) const {
    symmetric_eigen(member, SquareMatrix{H.data(), size, stride}, SquareMatrix{Q.data(), size, stride},
                    work.data());
  }
};

struct Eigen {
  std::vector<double> values;
  HostMatrix vectors;  // columns
  bool trespassed = false;
};

LaunchShape usual_team() {
  return is_device_space<TestSpace> ? LaunchShape{1, 8, 32} : LaunchShape{1, 1, 1};
}

/// Teams of other shapes; on a host one of two threads, if there are two.
std::vector<LaunchShape> other_teams() {
  if (is_device_space<TestSpace>) return {{1, 32, 1}, {1, 4, 8}, {1, 1, 32}, {1, 16, 32}};
  if (TestSpace().concurrency() < 2) return {};
  return {{1, 2, 1}};
}

/// Rows lie `stride` numbers apart.
Eigen eigen_of(HostMatrix const& H, std::size_t stride, LaunchShape team = usual_team()) {
  TestSpace const space;
  std::size_t const size = H.rows;
  std::vector<double> padded(size * stride, canary);
  for (std::size_t i = 0; i < size; ++i)
    for (std::size_t j = 0; j < size; ++j) padded[i * stride + j] = H(i, j);
  CallEigen const call{to_device(padded), to_device(std::vector<double>(size * stride, canary)),
                       to_device(std::vector<double>(2 * size + 1, canary)), static_cast<int>(size),
                       static_cast<int>(stride)};
  Kokkos::parallel_for("polyad::test", team_policy(space, team), call);
  space.fence("polyad::test");
  auto const overwritten = flat(call.H);
  auto const vectors     = flat(call.Q);
  auto const work        = flat(call.work);
  Eigen result;
  result.vectors    = HostMatrix(size, size);
  result.trespassed = work[2 * size] != canary;
  for (std::size_t i = 0; i < size; ++i) {
    result.values.push_back(work[i]);
    for (std::size_t j = 0; j < stride; ++j)
      if (j < size)
        result.vectors(j, i) = vectors[i * stride + j];
      else
        result.trespassed =
            result.trespassed || vectors[i * stride + j] != canary || overwritten[i * stride + j] != canary;
  }
  return result;
}

/// R reflections from both sides and about 2 R sweeps change an entry, each by a few units of roundoff. The
/// errors are normwise, and they add up as random numbers do: 10 R epsilon leaves a factor of 5.
double error_bound(std::size_t size) {
  return 10 * static_cast<double>(size) * std::numeric_limits<double>::epsilon();
}

long double frobenius(HostMatrix const& A) {
  long double sum = 0;
  for (long double const entry : A.data) sum += entry * entry;
  return std::sqrt(sum);
}

void expect_eigen(HostMatrix const& H, std::size_t stride, LaunchShape team = usual_team()) {
  std::size_t const size = H.rows;
  CAPTURE(size, stride, team.team, team.vector);
  auto const eigen = eigen_of(H, stride, team);
  CHECK_FALSE(eigen.trespassed);
  auto const HQ      = oracle_product(H, eigen.vectors);
  auto const QQ      = oracle_product_of_transposed(eigen.vectors, eigen.vectors);
  long double off_HQ = 0, off_QQ = 0;
  for (std::size_t i = 0; i < size; ++i)
    for (std::size_t j = 0; j < size; ++j) {
      off_HQ += std::pow(
          HQ.value[i * size + j] - eigen.vectors(i, j) * static_cast<long double>(eigen.values[j]), 2);
      off_QQ += std::pow(QQ.value[i * size + j] - (i == j ? 1 : 0), 2);
    }
  CHECK(std::sqrt(off_HQ) <= error_bound(size) * frobenius(H));
  CHECK(std::sqrt(off_QQ) <= error_bound(size));
}

HostMatrix random_symmetric(std::size_t size) {
  Random random(size);
  auto H = random_matrix(random, size, size);
  for (std::size_t i = 0; i < size; ++i)
    for (std::size_t j = 0; j < i; ++j) H(i, j) = H(j, i);
  return H;
}

/// P W P for the diagonal matrix W and a reflection P: a full matrix with the eigenvalues W.
HostMatrix with_eigenvalues(std::vector<double> const& W) {
  std::size_t const size = W.size();
  Random random(size);
  auto const v       = random_matrix(random, size, 1);
  long double square = 0;
  for (long double const entry : v.data) square += entry * entry;
  auto const P = [&](std::size_t i, std::size_t j) {
    return (i == j ? 1 : 0) - 2 * static_cast<long double>(v.data[i]) * v.data[j] / square;
  };
  HostMatrix H(size, size);
  for (std::size_t i = 0; i < size; ++i)
    for (std::size_t j = 0; j <= i; ++j) {
      long double sum = 0;
      for (std::size_t k = 0; k < size; ++k) sum += P(i, k) * W[k] * P(k, j);
      H(i, j) = H(j, i) = static_cast<double>(sum);
    }
  return H;
}

void expect_eigenvalues(HostMatrix const& H, std::vector<double> expected) {
  CAPTURE(H.rows);
  auto values = eigen_of(H, H.rows).values;
  std::sort(values.begin(), values.end());
  std::sort(expected.begin(), expected.end());
  for (std::size_t k = 0; k < H.rows; ++k)
    CHECK(std::abs(values[k] - expected[k]) <= error_bound(H.rows) * frobenius(H));
}

TEST_CASE("symmetric eigen: random matrices of every parity, rows apart or not", "[dense]") {
  for (std::size_t const size : {1, 2, 3, 4, 5, 6, 7, 8, 15, 16, 17, 31, 32, 33, 64, 65, 101, 129}) {
    expect_eigen(random_symmetric(size), size);
    expect_eigen(random_symmetric(size), size + 3);
  }
}

TEST_CASE("symmetric eigen: teams of every shape", "[dense]") {
  for (auto const& team : other_teams())
    for (std::size_t const size : {1, 2, 3, 5, 16, 17, 33, 70})
      expect_eigen(random_symmetric(size), size, team);
}

TEST_CASE("symmetric eigen: matrices that need no rotation", "[dense]") {
  HostMatrix diagonal(5, 5);
  for (std::size_t i = 0; i < 5; ++i) diagonal(i, i) = static_cast<double>(i) - 2;
  auto const eigen = eigen_of(diagonal, 5);
  CHECK(eigen.values == std::vector<double>{-2, -1, 0, 1, 2});
  for (std::size_t const size : {1, 2, 4, 17}) {
    HostMatrix const zero(size, size);
    CHECK(eigen_of(zero, size).values == std::vector<double>(size, 0.0));
    expect_eigen(zero, size);
  }
}

TEST_CASE("symmetric eigen: known eigenvalues", "[dense]") {
  // Second differences of n points: 2 - 2 cos(k pi / (n + 1)).
  std::size_t const size = 20;
  HostMatrix H(size, size);
  std::vector<double> expected;
  for (std::size_t i = 0; i < size; ++i) {
    H(i, i) = 2;
    if (i > 0) H(i, i - 1) = H(i - 1, i) = -1;
    expected.push_back(
        2 - 2 * std::cos(static_cast<double>(i + 1) * std::numbers::pi / static_cast<double>(size + 1)));
  }
  expect_eigenvalues(H, expected);
  // All ones: n once and 0 otherwise.
  HostMatrix ones(9, 9);
  std::fill(ones.data.begin(), ones.data.end(), 1.0);
  expect_eigenvalues(ones, {0, 0, 0, 0, 0, 0, 0, 0, 9});
}

TEST_CASE("symmetric eigen: repeated and clustered eigenvalues", "[dense]") {
  for (std::size_t const size : {3, 5, 16, 33, 64, 129}) {
    std::vector<double> repeated(size, 1.0), clustered, of_both_signs, half(size, 0.0);
    repeated[0] = -1;
    for (std::size_t i = 0; i < size; ++i) {
      clustered.push_back(1 + 1e-13 * static_cast<double>(i));
      of_both_signs.push_back(i % 2 == 0 ? 1 : -1);
      if (i % 2 == 0) half[i] = static_cast<double>(i + 1);
    }
    for (auto const& values : {repeated, clustered, of_both_signs, half}) {
      auto const H = with_eigenvalues(values);
      expect_eigen(H, size);
      expect_eigenvalues(H, values);
    }
  }
}

TEST_CASE("symmetric eigen: tiny, huge and graded matrices", "[dense]") {
  for (double const scale : {0x1p-1000, 0x1p-300, 0x1p300, 0x1p1000}) {
    auto H = random_symmetric(12);
    for (double& entry : H.data) entry *= scale;
    expect_eigen(H, 12);
  }
  // Entries from 2^-1000 to 2^1000, the large ones first or last, and blocks of which one is tiny.
  std::size_t const size = 41;
  for (bool const increasing : {false, true}) {
    auto H = random_symmetric(size);
    for (std::size_t i = 0; i < size; ++i)
      for (std::size_t j = 0; j < size; ++j) {
        int const exponent = 1000 - 25 * static_cast<int>(i + j);
        H(i, j)            = std::ldexp(H(i, j), increasing ? -exponent : exponent);
      }
    expect_eigen(H, size);
    auto blocks = random_symmetric(size);
    for (std::size_t i = 0; i < size; ++i)
      for (std::size_t j = 0; j < size; ++j)
        if ((i < 20) == increasing || (j < 20) == increasing) blocks(i, j) = std::ldexp(blocks(i, j), -530);
    expect_eigen(blocks, size);
  }
}

TEST_CASE("symmetric eigen: what is not finite ends, and not with finite eigenvalues alone", "[dense]") {
  for (double const value :
       {std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity()})
    for (std::size_t const size : {1, 2, 6, 40})
      for (bool const last_row : {false, true}) {
        auto H              = random_symmetric(size);
        std::size_t const i = last_row ? size - 1 : size / 3;
        std::size_t const j = size / 2;
        H(i, j) = H(j, i) = value;
        CAPTURE(size, i, j);
        auto const values = eigen_of(H, size).values;
        CHECK(
            std::none_of(values.begin(), values.end(), [](double number) { return std::isfinite(number); }));
      }
}

}  // namespace
}  // namespace polyad::test
