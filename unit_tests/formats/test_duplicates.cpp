// SPDX-License-Identifier: BSD-3-Clause
// Duplicates are counted by the formats that sort, and refused, summed or kept by AnyFormat as the options
// say.
#include <Kokkos_Core.hpp>
#include <cmath>
#include <set>
#include <string>
#include <vector>

#include "formats/registry.hpp"
#include "polyad/cp/cp_als.hpp"
#include "polyad/formats/any_format.hpp"
#include "polyad/tensor/sum_duplicates.hpp"
#include "polyad/testing/small_tensors.hpp"
#include "polyad/tucker/tucker.hpp"
#include "support/catch.hpp"
#include "support/device_data.hpp"
#include "support/message_of.hpp"
#include "support/oracle.hpp"

namespace polyad::test {
namespace {

count_t duplicates_of(HostTensor const& tensor) {
  return tensor.nnz() - distinct(tensor).nnz();
}

/// Random cells of a small box, so that many of them occur again.
HostTensor repeating(std::size_t seed, std::size_t order, std::size_t nnz, std::uint64_t rows) {
  Random random(seed);
  std::vector<std::uint64_t> extents;
  for (std::size_t n = 0; n < order; ++n) extents.push_back(1 + random_below(random, rows));
  return random_tensor(random, extents, nnz);
}

template <class Scalar, class Index>
void expect_counted(HostTensor const& tensor) {
  TestSpace const space;
  auto const coo         = to_device<Scalar, Index>(space, tensor);
  count_t const expected = duplicates_of(tensor);
  CAPTURE(tensor.name, tensor.order(), tensor.nnz(), sizeof(Scalar), sizeof(Index));
  CHECK(count_duplicates(space, coo) == expected);
  for_each_format<Scalar, Index, TestSpace>([&](auto format) {
    using F = typename decltype(format)::type;
    if constexpr (requires(F const& X) { X.duplicates(); }) {
      CAPTURE(F::name);
      CHECK(F::build(space, coo, {}).duplicates() == expected);
    }
  });
}

TEST_CASE("duplicates: counted by every format that sorts", "[formats][duplicates]") {
  for (Kind const kind : all_kinds)
    for (std::size_t const order : {1, 2, 3, 5, 16}) {
      expect_counted<float, std::uint32_t>(small_tensor(kind, order));
      expect_counted<double, std::uint64_t>(small_tensor(kind, order));
    }
  for (std::size_t seed = 0; seed < 20; ++seed)
    expect_counted<double, std::uint32_t>(repeating(seed, 2 + seed % 4, 10 + 60 * seed, 2 + seed % 11));
}

TEST_CASE("duplicates: at the borders of blocks, groups, chunks and split fibers", "[formats][duplicates]") {
  TestSpace const space;
  for (std::size_t seed = 0; seed < 6; ++seed) {
    auto const tensor      = repeating(40 + seed, 3, 500, 9);
    auto const coo         = to_device<double, std::uint32_t>(space, tensor);
    count_t const expected = duplicates_of(tensor);
    REQUIRE(expected > 0);
    auto const check = [&](auto const& X) {
      CAPTURE(seed, X.name);
      CHECK(X.duplicates() == expected);
    };
    using Blocks = detail::Blco<double, std::uint32_t, TestSpace>;
    for (count_t const max_block : {1, 2, 7})
      for (int const bits : {0, 3, 100})
        check(Blocks::build(space, coo, {.max_block = max_block, .index_bits = bits}));
    using Sections = detail::StreamedBlco<double, std::uint32_t, TestSpace>;
    check(Sections::build(space, coo, {.blco = {.max_block = 1, .index_bits = 3}}));
    using Trees = detail::BCsf<double, std::uint32_t, TestSpace>;
    check(Trees::build(space, coo, {.fiber_threshold = 1}));
    check(Trees::build(space, coo, {.leaves = true}));
    using Mixed = detail::HbCsf<double, std::uint32_t, TestSpace>;
    check(Mixed::build(space, coo, {.fiber_threshold = 1}));
    using Tree = detail::Csf<double, std::uint32_t, TestSpace>;
    check(Tree::build(space, coo, {.root = 2, .levels = {}, .fiber_threshold = 1}));
    using Copies = detail::Sorted<double, std::uint32_t, TestSpace>;
    check(Copies::build(space, coo, {.block_rows = 1}));
    check(Copies::build(space, coo, {.only_mode = 1}));
    using Flagged = detail::FCoo<double, std::uint32_t, TestSpace>;
    check(Flagged::build(space, coo, {.threadlen = 8, .shape = {}, .only_mode = 2}));
    if constexpr (detail::AltoStrategy<TestSpace>::has_chunks) {
      using Grouped = detail::Alto<double, std::uint32_t, TestSpace>;
      detail::AltoOptions options;
      options.choice = detail::AltoOptions::Order::given;
      for (std::uint32_t const grouped : {0U, 1U, 2U, 3U}) {
        options.order  = {grouped, 0, 0, false};
        options.chunks = 1 + seed;
        check(Grouped::build(space, coo, options));
      }
    }
    CHECK_FALSE(
        Copies::build(space, coo, {.storage = detail::SortedOptions::Storage::permutations}).duplicates());
  }
}

TEST_CASE("duplicates: refused, summed or kept as the options say, in every format",
          "[formats][duplicates]") {
  TestSpace const space;
  auto const tensor  = repeating(3, 3, 400, 8);
  auto const summed  = distinct(tensor);
  auto const coo     = to_device<double, std::uint32_t>(space, tensor);
  auto const none    = to_device<double, std::uint32_t>(space, summed);
  auto const extra   = std::to_string(duplicates_of(tensor));
  long double square = 0, kept_square = 0;
  for (double const value : summed.values) square += static_cast<long double>(value) * value;
  for (double const value : tensor.values) kept_square += static_cast<long double>(value) * value;
  std::vector<std::string> names{"auto"};
  for_each_format<double, std::uint32_t, TestSpace>(
      [&](auto format) { names.emplace_back(decltype(format)::type::name); });
  names.emplace_back("sorted:permutations");
  for (auto const& name : names) {
    CAPTURE(name);
    auto const built = [&](auto const& from, Duplicates duplicates) {
      return any_format(space, from, {.rank = 4, .format = name, .duplicates = duplicates});
    };
    CHECK(message_of([&] { static_cast<void>(built(coo, Duplicates::refuse)); }).find(extra + " nonzeros") ==
          0);
    CHECK(message_of([&] {
            static_cast<void>(any_format(space, coo, {.rank = 4, .format = name}));
          }).find(extra + " nonzeros") == 0);  // the default
    for (auto const duplicates : {Duplicates::refuse, Duplicates::sum, Duplicates::keep})
      CHECK(built(none, duplicates).nnz() == summed.nnz());
    auto const sums = built(coo, Duplicates::sum);
    CHECK(sums.nnz() == summed.nnz());
    CHECK(std::abs(sums.norm_squared() - square) <= 1e-12L * square);
    CHECK(sums.duplicates().value_or(0) == 0);
    auto const keeps = built(coo, Duplicates::keep);
    CHECK(keeps.nnz() == tensor.nnz());
    CHECK(std::abs(keeps.norm_squared() - kept_square) <= 1e-12L * kept_square);
    if (keeps.duplicates()) CHECK(*keeps.duplicates() == duplicates_of(tensor));
  }
}

TEST_CASE("duplicates: a stream from host memory treats them alike", "[formats][duplicates]") {
  TestSpace const space;
  using Any         = AnyFormat<double, TestSpace>;
  auto const tensor = repeating(9, 3, 300, 7);
  auto const host   = download<Any::host_space>(space, to_device<double, std::uint32_t>(space, tensor));
  for (std::string const name : {"streamed-blco", "streamed-sorted"}) {
    CAPTURE(name);
    CHECK_THROWS_AS(Any::stream(space, host, {.rank = 3, .format = name}), UsageError);
    CHECK(Any::stream(space, host, {.rank = 3, .format = name, .duplicates = Duplicates::sum}).nnz() ==
          distinct(tensor).nnz());
    CHECK(Any::stream(space, host, {.rank = 3, .format = name, .duplicates = Duplicates::keep}).nnz() ==
          tensor.nnz());
  }
}

TEST_CASE("duplicates: CP-ALS and HOOI refuse a tensor that holds some", "[formats][duplicates]") {
  TestSpace const space;
  auto const tensor = repeating(5, 3, 300, 7);
  auto const coo    = to_device<double, std::uint32_t>(space, tensor);
  CHECK_THROWS_AS(cp_als(space, coo, {.rank = 2}), UsageError);
  TuckerOptions tucker_options;
  tucker_options.ranks = {1, 1, 1};
  CHECK_THROWS_AS(tucker(space, coo, tucker_options), UsageError);
  using Copies = detail::Sorted<double, std::uint32_t, TestSpace>;
  CHECK_THROWS_AS(cp_als(space, Copies::build(space, coo, {}), {.rank = 2}), UsageError);
  auto const kept = any_format(space, coo, {.rank = 2, .format = "csf", .duplicates = Duplicates::keep});
  CHECK_THROWS_AS(cp_als(space, kept), UsageError);
  CHECK_THROWS_AS(cp_als(space, kept, {.restarts = 2}), UsageError);
  auto const sums = any_format(space, coo, {.rank = 2, .duplicates = Duplicates::sum});
  CHECK_NOTHROW(static_cast<void>(cp_als(space, sums, {.max_iterations = 2})));
}

}  // namespace
}  // namespace polyad::test
