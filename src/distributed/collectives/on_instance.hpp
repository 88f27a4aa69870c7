// SPDX-License-Identifier: BSD-3-Clause
// OnInstance: collectives on host memory, or on memory that MPI accepts, in order with an instance's work.
#pragma once

#include <Kokkos_Core.hpp>
#include <memory>
#include <numeric>
#include <span>
#include <utility>

#include "polyad/core/spaces.hpp"
#include "polyad/distributed/communicator.hpp"

namespace polyad::detail {

/// Waits for the instance, then calls. If MPI does not accept device memory, the arrays pass through pinned
/// host memory, which grows as needed and is kept.
template <class Space>
class OnInstance final : public Collectives {
public:
  /// \param takes_device_memory  whether the calls do
  OnInstance(Space const& space, std::unique_ptr<Collectives> calls, bool takes_device_memory)
      : m_space(space), m_calls(std::move(calls)), m_staged(is_device_space<Space> && !takes_device_memory) {}

  [[nodiscard]] char const* name() const override {
    if (!is_device_space<Space>) return m_calls->name();
    return m_staged ? "MPI staged through the host" : "MPI on device memory";
  }
  [[nodiscard]] int rank() const override { return m_calls->rank(); }
  [[nodiscard]] int size() const override { return m_calls->size(); }

  void all_reduce(void* data, count_t count, ElementType type) override {
    count_t const bytes = count * bytes_of(type);
    void* const host    = taken(m_sent, data, bytes, bytes);
    m_calls->all_reduce(host, count, type);
    given(data, host, bytes);
  }
  void reduce_scatter(void const* data, void* own, std::span<count_t const> parts,
                      ElementType type) override {
    count_t const bytes = sum_of(parts) * bytes_of(type);
    count_t const part  = parts[rank()] * bytes_of(type);
    void const* host    = taken(m_sent, const_cast<void*>(data), bytes, bytes);
    void* const result  = room(m_received, own, part);
    m_calls->reduce_scatter(host, result, parts, type);
    given(own, result, part);
  }
  void all_gather(void* data, std::span<count_t const> parts, ElementType type) override {
    std::size_t const own = rank();
    count_t const begin   = sum_of(parts.first(own)) * bytes_of(type);
    count_t const part    = parts[own] * bytes_of(type);
    count_t const bytes   = sum_of(parts) * bytes_of(type);
    // Only the own part is copied to the host, and all the others back.
    auto* const host = static_cast<char*>(room(m_sent, data, bytes));
    copy_to_host(host + begin, static_cast<char*>(data) + begin, part);
    m_calls->all_gather(host, parts, type);
    copy_to_device(data, host, begin);
    copy_to_device(static_cast<char*>(data) + begin + part, host + begin + part, bytes - begin - part);
    if (m_staged) m_space.fence("polyad::on_instance");
  }
  void all_to_all(void const* sent, std::span<count_t const> to, void* received,
                  std::span<count_t const> from, ElementType type) override {
    count_t const bytes_to   = sum_of(to) * bytes_of(type);
    count_t const bytes_from = sum_of(from) * bytes_of(type);
    void const* const host   = taken(m_sent, const_cast<void*>(sent), bytes_to, bytes_to);
    void* const result       = room(m_received, received, bytes_from);
    m_calls->all_to_all(host, to, result, from, type);
    given(received, result, bytes_from);
  }
  void broadcast(void* data, count_t count, int root, ElementType type) override {
    count_t const bytes = count * bytes_of(type);
    void* const host    = taken(m_sent, data, bytes, rank() == root ? bytes : 0);
    m_calls->broadcast(host, count, root, type);
    if (rank() != root) given(data, host, bytes);
  }
  [[nodiscard]] std::unique_ptr<Collectives> split(int color, int key) override {
    return std::make_unique<OnInstance>(m_space, m_calls->split(color, key), !m_staged);
  }

private:
  using Pinned = Kokkos::View<char*, Kokkos::SharedHostPinnedSpace>;
  using Bytes  = Kokkos::View<char*, typename Space::memory_space, Kokkos::MemoryTraits<Kokkos::Unmanaged>>;
  using HostBytes =
      Kokkos::View<char*, Kokkos::SharedHostPinnedSpace, Kokkos::MemoryTraits<Kokkos::Unmanaged>>;

  static count_t sum_of(std::span<count_t const> parts) {
    return std::accumulate(parts.begin(), parts.end(), count_t(0));
  }

  /// The memory from which MPI sends, or to which it receives, `bytes` of `data`. Waits for the instance.
  void* room(Pinned& stage, void* data, count_t bytes) {
    m_space.fence("polyad::on_instance");
    if (!m_staged) return data;
    if (stage.extent(0) < bytes) {
      stage = Pinned();
      stage = Pinned(Kokkos::view_alloc(Kokkos::WithoutInitializing, "polyad::staged"), bytes);
    }
    return stage.data();
  }
  void* taken(Pinned& stage, void* data, count_t bytes, count_t copied) {
    void* const host = room(stage, data, bytes);
    copy_to_host(host, data, copied);
    return host;
  }
  void given(void* data, void* host, count_t bytes) {
    copy_to_device(data, host, bytes);
    if (m_staged) m_space.fence("polyad::on_instance");  // the stage is free again
  }
  void copy_to_host(void* host, void* data, count_t bytes) {
    if (!m_staged || bytes == 0) return;
    Kokkos::deep_copy(m_space, HostBytes(static_cast<char*>(host), bytes),
                      Bytes(static_cast<char*>(data), bytes));
    m_space.fence("polyad::on_instance");
  }
  void copy_to_device(void* data, void* host, count_t bytes) {
    if (!m_staged || bytes == 0) return;
    Kokkos::deep_copy(m_space, Bytes(static_cast<char*>(data), bytes),
                      HostBytes(static_cast<char*>(host), bytes));
  }

  Space m_space;
  std::unique_ptr<Collectives> m_calls;
  bool m_staged;
  Pinned m_sent;
  Pinned m_received;
};

}  // namespace polyad::detail
