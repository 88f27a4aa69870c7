// SPDX-License-Identifier: BSD-3-Clause
// What fast_tucker chooses by held-out entries: they are held out as promised, a mode that says nothing is
// left out, and where nothing is better than mean and biases, these are the model.
#include <Kokkos_Core.hpp>
#include <algorithm>
#include <cmath>
#include <map>
#include <utility>
#include <vector>

#include "fast_tucker/oracle.hpp"
#include "fast_tucker/search/held_out.hpp"
#include "fast_tucker/search/row_classes.hpp"
#include "fast_tucker/search/sample_rows.hpp"
#include "io/temporary_folder.hpp"
#include "polyad/fast_tucker/fast_tucker.hpp"
#include "polyad/io/checkpoint.hpp"
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
  double interaction = 0;  // between the first two modes, with rank 2
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

TEST_CASE("entries of any row are held out, copies of an entry together", "[fast_tucker]") {
  TestSpace const space;
  auto X = ratings({1, 1, 1}, 3000).train;
  // Users with three entries.
  constexpr std::size_t rare_entries = 180;
  for (std::size_t p = 0; p < X.nnz(); ++p)
    X.indices[p * 3] = p < rare_entries ? 140 + p / 3 : X.index(p, 0) % 140;
  // Pairs of entries at one place: copies of each other, then entries of other values.
  for (std::size_t p = 1000; p < 1800; p += 2) {
    for (std::size_t n = 0; n < 3; ++n) X.indices[(p + 1) * 3 + n] = X.index(p, n);
    X.values[p + 1] = p < 1400 ? X.values[p] : X.values[p] + 1;
  }
  auto const train = to_device<double, std::uint32_t>(space, X);
  std::vector<int> fold_of(X.nnz(), -1);
  std::size_t rare_held = 0;
  for (int fold = 0; fold < 5; ++fold) {
    auto const [kept, held, repeats] = detail::hold_out(space, train, 0.2, fold);
    REQUIRE(kept.nnz() + held.nnz() == X.nnz());
    CHECK(held.nnz() > 450);
    CHECK(held.nnz() < 750);
    auto const kept_at = flat(kept.indices()), held_at = flat(held.indices());
    auto const kept_values = flat(kept.values()), held_values = flat(held.values());
    auto const held_repeats = flat(repeats);
    std::size_t next_kept = 0, next_held = 0;
    for (std::size_t p = 0; p < X.nnz(); ++p) {  // each part in the order of the whole
      auto const is_next = [&](auto const& list, auto const& values, std::size_t next) {
        return next < values.size() && values[next] == X.values[p] &&
               std::equal(X.indices.begin() + static_cast<std::ptrdiff_t>(3 * p),
                          X.indices.begin() + static_cast<std::ptrdiff_t>(3 * p + 3),
                          list.begin() + static_cast<std::ptrdiff_t>(3 * next));
      };
      bool const is_held = is_next(held_at, held_values, next_held);
      REQUIRE((is_held || is_next(kept_at, kept_values, next_kept)));
      if (is_held) {
        CHECK(fold_of[p] == -1);  // the folds are disjoint
        fold_of[p] = fold;
        rare_held += p < rare_entries ? 1 : 0;
        if (p >= 1000 && p < 1800) CHECK(held_repeats[next_held] == 1);
      }
      ++(is_held ? next_held : next_kept);
    }
  }
  CHECK(std::find(fold_of.begin(), fold_of.end(), -1) == fold_of.end());  // and have all entries together
  CHECK(rare_held == rare_entries);
  std::size_t apart = 0;
  for (std::size_t p = 1000; p < 1800; p += 2) {
    if (p < 1400) CHECK(fold_of[p] == fold_of[p + 1]);
    apart += fold_of[p] != fold_of[p + 1] ? 1 : 0;
  }
  CHECK(apart > 120);  // four fifths of 200 pairs with two values are expected to be
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
  using Train      = detail::TrainingSet<double, std::uint32_t, TestSpace>;
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
  detail::TrainingSet<double, std::uint32_t, TestSpace> const entries(train);
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
  auto const without_row = [&] {  // a row that a sample misses
    for (std::size_t p = 0; p < one_row.nnz(); ++p) one_row.indices[3 * p] = row;
    return detail::TrainingSet<double, std::uint32_t, TestSpace>(
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
  CHECK(choice.biases.rmse > 1);  // interaction and noise remain
  CHECK(choice.model.rmse < 0.65);
  CHECK(result.history.back().test.rmse < 0.62);
  // The model continues from the best candidate, with the options that were chosen.
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

TEST_CASE("for biases alone or noise alone, mean and biases are the model", "[fast_tucker][figures]") {
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
      fit_biases(space, train, result.choice->options.bias, biases);
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

TEST_CASE("biases that drift are distinguished from those that stay", "[fast_tucker][figures]") {
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
    CHECK(with.model.drift(2).extent(1) == 0);  // its bins are those in which times share a bias
    CHECK(with.choice->biases.rmse <= without.biases.rmse);
    if (drifts) CHECK(errors(space, with.model, other).rmse < 0.6);  // 0.5 is noise
    if (drifts) CHECK(without.biases.rmse > 1);
    CHECK((with.model.time_mode == 2) == drifts);
  }
}

TEST_CASE("a search ends at its limits with the best so far", "[fast_tucker]") {
  TestSpace const space;
  auto const data  = ratings({0.5, 1, 0.5}, 8000);
  auto const train = to_device<double, std::uint32_t>(space, data.train);
  auto const other = to_device<double, std::uint32_t>(space, data.other);
  using Data       = FastTuckerData<double, std::uint32_t, TestSpace>;
  auto const run   = [&](FastTuckerOptions const& options, FastTuckerSearchCallback const& on_search) {
    return fast_tucker(space, Data{train, {}, other}, options, {}, {}, on_search);
  };
  // At once: nothing was tried, and mean and biases are the model.
  auto const none = run({}, [](FastTuckerSearch const&) { return false; });
  CHECK(none.reason == StopReason::interrupted);
  CHECK(none.choice->reason == StopReason::interrupted);
  CHECK(!none.choice->learns);
  CHECK(errors(space, none.model, other).rmse < 1.3);
  auto const timed = run({.time_limit_s = 0}, {});
  CHECK(timed.reason == StopReason::time_limit);
  CHECK(timed.choice->candidates == 0);
  // In the middle: the best candidate so far, without further epochs.
  int most = 0;
  std::vector<double> least;
  auto const some = run({}, [&](FastTuckerSearch const& search) {
    most = std::max(most, search.candidates);
    if (search.model.entries > 0 && (least.empty() || least.back() != search.model.rmse))
      least.push_back(search.model.rmse);
    return search.candidates < 4;
  });
  CHECK(most == 4);
  CHECK(some.reason == StopReason::interrupted);
  CHECK(some.choice->learns);
  CHECK(some.choice->candidates == 4);
  CHECK(some.history.empty());
  CHECK(!least.empty());
  CHECK(some.errors.test.rmse < 0.8 * some.biases.test.rmse);
  CHECK(some.errors.test.rmse == Approx(errors(space, some.model, other).rmse));
  // In the third epoch of the first candidate: the model of the second one.
  int calls        = 0;
  auto const first = run({}, [&](FastTuckerSearch const& search) {
    calls += search.candidates == 1 ? 1 : 0;
    return calls < 8;
  });
  CHECK(first.reason == StopReason::interrupted);
  CHECK(first.choice->candidates == 1);
  CHECK(first.choice->learns);
  CHECK(first.history.empty());
  CHECK(first.errors.test.rmse < 0.95 * first.biases.test.rmse);
  // In its first epoch there is nothing yet.
  auto const too_early = run({}, [](FastTuckerSearch const& search) { return search.candidates < 1; });
  CHECK(too_early.reason == StopReason::interrupted);
  CHECK(too_early.choice->candidates == 1);
  CHECK(!too_early.choice->learns);
  // No candidate has more epochs at a time than the run.
  int updates      = 0;
  auto const count = [&](FastTuckerSearch const&) {
    ++updates;
    return true;
  };
  auto const whole   = run({}, count);
  int const of_whole = std::exchange(updates, 0);
  auto const two     = run({.max_epochs = 2}, count);
  CHECK(updates < of_whole);
  CHECK(two.history.size() == 2);
  CHECK(two.reason == StopReason::max_iterations);
  CHECK(whole.reason == StopReason::converged);  // as many epochs as were chosen, fewer than 20
  auto const no_epochs = run({.max_epochs = 0}, {});
  CHECK(no_epochs.reason == StopReason::max_iterations);
  CHECK(!no_epochs.choice->learns);
}

TEST_CASE("the damping of the biases is that of the least held-out error", "[fast_tucker]") {
  TestSpace const space;
  // Biases of deviation 1 / 6 and noise of 1 ask for about 36, biases of 2 and noise of 0.5 for next to none.
  auto const damping_of = [&](Effects const& effects) {
    auto const data = ratings(effects, 6000, 3, {300, 200});
    return choose_fast_tucker(space, to_device<double, std::uint32_t>(space, data.train), {.rank = 1})
        .options.bias.damping;
  };
  CHECK(damping_of({0.235, 0, 1}) > 12);
  CHECK(damping_of({0.235, 0, 1}) <= 50.5);
  CHECK(damping_of({2.8, 0, 0.3}) < 2);
  // A damping that the options name stays.
  auto const data = ratings({0.235, 0, 1}, 6000, 3, {300, 200});
  FastTuckerOptions options;
  options.rank         = 1;
  options.bias.damping = 2;
  CHECK(choose_fast_tucker(space, to_device<double, std::uint32_t>(space, data.train), options)
            .options.bias.damping == 2);
}

TEST_CASE("a few rows with few entries keep an interaction that explains nearly all",
          "[fast_tucker][figures]") {
  TestSpace const space;
  // Three users have 15 entries and the others 24, of which about 19 are kept.
  auto const data = ratings({0.5, 1, 0.02}, 8000, 2, {80, 60});
  HostTensor few{"few", data.train.extents, {}, {}};
  std::vector<int> entries(80);
  for (std::size_t p = 0; p < data.train.nnz(); ++p) {
    auto const user = data.train.index(p, 0);
    if (entries[user] == (user < 3 ? 15 : 24)) continue;
    ++entries[user];
    few.indices.insert(few.indices.end(), {user, data.train.index(p, 1)});
    few.values.push_back(data.train.values[p]);
  }
  auto const result = fast_tucker(space, to_device<double, std::uint32_t>(space, few));
  REQUIRE(result.choice->learns);
  CHECK((result.choice->left_to_biases[0] & 2) == 0);
  bool found = false;
  for (auto const& rows : result.choice->classes)
    if (rows.mode == 0 && rows.least == 4) {
      found = true;
      CHECK(rows.learns);
    }
  CHECK(found);
}

TEST_CASE("a resumed run has the damping of the biases that the search chose", "[fast_tucker]") {
  TestSpace const space;
  TemporaryFolder const folder;
  auto const data = ratings({2.8, 1, 0.3}, 6000, 3, {300, 200});
  FastTuckerData<double, std::uint32_t, TestSpace> sets;
  sets.train = to_device<double, std::uint32_t>(space, data.train);
  FastTuckerOptions options;
  options.rank       = 2;
  options.checkpoint = folder / "c";
  auto const first =
      fast_tucker(space, sets, options, [](FastTuckerEpoch const& epoch) { return epoch.epoch < 2; });
  REQUIRE(first.choice->learns);
  double const damping = first.choice->options.bias.damping;
  CHECK(damping != BiasOptions{}.damping);
  options.resume   = options.checkpoint;
  auto const again = fast_tucker(space, sets, options);
  CHECK(again.choice->options.bias.damping == damping);
  CHECK(row_fit(again.choice->options, 2).bias_damping == damping);
  // A checkpoint of an earlier version does not say it.
  auto state = io::read_fast_tucker_checkpoint(options.checkpoint);
  CHECK(state.bias_damping == std::vector<double>{damping});
  state.bias_damping.clear();
  io::write_fast_tucker_checkpoint(options.resume, state);
  CHECK(fast_tucker(space, sets, options).choice->options.bias.damping == BiasOptions{}.damping);
}

TEST_CASE("rows for which the model loses to the biases are left to these", "[fast_tucker][figures]") {
  TestSpace const space;
  Random random(5);
  // 60 users with many entries and a taste, 2,000 with three noisy ones and none.
  constexpr std::size_t dense_entries = 6000, sparse_entries = 6000;
  std::vector<std::uint64_t> const extents{2060, 100};
  HostTensor X     = random_tensor(random, extents, dense_entries + sparse_entries);
  HostTensor truth = random_tensor(random, extents, 6000);
  auto const users = random_matrix(random, 60, 2), items = random_matrix(random, 100, 2);
  auto const taste = [&](HostTensor const& of, std::size_t p) {
    double x = 3;
    for (std::size_t r = 0; r < 2 && of.index(p, 0) < 60; ++r)
      x += 0.5 * users(of.index(p, 0), r) * items(of.index(p, 1), r);
    return x;
  };
  for (std::size_t p = 0; p < X.nnz(); ++p) {
    bool const dense = p < dense_entries;
    X.indices[2 * p] = dense ? X.index(p, 0) % 60 : 60 + p % 2000;
    X.values[p]      = taste(X, p) + (dense ? 0.5 : 2) * noise(random);
  }
  for (std::size_t p = 0; p < truth.nnz(); ++p) {
    truth.indices[2 * p] = p % 2 == 0 ? truth.index(p, 0) % 60 : 60 + p % 2000;
    truth.values[p]      = taste(truth, p);
  }
  auto const result = fast_tucker(space, to_device<double, std::uint32_t>(space, X), {.rank = 4});
  REQUIRE(result.choice);
  REQUIRE(result.choice->learns);
  REQUIRE(result.choice->left_to_biases.size() == 2);
  CHECK((result.choice->left_to_biases[0] & 1) == 1);
  CHECK((result.choice->left_to_biases[0] & 4) == 0);
  auto const A        = flat(result.model.A(0));
  std::size_t const J = A.size() / 2060;
  CHECK(
      std::all_of(A.begin() + static_cast<std::ptrdiff_t>(60 * J), A.end(), [](double a) { return a == 0; }));
  CHECK(std::any_of(A.begin(), A.begin() + static_cast<std::ptrdiff_t>(60 * J),
                    [](double a) { return a != 0; }));
  // The errors that are reported are those of this model.
  CHECK(result.errors.train.rmse ==
        Approx(errors(space, result.model, to_device<double, std::uint32_t>(space, X)).rmse));
  bool found = false;
  for (auto const& rows : result.choice->classes)
    if (rows.mode == 0 && rows.least == 0) {
      found = true;
      CHECK(!rows.learns);
      CHECK(rows.model.entries > 500);
    }
  CHECK(found);
}

TEST_CASE("times after the last one with entries can be left to the biases", "[fast_tucker]") {
  TestSpace const space;
  HostTensor const X{"X", {3, 2, 8}, {0, 0, 1, 1, 1, 4, 2, 0, 4}, {1, 2, 3}};
  Random random(3);
  auto const model  = to_device<double>(space, random_model(random, {3, 2, 8}, 2, 2, true));
  auto const before = flat(model.A(2));
  detail::TrainingSet<double, std::uint32_t, TestSpace> const train(
      to_device<double, std::uint32_t>(space, X));
  detail::leave_to_biases(space, train, {0, 0, std::uint64_t(1) << detail::later_rows}, model,
                          RowDistribution<double, TestSpace>(space, train.extents()));
  auto const after = flat(model.A(2));
  for (std::size_t t = 0; t < 8; ++t)  // times 0, 2 and 3 have no entries either
    for (std::size_t j = 4 * t; j < 4 * t + 4; ++j) CHECK(after[j] == (t > 4 ? 0 : before[j]));
}

TEST_CASE("a place that was rated again is predicted by what it says", "[fast_tucker][figures]") {
  TestSpace const space;
  Random random(8);
  // Each pair has a value of its own, that no interaction of low rank explains, and four noisy entries.
  std::vector<std::uint64_t> const extents{40, 30};
  HostTensor X     = random_tensor(random, extents, 4800);
  auto const pairs = random_matrix(random, 40, 30);
  for (std::size_t p = 0; p < X.nnz(); ++p) {
    std::size_t const place = p % 1200;
    X.indices[2 * p]        = place / 30;
    X.indices[2 * p + 1]    = place % 30;
    X.values[p]             = pairs(place / 30, place % 30) + 0.5 * noise(random);
  }
  HostTensor truth = X;
  for (std::size_t p = 0; p < X.nnz(); ++p) truth.values[p] = pairs(X.index(p, 0), X.index(p, 1));
  auto const result = fast_tucker(space, to_device<double, std::uint32_t>(space, X), {.rank = 32});
  REQUIRE(result.choice);
  CHECK(result.choice->learns);
  CHECK(errors(space, result.model, to_device<double, std::uint32_t>(space, truth)).rmse <
        0.8 * result.biases.train.rmse);
}

TEST_CASE("the options that were chosen lead to about the same model by hand", "[fast_tucker][figures]") {
  TestSpace const space;
  auto const data   = ratings({0.5, 1, 0.02}, 3000, 2, {80, 60});
  auto const train  = to_device<double, std::uint32_t>(space, data.train);
  auto const other  = to_device<double, std::uint32_t>(space, data.other);
  auto const chosen = fast_tucker(space, FastTuckerData<double, std::uint32_t, TestSpace>{train, {}, other});
  REQUIRE(chosen.choice);
  REQUIRE(chosen.choice->learns);
  CHECK(chosen.errors.test.rmse < 0.25);
  // A ridge comes with cores that stay, in the search and in the fit.
  CHECK(chosen.choice->options.update_cores == !chosen.choice->options.ridge);
  auto options       = chosen.choice->options;
  options.max_epochs = 20;
  auto const by_hand =
      fast_tucker(space, FastTuckerData<double, std::uint32_t, TestSpace>{train, {}, other}, options);
  CHECK(by_hand.errors.test.rmse < 1.5 * chosen.errors.test.rmse);
}

TEST_CASE("fine times share a bias, also if later ones have no entries", "[fast_tucker]") {
  // Nearly every entry has a time of its own, whose bias would be the noise of the entry.
  TestSpace const space;
  Random random(5);
  std::vector<std::uint64_t> const extents{40, 30, 900};
  HostTensor X     = random_tensor(random, extents, 1500);
  auto const users = random_matrix(random, 40, 1), items = random_matrix(random, 30, 1);
  for (std::size_t p = 0; p < X.nnz(); ++p) {
    X.indices[3 * p + 2] %= 800;
    X.values[p] = users(X.index(p, 0), 0) + items(X.index(p, 1), 0) + 0.5 * noise(random);
  }
  FastTuckerOptions options;
  options.most_rank      = 8;
  options.bias.time_mode = 2;
  auto const choice      = choose_fast_tucker(space, to_device<double, std::uint32_t>(space, X), options);
  REQUIRE(choice.options.bias.drift.size() == 3);
  CHECK(choice.options.bias.drift[2].bins > 0);
  CHECK(choice.options.bias.drift[2].bins < 64);
}

// Hidden: it has not been seen to pass yet.
TEST_CASE("the unit of time does not decide", "[.][unit-of-time]") {
  TestSpace const space;
  Random random(4);
  std::vector<std::uint64_t> const extents{40, 30, 60480};  // minutes of six weeks
  HostTensor X     = random_tensor(random, extents, 1500);
  auto const moods = random_matrix(random, 40 * 2, 1), items = random_matrix(random, 30, 1);
  HostTensor other = random_tensor(random, extents, 1500);
  for (auto* of : {&X, &other})
    for (std::size_t p = 0; p < of->nnz(); ++p)
      of->values[p] = 3 + 0.6 * moods(2 * of->index(p, 0) + of->index(p, 2) / 30240, 0) +
                      0.3 * items(of->index(p, 1), 0) + (of == &X ? 0.1 * noise(random) : 0.0);
  std::vector<double> found;
  for (std::uint64_t const unit : {1, 60, 1440}) {
    auto const in_units = [&](HostTensor of) {
      of.extents[2] = (extents[2] + unit - 1) / unit;
      for (std::size_t p = 0; p < of.nnz(); ++p) of.indices[3 * p + 2] /= unit;
      return to_device<double, std::uint32_t>(space, of);
    };
    FastTuckerOptions options;
    options.most_rank      = 8;
    options.bias.time_mode = 2;
    found.push_back(errors(space, fast_tucker(space, in_units(X), options).model, in_units(other)).rmse);
  }
  CAPTURE(found[0], found[1], found[2]);
  for (double const rmse : found) CHECK(rmse < 0.2);  // 0.9 is the deviation of the moods
}

TEST_CASE("floats far from zero that differ by a few units have an interaction", "[fast_tucker]") {
  TestSpace const space;
  auto data = ratings({0, 1, 0.05}, 4000, 6, {80, 60});
  for (double& x : data.train.values) x += 300000;
  auto const result = fast_tucker(space, to_device<float, std::uint32_t>(space, data.train), {.rank = 4});
  REQUIRE(result.choice);
  CHECK(result.choice->learns);
  CHECK(result.choice->model.rmse < 0.3 * result.choice->biases.rmse);
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
