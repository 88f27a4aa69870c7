// SPDX-License-Identifier: BSD-3-Clause
// The only file that includes nccl.h. Every call enqueues on the instance's stream and returns: the host
// never waits.
#include "distributed/collectives/nccl_collectives.hpp"

#include <nccl.h>

#include <algorithm>
#include <cstring>
#include <exception>
#include <string>
#include <utility>
#include <vector>

#include "core/default_environment.hpp"
#include "polyad/core/error.hpp"

namespace polyad {

bool nccl_is_built() noexcept {
  return true;
}

namespace detail {

namespace {

using Space = Kokkos::DefaultExecutionSpace;

/// We keep NVLink multicast off unless the user requests it. Set while the library is loaded, before NCCL
/// reads its environment and before a program has threads: setenv may move the environment while they read
/// it.
[[maybe_unused]] int const multicast_off = set_default_environment("NCCL_NVLS_ENABLE", "0");

void expect_nccl(ncclResult_t status, char const* call) {
  if (status == ncclSuccess) return;
  throw BackendError(std::string(call) + " failed: " + ncclGetErrorString(status));
}

ncclDataType_t nccl_type(ElementType type) {
  switch (type) {
    case ElementType::u32:
      return ncclUint32;
    case ElementType::u64:
      return ncclUint64;
    case ElementType::f32:
      return ncclFloat32;
    case ElementType::f64:
      break;
  }
  return ncclFloat64;
}

bool are_equal(std::span<count_t const> parts) {
  return std::all_of(parts.begin(), parts.end(), [&](count_t part) { return part == parts[0]; });
}

/// Several calls that NCCL launches as one.
class NcclGroup {
public:
  NcclGroup() { expect_nccl(ncclGroupStart(), "ncclGroupStart"); }
  ~NcclGroup() {
    if (m_open) ncclGroupEnd();
  }
  NcclGroup(NcclGroup const&)            = delete;
  NcclGroup& operator=(NcclGroup const&) = delete;
  void end() {
    m_open = false;
    expect_nccl(ncclGroupEnd(), "ncclGroupEnd");
  }

private:
  bool m_open = true;
};

class NcclCollectives final : public Collectives {
public:
  NcclCollectives(Space const& space, std::unique_ptr<Collectives> host)
      : m_space(space), m_host(std::move(host)) {
    ncclUniqueId id;
    std::memset(&id, 0, sizeof id);
    if (m_host->rank() == 0) expect_nccl(ncclGetUniqueId(&id), "ncclGetUniqueId");
    // Its bytes travel as words.
    std::vector<std::uint64_t> words((sizeof id + 7) / 8);
    std::memcpy(words.data(), &id, sizeof id);
    m_host->broadcast(words.data(), words.size(), 0, ElementType::u64);
    std::memcpy(&id, words.data(), sizeof id);
    expect_nccl(ncclCommInitRank(&m_comm, m_host->size(), id, m_host->rank()), "ncclCommInitRank");
  }
  ~NcclCollectives() override {
    if (m_comm == nullptr) return;
    // During an exception, the other ranks may not reach this point, so this does not wait for them.
    if (std::uncaught_exceptions() > m_exceptions) {
      ncclCommAbort(m_comm);
      return;
    }
    m_space.fence("polyad::nccl");
    ncclCommDestroy(m_comm);
  }
  NcclCollectives(NcclCollectives const&)            = delete;
  NcclCollectives& operator=(NcclCollectives const&) = delete;

  [[nodiscard]] char const* name() const override { return "NCCL"; }
  [[nodiscard]] int rank() const override { return m_host->rank(); }
  [[nodiscard]] int size() const override { return m_host->size(); }

  void all_reduce(void* data, count_t count, ElementType type) override {
    if (count == 0) return;
    expect_nccl(ncclAllReduce(data, data, count, nccl_type(type), ncclSum, m_comm, m_space.cuda_stream()),
                "ncclAllReduce");
  }
  /// Unequal parts: a reduction onto each rank, launched as one.
  void reduce_scatter(void const* data, void* own, std::span<count_t const> parts,
                      ElementType type) override {
    if (are_equal(parts)) {
      if (parts[0] == 0) return;
      expect_nccl(
          ncclReduceScatter(data, own, parts[0], nccl_type(type), ncclSum, m_comm, m_space.cuda_stream()),
          "ncclReduceScatter");
      return;
    }
    NcclGroup group;
    auto const* from = static_cast<char const*>(data);
    for (int k = 0; k < std::ssize(parts); ++k) {
      bool const is_own = k == rank();
      if (parts[k] > 0)
        expect_nccl(ncclReduce(from, is_own ? own : nullptr, parts[k], nccl_type(type), ncclSum, k, m_comm,
                               m_space.cuda_stream()),
                    "ncclReduce");
      from += parts[k] * bytes_of(type);
    }
    group.end();
  }
  /// Unequal parts: a broadcast from each rank, launched as one.
  void all_gather(void* data, std::span<count_t const> parts, ElementType type) override {
    auto* at = static_cast<char*>(data);
    if (are_equal(parts)) {
      if (parts[0] == 0) return;
      char const* const own = at + rank() * parts[0] * bytes_of(type);
      expect_nccl(ncclAllGather(own, data, parts[0], nccl_type(type), m_comm, m_space.cuda_stream()),
                  "ncclAllGather");
      return;
    }
    NcclGroup group;
    for (int k = 0; k < std::ssize(parts); ++k) {
      if (parts[k] > 0)
        expect_nccl(ncclBroadcast(at, at, parts[k], nccl_type(type), k, m_comm, m_space.cuda_stream()),
                    "ncclBroadcast");
      at += parts[k] * bytes_of(type);
    }
    group.end();
  }
  void all_to_all(void const* sent, std::span<count_t const> to, void* received,
                  std::span<count_t const> from, ElementType type) override {
    NcclGroup group;
    auto const* out = static_cast<char const*>(sent);
    auto* in        = static_cast<char*>(received);
    for (int k = 0; k < std::ssize(to); ++k) {
      if (to[k] > 0)
        expect_nccl(ncclSend(out, to[k], nccl_type(type), k, m_comm, m_space.cuda_stream()), "ncclSend");
      if (from[k] > 0)
        expect_nccl(ncclRecv(in, from[k], nccl_type(type), k, m_comm, m_space.cuda_stream()), "ncclRecv");
      out += to[k] * bytes_of(type);
      in += from[k] * bytes_of(type);
    }
    group.end();
  }
  void broadcast(void* data, count_t count, int root, ElementType type) override {
    if (count == 0) return;
    expect_nccl(ncclBroadcast(data, data, count, nccl_type(type), root, m_comm, m_space.cuda_stream()),
                "ncclBroadcast");
  }
  [[nodiscard]] std::unique_ptr<Collectives> split(int color, int key) override {
    return std::make_unique<NcclCollectives>(m_space, m_host->split(color, key));
  }

private:
  Space m_space;
  std::unique_ptr<Collectives> m_host;
  ncclComm_t m_comm = nullptr;
  int m_exceptions  = std::uncaught_exceptions();
};

}  // namespace

std::unique_ptr<Collectives> nccl_collectives(Space const& space, std::unique_ptr<Collectives> host) {
  return std::make_unique<NcclCollectives>(space, std::move(host));
}

}  // namespace detail
}  // namespace polyad
