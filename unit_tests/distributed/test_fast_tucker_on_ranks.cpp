// SPDX-License-Identifier: BSD-3-Clause
// FastTucker's als on as many ranks as the launcher starts, against one rank.
#include <cmath>
#include <new>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <vector>

#include "distributed/parts.hpp"
#include "distributed/shared_folder.hpp"
#include "distributed/world.hpp"
#include "polyad/fast_tucker/fast_tucker.hpp"
#include "polyad/io/checkpoint.hpp"
#include "polyad/testing/oracle.hpp"
#include "polyad/testing/small_tensors.hpp"
#include "support/catch.hpp"
#include "support/device_data.hpp"

namespace polyad::test {
namespace {

using testing::HostTensor;
using testing::Random;

template <class Scalar>
using Data = FastTuckerData<Scalar, std::uint32_t, TestSpace>;

/// This rank's part of a tensor, or the whole, on the device.
template <class Scalar>
CooTensor<Scalar, std::uint32_t, TestSpace> tensor_of(HostTensor const& tensor, Dealt dealt) {
  if (tensor.extents.empty()) return {};
  Part const part = part_of(tensor, dealt);
  return upload<Scalar, std::uint32_t>(TestSpace(), Extents(std::span<count_t const>(tensor.extents)),
                                       std::span<std::uint32_t const>(part.indices),
                                       std::span<double const>(part.values));
}

/// A training set, and sets that judge.
struct Sets {
  HostTensor train, validation, test;
  template <class Scalar>
  [[nodiscard]] Data<Scalar> data(Dealt dealt) const {
    Data<Scalar> data;
    data.train      = tensor_of<Scalar>(train, dealt);
    data.validation = tensor_of<Scalar>(validation, dealt);
    data.test       = tensor_of<Scalar>(test, dealt);
    return data;
  }
};

/// Values of a product model, with noise.
Sets random_sets(std::uint64_t seed, std::vector<std::uint64_t> const& extents, std::size_t nnz) {
  Random random(seed);
  auto const make = [&](std::size_t count) {
    auto tensor = testing::random_tensor(random, extents, count);
    for (std::size_t p = 0; p < count; ++p) {
      double product = 1;
      for (std::size_t n = 0; n < extents.size(); ++n)
        product *= (0.5 + static_cast<double>(tensor.indices[p * extents.size() + n] % 3)) / 1.5;
      tensor.values[p] = 3 + product + 0.1 * tensor.values[p];
    }
    return tensor;
  };
  auto train = make(nnz);
  return {train, {}, make(nnz / 5)};
}

/// A run on all ranks.
template <class Scalar>
FastTuckerResult<Scalar, TestSpace> on_ranks(Data<Scalar> const& parts, FastTuckerOptions const& options,
                                             FastTuckerCallback const& callback = {},
                                             AnyFormatOptions const& format     = {}) {
  return fast_tucker(TestSpace(), distribute(world(), parts), options, callback, format);
}

FastTuckerOptions options_of(count_t rank, std::vector<count_t> columns = {}) {
  FastTuckerOptions options;
  options.rank       = rank;
  options.columns    = columns;
  options.max_epochs = 4;
  options.shrinkage  = Shrinkage{5, 0.05, 100};
  options.seed       = 7;
  return options;
}

void expect_close(PredictionErrors const& here, PredictionErrors const& there, double tolerance) {
  CHECK(here.entries == there.entries);
  CHECK(std::abs(here.rmse - there.rmse) <= tolerance);
  CHECK(std::abs(here.mae - there.mae) <= tolerance);
}

template <class Scalar>
void expect_run_of_one_rank(Sets const& sets, FastTuckerOptions const& options,
                            Dealt dealt = Dealt::in_turn) {
  double const tolerance = sizeof(Scalar) == 4 ? 1e-6 : 1e-10;
  AnyFormatOptions format;
  format.format       = "sorted";
  auto const expected = fast_tucker(TestSpace(), sets.data<Scalar>(Dealt::whole), options, {}, format);
  // Several ranks take the same by themselves.
  auto const result =
      on_ranks(sets.data<Scalar>(dealt), options, {}, world().size() > 1 ? AnyFormatOptions{} : format);
  REQUIRE(result.history.size() == expected.history.size());
  for (std::size_t k = 0; k < result.history.size(); ++k) {
    INFO("epoch " << k + 1 << " on rank " << world().rank());
    expect_close(result.history[k].train, expected.history[k].train, tolerance);
    expect_close(result.history[k].validation, expected.history[k].validation, tolerance);
    expect_close(result.history[k].test, expected.history[k].test, tolerance);
  }
  expect_close(result.biases.train, expected.biases.train, tolerance);
  expect_close(result.errors.test, expected.errors.test, tolerance);
  CHECK(result.kept_epoch == expected.kept_epoch);
  CHECK(result.reason == expected.reason);
  CHECK(result.imbalance.nonzeros >= 1);
  CHECK(result.format.chosen == "sorted");
  if (world().rank() > 0) {
    CHECK(result.model.order() == 0);
    return;
  }
  REQUIRE(result.model.extents() == expected.model.extents());
  CHECK(result.model.mean == expected.model.mean);
  for (int n = 0; n < expected.model.order(); ++n) {
    CHECK(flat(result.model.bias(n)) == flat(expected.model.bias(n)));  // the same bits
    CHECK(flat(result.model.drift(n)) == flat(expected.model.drift(n)));
    REQUIRE(flat(result.model.A(n)).size() == flat(expected.model.A(n)).size());
  }
  // The model that rank 0 got gives the errors that all ranks reported.
  auto const test = tensor_of<Scalar>(sets.test, Dealt::whole);
  if (test.nnz() > 0 && result.kept_epoch > 0)
    expect_close(errors(TestSpace(), result.model, test), result.errors.test, tolerance);
}

}  // namespace

TEST_CASE("Errors of one rank at every epoch", "[mpi]") {
  std::vector<std::vector<std::uint64_t>> const extents{{40, 23}, {31, 17, 9}, {19, 13, 11, 5}};
  for (auto const& of : extents) {
    INFO("order " << of.size());
    auto const sets = random_sets(21 + of.size(), of, 700);
    for (count_t const rank : {3, 8}) {
      expect_run_of_one_rank<double>(sets, options_of(rank));
      expect_run_of_one_rank<float>(sets, options_of(rank));
    }
    expect_run_of_one_rank<double>(sets, options_of(4), Dealt::all_to_rank_0);
    // Fewer columns than R: the cores are stepped. More: they are orthogonal.
    expect_run_of_one_rank<double>(sets, options_of(5, {3}));
    expect_run_of_one_rank<float>(sets, options_of(5, {3}));
    expect_run_of_one_rank<double>(sets, options_of(4, {6}));
    expect_run_of_one_rank<double>(sets, options_of(33, {4}));  // beyond one pass of a residual sweep
  }
}

TEST_CASE("Ridges, targets, drift and values of any scale", "[mpi]") {
  auto const sets = random_sets(31, {25, 18, 12}, 800);
  auto ridge      = options_of(4);
  ridge.shrinkage.reset();
  ridge.ridge = 0.5;
  expect_run_of_one_rank<double>(sets, ridge);
  ridge.ridge_per_entry = true;
  ridge.update_cores    = false;
  expect_run_of_one_rank<double>(sets, ridge);

  auto targets    = options_of(4);
  targets.targets = {RowTarget::zero, RowTarget::one, RowTarget::left_out};
  expect_run_of_one_rank<double>(sets, targets);

  auto drift           = options_of(4);
  drift.bias.time_mode = 1;
  expect_run_of_one_rank<double>(sets, drift);

  auto bare   = options_of(4);
  bare.biases = false;
  expect_run_of_one_rank<double>(sets, bare);

  auto large = sets;
  for (auto* set : {&large.train, &large.test})
    for (auto& value : set->values) value *= std::ldexp(1.0, 40);
  auto const result = on_ranks(large.data<float>(Dealt::in_turn), options_of(4));
  auto const usual  = on_ranks(sets.data<float>(Dealt::in_turn), options_of(4));
  for (std::size_t k = 0; k < usual.history.size(); ++k)
    CHECK(std::abs(std::ldexp(result.history[k].test.rmse, -40) - usual.history[k].test.rmse) <= 1e-5);
}

TEST_CASE("Implicit feedback", "[mpi]") {
  for (auto const& extents : std::vector<std::vector<std::uint64_t>>{{40, 23}, {25, 18, 6}, {2, 30}}) {
    auto sets = random_sets(51 + extents.size(), extents, 300);  // some places occur twice
    for (auto* set : {&sets.train, &sets.test})
      for (double& x : set->values) x = std::floor(std::abs(x));
    FastTuckerOptions options;
    options.rank        = extents.size() == 3 ? 20 : 5;  // 20: by conjugate gradients
    options.implicit    = 4;
    options.ridge       = 1.5;
    options.max_epochs  = 4;
    auto const expected = fast_tucker(TestSpace(), sets.data<double>(Dealt::whole), options);
    for (Dealt const dealt : {Dealt::in_turn, Dealt::all_to_rank_0}) {
      auto const result = on_ranks(sets.data<double>(dealt), options);
      REQUIRE(result.history.size() == expected.history.size());
      for (std::size_t k = 0; k < result.history.size(); ++k) {
        double const there = *expected.history[k].objective;
        CHECK(std::abs(*result.history[k].objective - there) <= 1e-10 * there);
        expect_close(result.history[k].train, expected.history[k].train, 1e-10);
        expect_close(result.history[k].test, expected.history[k].test, 1e-10);
      }
    }
    auto negative                = sets;
    negative.train.values.back() = -1e6;  // on one rank, but all refuse it
    CHECK_THROWS_AS(on_ranks(negative.data<double>(Dealt::in_turn), options), UsageError);
  }
}

TEST_CASE("More ranks than rows, and rows without entries", "[mpi]") {
  expect_run_of_one_rank<double>(random_sets(41, {2, 9, 3}, 120), options_of(3));
  expect_run_of_one_rank<double>(random_sets(42, {2, 3}, 40), options_of(2));
  expect_run_of_one_rank<double>(random_sets(43, {2, 30, 1}, 200), options_of(4, {2}));
  // All entries in one row of each mode but the last, and modes drawn to one.
  HostTensor corner{"corner", {8, 7, 12}, {}, {}};
  for (std::uint64_t k = 0; k < 24; ++k) {
    corner.indices.insert(corner.indices.end(), {5, 0, k % 12});
    corner.values.push_back(static_cast<double>(k % 7));
  }
  auto options    = options_of(2);
  options.targets = {RowTarget::one, RowTarget::zero, RowTarget::zero};
  expect_run_of_one_rank<double>({corner, {}, {}}, options);
  expect_run_of_one_rank<double>({corner, {}, {}}, options, Dealt::all_to_rank_0);
}

TEST_CASE("The validation set ends the run, and the best epoch is kept", "[mpi]") {
  auto sets          = random_sets(51, {12, 10, 8}, 90);
  sets.validation    = random_sets(52, {12, 10, 8}, 60).train;
  auto options       = options_of(6);
  options.max_epochs = 40;
  options.patience   = 2;
  for (double const observations : {0.01, 3.0}) {  // the first learns noise
    options.shrinkage = Shrinkage{observations, 0, 0};
    expect_run_of_one_rank<double>(sets, options);
  }
}

TEST_CASE("Rank 0 chooses for all", "[mpi]") {
  auto const choose = [](Sets const& sets, int time_mode) {
    FastTuckerOptions options;
    options.max_epochs     = 8;
    options.bias.time_mode = time_mode;
    AnyFormatOptions format;
    format.format       = "sorted";
    auto const expected = fast_tucker(TestSpace(), sets.data<double>(Dealt::whole), options, {}, format);
    auto const result   = on_ranks(sets.data<double>(Dealt::in_turn), options, {}, format);
    REQUIRE(expected.choice);
    REQUIRE(result.choice);
    auto const &ours = result.choice->options, &other = expected.choice->options;
    CHECK(ours.rank == other.rank);
    CHECK(ours.columns == other.columns);
    CHECK(ours.targets == other.targets);
    CHECK(ours.max_epochs == other.max_epochs);
    CHECK(ours.ridge_per_entry == other.ridge_per_entry);
    REQUIRE(ours.shrinkage.has_value() == other.shrinkage.has_value());
    if (ours.shrinkage) CHECK(ours.shrinkage->observations == other.shrinkage->observations);
    REQUIRE(ours.bias.drift.size() == other.bias.drift.size());
    for (std::size_t n = 0; n < ours.bias.drift.size(); ++n)
      CHECK(ours.bias.drift[n].bins == other.bias.drift[n].bins);
    CHECK(result.choice->candidates == expected.choice->candidates);
    CHECK(result.choice->learns == expected.choice->learns);
    expect_close(result.choice->model, expected.choice->model, 1e-8);
    expect_close(result.choice->biases, expected.choice->biases, 1e-8);
    REQUIRE(result.history.size() == expected.history.size());
    for (std::size_t k = 0; k < result.history.size(); ++k)
      expect_close(result.history[k].test, expected.history[k].test, 1e-8);
    expect_close(result.biases.test, expected.biases.test, 1e-10);
    if (world().rank() == 0)
      CHECK(result.model.extents() == expected.model.extents());
    else
      CHECK(result.model.order() == 0);
    return result.choice->learns;
  };
  CHECK(choose(random_sets(91, {60, 40, 7}, 4000), -1));
  CHECK(choose(random_sets(92, {50, 30, 20}, 3000), 2));
  // Nothing but noise: mean and biases are the model.
  Random random(93);
  auto const noise = testing::random_tensor(random, {60, 40}, 1500);
  CHECK_FALSE(choose({noise, {}, noise}, -1));
}

TEST_CASE("All ranks throw what rank 0's search throws", "[mpi]") {
  if (world().size() == 1) return;
  auto const sets = random_sets(95, {60, 40, 7}, 4000);
  auto const data = sets.data<double>(Dealt::in_turn);
  // Rank 0 alone builds formats of the entries that it searches.
  auto const search_throws = [&](auto const& fail) {
    AnyFormatOptions format;
    format.hooks.progress = [&](char const*) {
      if (world().rank() == 0) fail();
    };
    static_cast<void>(on_ranks(data, FastTuckerOptions{}, {}, format));
  };
  auto const text_of = [&](auto identity, auto const& fail) -> std::string {
    using Expected = typename decltype(identity)::type;
    try {
      search_throws(fail);
    } catch (Expected const& error) {
      return error.what();
    }
    return "nothing was thrown";
  };
  CHECK(text_of(std::type_identity<UsageError>{}, [] { throw UsageError("no \xC3\xA4pples"); }) ==
        "no \xC3\xA4pples");
  CHECK(text_of(std::type_identity<NumericalError>{}, [] { throw NumericalError("not finite"); }) ==
        "not finite");
  CHECK(text_of(std::type_identity<BackendError>{}, [] { throw BackendError("no device"); }) == "no device");
  CHECK(text_of(std::type_identity<std::runtime_error>{}, [] { throw std::runtime_error("a signal"); }) ==
        "a signal");
  CHECK_THROWS_AS(search_throws([] { throw std::bad_alloc(); }), std::bad_alloc);
  CHECK_THROWS_AS(search_throws([] { throw std::logic_error("this"); }), std::exception);
  try {
    search_throws([] { throw MemoryError("the candidates", 123456789012, "only 7 are free"); });
    CHECK(false);
  } catch (MemoryError const& error) {
    CHECK(error.array() == "the candidates");
    CHECK(error.bytes() == 123456789012);
    CHECK(std::string(error.what()) == "the candidates needs 123456789012 bytes: only 7 are free");
  }
  try {
    search_throws([] { throw InputError("x.tns", 3, 4, "is odd"); });
    CHECK(false);
  } catch (Error const& error) {
    CHECK(error.exit_code() == ExitCode::bad_input);
    CHECK(std::string(error.what()) == "x.tns:3:4: is odd");
  }
  // The ranks are in step afterwards.
  CHECK(on_ranks(data, options_of(2)).history.size() == 4);
}

TEST_CASE("Words that FastTucker sends are those of the formula", "[mpi]") {
  auto const sets  = random_sets(61, {50, 41, 12}, 900);
  auto const ranks = static_cast<double>(world().size());
  auto const sent  = [&](FastTuckerOptions const& options) {
    std::vector<double> after;
    static_cast<void>(on_ranks(sets.data<double>(Dealt::in_turn), options, [&](FastTuckerEpoch const&) {
      after.push_back(words_of_all());
      return true;
    }));
    return after;
  };
  auto const reduced = [&](count_t count) {
    return ranks * 2 * static_cast<double>(count - count / static_cast<count_t>(world().size()));
  };
  // R = 4 and J = 2 are whole rows of 16 bytes. The rows of C^(n), and R sums of squares a mode.
  double const rows = (ranks - 1) * 4 * (50 + 41 + 12);
  auto const words  = sent(options_of(4));
  CHECK(words[2] - words[1] == (ranks == 1 ? 0 : rows + 3 * reduced(4)));
  CHECK(words[3] - words[2] == words[2] - words[1]);
  // Steps of the cores add two J x R matrices a mode.
  auto const stepped = sent(options_of(4, {2}));
  CHECK(stepped[3] - stepped[2] == (ranks == 1 ? 0 : rows + 3 * (reduced(4) + 2 * reduced(2 * 4))));
}

TEST_CASE("One rank's callback ends the epochs on all", "[mpi]") {
  auto const sets    = random_sets(71, {9, 8, 7}, 200);
  auto options       = options_of(2);
  options.max_epochs = 50;
  int const last     = world().size() - 1;
  auto const result = on_ranks(sets.data<double>(Dealt::in_turn), options, [&](FastTuckerEpoch const& epoch) {
    return epoch.epoch < 3 || world().rank() != last;
  });
  CHECK(result.history.size() == 3);
  CHECK(result.reason == StopReason::interrupted);
}

TEST_CASE("FastTucker: ranks write and resume checkpoints", "[mpi]") {
  auto sets           = random_sets(61, {19, 13, 11}, 700);
  sets.validation     = random_sets(62, {19, 13, 11}, 100).train;
  auto options        = options_of(4, {3});  // the cores are stepped
  options.max_epochs  = 6;
  options.patience    = 6;
  auto const data     = sets.data<double>(Dealt::in_turn);
  auto const unbroken = on_ranks(data, options);
  SharedFolder const folder;
  auto cut             = options;
  cut.checkpoint       = folder / "c";
  cut.checkpoint_every = 100;
  int const last       = world().size() - 1;
  auto const begun     = on_ranks(
      data, cut, [&](FastTuckerEpoch const& epoch) { return epoch.epoch < 3 || world().rank() != last; });
  CHECK(begun.reason == StopReason::interrupted);
  CHECK(begun.checkpoints == 1);
  options.resume     = folder / "c";
  auto const resumed = on_ranks(sets.data<double>(Dealt::all_to_rank_0), options);
  REQUIRE(resumed.history.size() == 3);
  for (std::size_t k = 0; k < 3; ++k) {
    CHECK(resumed.history[k].epoch == static_cast<int>(k) + 4);
    expect_close(resumed.history[k].train, unbroken.history[k + 3].train, 1e-10);
    expect_close(resumed.history[k].test, unbroken.history[k + 3].test, 1e-10);
  }
  CHECK(resumed.kept_epoch == unbroken.kept_epoch);
  expect_close(resumed.errors.validation, unbroken.errors.validation, 1e-10);
  // One rank continues what many began.
  if (world().rank() == 0) {
    AnyFormatOptions format;
    format.format    = io::read_fast_tucker_checkpoint(options.resume).format;
    auto const alone = fast_tucker(TestSpace(), sets.data<double>(Dealt::whole), options, {}, format);
    REQUIRE(alone.history.size() == 3);
    expect_close(alone.history.back().test, unbroken.history.back().test, 1e-10);
  }
  auto other = options;
  other.seed = 9;
  CHECK_THROWS_AS(on_ranks(data, other), InputError);  // on all
  other        = options;
  other.resume = folder / "none";
  CHECK_THROWS_AS(on_ranks(data, other), InputError);
  other            = options_of(4);
  other.checkpoint = folder / "no" / "folder";
  CHECK_THROWS_AS(on_ranks(data, other), WriteError);
}

TEST_CASE("FastTucker: a search is resumed from its choice", "[mpi]") {
  auto const data = random_sets(91, {60, 40, 7}, 4000).data<double>(Dealt::in_turn);
  SharedFolder const folder;
  FastTuckerOptions options;
  options.max_epochs = 4;
  options.checkpoint = folder / "c";
  auto const whole   = on_ranks(data, options);
  REQUIRE(whole.choice);
  static_cast<void>(on_ranks(data, options, [](FastTuckerEpoch const& epoch) { return epoch.epoch < 1; }));
  options.resume  = options.checkpoint;
  auto const rest = on_ranks(data, options);
  REQUIRE(rest.choice);
  CHECK(rest.choice->options.targets == whole.choice->options.targets);
  CHECK(rest.choice->candidates == whole.choice->candidates);
  REQUIRE(rest.history.size() == 3);
  expect_close(rest.history.back().train, whole.history.back().train, 1e-10);
}

TEST_CASE("What FastTucker leaves out on ranks is refused alike", "[mpi]") {
  if (world().size() == 1) return;
  auto const data   = random_sets(81, {5, 4}, 30).data<double>(Dealt::in_turn);
  auto options      = options_of(2);
  options.optimizer = FastTuckerOptimizer::adam;
  CHECK_THROWS_AS(on_ranks(data, options), UsageError);
  HostTensor const nothing{"nothing", {6, 5, 4}, {}, {}};
  CHECK_THROWS_AS(on_ranks(Sets{nothing, {}, {}}.data<double>(Dealt::in_turn), options_of(2)), UsageError);
}

}  // namespace polyad::test
