// SPDX-License-Identifier: BSD-3-Clause
// Segmented sums: what is handed over, and when; and where each policy puts it. TinyVec's atomics for whole
// blocks and for scratch memory are tested with them.
#include "polyad/kernel/segmented_reduce.hpp"

#include <Kokkos_Core.hpp>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "polyad/kernel/rank_dispatch.hpp"
#include "polyad/kernel/row_form.hpp"
#include "support/catch.hpp"
#include "support/device_data.hpp"

namespace polyad::test {

/// Writes down every sum that is handed over, in the order in which that happens.
template <class Scalar>
struct WriteDown {
  std::uint32_t* keys;
  Scalar* sums;  // entries x R
  count_t* count;
  count_t stride;
  Columns columns;
  template <class Row>
  KOKKOS_FUNCTION void operator()(std::uint32_t key, Row const& sum) const {
    keys[*count] = key;  // every lane writes the same
    sum.store(sums + *count * stride, columns);
    ++*count;
  }
};

/// Walks `keys` with products that are rows of a matrix, one thread for each policy and chunk of the keys.
template <class Space, class Scalar, int Block, RowForm Form>
struct WalkSegments {
  using Row = TinyVec<Space, Scalar, Block, Form>;
  Kokkos::View<std::uint32_t*, typename Space::device_type> keys;
  FactorMatrix<Scalar, Space> products;  // as many rows as keys
  int chunk;
  int rank;
  FactorMatrix<Scalar, Space> added;    // atomically
  FactorMatrix<Scalar, Space> stashed;  // by way of a stash
  int rows;

  template <class Flush>
  KOKKOS_FUNCTION void walk(int begin, int end, Columns columns, Flush const& flush) const {
    SegmentedSum<Row, std::uint32_t> segment(keys(begin));
    for (int i = begin; i < end; ++i)
      segment.add(keys(i), Row(products.data() + i * products.stride(0), columns), flush);
    segment.finish(flush);
  }

  template <class Member>
  KOKKOS_FUNCTION void operator()(Member const& member) const {
    auto* const stash = static_cast<Scalar*>(member.team_scratch(0).get_shmem_aligned(
        static_cast<count_t>(rows * Block) * sizeof(Scalar), row_alignment));
    Kokkos::parallel_for(Kokkos::TeamVectorRange(member, rows * Block), [&](int i) { stash[i] = Scalar(0); });
    member.team_barrier();
    int const count = static_cast<int>(keys.extent(0));
    for (int begin = member.team_rank() * chunk; begin < count; begin += member.team_size() * chunk) {
      int const end = Kokkos::min(count, begin + chunk);
      Kokkos::parallel_for(Kokkos::ThreadVectorRange(member, Row::lanes), [&](int const lane) {
        Columns const columns = Row::columns(0, rank, lane);
        if (columns.count <= 0) return;
        walk(begin, end, columns,
             AddAtomically<Scalar>{added.data(), static_cast<count_t>(added.stride(0)), columns, lane, rank});
        walk(begin, end, columns, AddToStash<Scalar>{stash, Block, columns});
      });
    }
    member.team_barrier();
    if (member.team_rank() > 0) return;
    Kokkos::parallel_for(Kokkos::ThreadVectorRange(member, Row::lanes), [&](int const lane) {
      Columns const columns = Row::columns(0, rank, lane);
      if (columns.count <= 0) return;
      for (int row = 0; row < rows; ++row)
        Row(stash + row * Block, columns)
            .store(stashed.data() + row * static_cast<int>(stashed.stride(0)), columns);
    });
  }
};

namespace {

constexpr int test_rows = 9;

/// Runs of keys: long ones, single ones, one that comes again, one at each end of every chunk.
std::vector<std::uint32_t> some_keys() {
  return {3, 3, 3, 3, 3, 0, 1, 1, 8, 8, 8, 8, 3, 3, 2, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 0, 5};
}

template <class Scalar, int Block, RowForm Form>
void expect_sums(int rank, int chunk) {
  using Kernel = WalkSegments<TestSpace, Scalar, Block, Form>;
  CAPTURE(sizeof(Scalar), Block, static_cast<int>(Form), rank, chunk);
  TestSpace const space;
  auto const keys  = some_keys();
  auto const R     = static_cast<std::size_t>(rank);
  auto const count = keys.size();
  HostMatrix products(count, R);
  HostMatrix expected(test_rows, R);
  for (std::size_t i = 0; i < count; ++i)
    for (std::size_t r = 0; r < R; ++r) {
      products(i, r) = static_cast<double>(i * R + r + 1);
      expected(keys[i], r) += products(i, r);
    }
  Kokkos::View<std::uint32_t*, TestSpace::device_type> const device_keys("keys", count);
  auto const host_keys = Kokkos::create_mirror_view(device_keys);
  for (std::size_t i = 0; i < count; ++i) host_keys(i) = keys[i];
  Kokkos::deep_copy(device_keys, host_keys);
  WatchedMatrix<Scalar> const rows(space, RowLayout::padded, products);
  WatchedMatrix<Scalar> const added(space, RowLayout::padded, test_rows, R, 0);
  WatchedMatrix<Scalar> const stashed(space, RowLayout::padded, test_rows, R);
  int const team = is_device_space<TestSpace> ? 64 / Kernel::Row::lanes : 1;
  auto policy    = team_policy(space, {1, team, Kernel::Row::lanes});
  policy.set_scratch_size(
      0, Kokkos::PerTeam(test_rows * Block * static_cast<int>(sizeof(Scalar)) + row_alignment));
  Kokkos::parallel_for(
      "polyad::test", policy,
      Kernel{device_keys, rows.matrix(), chunk, rank, added.matrix(), stashed.matrix(), test_rows});
  space.fence("polyad::test");
  CHECK(added.read() == expected.data);
  CHECK(stashed.read() == expected.data);
  CHECK(added.trespasses() + stashed.trespasses() == 0);
}

template <class Scalar, RowForm Form>
void expect_all_blocks() {
  for (int const chunk : {1, 2, 5, 29, 100}) {
    expect_sums<Scalar, 32, Form>(32, chunk);
    expect_sums<Scalar, 32, Form>(27, chunk);
    expect_sums<Scalar, 16, Form>(16, chunk);
    expect_sums<Scalar, 16, Form>(9, chunk);
    expect_sums<Scalar, 8, Form>(8, chunk);
    expect_sums<Scalar, 4, Form>(4, chunk);
    expect_sums<Scalar, 4, Form>(3, chunk);
  }
}

TEST_CASE("segmented_reduce: every policy sums every segment", "[core]") {
  with_row_form<TestSpace>(true, [](auto form) {
    expect_all_blocks<float, form()>();
    expect_all_blocks<double, form()>();
  });
  with_row_form<TestSpace>(false, [](auto form) {
    expect_all_blocks<float, form()>();
    expect_all_blocks<double, form()>();
  });
}

/// One lane's walk over keys with products of one number each.
struct WalkAndWrite {
  Kokkos::View<std::uint32_t*, TestSpace::device_type> keys;
  Kokkos::View<double*, TestSpace::device_type> products;
  Kokkos::View<std::uint32_t*, TestSpace::device_type> flushed;
  Kokkos::View<double*, TestSpace::device_type> sums;
  Kokkos::View<count_t, TestSpace::device_type> count;

  struct Number {
    double value = 0;
    KOKKOS_FUNCTION explicit Number(double v) : value(v) {}
    KOKKOS_FUNCTION Number& operator+=(Number const& other) {
      value += other.value;
      return *this;
    }
    KOKKOS_FUNCTION void store(double* target, Columns) const { *target = value; }
  };

  KOKKOS_FUNCTION void operator()(int) const {
    WriteDown<double> const flush{flushed.data(), sums.data(), count.data(), 1, {0, 1}};
    SegmentedSum<Number, std::uint32_t> segment(keys(0));
    for (count_t i = 0; i < keys.extent(0); ++i) segment.add(keys(i), Number(products(i)), flush);
    segment.finish(flush);
  }
};

TEST_CASE("segmented_reduce: a sum is handed over once, when its segment ends", "[core]") {
  auto const keys = some_keys();
  WalkAndWrite const walk{decltype(WalkAndWrite::keys)("keys", keys.size()),
                          decltype(WalkAndWrite::products)("products", keys.size()),
                          decltype(WalkAndWrite::flushed)("flushed", keys.size() + 1),
                          decltype(WalkAndWrite::sums)("sums", keys.size() + 1),
                          decltype(WalkAndWrite::count)("count")};
  auto const host_keys     = Kokkos::create_mirror_view(walk.keys);
  auto const host_products = Kokkos::create_mirror_view(walk.products);
  std::vector<double> runs;  // what is expected: the runs' keys and sums, one after the other
  for (std::size_t i = 0; i < keys.size(); ++i) {
    host_keys(i)     = keys[i];
    host_products(i) = static_cast<double>(i + 1);
    if (i == 0 || keys[i] != keys[i - 1]) runs.insert(runs.end(), {static_cast<double>(keys[i]), 0});
    runs.back() += host_products(i);
  }
  Kokkos::deep_copy(walk.keys, host_keys);
  Kokkos::deep_copy(walk.products, host_products);
  TestSpace const space;
  Kokkos::parallel_for("polyad::test", Kokkos::RangePolicy<TestSpace>(space, 0, 1), walk);
  space.fence("polyad::test");
  auto const flushed = flat(walk.flushed);
  auto const sums    = flat(walk.sums);
  std::vector<double> found;
  for (std::size_t i = 0; 2 * i < runs.size(); ++i) found.insert(found.end(), {flushed[i], sums[i]});
  CHECK(found == runs);
  count_t count = 0;
  Kokkos::deep_copy(count, walk.count);
  CHECK(2 * count == runs.size());
}

}  // namespace
}  // namespace polyad::test
