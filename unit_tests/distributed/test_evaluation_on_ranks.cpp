// SPDX-License-Identifier: BSD-3-Clause
// Evaluation and what is built on it, on as many ranks as the launcher starts, against one rank.
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "distributed/parts.hpp"
#include "distributed/world.hpp"
#include "polyad/core/error.hpp"
#include "polyad/fast_tucker/choose_implicit.hpp"
#include "polyad/fast_tucker/evaluate.hpp"
#include "polyad/fast_tucker/fast_tucker.hpp"
#include "polyad/testing/small_tensors.hpp"
#include "support/catch.hpp"
#include "support/device_data.hpp"

namespace polyad::test {
namespace {

using testing::HostTensor;
using testing::Random;
using EvaluatedTensor = CooTensor<double, std::uint32_t, TestSpace>;

/// This rank's part of a tensor, or the whole, on the device.
EvaluatedTensor part_on_device(HostTensor const& tensor, Dealt dealt) {
  Part const part = part_of(tensor, dealt);
  return upload<double, std::uint32_t>(TestSpace(), Extents(std::span<count_t const>(tensor.extents)),
                                       std::span<std::uint32_t const>(part.indices),
                                       std::span<double const>(part.values));
}

/// Ratings from 1 to 5.
HostTensor ratings(std::uint64_t seed, std::vector<std::uint64_t> const& extents, std::size_t nnz) {
  Random random(seed);
  auto tensor = testing::random_tensor(random, extents, nnz);
  for (double& x : tensor.values) x = 1 + std::fmod(std::floor(16 * std::abs(x)), 5);
  return tensor;
}

void expect_same(double here, double there) {
  if (std::isnan(there))
    CHECK(std::isnan(here));
  else
    CHECK(std::abs(here - there) <= 1e-12 * std::max(1.0, std::abs(there)));
}

void expect_same(Estimate const& here, Estimate const& there) {
  CHECK(here.users == there.users);
  expect_same(here.value, there.value);
  expect_same(here.error, there.error);
}

void expect_same(Evaluation const& here, Evaluation const& there) {
  CHECK(here.entries == there.entries);
  CHECK(here.relevant == there.relevant);
  CHECK(here.users == there.users);
  CHECK(here.queries == there.queries);
  CHECK(here.left_out == there.left_out);
  CHECK(here.unknown == there.unknown);
  CHECK(here.unreachable == there.unreachable);
  CHECK(here.candidates == there.candidates);
  CHECK(here.user_rows == there.user_rows);
  REQUIRE(here.scores.size() == there.scores.size());
  for (std::size_t s = 0; s < there.scores.size(); ++s) {
    INFO(there.scores[s].method << " for " << there.scores[s].activity << " on rank " << world().rank());
    CHECK(here.scores[s].method == there.scores[s].method);
    CHECK(here.scores[s].activity == there.scores[s].activity);
    CHECK(here.scores[s].users == there.scores[s].users);
    CHECK(here.scores[s].entries == there.scores[s].entries);
    for (std::size_t m = 0; m < metric_names.size(); ++m) {
      INFO(metric_names[m]);
      expect_same(here.scores[s].metrics[m], there.scores[s].metrics[m]);
    }
  }
  REQUIRE(here.of_users.size() == there.of_users.size());
  for (std::size_t m = 0; m < there.of_users.size(); ++m) {
    CHECK(here.of_users[m].method == there.of_users[m].method);
    REQUIRE(here.of_users[m].values.size() == there.of_users[m].values.size());
    for (std::size_t k = 0; k < there.of_users[m].values.size(); ++k)
      expect_same(here.of_users[m].values[k], there.of_users[m].values[k]);
  }
}

/// The model of a short fit, the same on all ranks.
FastTuckerModel<double, TestSpace> fitted(HostTensor const& train) {
  FastTuckerOptions options;
  options.rank       = 3;
  options.max_epochs = 2;
  options.shrinkage  = Shrinkage{5, 0.05, 100};
  return fast_tucker(TestSpace(), part_on_device(train, Dealt::whole), options).model;
}

void expect_evaluation_of_one_rank(HostTensor const& train, HostTensor const& test,
                                   EvaluationOptions const& options, bool has_seen = true) {
  auto const model    = fitted(train);
  auto const whole    = part_on_device(test, Dealt::whole);
  auto const seen     = has_seen ? part_on_device(train, Dealt::whole) : EvaluatedTensor();
  auto const expected = evaluate(TestSpace(), model, whole, options, seen);
  for (Dealt const dealt : {Dealt::in_turn, Dealt::all_to_rank_0, Dealt::all_to_last_rank}) {
    auto const known = has_seen ? part_on_device(train, dealt) : EvaluatedTensor();
    expect_same(evaluate(world(), model, part_on_device(test, dealt), options, known), expected);
  }
}

}  // namespace

TEST_CASE("The evaluation of one rank", "[mpi]") {
  for (auto const& extents : std::vector<std::vector<std::uint64_t>>{{60, 25}, {40, 20, 4}, {3, 30}}) {
    INFO("order " << extents.size() << ", users " << extents[0]);
    auto const train = ratings(3, extents, 500);
    auto larger      = extents;  // some users, items and contexts are unknown to the model
    for (auto& extent : larger) extent += 3;
    auto const test = ratings(5, larger, 200);
    EvaluationOptions options;
    options.count    = 5;
    options.relevant = 3;
    options.per_user = true;
    expect_evaluation_of_one_rank(train, test, options);
    expect_evaluation_of_one_rank(train, test, options, false);
    options.rank_seen         = true;
    options.average_contexts  = true;
    options.queries_at_a_time = 7;
    expect_evaluation_of_one_rank(train, test, options);
    options.user_mode = 1;
    options.item_mode = 0;
    options.baselines = false;
    expect_evaluation_of_one_rank(train, test, options);
    options.relevant = 6;  // nothing is relevant
    expect_evaluation_of_one_rank(train, test, options);
  }
}

TEST_CASE("An evaluation fails on all ranks alike", "[mpi]") {
  auto const train = ratings(3, {30, 20}, 300);
  auto const model = fitted(train);
  auto const seen  = part_on_device(train, Dealt::in_turn);
  auto test        = ratings(5, {30, 20}, 50);
  auto const fault = [&](EvaluationOptions const& options) {
    try {
      static_cast<void>(evaluate(world(), model, part_on_device(test, Dealt::in_turn), options, seen));
    } catch (UsageError const& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  EvaluationOptions options;
  CHECK(fault(options).empty());
  options.count = 0;
  CHECK(fault(options) == "the first 0 items are evaluated: 1 to 2^31");
  options.count      = 10;
  test.values.back() = std::numeric_limits<double>::quiet_NaN();
  CHECK(fault(options).find("is not finite") != std::string::npos);
}

TEST_CASE("Options of implicit feedback that one rank chooses", "[mpi]") {
  for (auto const& extents : std::vector<std::vector<std::uint64_t>>{{50, 20}, {30, 15, 3}}) {
    INFO("order " << extents.size());
    auto const train = ratings(7, extents, 400);
    HostTensor kept{"kept", train.extents, {}, {}}, held{"held", train.extents, {}, {}};
    for (std::size_t p = 0; p < train.values.size(); ++p) {
      auto& to = p % 8 == 0 ? held : kept;
      for (std::size_t n = 0; n < extents.size(); ++n)
        to.indices.push_back(train.indices[p * extents.size() + n]);
      to.values.push_back(train.values[p]);
    }
    FastTuckerOptions options;
    options.implicit   = 1;
    options.max_epochs = 2;
    if (extents.size() == 2)
      options.rank = 4;
    else
      options.ridge = 2;
    auto const expected = choose_implicit(TestSpace(), part_on_device(kept, Dealt::whole),
                                          part_on_device(held, Dealt::whole), options);
    CHECK(expected.candidates.size() >= (extents.size() == 2 ? 5 : 4));
    for (Dealt const dealt : {Dealt::in_turn, Dealt::all_to_rank_0}) {
      std::vector<std::size_t> sizes;  // one for each epoch, and one for each candidate
      auto const choice =
          choose_implicit(world(), part_on_device(kept, dealt), part_on_device(held, dealt), options, false,
                          {}, [&](std::vector<ImplicitCandidate> const& candidates) {
                            sizes.push_back(candidates.size());
                            return true;
                          });
      CHECK(sizes.size() == 3 * expected.candidates.size());
      for (std::size_t call = 0; call < sizes.size(); ++call) CHECK(sizes[call] == (call + 1) / 3);
      CHECK(choice.best == expected.best);
      CHECK(choice.reason == StopReason::converged);
      CHECK(choice.options.implicit == expected.options.implicit);
      CHECK(choice.options.ridge == expected.options.ridge);
      CHECK(choice.options.rank == expected.options.rank);
      REQUIRE(choice.candidates.size() == expected.candidates.size());
      for (std::size_t c = 0; c < expected.candidates.size(); ++c)
        expect_same(choice.candidates[c].ndcg, expected.candidates[c].ndcg);
      expect_same(choice.popular, expected.popular);
    }
    // One rank ends the search of all.
    auto const ended = choose_implicit(
        world(), part_on_device(kept, Dealt::in_turn), part_on_device(held, Dealt::in_turn), options, false,
        {},
        [](auto const& candidates) { return candidates.size() < 2 || world().rank() + 1 < world().size(); });
    CHECK(ended.reason == StopReason::interrupted);
    CHECK(ended.candidates.size() == 2);
  }
}

}  // namespace polyad::test
