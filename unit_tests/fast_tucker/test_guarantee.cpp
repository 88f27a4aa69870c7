// SPDX-License-Identifier: BSD-3-Clause
// The guarantee of completion: a model that held-out entries choose is not worse than mean and biases, for
// rows with few entries and for rows with many, and it is taken where it is better. Small random sets of six
// kinds, whose values without noise are known, judge it. Sets that drift are split by coordinates and,
// as a seventh kind, by time: their places to predict are later than all entries.
//
//   polyad_unit_tests "[guarantee]"                               35 sets, a part of ctest
//   POLYAD_GUARANTEE_SETS=2000 polyad_unit_tests "[guarantee-all]"     the figures of the pages
//
// POLYAD_GUARANTEE_SEED is the first seed (101): thresholds that suit some seeds may not suit others.
// POLYAD_GUARANTEE_KIND is the only kind of sets that is judged, from 0.
#include <Kokkos_Core.hpp>
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <string>
#include <vector>

#include "fast_tucker/search/row_classes.hpp"
#include "polyad/fast_tucker/fast_tucker.hpp"
#include "polyad/testing/small_tensors.hpp"
#include "support/catch.hpp"
#include "support/device_data.hpp"

namespace polyad::test {
namespace {

enum class SetKind { noise, biases, interaction, mixed_rows, drift, repeats, later };
constexpr int set_kinds = 7;
/// A class with fewer places to predict, which are those of some rows, does not count.
constexpr std::size_t least_places = 30;

/// Entries to learn from, and places with their values without noise.
struct JudgedSet {
  HostTensor train, truth;
  int time_mode = -1;
};

/// A uniform number from 0 to 1.
double uniform_share(Random& random) {
  return (std::abs(random_number(random)) - 0.5) / 1.5;  // magnitudes are uniform from 1/2 to 2
}
/// About normal, of deviation 1.
double normal_number(Random& random) {
  double sum = 0;
  for (int i = 0; i < 12; ++i) sum += uniform_share(random);
  return sum - 6;
}

JudgedSet judged_set(SetKind kind, std::uint64_t seed) {
  Random random(1000 * seed + static_cast<std::uint64_t>(kind));
  auto const between = [&](double least, double most) {
    return least + (most - least) * uniform_share(random);
  };
  bool const is_mixed = kind == SetKind::mixed_rows, is_later = kind == SetKind::later;
  bool const drifts       = kind == SetKind::drift || is_later;
  std::size_t const dense = 60;
  auto const users = static_cast<std::uint64_t>(is_mixed ? dense + between(500, 2000) : between(80, 400));
  auto const items = static_cast<std::uint64_t>(between(40, 150));
  std::vector<std::uint64_t> extents{users, items};
  if (drifts) extents.push_back(24);
  auto const entries = static_cast<std::size_t>(between(1500, 8000));

  auto const numbers = [&](std::size_t count, double deviation) {
    std::vector<double> list(count);
    for (double& x : list) x = deviation * normal_number(random);
    return list;
  };
  double const of_biases = kind == SetKind::noise ? 0 : between(0.2, 1);
  bool const interacts   = kind == SetKind::interaction || is_mixed || (drifts && seed % 2 == 0);
  double const size      = interacts ? between(0.2, 1) : 0;
  auto const user_bias = numbers(users, of_biases), item_bias = numbers(items, of_biases);
  auto const user_taste = numbers(users * 2, std::sqrt(size / std::sqrt(2.)));
  auto const item_taste = numbers(items * 2, std::sqrt(size / std::sqrt(2.)));
  auto const mood       = numbers(users * 4, drifts ? between(0.2, 0.8) : 0);
  double const of_pairs = kind == SetKind::repeats && seed % 2 == 0 ? between(0.3, 1) : 0;
  std::map<std::pair<std::uint64_t, std::uint64_t>, double> pairs;
  double const noise = between(0.5, 1.2);

  // Sparse users of a mixed set have no taste, and more noise.
  auto const is_sparse = [&](std::uint64_t user) { return is_mixed && user >= dense; };
  auto const value     = [&](HostTensor const& X, std::size_t p) {
    auto const u = X.index(p, 0), i = X.index(p, 1);
    double x = 3 + user_bias[u] + item_bias[i];
    for (std::size_t r = 0; r < 2 && !is_sparse(u); ++r) x += user_taste[2 * u + r] * item_taste[2 * i + r];
    if (drifts) x += mood[4 * u + X.index(p, 2) / 6];
    if (of_pairs > 0) x += pairs.try_emplace({u, i}, of_pairs * normal_number(random)).first->second;
    return x;
  };
  auto const places = [&](std::size_t count) {
    HostTensor X = random_tensor(random, extents, count);
    for (std::size_t p = 0; p < count && is_mixed; ++p) {
      // Half of the entries are those of the dense users.
      bool const of_dense = uniform_share(random) < 0.5;
      X.indices[p * extents.size()] =
          of_dense ? static_cast<std::uint64_t>(uniform_share(random) * 59.99)
                   : dense + static_cast<std::uint64_t>(uniform_share(random) *
                                                        (static_cast<double>(users - dense) - 0.01));
    }
    return X;
  };
  JudgedSet set;
  set.time_mode = drifts ? 2 : -1;
  set.train     = places(entries);
  set.truth     = places(4000);
  if (is_later) {
    // The last month with entries may be any of one of the users' moods.
    auto const seen = static_cast<std::uint64_t>(between(14, 22.99));
    for (std::size_t p = 0; p < entries; ++p) set.train.indices[3 * p + 2] %= seen;
    for (std::size_t p = 0; p < set.truth.nnz(); ++p)
      set.truth.indices[3 * p + 2] = seen + set.truth.index(p, 2) % (24 - seen);
  }
  if (kind == SetKind::repeats) {
    // A third of the entries, and half of the places to predict, are places that occur already.
    for (std::size_t p = entries * 2 / 3; p < entries; ++p)
      for (std::size_t n = 0; n < 2; ++n)
        set.train.indices[2 * p + n] = set.train.index(p - entries * 2 / 3, n);
    for (std::size_t p = 0; p < 2000; ++p)
      for (std::size_t n = 0; n < 2; ++n) set.truth.indices[2 * p + n] = set.train.index(p % entries, n);
  }
  for (std::size_t p = 0; p < set.truth.nnz(); ++p) set.truth.values[p] = value(set.truth, p);
  for (std::size_t p = 0; p < entries; ++p) {
    double const own    = is_sparse(set.train.index(p, 0)) ? 2 * noise : noise;
    set.train.values[p] = value(set.train, p) + own * normal_number(random);
  }
  return set;
}

std::vector<double> predictions_at(TestSpace const& space, FastTuckerModel<double, TestSpace> const& model,
                                   HostTensor const& places) {
  return flat(predict(space, model, to_device<double, std::uint32_t>(space, places)));
}

/// What became of a number of sets.
struct GuaranteeFigures {
  int sets = 0, taken = 0, pairs = 0, worse = 0;  // worse: pairs of a set and a class, by more than 0.5 %
  int better = 0, better_taken = 0;               // sets whose true gain exceeds 2 %
  double worst = 0;                               // share by which a pair is worse
  std::string worst_pair;
};

void judge_set(TestSpace const& space, SetKind kind, std::uint64_t seed, GuaranteeFigures& figures) {
  auto const set   = judged_set(kind, seed);
  auto const train = to_device<double, std::uint32_t>(space, set.train);
  FastTuckerOptions options;
  options.most_rank      = 8;
  options.bias.time_mode = set.time_mode;
  auto const result      = fast_tucker(space, train, options);
  REQUIRE(result.choice);
  bool const taken = result.choice->learns;
  std::vector<count_t> const one_column(set.train.extents.size(), 1);
  FastTuckerModel<double, TestSpace> alone(space, train.extents(), one_column, 1, true);
  auto const by_model = predictions_at(space, result.model, set.truth);
  // Later places: the bar is the biases without drift.
  if (kind == SetKind::later) {
    BiasOptions plain = result.choice->options.bias;
    plain.time_mode   = -1;
    plain.drift       = {};
    fit_biases(space, train, plain, alone);
  } else {
    alone.share_biases(result.model);
  }
  auto const by_biases = predictions_at(space, alone, set.truth);
  auto const squares   = [&](std::vector<double> const& predicted, auto const& counts) {
    double sum = 0;
    for (std::size_t p = 0; p < predicted.size(); ++p)
      if (counts(p)) sum += (predicted[p] - set.truth.values[p]) * (predicted[p] - set.truth.values[p]);
    return sum;
  };
  ++figures.sets;
  figures.taken += taken ? 1 : 0;
  for (std::size_t n = 0; n < 2; ++n) {
    std::vector<count_t> entries(set.train.extents[n]);
    for (std::size_t p = 0; p < set.train.nnz(); ++p) ++entries[set.train.index(p, n)];
    for (int k = 0; k < detail::row_classes; ++k) {
      auto const counts = [&](std::size_t p) {
        return detail::class_of_row(entries[set.truth.index(p, n)]) == k;
      };
      double const biases = squares(by_biases, counts), model = squares(by_model, counts);
      std::size_t places = 0;
      for (std::size_t p = 0; p < set.truth.nnz(); ++p) places += counts(p) ? 1 : 0;
      if (biases == 0 || places < least_places) continue;
      ++figures.pairs;
      double const share = std::sqrt(model / biases) - 1;
      if (share <= 0.005 && share <= figures.worst) continue;
      auto const pair = "kind " + std::to_string(static_cast<int>(kind)) + ", seed " + std::to_string(seed) +
                        ", mode " + std::to_string(n) + ", class " + std::to_string(k) + ", " +
                        std::to_string(places) + " places";
      if (share > 0.005) {
        ++figures.worse;
        std::printf("worse by %.2f %%: %s\n", 100 * share, pair.c_str());
        std::fflush(stdout);
      }
      if (share <= figures.worst) continue;
      figures.worst      = share;
      figures.worst_pair = pair;
    }
  }
  if (kind == SetKind::later) return;
  // The true gain of the model, whether it is taken or not.
  auto const all       = [](std::size_t) { return true; };
  double true_gain     = 0;
  auto const& rejected = result.choice->options;
  if (taken) {
    true_gain = 1 - std::sqrt(squares(by_model, all) / squares(by_biases, all));
  } else if (result.choice->candidates > 0) {
    auto const other = predictions_at(space, fast_tucker(space, train, rejected).model, set.truth);
    true_gain        = 1 - std::sqrt(squares(other, all) / squares(by_biases, all));
  }
  figures.better += true_gain > 0.02 ? 1 : 0;
  figures.better_taken += true_gain > 0.02 && taken ? 1 : 0;
}

/// \param only_kind  the kind that is judged; -1: all
GuaranteeFigures judge_sets(int sets_of_kind, std::uint64_t first_seed, int only_kind = -1) {
  TestSpace const space;
  GuaranteeFigures all;
  for (int kind = 0; kind < set_kinds; ++kind) {
    if (only_kind >= 0 && kind != only_kind) continue;
    GuaranteeFigures of_kind;
    for (int s = 0; s < sets_of_kind; ++s)
      judge_set(space, static_cast<SetKind>(kind), first_seed + static_cast<std::uint64_t>(s), of_kind);
    std::printf(
        "kind %d: %d sets, %d taken; true gain above 2 %%: %d, %d of them taken; pairs %d, worse by more "
        "than 0.5 %%: %d, at most by %.2f %% (%s)\n",
        kind, of_kind.sets, of_kind.taken, of_kind.better, of_kind.better_taken, of_kind.pairs, of_kind.worse,
        100 * of_kind.worst, of_kind.worst_pair.c_str());
    std::fflush(stdout);
    all.sets += of_kind.sets;
    all.taken += of_kind.taken;
    all.pairs += of_kind.pairs;
    all.worse += of_kind.worse;
    all.better += of_kind.better;
    all.better_taken += of_kind.better_taken;
    all.worst = std::max(all.worst, of_kind.worst);
  }
  return all;
}

TEST_CASE("models are taken where they are better, and for the rows for which they are",
          "[fast_tucker][guarantee][figures]") {
  auto const figures = judge_sets(5, 1);
  CHECK(figures.sets == 35);
  CHECK(figures.worse <= 1);
  CHECK(figures.worst <= 0.03);
  CHECK(figures.better >= 5);
  CHECK(10 * figures.better_taken >= 8 * figures.better);
}

TEST_CASE("a fit does not step the cores that a search kept", "[fast_tucker][guarantee][figures]") {
  // The search takes a ridge here. Steps of the cores learned the noise: the model was 62 % worse.
  GuaranteeFigures figures;
  judge_set(TestSpace(), SetKind::drift, 102, figures);
  CHECK(figures.sets == 1);
  CHECK(figures.worst <= 0.03);
}

/// Entries of a model of rank 2 with normal factors, so that a few rows have most of the squares, plus noise.
HostTensor entries_of_rank_2(std::uint64_t seed, double noise) {
  Random random(seed);
  std::vector<std::uint64_t> const extents{20, 15, 10};
  std::vector<std::vector<double>> factors;
  for (std::uint64_t const rows : extents) {
    factors.emplace_back(2 * rows);
    for (double& x : factors.back()) x = normal_number(random);
  }
  HostTensor X = random_tensor(random, extents, 1200);
  for (std::size_t p = 0; p < X.nnz(); ++p) {
    X.values[p] = noise * normal_number(random);
    for (std::size_t r = 0; r < 2; ++r) {
      double product = 1;
      for (std::size_t n = 0; n < 3; ++n) product *= factors[n][2 * X.index(p, n) + r];
      X.values[p] += product;
    }
  }
  return X;
}

TEST_CASE("a model that explains most of the squares is taken, although a few rows have these",
          "[fast_tucker][guarantee][figures]") {
  // Six of the 19 sets among seeds 0 to 299 that were left to the biases. Refits for other parts of the
  // entries ended in poor minima where the search had not, and the gain of a model that explained 97 % of the
  // squares was two standard errors, which are those of a few rows.
  TestSpace const space;
  for (std::uint64_t const seed : {58, 59, 80, 99, 104, 108}) {
    FastTuckerOptions options;
    options.rank      = 2;
    auto const X      = to_device<double, std::uint32_t>(space, entries_of_rank_2(seed, 0.1));
    auto const result = fast_tucker(space, X, options);
    REQUIRE(result.choice);
    CAPTURE(seed);
    CHECK(result.choice->model.rmse < 0.4 * result.choice->biases.rmse);
    CHECK(result.choice->learns);
  }
}

TEST_CASE("a lucky fit of noise is not a model", "[fast_tucker][guarantee][figures]") {
  // It gained by 3.2 standard errors at held-out entries that had chosen nothing, and was 6.5 % worse.
  GuaranteeFigures figures;
  judge_set(TestSpace(), SetKind::noise, 70154, figures);
  CHECK(figures.sets == 1);
  CHECK(figures.worst <= 0.03);
}

TEST_CASE("biases that drift or that times share do no harm after the last time with entries",
          "[fast_tucker][guarantee][figures]") {
  // In set 620055, 1/31 of the last drifts was left: users with few entries were 3.7 % worse. In the other
  // two, times shared a bias because that had gained for another draw of rows, but not of times.
  GuaranteeFigures figures;
  for (std::uint64_t const seed : {620055, 620052, 620141}) {
    int const before = figures.worse;
    judge_set(TestSpace(), SetKind::later, seed, figures);
    CAPTURE(seed);
    CHECK(figures.worse == before);
  }
  CHECK(figures.sets == 3);
}

TEST_CASE("a model that gains where places occur again does no harm at new places",
          "[fast_tucker][guarantee][figures]") {
  // Each pair of a user and an item has an effect of its own. The rows that gained most at places that occur
  // again were wrong at new ones, so that nothing was learned.
  TestSpace const space;
  auto const set   = judged_set(SetKind::repeats, 540002);
  auto const train = to_device<double, std::uint32_t>(space, set.train);
  FastTuckerOptions options;
  options.most_rank = 8;
  auto const result = fast_tucker(space, train, options);
  REQUIRE(result.choice);
  CHECK(result.choice->learns);
  std::vector<count_t> const one_column(2, 1);
  FastTuckerModel<double, TestSpace> alone(space, train.extents(), one_column, 1, true);
  alone.share_biases(result.model);
  auto const by_model  = predictions_at(space, result.model, set.truth);
  auto const by_biases = predictions_at(space, alone, set.truth);
  // The first half of the places are those of entries, and most of the others are not.
  double model[2] = {}, biases[2] = {};
  for (std::size_t p = 0; p < set.truth.nnz(); ++p) {
    double const x = set.truth.values[p];
    model[p / 2000] += (by_model[p] - x) * (by_model[p] - x);
    biases[p / 2000] += (by_biases[p] - x) * (by_biases[p] - x);
  }
  CHECK(std::sqrt(model[0] / biases[0]) < 0.95);
  CHECK(std::sqrt(model[1] / biases[1]) < 1.02);
}

TEST_CASE("the same of many sets", "[.][guarantee-all]") {
  auto const number = [](char const* name, int otherwise) {
    char const* const text = std::getenv(name);
    return text != nullptr ? std::atoi(text) : otherwise;
  };
  int const sets     = number("POLYAD_GUARANTEE_SETS", 2000);
  auto const figures = judge_sets((sets + set_kinds - 1) / set_kinds,
                                  static_cast<std::uint64_t>(number("POLYAD_GUARANTEE_SEED", 101)),
                                  number("POLYAD_GUARANTEE_KIND", -1));
  CHECK(100 * figures.worse <= figures.pairs);
  CHECK(figures.worst <= 0.03);
  CHECK(10 * figures.better_taken >= 8 * figures.better);
}

}  // namespace
}  // namespace polyad::test
