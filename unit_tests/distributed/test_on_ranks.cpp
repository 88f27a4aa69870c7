// SPDX-License-Identifier: BSD-3-Clause
// On as many ranks as the launcher starts: collectives against sums formed here, and CP-ALS against one rank.
#include <Kokkos_Core.hpp>
#include <algorithm>
#include <cmath>
#include <filesystem>
#include <limits>
#include <memory>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "distributed/collectives/mpi_collectives.hpp"
#include "distributed/exchange.hpp"
#include "distributed/parts.hpp"
#include "distributed/shared_folder.hpp"
#include "distributed/world.hpp"
#include "polyad/cp/cp_als.hpp"
#include "polyad/distributed/distribute.hpp"
#include "polyad/io/checkpoint.hpp"
#include "polyad/testing/oracle.hpp"
#include "polyad/testing/small_tensors.hpp"
#include "support/catch.hpp"
#include "support/cp_als_loop.hpp"
#include "support/device_data.hpp"
#include "support/host_models.hpp"
#include "support/message_of.hpp"
#include "support/tensor_with_empty_rows.hpp"

namespace polyad::test {
namespace {

using testing::HostTensor;
using testing::Random;

/// A number of rank k, whose sums over ranks are exact in every type.
template <class T>
T number(int rank, count_t i) {
  return static_cast<T>((static_cast<count_t>(rank) * 37 + i * 11) % 101);
}
template <class T>
T sum_of_ranks(count_t i) {
  T sum = 0;
  for (int k = 0; k < world().size(); ++k) sum += number<T>(k, i);
  return sum;
}

/// The group's calls on arrays in the memory that it uses.
template <class T, class Memory>
struct Arrays {
  using View = Kokkos::View<T*, Memory>;
  static View of(std::vector<T> const& data) {
    View const view("polyad::test", data.size());
    auto const host = Kokkos::create_mirror_view(view);
    std::copy(data.begin(), data.end(), host.data());
    Kokkos::deep_copy(view, host);
    return view;
  }
  static std::vector<T> back(View const& view) {
    Kokkos::fence();
    auto const host = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), view);
    return {host.data(), host.data() + host.size()};
  }
};

template <class T, class Memory>
void check_collectives(RankGroup const& ranks, std::uint64_t seed) {
  using Array     = Arrays<T, Memory>;
  int const own   = ranks.rank();
  auto const size = static_cast<std::size_t>(ranks.size());
  std::mt19937_64 random(seed);  // the same on all ranks
  for (int round = 0; round < 6; ++round) {
    std::vector<count_t> parts(size);
    for (auto& part : parts) part = random() % 3 == 0 ? 0 : random() % 500;
    if (round == 0) parts.assign(size, 17);
    count_t const total = std::accumulate(parts.begin(), parts.end(), count_t(0));
    count_t const begin = std::accumulate(parts.begin(), parts.begin() + own, count_t(0));
    std::vector<T> data(total), sums(total);
    for (count_t i = 0; i < total; ++i) data[i] = number<T>(own, i);
    for (count_t i = 0; i < total; ++i) sums[i] = sum_of_ranks<T>(i);

    auto const reduced = Array::of(data);
    ranks.all_reduce(reduced.data(), total);
    CHECK(Array::back(reduced) == sums);

    auto const scattered = Array::of(data);
    auto const part      = Array::of(std::vector<T>(parts[static_cast<std::size_t>(own)]));
    ranks.reduce_scatter(scattered.data(), part.data(), parts);
    CHECK(Array::back(part) == std::vector<T>(sums.begin() + std::ptrdiff_t(begin),
                                              sums.begin() + std::ptrdiff_t(begin + part.extent(0))));

    std::vector<T> mine(total, T(0)), all(total);
    count_t at = 0;
    for (std::size_t k = 0; k < size; ++k)
      for (count_t i = 0; i < parts[k]; ++i, ++at) {
        all[at] = number<T>(static_cast<int>(k), at);
        if (static_cast<int>(k) == own) mine[at] = all[at];
      }
    auto const gathered = Array::of(mine);
    ranks.all_gather(gathered.data(), parts);
    CHECK(Array::back(gathered) == all);

    int const root       = static_cast<int>(random() % size);
    auto const broadcast = Array::of(data);
    ranks.broadcast(broadcast.data(), total, root);
    for (count_t i = 0; i < total; ++i) data[i] = number<T>(root, i);
    CHECK(Array::back(broadcast) == data);

    // counts[a][b] elements from a to b, which say whence and whither.
    std::vector<std::vector<count_t>> counts(size, std::vector<count_t>(size));
    for (auto& row : counts)
      for (auto& count : row) count = random() % 4 == 0 ? 0 : random() % 90;
    std::vector<count_t> from(size);
    std::vector<T> sent, received;
    for (std::size_t k = 0; k < size; ++k) {
      from[k] = counts[k][static_cast<std::size_t>(own)];
      for (count_t i = 0; i < counts[static_cast<std::size_t>(own)][k]; ++i)
        sent.push_back(static_cast<T>(own * 10 + static_cast<int>(k)));
      for (count_t i = 0; i < from[k]; ++i)
        received.push_back(static_cast<T>(static_cast<int>(k) * 10 + own));
    }
    auto const& to = counts[static_cast<std::size_t>(own)];
    CHECK(ranks.counts_from(to) == from);
    if (size == 1) continue;  // a group of MPI with one rank exchanges too, but has nothing to check
    auto const target = Array::of(std::vector<T>(received.size()));
    ranks.all_to_all(Array::of(sent).data(), to, target.data(), from);
    CHECK(Array::back(target) == received);
  }
}

template <class T>
void check_collectives_everywhere(RankGroup const& host, RankGroup const& data) {
  check_collectives<T, Kokkos::HostSpace>(host, 5);
  check_collectives<T, TestSpace::memory_space>(data, 6);
}

/// A run in the format that each rank chooses.
template <class Scalar>
CpAlsResult<Scalar, TestSpace> run_on(Communicator<TestSpace> const& ranks,
                                      TensorShare<Scalar, std::uint32_t, TestSpace> const& share,
                                      CpAlsOptions const& options, CpAlsCallback const& callback = {}) {
  auto of_format = options;
  of_format.resume.clear();  // ranks resume in any format
  return cp_als(TestSpace(), tensor_by_rank(ranks, share, format_options(of_format)), options, callback);
}

template <class Scalar>
TensorShare<Scalar, std::uint32_t, TestSpace> share_of(HostTensor const& tensor, ProcessGrid const& grid,
                                                       bool all = true, double relabel_above = 1.2) {
  auto const own = part_of(tensor, all ? Dealt::all_to_rank_0 : Dealt::in_turn);
  PartitionOptions options;
  options.grid          = grid;
  options.rank          = 4;
  options.relabel_above = relabel_above;
  return distribute<Scalar>(world(), Extents(std::span<count_t const>(tensor.extents)),
                            std::span<std::uint32_t const>(own.indices), std::span<double const>(own.values),
                            options);
}

template <class Scalar>
CooTensor<Scalar, std::uint32_t, TestSpace> whole(HostTensor const& tensor) {
  std::vector<std::uint32_t> const indices(tensor.indices.begin(), tensor.indices.end());
  return upload<Scalar, std::uint32_t>(TestSpace(), Extents(std::span<count_t const>(tensor.extents)),
                                       std::span<std::uint32_t const>(indices),
                                       std::span<double const>(tensor.values));
}

CpAlsOptions options_of(count_t rank, int iterations) {
  CpAlsOptions options;
  options.rank           = rank;
  options.max_iterations = iterations;
  options.tolerance      = 0;
  options.seed           = 3;
  return options;
}

/// Every grid of the world's ranks over `order` modes.
std::vector<ProcessGrid> all_grids(std::size_t order, int ranks) {
  if (order == 1) return {{ranks}};
  std::vector<ProcessGrid> grids;
  for (int p = 1; p <= ranks; ++p)
    if (ranks % p == 0)
      for (auto grid : all_grids(order - 1, ranks / p)) {
        grid.insert(grid.begin(), p);
        grids.push_back(grid);
      }
  return grids;
}

template <class Scalar>
void expect_run_of_one_rank(HostTensor const& tensor, ProcessGrid const& grid, count_t rank, double tolerance,
                            bool all = true, std::vector<ModeUpdate> const& updates = {}) {
  auto options    = options_of(rank, 6);
  options.updates = updates;
  AnyFormatOptions format;
  format.rank         = rank;
  format.format       = "sorted";
  auto const share    = share_of<Scalar>(tensor, grid, all);
  auto const expected = cp_als(TestSpace(), any_format(TestSpace(), whole<Scalar>(tensor), format), options);
  auto const result   = cp_als(TestSpace(), tensor_by_rank(world(), share, format), options);
  REQUIRE(result.history.size() == expected.history.size());
  for (std::size_t k = 0; k < result.history.size(); ++k) {
    INFO("iteration " << k + 1 << " on rank " << world().rank());
    CHECK(std::abs(result.history[k].fit - expected.history[k].fit) <= tolerance);
    CHECK(std::abs(result.history[k].kkt_violation - expected.history[k].kkt_violation) <= 100 * tolerance);
    // An objective of almost nothing is a difference of squares as large as that of the tensor.
    CHECK(std::abs(result.history[k].objective - expected.history[k].objective) <=
          100 * tolerance * (expected.history[k].objective + share.norm_squared / 2));
  }
  CHECK(share.nnz == tensor.values.size());
  CHECK(result.gram_fallbacks == expected.gram_fallbacks);
  CHECK(result.reason == expected.reason);
  CHECK(std::abs(result.fit - expected.fit) <= tolerance);
  if (world().rank() > 0) {
    CHECK(result.model.factors.order() == 0);
    return;
  }
  CHECK(std::abs(result.fit - oracle_fit(scaled_to<Scalar>(tensor, 1), on_host(result.model))) <
        (sizeof(Scalar) == 4 ? 1e-6 : 1e-12));
  REQUIRE(result.model.weights.size() == rank);
  for (int n = 0; n < expected.model.factors.order(); ++n) {
    auto const ours  = flat(result.model.factors[n]);
    auto const other = flat(expected.model.factors[n]);
    REQUIRE(ours.size() == other.size());
    double worst = 0;
    for (std::size_t i = 0; i < ours.size(); ++i) worst = std::max(worst, std::abs(ours[i] - other[i]));
    CHECK(worst <= 1e6 * tolerance);
  }
}

}  // namespace

TEST_CASE("Collectives of all types and sizes", "[mpi]") {
  check_collectives_everywhere<double>(world().host(), world().data());
  check_collectives_everywhere<float>(world().host(), world().data());
  check_collectives_everywhere<std::uint32_t>(world().host(), world().data());
  check_collectives_everywhere<std::uint64_t>(world().host(), world().data());
}

TEST_CASE("Collectives in pieces", "[mpi]") {
  RankGroup const small(std::make_shared<MpiCollectives>(mpi_calls({}), "in pieces", 13));
  check_collectives<double, Kokkos::HostSpace>(small, 7);
  check_collectives<std::uint32_t, Kokkos::HostSpace>(small, 8);
}

TEST_CASE("Groups that are split", "[mpi]") {
  int const own           = world().rank();
  auto const odd_and_even = world().data().split(own % 2, -own);
  int const others        = (world().size() + (own % 2 == 0 ? 1 : 0)) / 2;
  REQUIRE(odd_and_even.size() == others);
  // The order of the keys is the reverse of the ranks'.
  CHECK(odd_and_even.rank() == others - 1 - own / 2);
  Kokkos::View<double*, TestSpace::memory_space> const sum("polyad::test", 1);
  Kokkos::deep_copy(sum, own);
  odd_and_even.all_reduce(sum.data(), 1);
  double expected = 0;
  for (int k = own % 2; k < world().size(); k += 2) expected += k;
  CHECK(Arrays<double, TestSpace::memory_space>::back(sum).front() == expected);
}

TEST_CASE("Fits of one rank, on every grid", "[mpi]") {
  Random random(11);
  for (std::size_t order = 2; order <= 6; ++order) {
    auto const extents = testing::small_extents(order);
    auto const tensor  = testing::distinct(testing::random_tensor(random, extents, 300));
    for (auto const& grid : all_grids(order, world().size())) {
      if (order > 4 && grid.front() != 1) continue;  // short: 4 modes see them all
      INFO("order " << order);
      expect_run_of_one_rank<double>(tensor, grid, 4, 1e-10, order % 2 == 0);
    }
  }
  auto const tensor = testing::distinct(testing::random_tensor(random, {40, 30, 20}, 2000));
  expect_run_of_one_rank<float>(tensor, {}, 5, 1e-5);
  expect_run_of_one_rank<double>(tensor, {}, 3, 1e-10);  // rows that are padded
  expect_run_of_one_rank<double>(tensor, {}, 33, 1e-9);  // beyond one pass of an update
}

TEST_CASE("Ranks without rows or nonzeros", "[mpi]") {
  Random random(12);
  int const ranks = world().size();
  // Fewer rows than ranks.
  auto const flat_tensor = testing::distinct(testing::random_tensor(random, {2, 9, 8}, 60));
  expect_run_of_one_rank<double>(flat_tensor, {ranks, 1, 1}, 2, 1e-10);
  // All nonzeros in one row of each mode but the last.
  HostTensor corner{"corner", {8, 7, 12}, {}, {}};
  for (std::uint64_t k = 0; k < 12; ++k) {
    corner.indices.insert(corner.indices.end(), {5, 0, k});
    corner.values.push_back(static_cast<double>(k + 1));
  }
  // A model of rank 1 is exact: the fit is 1 up to the root of the rounding of ||X||^2.
  for (auto const& grid : all_grids(3, ranks)) expect_run_of_one_rank<double>(corner, grid, 1, 1e-7);
  auto const share = share_of<double>(corner, {ranks, 1, 1});
  CHECK(share.imbalance.nonzeros == ranks);  // one rank has all
  // No nonzeros at all.
  HostTensor const nothing{"nothing", {6, 5, 4}, {}, {}};
  CHECK_THROWS_AS(run_on(world(), share_of<double>(nothing, {}), options_of(2, 3)), NumericalError);
}

TEST_CASE("Rows get random labels where blocks are too different", "[mpi]") {
  int const ranks = world().size();
  if (ranks < 4) return;  // two modes are cut
  ProcessGrid const grid{ranks / 2, 2, 1};
  // Ten dense blocks on the diagonal of the first two modes: most blocks of the grid are empty.
  HostTensor blocks{"blocks", {100, 100, 6}, {}, {}};
  for (std::uint64_t i = 0; i < 100; ++i)
    for (std::uint64_t j = i / 10 * 10; j < i / 10 * 10 + 10; ++j) {
      blocks.indices.insert(blocks.indices.end(), {i, j, (i + j) % 6});
      blocks.values.push_back(1 + static_cast<double>((7 * i + 3 * j) % 11));
    }
  auto const as_it_is = share_of<double>(blocks, grid, true, std::numeric_limits<double>::infinity());
  CHECK_FALSE(as_it_is.partition.labelled);
  CHECK(as_it_is.imbalance.nonzeros > 1.9);
  auto const labelled = share_of<double>(blocks, grid);
  CHECK(labelled.imbalance.nonzeros < 1.3);
  REQUIRE(labelled.partition.labelled);
  for (count_t i = 0; i < 6; ++i) CHECK(labelled.partition.row_of_label(2, i) == i);  // is not cut
  for (int n = 0; n < 2; ++n) {
    std::vector<count_t> rows;
    for (count_t i = 0; i < 100; ++i) {
      rows.push_back(labelled.partition.row_of_label(n, i));
      REQUIRE(labelled.partition.label_of_row(n, rows.back()) == i);
    }
    std::sort(rows.begin(), rows.end());
    for (count_t i = 0; i < 100; ++i) REQUIRE(rows[i] == i);
  }
  CHECK(labelled.nnz == as_it_is.nnz);
  CHECK(std::abs(labelled.norm_squared / as_it_is.norm_squared - 1) < 1e-14);
  expect_run_of_one_rank<double>(blocks, grid, 4, 1e-10);
  expect_run_of_one_rank<float>(blocks, grid, 4, 1e-5);
  // A checkpoint has the tensor's order of rows, so that other partitions continue from it.
  SharedFolder const folder;
  auto options       = options_of(3, 4);
  options.checkpoint = folder / "c";
  static_cast<void>(run_on(world(), labelled, options));
  auto const goes_on = [&](TensorShare<double, std::uint32_t, TestSpace> const& share) {
    auto rest   = options_of(3, 8);
    rest.resume = options.checkpoint;
    return run_on(world(), share, rest).fit;
  };
  double const fit = run_on(world(), as_it_is, options_of(3, 8)).fit;
  CHECK(std::abs(goes_on(as_it_is) - fit) <= 1e-10);
  CHECK(std::abs(goes_on(labelled) - fit) <= 1e-10);
}

TEST_CASE("Words sent are those of the formula", "[mpi]") {
  Random random(13);
  auto const tensor  = testing::distinct(testing::random_tensor(random, {50, 41, 12, 7}, 900));
  count_t const rank = 4;  // whole rows of 16 bytes
  auto const ranks   = static_cast<count_t>(world().size());
  for (auto const& grid : all_grids(4, world().size())) {
    auto const share = share_of<double>(tensor, grid);
    std::vector<double> after;
    static_cast<void>(run_on(world(), share, options_of(rank, 3), [&](CpAlsIteration const&) {
      after.push_back(words_of_all());
      return true;
    }));
    // A Gram matrix per mode, and <X, M> with the last one.
    auto const reduced = [&](count_t count) {
      return static_cast<double>(ranks * 2 * (count - count / ranks));
    };
    double const expect = words_of_grid(share.partition.extents, grid) * static_cast<double>(rank) +
                          3 * reduced(rank * rank) + reduced(rank * rank + 1);
    if (ranks == 1) {
      CHECK(after[2] == after[0]);
    } else {
      CHECK(after[1] - after[0] == expect);
      CHECK(after[2] - after[1] == expect);
    }
  }
}

TEST_CASE("One rank's callback ends the run on all", "[mpi]") {
  Random random(14);
  auto const tensor = testing::distinct(testing::random_tensor(random, {9, 8, 7}, 90));
  auto const last   = world().size() - 1;
  auto const result =
      run_on(world(), share_of<double>(tensor, {}), options_of(2, 50),
             [&](CpAlsIteration const& it) { return it.iteration < 4 || world().rank() != last; });
  CHECK(result.history.size() == 4);
  CHECK(result.reason == StopReason::interrupted);
}

TEST_CASE("Ranks write and resume checkpoints", "[mpi]") {
  Random random(15);
  auto const tensor   = testing::distinct(testing::random_tensor(random, {19, 18, 7}, 400));
  auto const share    = share_of<double>(tensor, {});
  auto const X        = any_format(TestSpace(), share.block, format_options(options_of(3, 8)));
  auto const unbroken = cp_als(TestSpace(), tensor_by_rank(world(), share, X), options_of(3, 8));
  SharedFolder const folder;
  auto options             = options_of(3, 8);
  options.checkpoint       = folder / "c";
  options.checkpoint_every = 100;
  // The callback of one rank interrupts the run, and the first rank writes the checkpoint.
  auto const last = world().size() - 1;
  auto const cut =
      cp_als(TestSpace(), tensor_by_rank(world(), share, X), options,
             [&](CpAlsIteration const& it) { return it.iteration < 4 || world().rank() != last; });
  CHECK(cut.reason == StopReason::interrupted);
  if (world().rank() == 0) CHECK(io::read_checkpoint(options.checkpoint).factors[0].size() == 19 * 3);
  auto rest         = options_of(3, 8);
  rest.resume       = options.checkpoint;
  auto const result = cp_als(TestSpace(), tensor_by_rank(world(), share, X), rest);
  REQUIRE(result.history.size() == 4);
  for (std::size_t k = 0; k < 4; ++k)
    CHECK(std::abs(result.history[k].fit - unbroken.history[k + 4].fit) <= 1e-10);
  // One rank continues as well.
  Communicator<TestSpace> const alone{TestSpace()};
  auto const whole = any_format(TestSpace(), test::whole<double>(tensor), {.rank = 3, .format = "sorted"});
  if (world().rank() == 0 && X.chosen() == whole.chosen())
    CHECK(std::abs(cp_als(TestSpace(), whole, rest).fit - unbroken.fit) <= 1e-10);
}

TEST_CASE("Ranks find the best of several starts", "[mpi]") {
  Random random(18);
  auto const tensor = testing::distinct(testing::random_tensor(random, {19, 18, 7}, 400));
  auto const share  = share_of<double>(tensor, {});
  auto const X      = any_format(TestSpace(), share.block, format_options(options_of(3, 8)));
  auto options      = options_of(3, 8);
  options.restarts  = 3;
  auto const result = cp_als(TestSpace(), tensor_by_rank(world(), share, X), options);
  REQUIRE(result.restarts.size() == 3);
  double best = -1;
  for (std::size_t k = 0; k < 3; ++k) {
    auto single = options_of(3, 8);
    single.seed += k;
    CHECK(result.restarts[k].seed == single.seed);
    CHECK(std::abs(result.restarts[k].fit -
                   cp_als(TestSpace(), tensor_by_rank(world(), share, X), single).fit) <= 1e-10);
    best = std::max(best, result.restarts[k].fit);
  }
  CHECK(result.fit == best);
  CHECK(result.restarts[result.best_restart].fit == best);
  CHECK(result.model.factors.order() == (world().rank() == 0 ? 3 : 0));
  // One rank's callback ends all starts on all.
  auto const last = world().size() - 1;
  auto const cut  = cp_als(
      TestSpace(), tensor_by_rank(world(), share, X), options,
      [&](CpAlsIteration const& it) { return it.start < 1 || it.iteration < 2 || world().rank() != last; });
  CHECK(cut.restarts.size() == 2);
  CHECK(cut.restarts.back().iterations == 2);
}

TEST_CASE("Ranks store the rows that occur, and fit as one rank", "[mpi]") {
  auto const sparse = test::tensor_with_empty_rows();
  Extents const extents{std::span<count_t const>(sparse.extents)};
  auto const rank        = static_cast<std::size_t>(world().rank());
  auto const ranks       = static_cast<std::size_t>(world().size());
  auto const order       = sparse.extents.size();
  auto const indices     = std::vector<std::uint32_t>(sparse.indices.begin(), sparse.indices.end());
  std::size_t const from = sparse.nnz() * rank / ranks, to = sparse.nnz() * (rank + 1) / ranks;
  // Modes of 90 and 24 rows are renumbered, by bits, or by lists of rows if the modes are said to be longer.
  for (bool const wide : {false, true}) {
    CompactRule const rule{.least_rows = 10};
    auto whole        = indices;
    auto const of_one = compact_coordinates(std::span(whole), extents, rule);
    REQUIRE(of_one.size() == 3);
    std::vector<std::uint32_t> part(indices.begin() + static_cast<std::ptrdiff_t>(from * order),
                                    indices.begin() + static_cast<std::ptrdiff_t>(to * order));
    auto own_extents = sparse.extents;
    if (wide) own_extents[0] = own_extents[2] = 1000000;  // above 64 rows for each nonzero
    Extents const given{std::span<count_t const>(own_extents)};
    auto const rows = compact_coordinates(world(), std::span(part), given, rule);
    REQUIRE(rows.size() == 3);
    for (std::size_t n = 0; n < 3; ++n) {
      CHECK(rows[n].numbers() == of_one[n].numbers());
      CHECK(rows[n].extent() == own_extents[n]);
    }
    CHECK(std::equal(part.begin(), part.end(), whole.begin() + static_cast<std::ptrdiff_t>(from * order)));
    std::vector<double> const values(sparse.values.begin() + static_cast<std::ptrdiff_t>(from),
                                     sparse.values.begin() + static_cast<std::ptrdiff_t>(to));
    auto const stored = compact_extents(given, rows);
    for (double const relabel_above : {0.0, 1e9}) {  // with random labels where they help, and without
      PartitionOptions partition;
      partition.rank          = 2;
      partition.relabel_above = relabel_above;
      auto const share        = distribute<double>(world(), stored, std::span<std::uint32_t const>(part),
                                                   std::span<double const>(values), partition);
      auto options            = options_of(2, 5);
      options.rows            = rows;
      auto const result       = run_on(world(), share, options);
      Communicator<TestSpace> const alone{TestSpace()};
      auto const all =
          distribute<double>(alone, compact_extents(given, rows), std::span<std::uint32_t const>(whole),
                             std::span<double const>(sparse.values), partition);
      auto const of_alone = run_on(alone, all, options);
      REQUIRE(result.history.size() == of_alone.history.size());
      for (std::size_t k = 0; k < result.history.size(); ++k)
        CHECK(std::abs(result.history[k].fit - of_alone.history[k].fit) <= 1e-10);
      if (world().rank() != 0) continue;
      CHECK(result.model.rows == rows);
      for (int n = 0; n < 3; ++n) CHECK(result.model.factors[n].extent(0) == stored[n]);
    }
  }
  std::vector<std::uint32_t> outside(world().rank() + 1 == world().size() ? order : 0, 95);
  CHECK_THROWS_AS(compact_coordinates(world(), std::span(outside), extents, {.least_rows = 10}), UsageError);
  std::vector<std::uint32_t> none;
  CHECK(compact_coordinates(world(), std::span(none), extents, {.least_rows = 10}).empty());
}

/// A run that continues from a checkpoint for three more iterations.
auto resumed_on_ranks(TensorByRank<double, TestSpace> const& X, std::filesystem::path const& checkpoint) {
  auto options   = options_of(3, 4);
  options.resume = checkpoint;
  FactorMatrices<double, TestSpace> const start(TestSpace(), X.format(0).extents(), 3);
  return cp_als_loop(X, options, start);
}

TEST_CASE("Rows of a factor reach the root in blocks", "[mpi]") {
  Random random(21);
  auto const tensor = testing::distinct(testing::random_tensor(random, {29, 18, 7}, 400));
  for (double const relabel_above : {0.0, 1e9}) {
    auto const share = share_of<double>(tensor, {}, true, relabel_above);
    auto const X     = any_format(TestSpace(), share.block, format_options(options_of(3, 1)));
    SharedFolder const folder;
    auto options       = options_of(3, 1);
    options.checkpoint = folder / "c";
    static_cast<void>(cp_als(TestSpace(), tensor_by_rank(world(), share, X), options));
    auto const run = resumed_on_ranks(tensor_by_rank(world(), share, X), options.checkpoint);
    io::Checkpoint state;
    state.factors.resize(3);
    if (world().rank() == 0) state = io::read_checkpoint(options.checkpoint);
    for (std::size_t n = 0; n < 3; ++n) {
      std::vector<double> read;
      for (count_t first = 0; first < tensor.extents[n]; first += 5) {
        auto const rows = run->driver().factor_rows(static_cast<int>(n), first,
                                                    std::min<count_t>(5, tensor.extents[n] - first));
        read.insert(read.end(), rows.begin(), rows.end());
      }
      CHECK(read == state.factors[n]);
    }
  }
}

TEST_CASE("A ridge on every grid", "[mpi]") {
  Random random(31);
  auto const tensor = testing::distinct(testing::random_tensor(random, {29, 18, 7}, 400));
  for (auto const& grid : all_grids(3, world().size())) {
    expect_run_of_one_rank<double>(tensor, grid, 4, 1e-10, true, {ridge(3)});
    expect_run_of_one_rank<float>(tensor, grid, 4, 1e-5, true, {ridge(1), ridge(2), ridge(3)});
  }
}

TEST_CASE("Bounds and penalties on every grid", "[mpi]") {
  Random random(31);
  auto const tensor = testing::distinct(testing::random_tensor(random, {29, 18, 7}, 400));
  Constraints const lasso{.l1 = 0.5, .ridge = 1}, box{.lower = 0.25, .upper = 2};
  for (auto const& grid : all_grids(3, world().size())) {
    expect_run_of_one_rank<double>(tensor, grid, 4, 1e-9, true, {nonnegative()});
    expect_run_of_one_rank<double>(tensor, grid, 4, 1e-9, true, {constrained(lasso)});
    expect_run_of_one_rank<double>(tensor, grid, 4, 1e-9, true, {nonnegative(2), constrained(box), {}});
    expect_run_of_one_rank<float>(tensor, grid, 4, 1e-4, true, {nonnegative()});
  }
}

TEST_CASE("A given start, fixed modes and exact rows on every grid", "[mpi]") {
  Random random(32);
  auto const tensor = testing::distinct(testing::random_tensor(random, {29, 18, 7}, 400));
  TestSpace const space;
  FactorMatrices<double, TestSpace> const start(space, Extents(std::span<count_t const>(tensor.extents)), 3);
  fill_random(space, start, 4);
  std::vector<std::vector<double>> factors(3);
  if (world().rank() == 0)
    for (int n = 0; n < 3; ++n) factors[static_cast<std::size_t>(n)] = to_host<double>(space, start[n]);
  for (auto const& fixed : std::vector<std::vector<int>>{{}, {0}, {2}, {1, 2}, {0, 2}})
    for (auto const& updates : {std::vector<ModeUpdate>{}, std::vector<ModeUpdate>{nonnegative(exact_inner)}})
      for (auto const& grid : all_grids(3, world().size())) {
        CAPTURE(fixed, updates.size());
        auto options        = options_of(3, 4);
        options.fixed_modes = fixed;
        options.updates     = updates;
        auto const share    = share_of<double>(tensor, grid, true, 0.0);
        auto const format   = format_options(options);
        auto const one      = cp_als(space, any_format(space, whole<double>(tensor), format), options, start);
        auto const many     = cp_als(space, tensor_by_rank(world(), share, format), options, factors);
        REQUIRE(many.history.size() == one.history.size());
        for (std::size_t k = 0; k < one.history.size(); ++k)
          CHECK(std::abs(many.history[k].fit - one.history[k].fit) <= 1e-9);
        if (world().rank() != 0) continue;
        for (int const n : fixed) CHECK(flat(many.model.factors[n]) == flat(start[n]));
      }
  auto options        = options_of(3, 4);
  options.fixed_modes = {1};
  auto const share    = share_of<double>(tensor, {});
  auto const X        = tensor_by_rank(world(), share, format_options(options));
  CHECK_THROWS_AS(cp_als(space, X, options), UsageError);
  CHECK_THROWS_AS(cp_als(space, X, options, std::vector<std::vector<double>>(2)), UsageError);
}

TEST_CASE("A checkpoint of another run is refused on all ranks", "[mpi]") {
  Random random(16);
  auto const tensor = testing::distinct(testing::random_tensor(random, {19, 18, 7}, 400));
  auto const share  = share_of<double>(tensor, {});
  auto const X      = any_format(TestSpace(), share.block, format_options(options_of(3, 4)));
  SharedFolder const folder;
  auto options       = options_of(3, 1);
  options.checkpoint = folder / "c";
  static_cast<void>(cp_als(TestSpace(), tensor_by_rank(world(), share, X), options));
  // A state in memory that does not have the shape of the run.
  auto const run = resumed_on_ranks(tensor_by_rank(world(), share, X), options.checkpoint);
  auto state     = run->driver().state();
  state.factors.resize(3);
  if (world().rank() == 0) state = io::read_checkpoint(options.checkpoint);
  auto const refuse = [&](auto const& spoil) {
    auto foreign = state;
    if (world().rank() == 0) spoil(foreign);
    CHECK_THROWS_AS(run->driver().restore(foreign), UsageError);
  };
  refuse([](io::Checkpoint& other) { other.grams.resize(2 * other.grams.size() + 1); });
  refuse([](io::Checkpoint& other) { other.factors.pop_back(); });
  refuse([](io::Checkpoint& other) { other.weights.resize(5, 1.0); });
  refuse([](io::Checkpoint& other) { other.scales.resize(9, 1.0); });
  refuse([](io::Checkpoint& other) { other.factors[0].pop_back(); });
  refuse([](io::Checkpoint& other) { other.factors[2].resize(1000); });
  run->driver().restore(state);  // nothing of it has done harm
  run->launch();
  run->finish({});
  CHECK(run->take_result().history.size() == 1);
  // A file of another run, none, and one that is damaged.
  options.checkpoint.clear();
  options.resume     = folder / "c";
  auto const message = [&](CpAlsOptions const& of) {
    return message_of<InputError>(
        [&] { static_cast<void>(cp_als(TestSpace(), tensor_by_rank(world(), share, X), of)); });
  };
  auto other = options;
  other.rank = 4;
  CHECK(message(other) == options.resume.string() + ": is a checkpoint of rank 3, not 4");
  other        = options;
  other.resume = folder / "nowhere";
  CHECK(message(other).starts_with(other.resume.string() + ": "));
  static_cast<void>(folder.write("no checkpoint", "c"));
  CHECK(message(options) == options.resume.string() + ": is not a checkpoint");
}

TEST_CASE("Nonzeros are exchanged in blocks, in the order of their senders", "[mpi]") {
  Random random(17);
  auto const tensor = testing::random_tensor(random, {50, 40, 30}, 3000);
  int const ranks   = world().size();
  for (Dealt const dealt : {Dealt::in_turn, Dealt::all_to_rank_0, Dealt::all_to_last_rank}) {
    auto const own = part_of(tensor, dealt);
    Partition partition;
    partition.extents = Extents{50, 40, 30};
    partition.rank    = world().rank();
    partition.grid    = {1, ranks, 1};
    partition.cuts    = {{0, 50}, {}, {0, 30}};
    LabelledNonzeros<std::uint32_t> const nonzeros{partition, own.indices, own.values};
    partition.cuts[1] = cut_mode(world().host(), nonzeros, 1, ranks);
    auto const whole  = exchange<std::uint32_t>(world().host(), nonzeros);
    // Those of all senders, one after the other.
    std::vector<double> expected;
    std::vector<std::uint64_t> rows;
    for (int sender = 0; sender < ranks; ++sender)
      for (std::size_t p = 0; p < tensor.values.size(); ++p) {
        auto const holder = dealt == Dealt::in_turn ? static_cast<int>(p % static_cast<std::size_t>(ranks))
                            : dealt == Dealt::all_to_rank_0 ? 0
                                                            : ranks - 1;
        auto const row    = tensor.index(p, 1);
        auto const first  = partition.first_row(world().rank(), 1);
        if (holder != sender || row < first || row >= first + partition.row_count(world().rank(), 1))
          continue;
        expected.push_back(tensor.values[p]);
        rows.insert(rows.end(), {tensor.index(p, 0), row - first, tensor.index(p, 2)});
      }
    CHECK(whole.values == expected);
    CHECK(std::vector<std::uint64_t>(whole.indices.begin(), whole.indices.end()) == rows);
    for (count_t const at_a_time : {60, 1000, 100000}) {
      auto const in_blocks = exchange<std::uint64_t>(world().host(), nonzeros, at_a_time);
      CHECK(in_blocks.values == whole.values);
      CHECK(in_blocks.indices == rows);
    }
  }
}

TEST_CASE("A share has 32-bit coordinates where they hold its block", "[mpi]") {
  Random random(18);
  auto const tensor = testing::distinct(testing::random_tensor(random, {19, 18, 7}, 400));
  auto const part   = part_of(tensor, Dealt::in_turn);
  std::vector<std::uint64_t> const indices(part.indices.begin(), part.indices.end());
  Extents const extents{19, 18, 7};
  auto const wide = distribute<double>(world(), extents, std::span<std::uint64_t const>(indices),
                                       std::span<double const>(part.values));
  auto const any  = distribute_narrow<double>(world(), extents, std::span<std::uint64_t const>(indices),
                                              std::span<double const>(part.values));
  REQUIRE(any.index() == 0);
  auto const& narrow = std::get<0>(any);
  CHECK(narrow.nnz == wide.nnz);
  CHECK(narrow.norm_squared == wide.norm_squared);
  auto const a = flat(narrow.block.indices());
  auto const b = flat(wide.block.indices());
  REQUIRE(a.size() == b.size());
  for (std::size_t e = 0; e < a.size(); ++e) REQUIRE(a[e] == b[e]);
  CHECK(flat(narrow.block.values()) == flat(wide.block.values()));
}

TEST_CASE("All ranks refuse alike", "[mpi]") {
  HostTensor const tensor{"", {4, 5}, {1, 1, 3, 4}, {1, 2}};
  CHECK_THROWS_AS(share_of<double>(tensor, {world().size() + 1, 1}), UsageError);
  CHECK_THROWS_AS(share_of<double>(tensor, {1, 1, world().size()}), UsageError);
  HostTensor outside = tensor;
  outside.indices[2] = 4;  // rank 0 alone sees it
  CHECK_THROWS_AS(share_of<double>(outside, {}), UsageError);
}

}  // namespace polyad::test
