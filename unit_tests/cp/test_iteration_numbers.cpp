// SPDX-License-Identifier: BSD-3-Clause
// The numbers that an iteration leaves for the fit, against the oracle.
#include <Kokkos_Core.hpp>
#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "cp/run/iteration_numbers.hpp"
#include "dense/inner_product.hpp"
#include "polyad/testing/oracle.hpp"
#include "support/catch.hpp"
#include "support/device_data.hpp"

namespace polyad::test {
namespace {

template <class Scalar>
void expect_terms(std::size_t rows, std::size_t rank, std::size_t order) {
  CAPTURE(rows, rank, order, sizeof(Scalar));
  TestSpace const space;
  double const nan = std::numeric_limits<double>::quiet_NaN();
  Random random(rows + 1000 * rank);
  auto const V = random_matrix(random, rows, rank);
  auto const A = random_matrix(random, rows, rank);
  auto const w = random_matrix(random, 1, rank).data;
  std::vector<HostMatrix> grams;
  for (std::size_t n = 0; n < order; ++n) {
    grams.push_back(random_matrix(random, rank, rank));
    for (std::size_t r = 0; r < rank; ++r) grams.back()(r, r) = std::abs(grams.back()(r, r));
  }

  GramMatrices<TestSpace> const device_grams("grams", order, rank, rank);
  auto const host = Kokkos::create_mirror_view(device_grams);
  for (std::size_t n = 0; n < order; ++n)
    for (std::size_t e = 0; e < rank * rank; ++e) host(n, e / rank, e % rank) = grams[n].data[e];
  Kokkos::deep_copy(device_grams, host);
  auto const numbers = to_device(std::vector<double>(fit_numbers, nan));
  InnerProductSums<TestSpace> sums;
  sums.weights = to_device(w);
  sums.result  = Kokkos::subview(numbers, Kokkos::make_pair(0, 1));
  inner_product_of(space, WatchedMatrix<Scalar>(space, RowLayout::padded, V, nan).matrix(),
                   WatchedMatrix<Scalar>(space, RowLayout::subview, A, nan).matrix(), sums);
  model_norm(space, device_grams, to_device(w), numbers);
  space.fence("polyad::test");
  auto const actual = flat(numbers);

  OracleSums inner(1, 1), norm(1, 1);
  for (std::size_t e = 0; e < rows * rank; ++e) {
    long double const term = static_cast<long double>(w[e % rank]) * V.data[e] * A.data[e];
    inner.value[0] += term;
    inner.magnitude[0] += std::abs(term);
  }
  inner.terms = {rows * rank};
  for (std::size_t e = 0; e < rank * rank; ++e) {
    long double term = static_cast<long double>(w[e / rank]) * w[e % rank];
    for (std::size_t n = 0; n < order; ++n) term *= grams[n].data[e];
    norm.value[0] += term;
    norm.magnitude[0] += std::abs(term);
  }
  norm.terms = {rank * rank};
  CHECK(violation<double>(inner, {actual[inner_product]}, 3) == "");
  CHECK(violation<double>(norm, {actual[model_norm_squared]}, order + 2) == "");
  CHECK(std::isnan(actual[gram_fallbacks]));  // not theirs

  // The components' norms, and pairs whose congruence is below -0.9.
  long double sum = 0, opposed = 0;
  auto const term_of = [&](std::size_t i, std::size_t j) {
    long double term = static_cast<long double>(w[i]) * w[j];
    for (std::size_t n = 0; n < order; ++n) term *= grams[n](i, j);
    return term;
  };
  for (std::size_t i = 0; i < rank; ++i) {
    sum += std::sqrt(std::abs(term_of(i, i)));
    for (std::size_t j = i + 1; j < rank; ++j) {
      auto const one = std::sqrt(term_of(i, i)), other = std::sqrt(term_of(j, j));
      if (term_of(i, j) < -0.9L * one * other) opposed = std::max(opposed, std::min(one, other));
    }
  }
  CHECK(std::abs(actual[component_norms] - sum) <= 1e-12L * sum);
  CHECK(std::abs(actual[opposed_norm] - opposed) <= 1e-12L * opposed);
}

TEST_CASE("fit: inner product and norm of the model against the oracle", "[cp]") {
  for (std::size_t const rows : {1, 2, 255, 256, 257, 1000})
    for (std::size_t const rank : {1, 3, 33}) {
      expect_terms<float>(rows, rank, 3);
      expect_terms<double>(rows, rank, 3);
    }
  expect_terms<double>(10, 300, 2);
  expect_terms<double>(10, 5, 16);
}

}  // namespace
}  // namespace polyad::test
