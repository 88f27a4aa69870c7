// SPDX-License-Identifier: BSD-3-Clause
// White box: the format `sorted`. What its copies hold. Rows that begin and end at every place of a pack of
// four and of a chunk, with atomics and with the merge of borders. Runs with a hoisted factor and without.
// The same bits whenever and with however many threads a deterministic tensor is walked. Permutations
// instead of copies. What is refused.
//
// The length of a chunk depends on the space, the tensor and the threads. The tests make tensors for all
// lengths that may come up, and fail when none of them met the chunks it was made for.
#include "formats/coo/costs/sorted_tuning.hpp"
#include "formats/coo/kernels/mttkrp_sorted.hpp"
#include "formats/coo/storage/sorted.hpp"

#include <Kokkos_Core.hpp>
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numeric>
#include <set>
#include <string>
#include <vector>

#include "formats/expect_exact.hpp"
#include "polyad/testing/oracle.hpp"
#include "polyad/testing/small_tensors.hpp"
#include "support/catch.hpp"
#include "support/device_data.hpp"
#include "support/instances.hpp"
#include "support/message_of.hpp"

// The header is for merge_borders; its MTTKRP is compiled in the library.
namespace polyad::detail {
extern POLYAD_MTTKRP(Sorted, float, std::uint32_t);
extern POLYAD_MTTKRP(Sorted, double, std::uint32_t);
}  // namespace polyad::detail

namespace polyad::test {

namespace {

using Storage = SortedOptions::Storage;

template <class Scalar, class Index>
using TestSorted = Sorted<Scalar, Index, TestSpace>;

template <class Scalar, class Index>
TestSorted<Scalar, Index> build_sorted(HostTensor const& tensor, SortedOptions const& options,
                                       TestSpace const& space = TestSpace()) {
  return TestSorted<Scalar, Index>::build(space, to_device<Scalar, Index>(space, tensor), options);
}

constexpr SortedOptions with_copies(bool deterministic) {
  return {Storage::copies, deterministic, {}};
}
constexpr SortedOptions with_blocks(count_t rows) {
  return {Storage::copies, false, rows};
}

/// The output rows of a copy's nonzeros, in its order.
template <class Copy>
std::vector<std::uint64_t> rows_of(Copy const& copy) {
  auto const host = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), copy.indices);
  std::vector<std::uint64_t> rows;
  for (count_t p = 0; p < copy.nnz; ++p) rows.push_back(host(0, p));
  return rows;
}

/// Where rows of a copy begin, its first one excepted.
template <class Copy>
std::vector<count_t> row_starts(Copy const& copy) {
  auto const rows = rows_of(copy);
  std::vector<count_t> starts;
  for (count_t p = 1; p < rows.size(); ++p)
    if (rows[p] != rows[p - 1]) starts.push_back(p);
  return starts;
}

// ---- what a copy holds

template <class Scalar, class Index>
void expect_sorted_copies(HostTensor const& tensor, bool deterministic) {
  auto const X            = build_sorted<Scalar, Index>(tensor, with_copies(deterministic));
  std::size_t const order = tensor.order();
  std::size_t bytes       = 0;
  std::size_t lists       = 0;
  for (std::size_t mode = 0; mode < order; ++mode) {
    CAPTURE(tensor.name, mode, deterministic, sizeof(Scalar), sizeof(Index));
    auto const& copy = X.copy(static_cast<int>(mode));

    // The output mode, then the others by size; modes of one size keep their order.
    std::vector<std::size_t> modes{mode};
    for (std::size_t n = 0; n < order; ++n)
      if (n != mode) modes.push_back(n);
    std::stable_sort(modes.begin() + 1, modes.end(),
                     [&](std::size_t a, std::size_t b) { return tensor.extents[a] < tensor.extents[b]; });
    bool modes_match = true;
    for (std::size_t m = 0; m < order; ++m)
      modes_match = modes_match && copy.modes[m] == static_cast<int>(modes[m]);
    CHECK(modes_match);

    // The nonzeros in that order; equal ones keep theirs.
    std::vector<std::size_t> visit(tensor.nnz());
    std::iota(visit.begin(), visit.end(), std::size_t(0));
    std::stable_sort(visit.begin(), visit.end(), [&](std::size_t a, std::size_t b) {
      for (auto const n : modes)
        if (tensor.index(a, n) != tensor.index(b, n)) return tensor.index(a, n) < tensor.index(b, n);
      return false;
    });
    auto const indices = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), copy.indices);
    auto const values  = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), copy.values);
    REQUIRE(copy.nnz == tensor.nnz());
    REQUIRE(indices.extent(0) == order);
    REQUIRE(indices.extent(1) >= tensor.nnz());
    REQUIRE(values.extent(0) >= tensor.nnz());
    bool same = true;
    for (std::size_t p = 0; p < tensor.nnz(); ++p) {
      same = same && values(p) == static_cast<Scalar>(tensor.values[visit[p]]);
      for (std::size_t m = 0; m < order; ++m)
        same = same && indices(m, p) == tensor.index(visit[p], modes[m]);
    }
    CHECK(same);

    // Packs of four start at multiples of their size.
    CHECK(copy.chunk % 4 == 0);
    CHECK(copy.indices.stride(0) % 4 == 0);
    CHECK(copy.borders == (deterministic ? Borders::merge : Borders::atomics));

    // A row is cleared where nothing occurs, or where sums are added to it; never where one is stored.
    auto const cleared = flat(copy.cleared);
    std::set<double> const listed(cleared.begin(), cleared.end());
    CHECK(listed.size() == cleared.size());
    std::vector<bool> occurs(tensor.extents[mode]), is_added(tensor.extents[mode]);
    auto const rows = rows_of(copy);
    for (std::size_t p = 0; p < rows.size(); ++p) {
      occurs[rows[p]]         = true;
      bool const is_at_border = p % copy.chunk == 0 || (p + 1) % copy.chunk == 0 || p + 1 == rows.size();
      if (is_at_border) is_added[rows[p]] = true;
    }
    bool right_ones = true;
    for (std::size_t i = 0; i < occurs.size(); ++i)
      right_ones = right_ones && (listed.count(static_cast<double>(i)) == 1) ==
                                     (!occurs[i] || (is_added[i] && !deterministic));
    CHECK(right_ones);

    bytes += indices.size() * sizeof(Index) + values.size() * sizeof(Scalar);
    lists += cleared.size() * sizeof(Index);
  }
  CHECK(X.storage_bytes() == bytes + lists);
  std::size_t const padded = (tensor.nnz() + 3) / 4 * 4;
  CHECK(bytes == order * padded * (sizeof(Scalar) + order * sizeof(Index)));
}

TEST_CASE("sorted: copies hold the nonzeros in their order, in so many bytes", "[formats]") {
  // Hypersparse, order 16: the indices take three words of the sort.
  for (std::size_t const order : {1, 2, 3, 5, 16})
    for (Kind const kind : all_kinds)
      for (bool const deterministic : {false, true}) {
        auto const tensor = small_tensor(kind, order);
        expect_sorted_copies<float, std::uint32_t>(tensor, deterministic);
        expect_sorted_copies<double, std::uint64_t>(tensor, deterministic);
      }
  Random random(1);
  for (std::size_t const nnz : {2, 3, 4, 5, 7, 8, 4095, 4096, 4097, 8200}) {
    // Modes of one size; and of sizes that do not increase.
    auto const tensor = random_tensor(random, {40, 7, 40, 7}, nnz);
    expect_sorted_copies<float, std::uint64_t>(tensor, true);
    expect_sorted_copies<double, std::uint32_t>(tensor, false);
  }
}

// ---- rows, runs and chunks

/// A tensor whose mode 0 has rows of the given lengths, with rows that never occur before, between and after
/// them. A row's indices of mode 1 go round `cycle` numbers, so that a run of equal ones is as long as the
/// row's length over the cycle. Mode 2 is the longest except for mode 0. Shuffled.
HostTensor tensor_of_rows(std::vector<std::size_t> const& lengths, std::size_t cycle) {
  Random random(lengths.size() + cycle);
  HostTensor tensor{"rows", {3 * lengths.size() + 5, cycle, cycle + 40}, {}, {}};
  for (std::size_t row = 0; row < lengths.size(); ++row)
    for (std::size_t i = 0; i < lengths[row]; ++i) {
      tensor.indices.insert(tensor.indices.end(), {3 * row + 2, i % cycle, random_below(random, cycle + 40)});
      tensor.values.push_back(random_integer(random));
    }
  return reordered(tensor, random_order(random, tensor.nnz()));
}

/// The tensor in both scalars. Returns the copy of mode 0 in float.
SortedCopy<float, std::uint32_t, TestSpace> expect_exact_rows(HostTensor const& tensor, bool deterministic) {
  CAPTURE(deterministic);
  auto const in_float  = build_sorted<float, std::uint32_t>(tensor, with_copies(deterministic));
  auto const in_double = build_sorted<double, std::uint32_t>(tensor, with_copies(deterministic));
  std::size_t const n  = tensor.nnz();
  expect_exact(in_float, tensor, some_rank(n), some_layout(n));
  expect_exact(in_double, tensor, some_rank(n + 1), some_layout(n + 1));
  // The any-order kernel.
  expect_exact(build_sorted<float, std::uint64_t>(tensor, with_copies(deterministic)), tensor,
               some_rank(n + 2));
  return in_float.copy(0);
}

TEST_CASE("sorted: rows that end just before, at and just past the end of a chunk", "[formats]") {
  // Cycle 1: a run is a row. 3: runs of a third of it. 9000: of one nonzero.
  for (std::size_t const cycle : {1, 3, 9000})
    for (bool const deterministic : {false, true}) {
      std::size_t matches = 0;
      for (std::size_t const chunk : {16, 64, 128, 4096}) {
        // The last but two spans four borders.
        auto const tensor = tensor_of_rows(
            {chunk - 1, 1, chunk, chunk + 1, 1, 2, 3, 4, 5, chunk - 2, 3 * chunk + 1, chunk - 1, 7}, cycle);
        auto const copy = expect_exact_rows(tensor, deterministic);
        if (copy.chunk != chunk) continue;
        ++matches;
        std::set<count_t> offsets;
        for (auto const start : row_starts(copy)) offsets.insert(start % chunk);
        CHECK(offsets.count(chunk - 1) == 1);
        CHECK(offsets.count(0) == 1);
        CHECK(offsets.count(1) == 1);
      }
      CAPTURE(cycle, deterministic);
      CHECK(matches > 0);
    }
}

TEST_CASE("sorted: rows and runs that end at every place of a pack and of a chunk", "[formats]") {
  struct Plan {
    std::size_t length;  // the same for all rows; odd, so that they end at every place of a chunk
    std::size_t cycle;
    bool hoist;  // in float: runs of four nonzeros and more
  };
  for (Plan const plan : {Plan{5, 9000, false}, Plan{5, 1, true}, Plan{13, 2, true}, Plan{13, 5, false},
                          Plan{7, 2, false}, Plan{9, 2, true}})
    for (bool const deterministic : {false, true}) {
      CAPTURE(plan.length, plan.cycle, deterministic);
      // As many rows as a chunk has nonzeros; without the merge a host's chunks of 128 become longer from
      // 2048 nonzeros on.
      std::size_t const rows = deterministic && !is_device_space<TestSpace> ? 4099 : 131;
      auto const copy =
          expect_exact_rows(tensor_of_rows(std::vector(rows, plan.length), plan.cycle), deterministic);
      CHECK(copy.hoist == plan.hoist);
      std::set<count_t> offsets{0};  // its first row's start
      for (auto const start : row_starts(copy)) offsets.insert(start % copy.chunk);
      CHECK(offsets.size() == copy.chunk);
    }
}

template <class Scalar, class Strategy>
void expect_exact_packs(HostTensor const& tensor, count_t chunk, int mode, count_t block_rows = 0) {
  constexpr int block = 8;
  using Walk          = detail::SortedWalk<TinyVec<TestSpace, Scalar, block>, std::uint32_t, 3, Strategy>;
  using Kernel        = detail::MttkrpInOrder<Walk, false>;
  constexpr int lanes = Kernel::Row::lanes;
  TestSpace const space;
  Random random(chunk);
  std::size_t const rank  = 7;
  auto const host_factors = random_factors(random, tensor.extents, rank, random_integer);
  auto const factors      = to_device<Scalar>(space, host_factors);
  auto const X            = build_sorted<Scalar, std::uint32_t>(tensor, with_blocks(block_rows));
  auto const& copy        = X.copy(mode);
  auto const n            = static_cast<std::size_t>(mode);
  // Zero instead of the list of cleared rows, which belongs to the copy's own chunks.
  WatchedMatrix<Scalar> const V(space, RowLayout::padded, tensor.extents[n], rank, 0);
  ChunkWalk const chunks{copy.nnz, chunk, ColumnBlocks{0, 1, static_cast<int>(rank)}};
  int const team = is_device_space<TestSpace> ? 32 / lanes : 1;
  Kokkos::parallel_for("polyad::test", team_policy(space, chunks.shape(team, lanes)),
                       Kernel{{detail::SortedSource(copy),
                               OtherFactors<Scalar, 3>(factors, copy.modes),
                               {},
                               {RowsAt<Scalar>(V.matrix()), {nullptr, nullptr, 0}, block_rows > 0}},
                              chunks});
  auto const expected = exact_mttkrp<Scalar>(tensor, host_factors, n);
  CAPTURE(chunk, mode, Strategy::batch, Strategy::hoists, sizeof(Scalar));
  CHECK(violation<Scalar>(expected, V.read(), 3) == "");
  CHECK(V.trespasses() == 0);
}

TEST_CASE("sorted: packs of two and four, whose rows and runs change at every place",
          "[formats][strategies]") {
  // Short rows of all lengths in random order, and runs in them of one to nine nonzeros.
  for (std::size_t const cycle : {1, 2, 5, 900}) {
    Random random(cycle);
    std::vector<std::size_t> lengths;
    for (int row = 0; row < 400; ++row) lengths.push_back(1 + random_below(random, 9));
    auto const tensor = tensor_of_rows(lengths, cycle);
    for (count_t const chunk : {4, 8, 12, 20, 128, 5000})
      for (int mode = 0; mode < 3; ++mode) {
        expect_exact_packs<float, HoistNothing<4>>(tensor, chunk, mode);
        expect_exact_packs<float, HoistRuns<4>>(tensor, chunk, mode);
        expect_exact_packs<float, HoistNothing<2>>(tensor, chunk, mode);
        expect_exact_packs<float, HoistRuns<2>>(tensor, chunk, mode);
        expect_exact_packs<double, HoistNothing<4>>(tensor, chunk, mode);
        expect_exact_packs<double, HoistRuns<4>>(tensor, chunk, mode);
        expect_exact_packs<double, HoistNothing<2>>(tensor, chunk, mode);
        expect_exact_packs<double, HoistRuns<2>>(tensor, chunk, mode);
      }
  }
}

// ---- locality blocks

template <class Scalar, class Index>
void expect_blocks(HostTensor const& tensor, count_t block_rows) {
  auto const X            = build_sorted<Scalar, Index>(tensor, with_blocks(block_rows));
  std::size_t const order = tensor.order();
  for (std::size_t mode = 0; mode < order; ++mode) {
    CAPTURE(tensor.name, mode, block_rows, sizeof(Scalar), sizeof(Index));
    auto const& copy = X.copy(static_cast<int>(mode));
    // Sorted by range of the shortest other mode, then by the output row, then by the others.
    auto const indices = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), copy.indices);
    bool sorted        = copy.block_rows == (order > 1 ? block_rows : 0);
    for (std::size_t p = 1; p < tensor.nnz() && order > 1; ++p) {
      std::vector<std::uint64_t> before{indices(1, p - 1) / block_rows};
      std::vector<std::uint64_t> here{indices(1, p) / block_rows};
      for (std::size_t m = 0; m < order; ++m) {
        before.push_back(indices(m, p - 1));
        here.push_back(indices(m, p));
      }
      sorted = sorted && before <= here;
    }
    CHECK(sorted);
    if (order > 1) CHECK(copy.cleared.extent(0) == tensor.extents[mode]);
  }
  expect_exact(X, tensor, some_rank(tensor.nnz() + block_rows), some_layout(order + block_rows));
}

TEST_CASE("sorted: locality blocks of any size, with and without runs", "[formats]") {
  for (count_t const block_rows : {1, 2, 3, 7, 1000}) {
    for (std::size_t const order : {1, 2, 3, 4, 16})
      for (Kind const kind : all_kinds) {
        auto const tensor = small_tensor(kind, order, random_integer);
        expect_blocks<float, std::uint32_t>(tensor, block_rows);
        expect_blocks<double, std::uint64_t>(tensor, block_rows);
      }
    for (std::size_t const cycle : {1, 5, 40}) {
      auto const tensor = tensor_of_rows(std::vector(300, std::size_t(37)), cycle);
      expect_blocks<float, std::uint64_t>(tensor, block_rows);
      expect_blocks<double, std::uint32_t>(tensor, block_rows);
    }
  }
}

TEST_CASE("sorted: packs in which a block ends and the next begins", "[formats]") {
  // Every block goes through the same rows. With as many rows as a pack has nonzeros, a pack's last row is
  // the row at hand, though the others are not.
  for (std::size_t const rows : {2, 3, 4, 5}) {
    HostTensor tensor{"blocks", {rows, 40, 50}, {}, {}};
    Random random(rows);
    for (std::uint64_t j = 0; j < 40; ++j)
      for (std::uint64_t i = 0; i < rows; ++i) {
        tensor.indices.insert(tensor.indices.end(), {i, j, 5 * i + j / 10});
        tensor.values.push_back(random_integer(random));
      }
    for (count_t const chunk : {4, 8, 12, 600})
      for (int mode = 0; mode < 3; ++mode)
        for (count_t const block_rows : {1, 2}) {
          expect_exact_packs<float, HoistNothing<4>>(tensor, chunk, mode, block_rows);
          expect_exact_packs<double, HoistNothing<2>>(tensor, chunk, mode, block_rows);
        }
  }
}

TEST_CASE("sorted: devices cut long modes of short runs into blocks", "[formats]") {
  constexpr bool device = is_device_space<TestSpace>;
  using InFloat         = SortedTuning<TestSpace, float>;
  using InDouble        = SortedTuning<TestSpace, double>;
  CHECK(InFloat{10000000, 30000, 10000000}.block_rows(40000) == (device ? 512 : 0));
  CHECK(InDouble{10000000, 30000, 10000000}.block_rows(40000) == (device ? 1024 : 0));
  CHECK(InFloat{10000000, 30000, 2000000}.block_rows(40000) == 0);    // long runs: hoisted
  CHECK(InFloat{10000000, 30000, 10000000}.block_rows(3000) == 0);    // a mode that fits nearly whole
  CHECK(InFloat{10000000, 300000, 10000000}.block_rows(40000) == 0);  // less than a nonzero a row and block
  CHECK(InFloat{0, 1, 0}.block_rows(40000) == 0);
}

TEST_CASE("sorted: one row takes all nonzeros, and every nonzero has its own row", "[formats]") {
  for (bool const deterministic : {false, true}) {
    for (std::size_t const nnz : {1, 3, 4, 5, 127, 128, 129, 4095, 4096, 4097, 20011}) {
      expect_exact_rows(tensor_of_rows({nnz}, 1), deterministic);
      expect_exact_rows(tensor_of_rows({nnz}, 7), deterministic);
    }
    for (std::size_t const nnz : {2, 127, 128, 129, 4095, 4096, 4097, 9001})
      expect_exact_rows(tensor_of_rows(std::vector(nnz, std::size_t(1)), 9), deterministic);
  }
}

TEST_CASE("sorted: a row so hot that teams add its borders together", "[formats]") {
  std::size_t const nnz = 20000;
  Random random(3);
  auto tensor = random_tensor(random, {2, 300}, nnz, random_integer);
  for (std::size_t p = 0; p < nnz; ++p) tensor.indices[2 * p] = 1;
  auto const X = build_sorted<double, std::uint32_t>(tensor, {});
  CHECK(X.copy(0).borders == (is_device_space<TestSpace> ? Borders::hot : Borders::atomics));
  CHECK(X.copy(1).borders == Borders::atomics);
  for (auto const layout : kernel_layouts<TestSpace>)
    for (std::size_t const rank : {2, 10, 40}) expect_exact(X, tensor, rank, layout);
}

// ---- merging borders

std::size_t levels(count_t chunks) {
  std::size_t count = 1;
  for (count_t entries = 2 * chunks; entries > 32; entries = 2 * ((entries + 31) / 32)) ++count;
  return count;
}

/// Merges made-up borders of the given number of chunks: rows that span `length` chunks, sums of small
/// integers.
template <class Scalar, int Block>
void expect_merged(count_t chunks, std::size_t length, int rank) {
  CAPTURE(chunks, levels(chunks), length, rank, sizeof(Scalar));
  using Format = TestSorted<Scalar, std::uint32_t>;
  TestSpace const space;
  Random random(chunks + length);
  count_t const entries = border_entries(chunks);
  auto const columns    = static_cast<count_t>(rank);
  typename Format::workspace_type workspace;
  workspace.rows       = Kokkos::View<std::uint32_t*, TestSpace::device_type>("rows", entries);
  workspace.sums       = make_factor_matrix<Scalar>(space, "polyad::test", entries, columns);
  auto const host_rows = Kokkos::create_mirror_view(workspace.rows);
  // Levels after the first hold what must not be read before it is written.
  Kokkos::deep_copy(host_rows, 77);
  HostMatrix sums(entries, workspace.sums.extent(1));
  for (double& entry : sums.data) entry = std::numeric_limits<double>::quiet_NaN();

  constexpr std::uint32_t no_row = std::numeric_limits<std::uint32_t>::max();
  HostMatrix expected(2 * chunks / length + 4, columns);
  for (double& entry : expected.data) entry = std::numeric_limits<double>::quiet_NaN();
  std::uint32_t row = 1;
  for (count_t c = 0; c < chunks; ++c)
    for (count_t const entry : {2 * c, 2 * c + 1}) {
      if (entry > 0 && random_below(random, 2 * length) == 0 && row + 1 < expected.rows) ++row;
      // A chunk of one row has no last one; its row may end there all the same.
      bool const missing = entry % 2 == 1 && (random_below(random, 2) == 0 || row == host_rows(entry - 1));
      host_rows(entry)   = missing ? no_row : row;
      if (missing) continue;
      for (count_t r = 0; r < columns; ++r) {
        sums(entry, r) = random_integer(random);
        double& target = expected(row, r);
        target         = std::isnan(target) ? sums(entry, r) : target + sums(entry, r);
      }
    }
  Kokkos::deep_copy(workspace.rows, host_rows);
  from_host(space, sums.data, workspace.sums);
  WatchedMatrix<Scalar> const V(space, RowLayout::padded, expected.rows, columns);
  detail::merge_borders<TestSpace, Scalar, std::uint32_t, Block>(space, workspace, chunks,
                                                                 ColumnBlocks{0, 1, rank}, V.matrix());
  auto const actual = V.read();
  bool same         = true;  // NaN where no border is: the merge writes nothing there
  for (std::size_t e = 0; e < actual.size(); ++e)
    same = same && (actual[e] == expected.data[e] || (std::isnan(actual[e]) && std::isnan(expected.data[e])));
  CHECK(same);
  CHECK(V.trespasses() == 0);
}

TEST_CASE("sorted: borders merge over one to four levels", "[formats]") {
  // Level by level 32 borders become two. The counts are close to where a level begins.
  CHECK(levels(16) == 1);
  CHECK(levels(17) == 2);
  CHECK(levels(256) == 2);
  CHECK(levels(257) == 3);
  CHECK(levels(4097) == 4);
  for (std::size_t const length : {1, 2, 5, 16, 40, 700, 1000000})
    for (count_t const chunks :
         {1, 2, 15, 16, 17, 31, 32, 33, 255, 256, 257, 1023, 1024, 1025, 4096, 4097, 9999}) {
      expect_merged<float, 4>(chunks, length, 4);
      expect_merged<double, 4>(chunks, length, 3);
      if (chunks < 1000) expect_merged<float, 32>(chunks, length, 29);
      if (chunks < 1000) expect_merged<double, 16>(chunks, length, 16);
    }
}

TEST_CASE("sorted: entries of all levels fit the workspace", "[formats]") {
  CHECK(border_entries(1) == 2);
  CHECK(border_entries(16) == 32);
  CHECK(border_entries(17) == 34 + 4);
  CHECK(border_entries(257) == 514 + 34 + 4);
  CHECK(border_entries(4097) == 8194 + 514 + 34 + 4);
  auto const tensor = tensor_of_rows({20011}, 7);
  for (bool const deterministic : {false, true}) {
    auto const X         = build_sorted<float, std::uint32_t>(tensor, with_copies(deterministic));
    auto const workspace = X.make_workspace(TestSpace(), 5);
    count_t entries      = 0;
    for (int n = 0; n < 3; ++n) {
      count_t const chunks = (X.copy(n).nnz + X.copy(n).chunk - 1) / X.copy(n).chunk;
      if (deterministic) entries = std::max(entries, border_entries(chunks));
    }
    CHECK((entries > 0) == deterministic);
    CHECK(workspace.rows.extent(0) == entries);
    CHECK(workspace.sums.extent(0) == entries);
    CHECK(workspace.sums.stride(0) == 8);
  }
}

TEST_CASE("sorted: a walk whose merge has three levels", "[formats]") {
  // A host's chunks have 4096 nonzeros, a device's 64 or 128.
  Random random(4);
  auto const tensor = random_tensor(random, {4, 90000}, 260 * 4096 - 1, random_integer);
  auto const X      = build_sorted<double, std::uint32_t>(tensor, with_copies(true));
  auto const& copy  = X.copy(0);
  CHECK(levels((copy.nnz + copy.chunk - 1) / copy.chunk) >= 3);
  expect_exact(X, tensor, 3);
}

// ---- the same bits

template <class Scalar>
std::vector<std::vector<double>> bits_of(HostTensor const& tensor, std::size_t rank, TestSpace const& space,
                                         bool deterministic) {
  Random random(rank);
  auto const factors = to_device<Scalar>(space, random_factors(random, tensor.extents, rank));
  auto const X       = build_sorted<Scalar, std::uint32_t>(tensor, with_copies(deterministic), space);
  auto workspace     = X.make_workspace(space, rank);
  std::vector<std::vector<double>> results;
  for (std::size_t mode = 0; mode < tensor.order(); ++mode) {
    WatchedMatrix<Scalar> const V(space, RowLayout::padded, tensor.extents[mode], rank);
    mttkrp(space, X, factors, static_cast<int>(mode), workspace, V.matrix());
    results.push_back(V.read());
  }
  return results;
}

/// Modes with a few hot rows, with rows of several thousand nonzeros, and with rows of one or two.
HostTensor tensor_for_bits(std::size_t order) {
  Random random(order);
  std::vector<std::uint64_t> extents{3, 20, 40000, 5};
  extents.resize(order);
  return random_tensor(random, extents, 60000);
}

template <class Scalar>
void expect_same_bits(std::vector<TestSpace> const& spaces) {
  for (std::size_t const order : {3, 4})
    for (std::size_t const rank : {1, 16, 37}) {
      auto const tensor = tensor_for_bits(order);
      auto const first  = bits_of<Scalar>(tensor, rank, spaces[0], true);
      for (std::size_t i = 1; i < spaces.size(); ++i) {
        CAPTURE(order, rank, sizeof(Scalar), i);
        CHECK((bits_of<Scalar>(tensor, rank, spaces[i], true) == first));
      }
    }
}

TEST_CASE("sorted: deterministic means the same bits in every run", "[formats][figures]") {
  expect_same_bits<float>(std::vector<TestSpace>(5));
  expect_same_bits<double>(std::vector<TestSpace>(5));
}

/// Whether the instances run with the given numbers of threads, one instance for each number.
template <class Space>
void expect_threads(std::vector<Space> const& spaces, std::vector<std::size_t> const& threads) {
  if constexpr (!is_device_space<Space>)
    for (std::size_t i = 0; i < spaces.size() && spaces.size() == threads.size(); ++i)
      CHECK(threads_of(spaces[i]) == threads[i]);
}

TEST_CASE("sorted: deterministic means the same bits on every instance, whatever its threads",
          "[formats][figures]") {
  auto const spaces = instances_of<TestSpace>({1, 2, 4, 7});
  expect_threads(spaces, {1, 2, 4, 7});
  expect_same_bits<float>(spaces);
  expect_same_bits<double>(spaces);
  // The same holds between processes, whose default instance has other threads.
  auto const X = build_sorted<double, std::uint32_t>(tensor_for_bits(3), with_copies(true));
  for (int mode = 0; mode < 3; ++mode)
    if (!is_device_space<TestSpace>) CHECK(X.copy(mode).chunk == 4096);
}

TEST_CASE("sorted: the sums stay within the bound with the merge too", "[formats]") {
  TestSpace const space;
  for (std::size_t const order : {2, 3, 4, 5, 6}) {
    Random random(order);
    std::vector<std::uint64_t> extents{3, 20, 4000, 5, 7, 2};
    extents.resize(order);
    auto const tensor    = random_tensor(random, extents, 30000);
    auto const in_float  = bits_of<float>(tensor, 21, space, true);
    auto const in_double = bits_of<double>(tensor, 21, space, true);
    Random again(21);  // the factors that bits_of makes
    auto const factors = random_factors(again, extents, 21);
    for (std::size_t mode = 0; mode < order; ++mode) {
      CAPTURE(order, mode);
      auto const expected = oracle_mttkrp(tensor, factors, mode);
      CHECK(violation<float>(expected, in_float[mode], order) == "");
      CHECK(violation<double>(expected, in_double[mode], order) == "");
    }
  }
}

// ---- orders, empty tensors

template <class Scalar, class Index>
void expect_order(std::size_t order) {
  for (bool const deterministic : {false, true}) {
    CAPTURE(deterministic);
    for (Kind const kind : {Kind::empty, Kind::one_nonzero, Kind::one_long_slice, Kind::duplicates,
                            Kind::shuffled, Kind::runs_at_borders, Kind::hypersparse}) {
      auto const tensor = small_tensor(kind, order, random_integer);
      auto const X      = build_sorted<Scalar, Index>(tensor, with_copies(deterministic));
      auto const number = order + static_cast<std::size_t>(kind);
      expect_exact(X, tensor, some_rank(number), some_layout(number));
    }
  }
}

TEST_CASE("sorted: orders 1, 2, 3, 5 and 16, with no nonzeros and with some", "[formats]") {
  for (std::size_t const order : {1, 2, 3, 5, 16}) {
    expect_order<float, std::uint32_t>(order);
    expect_order<float, std::uint64_t>(order);
    expect_order<double, std::uint32_t>(order);
    expect_order<double, std::uint64_t>(order);
  }
}

TEST_CASE("sorted: a mode without rows", "[formats]") {
  HostTensor const tensor{"no rows", {4, 0, 3}, {}, {}};
  for (bool const deterministic : {false, true})
    expect_exact(build_sorted<float, std::uint32_t>(tensor, with_copies(deterministic)), tensor, 5);
}

// ---- permutations instead of copies

template <class Scalar, class Index>
void expect_permutations(HostTensor const& tensor) {
  TestSpace const space;
  auto const X = build_sorted<Scalar, Index>(tensor, {Storage::permutations, false, {}});
  auto const permuted =
      CooPermuted<Scalar, Index, TestSpace>::build(space, to_device<Scalar, Index>(space, tensor));
  CAPTURE(tensor.name, sizeof(Scalar), sizeof(Index));
  REQUIRE(X.permuted().has_value());
  CHECK(X.storage_bytes() == permuted.storage_bytes());
  CHECK(X.norm_squared() == permuted.norm_squared());
  CHECK(X.nnz() == tensor.nnz());
  CHECK(X.extents() == permuted.extents());
  bool same = true;
  for (int n = 0; n < X.extents().order(); ++n)
    same = same && flat(X.permuted()->permutation(n)) == flat(permuted.permutation(n));
  CHECK(same);
  CHECK(X.make_workspace(space, 5).rows.extent(0) == 0);
  expect_exact(X, tensor, some_rank(tensor.nnz()), some_layout(tensor.nnz() + tensor.order()));
}

TEST_CASE("sorted: permutations in place of copies are coo-permuted's", "[formats]") {
  for (std::size_t const order : {1, 2, 3, 5})
    for (Kind const kind : {Kind::empty, Kind::one_long_slice, Kind::runs_at_borders}) {
      expect_permutations<float, std::uint32_t>(small_tensor(kind, order, random_integer));
      expect_permutations<double, std::uint64_t>(small_tensor(kind, order, random_integer));
    }
  auto const tensor = small_tensor(Kind::shuffled, 3);
  CHECK(!build_sorted<float, std::uint32_t>(tensor, with_copies(false)).permuted());
  CHECK(!build_sorted<float, std::uint32_t>(tensor, {}).permuted());  // there is room for copies
}

// ---- what is refused

TEST_CASE("sorted: permutations are not deterministic", "[formats]") {
  auto const tensor = small_tensor(Kind::shuffled, 3);
  CHECK(message_of([&] { build_sorted<float, std::uint32_t>(tensor, {Storage::permutations, true, {}}); }) ==
        "permutations sum with atomics: they are not deterministic");
  CHECK(message_of([&] { build_sorted<float, std::uint32_t>(tensor, {Storage::copies, true, 8}); }) ==
        "locality blocks sum with atomics: they are not deterministic");
}

TEST_CASE("sorted: a mode with more rows than memory has bytes is refused before anything is allocated",
          "[formats]") {
  HostTensor tensor{"long", {2, std::uint64_t(1) << 45}, {1, 7}, {1.0}};
  for (bool const deterministic : {false, true})
    CHECK_THROWS_AS((build_sorted<float, std::uint64_t>(tensor, with_copies(deterministic))), MemoryError);
}

}  // namespace
}  // namespace polyad::test
