// SPDX-License-Identifier: BSD-3-Clause
// jacobi_eigen: known eigenvalues, and the definitions H Q = Q W and Q' Q = I.
#include <Kokkos_Core.hpp>
#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <vector>

#include "dense/jacobi_eigen.hpp"
#include "polyad/core/spaces.hpp"
#include "polyad/testing/oracle.hpp"
#include "support/catch.hpp"
#include "support/device_data.hpp"
#include "support/oracle.hpp"

namespace polyad::test {
namespace {

struct CallJacobi {
  Kokkos::View<double*, TestSpace::device_type> H;
  Kokkos::View<double*, TestSpace::device_type> Q;
  Kokkos::View<double*, TestSpace::device_type> rotations;
  int size;
  int stride;
  template <class Member>
  KOKKOS_FUNCTION void operator()(Member const& member) const {
    jacobi_eigen(member, SquareMatrix{H.data(), size, stride}, SquareMatrix{Q.data(), size, stride},
                 rotations.data());
  }
};

struct Eigen {
  std::vector<double> values;
  HostMatrix vectors;  // columns
  bool trespassed = false;
};

/// Rows lie `stride` numbers apart.
Eigen eigen_of(HostMatrix const& H, std::size_t stride) {
  TestSpace const space;
  std::size_t const size = H.rows;
  std::vector<double> padded(size * stride, canary);
  for (std::size_t i = 0; i < size; ++i)
    for (std::size_t j = 0; j < size; ++j) padded[i * stride + j] = H(i, j);
  CallJacobi const call{to_device(padded), to_device(std::vector<double>(size * stride, canary)),
                        to_device(std::vector<double>(size + 1)), static_cast<int>(size),
                        static_cast<int>(stride)};
  bool const device = is_device_space<TestSpace>;
  Kokkos::parallel_for("polyad::test", team_policy(space, LaunchShape{1, device ? 16 : 1, device ? 32 : 1}),
                       call);
  space.fence("polyad::test");
  auto const diagonal = flat(call.H);
  auto const vectors  = flat(call.Q);
  Eigen result;
  result.vectors = HostMatrix(size, size);
  for (std::size_t i = 0; i < size; ++i) {
    result.values.push_back(diagonal[i * stride + i]);
    for (std::size_t j = 0; j < stride; ++j)
      if (j < size)
        result.vectors(i, j) = vectors[i * stride + j];
      else
        result.trespassed =
            result.trespassed || vectors[i * stride + j] != canary || diagonal[i * stride + j] != canary;
  }
  return result;
}

/// A bound on what the rotations do to a number: every round of a sweep turns each entry twice, three rounded
/// operations a turn; convergence is quadratic, 12 sweeps are ample. Sums over R entries are normwise.
double jacobi_bound(std::size_t size) {
  return static_cast<double>(gamma<double>(12 * 6 * size)) * std::sqrt(static_cast<double>(size));
}

double frobenius(HostMatrix const& A) {
  double sum = 0;
  for (double const entry : A.data) sum += entry * entry;
  return std::sqrt(sum);
}

void expect_eigen(HostMatrix const& H, std::size_t stride) {
  std::size_t const size = H.rows;
  CAPTURE(size, stride);
  auto const eigen = eigen_of(H, stride);
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
  CHECK(std::sqrt(off_HQ) <= jacobi_bound(size) * frobenius(H));
  CHECK(std::sqrt(off_QQ) <= jacobi_bound(size));
}

HostMatrix random_symmetric(std::size_t size) {
  Random random(size);
  auto H = random_matrix(random, size, size);
  for (std::size_t i = 0; i < size; ++i)
    for (std::size_t j = 0; j < i; ++j) H(i, j) = H(j, i);
  return H;
}

TEST_CASE("Jacobi: random symmetric matrices of every parity, rows apart or not", "[dense]") {
  for (std::size_t const size : {1, 2, 3, 4, 5, 6, 7, 8, 15, 16, 17, 31, 33, 64, 101}) {
    expect_eigen(random_symmetric(size), size);
    expect_eigen(random_symmetric(size), size + 3);
  }
}

TEST_CASE("Jacobi: matrices that need no rotation", "[dense]") {
  HostMatrix diagonal(5, 5);
  for (std::size_t i = 0; i < 5; ++i) diagonal(i, i) = static_cast<double>(i) - 2;
  auto const eigen = eigen_of(diagonal, 5);
  CHECK(eigen.values == std::vector<double>{-2, -1, 0, 1, 2});
  CHECK(eigen_of(HostMatrix(4, 4), 4).values == std::vector<double>(4, 0.0));
}

TEST_CASE("Jacobi: known eigenvalues", "[dense]") {
  // Second differences of n points: 2 - 2 cos(k pi / (n + 1)).
  std::size_t const size = 20;
  HostMatrix H(size, size);
  for (std::size_t i = 0; i < size; ++i) {
    H(i, i) = 2;
    if (i > 0) H(i, i - 1) = H(i - 1, i) = -1;
  }
  auto values = eigen_of(H, size).values;
  std::sort(values.begin(), values.end());
  for (std::size_t k = 0; k < size; ++k) {
    double const expected =
        2 - 2 * std::cos(static_cast<double>(k + 1) * std::numbers::pi / static_cast<double>(size + 1));
    CHECK(std::abs(values[k] - expected) <= jacobi_bound(size) * frobenius(H));
  }
  // All ones: n once and 0 otherwise.
  HostMatrix ones(9, 9);
  std::fill(ones.data.begin(), ones.data.end(), 1.0);
  values = eigen_of(ones, 9).values;
  std::sort(values.begin(), values.end());
  CHECK(std::abs(values[8] - 9) <= jacobi_bound(9) * 9);
  for (std::size_t k = 0; k < 8; ++k) CHECK(std::abs(values[k]) <= jacobi_bound(9) * 9);
}

TEST_CASE("Jacobi: tiny and huge matrices", "[dense]") {
  for (double const scale : {0x1p-300, 0x1p300}) {
    auto H = random_symmetric(12);
    for (double& entry : H.data) entry *= scale;
    expect_eigen(H, 12);
  }
}

TEST_CASE("Jacobi: what is not finite ends, and not with finite eigenvalues alone", "[dense]") {
  auto H  = random_symmetric(6);
  H(2, 3) = H(3, 2) = std::numeric_limits<double>::quiet_NaN();
  auto const values = eigen_of(H, 6).values;
  CHECK(std::any_of(values.begin(), values.end(), [](double value) { return !std::isfinite(value); }));
}

}  // namespace
}  // namespace polyad::test
