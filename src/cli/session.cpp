// SPDX-License-Identifier: BSD-3-Clause
#include "session.hpp"

#include <Kokkos_Core.hpp>
#include <atomic>
#include <cstring>
#include <ostream>

#include "host_facts.hpp"
#include "polyad/core/device.hpp"
#include "polyad/core/spaces.hpp"

namespace polyad::cli {

namespace {

using Space = Kokkos::DefaultExecutionSpace;

// Bytes that Kokkos holds in the device's own memory. Kokkos calls back from any thread that allocates.
std::atomic<std::uint64_t> device_bytes{0};
std::atomic<std::uint64_t> device_peak{0};
std::atomic<bool> counting{false};

bool on_device(Kokkos::Tools::SpaceHandle const space) {
  return std::strcmp(space.name, Space::memory_space::name()) == 0;
}

void count_allocation(Kokkos::Tools::SpaceHandle const space, char const*, void const*,
                      std::uint64_t const size) {
  if (!on_device(space)) return;
  std::uint64_t const now = device_bytes += size;
  std::uint64_t peak      = device_peak;
  while (peak < now && !device_peak.compare_exchange_weak(peak, now)) continue;
}

void count_release(Kokkos::Tools::SpaceHandle const space, char const*, void const*,
                   std::uint64_t const size) {
  if (on_device(space)) device_bytes -= size;
}

Kokkos::InitializationSettings settings(int threads, bool verbose) {
  Kokkos::InitializationSettings result;
  if (threads > 0) result.set_num_threads(threads);
  result.set_disable_warnings(!verbose);
  return result;
}

}  // namespace

struct Session::State {
  explicit State(Kokkos::InitializationSettings const& settings) : scope(settings) {}
  Kokkos::ScopeGuard scope;
};

Session::Session(int threads, bool verbose) {
  expect_usable_device();
  m_state = std::make_unique<State>(settings(threads, verbose));
  // A profiling tool that the user has loaded keeps its callbacks; the peak is then not known.
  if (is_device_space<Space> && !Kokkos::Profiling::profileLibraryLoaded()) {
    counting = true;
    Kokkos::Tools::Experimental::set_allocate_data_callback(count_allocation);
    Kokkos::Tools::Experimental::set_deallocate_data_callback(count_release);
  }
}

Session::~Session() = default;

BackendReport Session::backend() const {
  DeviceFacts const facts = probe_device();
  return {facts.backend, Space().concurrency(), facts.accelerator ? facts.name : processor_name()};
}

void Session::print_configuration(std::ostream& out) const {
  Kokkos::print_configuration(out, true);
}

MemoryReport peak_memory() {
  MemoryReport memory;
  memory.host_peak_bytes = peak_memory_bytes();
  if (counting) memory.device_peak_bytes = device_peak.load();
  return memory;
}

std::string kokkos_version() {
  return std::to_string(KOKKOS_VERSION / 10000) + "." + std::to_string(KOKKOS_VERSION / 100 % 100) + "." +
         std::to_string(KOKKOS_VERSION % 100);
}

}  // namespace polyad::cli
