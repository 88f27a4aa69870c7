// SPDX-License-Identifier: BSD-3-Clause
// Tucker on as many ranks as the launcher starts, against one rank.
#include <algorithm>
#include <cmath>
#include <numeric>
#include <string>
#include <vector>

#include "distributed/parts.hpp"
#include "distributed/shared_folder.hpp"
#include "distributed/world.hpp"
#include "polyad/distributed/distribute.hpp"
#include "polyad/tensor/sum_duplicates.hpp"
#include "polyad/testing/oracle.hpp"
#include "polyad/testing/small_tensors.hpp"
#include "polyad/tucker/tucker.hpp"
#include "support/catch.hpp"
#include "support/device_data.hpp"
#include "support/host_models.hpp"

namespace polyad::test {
namespace {

using testing::HostTensor;
using testing::Random;

TuckerOptions options_of(std::vector<count_t> ranks, int iterations = 5) {
  TuckerOptions options;
  options.ranks          = std::move(ranks);
  options.max_iterations = iterations;
  options.tolerance      = 0;
  options.seed           = 3;
  return options;
}

template <class Scalar>
TensorByRank<Scalar, TestSpace> divided(HostTensor const& tensor, TuckerOptions const& options,
                                        Dealt dealt = Dealt::in_turn) {
  auto const part = part_of(tensor, dealt);
  return distribute_rows<Scalar>(world(), Extents(std::span<count_t const>(tensor.extents)),
                                 std::span<std::uint32_t const>(part.indices),
                                 std::span<double const>(part.values), format_options(options),
                                 options.ranks);
}

template <class Scalar>
TuckerResult<Scalar, TestSpace> on_ranks(HostTensor const& tensor, TuckerOptions const& options,
                                         Dealt dealt = Dealt::in_turn, TuckerCallback const& callback = {}) {
  return tucker(TestSpace(), divided<Scalar>(tensor, options, dealt), options, callback);
}

/// The largest entry of A A' - B B'.
double projectors_differ(std::vector<double> const& A, std::vector<double> const& B, std::size_t columns) {
  double worst           = 0;
  std::size_t const rows = A.size() / columns;
  for (std::size_t i = 0; i < rows; ++i)
    for (std::size_t j = 0; j < rows; ++j) {
      double sum = 0;
      for (std::size_t c = 0; c < columns; ++c)
        sum += A[i * columns + c] * A[j * columns + c] - B[i * columns + c] * B[j * columns + c];
      worst = std::max(worst, std::abs(sum));
    }
  return worst;
}

/// \param unique  whether the leading subspaces are: then the factors must span them
template <class Scalar>
void expect_run_of_one_rank(HostTensor const& tensor, TuckerOptions const& options, double tolerance,
                            Dealt dealt = Dealt::in_turn, bool unique = true) {
  TestSpace const space;
  auto const part   = part_of(tensor, Dealt::whole);
  auto const summed = sum_duplicates(
      space, upload<Scalar, std::uint32_t>(space, Extents(std::span<count_t const>(tensor.extents)),
                                           std::span<std::uint32_t const>(part.indices),
                                           std::span<double const>(part.values)));
  auto const expected = tucker(space, summed.tensor, options);
  auto const X        = divided<Scalar>(tensor, options, dealt);
  auto const result   = tucker(space, X, options);
  REQUIRE(result.history.size() == expected.history.size());
  for (std::size_t k = 0; k < result.history.size(); ++k) {
    INFO("iteration " << k + 1 << " on rank " << world().rank());
    CHECK(std::abs(result.history[k].fit - expected.history[k].fit) <= tolerance);
    CHECK(result.history[k].iteration == expected.history[k].iteration);
  }
  CHECK(std::abs(result.fit - expected.fit) <= tolerance);
  CHECK(std::abs(result.fit - oracle_fit(scaled_to<Scalar>(tensor, 1), on_host(result.model))) <
        (sizeof(Scalar) == 4 ? 1e-6 : 1e-12));
  CHECK(result.reason == expected.reason);
  CHECK(X.nnz() == summed.tensor.nnz());
  CHECK(X.duplicates() == summed.duplicates);
  CHECK(X.chosen() == "f-coo");
  CHECK(X.imbalance().nonzeros >= 1);
  // All ranks have the whole model.
  REQUIRE(result.model.factors.size() == expected.model.factors.size());
  for (std::size_t n = 0; n < expected.model.factors.size(); ++n) {
    auto const ours = flat(result.model.factors[n]), other = flat(expected.model.factors[n]);
    REQUIRE(ours.size() == other.size());
    if (unique) CHECK(projectors_differ(ours, other, options.ranks[n]) <= 1e5 * tolerance);
  }
  auto const core = flat(result.model.core);
  CHECK(core.size() == flat(expected.model.core).size());
  // ||X - G x U||^2 = ||X||^2 - ||G||^2
  double squares = 0, all = 0;
  for (double const entry : core) squares += entry * entry;
  all = norm_squared(space, summed.tensor);
  CHECK(std::abs(squares - all * (1 - (1 - result.fit) * (1 - result.fit))) <= 10 * tolerance * all);
}

HostTensor random_tensor(std::uint64_t seed, std::vector<std::uint64_t> const& extents, std::size_t nnz) {
  Random random(seed);
  return testing::random_tensor(random, extents, nnz);
}

}  // namespace

TEST_CASE("Tucker: fits of one rank at every iteration", "[mpi]") {
  std::vector<std::vector<std::uint64_t>> const extents{
      {40, 23}, {31, 17, 9}, {19, 13, 11, 5}, {9, 8, 7, 6, 5}};
  for (auto const& of : extents) {
    INFO("order " << of.size());
    auto const tensor = random_tensor(20 + of.size(), of, 700);  // with duplicates
    auto ranks        = std::vector<count_t>(of.size(), 3);
    expect_run_of_one_rank<double>(tensor, options_of(ranks), 1e-10);
    expect_run_of_one_rank<double>(tensor, options_of(ranks), 1e-10, Dealt::all_to_rank_0);
    expect_run_of_one_rank<float>(tensor, options_of(ranks), 1e-5, Dealt::in_turn, false);
    ranks[0] = 2;
    ranks[1] = 2;
    expect_run_of_one_rank<double>(tensor, options_of(ranks), 1e-10, Dealt::all_to_last_rank);
  }
  // Wider than a block of columns of Y, and to a tolerance.
  auto const tensor = random_tensor(29, {60, 50, 40}, 4000);
  auto options      = options_of({8, 20, 12}, 30);
  options.tolerance = 1e-3;
  expect_run_of_one_rank<double>(tensor, options, 1e-10, Dealt::in_turn, false);
}

TEST_CASE("Tucker: more ranks than rows, and rows without nonzeros", "[mpi]") {
  expect_run_of_one_rank<double>(random_tensor(41, {2, 9, 8}, 60), options_of({2, 3, 3}), 1e-10);
  expect_run_of_one_rank<double>(random_tensor(42, {2, 3}, 5), options_of({1, 1}), 1e-10);
  expect_run_of_one_rank<double>(random_tensor(43, {1, 30, 20}, 200), options_of({1, 4, 4}), 1e-10);
  // Two rows of mode 0 have all nonzeros, and three directions are asked for.
  auto two = random_tensor(44, {8, 7, 12}, 60);
  for (std::size_t e = 0; e < two.indices.size(); e += 3) two.indices[e] = two.indices[e] % 2 == 0 ? 1 : 6;
  expect_run_of_one_rank<double>(two, options_of({3, 3, 3}), 1e-10, Dealt::in_turn, false);
  expect_run_of_one_rank<float>(two, options_of({3, 3, 3}), 1e-5, Dealt::in_turn, false);
  // All nonzeros in one row of each mode but the last: exact but for the root of a rounding error.
  HostTensor corner{"corner", {8, 7, 12}, {}, {}};
  for (std::uint64_t k = 0; k < 12; ++k) {
    corner.indices.insert(corner.indices.end(), {5, 0, k});
    corner.values.push_back(static_cast<double>(k + 1));
  }
  expect_run_of_one_rank<double>(corner, options_of({2, 2, 2}), 1e-7, Dealt::in_turn, false);
  expect_run_of_one_rank<double>(corner, options_of({2, 2, 2}), 1e-7, Dealt::all_to_rank_0, false);
}

TEST_CASE("A rank knows how many rows and nonzeros it will own", "[mpi]") {
  auto const ranks  = static_cast<std::size_t>(world().size());
  auto const rank   = static_cast<std::size_t>(world().rank());
  auto const tensor = random_tensor(51, {9, 31, 2}, 300);
  for (Dealt const dealt : {Dealt::in_turn, Dealt::all_to_last_rank}) {
    auto const part  = part_of(tensor, dealt);
    auto const owned = owned_rows(world(), Extents(std::span<count_t const>(tensor.extents)),
                                  std::span<std::uint32_t const>(part.indices));
    CHECK(owned.part == part.values.size());
    CHECK(owned.nnz == tensor.nnz());
    CHECK(owned.ranks == world().size());
    CHECK(owned.rank == world().rank());
    CHECK(owned.longest == 1);
    CHECK_FALSE(owned.is_ordered);
    for (std::size_t n = 0; n < tensor.order(); ++n) {
      std::vector<count_t> rows(ranks, 0);  // how many rows each rank owns, in their order
      rows[rank] = owned.modes[n].rows;
      world().host().all_gather(rows.data(), std::vector<count_t>(ranks, 1));
      auto const own     = rows.begin() + static_cast<std::ptrdiff_t>(rank);
      count_t const from = std::accumulate(rows.begin(), own, count_t(0));
      CHECK(std::accumulate(rows.begin(), rows.end(), count_t(0)) == tensor.extents[n]);
      count_t nnz = 0;
      for (std::size_t p = 0; p < tensor.nnz(); ++p)
        if (tensor.index(p, n) >= from && tensor.index(p, n) < from + *own) ++nnz;
      CHECK(owned.modes[n].nnz == nnz);
    }
  }
  // A diagonal is in order.
  HostTensor diagonal{"diagonal", {40, 40}, {}, {}};
  for (std::uint64_t k = 0; k < 40; ++k) {
    diagonal.indices.insert(diagonal.indices.end(), {k, k});
    diagonal.values.push_back(1);
  }
  auto const part = part_of(diagonal, Dealt::in_turn);
  CHECK(owned_rows(world(), Extents(std::span<count_t const>(diagonal.extents)),
                   std::span<std::uint32_t const>(part.indices))
            .is_ordered);
}

TEST_CASE("Tucker: words sent are those of the formula", "[mpi]") {
  std::vector<std::uint64_t> const extents{50, 41, 30};
  std::vector<count_t> const ranks{6, 4, 5};
  auto const tensor     = random_tensor(61, extents, 900);
  auto const P          = static_cast<count_t>(world().size());
  auto const reduced    = [&](count_t count) { return 2 * P * (count - count / P); };
  auto const agreed     = [&](count_t count) { return (P - 1) * count; };
  auto const whole_rows = [](count_t columns) { return padded_rank<double>(columns); };
  for (int const sweeps : {1, 2}) {
    auto options                   = options_of(ranks, 3);
    options.vectors.max_iterations = sweeps;
    std::vector<double> after;
    on_ranks<double>(tensor, options, Dealt::in_turn, [&](TuckerIteration const&) {
      after.push_back(words_of_all());
      return true;
    });
    count_t expected = 0;
    for (std::size_t n = 0; n < 3; ++n) {
      count_t const R = ranks[n], D = 6 * 4 * 5 / R, L = std::min<count_t>({R + 8, extents[n], D});
      count_t const own_basis = 2 * (reduced(L * L) + agreed(L * whole_rows(L)) + agreed(L));
      count_t const basis     = 2 * (agreed(L * whole_rows(L)) + agreed(L));
      count_t const sweep =
          reduced(D * whole_rows(L)) + agreed(L * whole_rows(R)) + agreed(L) + basis + own_basis;
      expected += own_basis + static_cast<count_t>(sweeps) * sweep + (P - 1) * extents[n] * whole_rows(R);
    }
    CHECK(after[1] - after[0] == (P == 1 ? 0 : static_cast<double>(expected)));
    CHECK(after[2] - after[1] == after[1] - after[0]);
  }
}

TEST_CASE("Tucker: one rank's callback ends the run on all", "[mpi]") {
  int const last = world().size() - 1;
  auto const result =
      on_ranks<double>(random_tensor(71, {9, 8, 7}, 200), options_of({3, 3, 3}, 50), Dealt::in_turn,
                       [&](TuckerIteration const& it) { return it.iteration < 3 || world().rank() != last; });
  CHECK(result.history.size() == 3);
  CHECK(result.reason == StopReason::interrupted);
}

TEST_CASE("Tucker: all ranks refuse alike", "[mpi]") {
  auto const tensor = random_tensor(81, {9, 8, 7}, 100);
  CHECK_THROWS_AS(on_ranks<double>(tensor, options_of({10, 3, 3})), UsageError);
  CHECK_THROWS_AS(on_ranks<double>(tensor, options_of({3, 3})), UsageError);
  CHECK_THROWS_AS(on_ranks<double>(tensor, options_of({3, 3, 3}, -1)), UsageError);
  auto outside       = tensor;
  outside.indices[0] = 9;  // rank 0 alone sees it
  CHECK_THROWS_AS(on_ranks<double>(outside, options_of({3, 3, 3})), UsageError);
  HostTensor const nothing{"nothing", {6, 5, 4}, {}, {}};
  CHECK_THROWS_AS(on_ranks<double>(nothing, options_of({2, 2, 2})), NumericalError);
}

TEST_CASE("Tucker: ranks write and resume checkpoints", "[mpi]") {
  auto const tensor   = random_tensor(41, {19, 13, 11}, 700);
  auto const unbroken = on_ranks<double>(tensor, options_of({3, 2, 4}, 7));
  SharedFolder const folder;
  auto options             = options_of({3, 2, 4}, 7);
  options.checkpoint       = folder / "c";
  options.checkpoint_every = 100;
  auto const last          = world().size() - 1;
  auto const cut = on_ranks<double>(tensor, options, Dealt::in_turn, [&](TuckerIteration const& it) {
    return it.iteration < 3 || world().rank() != last;
  });
  CHECK(cut.reason == StopReason::interrupted);
  options            = options_of({3, 2, 4}, 7);
  options.resume     = folder / "c";
  auto const resumed = on_ranks<double>(tensor, options, Dealt::all_to_rank_0);
  REQUIRE(resumed.history.size() == 4);
  for (std::size_t k = 0; k < 4; ++k) {
    CHECK(resumed.history[k].iteration == static_cast<int>(k) + 4);
    CHECK(std::abs(resumed.history[k].fit - unbroken.history[k + 3].fit) <= 1e-10);
  }
  for (std::size_t n = 0; n < 3; ++n)
    CHECK(projectors_differ(flat(resumed.model.factors[n]), flat(unbroken.model.factors[n]),
                            options.ranks[n]) <= 1e-7);
  options.ranks = {3, 3, 4};
  CHECK_THROWS_AS(on_ranks<double>(tensor, options), InputError);  // on all
}

}  // namespace polyad::test
