// SPDX-License-Identifier: BSD-3-Clause
// The account of the device's memory: what it counts, and that what asks first keeps to its limit.
#include "polyad/core/device_memory.hpp"

#include <Kokkos_Core.hpp>

#include "core/space_instances.hpp"
#include "polyad/tensor/factor_matrices.hpp"
#include "support/catch.hpp"
#include "support/device_data.hpp"
#include "support/message_of.hpp"

namespace polyad::test {

struct AddOne {
  Kokkos::View<double*, TestSpace::device_type> numbers;
  KOKKOS_FUNCTION void operator()(count_t i) const {
    for (int k = 0; k < 100; ++k) numbers(i) += 1;
  }
};

struct SumUp {
  Kokkos::View<double*, TestSpace::device_type> numbers;
  KOKKOS_FUNCTION void operator()(count_t i, double& sum) const { sum += numbers(i); }
};

/// Writes to the end of the scratch of its team.
struct UseScratch {
  Kokkos::View<double*, TestSpace::device_type> numbers;
  int bytes;
  KOKKOS_FUNCTION void operator()(Kokkos::TeamPolicy<TestSpace>::member_type const& team) const {
    auto* scratch      = static_cast<char*>(team.team_scratch(0).get_shmem(static_cast<std::size_t>(bytes)));
    scratch[bytes - 1] = 1;
    numbers(0)         = bytes - 1 + scratch[bytes - 1];
  }
};

namespace {

using Numbers = Kokkos::View<double*, TestSpace::device_type>;

TEST_CASE("device memory: bytes in use and their peak", "[core]") {
  DeviceMemoryAccount account;
  if (!account.counts())
    POLYAD_SKIP("a profiling tool has the hooks that count memory");  // a profiling tool is loaded
  count_t const before = account.in_use();
  {
    Numbers const numbers("numbers", 1000);
    CHECK(account.in_use() >= before + 8000);
    CHECK(account.in_use() < before + 10000);
    Numbers other("others", 500);
    other = Numbers();
    CHECK(account.in_use() < before + 10000);
    CHECK(account.peak() >= before + 12000);
    account.reset_peak();
    CHECK(account.peak() == account.in_use());
  }
  CHECK(account.in_use() == before);
}

TEST_CASE("device memory: a limit refuses what asks first, and names it", "[core]") {
  TestSpace const space;
  count_t const free = available_memory(space);
  {
    DeviceMemoryAccount const account(100000 + 65536);  // what is kept for arrays that do not ask
    if (!account.counts()) POLYAD_SKIP("a profiling tool has the hooks that count memory");
    Numbers const held("held", 5000);
    CHECK(available_memory(space) <= 60000);
    CHECK(available_memory(space) > 50000);
    CHECK_NOTHROW(make_factor_matrix<double>(space, "fits", 1000, 4));
    auto const text = message_of<MemoryError>(
        [&] { static_cast<void>(make_factor_matrix<double>(space, "too large", 2000, 4)); });
    CHECK(text.find("too large needs 64000 bytes") != std::string::npos);
    CHECK_THROWS_AS(DeviceMemoryAccount(), UsageError);
    DeviceMemoryAccount::HostArrays const on_host;
    if (!is_device_space<TestSpace>) CHECK(available_memory(space) > 200000);
    CHECK_THROWS_AS(DeviceMemoryAccount(), UsageError);
  }
  CHECK(available_memory(space) > free / 2);  // the limit has gone with the account
}

TEST_CASE("device memory: team scratch does not count, which a device has on chip", "[core]") {
  using Teams     = Kokkos::TeamPolicy<TestSpace>;
  int const bytes = 40000;  // more than any kernel before it
  DeviceMemoryAccount const account;
  if (!account.counts()) POLYAD_SKIP("a profiling tool has the hooks that count memory");
  Numbers const numbers("numbers", 1);
  count_t const before = account.peak();
  Kokkos::parallel_for("polyad::test", Teams(1, 1).set_scratch_size(0, Kokkos::PerTeam(bytes)),
                       UseScratch{numbers, bytes});
  TestSpace().fence("polyad::test");
  CHECK(Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), numbers)(0) == bytes);
  CHECK(account.peak() == before);
}

TEST_CASE("device memory: a limit of nothing", "[core]") {
  TestSpace const space;
  DeviceMemoryAccount const account(0);
  if (!account.counts()) POLYAD_SKIP("a profiling tool has the hooks that count memory");
  CHECK(available_memory(space) == 0);
  CHECK_THROWS_AS(make_factor_matrix<float>(space, "anything", 1, 1), MemoryError);
}

TEST_CASE("instances: work waits for what another instance holds", "[core]") {
  TestSpace const space;
  auto const instances = make_instances(space, 4);
  REQUIRE(instances.size() == 4);
  Numbers const numbers("numbers", 1 << 20);
  using Range = Kokkos::RangePolicy<TestSpace, Kokkos::IndexType<count_t>>;
  space.fence("polyad::test");
  for (int round = 0; round < 8; ++round) {
    auto const& instance = instances[static_cast<std::size_t>(round) % 4];
    auto const& before   = instances[static_cast<std::size_t>(round + 3) % 4];
    enqueue_after(instance, before);
    Kokkos::parallel_for("polyad::add_one", Range(instance, 0, 1 << 20), AddOne{numbers});
  }
  enqueue_after(space, instances[3]);
  double sum = 0;
  Kokkos::parallel_reduce("polyad::sum_up", Range(space, 0, 1 << 20), SumUp{numbers}, sum);
  CHECK(sum == 800.0 * (1 << 20));
  CHECK_THROWS_AS(make_instances(space, 0), UsageError);
}

}  // namespace
}  // namespace polyad::test
