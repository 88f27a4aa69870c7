// SPDX-License-Identifier: BSD-3-Clause
#include "cli/run/ranks.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <optional>

#include "cli/run/communicator.hpp"
#include "cli/run/interrupt.hpp"
#include "cli/streams/standard_streams.hpp"
#include "polyad/core/error.hpp"
#include "polyad/distributed/communicator.hpp"

namespace polyad::cli {

namespace {

std::optional<MpiScope> scope;
Ranks found;

template <class Number>
std::vector<std::vector<Number>> gathered(std::vector<Number> const& own) {
  std::size_t const ranks = found.size;
  std::vector<Number> numbers(own.size() * ranks);
  auto const of = [&](std::size_t k) { return numbers.begin() + own.size() * k; };
  std::copy(own.begin(), own.end(), of(found.rank));
  ranks_on_host().all_gather(numbers.data(), std::vector<count_t>(ranks, own.size()));
  std::vector<std::vector<Number>> of_ranks;
  for (std::size_t k = 0; k < ranks; ++k) of_ranks.emplace_back(of(k), of(k + 1));
  return of_ranks;
}

}  // namespace

void start_ranks() {
  if (!mpi_is_built() || !started_by_launcher()) return;
  scope.emplace();
  found = {scope->rank(), scope->size(), scope->local_rank(), scope->local_size()};
  if (found.rank == 0) return;
  discard_messages();
  if (std::freopen("/dev/null", "w", stdout) == nullptr)
    throw WriteError("stdout of a rank cannot be sent to /dev/null");
}

void end_ranks() {
  scope.reset();
}

Ranks const& ranks() noexcept {
  return found;
}

void expect_one_rank(std::string const& what) {
  if (found.size > 1)
    throw UsageError(what + " one rank only so far: leave it out, or start polyad without mpirun");
}

void abort_ranks(int exit_code) {
  if (scope) scope->abort(exit_code);
  std::_Exit(exit_code);
}

std::vector<std::vector<std::uint64_t>> of_all_ranks(std::vector<std::uint64_t> const& own) {
  return gathered(own);
}

std::vector<std::vector<double>> doubles_of_all_ranks(std::vector<double> const& own) {
  return gathered(own);
}

SumsOfRanks sums_of_ranks(std::uint64_t own) {
  SumsOfRanks sums;
  auto const numbers = of_all_ranks({own});
  for (std::size_t k = 0; k < numbers.size(); ++k) {
    if (k < static_cast<std::size_t>(found.rank)) sums.before += numbers[k][0];
    sums.all += numbers[k][0];
  }
  return sums;
}

int signal_of_ranks() {
  std::uint64_t signal = 0;
  for (auto const& numbers : of_all_ranks({static_cast<std::uint64_t>(interrupt_signal())}))
    signal = std::max(signal, numbers[0]);
  return static_cast<int>(signal);
}

std::string mpi_text() {
  return mpi_is_built() ? mpi_version() : "none";
}

bool has_nccl() {
  return nccl_is_built();
}

}  // namespace polyad::cli
