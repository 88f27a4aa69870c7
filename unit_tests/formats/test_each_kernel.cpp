// SPDX-License-Identifier: BSD-3-Clause
// One small case of every kernel, for tools that make a program a hundred times slower: compute-sanitizer's
// racecheck, initcheck and synccheck on a device. docs/developer/campaigns.md has the commands.
#include <Kokkos_Core.hpp>
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "polyad/polyad.hpp"
#include "polyad/testing/small_tensors.hpp"
#include "support/catch.hpp"
#include "support/device_data.hpp"
#include "support/format_list.hpp"

namespace polyad::test {
namespace {

/// Random values on rows of which the first are the heaviest.
template <class Scalar, class Index>
CooTensor<Scalar, Index, TestSpace> small_input(std::size_t order) {
  Random random(order);
  std::vector<std::uint64_t> const extents =
      order == 3 ? std::vector<std::uint64_t>{40, 300, 20} : std::vector<std::uint64_t>{12, 9, 50, 5};
  return to_device<Scalar, Index>(TestSpace(), distinct(random_tensor(random, extents, 1000)));
}

/// That `run(options of a format)` gives about the same number for all formats with these capabilities.
template <class Run>
void expect_same_of_formats(std::vector<Capability> const& needs, AnyFormatOptions options, double tolerance,
                            Run const& run) {
  double first = std::nan("");
  for (auto const& name : list_of_formats(needs)) {
    CAPTURE(name);
    options.format      = name;
    double const number = run(options);
    CHECK(std::isfinite(number));
    if (std::isnan(first)) first = number;
    CHECK(std::abs(number - first) <= tolerance);
  }
  CHECK(std::isfinite(first));
}

template <class Scalar, class Index>
void expect_decompositions(std::size_t order, count_t rank) {
  CAPTURE(order, rank, sizeof(Scalar), sizeof(Index));
  TestSpace const space;
  auto const X           = small_input<Scalar, Index>(order);
  double const tolerance = sizeof(Scalar) == sizeof(float) ? 1e-4 : 1e-10;
  CpAlsOptions als;
  als.rank           = rank;
  als.max_iterations = 1;
  expect_same_of_formats({}, format_options(als), tolerance, [&](AnyFormatOptions const& format) {
    return cp_als(space, any_format(space, X, format), als).fit;
  });
  TuckerOptions hooi;
  hooi.ranks          = std::vector<count_t>(order, std::min<count_t>(rank, 5));
  hooi.max_iterations = 1;
  expect_same_of_formats(
      format_options(hooi).needs, format_options(hooi), 10 * tolerance,
      [&](AnyFormatOptions const& format) { return tucker(space, any_format(space, X, format), hooi).fit; });
}

template <class Scalar, class Index>
void expect_completions(FastTuckerOptimizer optimizer, count_t rank) {
  CAPTURE(static_cast<int>(optimizer), rank, sizeof(Scalar), sizeof(Index));
  TestSpace const space;
  auto const X = small_input<Scalar, Index>(3);
  FastTuckerOptions options;
  options.optimizer  = optimizer;
  options.rank       = rank;
  options.max_epochs = 1;
  if (optimizer == FastTuckerOptimizer::als)
    options.shrinkage = Shrinkage{};
  else
    options.ridge = 1;
  // sgd takes the entries in each format's order.
  double const tolerance = optimizer == FastTuckerOptimizer::sgd ? 0.5 : 1e-4;
  expect_same_of_formats(format_options(options).needs, format_options(options), tolerance,
                         [&](AnyFormatOptions const& format) {
                           FastTuckerData<Scalar, Index, TestSpace> const data{.train = X, .test = X};
                           return fast_tucker(space, data, options, {}, format).errors.train.rmse;
                         });
}

TEST_CASE("each kernel once: decompositions in every format", "[formats][each_kernel]") {
  for (count_t const rank : {1, 5, 16, 32, 40}) {
    expect_decompositions<double, std::uint32_t>(3, rank);
    expect_decompositions<float, std::uint32_t>(3, rank);
  }
  expect_decompositions<double, std::uint64_t>(4, 8);
  expect_decompositions<float, std::uint64_t>(4, 8);
}

TEST_CASE("each kernel once: completion in every format", "[formats][each_kernel]") {
  using enum FastTuckerOptimizer;
  for (count_t const rank : {1, 8, 16, 33}) {
    expect_completions<double, std::uint32_t>(als, rank);
    expect_completions<float, std::uint32_t>(als, rank);
    expect_completions<double, std::uint32_t>(adam, rank);
    expect_completions<float, std::uint32_t>(adam, rank);
    expect_completions<double, std::uint32_t>(sgd, rank);
    expect_completions<float, std::uint32_t>(sgd, rank);
  }
}

TEST_CASE("each kernel once: the search, rankings and leading vectors", "[formats][each_kernel]") {
  TestSpace const space;
  auto const X = small_input<float, std::uint32_t>(3);
  auto const result =
      fast_tucker(space, X, FastTuckerOptions{.rank = 4, .max_epochs = 1, .shrinkage = Shrinkage{}});
  std::vector<count_t> const places{0, 0, 0, 39, 0, 19};
  for (auto const& ranked :
       {recommend(space, result.model, 1, places), similar(space, result.model, 1, places)})
    CHECK(ranked.scores.size() == ranked.rows.size());
  CHECK(fast_tucker(space, X, FastTuckerOptions{.max_epochs = 1}).biases.train.entries == X.nnz());
  CHECK(nvecs(space, X, 4).order() == 3);
}

}  // namespace
}  // namespace polyad::test
