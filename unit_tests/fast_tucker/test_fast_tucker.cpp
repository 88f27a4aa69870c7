// SPDX-License-Identifier: BSD-3-Clause
// fast_tucker as a whole: planted models are recovered, runs are repeatable, and a run that goes wrong ends
// well.
#include "polyad/fast_tucker/fast_tucker.hpp"

#include <Kokkos_Core.hpp>
#include <cmath>
#include <vector>

#include "fast_tucker/best_length.hpp"
#include "fast_tucker/optimizers/core_step.hpp"
#include "fast_tucker/planted.hpp"
#include "formats/coo/storage/sorted.hpp"
#include "io/temporary_folder.hpp"
#include "polyad/io/checkpoint.hpp"
#include "polyad/testing/small_tensors.hpp"
#include "support/catch.hpp"
#include "support/instances.hpp"

namespace polyad::test {
namespace {

using Format = Sorted<double, std::uint32_t, TestSpace>;

auto const any_epoch = [](FastTuckerEpoch const&) { return true; };

TEST_CASE("als recovers planted models of orders 3 to 6", "[fast_tucker][figures]") {
  TestSpace const space;
  for (std::size_t const order : {3, 4, 5, 6}) {
    auto const data  = planted_entries(order, 14, 4000 * order);
    auto const train = to_device<double, std::uint32_t>(space, data.train);
    auto const held  = to_device<double, std::uint32_t>(space, data.held_out);
    auto const X     = Format::build(space, train, {});
    FastTuckerOptions options;
    options.ridge      = 1e-6;
    options.max_epochs = 60;
    // Twice the columns and components that are needed: an update of few unknowns can be caught between two
    // optima.
    auto const model  = start(space, data.train, 4, 4, data.deviation);
    auto const result = fit_to(space, X, {train, held, {}}, options, model, any_epoch);
    CAPTURE(order, data.deviation);
    REQUIRE(result.history.size() == 60);
    CHECK(result.history.back().train.rmse < 0.01 * data.deviation);
    CHECK(result.history.back().validation.rmse < 0.02 * data.deviation);
  }
}

TEST_CASE("adam descends, and recovers a planted model", "[fast_tucker]") {
  TestSpace const space;
  auto const data  = planted_entries(3, 12, 5000);
  auto const train = to_device<double, std::uint32_t>(space, data.train);
  auto const held  = to_device<double, std::uint32_t>(space, data.held_out);
  auto const X     = Format::build(space, train, {});
  FastTuckerOptions options;
  options.optimizer  = FastTuckerOptimizer::adam;
  options.ridge      = 0;
  options.adam.step  = 0.005;  // with larger ones some starts diverge
  options.max_epochs = 3000;
  auto const model   = start(space, data.train, 4, 4, data.deviation, 2);
  auto const result  = fit_to(space, X, {train, held, {}}, options, model, any_epoch);
  REQUIRE(result.history.size() == 3000);
  CHECK(result.history.back().train.rmse < 0.01 * data.deviation);
  CHECK(result.history.back().validation.rmse < 0.02 * data.deviation);
}

TEST_CASE("a step for the cores alone lowers the loss, as far as it can along its direction",
          "[fast_tucker]") {
  TestSpace const space;
  auto const data  = planted_entries(3, 12, 3000);
  auto const train = to_device<double, std::uint32_t>(space, data.train);
  auto const X     = Format::build(space, train, {});
  auto const model = start(space, data.train, 3, 4, data.deviation);
  auto const C     = make_intermediates(space, model);
  auto workspace   = make_residual_workspace(space, X, 4);
  auto const G     = make_factor_matrix<double>(space, "polyad::test", 12, 4);
  auto const sums  = make_error_sums(space, train.nnz());
  auto const loss  = [&] {
    double const rmse = errors(space, model, make_intermediates(space, model), train, sums).rmse;
    return rmse * rmse;
  };
  expect_best_length(space, model.B(1), loss, [&] {
    core_step(space, X, model, 1, 0.0, C, workspace, CoreStepWorkspace<double, TestSpace>(space, model, 1), G,
              {}, detail::RowDistribution<double, TestSpace>(space, model.extents()));
  });
}

TEST_CASE("a run on sorted, deterministic, has the same bits for any number of threads", "[fast_tucker]") {
  auto const data = planted_entries(3, 14, 6000);
  for (auto const optimizer : {FastTuckerOptimizer::als, FastTuckerOptimizer::adam}) {
    std::vector<double> first;
    for (auto const& space : instances_of<TestSpace>({1, 2, 5})) {
      auto const train = to_device<double, std::uint32_t>(TestSpace(), data.train);
      auto const X     = Format::build(space, train, {.deterministic = true});
      FastTuckerOptions options;
      options.optimizer  = optimizer;
      options.max_epochs = 3;
      auto const model   = start(space, data.train, 3, 5, data.deviation);
      space.fence("polyad::test");
      auto const result = fit_to(space, X, {train, {}, {}}, options, model, any_epoch);
      auto bits         = flat(result.model.A(2));
      bits.push_back(result.history.back().train.rmse);
      if (first.empty()) first = bits;
      CHECK(bits == first);
    }
  }
}

TEST_CASE("a learning rate that is too large ends the run with the last sound model", "[fast_tucker]") {
  TestSpace const space;
  auto const data  = planted_entries(3, 12, 2000);
  auto const train = to_device<double, std::uint32_t>(space, data.train);
  auto const X     = Format::build(space, train, {});
  FastTuckerOptions options;
  options.optimizer = FastTuckerOptimizer::adam;
  options.adam.step = 1e6;
  auto const model  = start(space, data.train, 3, 4, data.deviation);
  auto const before = flat(model.A(0));
  auto const result = fit_to(space, X, {train, {}, {}}, options, model, any_epoch);
  CHECK(result.reason == StopReason::diverged);
  CHECK(result.history.empty());
  CHECK(result.kept_epoch == 0);
  CHECK(flat(result.model.A(0)) == before);
}

TEST_CASE("with patience the best epoch on held-out entries is kept", "[fast_tucker]") {
  TestSpace const space;
  auto data = planted_entries(3, 14, 700);
  Random random(1);
  for (auto* tensor : {&data.train, &data.held_out})  // noise, which a model of that size learns by heart
    for (double& x : tensor->values) x += data.deviation * random_number(random);
  auto const train = to_device<double, std::uint32_t>(space, data.train);
  auto const held  = to_device<double, std::uint32_t>(space, data.held_out);
  auto const X     = Format::build(space, train, {});
  FastTuckerOptions options;
  options.ridge      = 0.01;
  options.patience   = 3;
  options.max_epochs = 200;
  auto const model   = start(space, data.train, 8, 8, data.deviation);
  auto const result  = fit_to(space, X, {train, held, {}}, options, model, any_epoch);
  REQUIRE(result.reason == StopReason::early_stop);
  REQUIRE(result.history.size() == static_cast<std::size_t>(result.kept_epoch + 3));
  double best = result.history[0].validation.rmse;
  for (auto const& epoch : result.history) best = std::min(best, epoch.validation.rmse);
  auto const& kept = result.history[static_cast<std::size_t>(result.kept_epoch - 1)];
  CHECK(kept.validation.rmse == best);
  auto const C = make_intermediates(space, result.model);
  CHECK(errors(space, result.model, C, held, make_error_sums(space, held.nnz())).rmse == best);
}

TEST_CASE("where no epoch is better than mean and biases, these are kept", "[fast_tucker]") {
  TestSpace const space;
  Random random(9);
  auto const noise = random_tensor(random, {20, 20, 20}, 300);  // nothing to learn
  auto const other = random_tensor(random, {20, 20, 20}, 300);
  auto const train = to_device<double, std::uint32_t>(space, noise);
  auto const held  = to_device<double, std::uint32_t>(space, other);
  auto const X     = Format::build(space, train, {});
  FastTuckerOptions options;
  options.ridge     = 1e-3;
  options.patience  = 2;
  auto const model  = start(space, noise, 8, 8, 1.0);
  auto const result = fit_to(space, X, {train, held, {}}, options, model, any_epoch);
  REQUIRE(result.reason == StopReason::early_stop);
  CHECK(result.kept_epoch == 0);
  CHECK(result.history.size() == 2);
  for (double const a : flat(result.model.A(0))) REQUIRE(a == 0);
}

TEST_CASE("runs that cannot start are refused, and a callback ends one", "[fast_tucker]") {
  TestSpace const space;
  auto const data  = planted_entries(3, 12, 500);
  auto const train = to_device<double, std::uint32_t>(space, data.train);
  auto const X     = Format::build(space, train, {});
  auto const model = start(space, data.train, 3, 4, data.deviation);
  auto const run   = [&](FastTuckerOptions const& options) {
    return fit_to(space, X, {train, {}, {}}, options, model, [](FastTuckerEpoch const&) { return false; });
  };
  auto const result = run({});
  CHECK(result.reason == StopReason::interrupted);
  CHECK(result.history.size() == 1);
  CHECK(result.history[0].validation.entries == 0);
  auto const refused = [&](auto const& change) {
    FastTuckerOptions options;
    change(options);
    CHECK_THROWS_AS(run(options), UsageError);
  };
  refused([](auto& options) { options.ridge = -1; });
  refused([](auto& options) { options.shrinkage = Shrinkage{.observations = -1}; });
  refused([](auto& options) { options.shrinkage = Shrinkage{.share = -1}; });
  refused([](auto& options) { options.shrinkage = Shrinkage{.to_one = -1}; });
  refused([](auto& options) { options.targets = {RowTarget::zero}; });
  refused([](auto& options) { options.adam.step = 0; });
  refused([](auto& options) {
    options.optimizer       = FastTuckerOptimizer::adam;
    options.ridge_per_entry = true;
  });
  auto const empty =
      Format::build(space, make_coo_tensor<double, std::uint32_t>(space, train.extents(), 0), {});
  CHECK_THROWS_AS(fit_to(space, empty, {}, {}, model, any_epoch), UsageError);
}

TEST_CASE("starts are signed, of the deviation asked for, and the same for one seed", "[fast_tucker]") {
  TestSpace const space;
  HostTensor X;
  X.extents        = {500, 400, 300};
  auto const model = start(space, X, 8, 16, 5.0);
  CHECK(flat(start(space, X, 8, 16, 5.0).A(1)) == flat(model.A(1)));
  CHECK(flat(start(space, X, 8, 16, 5.0, 1).A(1)) != flat(model.A(1)));
  Random random(2);
  HostTensor const places = random_tensor(random, X.extents, 20000);
  auto const coo          = to_device<double, std::uint32_t>(space, places);
  Kokkos::View<double*, TestSpace::device_type> const predictions("predictions", coo.nnz());
  predict(space, model, make_intermediates(space, model), coo, predictions);
  double squares = 0;
  for (double const x : flat(predictions)) squares += x * x;
  double const deviation = std::sqrt(squares / static_cast<double>(coo.nnz()));
  CHECK(deviation > 0.3);  // 0.5 is meant; the cores' own chance lets it vary
  CHECK(deviation < 0.8);
}

// ---- states

template <class Scalar>
void expect_goes_on(FastTuckerOptions options) {
  TestSpace const space;
  auto const data = planted_entries(3, 12, 2000);
  FastTuckerData<Scalar, std::uint32_t, TestSpace> const sets{
      to_device<Scalar, std::uint32_t>(space, data.train),
      to_device<Scalar, std::uint32_t>(space, data.held_out)};
  AnyFormatOptions format;
  format.format        = "sorted:copies";
  format.deterministic = true;
  TemporaryFolder const folder;
  options.checkpoint       = folder / "whole";
  options.checkpoint_every = 2;
  options.max_epochs       = 5;
  auto const run           = [&](FastTuckerOptions const& of, FastTuckerCallback const& callback = {}) {
    return fast_tucker(space, sets, of, callback, format);
  };
  auto const whole  = run(options);
  bool const chosen = whole.choice.has_value();
  CHECK(whole.checkpoints == (chosen ? 4 : 3));
  auto const last = io::read_fast_tucker_checkpoint(options.checkpoint);
  CHECK(last.epoch == 5);
  // From an epoch in the middle, and from the end. What is chosen depends on how many epochs there may be, so
  // the callback ends the run.
  for (int const epochs : {2, 3, 5}) {
    auto part       = options;
    part.checkpoint = folder / "part";
    CHECK(run(part, [&](FastTuckerEpoch const& epoch) { return epoch.epoch < epochs; }).checkpoints > 0);
    part.resume     = part.checkpoint;
    auto const rest = run(part);
    CHECK(rest.history.size() == static_cast<std::size_t>(5 - epochs));
    CHECK(rest.kept_epoch == whole.kept_epoch);
    CHECK(rest.errors.validation.rmse == whole.errors.validation.rmse);
    auto state     = io::read_fast_tucker_checkpoint(part.checkpoint);
    state.file     = last.file;
    state.choice_s = last.choice_s;
    CHECK(state == last);
    for (int n = 0; n < 3; ++n)
      CHECK(to_host<Scalar>(space, rest.model.A(n)) == to_host<Scalar>(space, whole.model.A(n)));
    CHECK(rest.choice.has_value() == chosen);
    CHECK(rest.format.chosen == whole.format.chosen);
  }
  // Other options, other entries, another format, and no checkpoint at all.
  options.resume = options.checkpoint;
  auto other     = options;
  other.seed     = 9;
  CHECK_THROWS_AS(run(other), InputError);
  auto const few = planted_entries(3, 12, 1999);
  CHECK_THROWS_AS(fast_tucker(space,
                              FastTuckerData<Scalar, std::uint32_t, TestSpace>{
                                  to_device<Scalar, std::uint32_t>(space, few.train),
                                  to_device<Scalar, std::uint32_t>(space, data.held_out)},
                              options, FastTuckerCallback{}, format),
                  InputError);
  auto hashed   = format;
  hashed.format = "coo-permuted";
  CHECK_THROWS_AS(fast_tucker(space, sets, options, FastTuckerCallback{}, hashed), Error);
  other        = options;
  other.resume = folder / "none";
  CHECK_THROWS_AS(run(other), InputError);
  other                  = options;
  other.checkpoint_every = 0;
  CHECK_THROWS_AS(run(other), UsageError);
}

TEST_CASE("a run continues from its state to the same bits", "[fast_tucker]") {
  FastTuckerOptions options;
  options.rank      = 3;
  options.shrinkage = Shrinkage{};
  expect_goes_on<float>(options);
  options.columns  = {2};
  options.patience = 5;
  expect_goes_on<double>(options);
  options.optimizer = FastTuckerOptimizer::adam;
  options.shrinkage.reset();
  expect_goes_on<float>(options);
  FastTuckerOptions chosen;
  chosen.rank = 2;
  expect_goes_on<double>(chosen);
}

}  // namespace
}  // namespace polyad::test
