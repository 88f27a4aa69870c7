// SPDX-License-Identifier: BSD-3-Clause
// normal_equations: the inverse of a Hadamard product of Gram matrices within a bound from its condition,
// and, where the product H is singular, W = D^-1 (D^-1 H D^-1)^+ D^-1 with D^2 = diag(H): the Moore-Penrose
// inverse that factors with normalised columns would have.
//
// The bound (Higham, "Accuracy and Stability of Numerical Algorithms", 2nd ed., theorem 10.3 and
// section 14.3): L L' = H + E with |E| <= gamma(R + 1) |L||L'|, and || |L||L'| || <= R ||H||; the inverse of
// L and the product of two such inverses add at most twice as much each. With ||.|| the Frobenius norm and k
// = ||H|| ||H^-1||,
// ||X - H^-1|| <= (5 R gamma(R + 2) + gamma(N)) k ||H^-1||, the last term from the Hadamard product, as long
// as that is far below ||H^-1||.
#include <Kokkos_Core.hpp>
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <vector>

#include "dense/update/normal_equations.hpp"
#include "polyad/testing/oracle.hpp"
#include "support/catch.hpp"
#include "support/device_data.hpp"
#include "support/oracle.hpp"

namespace polyad::test {
namespace {

long double frobenius(std::vector<long double> const& data) {
  long double sum = 0;
  for (long double const entry : data) sum += entry * entry;
  return std::sqrt(sum);
}

/// What a call gives: W S for the powers of two that it chooses, and W, which is exact.
struct Outcome {
  std::vector<double> inverse;
  std::vector<double> scaled;
  std::vector<double> weights;
  double fallbacks;
  std::size_t trespasses;
};

/// H of all modes but one, with the weights that it chooses.
ScaledHadamard<TestSpace> scaled_hadamard(TestSpace const& space, GramMatrices<TestSpace> const& grams,
                                          std::size_t mode, double component_norm,
                                          DeviceNumbers<TestSpace> const& weights) {
  std::size_t const rank = grams.extent(1);
  GramMatrix<TestSpace> const H("H", rank, rank);
  ColumnScales<TestSpace> const scales{weights, to_device(std::vector<double>(grams.extent(0) * rank, 1.0)),
                                       1};
  hadamard_of_grams(space, make_hadamard(grams, static_cast<int>(mode), component_norm, {}, scales, H));
  return {H, weights, {}, 1, 0};
}

/// The inverse, the weights and the fallbacks if the same launch forms H.
template <class Scalar>
std::vector<std::vector<double>> formed_in_one_launch(TestSpace const& space,
                                                      GramMatrices<TestSpace> const& grams, std::size_t mode,
                                                      double component_norm, double fallbacks,
                                                      std::vector<double> const& weights) {
  std::size_t const rank = grams.extent(1);
  GramMatrix<TestSpace> const H("H", rank, rank);
  Kokkos::deep_copy(H, nan_value);
  auto const device_weights = to_device(weights);
  ColumnScales<TestSpace> const scales{device_weights,
                                       to_device(std::vector<double>(grams.extent(0) * rank, 1.0)), 1};
  auto const counter  = to_device({fallbacks});
  auto const inverse  = make_factor_matrix<Scalar>(space, "polyad::test", rank, rank);
  auto const hadamard = make_hadamard(grams, static_cast<int>(mode), component_norm, {}, scales, H);
  normal_equations(space, ScaledHadamard<TestSpace>{H, device_weights, {}, 1, 0},
                   to_device(std::vector<double>(normal_equations_scratch(rank), nan_value)), counter,
                   inverse, &hadamard);
  space.fence("polyad::test");
  return {to_host<Scalar>(space, inverse), flat(device_weights), flat(counter)};
}

/// Grams (R x R each) of all modes; `mode` is left out. The counter starts at `fallbacks`; no weights: zeros.
template <class Scalar>
Outcome call(std::vector<std::vector<double>> const& grams, std::size_t mode, std::size_t rank,
             RowLayout layout = RowLayout::padded, double fallbacks = 0, std::vector<double> weights = {},
             double component_norm = 1) {
  TestSpace const space;
  GramMatrices<TestSpace> const device_grams("grams", grams.size(), rank, rank);
  auto const host = Kokkos::create_mirror_view(device_grams);
  for (std::size_t n = 0; n < grams.size(); ++n) std::copy(grams[n].begin(), grams[n].end(), &host(n, 0, 0));
  Kokkos::deep_copy(device_grams, host);
  auto const scratch = to_device(std::vector<double>(normal_equations_scratch(rank), nan_value));
  auto const counter = to_device({fallbacks});
  WatchedMatrix<Scalar> const inverse(space, layout, rank, rank);
  weights.resize(rank);
  auto const device_weights = to_device(weights);
  auto const matrix         = scaled_hadamard(space, device_grams, mode, component_norm, device_weights);
  normal_equations(space, matrix, scratch, counter, inverse.matrix());
  space.fence("polyad::test");
  Outcome outcome{inverse.read(), inverse.read(), flat(device_weights), flat(counter)[0],
                  inverse.trespasses()};
  // The same bits, NaN too.
  auto const same = [](double a, double b) { return a == b || (std::isnan(a) && std::isnan(b)); };
  auto const in_one =
      formed_in_one_launch<Scalar>(space, device_grams, mode, component_norm, fallbacks, weights);
  CHECK(std::ranges::equal(in_one[0], outcome.inverse, same));
  CHECK(std::ranges::equal(in_one[1], outcome.weights, same));
  CHECK(in_one[2][0] == outcome.fallbacks);
  for (std::size_t e = 0; e < rank * rank; ++e) outcome.inverse[e] *= outcome.weights[e % rank];
  return outcome;
}

std::vector<double> gram_on_host(HostMatrix const& A) {
  auto const G = oracle_product_of_transposed(A, A);
  return {G.value.begin(), G.value.end()};
}

OracleSquare hadamard(std::vector<std::vector<double>> const& grams, std::size_t mode, std::size_t rank) {
  OracleSquare H(rank);
  std::fill(H.data.begin(), H.data.end(), 1.0L);
  for (std::size_t n = 0; n < grams.size(); ++n)
    for (std::size_t e = 0; e < rank * rank && n != mode; ++e) H.data[e] *= grams[n][e];
  return H;
}

template <class Scalar>
void expect_inverse(std::vector<std::vector<double>> const& grams, std::size_t mode, std::size_t rank,
                    RowLayout layout = RowLayout::padded) {
  CAPTURE(rank, mode, grams.size(), static_cast<int>(layout), sizeof(Scalar));
  auto const H         = hadamard(grams, mode, rank);
  auto const expected  = oracle_inverse(H);
  auto const outcome   = call<Scalar>(grams, mode, rank, layout);
  auto const norm      = frobenius(expected.data);
  auto const condition = frobenius(H.data) * norm;
  long double bound =
      (5 * static_cast<long double>(rank) * gamma<double>(rank + 2) + gamma<double>(grams.size())) *
      condition * norm;
  REQUIRE(bound < norm / 100);  // else the bound says nothing
  if (sizeof(Scalar) < sizeof(double)) bound += gamma<Scalar>(1) * (norm + bound);
  std::vector<long double> difference;
  for (std::size_t e = 0; e < rank * rank; ++e) difference.push_back(outcome.inverse[e] - expected.data[e]);
  CHECK(frobenius(difference) <= bound);
  CHECK(outcome.fallbacks == 0);
  CHECK(outcome.trespasses == 0);
}

/// Grams of matrices of 2 R + 3 rows: their Hadamard products are well conditioned.
std::vector<std::vector<double>> regular_grams(std::size_t order, std::size_t rank) {
  Random random(100 * order + rank);
  std::vector<std::vector<double>> grams;
  for (std::size_t n = 0; n < order; ++n)
    grams.push_back(gram_on_host(random_matrix(random, 2 * rank + 3, rank)));
  return grams;
}

TEST_CASE("normal equations: the inverse, every edge of the rank table", "[dense]") {
  for (std::size_t const rank : {1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 32, 33, 63, 64, 65}) {
    auto const grams = regular_grams(3, rank);
    for (std::size_t mode = 0; mode < 3; ++mode) {
      expect_inverse<double>(grams, mode, rank, all_layouts[(mode + rank) % all_layouts.size()]);
      expect_inverse<float>(grams, mode, rank, all_layouts[(mode + rank) % all_layouts.size()]);
    }
  }
}

TEST_CASE("normal equations: at and around the largest rank that one team inverts", "[dense]") {
  for (std::size_t const rank : {127, 128, 129, 142, 160, 161})
    expect_inverse<double>(regular_grams(2, rank), 0, rank);
  expect_inverse<float>(regular_grams(2, 300), 1, 300);
}

TEST_CASE("normal equations: orders 2 to 16", "[dense]") {
  for (std::size_t order = 2; order <= 16; ++order) {
    // Unit diagonals, so that a product of 15 neither overflows nor looks singular.
    std::vector<std::vector<double>> grams = regular_grams(order, 6);
    for (auto& gram : grams) {
      std::vector<double> const G = gram;
      for (std::size_t e = 0; e < 36; ++e) gram[e] = G[e] / std::sqrt(G[e / 6 * 7] * G[e % 6 * 7]);
    }
    for (std::size_t const mode : {std::size_t(0), order / 2, order - 1})
      expect_inverse<double>(grams, mode, 6);
  }
}

TEST_CASE("normal equations: an ill-conditioned matrix is still inverted, not truncated", "[dense]") {
  // Hilbert's matrix of size 6 has condition 1.5e7, and all its eigenvalues count.
  std::size_t const rank = 6;
  std::vector<double> hilbert;
  for (std::size_t i = 0; i < rank; ++i)
    for (std::size_t j = 0; j < rank; ++j) hilbert.push_back(1.0 / static_cast<double>(i + j + 1));
  expect_inverse<double>({hilbert, hilbert}, 0, rank);
  // Columns of very different length.
  auto grams = regular_grams(2, rank);
  for (std::size_t e = 0; e < rank * rank; ++e)
    grams[1][e] *= std::ldexp(1.0, -3 * static_cast<int>(e / rank) - 3 * static_cast<int>(e % rank));
  expect_inverse<double>(grams, 0, rank);
}

/// (1 - d) 1 1' + d I: the eigenvalues R (1 - d) + d, once, and d.
std::vector<double> nearly_collinear(std::size_t rank, double condition) {
  double const d = static_cast<double>(rank) / condition;
  std::vector<double> gram(rank * rank, 1 - d);
  for (std::size_t i = 0; i < rank; ++i) gram[i * rank + i] = 1;
  return gram;
}

TEST_CASE("normal equations: conditions up to 1e12 are inverted as well as double can", "[dense]") {
  for (double const condition : {1e3, 1e6, 1e9})
    for (std::size_t const rank : {2, 3, 5}) {
      CAPTURE(condition);
      auto const gram = nearly_collinear(rank, condition);
      expect_inverse<double>({gram, gram}, 0, rank);
    }
  // Beyond, the worst case leaves no digit. One rounding of H alone changes its inverse by condition x unit
  // roundoff; what is computed stays within 16 of them.
  for (double const condition : {1e9, 1e10, 1e11, 1e12})
    for (std::size_t const rank : {2, 5, 8, 16, 33, 80, 140}) {
      CAPTURE(condition, rank);
      auto const gram     = nearly_collinear(rank, condition);
      auto const outcome  = call<double>({gram, gram}, 1, rank);
      auto const expected = oracle_inverse(hadamard({gram, gram}, 1, rank));
      CHECK(outcome.fallbacks == 0);
      std::vector<long double> difference;
      for (std::size_t e = 0; e < rank * rank; ++e)
        difference.push_back(outcome.inverse[e] - expected.data[e]);
      CHECK(frobenius(difference) <= 16 * condition * 0x1p-53L * frobenius(expected.data));
    }
}

TEST_CASE("normal equations: what factors in float cannot tell from singular is singular", "[dense]") {
  // H has a condition of 1e9: regular for doubles; the errors of an MTTKRP in float would grow to 60 times
  // the solution.
  auto const gram = nearly_collinear(4, 1e9);
  CHECK(call<double>({gram, gram}, 0, 4).fallbacks == 0);
  auto const outcome = call<float>({gram, gram}, 0, 4);
  CHECK(outcome.fallbacks == 1);
  // What is left is the mean: 1 1' / R^2.
  for (double const entry : outcome.inverse) CHECK(std::abs(entry - 1.0 / 16) < 1e-6);
}

TEST_CASE("normal equations: tiny and huge Gram matrices are as regular as others", "[dense]") {
  for (double const scale : {0x1p-400, 0x1p-100, 0x1p100, 0x1p400}) {
    auto grams = regular_grams(2, 5);
    for (double& entry : grams[0]) entry *= scale;
    expect_inverse<double>(grams, 1, 5);
  }
}

/// The four conditions of Moore and Penrose, for the product scaled to a unit diagonal and the inverse scaled
/// back.
template <class Scalar>
void expect_pseudo_inverse(std::vector<std::vector<double>> const& grams, std::size_t mode,
                           std::size_t rank) {
  CAPTURE(rank, sizeof(Scalar));
  auto const outcome = call<Scalar>(grams, mode, rank, RowLayout::padded, 5);
  CHECK(outcome.fallbacks == 6);
  CHECK(outcome.trespasses == 0);
  auto H = hadamard(grams, mode, rank);
  OracleSquare X(rank);
  std::vector<long double> norms(rank);
  for (std::size_t i = 0; i < rank; ++i) norms[i] = std::sqrt(H(i, i));
  for (std::size_t i = 0; i < rank; ++i)
    for (std::size_t j = 0; j < rank; ++j) {
      X(i, j) = outcome.inverse[i * rank + j] * norms[i] * norms[j];
      H(i, j) /= norms[i] * norms[j];
    }
  auto const times = [&](OracleSquare const& A, OracleSquare const& B) {
    OracleSquare C(rank);
    for (std::size_t i = 0; i < rank; ++i)
      for (std::size_t k = 0; k < rank; ++k)
        for (std::size_t j = 0; j < rank; ++j) C(i, j) += A(i, k) * B(k, j);
    return C;
  };
  auto const distance = [&](OracleSquare const& A, OracleSquare const& B) {
    std::vector<long double> difference;
    for (std::size_t e = 0; e < A.data.size(); ++e) difference.push_back(A.data[e] - B.data[e]);
    return frobenius(difference);
  };
  auto const transposed = [&](OracleSquare const& A) {
    OracleSquare T(rank);
    for (std::size_t i = 0; i < rank; ++i)
      for (std::size_t j = 0; j < rank; ++j) T(i, j) = A(j, i);
    return T;
  };
  auto const HX = times(H, X);
  auto const XH = times(X, H);
  // 12 sweeps of R rounds, each turning every entry twice in 3 operations; normwise sqrt(R). Each product by
  // H or X multiplies the relative error by the condition at most.
  long double const condition = frobenius(H.data) * frobenius(X.data);
  long double const relative =
      (gamma<double>(72 * rank) * std::sqrt(static_cast<long double>(rank)) + gamma<Scalar>(1)) * condition;
  CHECK(distance(times(HX, H), H) <= 2 * relative * frobenius(H.data));
  CHECK(distance(times(XH, X), X) <= 3 * relative * frobenius(X.data));
  CHECK(distance(HX, transposed(HX)) <= 2 * relative);
  CHECK(distance(XH, transposed(XH)) <= 2 * relative);
  // The rank: the trace of the projection H X.
  long double trace = 0;
  for (std::size_t i = 0; i < rank; ++i) trace += HX(i, i);
  CHECK(std::abs(trace - std::round(trace)) <= 2 * relative * std::sqrt(static_cast<long double>(rank)));
}

TEST_CASE("normal equations: singular products get the Moore-Penrose inverse, and are counted", "[dense]") {
  for (std::size_t const rank : {2, 3, 5, 8, 17, 33, 64, 130}) {
    Random random(rank);
    auto A = random_matrix(random, 2 * rank, rank);
    for (std::size_t i = 0; i < A.rows; ++i) A(i, rank - 1) = A(i, 0);  // two equal columns
    auto const once = gram_on_host(A);
    expect_pseudo_inverse<double>({once, once, once}, 1, rank);
    expect_pseudo_inverse<float>({once, once, once}, 1, rank);
    for (std::size_t i = 0; i < A.rows; ++i)
      for (std::size_t r = 1; r < rank; ++r) A(i, r) = A(i, r % 2);  // rank 2 at most
    auto const twice = gram_on_host(A);
    expect_pseudo_inverse<double>({twice, twice}, 1, rank);
    // Fewer rows than columns: an order-2 tensor with a short mode.
    auto const wide = gram_on_host(random_matrix(random, (rank + 1) / 2, rank));
    expect_pseudo_inverse<double>({wide, wide}, 0, rank);
  }
}

/// The pseudo-inverse from the eigenvectors, whatever the rank.
template <class Equations>
struct ByEigenvectors {
  Equations equations;
  double* vectors;
  template <class Member>
  KOKKOS_FUNCTION void operator()(Member const& member) const {
    int const size = static_cast<int>(equations.inverse.extent(0));
    equations.weigh(member, vectors + 2 * size, size);
    equations.fall_back(member, SquareMatrix{vectors + 4 * size, size, scratch_stride(size)}, vectors);
  }
};

template <class Scalar>
std::vector<double> by_eigenvectors(std::vector<double> const& gram, std::size_t rank) {
  TestSpace const space;
  // The Gram matrix of the mode itself, whose diagonal is read, and that of the only other mode.
  GramMatrices<TestSpace> const grams("grams", 2, rank, rank);
  auto const host = Kokkos::create_mirror_view(grams);
  for (std::size_t n = 0; n < 2; ++n) std::copy(gram.begin(), gram.end(), host.data() + n * rank * rank);
  Kokkos::deep_copy(grams, host);
  auto const scratch = to_device(std::vector<double>(normal_equations_scratch(rank)));
  auto const weights = to_device(std::vector<double>(rank));
  auto const counter = to_device({0.0});
  auto const inverse = make_factor_matrix<Scalar>(space, "polyad::test", rank, rank);
  using Equations    = NormalEquations<TestSpace, Scalar>;
  Equations const equations{scaled_hadamard(space, grams, 0, 1, weights), inverse, counter, scratch, 0};
  Kokkos::parallel_for("polyad::test", team_policy(space, normal_equations_shape<TestSpace>()),
                       ByEigenvectors<Equations>{equations, scratch.data()});
  space.fence("polyad::test");
  auto result     = flat(inverse);
  auto const kept = flat(weights);
  for (std::size_t e = 0; e < rank * rank; ++e) result[e] *= kept[e % rank];
  return result;
}

/// Both pseudo-inverses of a Gram matrix of rank r, times a scale. Each is within the bound of the test above
/// of the exact one, so that they differ by twice as much.
template <class Scalar>
void expect_both_alike(std::size_t rank, std::size_t r, double scale) {
  CAPTURE(rank, r, scale, sizeof(Scalar));
  Random random(rank + r);
  auto gram = gram_on_host(random_matrix(random, r, rank));
  for (double& entry : gram) entry *= scale;
  auto const outcome = call<Scalar>({gram, gram}, 0, rank);
  CHECK(outcome.fallbacks == 1);
  CHECK(outcome.trespasses == 0);
  auto const expected = by_eigenvectors<Scalar>(gram, rank);
  std::vector<long double> difference, other, H;
  for (std::size_t e = 0; e < rank * rank; ++e) {
    long double const norms =
        std::sqrt(static_cast<long double>(gram[e / rank * (rank + 1)]) * gram[e % rank * (rank + 1)]);
    difference.push_back((outcome.inverse[e] - static_cast<long double>(expected[e])) * norms);
    other.push_back(expected[e] * norms);
    H.push_back(gram[e] / norms);
  }
  long double const condition = frobenius(H) * frobenius(other);
  long double const relative =
      (gamma<double>(72 * rank) * std::sqrt(static_cast<long double>(rank)) + gamma<Scalar>(1)) * condition;
  REQUIRE(relative < 0.01);  // else the bound says nothing
  CHECK(frobenius(difference) <= 2 * relative * frobenius(other));
}

TEST_CASE("normal equations: beyond one team's rank, the pseudo-inverse is that of the eigenvectors",
          "[dense]") {
  for (auto const& [rank, r] : std::vector<std::array<std::size_t, 2>>{
           {129, 1}, {129, 128}, {150, 31}, {160, 32}, {161, 33}, {200, 64}, {200, 100}, {256, 20}}) {
    if (4 * r <= 3 * rank) expect_both_alike<float>(rank, r, 1);
    for (double const scale : {1e-150, 1e-20, 1.0, 1e150}) expect_both_alike<double>(rank, r, scale);
  }
}

TEST_CASE("normal equations: beyond one team's rank, singular extremes", "[dense]") {
  std::size_t const rank = 140;
  // Nothing but zeros, and one column that is not.
  std::vector<double> zeros(rank * rank, 0.0);
  auto outcome = call<double>({zeros, zeros}, 0, rank);
  CHECK(outcome.fallbacks == 1);
  CHECK(outcome.inverse == zeros);
  zeros[77 * (rank + 1)] = 4;
  outcome                = call<double>({zeros, zeros}, 0, rank);
  CHECK(outcome.fallbacks == 1);
  for (std::size_t e = 0; e < rank * rank; ++e)
    CHECK(std::abs(outcome.inverse[e] - (e == 77 * (rank + 1) ? 0.25 : 0)) <= 1e-15);
  // NaN reaches the inverse, wherever it is.
  Random random(9);
  for (std::size_t const place : {0, 1, 139, 5000, 19599}) {
    auto gram         = gram_on_host(random_matrix(random, 12, rank));
    gram[place]       = nan_value;
    auto const column = place % rank * rank + place / rank;
    gram[column]      = nan_value;
    auto const spoilt = call<double>({gram, gram}, 0, rank);
    CHECK(std::any_of(spoilt.inverse.begin(), spoilt.inverse.end(), [](double x) { return std::isnan(x); }));
  }
}

TEST_CASE("normal equations: singular products worked out by hand", "[dense]") {
  std::vector<double> const any(4, 3.0);
  auto const close = [](std::vector<double> const& actual, std::vector<double> const& expected) {
    double const eps = 64 * std::numeric_limits<double>::epsilon();
    for (std::size_t e = 0; e < expected.size(); ++e)
      if (!(std::abs(actual[e] - expected[e]) <= eps)) return false;
    return true;
  };
  auto outcome = call<double>({{1, 1, 1, 1}, any}, 1, 2);
  CHECK(close(outcome.inverse, {0.25, 0.25, 0.25, 0.25}));
  CHECK(outcome.fallbacks == 1);
  outcome = call<double>({any, {2, 0, 0, 0}}, 0, 2);  // a column of zeros
  CHECK(close(outcome.inverse, {0.5, 0, 0, 0}));
  CHECK(outcome.fallbacks == 1);
  outcome = call<double>({any, {0, 0, 0, 0}}, 0, 2);  // nothing but zeros
  CHECK(outcome.inverse == std::vector<double>(4, 0.0));
  CHECK(outcome.fallbacks == 1);
  outcome = call<double>({{5}, {0}}, 0, 1);
  CHECK(outcome.inverse == std::vector<double>{0.0});
  outcome = call<double>({{5}, {0}}, 1, 1);
  CHECK(close(outcome.inverse, {0.2}));
  CHECK(outcome.fallbacks == 0);
}

TEST_CASE("normal equations: the mode's own Gram matrix does not count", "[dense]") {
  auto grams = regular_grams(3, 5);
  std::fill(grams[1].begin(), grams[1].end(), nan_value);
  expect_inverse<double>({grams[0], grams[2]}, 0, 5);
  auto const without = call<double>({grams[0], grams[0], grams[2]}, 1, 5);
  auto const with    = call<double>(grams, 1, 5);
  CHECK(with.inverse == without.inverse);
}

TEST_CASE("normal equations: the weights are powers of two below the components' norms", "[dense]") {
  std::size_t const rank = 5;
  auto const grams       = regular_grams(4, rank);
  std::vector<double> const before{1, 0x1p-90, 0x1p70, 3, 0.7};
  double const norm  = 0x1p20;
  auto const plain   = call<double>(grams, 2, rank);
  auto const outcome = call<double>(grams, 2, rank, RowLayout::padded, 0, before, norm);
  for (std::size_t r = 0; r < rank; ++r) {
    CAPTURE(r);
    long double square = 1;
    for (auto const& gram : grams) square *= gram[r * (rank + 1)];
    long double const expected = before[r] * std::sqrt(square) / norm;
    int exponent               = 0;
    CHECK(std::frexp(outcome.weights[r], &exponent) == 0.5);
    CHECK(outcome.weights[r] <= expected);
    CHECK(2 * outcome.weights[r] > expected);
    // S scales columns alone, and no bit of W changes.
    for (std::size_t i = 0; i < rank; ++i)
      CHECK(outcome.scaled[i * rank + r] * outcome.weights[r] == plain.inverse[i * rank + r]);
  }
}

TEST_CASE("normal equations: without weights the new factor is as large as its MTTKRP", "[dense]") {
  auto grams = regular_grams(3, 4);
  for (std::size_t e = 0; e < 16; ++e) grams[0][e] *= 0x1p300;
  auto const outcome = call<double>(grams, 1, 4);
  for (std::size_t r = 0; r < 4; ++r) {
    double const square = grams[0][r * 5] * grams[2][r * 5];
    CHECK(outcome.weights[r] * square >= 1);
    CHECK(outcome.weights[r] * square < 2);
  }
  // Weights that are nothing to go by.
  for (double const unknown : {nan_value, -1.0, std::numeric_limits<double>::infinity()})
    CHECK(call<double>(grams, 1, 4, RowLayout::padded, 0, std::vector<double>(4, unknown)).weights ==
          outcome.weights);
}

TEST_CASE("normal equations: fifteen long modes leave an inverse that floats hold", "[dense]") {
  // Norms of I^(1/4), as columns of 10^7 rows are kept at; components that weigh 1e-40, 1 and 1e6.
  std::vector<std::vector<double>> grams = regular_grams(16, 3);
  for (auto& gram : grams) {
    std::vector<double> const G = gram;
    for (std::size_t e = 0; e < 9; ++e) gram[e] = 3136 * G[e] / std::sqrt(G[e / 3 * 4] * G[e % 3 * 4]);
  }
  double const norm = std::exp2(std::round(std::log2(std::pow(56.0, 16))));
  std::vector<double> const weights{1e-40 / norm, 1 / norm, 1e6 / norm};
  auto const exact   = call<double>(grams, 7, 3, RowLayout::padded, 0, weights, norm);
  auto const outcome = call<float>(grams, 7, 3, RowLayout::padded, 0, weights, norm);
  CHECK(outcome.weights == exact.weights);
  for (std::size_t r = 0; r < 3; ++r) {
    double const entry = outcome.scaled[r * 4];
    CHECK(std::abs(entry - exact.scaled[r * 4]) <= 0x1p-23 * std::abs(entry));
    CHECK(std::isnormal(static_cast<float>(entry)));
  }
}

/// What is counted if the last two of `rank` components have an angle whose squared sine is `square`.
template <class Scalar>
std::vector<double> counts_of_pair(count_t rank, double square) {
  TestSpace const space;
  GramMatrix<TestSpace> const H("H", rank, rank);
  auto const host = Kokkos::create_mirror_view(H);
  for (count_t r = 0; r < rank; ++r) host(r, r) = 1;
  host(rank - 1, rank - 2) = host(rank - 2, rank - 1) = std::sqrt(1 - square);
  Kokkos::deep_copy(H, host);
  auto const counter = to_device({0.0, 0.0});
  auto const weights = to_device(std::vector<double>(rank, 1.0));
  normal_equations(space, ScaledHadamard<TestSpace>{H, weights, {}, 1, 0},
                   to_device(std::vector<double>(normal_equations_scratch(rank))), counter,
                   make_factor_matrix<Scalar>(space, "polyad::test", rank, rank));
  space.fence("polyad::test");
  return flat(counter);
}

template <class Scalar>
void expect_counts() {
  for (count_t const rank : {2, 33, 130}) {
    CAPTURE(rank, sizeof(Scalar));
    double const square = 1 / NormalEquations<TestSpace, Scalar>::nearly_singular_from;
    CHECK(counts_of_pair<Scalar>(rank, 1) == std::vector<double>{0, 0});
    CHECK(counts_of_pair<Scalar>(rank, square * 1.25) == std::vector<double>{0, 0});
    CHECK(counts_of_pair<Scalar>(rank, square * 0.8) == std::vector<double>{0, 2});  // two entries
    CHECK(counts_of_pair<Scalar>(rank, 0)[0] == 1);
  }
}

TEST_CASE("normal equations: a nearly singular H is counted apart from a singular one", "[dense]") {
  expect_counts<double>();
  expect_counts<float>();
}

TEST_CASE("normal equations: NaN in comes out, and the call ends", "[dense]") {
  auto grams  = regular_grams(2, 7);
  grams[0][9] = grams[0][15] = nan_value;
  auto const outcome         = call<double>(grams, 1, 7);
  CHECK(std::any_of(outcome.inverse.begin(), outcome.inverse.end(),
                    [](double entry) { return std::isnan(entry); }));
}

TEST_CASE("normal equations: shapes that do not match are refused", "[dense]") {
  TestSpace const space;
  GramMatrices<TestSpace> const grams("grams", 3, 4, 4);
  auto const counter = to_device({0.0});
  auto const scratch = to_device(std::vector<double>(normal_equations_scratch(4)));
  auto const make    = [&](count_t rows, count_t columns) {
    return make_factor_matrix<double>(space, "polyad::test", rows, columns);
  };
  auto const weights = to_device(std::vector<double>(4));
  auto const scales  = to_device(std::vector<double>(12));
  GramMatrix<TestSpace> const H("H", 4, 4);
  ScaledHadamard<TestSpace> const good{H, weights, weights, 1, 1};
  CHECK_NOTHROW(normal_equations(space, good, scratch, counter, make(4, 4)));
  CHECK_THROWS_AS(normal_equations(space, good, scratch, counter, make(5, 5)), UsageError);
  CHECK_THROWS_AS(normal_equations(space, good, scratch, counter, make(4, 5)), UsageError);
  auto bad    = good;
  bad.weights = counter;
  CHECK_THROWS_AS(normal_equations(space, bad, scratch, counter, make(4, 4)), UsageError);
  bad       = good;
  bad.scale = counter;
  CHECK_THROWS_AS(normal_equations(space, bad, scratch, counter, make(4, 4)), UsageError);
  auto const short_scratch = to_device(std::vector<double>(normal_equations_scratch(4) - 1));
  CHECK_THROWS_AS(normal_equations(space, good, short_scratch, counter, make(4, 4)), UsageError);
  auto const form = [&](ColumnScales<TestSpace> const& all, GramMatrix<TestSpace> const& to) {
    hadamard_of_grams(space, make_hadamard(grams, 0, 1, {}, all, to));
  };
  CHECK_NOTHROW(form({weights, scales, 1}, H));
  CHECK_THROWS_AS(form({counter, scales, 1}, H), UsageError);
  CHECK_THROWS_AS(form({weights, weights, 1}, H), UsageError);
  CHECK_THROWS_AS(form({weights, scales, 1}, GramMatrix<TestSpace>("H", 4, 5)), UsageError);
  CHECK_THROWS_AS(form({weights, scales, 1}, GramMatrix<TestSpace>("H", 5, 5)), UsageError);
}

}  // namespace
}  // namespace polyad::test
