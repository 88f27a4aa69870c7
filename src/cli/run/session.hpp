// SPDX-License-Identifier: BSD-3-Clause
// Kokkos for as long as a command needs it. Free of Kokkos itself, for the files that include CLI11 or JSON.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "cli/options/file_options.hpp"
#include "cli/report/report.hpp"

namespace polyad::cli {

/// The number of threads for one of several ranks on a machine; 0 leaves the choice to whoever starts them.
[[nodiscard]] int threads_of_rank();

class Session {
public:
  /// Begins with the threads of the host that were asked for, 0 of which leaves the choice to Kokkos. Kokkos
  /// prints its warnings if the command is verbose.
  /// \param report         gets the backend
  /// \param device_memory  the limit for the device, in bytes
  /// On several ranks each takes a device by its number on its machine, and its share of the cores.
  /// \throws BackendError when the device cannot be used
  Session(CommonOptions const& common, Report& report, std::optional<std::uint64_t> device_memory = {});
  ~Session();
  Session(Session const&)            = delete;
  Session& operator=(Session const&) = delete;

  /// Prints the configuration as Kokkos reports it.
  void print_configuration(std::ostream& out) const;

private:
  struct State;
  std::unique_ptr<State> m_state;
};

/// The Session of a command that may run on several ranks. These exchange what they read, so theirs begins at
/// once. That of one rank begins by begin(), after it has read: Kokkos may bind the threads that start later.
class RunSession {
public:
  RunSession(CommonOptions const& common, Report& report, std::optional<std::uint64_t> device_memory = {});
  /// Begins unless it has begun.
  void begin();

private:
  CommonOptions const& m_common;
  Report& m_report;
  std::optional<std::uint64_t> m_device_memory;
  std::optional<Session> m_session;
};

/// The peaks so far, of the host and of the device. Valid after the session's end, too.
[[nodiscard]] MemoryReport peak_memory();

/// "4.7.0"
[[nodiscard]] std::string kokkos_version();

}  // namespace polyad::cli
