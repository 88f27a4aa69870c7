// SPDX-License-Identifier: BSD-3-Clause
// The choice of options by rankings: each candidate's NDCG is that of a fit with its options.
#include <Kokkos_Core.hpp>
#include <algorithm>
#include <cstdint>
#include <vector>

#include "fast_tucker/oracle.hpp"
#include "polyad/fast_tucker/choose_implicit.hpp"
#include "polyad/fast_tucker/evaluate.hpp"
#include "polyad/fast_tucker/fast_tucker.hpp"
#include "polyad/fast_tucker/recommend.hpp"
#include "support/catch.hpp"

namespace polyad::test {
namespace {

/// Users of three tastes click most items of theirs. The last click of each user goes into `held`.
struct TastefulClicks {
  HostTensor kept{"kept", {30, 24}, {}, {}};
  HostTensor held{"held", {30, 24}, {}, {}};

  explicit TastefulClicks(Random& random) {
    for (std::uint64_t user = 0; user < 30; ++user) {
      std::vector<std::uint64_t> items;
      for (std::uint64_t item = 0; item < 24; ++item)
        if (random_number(random) > (user % 3 == item % 3 ? -0.5 : 0.9)) items.push_back(item);
      for (std::size_t i = 0; i < items.size(); ++i) {
        auto& part = i + 1 == items.size() && i > 0 ? held : kept;
        part.indices.insert(part.indices.end(), {user, items[i]});
        part.values.push_back(1);
      }
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
  CHECK(choice.candidates.size() >= 7);  // 4 alphas, 2 or 3 ridges, 1 or 2 ranks
  CHECK(choice.candidates.size() <= 9);
  CHECK(choice.candidates[1].alpha == 3);
  CHECK(choice.reason == StopReason::converged);
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
  CHECK(choice.options.implicit == chosen.alpha);
  CHECK(choice.options.ridge == chosen.ridge);
  CHECK(choice.options.rank == chosen.rank);
  CHECK(choice.options.max_epochs == 3);
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
