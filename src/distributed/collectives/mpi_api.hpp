// SPDX-License-Identifier: BSD-3-Clause
// MpiApi: the calls of MPI that MpiCollectives uses, with counts in int as in MPI. A test replaces it
// by one that only counts.
#pragma once

#include <memory>
#include <optional>
#include <span>

#include "polyad/distributed/communicator.hpp"

namespace polyad::detail {

class MpiApi {
public:
  virtual ~MpiApi() = default;

  [[nodiscard]] virtual int rank() const = 0;
  [[nodiscard]] virtual int size() const = 0;
  /// In place.
  virtual void all_reduce(void* data, int count, ElementType type) = 0;
  /// Sums onto `root`. Only `root` gets `sum`.
  virtual void reduce(void const* data, void* sum, int count, int root, ElementType type)                = 0;
  virtual void reduce_scatter(void const* data, void* own, std::span<int const> parts, ElementType type) = 0;
  /// In place: the caller has set its own part.
  virtual void all_gather(void* data, std::span<int const> parts, std::span<int const> begins,
                          ElementType type)                                 = 0;
  virtual void broadcast(void* data, int count, int root, ElementType type) = 0;
  /// Messages between two ranks arrive in the order in which they were begun; wait() ends all.
  virtual void begin_send(void const* data, int count, int to, ElementType type) = 0;
  virtual void begin_receive(void* data, int count, int from, ElementType type)  = 0;
  virtual void wait()                                                            = 0;
  [[nodiscard]] virtual std::unique_ptr<MpiApi> split(int color, int key)        = 0;
};

/// The calls of MPI itself.
/// \param fortran  the handle of a communicator that MPI_Comm_c2f returns; unset: all ranks
/// \throws UsageError in a build without MPI; BackendError
[[nodiscard]] std::unique_ptr<MpiApi> mpi_calls(std::optional<int> fortran);

/// Whether MPI reports that it accepts pointers to device memory.
[[nodiscard]] bool mpi_takes_device_memory();

}  // namespace polyad::detail
