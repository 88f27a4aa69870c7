// SPDX-License-Identifier: BSD-3-Clause
// The ranks of a launcher. MPI starts only if there are several ranks, in a build with MPI. Free of Kokkos.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace polyad::cli {

struct Ranks {
  int rank       = 0;
  int size       = 1;
  int local_rank = 0;  // on this machine
  int local_size = 1;
};

/// Starts MPI if a launcher started several ranks. Must be called first. Results and messages of ranks other
/// than 0 are discarded.
/// \throws BackendError
void start_ranks();
/// Ends what start_ranks started.
void end_ranks();
/// The ranks that start_ranks found; one rank before its call.
[[nodiscard]] Ranks const& ranks() noexcept;
/// \param what  "--init nvecs works on", for the message
/// \throws UsageError if there are several ranks
void expect_one_rank(std::string const& what);
/// Ends all ranks with this exit code. Call it only if there are several.
[[noreturn]] void abort_ranks(int exit_code);

/// The numbers of all ranks, in their order; each passes the same number of them. All ranks call it, in a
/// Session. One rank needs none.
[[nodiscard]] std::vector<std::vector<std::uint64_t>> of_all_ranks(std::vector<std::uint64_t> const& own);
[[nodiscard]] std::vector<std::vector<double>> doubles_of_all_ranks(std::vector<double> const& own);
/// The sum over the ranks before this one, and over all. All ranks call it, in a Session.
struct SumsOfRanks {
  std::uint64_t before = 0, all = 0;
};
[[nodiscard]] SumsOfRanks sums_of_ranks(std::uint64_t own);

/// The signal that interrupts any rank, or 0. All ranks call it, in a Session.
[[nodiscard]] int signal_of_ranks();

/// "Open MPI v4.1.4", or "none"
[[nodiscard]] std::string mpi_text();
[[nodiscard]] bool has_nccl();

}  // namespace polyad::cli
