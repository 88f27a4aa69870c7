// SPDX-License-Identifier: BSD-3-Clause
#include "polyad/core/device_memory.hpp"

#include <Kokkos_Core.hpp>
#include <algorithm>
#include <cstring>
#include <mutex>
#include <string_view>
#include <unordered_map>

#include "polyad/core/error.hpp"
#include "polyad/core/spaces.hpp"

namespace polyad {
namespace {

constexpr int simulated = is_device_space<Kokkos::DefaultExecutionSpace> ? 0 : 1;

/// All of it is behind one lock, since Kokkos calls back from any thread that allocates.
struct Ledger {
  std::mutex lock;
  bool open     = false;
  bool counting = false;
  std::optional<count_t> limit;
  count_t in_use  = 0;
  count_t peak    = 0;
  int host_arrays = 0;  // living HostArrays; 0 on a device, since no host array is in its memory
  std::unordered_map<void const*, count_t> blocks;  // counted blocks, to recognise their release
  Kokkos::Tools::Experimental::EventSet before{};
};

Ledger& ledger() {
  static Ledger the_ledger;
  return the_ledger;
}

/// Team scratch is an array of each thread's on a host, which Kokkos holds until its end. A device has it on
/// chip.
bool is_scratch_of_host_threads(std::string_view label) {
  return label.ends_with("::scratch_mem");
}

void count_allocation(Kokkos::Tools::SpaceHandle const space, char const* label, void const* const pointer,
                      std::uint64_t const bytes) {
  if (std::strcmp(space.name, Kokkos::DefaultExecutionSpace::memory_space::name()) != 0) return;
  if (simulated != 0 && is_scratch_of_host_threads(label)) return;
  Ledger& account = ledger();
  std::lock_guard const guard(account.lock);
  if (account.host_arrays > 0) return;
  account.blocks[pointer] = bytes;
  account.in_use += bytes;
  account.peak = std::max(account.peak, account.in_use);
}

void count_release(Kokkos::Tools::SpaceHandle const, char const*, void const* const pointer,
                   std::uint64_t const) {
  Ledger& account = ledger();
  std::lock_guard const guard(account.lock);
  auto const block = account.blocks.find(pointer);
  if (block == account.blocks.end()) return;
  account.in_use -= block->second;
  account.blocks.erase(block);
}

}  // namespace

DeviceMemoryAccount::DeviceMemoryAccount(std::optional<count_t> limit) {
  Ledger& account = ledger();
  std::lock_guard const guard(account.lock);
  POLYAD_EXPECTS(!account.open, "the device's memory is counted already");
  bool const tool = Kokkos::Profiling::profileLibraryLoaded();
  POLYAD_EXPECTS(!tool || !limit,
                 "a limit of the device's memory cannot be kept while a profiling tool is loaded");
  account.open     = true;
  account.counting = !tool;
  account.limit    = limit;
  account.in_use = account.peak = 0;
  if (!account.counting) return;
  account.before = Kokkos::Tools::Experimental::get_callbacks();
  Kokkos::Tools::Experimental::set_allocate_data_callback(count_allocation);
  Kokkos::Tools::Experimental::set_deallocate_data_callback(count_release);
}

DeviceMemoryAccount::~DeviceMemoryAccount() {
  Ledger& account = ledger();
  std::lock_guard const guard(account.lock);
  if (account.counting) {
    Kokkos::Tools::Experimental::set_allocate_data_callback(account.before.allocate_data);
    Kokkos::Tools::Experimental::set_deallocate_data_callback(account.before.deallocate_data);
  }
  account.blocks.clear();
  account.limit.reset();
  account.open = account.counting = false;
}

bool DeviceMemoryAccount::counts() const {
  std::lock_guard const guard(ledger().lock);
  return ledger().counting;
}

count_t DeviceMemoryAccount::in_use() const {
  std::lock_guard const guard(ledger().lock);
  return ledger().in_use;
}

count_t DeviceMemoryAccount::peak() const {
  std::lock_guard const guard(ledger().lock);
  return ledger().peak;
}

void DeviceMemoryAccount::reset_peak() {
  std::lock_guard const guard(ledger().lock);
  ledger().peak = ledger().in_use;
}

DeviceMemoryAccount::HostArrays::HostArrays() {
  std::lock_guard const guard(ledger().lock);
  ledger().host_arrays += simulated;
}

DeviceMemoryAccount::HostArrays::~HostArrays() {
  std::lock_guard const guard(ledger().lock);
  ledger().host_arrays -= simulated;
}

std::optional<count_t> left_of_device_memory_limit() {
  Ledger& account = ledger();
  std::lock_guard const guard(account.lock);
  if (!account.limit || account.host_arrays > 0) return {};
  // Small arrays (R x R sums, counters) are allocated without a check.
  constexpr count_t unasked = 64 << 10;
  return *account.limit - std::min(*account.limit, account.in_use + unasked);
}

}  // namespace polyad
