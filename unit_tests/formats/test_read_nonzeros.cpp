// SPDX-License-Identifier: BSD-3-Clause
// read_nonzeros: every format gives back the nonzeros that it was built from, in blocks of any size.
#include <Kokkos_Core.hpp>
#include <algorithm>
#include <utility>
#include <vector>

#include "formats/registry.hpp"
#include "polyad/formats/any_format.hpp"
#include "polyad/testing/small_tensors.hpp"
#include "support/catch.hpp"
#include "support/device_data.hpp"

namespace polyad::test {
namespace {

using Listed = std::vector<std::pair<std::vector<std::uint64_t>, double>>;

Listed listed(HostTensor const& tensor) {
  Listed list;
  for (std::size_t p = 0; p < tensor.nnz(); ++p) {
    std::vector<std::uint64_t> place;
    for (std::size_t n = 0; n < tensor.order(); ++n) place.push_back(tensor.index(p, n));
    list.emplace_back(place, tensor.values[p]);
  }
  std::sort(list.begin(), list.end());
  return list;
}

/// Reads `count` nonzeros at a time.
template <class F>
Listed read(F const& X, count_t count) {
  using Scalar = typename F::scalar_type;
  using Block  = NonzeroBlock<Scalar, TestSpace>;
  TestSpace const space;
  auto const order = static_cast<count_t>(X.extents().order());
  Listed list;
  for (count_t first = 0; first < X.nnz(); first += count) {
    count_t const here = std::min(count, X.nnz() - first);
    Block const block{decltype(Block::indices)("indices", here, order),
                      decltype(Block::values)("values", here)};
    read_nonzeros(space, X, first, block);
    space.fence("polyad::test");
    auto const indices = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), block.indices);
    auto const values  = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), block.values);
    for (count_t k = 0; k < here; ++k) {
      std::vector<std::uint64_t> place;
      for (count_t n = 0; n < order; ++n) place.push_back(indices(k, n));
      list.emplace_back(place, static_cast<double>(values(k)));
    }
  }
  std::sort(list.begin(), list.end());
  return list;
}

template <class F>
void expect_read(HostTensor const& tensor, typename F::options_type const& options = {}) {
  CAPTURE(F::name, tensor.name, tensor.order(), sizeof(typename F::scalar_type));
  F const X = F::build(
      TestSpace(), to_device<typename F::scalar_type, typename F::index_type>(TestSpace(), tensor), options);
  auto const expected = listed(tensor);
  CHECK((read(X, std::max<count_t>(X.nnz(), 1)) == expected));
  CHECK((read(X, 37) == expected));
  using Block      = NonzeroBlock<typename F::scalar_type, TestSpace>;
  auto const order = static_cast<count_t>(X.extents().order());
  Block const beyond{decltype(Block::indices)("indices", X.nnz() + 1, order),
                     decltype(Block::values)("values", X.nnz() + 1)};
  CHECK_THROWS_AS(read_nonzeros(TestSpace(), X, 0, beyond), UsageError);
  Block const narrow{decltype(Block::indices)("indices", 0, order + 1), decltype(Block::values)("values", 0)};
  CHECK_THROWS_AS(read_nonzeros(TestSpace(), X, 0, narrow), UsageError);
}

template <class Scalar, class Index>
void expect_read_in_every_format() {
  for (Kind const kind : all_kinds)
    for (std::size_t const order : {1, 2, 3, 5}) {
      auto const tensor = small_tensor(kind, order);
      for_each_format<Scalar, Index, TestSpace>([&](auto format) {
        using F = typename decltype(format)::type;
        static_assert(ReadableFormat<F>);
        if (order >= 2) expect_read<F>(tensor);
      });
    }
}

TEST_CASE("every format gives its nonzeros back", "[formats]") {
  expect_read_in_every_format<double, std::uint32_t>();
  expect_read_in_every_format<float, std::uint64_t>();
}

TEST_CASE("formats with unusual options give their nonzeros back", "[formats]") {
  auto const tensor = small_tensor(Kind::shuffled, 4);
  expect_read<Sorted<double, std::uint32_t, TestSpace>>(tensor,
                                                        {.storage = SortedOptions::Storage::permutations});
  SortedOptions one_mode;
  one_mode.only_mode = 2;
  expect_read<Sorted<double, std::uint32_t, TestSpace>>(tensor, one_mode);
  FCooOptions flagged;
  flagged.threadlen = 8;
  flagged.only_mode = 1;
  expect_read<FCoo<double, std::uint32_t, TestSpace>>(tensor, flagged);
  BCsfOptions leaves;
  leaves.leaves = true;
  expect_read<BCsf<double, std::uint32_t, TestSpace>>(tensor, leaves);
  BCsfOptions split;
  split.fiber_threshold = 1;
  expect_read<BCsf<double, std::uint32_t, TestSpace>>(tensor, split);
  BlcoOptions short_index;
  short_index.index_bits = 5;
  short_index.max_block  = 16;
  expect_read<Blco<double, std::uint32_t, TestSpace>>(tensor, short_index);
  AltoOptions alto_order;
  alto_order.choice = AltoOptions::Order::alto;
  expect_read<Alto<double, std::uint32_t, TestSpace>>(tensor, alto_order);
}

}  // namespace
}  // namespace polyad::test
