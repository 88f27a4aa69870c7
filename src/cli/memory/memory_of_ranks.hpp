// SPDX-License-Identifier: BSD-3-Clause
// Facts about memory that ranks exchange. All of them call these functions together.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "cli/report/host_facts.hpp"
#include "cli/report/report.hpp"
#include "cli/run/ranks.hpp"
#include "polyad/core/error.hpp"
#include "polyad/core/quantity_text.hpp"
#include "polyad/distributed/distribute.hpp"

namespace polyad::cli {

/// Refuses a run on all ranks if one of them lacks the memory for it.
/// \param needs, free  bytes of this rank; both include what it holds already
/// \param with  the run's model or format, for the message: " with ..."
/// \throws MemoryError
inline void expect_fits_all(std::uint64_t needs, std::uint64_t free, std::string const& with) {
  auto const found = of_all_ranks({needs, free});
  for (std::size_t k = 0; k < found.size(); ++k)
    if (found[k][0] > found[k][1])
      throw MemoryError("the run of rank " + std::to_string(k) + with, found[k][0],
                        "only " + bytes_text(found[k][1]) + " are free there");
}

/// Whether every rank has enough memory.
[[nodiscard]] inline bool fits_all(std::uint64_t needs, std::uint64_t free) {
  return sums_of_ranks(needs > free ? 1 : 0).all == 0;
}

/// Reports the memory that each rank expects to need. On several ranks it includes the process, and the ranks
/// are listed.
inline void report_expected_memory(Report& report, std::string_view exchange, std::uint64_t expected) {
  auto const of_ranks = of_all_ranks({expected});
  if (ranks().rank == 0) report.memory.expected_peak_bytes = expected;
  if (ranks().rank > 0 || ranks().size == 1) return;
  if (!report.ranks) report.ranks.emplace();
  report.ranks->count    = ranks().size;
  report.ranks->exchange = std::string(exchange);
  for (auto const& numbers : of_ranks) report.ranks->expected_peak_bytes.push_back(numbers[0]);
}

/// Reports the peak memory of each of several ranks.
inline void report_peak_memory(Report& report) {
  auto const of_ranks = of_all_ranks({peak_memory_bytes()});
  if (!report.ranks) return;
  for (auto const& numbers : of_ranks) report.ranks->host_peak_bytes.push_back(numbers[0]);
}

/// Reports the ratios of the largest share to the mean share, for several ranks.
inline void report_imbalance(Report& report, Imbalance const& imbalance) {
  if (!report.ranks) return;
  report.ranks->nonzeros = imbalance.nonzeros;
  report.ranks->rows     = imbalance.rows;
  report.ranks->bytes    = imbalance.bytes;
}

}  // namespace polyad::cli
