// SPDX-License-Identifier: BSD-3-Clause
// CpAlsOptions::restarts: every run is the one that cp_als makes alone, the best one wins, and all are
// reported.
#include <Kokkos_Core.hpp>
#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "core/space_instances.hpp"
#include "formats/registry.hpp"
#include "polyad/cp/cp_als.hpp"
#include "polyad/tensor/generate.hpp"
#include "run/restarts.hpp"
#include "support/catch.hpp"
#include "support/cp_als_loop.hpp"
#include "support/device_data.hpp"
#include "support/message_of.hpp"

namespace polyad::test {
namespace {

using F = Sorted<double, std::uint32_t, TestSpace>;

/// A tensor of rank 5, with more than one local optimum.
F planted(TestSpace const& space) {
  std::vector<count_t> const extents{50, 60, 70};
  auto const tensor = planted_tensor<double, std::uint32_t>(space, Extents(extents), 5, 8, 3).tensor;
  F const X         = F::build(space, tensor, {});
  space.fence("polyad::test");
  return X;
}

CpAlsOptions options_of(std::uint64_t seed) {
  CpAlsOptions options;
  options.rank           = 5;
  options.max_iterations = 30;
  options.tolerance      = 1e-10;
  options.seed           = seed;
  return options;
}

/// The runs of `instances` at a time, as cp_als has them side by side on a device.
template <class F>
CpAlsResult<double, TestSpace> best_of(int instances, F const& X, CpAlsOptions options, int count,
                                       CpAlsCallback const& callback = {}) {
  TestSpace const space;
  auto const any = any_format(space, X);
  using Whole    = TensorByRank<double, TestSpace>;
  detail::HeldTensor<double, TestSpace> const held(Whole(space, any));
  using Body      = detail::CpAlsBody<double, TestSpace>;
  auto const make = [&](TestSpace const& instance, std::uint64_t seed) {
    FactorMatrices<double, TestSpace> start(instance, any.extents(), options.rank);
    fill_random(instance, start, seed);
    return std::make_unique<CpAlsLoop<double>>(detail::run_options_of(options), held.rows, instance, held,
                                               options, start);
  };
  detail::Restarts<Body, TestSpace> restarts(detail::make_instances(space, instances), options.seed, count,
                                             make);
  return restarts.run(callback);
}

CpAlsOptions with_restarts(CpAlsOptions options, int count) {
  options.restarts = count;
  return options;
}

TEST_CASE("restarts: each run is what cp_als makes of its seed, the best one is returned", "[cp]") {
  TestSpace const space;
  F const X = planted(space);
  // One instance, fewer than there are runs, and more.
  for (int const instances : {1, 3, 8}) {
    auto const result = best_of(instances, X, options_of(11), 6);
    REQUIRE(result.restarts.size() == 6);
    double best = -1;
    for (std::size_t k = 0; k < 6; ++k) {
      CAPTURE(instances, k);
      CHECK(result.restarts[k].seed == 11 + k);
      auto const alone = cp_als(space, X, options_of(11 + k), [](CpAlsIteration const&) { return true; });
      // Sums with atomics may round differently, and once a fit is reached the difference stays.
      CHECK(std::abs(result.restarts[k].fit - alone.fit) < 1e-7);
      best = std::max(best, result.restarts[k].fit);
      CHECK(result.restarts[k].seconds > 0);
    }
    CHECK(result.fit == best);
    CHECK(result.restarts[result.best_restart].fit == best);
    CHECK(result.history.size() == static_cast<std::size_t>(result.restarts[result.best_restart].iterations));
    CHECK(result.model.weights.size() == 5);
    double seconds = 0;
    for (auto const& iteration : result.history) {
      seconds += iteration.seconds;
      CHECK(iteration.start == static_cast<int>(result.best_restart));
    }
    CHECK(result.restarts[result.best_restart].seconds == seconds);
  }
}

TEST_CASE("restarts: more starts find what the first one misses", "[cp]") {
  TestSpace const space;
  F const X         = planted(space);
  auto const first  = cp_als(space, X, options_of(0), [](CpAlsIteration const&) { return true; });
  auto const result = cp_als(space, X, with_restarts(options_of(0), 7));
  CHECK(first.fit < 0.7);
  CHECK(result.fit > 1 - 1e-6);
}

TEST_CASE("restarts: iterations are reported with the number of their run; false ends all", "[cp]") {
  TestSpace const space;
  F const X = planted(space);
  std::map<int, int> seen;
  auto const all = best_of(2, X, options_of(5), 4, [&](CpAlsIteration const& it) {
    CHECK(it.iteration == seen[it.start] + 1);
    seen[it.start] = it.iteration;
    return true;
  });
  for (int k = 0; k < 4; ++k) CHECK(seen[k] == all.restarts[static_cast<std::size_t>(k)].iterations);

  for (int const instances : {1, 2}) {
    auto const cut =
        best_of(instances, X, options_of(5), 4, [](CpAlsIteration const& it) { return it.iteration < 2; });
    CHECK(cut.restarts.size() <= static_cast<std::size_t>(instances));  // those that had begun
    for (auto const& run : cut.restarts) CHECK(run.reason == StopReason::interrupted);
    CHECK(cut.reason == StopReason::interrupted);
  }
}

/// `sorted`, but the runs whose numbers are in `broken` get NaN in their iteration `at`. A run is known by
/// its workspace: each makes one.
struct Breaking {
  using scalar_type = double;
  using index_type  = std::uint32_t;
  using space_type  = TestSpace;
  struct workspace_type {
    F::workspace_type inside;
    int run, calls;
  };
  struct options_type {};
  static constexpr char const* name = "breaking";

  F inside;
  std::vector<int> broken;
  int at;
  std::shared_ptr<int> runs = std::make_shared<int>(0);

  static Breaking build(TestSpace const& space, CooTensor<double, std::uint32_t, TestSpace> const& coo,
                        options_type const& = {}) {
    return {F::build(space, coo, {}), {}, 0};
  }
  [[nodiscard]] Extents const& extents() const { return inside.extents(); }
  [[nodiscard]] count_t nnz() const { return inside.nnz(); }
  [[nodiscard]] count_t storage_bytes() const { return inside.storage_bytes(); }
  [[nodiscard]] double norm_squared() const { return inside.norm_squared(); }
  [[nodiscard]] workspace_type make_workspace(TestSpace const& space, count_t rank) const {
    return {inside.make_workspace(space, rank), (*runs)++, 0};
  }
};
void mttkrp(TestSpace const& space, Breaking const& X, FactorMatrices<double, TestSpace> const& factors,
            int mode, Breaking::workspace_type& workspace, FactorMatrix<double, TestSpace> const& V) {
  mttkrp(space, X.inside, factors, mode, workspace.inside, V);
  bool const breaks = std::ranges::find(X.broken, workspace.run) != X.broken.end();
  if (breaks && workspace.calls++ / 3 + 1 == X.at)
    Kokkos::deep_copy(space, V, std::numeric_limits<double>::quiet_NaN());
}

TEST_CASE("restarts: a run that breaks down is reported, and the others continue", "[cp]") {
  TestSpace const space;
  F const X = planted(space);
  for (int const instances : {1, 3}) {
    CAPTURE(instances);
    Breaking const Y{X, {1, 4}, 3};
    auto const result = best_of(instances, Y, options_of(11), 6);
    auto const sound  = best_of(instances, X, options_of(11), 6);
    REQUIRE(result.restarts.size() == 6);
    double best = -1;
    for (std::size_t k = 0; k < 6; ++k) {
      auto const& run = result.restarts[k];
      CAPTURE(k, run.error);
      CHECK(run.seed == 11 + k);
      if (k == 1 || k == 4) {
        CHECK(run.error.find("iteration 3") != std::string::npos);
        CHECK(run.reason == StopReason::diverged);
        CHECK(run.iterations == 2);
        CHECK(run.fit == -std::numeric_limits<double>::infinity());
      } else {
        CHECK(run.error.empty());
        CHECK(std::abs(run.fit - sound.restarts[k].fit) < 1e-7);
        best = std::max(best, run.fit);
      }
    }
    CHECK(result.fit == best);
    CHECK(result.restarts[result.best_restart].fit == best);
  }
  // The first of all: there is no best run before it.
  Breaking const first{X, {0}, 1};
  auto const rest = cp_als(space, first, with_restarts(options_of(11), 2));
  CHECK(rest.best_restart == 1);
  CHECK_FALSE(rest.restarts[0].error.empty());
}

TEST_CASE("CP-ALS: a format whose nonzeros cannot be read back has the fit of a start, too", "[cp]") {
  TestSpace const space;
  F const X = planted(space);
  Breaking const Y{X, {}, 0};
  for (std::uint64_t seed = 0; seed < 3; ++seed) {
    CpAlsOptions const options{.rank = 5, .max_iterations = 0, .seed = seed};
    auto const exact = cp_als(space, X, options), formula = cp_als(space, Y, options);
    CHECK(std::abs(formula.fit - exact.fit) < 1e-12);
    CHECK(formula.fit_error < 1e-12);
  }
}

TEST_CASE("restarts: when all runs break down, the error names each", "[cp]") {
  TestSpace const space;
  Breaking const X{planted(space), {0, 1, 2}, 2};
  auto const message = message_of<NumericalError>(
      [&] { static_cast<void>(cp_als(space, X, with_restarts(options_of(7), 3))); });
  for (char const* const part : {"seed 7: ", "seed 8: ", "seed 9: ", "iteration 2"}) {
    CAPTURE(message, part);
    CHECK(message.find(part) != std::string::npos);
  }
}

TEST_CASE("restarts: a callback's own error ends all runs", "[cp]") {
  F const X        = planted(TestSpace());
  auto const fails = [](CpAlsIteration const& it) -> bool {
    if (it.start == 1) throw NumericalError("of the callback");
    return true;
  };
  CHECK(message_of<NumericalError>([&] { static_cast<void>(best_of(2, X, options_of(0), 3, fails)); }) ==
        "of the callback");
}

TEST_CASE("restarts: no starts, a given start and checkpoints are refused", "[cp]") {
  TestSpace const space;
  F const X = planted(space);
  CHECK_THROWS_AS(cp_als(space, X, with_restarts(options_of(0), 0)), UsageError);
  FactorMatrices<double, TestSpace> const start(space, X.extents(), 5);
  CHECK_THROWS_AS(cp_als(space, X, with_restarts(options_of(0), 2), start), UsageError);
  auto options       = with_restarts(options_of(0), 2);
  options.checkpoint = "c";
  CHECK_THROWS_AS(cp_als(space, X, options), UsageError);
}

}  // namespace
}  // namespace polyad::test
