// SPDX-License-Identifier: BSD-3-Clause
// What Kokkos does while an object lives: kernels, allocations, deep copies, fences and regions, as
// Kokkos' tools interface reports them. One object at a time.
#pragma once

#include <Kokkos_Core.hpp>
#include <Kokkos_Profiling_ScopedRegion.hpp>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace polyad::test {

struct Event {
  enum class Kind { kernel, allocation, deep_copy, fence, region };
  Kind kind;
  std::string name;          // the label; of a deep copy the target's; of a region that ends nothing
  std::uint32_t instance{};  // for kernels and fences: Kokkos' number for device and instance
  bool fill = false;         // for a deep copy: from one number, not from an array
};

class KokkosEvents {
public:
  KokkosEvents() : m_before(Kokkos::Tools::Experimental::get_callbacks()) {
    using namespace Kokkos::Tools::Experimental;
    recorded().clear();
    set_begin_parallel_for_callback(on_kernel);
    set_begin_parallel_reduce_callback(on_kernel);
    set_begin_parallel_scan_callback(on_kernel);
    set_allocate_data_callback(on_allocation);
    set_begin_deep_copy_callback(on_deep_copy);
    set_begin_fence_callback(on_fence);
    set_push_region_callback(on_push);
    set_pop_region_callback(on_pop);
  }
  ~KokkosEvents() { Kokkos::Tools::Experimental::set_callbacks(m_before); }
  KokkosEvents(KokkosEvents const&)            = delete;
  KokkosEvents& operator=(KokkosEvents const&) = delete;

  [[nodiscard]] std::vector<Event> const& all() const { return recorded(); }

  /// The events of one kind.
  [[nodiscard]] std::vector<Event> of(Event::Kind kind) const {
    std::vector<Event> result;
    for (auto const& event : recorded())
      if (event.kind == kind) result.push_back(event);
    return result;
  }
  /// Their names.
  [[nodiscard]] std::vector<std::string> lines(Event::Kind kind) const {
    std::vector<std::string> result;
    for (auto const& event : of(kind)) result.push_back(event.name);
    return result;
  }
  void forget() { recorded().clear(); }

private:
  static std::vector<Event>& recorded() {
    static std::vector<Event> events;
    return events;
  }
  static void on_kernel(char const* name, std::uint32_t instance, std::uint64_t*) {
    recorded().push_back({Event::Kind::kernel, name, instance});
  }
  static void on_allocation(Kokkos_Profiling_SpaceHandle, char const* label, void const*,
                            std::uint64_t bytes) {
    // On a device Kokkos reports an allocation of nothing at each launch of a team without global scratch.
    if (bytes == 0) return;
    recorded().push_back({Event::Kind::allocation, label});
  }
  static void on_deep_copy(Kokkos_Profiling_SpaceHandle, char const* to, void const*,
                           Kokkos_Profiling_SpaceHandle, char const* from, void const*, std::uint64_t) {
    recorded().push_back({Event::Kind::deep_copy, to, 0, std::string(from) == "(none)"});
  }
  static void on_fence(char const* name, std::uint32_t instance, std::uint64_t*) {
    // Kokkos waits before it calls a tool, because a tool is there: not the library's doing.
    if (std::string(name).find("Kokkos Profile Tool Fence") != std::string::npos) return;
    // On Serial, where a kernel has ended when its launch returns, Kokkos "waits" before it zeroes a View.
    if (std::string(name) == "HostSpace fence" &&
        std::string(Kokkos::DefaultExecutionSpace::name()) == "Serial")
      return;
    recorded().push_back({Event::Kind::fence, name, instance});
  }
  static void on_push(char const* name) { recorded().push_back({Event::Kind::region, name}); }
  static void on_pop() { recorded().push_back({Event::Kind::region, {}}); }

  Kokkos::Tools::Experimental::EventSet m_before;
};

/// Kokkos' number for an instance, as kernels and fences on it report it.
template <class Space>
std::uint32_t instance_number(Space const& space) {
  return Kokkos::Tools::Experimental::device_id(space);
}

/// Whether a fence waits for a whole device, all of its instances.
inline bool is_global(Event const& fence) {
  constexpr std::uint32_t instance_bits = (1U << 24) - 1;
  return (fence.instance & instance_bits) ==
         Kokkos::Tools::Experimental::int_for_synchronization_reason(
             Kokkos::Tools::Experimental::SpecialSynchronizationCases::GlobalDeviceSynchronization);
}

/// Whether a kernel or an allocation says whose it is: ours, or one that Kokkos makes for itself.
inline bool is_known_label(std::string const& label) {
  return label.rfind("polyad::", 0) == 0 || label.rfind("Kokkos::", 0) == 0;
}

}  // namespace polyad::test
