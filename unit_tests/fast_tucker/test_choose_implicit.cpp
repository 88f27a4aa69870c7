// SPDX-License-Identifier: BSD-3-Clause
// The choice of options by rankings: each candidate's NDCG is that of a fit with its options.
#include <Kokkos_Core.hpp>
#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <set>
#include <vector>

#include "fast_tucker/oracle.hpp"
#include "polyad/fast_tucker/choose_implicit.hpp"
#include "polyad/fast_tucker/evaluate.hpp"
#include "polyad/fast_tucker/fast_tucker.hpp"
#include "polyad/fast_tucker/recommend.hpp"
#include "support/catch.hpp"

namespace polyad::test {
namespace {

void add_click(HostTensor& clicks, std::uint64_t user, std::uint64_t item) {
  clicks.indices.insert(clicks.indices.end(), {user, item});
  clicks.values.push_back(1);
}

/// Users of three tastes click most items of theirs. The last click of each user goes into `held`.
struct TastefulClicks {
  HostTensor kept{"kept", {30, 24}, {}, {}};
  HostTensor held{"held", {30, 24}, {}, {}};

  explicit TastefulClicks(Random& random) {
    for (std::uint64_t user = 0; user < 30; ++user) {
      std::vector<std::uint64_t> items;
      for (std::uint64_t item = 0; item < 24; ++item)
        if (random_number(random) > (user % 3 == item % 3 ? -0.5 : 0.9)) items.push_back(item);
      for (std::size_t i = 0; i < items.size(); ++i)
        add_click(i + 1 == items.size() && i > 0 ? held : kept, user, items[i]);
    }
  }
};

TEST_CASE("alpha, ridge and rank are chosen by NDCG on held-out entries", "[fast_tucker][implicit]") {
  TestSpace const space;
  Random random(31);
  TastefulClicks const clicks(random);
  auto const kept = to_device<double, std::uint32_t>(space, clicks.kept);
  auto const held = to_device<double, std::uint32_t>(space, clicks.held);
  FastTuckerOptions options;
  options.implicit   = usual_alpha;
  options.max_epochs = 3;
  auto const choice  = choose_implicit(space, kept, held, options);
  CHECK(choice.candidates.size() >= 6);  // 3 or 4 alphas, 2 to 10 ridges, 1 or 2 ranks
  CHECK(choice.candidates.size() <= 16);
  CHECK(choice.candidates[1].alpha == 3);
  CHECK(choice.candidates[0].rank == 64);
  // 1 + alpha is 2 and 4. 0.6 of the noise of clicks at random places, and two digits of it.
  auto const clicks_kept = static_cast<double>(clicks.kept.values.size());
  std::array<std::set<std::uint64_t>, 2> rows;  // that have entries
  for (std::size_t i = 0; i < clicks.kept.indices.size(); ++i) rows[i % 2].insert(clicks.kept.indices[i]);
  double noise = 0;
  for (auto const& of : rows) noise += std::sqrt(clicks_kept / static_cast<double>(of.size()));
  for (std::size_t n : {0, 1}) {
    double const expected = 0.6 * (n == 0 ? 2 : 4) * noise;
    CHECK(std::abs(choice.candidates[n].ridge - expected) < 0.051 * expected);
  }
  CHECK(choice.reason == StopReason::converged);
  // The best alpha says which one follows.
  auto const better = [&](std::size_t a, std::size_t b) {
    return choice.candidates[a].ndcg.value > choice.candidates[b].ndcg.value;
  };
  bool const is_last  = better(2, 0) && better(2, 1);
  bool const is_first = !better(1, 0) && !better(2, 0);
  auto const fourth   = choice.candidates[3].alpha;
  CHECK(fourth == (is_last ? usual_alpha : is_first ? 0.1 : 3));
  EvaluationOptions ranking;
  ranking.observed  = observed_rows(space, kept);
  ranking.baselines = false;
  double best       = -1;
  for (auto const& candidate : choice.candidates) {
    auto fit     = options;
    fit.implicit = candidate.alpha;
    fit.ridge    = candidate.ridge;
    fit.rank     = candidate.rank;
    auto const found =
        evaluate(space, fast_tucker(space, kept, fit).model, held, ranking, kept).scores[0][Metric::ndcg];
    CHECK(std::abs(candidate.ndcg.value - found.value) < 1e-9);
    best = std::max(best, candidate.ndcg.value);
  }
  auto const& chosen = choice.candidates[choice.best];
  CHECK(chosen.ndcg.value == best);
  // The most popular items are next to it, by the same entries.
  ranking.baselines    = true;
  auto const compared  = evaluate(space, fast_tucker(space, kept, options).model, held, ranking, kept);
  std::size_t baseline = 0;
  for (auto const& of : compared.scores)
    if (of.method == "popular" && of.activity == "all") {
      ++baseline;
      CHECK(choice.popular.value == of[Metric::ndcg].value);
      CHECK(choice.popular.error == of[Metric::ndcg].error);
      CHECK(choice.popular.users == of[Metric::ndcg].users);
    }
  CHECK(baseline == 1);
  CHECK(chosen.ndcg.value > choice.popular.value);
  CHECK(!choice.loses_to_popular());
  CHECK(choice.options.implicit == chosen.alpha);
  CHECK(choice.options.ridge == chosen.ridge);
  CHECK(choice.options.rank == chosen.rank);
  CHECK(choice.options.max_epochs == 3);
}

TEST_CASE("the first ridge of a search depends on the entries and the order", "[fast_tucker][implicit]") {
  TestSpace const space;
  // 4 x 5 x 2 with 40 entries: each row has as many as there can be.
  HostTensor kept{"kept", {4, 5, 2}, {}, {}};
  HostTensor held{"held", {4, 5, 2}, {0, 0, 0}, {1}};
  for (std::uint64_t i = 0; i < 4; ++i)
    for (std::uint64_t j = 0; j < 5; ++j)
      for (std::uint64_t k = 0; k < 2; ++k) {
        kept.indices.insert(kept.indices.end(), {i, j, k});
        kept.values.push_back(2);  // counts as 1
      }
  FastTuckerOptions options;
  options.implicit   = 1;
  options.rank       = 2;
  options.max_epochs = 1;
  auto const ridge   = [&] {
    return choose_implicit(space, to_device<double, std::uint32_t>(space, kept),
                           to_device<double, std::uint32_t>(space, held), options, true)
        .candidates[0]
        .ridge;
  };
  double const level = 2 * (std::sqrt(4.0) + std::sqrt(5.0) + std::sqrt(2.0));
  CHECK(std::abs(ridge() / std::pow(0.2 * level / 2, 4.0 / 3) - 1) < 0.051);
  kept.values[7] = 0;  // counts as a cell that was not seen
  CHECK(std::abs(ridge() / std::pow(0.2 * level / 2 * std::sqrt(39.0 / 40), 4.0 / 3) - 1) < 0.051);
  options.implicit = 9;
  CHECK(std::abs(ridge() / std::pow(0.2 * 5 * level / 2, 4.0 / 3) - 1) < 0.051);
}

/// Users have four clicks each, by popularity alone. One of each user is held out.
struct PopularClicks {
  HostTensor kept{"kept", {300, 40}, {}, {}};
  HostTensor held{"held", {300, 40}, {}, {}};

  explicit PopularClicks(Random& random) {
    for (std::uint64_t user = 0; user < 300; ++user) {
      std::set<std::uint64_t> items;
      while (items.size() < 4) {
        double const share = (std::abs(random_number(random)) - 0.5) / 1.5;  // uniform from 0 to 1
        items.insert(std::min<std::uint64_t>(39, static_cast<std::uint64_t>(40 * share * share * share)));
      }
      std::vector<std::uint64_t> order(items.begin(), items.end());
      std::swap(order[user % 4], order.back());
      for (auto const item : order) add_click(item == order.back() ? held : kept, user, item);
    }
  }
};

TEST_CASE("a search by rankings says when the most popular items rank better", "[fast_tucker][implicit]") {
  TestSpace const space;
  Random random(34);
  PopularClicks const clicks(random);
  auto const kept = to_device<double, std::uint32_t>(space, clicks.kept);
  auto const held = to_device<double, std::uint32_t>(space, clicks.held);
  FastTuckerOptions options;
  options.implicit   = 40;
  options.ridge      = 0.01;  // it learns the noise
  options.rank       = 16;
  options.max_epochs = 6;
  auto const choice  = choose_implicit(space, kept, held, options, true);
  CHECK(choice.loses_to_popular());
  CHECK(choice.popular.value > choice.candidates[choice.best].ndcg.value);
  CHECK(choice.popular.users == 300);
  auto const ended = choose_implicit(space, kept, held, options, true, {}, [](auto const&) { return false; });
  CHECK(std::isnan(ended.popular.value));
  CHECK(!ended.loses_to_popular());
}

TEST_CASE("a search by rankings enlarges the ridge while that is better", "[fast_tucker][implicit]") {
  // The larger the ridge, the better.
  TestSpace const space;
  Random random(33);
  PopularClicks const clicks(random);
  FastTuckerOptions options;
  options.implicit   = 3;
  options.rank       = 8;
  options.max_epochs = 6;
  auto const choice  = choose_implicit(space, to_device<double, std::uint32_t>(space, clicks.kept),
                                       to_device<double, std::uint32_t>(space, clicks.held), options, true);
  auto const& all    = choice.candidates;
  REQUIRE(all.size() > 4);  // the first ridge, half of it, 5/3 of it, and at least two further steps
  CHECK(all[1].ridge < all[0].ridge);
  for (std::size_t c = 3; c < all.size(); ++c) {
    CHECK(std::abs(all[c].ridge / all[c - 1].ridge - 5.0 / 3) < 0.1);
    CHECK((c + 1 == all.size() || all[c].ndcg.value > all[c - 1].ndcg.value));
  }
  CHECK(choice.best >= all.size() - 2);
  CHECK(choice.options.ridge == all[choice.best].ridge);
}

TEST_CASE("a search by rankings keeps what it is given, and can be ended", "[fast_tucker][implicit]") {
  TestSpace const space;
  Random random(32);
  TastefulClicks const clicks(random);
  auto const kept = to_device<double, std::uint32_t>(space, clicks.kept);
  auto const held = to_device<double, std::uint32_t>(space, clicks.held);
  FastTuckerOptions options;
  CHECK_THROWS_AS(choose_implicit(space, kept, held, options), UsageError);
  options.implicit   = 7;
  options.ridge      = 3;
  options.rank       = 4;
  options.max_epochs = 2;
  auto const fixed   = choose_implicit(space, kept, held, options, true);
  REQUIRE(fixed.candidates.size() == 1);
  CHECK((fixed.options.implicit == 7.0 && fixed.options.ridge == 3.0 && fixed.options.rank == 4));
  options.ridge.reset();
  auto const ended = choose_implicit(space, kept, held, options, false, {},
                                     [](auto const& candidates) { return candidates.size() < 2; });
  CHECK(ended.candidates.size() == 2);
  CHECK(ended.reason == StopReason::interrupted);
  CHECK(ended.options.rank == 4);
  // In the first fit, which then counts without having been evaluated, and in the second, which does not.
  std::vector<std::size_t> sizes;
  auto const at_once = choose_implicit(space, kept, held, options, false, {}, [&](auto const& candidates) {
    sizes.push_back(candidates.size());
    return false;
  });
  CHECK(sizes == std::vector<std::size_t>{0});
  REQUIRE(at_once.candidates.size() == 1);
  CHECK((at_once.candidates[0].ndcg.users == 0 && std::isnan(at_once.candidates[0].ndcg.value)));
  CHECK((at_once.options.implicit == 1.0 && at_once.options.ridge == at_once.candidates[0].ridge));
  CHECK(at_once.reason == StopReason::interrupted);
  sizes.clear();
  auto const in_the_second =
      choose_implicit(space, kept, held, options, false, {}, [&](auto const& candidates) {
        sizes.push_back(candidates.size());
        return sizes.size() < 4;
      });
  CHECK(sizes == std::vector<std::size_t>{0, 0, 1, 1});
  CHECK(in_the_second.candidates.size() == 1);
  CHECK(in_the_second.reason == StopReason::interrupted);
  CHECK(in_the_second.candidates[0].ndcg.value == ended.candidates[0].ndcg.value);
  options.time_limit_s = 1e-9;
  auto const limited   = choose_implicit(space, kept, held, options);
  CHECK(limited.candidates.size() == 1);
  CHECK(limited.reason == StopReason::time_limit);
  HostTensor const nothing{"nothing", {30, 24}, {0, 1}, {0}};
  options.time_limit_s = 100;
  CHECK_THROWS_AS(choose_implicit(space, kept, to_device<double, std::uint32_t>(space, nothing), options),
                  UsageError);
}

}  // namespace
}  // namespace polyad::test
