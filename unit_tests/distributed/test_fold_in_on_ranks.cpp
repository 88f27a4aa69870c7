// SPDX-License-Identifier: BSD-3-Clause
// Rows of new users and items on as many ranks as the launcher starts, against one rank.
#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "distributed/parts.hpp"
#include "distributed/world.hpp"
#include "polyad/core/error.hpp"
#include "polyad/fast_tucker/fast_tucker.hpp"
#include "polyad/testing/small_tensors.hpp"
#include "support/catch.hpp"
#include "support/device_data.hpp"

namespace polyad::test {
namespace {

using testing::HostTensor;
using testing::Random;
template <class Scalar>
using FoldedModel = FastTuckerModel<Scalar, TestSpace>;

template <class Scalar>
CooTensor<Scalar, std::uint32_t, TestSpace> folded_part(HostTensor const& tensor, Dealt dealt) {
  Part const part = part_of(tensor, dealt);
  return upload<Scalar, std::uint32_t>(TestSpace(), Extents(std::span<count_t const>(tensor.extents)),
                                       std::span<std::uint32_t const>(part.indices),
                                       std::span<double const>(part.values));
}

/// Entries whose values are counts.
HostTensor counts_of(std::uint64_t seed, std::vector<std::uint64_t> const& extents, std::size_t nnz) {
  Random random(seed);
  auto tensor = testing::random_tensor(random, extents, nnz);
  for (double& x : tensor.values) x = 1 + std::fmod(std::floor(16 * std::abs(x)), 5);
  return tensor;
}

struct FoldedSets {
  HostTensor train, added;
  [[nodiscard]] HostTensor all() const {
    auto both    = train;
    both.extents = added.extents;
    both.indices.insert(both.indices.end(), added.indices.begin(), added.indices.end());
    both.values.insert(both.values.end(), added.values.begin(), added.values.end());
    return both;
  }
};

template <class Scalar>
void expect_close(FoldedModel<Scalar> const& here, FoldedModel<Scalar> const& there) {
  double const tolerance = sizeof(Scalar) == 4 ? 1e-4 : 1e-9;
  REQUIRE(here.extents() == there.extents());
  CHECK(here.mean == there.mean);
  auto const compare = [&](auto const& a, auto const& b, char const* what, int n) {
    INFO(what << " of mode " << n << " on rank " << world().rank());
    auto const x = flat(a), y = flat(b);
    REQUIRE(x.size() == y.size());
    double worst = 0;
    for (std::size_t k = 0; k < x.size(); ++k)
      worst = std::max(worst, std::abs(x[k] - y[k]) / std::max(1.0, std::abs(y[k])));
    CHECK(worst <= tolerance);
  };
  for (int n = 0; n < there.order(); ++n) {
    compare(here.A(n), there.A(n), "rows", n);
    if (there.has_biases()) compare(here.bias(n), there.bias(n), "biases", n);
    compare(here.drift(n), there.drift(n), "drifts", n);
  }
}

template <class Scalar>
void expect_rows_of_one_rank(FoldedSets const& sets, FastTuckerOptions const& fit,
                             FoldInOptions const& options) {
  auto const part  = [](HostTensor const& tensor, Dealt dealt) { return folded_part<Scalar>(tensor, dealt); };
  auto const model = fast_tucker(TestSpace(), part(sets.train, Dealt::whole), fit).model;
  auto const all   = sets.all();
  auto const added = part(sets.added, Dealt::whole);
  auto const expected = fold_in(TestSpace(), model, added, options);
  auto const again    = update_rows(TestSpace(), model, part(all, Dealt::whole), added, options);
  // The rows are there, and not those of the fit.
  CHECK(flat(expected.A(0)).size() > flat(model.A(0)).size());
  for (Dealt const dealt : {Dealt::in_turn, Dealt::all_to_rank_0, Dealt::all_to_last_rank}) {
    expect_close(fold_in(world(), model, part(sets.added, dealt), options), expected);
    expect_close(update_rows(world(), model, part(all, dealt), part(sets.added, dealt), options), again);
  }
}

FastTuckerOptions folded_fit() {
  FastTuckerOptions fit;
  fit.rank       = 4;
  fit.max_epochs = 3;
  fit.shrinkage  = Shrinkage{5, 0.05, 100};
  return fit;
}

}  // namespace

TEST_CASE("New rows of one rank", "[mpi]") {
  for (auto const& extents : std::vector<std::vector<std::uint64_t>>{{40, 23}, {31, 17, 9}, {2, 30}}) {
    INFO("order " << extents.size() << ", users " << extents[0]);
    auto larger = extents;
    larger[0] += 13;
    larger[1] += 2;
    FoldedSets const sets{counts_of(3, extents, 500), counts_of(5, larger, 150)};
    auto fit = folded_fit();
    FoldInOptions options;
    options.shrinkage = fit.shrinkage;
    expect_rows_of_one_rank<double>(sets, fit, options);
    expect_rows_of_one_rank<float>(sets, fit, options);
    options.modes    = {0};
    options.observed = {std::vector<std::uint8_t>(extents[0], 1), {}};
    options.observed.resize(extents.size());
    options.observed[0][1] = 0;  // a gap, which has entries now
    expect_rows_of_one_rank<double>(sets, fit, options);
  }
}

TEST_CASE("New rows with implicit feedback, ridges, targets and drift", "[mpi]") {
  FoldedSets const sets{counts_of(3, {30, 20, 6}, 400), counts_of(5, {37, 22, 8}, 120)};
  FastTuckerOptions implicit;
  implicit.rank       = 4;
  implicit.max_epochs = 3;
  implicit.implicit   = 3;
  FoldInOptions options;
  options.implicit = 3;
  expect_rows_of_one_rank<double>(sets, implicit, options);

  auto fit = folded_fit();
  fit.shrinkage.reset();
  fit.ridge               = 0.5;
  fit.ridge_per_entry     = true;
  options                 = {};
  options.ridge           = fit.ridge;
  options.ridge_per_entry = true;
  expect_rows_of_one_rank<double>(sets, fit, options);

  fit               = folded_fit();
  fit.targets       = {RowTarget::zero, RowTarget::zero, RowTarget::left_out};
  options           = {};
  options.shrinkage = fit.shrinkage;
  options.targets   = fit.targets;
  expect_rows_of_one_rank<double>(sets, fit, options);

  fit                = folded_fit();
  fit.bias.time_mode = 2;  // later times count as the last
  options            = {};
  expect_rows_of_one_rank<double>(sets, fit, options);
}

TEST_CASE("New rows fail on all ranks alike", "[mpi]") {
  FoldedSets sets{counts_of(3, {30, 20}, 300), counts_of(5, {35, 20}, 60)};
  FastTuckerOptions fit;
  fit.rank         = 3;
  fit.max_epochs   = 2;
  fit.implicit     = 3;
  auto const model = fast_tucker(TestSpace(), folded_part<double>(sets.train, Dealt::whole), fit).model;
  FoldInOptions options;
  options.implicit         = 3;
  sets.added.values.back() = -1;  // on one rank only
  CHECK_THROWS_AS(fold_in(world(), model, folded_part<double>(sets.added, Dealt::in_turn), options),
                  UsageError);
  options.bias_damping = -1;
  CHECK_THROWS_AS(fold_in(world(), model, folded_part<double>(sets.train, Dealt::in_turn), options),
                  UsageError);
}

}  // namespace polyad::test
