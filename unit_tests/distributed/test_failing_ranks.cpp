// SPDX-License-Identifier: BSD-3-Clause
// One rank that lacks memory, or the first one that cannot write: all ranks end with a typed error.
#include <cstdint>
#include <filesystem>
#include <optional>
#include <vector>

#include "distributed/parts.hpp"
#include "distributed/shared_folder.hpp"
#include "distributed/world.hpp"
#include "polyad/core/device_memory.hpp"
#include "polyad/cp/cp_als.hpp"
#include "polyad/distributed/distribute.hpp"
#include "polyad/fast_tucker/fast_tucker.hpp"
#include "polyad/testing/small_tensors.hpp"
#include "polyad/tucker/tucker.hpp"
#include "support/catch.hpp"
#include "support/device_data.hpp"

namespace polyad::test {
namespace {

/// Some nonzeros of a tensor whose factors and formats need more than the 64 KiB that are not checked.
struct SparsePart {
  Extents extents{600, 500, 400};
  std::vector<std::uint32_t> indices;
  std::vector<double> values;

  SparsePart() {
    testing::Random random(5);
    auto const tensor = testing::random_tensor(random, {600, 500, 400}, 12000);
    Part const part   = part_of(tensor, Dealt::in_turn);
    indices           = part.indices;
    values            = part.values;
  }
  [[nodiscard]] std::span<std::uint32_t const> places() const { return indices; }
};

/// Calls `run` with more and more memory on the last rank, until it is enough. Before that all ranks throw an
/// error of ours.
template <class F>
void expect_all_end(F const& run) {
  int failures   = 0;
  bool has_ended = false;
  for (count_t limit = count_t(1) << 17; !has_ended; limit *= 2) {
    INFO("a limit of " << limit << " bytes on the last rank");
    REQUIRE(limit < count_t(1) << 32);
    double threw = 0;
    {
      std::optional<DeviceMemoryAccount> account;
      if (world().rank() + 1 == world().size()) account.emplace(limit);
      try {
        run();
      } catch (Error const&) {
        threw = 1;
      }
    }
    world().host().all_reduce(&threw, 1);
    CHECK((threw == 0 || threw == world().size()));
    has_ended = threw == 0;
    failures += has_ended ? 0 : 1;
  }
  CHECK(failures > 0);
}

CpAlsOptions cp_options() {
  CpAlsOptions options;
  options.rank           = 32;
  options.max_iterations = 2;
  return options;
}

CpAlsResult<double, TestSpace> run_cp(SparsePart const& part, CpAlsOptions const& options) {
  auto const share = distribute<double>(world(), part.extents, part.places(),
                                        std::span<double const>(part.values), {.rank = options.rank});
  return cp_als(TestSpace(), tensor_by_rank(world(), share, format_options(options)), options);
}

TuckerOptions tucker_options() {
  TuckerOptions options;
  options.ranks          = {8, 8, 8};
  options.max_iterations = 2;
  return options;
}

TuckerResult<double, TestSpace> run_tucker(SparsePart const& part, TuckerOptions const& options) {
  auto const X =
      distribute_rows<double>(world(), part.extents, part.places(), std::span<double const>(part.values),
                              format_options(options), options.ranks);
  return tucker(TestSpace(), X, options);
}

FastTuckerOptions completion_options() {
  FastTuckerOptions options;
  options.rank        = 16;
  options.shrinkage   = Shrinkage{};
  options.max_epochs  = 1;
  options.bias.sweeps = 1;
  return options;
}

FastTuckerResult<double, TestSpace> run_completion(SparsePart const& part, FastTuckerOptions const& options) {
  FastTuckerData<double, std::uint32_t, TestSpace> data;
  {
    DeviceMemoryAccount::HostArrays const given;  // what a program has before the run
    data.train = upload<double, std::uint32_t>(TestSpace(), part.extents, part.places(),
                                               std::span<double const>(part.values));
  }
  return fast_tucker(TestSpace(), distribute(world(), data), options);
}

}  // namespace

TEST_CASE("All ranks throw if one lacks memory for CP-ALS", "[mpi]") {
  SparsePart const part;
  expect_all_end([&] { static_cast<void>(run_cp(part, cp_options())); });
}

TEST_CASE("All ranks throw if one lacks memory for Tucker", "[mpi]") {
  SparsePart const part;
  expect_all_end([&] { static_cast<void>(run_tucker(part, tucker_options())); });
}

TEST_CASE("All ranks throw if one lacks memory for FastTucker", "[mpi]") {
  SparsePart const part;
  expect_all_end([&] { static_cast<void>(run_completion(part, completion_options())); });
  // With a search, for which the first rank has all entries.
  auto searching = completion_options();
  searching.shrinkage.reset();
  searching.rank = 2;
  expect_all_end([&] { static_cast<void>(run_completion(part, searching)); });
}

TEST_CASE("All ranks throw if the first cannot write a checkpoint", "[mpi]") {
  SparsePart const part;
  SharedFolder const folder;
  auto const nowhere = folder / "nowhere" / "c";
  auto cp            = cp_options();
  cp.checkpoint      = nowhere;
  CHECK_THROWS_AS(run_cp(part, cp), WriteError);
  auto hooi       = tucker_options();
  hooi.checkpoint = nowhere;
  CHECK_THROWS_AS(run_tucker(part, hooi), WriteError);
  auto completion       = completion_options();
  completion.checkpoint = nowhere;
  CHECK_THROWS_AS(run_completion(part, completion), WriteError);
  // The ranks are in step afterwards.
  CHECK(run_cp(part, cp_options()).history.size() == 2);
}

}  // namespace polyad::test
