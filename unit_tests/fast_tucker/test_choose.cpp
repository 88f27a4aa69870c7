// SPDX-License-Identifier: BSD-3-Clause
// What fast_tucker chooses by held-out entries: they are held out as promised, a mode that says nothing is
// left out, and where nothing is better than mean and biases, these are the model.
#include <Kokkos_Core.hpp>
#include <algorithm>
#include <cmath>
#include <map>
#include <utility>
#include <vector>

#include "fast_tucker/held_out.hpp"
#include "fast_tucker/sample_rows.hpp"
#include "polyad/fast_tucker/fast_tucker.hpp"
#include "polyad/testing/small_tensors.hpp"
#include "support/catch.hpp"
#include "support/device_data.hpp"

namespace polyad::test {
namespace {

/// A sum of independent numbers, near to normal, of deviation 1.
double noise(Random& random) {
  double sum = 0;
  for (int i = 0; i < 4; ++i) sum += random_number(random);
  return sum / std::sqrt(4 * 1.75);  // magnitudes are uniform from 1/2 to 2
}

struct Effects {
  double biases      = 0;  // deviations
  double interaction = 0;  // of the first two modes, of rank 2
  double noise       = 0;
};

/// Ratings of users, items and perhaps months, as they come.
struct Ratings {
  HostTensor train, other;
};
Ratings ratings(Effects const& effects, std::size_t nnz, std::uint64_t seed = 1,
                std::vector<std::uint64_t> const& extents = {200, 100, 12}) {
  Random random(seed);
  auto const modes = static_cast<double>(extents.size());
  std::vector<HostMatrix> bias;
  for (auto const extent : extents) bias.push_back(random_matrix(random, extent, 1));
  HostMatrix const users = random_matrix(random, extents[0], 2), items = random_matrix(random, extents[1], 2);
  auto const fill = [&](std::size_t count) {
    HostTensor X = random_tensor(random, extents, count);
    for (std::size_t p = 0; p < count; ++p) {
      double x = 3;
      for (std::size_t n = 0; n < extents.size(); ++n)
        x += effects.biases * bias[n](X.index(p, n), 0) / std::sqrt(1.75 * modes);
      for (std::size_t r = 0; r < 2; ++r)
        x += effects.interaction * users(X.index(p, 0), r) * items(X.index(p, 1), r) / (1.75 * std::sqrt(2.));
      X.values[p] = x + effects.noise * noise(random);
    }
    return X;
  };
  return {fill(nnz), fill(4000)};
}

TEST_CASE("entries are held out by their coordinates, those of rows with few are not", "[fast_tucker]") {
  TestSpace const space;
  auto const X = ratings({1, 1, 1}, 3000).train;
  // Users with few entries keep all of them, whatever their items have.
  constexpr std::size_t rare_entries = 180;
  auto rare                          = X;
  for (std::size_t p = 0; p < rare.nnz(); ++p)
    rare.indices[p * 3] = p < rare_entries ? 140 + p / 3 : rare.index(p, 0) % 140;
  auto const [kept, held] = detail::hold_out(space, to_device<double, std::uint32_t>(space, rare), 0.1);
  REQUIRE(kept.nnz() + held.nnz() == rare.nnz());
  CHECK(held.nnz() > 200);
  CHECK(held.nnz() < 400);
  auto const kept_at = flat(kept.indices()), held_at = flat(held.indices());
  auto const kept_values = flat(kept.values()), held_values = flat(held.values());
  std::size_t next_kept = 0, next_held = 0;
  std::map<std::vector<std::uint64_t>, bool> went;
  for (std::size_t p = 0; p < rare.nnz(); ++p) {  // each part in the order of the whole
    std::vector<std::uint64_t> const at(rare.indices.begin() + static_cast<std::ptrdiff_t>(3 * p),
                                        rare.indices.begin() + static_cast<std::ptrdiff_t>(3 * p + 3));
    auto const is_next = [&](auto const& list, auto const& values, std::size_t next) {
      return next < values.size() && values[next] == rare.values[p] &&
             std::equal(at.begin(), at.end(), list.begin() + static_cast<std::ptrdiff_t>(3 * next));
    };
    bool const is_held = is_next(held_at, held_values, next_held);
    REQUIRE((is_held || is_next(kept_at, kept_values, next_kept)));
    ++(is_held ? next_held : next_kept);
    if (auto const found = went.find(at); found != went.end()) CHECK(found->second == is_held);
    went[at] = is_held;
    if (p < rare_entries) CHECK(!is_held);
  }
}

TEST_CASE("a sample has all entries of some rows of the longest mode", "[fast_tucker]") {
  TestSpace const space;
  auto const sample = detail::row_sample(Extents{300, 20000, 12}, 40000, 10000);
  CHECK(sample.mode == 1);
  CHECK(sample.share == 0.25);
  CHECK(detail::row_sample(Extents{300, 20000, 12}, 40000, 40000).share == 1);
  CHECK(detail::row_sample(Extents{300, 3999, 12}, 40000, 10000).share == 1);  // too few rows would be left
  CHECK(detail::row_sample(Extents{300, 4000, 12}, 40000, 10000).share == 0.25);
  CHECK(detail::row_sample(Extents{5, 5}, 0, 10).share == 1);
  auto const X     = ratings({1, 1, 1}, 6000, 1, {30, 2000, 5}).train;
  auto const train = to_device<double, std::uint32_t>(space, X);
  using Train      = detail::Entries<double, std::uint32_t, TestSpace>;
  auto const taken = detail::sample_rows(space, Train(train), 1, 0.25).tensor();
  CHECK(taken.nnz() > 1200);
  CHECK(taken.nnz() < 1800);
  auto const at = flat(taken.indices()), values = flat(taken.values());
  std::vector<bool> is_taken(2000);
  for (std::size_t p = 0; p < taken.nnz(); ++p) is_taken[static_cast<std::size_t>(at[3 * p + 1])] = true;
  std::size_t next = 0;
  for (std::size_t p = 0; p < X.nnz(); ++p) {  // in the order of the whole
    if (!is_taken[X.index(p, 1)]) continue;
    REQUIRE(next < taken.nnz());
    REQUIRE(values[next] == X.values[p]);
    for (std::size_t n = 0; n < 3; ++n)
      REQUIRE(static_cast<std::uint64_t>(at[3 * next + n]) == X.index(p, n));
    ++next;
  }
  CHECK(next == taken.nnz());
  // Entries in host memory stay there, the same ones.
  auto const host_train = to_device<double, std::uint32_t>(HostOf<TestSpace>(), X);
  auto const on_host =
      detail::sample_rows(space, detail::entries_on_host<double, std::uint32_t>(space, host_train), 1, 0.25);
  CHECK(on_host.on_host());
  CHECK(flat(on_host.pinned().tensor.values()) == values);
  CHECK(flat(on_host.pinned().tensor.indices()) == at);
}

template <class Entries>
auto choose_of_most(Entries const& entries, FastTuckerOptions const& options, count_t most) {
  using Rows = detail::NonzeroDistribution<double, std::uint32_t, TestSpace>;
  return detail::choose(TestSpace(), entries, options, {}, Rows(TestSpace(), entries.extents()), most);
}

TEST_CASE("a search through a sample chooses what one through all entries does", "[fast_tucker][figures]") {
  TestSpace const space;
  auto const data  = ratings({0.5, 1, 0.3}, 60000, 1, {4000, 60, 5});
  auto const train = to_device<double, std::uint32_t>(space, data.train);
  detail::Entries<double, std::uint32_t, TestSpace> const entries(train);
  FastTuckerOptions options;
  options.rank       = 4;
  auto const all     = choose_of_most(entries, options, 60000);
  auto const sampled = choose_of_most(entries, options, 18000);
  CHECK(sampled.learns);
  CHECK(sampled.model.entries > 500);
  CHECK(sampled.model.entries < all.model.entries);
  CHECK(sampled.model.rmse < 0.5);
  CHECK(sampled.options.targets == all.options.targets);
  // A mode of time is looked at in whole, and so are entries of which few rows have nearly all.
  options.bias.time_mode = 2;
  CHECK(choose_of_most(entries, options, 18000).model.entries == all.model.entries);
  auto one_row           = data.train;
  std::uint64_t row      = 0;
  auto const without_row = [&] {  // of which a sample has nothing
    for (std::size_t p = 0; p < one_row.nnz(); ++p) one_row.indices[3 * p] = row;
    return detail::Entries<double, std::uint32_t, TestSpace>(
        to_device<double, std::uint32_t>(space, one_row));
  };
  auto of_one_row = without_row();
  while (detail::sample_rows(space, of_one_row, 0, 0.3).nnz() > 0) {
    ++row;
    of_one_row = without_row();
  }
  CHECK(choose_of_most(of_one_row, {.rank = 4}, 18000).biases.entries > 1500);
}

TEST_CASE("an interaction in noise is learned as far as the noise, whatever the ranks tried",
          "[fast_tucker]") {
  TestSpace const space;
  auto const data   = ratings({0.5, 1, 0.5}, 8000);
  auto const train  = to_device<double, std::uint32_t>(space, data.train);
  auto const other  = to_device<double, std::uint32_t>(space, data.other);
  auto const result = fast_tucker(space, FastTuckerData<double, std::uint32_t, TestSpace>{train, {}, other});
  REQUIRE(result.choice);
  auto const& choice = *result.choice;
  CHECK(choice.learns);
  CHECK(choice.options.targets[0] == RowTarget::zero);
  CHECK(choice.options.targets[1] == RowTarget::zero);
  CHECK(choice.model.entries > 300);
  CHECK(choice.biases.rmse > 1);  // of the interaction and the noise
  CHECK(choice.model.rmse < 0.65);
  CHECK(result.history.back().test.rmse < 0.62);
  // The model goes on from the best candidate, with the options that were chosen.
  CHECK(result.history.size() == static_cast<std::size_t>(choice.options.max_epochs));
  auto const again =
      fast_tucker(space, FastTuckerData<double, std::uint32_t, TestSpace>{train, {}, other}, choice.options);
  CHECK(!again.choice);
}

/// Few columns, so that the search takes a moment.
FastTuckerResult<double, TestSpace> chosen_and_trained(TestSpace const& space, Ratings const& data) {
  auto const train = to_device<double, std::uint32_t>(space, data.train);
  auto const other = to_device<double, std::uint32_t>(space, data.other);
  FastTuckerOptions options;
  options.rank = 4;
  return fast_tucker(space, FastTuckerData<double, std::uint32_t, TestSpace>{train, {}, other}, options);
}

TEST_CASE("a mode that says nothing is left out, even where it does little harm", "[fast_tucker][figures]") {
  TestSpace const space;
  int left_out = 0;
  for (double const interaction : {0.3, 0.5})
    for (auto const& [nnz, seed] : {std::pair(4000, 1), {4000, 2}, {8000, 2}}) {
      auto const data   = ratings({0.5, interaction, 0.5}, static_cast<std::size_t>(nnz),
                                  static_cast<std::uint64_t>(seed), {40, 30, 6, 5});
      auto const result = chosen_and_trained(space, data);
      REQUIRE(result.choice);
      CHECK(result.choice->learns);
      left_out += result.choice->options.targets[3] == RowTarget::left_out ? 1 : 0;
    }
  CHECK(left_out >= 5);  // 6 with these sums; none where leaving out has to lower the error
}

TEST_CASE("options whose error rises with more epochs are given up", "[fast_tucker][figures]") {
  TestSpace const space;
  // After a few more epochs the best options of the search are no better than the biases, unlike those before
  // them.
  struct Case {
    Effects effects;
    std::size_t nnz;
    std::uint64_t seed;
  };
  int learned = 0;
  for (Case const& given : {Case{{0.5, 0.5, 1}, 4000, 4}, Case{{0.5, 0.6, 1}, 3000, 5},
                            Case{{0.5, 0.6, 1.3}, 4000, 2}, Case{{0.5, 0.6, 1.3}, 4000, 3}}) {
    auto const result = chosen_and_trained(space, ratings(given.effects, given.nnz, given.seed));
    REQUIRE(result.choice);
    learned +=
        result.choice->learns && result.history.back().test.rmse < 0.99 * result.biases.test.rmse ? 1 : 0;
  }
  CHECK(learned >= 2);  // 4 with these sums; none with the best options of the search
}

TEST_CASE("three modes that all matter stay in the product", "[fast_tucker]") {
  TestSpace const space;
  Random random(3);
  std::vector<std::uint64_t> const extents{60, 50, 40};
  std::vector<HostMatrix> factors;
  for (auto const extent : extents) factors.push_back(random_matrix(random, extent, 1));
  HostTensor X = random_tensor(random, extents, 8000);
  for (std::size_t p = 0; p < X.nnz(); ++p) {
    X.values[p]    = 0.3 * noise(random);
    double product = 1;  // the third mode turns signs
    for (std::size_t n = 0; n < 3; ++n) product *= factors[n](X.index(p, n), 0);
    X.values[p] += product;
  }
  FastTuckerOptions options;
  options.seed      = 1;
  auto const choice = choose_fast_tucker(space, to_device<double, std::uint32_t>(space, X), options);
  CHECK(choice.learns);
  CHECK(choice.options.targets == std::vector<RowTarget>(3, RowTarget::zero));
  CHECK(choice.model.rmse < 0.55);  // 0.3 is noise, the product's deviation is above 2
  CHECK(choice.biases.rmse > 1.5);
}

TEST_CASE("where there are biases alone, or noise alone, mean and biases are the model",
          "[fast_tucker][figures]") {
  TestSpace const space;
  for (std::uint64_t seed = 1; seed <= 4; ++seed)
    for (Effects const& effects : {Effects{1, 0, 0.5}, Effects{0, 0, 1}, Effects{0.3, 0, 1}}) {
      auto const data  = ratings(effects, 4000, seed);
      auto const train = to_device<double, std::uint32_t>(space, data.train);
      auto const other = to_device<double, std::uint32_t>(space, data.other);
      auto const result =
          fast_tucker(space, FastTuckerData<double, std::uint32_t, TestSpace>{train, {}, other});
      REQUIRE(result.choice);
      CAPTURE(seed, effects.biases, effects.noise, result.choice->model.rmse, result.choice->biases.rmse);
      CHECK(!result.choice->learns);
      CHECK(result.kept_epoch == 0);
      CHECK(result.history.empty());
      FastTuckerModel<double, TestSpace> biases(space, train.extents(), std::vector<count_t>{1, 1, 1}, 1,
                                                true);
      fit_biases(space, train, {}, biases);
      CHECK(errors(space, result.model, other).rmse == errors(space, biases, other).rmse);
    }
}

TEST_CASE("a model is never taken that is worse than mean and biases, whatever the shape",
          "[fast_tucker][figures]") {
  TestSpace const space;
  // Few entries a row: what a fit learns of the noise passes near the biases on its way. With these seeds a
  // judgement by the least error of an epoch and by 1.5 standard errors takes 17 of the models.
  struct Case {
    std::vector<std::uint64_t> extents, seeds;
  };
  for (Case const& shape : {Case{{400, 80}, {8, 32}}, Case{{300, 100}, {29, 34}},
                            Case{{90, 60, 40}, {15, 23, 27}}, Case{{40, 30, 6, 5}, {9, 26}}})
    for (Effects const& effects : {Effects{0, 0, 1}, Effects{0.3, 0, 1}, Effects{0.3, 0.2, 1}})
      for (std::uint64_t const seed : shape.seeds) {
        auto const data  = ratings(effects, 1200, seed, shape.extents);
        auto const train = to_device<double, std::uint32_t>(space, data.train);
        auto const other = to_device<double, std::uint32_t>(space, data.other);
        auto const result =
            fast_tucker(space, FastTuckerData<double, std::uint32_t, TestSpace>{train, {}, other});
        REQUIRE(result.choice);
        CAPTURE(shape.extents, effects.biases, effects.interaction, seed, result.choice->learns);
        CHECK(errors(space, result.model, other).rmse <= 1.001 * result.biases.test.rmse);
      }
}

TEST_CASE("biases that drift are told from those that stay", "[fast_tucker][figures]") {
  TestSpace const space;
  Random random(7);
  std::vector<std::uint64_t> const extents{40, 100, 24};
  HostMatrix const items = random_matrix(random, 100, 1), moods = random_matrix(random, 40 * 24, 1);
  auto const fill = [&](bool drifts) {
    HostTensor X = random_tensor(random, extents, 8000);
    for (std::size_t p = 0; p < X.nnz(); ++p)
      X.values[p] = items(X.index(p, 1), 0) + 0.5 * noise(random) +
                    (drifts ? moods(X.index(p, 0) * 24 + X.index(p, 2) / 6 * 6, 0) : 0.0);
    return to_device<double, std::uint32_t>(space, X);
  };
  FastTuckerOptions options;
  options.bias.time_mode = 2;
  for (bool const drifts : {true, false}) {
    auto const train = fill(drifts), other = fill(drifts);
    auto const with =
        fast_tucker(space, FastTuckerData<double, std::uint32_t, TestSpace>{train, {}, other}, options);
    auto const without = choose_fast_tucker(space, train, {});
    REQUIRE(with.choice);
    auto const& drift = with.choice->options.bias.drift;
    REQUIRE(drift.size() == 3);
    CAPTURE(drifts, drift[0].bins, drift[1].bins, with.choice->biases.rmse, without.biases.rmse);
    CHECK((drift[0].bins > 0) == drifts);  // users' moods, in four bins
    CHECK(drift[1].bins == 0);
    CHECK(drift[2].bins == 0);
    CHECK(with.choice->biases.rmse <= without.biases.rmse);
    if (drifts) CHECK(errors(space, with.model, other).rmse < 0.6);  // 0.5 is noise
    if (drifts) CHECK(without.biases.rmse > 1);
    CHECK((with.model.time_mode == 2) == drifts);
  }
}

TEST_CASE("of too few entries, and of entries that are all the same, mean and biases are the model",
          "[fast_tucker]") {
  TestSpace const space;
  for (double const value : {0.0, 4.0, 1e30, 1e-30})
    for (std::size_t const nnz : {1, 20, 3000}) {
      Random random(2);
      HostTensor X = random_tensor(random, {30, 20}, nnz);
      for (double& x : X.values) x = value;
      auto const train  = to_device<double, std::uint32_t>(space, X);
      auto const result = fast_tucker(space, train);
      CAPTURE(value, nnz);
      REQUIRE(result.choice);
      CHECK(!result.choice->learns);
      auto const found = errors(space, result.model, train);
      CHECK(found.rmse <= 1e-12 * value);
    }
}

TEST_CASE("what a user fixes is not chosen", "[fast_tucker]") {
  CHECK(leaves_choice({}));
  CHECK(leaves_choice({.rank = 4}));
  CHECK(!leaves_choice({.shrinkage = Shrinkage{}}));
  CHECK(!leaves_choice({.ridge = 1}));
  CHECK(!leaves_choice({.ridge_per_entry = true}));
  CHECK(!leaves_choice({.optimizer = FastTuckerOptimizer::adam}));
  auto const shaped = with_shape({.columns = {2, 5, 3}}, 3);
  CHECK(shaped.rank == 5);
  CHECK(with_shape({.rank = 6}, 3).columns == std::vector<count_t>{6, 6, 6});
  CHECK(with_shape({}, 2).columns == std::vector<count_t>{8, 8});
  CHECK_THROWS_AS(with_shape({.rank = largest_rank + 1}, 2), UsageError);
  CHECK_THROWS_AS(with_shape({.rank = count_t(1) << 40}, 2), UsageError);
  CHECK_THROWS_AS(with_shape({.rank = 8, .columns = {largest_rank + 1}}, 2), UsageError);
  CHECK(with_shape({.rank = 8, .columns = {largest_rank}}, 2).rank == 8);
  TestSpace const space;
  auto const train = to_device<double, std::uint32_t>(space, ratings({0.5, 1, 0.5}, 4000).train);
  FastTuckerOptions options;
  options.columns   = {2, 3, 3};
  options.targets   = {RowTarget::zero, RowTarget::zero, RowTarget::one};
  auto const choice = choose_fast_tucker(space, train, options);
  CHECK(choice.options.rank == 3);
  CHECK(choice.options.columns == options.columns);
  CHECK(choice.options.targets == options.targets);
  options.ridge = 1;
  CHECK_THROWS_AS(choose_fast_tucker(space, train, options), UsageError);
}

}  // namespace
}  // namespace polyad::test
