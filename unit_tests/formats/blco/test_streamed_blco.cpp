// SPDX-License-Identifier: BSD-3-Clause
// White box: BLCO tensors in host memory. What the host's build holds against the device's; MTTKRPs with
// buffers of every size, forwards and backwards; CP-ALS under a limit of the device's memory, which it keeps;
// refusals.
#include "formats/blco/storage/streamed_blco.hpp"

#include <Kokkos_Core.hpp>
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "formats/expect_exact.hpp"
#include "polyad/core/device_memory.hpp"
#include "polyad/cp/cp_als.hpp"
#include "polyad/testing/conformance.hpp"
#include "polyad/testing/small_tensors.hpp"
#include "support/catch.hpp"
#include "support/device_data.hpp"
#include "support/message_of.hpp"

namespace polyad::test {
namespace {

template <class Scalar, class Index>
using Streamed = StreamedBlco<Scalar, Index, TestSpace>;

template <class Scalar, class Index>
auto on_host(HostTensor const& tensor) {
  return to_device<Scalar, Index>(typename Streamed<Scalar, Index>::host_space(), tensor);
}

StreamedBlcoOptions buffers_of(count_t bytes, int instances = 4,
                               Resolution resolution = Resolution::automatic) {
  StreamedBlcoOptions options;
  options.buffer_bytes    = bytes;
  options.instances       = instances;
  options.blco.resolution = resolution;
  return options;
}

/// Both builds, every mode twice: the second pass goes backwards over what the first has left in the buffers.
template <class Scalar, class Index>
void expect_streamed(HostTensor const& tensor, std::size_t rank, StreamedBlcoOptions const& options) {
  TestSpace const space;
  auto const X = Streamed<Scalar, Index>::build(space, on_host<Scalar, Index>(tensor), options);
  auto const Y = Streamed<Scalar, Index>::build(space, to_device<Scalar, Index>(space, tensor), options);
  for (auto const* format : {&X, &Y}) {
    auto workspace = format->make_workspace(space, rank);
    for (int pass = 0; pass < 2; ++pass)
      expect_exact(space, *format, workspace, tensor, rank, RowLayout::padded);
  }
}

TEST_CASE("streamed-blco: buffers from the smallest up, forwards and backwards", "[formats]") {
  Random random(17);
  auto const tensor = random_tensor(random, {70, 3000, 900}, 12000, random_integer);
  auto const flat   = random_tensor(random, {300, 40}, 5000, random_integer);
  auto const deep   = random_tensor(random, {70, 30, 900, 2, 11}, 6000, random_integer);
  for (int const instances : {2, 3, 8})
    for (count_t const steps : {1, 2, 5, 1000}) {
      count_t const bytes = static_cast<count_t>(instances) * steps * block_map_step * 16;
      expect_streamed<double, std::uint32_t>(tensor, 5, buffers_of(bytes, instances));
      expect_streamed<float, std::uint32_t>(flat, 16, buffers_of(bytes, instances));
      expect_streamed<float, std::uint64_t>(deep, 33, buffers_of(bytes, instances));
    }
}

TEST_CASE("streamed-blco: every resolution on every mode, blocks of every length", "[formats]") {
  for (Kind const kind : {Kind::empty, Kind::one_nonzero, Kind::one_long_slice, Kind::mode_of_size_1,
                          Kind::shuffled, Kind::hypersparse})
    for (Resolution const resolution :
         {Resolution::registers, Resolution::hierarchical, Resolution::privatised})
      for (count_t const max_block : {1, 7, 100000}) {
        auto options           = buffers_of(2 * block_map_step * 16, 2, resolution);
        options.blco.max_block = max_block;
        expect_streamed<double, std::uint32_t>(small_tensor(kind, 3, random_integer), 8, options);
        options.blco.index_bits = 9;
        expect_streamed<double, std::uint32_t>(small_tensor(kind, 4, random_integer), 3, options);
      }
}

/// What the host's build holds is, bit for bit, what the device's holds.
template <class Scalar, class Index>
void expect_same_build(HostTensor const& tensor, BlcoOptions const& blco) {
  TestSpace const space;
  StreamedBlcoOptions options;
  options.blco = blco;
  auto const X = Streamed<Scalar, Index>::build(space, on_host<Scalar, Index>(tensor), options);
  // In memory the width may be chosen by counting keys; here it is given.
  BlcoOptions same = blco;
  same.index_bits  = blco.index_bits > 0 ? blco.index_bits : (X.encoding().words() == 1 ? 64 : 128);
  auto const Y = Blco<Scalar, Index, TestSpace>::build(space, to_device<Scalar, Index>(space, tensor), same);
  auto const& blocks = Y.blocks();
  CAPTURE(tensor.name, tensor.extents, tensor.nnz(), blco.max_block, blco.index_bits);
  auto const equal = [](auto const& a, auto const& b) {
    auto const of_a = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), a);
    auto const of_b = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), b);
    return std::equal(of_a.data(), of_a.data() + of_a.size(), of_b.data(), of_b.data() + of_b.size());
  };
  CHECK(equal(X.linear(), blocks.linear));
  CHECK(equal(X.values(), blocks.values));
  CHECK(equal(X.headers().begins, blocks.headers.begins));
  CHECK(equal(X.headers().uppers, blocks.headers.uppers));
  CHECK(equal(X.headers().block_map, blocks.headers.block_map));
  // Two ways of summing the same squares.
  CHECK(std::abs(X.norm_squared() - Y.norm_squared()) <= 1e-12 * Y.norm_squared());
  CHECK(X.storage_bytes() + Y.chunks().storage_bytes() == Y.storage_bytes());
}

TEST_CASE("streamed-blco: the host's build holds what the device's does, at every width", "[formats]") {
  std::uint64_t const k32 = (std::uint64_t(1) << 32) - 1;  // rows that 32-bit coordinates reach
  std::vector<std::vector<std::uint64_t>> const shapes{{2},
                                                       {1, 1},
                                                       {1u << 21, 1u << 21, 1u << 21},         // 63 bits
                                                       {1u << 22, 1u << 21, 1u << 21},         // 64
                                                       {1u << 22, 1u << 22, 1u << 21},         // 65
                                                       {532924, 17262471, 2480308, 1443},      // 78
                                                       {k32, 1u << 31, k32},                   // 95
                                                       {k32, k32, k32, k32},                   // 128
                                                       std::vector<std::uint64_t>(10, 10000),  // 140
                                                       std::vector<std::uint64_t>(16, k32)};   // 512
  Random random(23);
  for (auto const& extents : shapes)
    for (std::size_t const nnz : {0, 1, 3, 700, 5000}) {
      auto const tensor = random_tensor(random, extents, nnz);
      for (int const index_bits : {0, 64, 128, 40})
        expect_same_build<double, std::uint32_t>(tensor, {.max_block = 1000, .index_bits = index_bits});
    }
}

TEST_CASE("streamed-blco: the host's sort splits what falls into one bucket", "[formats]") {
  Random random(29);
  // 150,000 nonzeros in a corner that the uppermost 16 bits of the linear form do not divide, and duplicates.
  auto tensor = random_tensor(random, {40, 40, 40, 40}, 150000);
  for (auto& extent : tensor.extents) extent = std::uint64_t(1) << 20;
  tensor.indices[0] = tensor.extents[0] - 1;
  expect_same_build<float, std::uint32_t>(tensor, {});
  // The same cell 40,000 times: nothing left to split by.
  auto equal = random_tensor(random, {1u << 20, 1u << 20}, 40000);
  for (std::size_t p = 0; p < 2 * equal.nnz(); ++p) equal.indices[p] = 3;
  expect_same_build<float, std::uint32_t>(equal, {});
  // A mode of 2^31 rows of which three are used.
  auto rows       = random_tensor(random, {3, 200, 5}, 3000);
  rows.extents[0] = std::uint64_t(1) << 31;
  for (std::size_t p = 0; p < rows.nnz(); ++p) rows.indices[3 * p] = rows.indices[3 * p] * 0x3fffffff;
  expect_same_build<double, std::uint32_t>(rows, {});
}

// ---- under a limit

TEST_CASE("streamed-blco: CP-ALS within a limit of the device's memory", "[formats][cp]") {
  TestSpace const space;
  Random random(31);
  auto const host = distinct(random_tensor(random, {60, 500, 2000}, 60000));
  CpAlsOptions als;
  als.rank               = 8;
  als.max_iterations     = 4;
  als.tolerance          = 0;
  auto const ignore      = [](CpAlsIteration const&) { return true; };
  double const in_memory = cp_als(space,
                                  Blco<double, std::uint32_t, TestSpace>::build(
                                      space, to_device<double, std::uint32_t>(space, host)),
                                  als, ignore)
                               .fit;
  auto const X = Streamed<double, std::uint32_t>::build(space, on_host<double, std::uint32_t>(host));
  count_t const tensor_bytes = X.nnz() * X.nonzero_bytes();
  // What a run takes with buffers of the smallest size, in addition to the headers of the blocks.
  auto const small = Streamed<double, std::uint32_t>::build(space, on_host<double, std::uint32_t>(host),
                                                            buffers_of(4 * block_map_step * 16));
  count_t resident = 0;
  {
    DeviceMemoryAccount const account;
    if (!account.counts()) POLYAD_SKIP("a profiling tool has the hooks that count memory");
    static_cast<void>(cp_als(space, small, als, ignore));
    resident = account.peak();
  }
  for (double const share : {0.02, 0.05, 0.2, 0.5, 2.0}) {
    // The account keeps 64 KiB, a workspace leaves a thirty-second.
    auto const budget =
        resident + 65536 + static_cast<count_t>(share * static_cast<double>(tensor_bytes)) + (resident >> 5);
    DeviceMemoryAccount const account(budget);
    auto const result = cp_als(space, X, als, ignore);
    CAPTURE(share, budget, account.peak(), resident);
    CHECK(std::abs(result.fit - in_memory) < 1e-10);
    CHECK(account.peak() <= budget);
    CHECK(account.peak() > resident);  // and it makes use of it
  }
  // Too little for the buffers, then for the factors, then for anything.
  for (count_t const budget : {resident - 40000, resident / 2, count_t(0)}) {
    DeviceMemoryAccount const account(budget);
    CAPTURE(budget, resident);
    CHECK_THROWS_AS(cp_als(space, X, als, ignore), MemoryError);
  }
}

TEST_CASE("streamed-blco: what is refused", "[formats]") {
  TestSpace const space;
  auto const tensor  = on_host<float, std::uint32_t>(small_tensor(Kind::shuffled, 3));
  using Format       = Streamed<float, std::uint32_t>;
  auto const refusal = [&](StreamedBlcoOptions const& options) {
    return message_of([&] { static_cast<void>(Format::build(space, tensor, options)); });
  };
  CHECK(refusal(buffers_of(0, 1)) == "1 instances that send and compute in turn; 2 to 8 make sense");
  CHECK(refusal(buffers_of(0, 9)) == "9 instances that send and compute in turn; 2 to 8 make sense");
  StreamedBlcoOptions options;
  options.blco.max_block = 0;
  CHECK(refusal(options) == "blocks of at most 0 nonzeros");
  auto const X = Format::build(space, tensor, buffers_of(1000));
  CHECK(message_of<MemoryError>([&] { static_cast<void>(X.make_workspace(space, 4)); }) ==
        "the stream of nonzeros needs 12288 bytes: only 1000 bytes are left for them");
  auto workspace = Format::workspace_type();
  FactorMatrices<float, TestSpace> const factors(space, X.extents(), 4);
  auto const V = make_factor_matrix<float>(space, "V", X.extents()[0], 4);
  CHECK(message_of([&] { mttkrp(space, X, factors, 0, workspace, V); }) ==
        "the workspace was not made by make_workspace of streamed-blco");
}

}  // namespace
}  // namespace polyad::test
