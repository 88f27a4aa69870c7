// SPDX-License-Identifier: BSD-3-Clause
// The fit at the end of a run against the one that visiting every cell in long double gives: exact tensors
// and others, at every scale that the scalars hold, in every format.
#include <Kokkos_Core.hpp>
#include <algorithm>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "formats/registry.hpp"
#include "polyad/cp/cp_als.hpp"
#include "polyad/testing/small_tensors.hpp"
#include "polyad/tucker/tucker.hpp"
#include "support/catch.hpp"
#include "support/device_data.hpp"
#include "support/host_models.hpp"
#include "support/oracle.hpp"

namespace polyad::test {
namespace {

template <class Scalar>
constexpr double promised = sizeof(Scalar) == sizeof(float) ? 1e-6 : 1e-12;

template <class Scalar>
std::vector<double> scales() {
  if (sizeof(Scalar) == sizeof(float)) return {1e-30, 1e-12, 1, 1e12, 1e30};
  return {1e-300, 1e-170, 1e-30, 1, 1e30, 1e170, 1e300};
}

/// A model whose columns have zeros in all but a few rows, so that its tensor is sparse and has zeros.
OracleModel blocks(Random& random, std::vector<std::uint64_t> const& extents, std::size_t rank) {
  auto factors = random_factors(random, extents, rank);
  for (auto& matrix : factors)
    for (std::size_t i = 0; i < matrix.rows; ++i)
      for (std::size_t r = 0; r < rank; ++r)
        if (random_below(random, 3) == 0) matrix(i, r) = 0;
  return OracleModel(factors, std::vector<long double>(rank, 1.0L));
}

/// The cells of a model that are not zero.
HostTensor nonzeros_of(OracleModel const& model) {
  auto const dense = all_cells(model);
  HostTensor tensor{"blocks", dense.extents, {}, {}};
  for (std::size_t p = 0; p < dense.nnz(); ++p) {
    if (dense.values[p] == 0) continue;
    for (std::size_t n = 0; n < dense.order(); ++n) tensor.indices.push_back(dense.index(p, n));
    tensor.values.push_back(dense.values[p]);
  }
  return tensor;
}

/// Exact tensors of low rank, with and without zeros, some of little noise, and tensors without a structure.
std::vector<HostTensor> tensors() {
  std::vector<HostTensor> result;
  for (std::size_t order = 2; order <= 5; ++order) {
    Random random(order);
    std::vector<std::uint64_t> const all{11, 9, 8, 5, 4};
    std::vector<std::uint64_t> const extents(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(order));
    result.push_back(all_cells(OracleModel(random_factors(random, extents, 2), {1.0L, 1.0L})));
    result.push_back(nonzeros_of(blocks(random, extents, 2)));
    for (double const noise : {1e-9, 1e-4}) {
      auto noisy = nonzeros_of(blocks(random, extents, 2));
      for (double& value : noisy.values) value += noise * random_number(random);
      result.push_back(noisy);
    }
    result.push_back(distinct(random_tensor(random, extents, 60)));
  }
  return result;
}

CpAlsOptions options_of(count_t rank, int iterations) {
  CpAlsOptions options;
  options.rank           = rank;
  options.max_iterations = iterations;
  options.tolerance      = 0;
  return options;
}

template <class F>
void expect_exact_cp(HostTensor const& tensor, int iterations) {
  using Scalar = typename F::scalar_type;
  TestSpace const space;
  F const X         = F::build(space, to_device<Scalar, typename F::index_type>(space, tensor), {});
  auto const result = cp_als(space, X, options_of(3, iterations));
  auto const exact  = oracle_fit(tensor, on_host(result.model));
  CAPTURE(F::name, tensor.name, tensor.order(), sizeof(Scalar), tensor.values[0], iterations, result.fit,
          result.fit_error, static_cast<double>(exact - result.fit));
  // Before the first iteration the model may be far larger than the tensor.
  double const size = std::max(1.0, static_cast<double>(1 - exact));
  CHECK(std::abs(exact - result.fit) < promised<Scalar> * size);
  CHECK(std::abs(exact - result.fit) <= result.fit_error);
  CHECK(result.fit_error < promised<Scalar> * size);
}

template <class Scalar, class Index>
void expect_exact_cp_in_every_format() {
  for (auto const& tensor : tensors())
    for_each_format<Scalar, Index, TestSpace>([&](auto format) {
      using F = typename decltype(format)::type;
      expect_exact_cp<F>(scaled_to<Scalar>(tensor, 1), 12);
    });
}

TEST_CASE("fit: of CP-ALS is that of every cell, in every format", "[fit]") {
  expect_exact_cp_in_every_format<float, std::uint32_t>();
  expect_exact_cp_in_every_format<double, std::uint32_t>();
  expect_exact_cp_in_every_format<double, std::uint64_t>();
}

template <class Scalar>
void expect_exact_cp_at_every_scale() {
  for (double const scale : scales<Scalar>())
    for (auto const& tensor : tensors())
      for (int const iterations : {0, 1, 25})
        expect_exact_cp<detail::Sorted<Scalar, std::uint32_t, TestSpace>>(scaled_to<Scalar>(tensor, scale),
                                                                          iterations);
}

TEST_CASE("fit: of CP-ALS is that of every cell, at every scale", "[fit]") {
  expect_exact_cp_at_every_scale<float>();
  expect_exact_cp_at_every_scale<double>();
}

template <class Scalar>
void expect_same_model_at_every_scale() {
  Random random(4);
  auto const tensor = scaled_to<Scalar>(distinct(random_tensor(random, {9, 8, 7}, 150)), 1);
  TestSpace const space;
  auto const fit_at = [&](double scale) {
    auto const X = detail::CooPermuted<Scalar, std::uint32_t, TestSpace>::build(
        space, to_device<Scalar, std::uint32_t>(space, scaled_to<Scalar>(tensor, scale)));
    return cp_als(space, X, options_of(3, 10)).fit;
  };
  double const expected = fit_at(1);
  CHECK(expected > 0.1);
  int const most = sizeof(Scalar) == sizeof(float) ? 100 : 1000;
  for (int exponent = -most; exponent <= most; exponent += most / 10) {
    CAPTURE(exponent, sizeof(Scalar));
    CHECK(std::abs(fit_at(std::ldexp(1.0, exponent)) - expected) < promised<Scalar>);
  }
}

TEST_CASE("fit: a power of two in all values does not change it", "[fit]") {
  expect_same_model_at_every_scale<float>();
  expect_same_model_at_every_scale<double>();
}

template <class Scalar>
void expect_exact_tucker(HostTensor const& tensor, AnyFormat<Scalar, TestSpace> const& X) {
  TestSpace const space;
  TuckerOptions options;
  options.ranks.assign(tensor.order(), 2);
  options.max_iterations = 4;
  options.tolerance      = 0;
  auto const result      = tucker(space, X, options);
  auto const exact       = oracle_fit(tensor, on_host(result.model));
  CAPTURE(X.chosen(), tensor.name, tensor.order(), sizeof(Scalar), tensor.values[0], result.fit,
          result.fit_error, static_cast<double>(exact - result.fit));
  CHECK(std::abs(exact - result.fit) < promised<Scalar>);
  CHECK(std::abs(exact - result.fit) <= result.fit_error);
  CHECK(result.fit_error < promised<Scalar>);
}

template <class Scalar>
void expect_exact_tucker_everywhere() {
  TestSpace const space;
  for (auto const& tensor : tensors())
    for (double const scale : scales<Scalar>()) {
      auto const scaled = scaled_to<Scalar>(tensor, scale);
      for_each_format<Scalar, std::uint32_t, TestSpace>([&](auto format) {
        using F = typename decltype(format)::type;
        if constexpr (offers<F>(Capability::ttmc))
          expect_exact_tucker<Scalar>(
              scaled,
              any_format(space, F::build(space, to_device<Scalar, std::uint32_t>(space, scaled), {})));
      });
    }
}

TEST_CASE("fit: of Tucker is that of every cell, in every format and at every scale", "[fit]") {
  expect_exact_tucker_everywhere<float>();
  expect_exact_tucker_everywhere<double>();
}

}  // namespace
}  // namespace polyad::test
