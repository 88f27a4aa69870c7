// SPDX-License-Identifier: BSD-3-Clause
// White box: the format `alto`. What its arrays hold: every nonzero once, in its order, in groups that no
// border of a chunk crosses. The rows that are private to a chunk. The MTTKRP with any modes grouped, any
// number of chunks, copies and locks. Rows without nonzeros. The same bits with any number of threads.
#include "formats/blco/storage/alto.hpp"

#include <Kokkos_Core.hpp>
#include <algorithm>
#include <array>
#include <chrono>
#include <map>
#include <vector>

#include "formats/blco/build/merge_lists.hpp"
#include "formats/blco/build/touched_rows.hpp"
#include "polyad/testing/oracle.hpp"
#include "polyad/testing/small_tensors.hpp"
#include "support/catch.hpp"
#include "support/device_data.hpp"
#include "support/instances.hpp"
#include "support/oracle.hpp"
#include "tensor/linearize.hpp"

namespace polyad::test {
namespace {

using Order = AltoOptions::Order;
template <class Scalar, class Index>
using TestAlto = Alto<Scalar, Index, TestSpace>;

AltoOptions given(std::uint32_t grouped, count_t chunks, int slab = 0, int slab_bits = 0) {
  AltoOptions options;
  options.choice = Order::given;
  options.order  = {grouped, slab, slab_bits, (grouped + chunks) % 2 == 1};
  options.chunks = chunks;
  return options;
}

/// The row of mode n of every nonzero, group by group.
template <class Format>
std::vector<std::uint64_t> rows_of(Format const& X, int n) {
  std::vector<std::uint64_t> rows(X.nnz());
  for (int m = 0; m < X.extents().order(); ++m) {
    if (X.modes()[std::size_t(m)] != n) continue;
    if (m >= X.grouped()) {
      for (count_t p = 0; p < X.nnz(); ++p) rows[p] = X.indices()(m - X.grouped(), p);
    } else {
      for (count_t g = 0; g < X.groups(); ++g)
        for (count_t p = X.starts()(g); p < X.starts()(g + 1); ++p) rows[p] = X.group_indices()(m, g);
    }
  }
  return rows;
}

template <class Scalar, class Index>
void expect_arrays(HostTensor const& tensor, AltoOptions const& options) {
  TestSpace const space;
  auto const coo = to_device<Scalar, Index>(space, tensor);
  auto const X   = TestAlto<Scalar, Index>::build(space, coo, options);
  int const N    = int(tensor.order());
  CAPTURE(tensor.name, options.order.grouped, options.chunks, options.order.slab_bits);
  CHECK(X.indices().extent(1) % 4 == 0);  // a device reads packs of four

  // Every nonzero, in the linear order.
  auto const layout =
      LinearLayout(coo.extents(), options.order.grouped, options.order.slab, options.order.slab_bits);
  auto const order = linear_order<Index>(space, coo, layout);
  std::vector<std::vector<std::uint64_t>> rows;
  for (int n = 0; n < N; ++n) rows.push_back(rows_of(X, n));
  for (count_t i = 0; i < X.nnz(); ++i) {
    REQUIRE(X.values()(i) == static_cast<Scalar>(tensor.values[order(i)]));
    for (int n = 0; n < N; ++n) REQUIRE(rows[std::size_t(n)][i] == tensor.index(order(i), std::size_t(n)));
  }
  if (X.nnz() == 0) {
    CHECK(X.chunks() == 0);
    CHECK(X.groups() == 0);
    return;
  }

  // The groups cover the nonzeros, no two that follow each other in a chunk are the same.
  CHECK(X.starts()(0) == 0);
  CHECK(X.starts()(X.groups()) == X.nnz());
  CHECK(X.first_groups()(0) == 0);
  CHECK(X.first_groups()(X.chunks()) == X.groups());
  CHECK(X.chunks() <= std::max<count_t>(1, options.chunks));
  for (count_t s = 0; s < X.chunks(); ++s) {
    REQUIRE(X.first_groups()(s) < X.first_groups()(s + 1));
    for (count_t g = X.first_groups()(s) + 1; g < X.first_groups()(s + 1); ++g) {
      REQUIRE(X.starts()(g) > X.starts()(g - 1));
      bool differs = false;
      for (int m = 0; m < X.grouped(); ++m)
        differs = differs || X.group_indices()(m, g) != X.group_indices()(m, g - 1);
      REQUIRE(differs);
    }
  }
  CHECK(X.storage_bytes() == X.nnz() * (sizeof(Scalar) + std::size_t(N - X.grouped()) * sizeof(Index)) +
                                 X.groups() * std::size_t(1 + X.grouped()) * sizeof(Index) +
                                 X.long_rows().storage_bytes());

  // A row that two chunks touch is private to all of them but one, and no two copies share a slot.
  for (int n = 0; n < N; ++n) {
    std::map<std::uint64_t, std::vector<count_t>> touching;
    for (count_t s = 0; s < X.chunks(); ++s)
      for (count_t p = X.starts()(X.first_groups()(s)); p < X.starts()(X.first_groups()(s + 1)); ++p)
        touching[rows[std::size_t(n)][p]].push_back(s);
    PrivateRows const* const own = X.private_rows().of(n);
    for (auto& [row, chunks] : touching) {
      chunks.erase(std::unique(chunks.begin(), chunks.end()), chunks.end());
      std::size_t direct = 0;
      for (auto const s : chunks) direct += row < own[s].first || row >= own[s].first + own[s].count ? 1 : 0;
      REQUIRE(direct <= 1);
    }
    count_t slot = 0;
    for (count_t s = 0; s < X.chunks(); ++s) {
      CHECK(own[s].slot == slot);
      CHECK(own[s].first + own[s].count <= tensor.extents[std::size_t(n)]);
      slot += own[s].count;
    }
    CHECK(X.private_rows().copied_rows(n) == slot);
    CHECK((X.chunks() > 1 || slot == 0));
  }
}

template <class Scalar, class Index>
void expect_right(HostTensor const& tensor, AltoOptions const& options, std::size_t rank) {
  TestSpace const space;
  Random random(rank);
  auto const host_factors = random_factors(random, tensor.extents, rank);
  auto const X = TestAlto<Scalar, Index>::build(space, to_device<Scalar, Index>(space, tensor), options);
  auto const factors = to_device<Scalar>(space, host_factors, kernel_layout<TestSpace>(3));
  auto workspace     = X.make_workspace(space, rank);
  for (std::size_t mode = 0; mode < tensor.order(); ++mode) {
    auto const expected = oracle_mttkrp(tensor, host_factors, mode);
    CAPTURE(tensor.name, mode, rank, options.order.grouped, options.chunks, options.most_private_rows);
    // Twice, into rows with and without room for whole registers.
    for (RowLayout const rows : {kernel_layout<TestSpace>(3), RowLayout::roomy}) {
      WatchedMatrix<Scalar> V(space, rows, tensor.extents[mode], rank);
      mttkrp(space, X, factors, int(mode), workspace, V.matrix());
      space.fence("polyad::test");
      REQUIRE(violation<Scalar>(expected, V.read(), tensor.order()) == "");
      REQUIRE(V.trespasses() == 0);
    }
  }
}

TEST_CASE("private rows: what earlier chunks may write", "[formats][alto]") {
  auto const counts = [](std::vector<RowRange> const& touched) {
    std::vector<std::array<count_t, 3>> result;
    for (auto const& own : private_rows(touched)) result.push_back({own.first, own.count, own.slot});
    return result;
  };
  using Rows = std::vector<std::array<count_t, 3>>;
  CHECK(counts({{3, 9}}) == Rows{{0, 0, 0}});
  CHECK(counts({{0, 4}, {5, 9}}) == Rows{{0, 0, 0}, {0, 0, 0}});  // neighbours
  CHECK(counts({{0, 5}, {5, 9}}) == Rows{{0, 0, 0}, {5, 1, 0}});  // one row in common
  CHECK(counts({{0, 9}, {0, 9}, {2, 3}}) == Rows{{0, 0, 0}, {0, 10, 0}, {2, 2, 10}});
  CHECK(counts({{4, 6}, {0, 9}}) == Rows{{0, 0, 0}, {4, 3, 0}});                      // inside
  CHECK(counts({{0, 1}, {8, 9}, {0, 9}}) == Rows{{0, 0, 0}, {0, 0, 0}, {0, 10, 0}});  // with a gap
  CHECK(counts({{0, 5}, {4, 6}}) == Rows{{0, 0, 0}, {4, 3, 0}});  // two of three: all three
  CHECK(private_rows(std::vector<RowRange>{{0, 5}, {4, 6}})[1].alike);
  CHECK(!private_rows(std::vector<RowRange>{{0, 4}, {4, 6}})[1].alike);
  CHECK(private_rows(std::vector<RowRange>{{0, 4}, {4, 6}}, 3)[1].alike);
  CHECK(private_rows(std::vector<RowRange>{{0, 4}, {4, 6}}, 3)[1].count == 3);
  CHECK(private_rows(std::vector<RowRange>{{0, 4}, {4, 6}}, 2)[1].count == 1);
  CHECK(private_rows(std::vector<RowRange>{{0, 4}, {5, 6}}, 9)[1].count == 0);
  CHECK(counts({{0, 3}, {}, {3, 5}}) == Rows{{0, 0, 0}, {0, 0, 0}, {3, 1, 0}});  // one without nonzeros
}

TEST_CASE("private rows: as a comparison of each pair of chunks finds them", "[formats][alto]") {
  Random random(11);
  for (int run = 0; run < 200; ++run) {
    std::vector<RowRange> touched(random_below(random, 40) + 1);
    for (auto& range : touched) {
      count_t const first = random_below(random, 100);
      if (random_below(random, 8) > 0) range = {first, first + random_below(random, run % 2 == 0 ? 4 : 60)};
    }
    auto const found = private_rows(touched, count_t(run % 3));
    for (std::size_t s = 0; s < touched.size(); ++s) {
      RowRange shared;
      for (std::size_t t = 0; t < s; ++t) {
        RowRange const both{std::max(touched[s].first, touched[t].first),
                            std::min(touched[s].last, touched[t].last)};
        if (!both.empty()) shared.include(both);
      }
      CAPTURE(run, s);
      REQUIRE((found[s].count == 0) == shared.empty());
      if (shared.empty()) continue;
      bool const all = found[s].alike;
      REQUIRE(found[s].first == (all ? touched[s] : shared).first);
      REQUIRE(found[s].first + found[s].count - 1 == (all ? touched[s] : shared).last);
    }
  }
}

TEST_CASE("private rows: the chunks that have copies of a group of rows", "[formats][alto]") {
  Random random(12);
  for (int run = 0; run < 50; ++run) {
    std::vector<PrivateRows> chunks(random_below(random, 60) + 1);
    RowRange merged;
    for (auto& own : chunks) {
      if (random_below(random, 3) == 0) continue;
      own.first = 1000 + random_below(random, 500);
      own.count = 1 + random_below(random, run % 2 == 0 ? 3 : 300);
      merged.include(RowRange{own.first, own.first + own.count - 1});
    }
    MergeLists<HostOf<TestSpace>> const lists(merged, chunks);
    if (merged.empty()) {
      CHECK(lists.size() == 0);
      continue;
    }
    auto const list = lists.list();
    count_t entry   = 0;
    for (count_t first = merged.first; first <= merged.last; first += rows_of_merge_group) {
      count_t const group = (first - merged.first) / rows_of_merge_group;
      REQUIRE(list.starts[group] == entry);
      for (count_t s = 0; s < chunks.size(); ++s)
        if (chunks[s].count > 0 && chunks[s].first < first + rows_of_merge_group &&
            chunks[s].first + chunks[s].count > first)
          REQUIRE(list.chunks[entry++] == s);
      REQUIRE(list.starts[group + 1] == entry);
    }
    CHECK(lists.size() == entry);
  }
}

TEST_CASE("private rows: of a million chunks", "[formats][alto]") {
  // The pairs of chunks are 5e11: comparing each would take minutes, and this takes less than a second.
  std::vector<RowRange> touched(1000000);
  for (count_t s = 0; s < touched.size(); ++s)
    touched[s] = s % 2 == 0 ? RowRange{3 * s, 3 * s + 1} : RowRange{3 * (s - 1), 3 * s + 1};
  auto const start   = std::chrono::steady_clock::now();
  auto const found   = private_rows(touched);
  auto const seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  CHECK(found[0].count == 0);
  CHECK(found[1].first == 0);
  CHECK(found[999999].first == 3 * 999998);
  CHECK(seconds < 20);
}

TEST_CASE("alto: its arrays, with any modes grouped", POLYAD_HOST_ONLY "[formats][alto]") {
  for (Kind const kind : all_kinds)
    for (std::size_t const order : {1, 2, 3, 4, 6}) {
      auto const tensor = small_tensor(kind, order);
      for (std::uint32_t grouped = 0; grouped + 1 < 1U << order; grouped += order > 4 ? 5 : 1)
        for (count_t const chunks : {1, 2, 7}) {
          expect_arrays<double, std::uint32_t>(tensor, given(grouped, chunks));
          if (grouped != 0 && grouped % 2 == 0 && tensor.extents[0] > 4)
            expect_arrays<float, std::uint64_t>(tensor, given(grouped, chunks, 0, 2));
        }
    }
}

TEST_CASE("alto: any modes grouped, any number of chunks, copies and locks", "[formats][alto]") {
  for (Kind const kind : all_kinds)
    for (std::size_t const order : {1, 2, 3, 4, 5, 6}) {
      auto const tensor = small_tensor(kind, order);
      for (std::uint32_t grouped = 0; grouped + 1 < 1U << order; grouped += order > 3 ? 3 : 1)
        for (count_t const chunks : {1, 3, 8}) {
          auto options              = given(grouped, chunks);
          std::size_t const rank    = std::array{1, 10, 16, 20, 33}[(grouped + order + chunks) % 5];
          options.most_private_rows = (grouped + chunks) % 2;  // one: nearly all modes are locked
          expect_right<double, std::uint32_t>(tensor, options, rank);
          if (grouped % 3 == 1) expect_right<float, std::uint64_t>(tensor, options, rank);
        }
    }
}

HostTensor few_nonzeros() {
  return {"few", {1, 5, 1}, {0, 4, 0, 0, 1, 0, 0, 4, 0}, {2, 3, 5}};
}

TEST_CASE("alto: more chunks than nonzeros, and modes of one row", "[formats][alto]") {
  for (std::uint32_t const grouped : {0, 1, 2, 3, 5})
    for (count_t const chunks : {1, 2, 3, 100})
      expect_right<double, std::uint32_t>(few_nonzeros(), given(grouped, chunks), 4);
}

TEST_CASE("alto: its arrays with more chunks than nonzeros", POLYAD_HOST_ONLY "[formats][alto]") {
  for (std::uint32_t const grouped : {0, 1, 2, 3, 5})
    for (count_t const chunks : {1, 2, 3, 100})
      expect_arrays<double, std::uint32_t>(few_nonzeros(), given(grouped, chunks));
}

TEST_CASE("alto: rows are locked where copies would be too many", POLYAD_HOST_ONLY "[formats][alto]") {
  auto const tensor = small_tensor(Kind::shuffled, 3);
  auto options      = given(0, 4);
  TestSpace const space;
  auto const coo  = to_device<double, std::uint32_t>(space, tensor);
  auto const free = TestAlto<double, std::uint32_t>::build(space, coo, options);
  for (int n = 0; n < 3; ++n) CHECK(!free.locked(n));
  CHECK(free.make_workspace(space, 4).copies.extent(0) ==
        std::max({free.private_rows().copied_rows(0), free.private_rows().copied_rows(1),
                  free.private_rows().copied_rows(2)}));
  CHECK(free.make_workspace(space, 4).locks.extent(0) == 0);
  options.most_private_rows = 1;
  auto const locked         = TestAlto<double, std::uint32_t>::build(space, coo, options);
  for (int n = 0; n < 3; ++n) CHECK(locked.locked(n));
  CHECK(locked.make_workspace(space, 4).copies.extent(0) == 0);
  CHECK(locked.make_workspace(space, 4).locks.extent(0) == RowLocks::length);
  // A mode beyond 2^31 rows of which three occur.
  HostTensor const long_mode{
      "long", {count_t(1) << 31, 3}, {0, 0, 5, 1, (count_t(1) << 31) - 1, 2}, {1, 2, 3}};
  auto const X = TestAlto<double, std::uint32_t>::build(
      space, to_device<double, std::uint32_t>(space, long_mode), given(0, 3));
  CHECK(X.private_rows().copied_rows(0) <= count_t(1) << 31);
}

TEST_CASE("alto: a workspace of another tensor or rank is refused", POLYAD_HOST_ONLY "[formats][alto]") {
  TestSpace const space;
  auto const tensor = small_tensor(Kind::shuffled, 3);
  auto const X      = TestAlto<double, std::uint32_t>::build(
      space, to_device<double, std::uint32_t>(space, tensor), given(0, 3));
  FactorMatrices<double, TestSpace> const factors(space, X.extents(), 8);
  auto const V = make_factor_matrix<double>(space, "polyad::test", tensor.extents[0], 8);
  auto narrow  = X.make_workspace(space, 7);
  AltoWorkspace<double, TestSpace> empty;
  CHECK_THROWS_AS(mttkrp(space, X, factors, 0, narrow, V), UsageError);
  CHECK_THROWS_AS(mttkrp(space, X, factors, 0, empty, V), UsageError);
}

TEST_CASE("alto: a device refuses deterministic sums, a host has them", "[formats][alto]") {
  TestSpace const space;
  auto const coo = to_device<float, std::uint32_t>(space, small_tensor(Kind::shuffled, 3));
  AltoOptions options;
  options.deterministic = true;
  if (is_device_space<TestSpace>)
    CHECK_THROWS_AS((TestAlto<float, std::uint32_t>::build(space, coo, options)), UsageError);
  else
    CHECK(TestAlto<float, std::uint32_t>::build(space, coo, options).chunks() == 16);
}

TEST_CASE("alto: deterministic sums have the same bits whatever the threads",
          POLYAD_HOST_ONLY "[formats][alto]") {
  TestSpace const space;
  Random random(3);
  auto const tensor = random_tensor(random, {40, 1000, 30}, 20000);
  auto const coo    = to_device<float, std::uint32_t>(space, tensor);
  AltoOptions options;
  options.deterministic = true;
  auto const factors    = to_device<float>(space, random_factors(random, tensor.extents, 9));
  std::vector<std::vector<double>> first;
  for (TestSpace const& other : instances_of<TestSpace>({1, 2, 7})) {
    auto const X   = TestAlto<float, std::uint32_t>::build(other, coo, options);
    auto workspace = X.make_workspace(other, 9);
    CHECK(X.chunks() == 16);
    for (int again = 0; again < 3; ++again)
      for (int mode = 0; mode < 3; ++mode) {
        auto const V = make_factor_matrix<float>(other, "polyad::test", tensor.extents[std::size_t(mode)], 9);
        mttkrp(other, X, factors, mode, workspace, V);
        other.fence("polyad::test");
        if (first.size() < 3)
          first.push_back(flat(V));
        else
          CHECK((flat(V) == first[std::size_t(mode)]));
      }
  }
}

}  // namespace
}  // namespace polyad::test
