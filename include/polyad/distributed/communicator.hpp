// SPDX-License-Identifier: BSD-3-Clause
// Communicator: the communication between the ranks of a distributed run, on an instance of an execution
// space. It offers only the operations that the algorithms need. It has three back ends: one rank without
// MPI, MPI, and NCCL between GPUs.
//
//   MpiScope const mpi;                              // MPI_Init, and MPI_Finalize at its end
//   auto const ranks = mpi_communicator(space);      // or nccl_communicator(space)
//
// All ranks of a communicator make the same calls in the same order. If a rank throws between two calls, the
// others wait for ever: end the job then (MpiScope::abort).
#pragma once

#include <Kokkos_Core.hpp>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "polyad/core/instances.hpp"
#include "polyad/core/types.hpp"

namespace polyad {

namespace detail {

enum class ElementType : int { u32, u64, f32, f64 };

template <class T>
constexpr ElementType element_type_of() {
  if constexpr (std::is_same_v<T, double>) return ElementType::f64;
  if constexpr (std::is_same_v<T, float>) return ElementType::f32;
  if constexpr (std::is_same_v<T, std::uint32_t>) return ElementType::u32;
  static_assert(std::is_same_v<T, double> || std::is_same_v<T, float> || std::is_same_v<T, std::uint32_t> ||
                    std::is_same_v<T, std::uint64_t>,
                "ranks exchange float, double, std::uint32_t and std::uint64_t");
  return ElementType::u64;
}

[[nodiscard]] constexpr count_t bytes_of(ElementType type) {
  return type == ElementType::u32 || type == ElementType::f32 ? 4 : 8;
}

/// A back end: the calls of RankGroup on memory of one kind, with sizes that were already checked.
class Collectives {
public:
  virtual ~Collectives()                                               = default;
  [[nodiscard]] virtual char const* name() const                       = 0;
  [[nodiscard]] virtual int rank() const                               = 0;
  [[nodiscard]] virtual int size() const                               = 0;
  virtual void all_reduce(void* data, count_t count, ElementType type) = 0;
  virtual void reduce_scatter(void const* data, void* own, std::span<count_t const> parts, ElementType) = 0;
  virtual void all_gather(void* data, std::span<count_t const> parts, ElementType type)                 = 0;
  virtual void all_to_all(void const* sent, std::span<count_t const> to, void* received,
                          std::span<count_t const> from, ElementType type)                              = 0;
  virtual void broadcast(void* data, count_t count, int root, ElementType type)                         = 0;
  [[nodiscard]] virtual std::unique_ptr<Collectives> split(int color, int key)                          = 0;
};

}  // namespace detail

/// Ranks that exchange arrays in memory of one kind, host or device. Counts are of elements, in 64 bits. T is
/// float, double, std::uint32_t or std::uint64_t. A copy shares the back end and the count of words.
class RankGroup {
public:
  /// One rank, which exchanges nothing.
  RankGroup();
  explicit RankGroup(std::shared_ptr<detail::Collectives> collectives);

  [[nodiscard]] int rank() const { return m_collectives->rank(); }
  [[nodiscard]] int size() const { return m_collectives->size(); }
  /// "self", "MPI", "MPI on device memory", "MPI staged through the host" or "NCCL"
  [[nodiscard]] char const* name() const { return m_collectives->name(); }

  /// data(i) = the sum of all ranks' data(i). All ranks get the same bits if the back end guarantees it.
  template <class T>
  void all_reduce(T* data, count_t count) const {
    all_reduce(data, count, detail::element_type_of<T>());
  }
  /// `data` has a part of parts[k] elements for each rank k. own(i) = the sum of all ranks' data(i) in the
  /// caller's part. `own` must not overlap `data`, whose content is undefined afterwards.
  template <class T>
  void reduce_scatter(T* data, T* own, std::span<count_t const> parts) const {
    reduce_scatter(data, own, parts, detail::element_type_of<T>());
  }
  /// `data` has a part of parts[k] elements for each rank k. The own part is set; this sets the others.
  template <class T>
  void all_gather(T* data, std::span<count_t const> parts) const {
    all_gather(data, parts, detail::element_type_of<T>());
  }
  /// Sends to[k] elements of `sent` to rank k, in the order of ranks; `received` gets from[k] of rank k.
  template <class T>
  void all_to_all(T const* sent, std::span<count_t const> to, T* received,
                  std::span<count_t const> from) const {
    all_to_all(sent, to, received, from, detail::element_type_of<T>());
  }
  /// How many elements each rank has for this one, as needed for `from` of all_to_all.
  [[nodiscard]] std::vector<count_t> counts_from(std::span<count_t const> to) const;
  /// Copies `data` of rank `root` to all ranks.
  template <class T>
  void broadcast(T* data, count_t count, int root) const {
    broadcast(data, count, root, detail::element_type_of<T>());
  }

  /// The ranks of the same color, in the order of their keys. They count into this group's words.
  [[nodiscard]] RankGroup split(int color, int key) const;

  /// Elements that this rank has sent so far, if algorithms send the least possible. A reduce-scatter sends
  /// all but the own part, an all-gather the own part to each other rank. An all-reduce does both.
  [[nodiscard]] count_t words_sent() const { return *m_words; }

private:
  void all_reduce(void* data, count_t count, detail::ElementType type) const;
  void reduce_scatter(void* data, void* own, std::span<count_t const> parts, detail::ElementType type) const;
  void all_gather(void* data, std::span<count_t const> parts, detail::ElementType type) const;
  void all_to_all(void const* sent, std::span<count_t const> to, void* received,
                  std::span<count_t const> from, detail::ElementType type) const;
  void broadcast(void* data, count_t count, int root, detail::ElementType type) const;

  std::shared_ptr<detail::Collectives> m_collectives;
  std::shared_ptr<count_t> m_words;
};

/// The ranks of a run, each with an instance of an execution space.
template <class Space>
class Communicator {
  static_assert(detail::expect_compiled<double, std::uint32_t, Space>());

public:
  /// One rank.
  explicit Communicator(Space const& space) : m_space(space) {}
  Communicator(Space const& space, RankGroup data, RankGroup host)
      : m_space(space), m_data(std::move(data)), m_host(std::move(host)) {}

  [[nodiscard]] int rank() const { return m_data.rank(); }
  [[nodiscard]] int size() const { return m_data.size(); }
  [[nodiscard]] Space const& space() const { return m_space; }
  /// For arrays in the memory of Space. Calls run in order with the work that is enqueued on space(). NCCL
  /// only enqueues; the other back ends wait for the instance.
  [[nodiscard]] RankGroup const& data() const { return m_data; }
  /// For arrays in host memory; waits.
  [[nodiscard]] RankGroup const& host() const { return m_host; }

private:
  Space m_space;
  RankGroup m_data;
  RankGroup m_host;
};

/// Whether this build has MPI or NCCL (-DPOLYAD_ENABLE_MPI=ON, -DPOLYAD_ENABLE_NCCL=ON).
[[nodiscard]] bool mpi_is_built() noexcept;
[[nodiscard]] bool nccl_is_built() noexcept;
/// "Open MPI v4.1.4 ..."; empty without MPI.
[[nodiscard]] std::string mpi_version();
/// Whether a launcher (mpirun, srun) started this process as one of several ranks.
[[nodiscard]] bool started_by_launcher();

/// Starts MPI unless the program has done so, and ends it in that case. Construct it before Kokkos starts.
class MpiScope {
public:
  /// \throws UsageError in a build without MPI; BackendError when MPI does not start
  MpiScope();
  ~MpiScope();
  MpiScope(MpiScope const&)            = delete;
  MpiScope& operator=(MpiScope const&) = delete;

  [[nodiscard]] int rank() const { return m_rank; }
  [[nodiscard]] int size() const { return m_size; }
  /// This rank's number among the ranks of this machine.
  [[nodiscard]] int local_rank() const { return m_local_rank; }
  [[nodiscard]] int local_size() const { return m_local_size; }
  /// Ends all ranks with this exit code.
  [[noreturn]] void abort(int exit_code) const;

private:
  [[maybe_unused]] bool m_started = false;  // by this object, with MPI
  int m_rank                      = 0;
  int m_size                      = 1;
  int m_local_rank                = 0;
  int m_local_size                = 1;
};

/// All ranks of MPI, or those of another communicator, given by its number of MPI_Comm_c2f. Device memory is
/// passed to MPI directly if MPI reports that it accepts it, otherwise through pinned host memory.
/// \throws UsageError in a build without MPI; BackendError when MPI was not started or a call fails
template <class Space>
[[nodiscard]] Communicator<Space> mpi_communicator(Space const& space, std::optional<int> fortran = {});

/// The same with NCCL for device memory. Each rank has a device of its own. NVLink multicast stays off unless
/// the environment sets NCCL_NVLS_ENABLE.
/// \throws UsageError in a build without NCCL; BackendError when NCCL does not start
template <class Space>
[[nodiscard]] Communicator<Space> nccl_communicator(Space const& space, std::optional<int> fortran = {});

}  // namespace polyad
