// SPDX-License-Identifier: BSD-3-Clause
// Facts about memory that ranks exchange. All of them call these functions together.
#pragma once

#include <cstdint>
#include <string>

#include "cli/report/host_facts.hpp"
#include "cli/report/report.hpp"
#include "cli/run/ranks.hpp"
#include "polyad/core/error.hpp"
#include "polyad/core/memory_plan.hpp"
#include "polyad/core/quantity_text.hpp"
#include "polyad/distributed/distribute.hpp"

namespace polyad::cli {

/// Refuses a run on all ranks if one of them lacks the memory for it.
/// \param needs     the plan of this rank, without the process
/// \param free       bytes of this rank, with those that the plan begins with
/// \param what       the run of a single rank, for the message
/// \param with       the run's model or format, for the message: " with ...", or empty
/// \throws MemoryError
inline void expect_fits_all(MemoryPlan const& needs, std::uint64_t free, std::string const& what,
                            std::string const& with) {
  auto const found = of_all_ranks({needs.peak(), free});
  if (found.size() == 1) return needs.expect_fits(free, what + with);
  for (std::size_t k = 0; k < found.size(); ++k)
    if (found[k][0] > found[k][1])
      throw MemoryError("the run of rank " + std::to_string(k) + with, found[k][0],
                        "only " + bytes_text(found[k][1]) + " are free there");
}

/// Whether every rank has enough memory.
[[nodiscard]] inline bool fits_all(std::uint64_t needs, std::uint64_t free) {
  return sums_of_ranks(needs > free ? 1 : 0).all == 0;
}

/// Reports the memory that each rank expects to need. Several ranks are listed, and theirs includes the
/// process.
/// \param expected  bytes without the process
inline void report_expected_memory(Report& report, std::uint64_t expected) {
  if (report.ranks) expected += report.process_bytes;
  report.memory.expected_peak_bytes = expected;
  auto const of_ranks               = of_all_ranks({expected});
  if (!report.ranks) return;
  for (auto const& numbers : of_ranks) report.ranks->expected_peak_bytes.push_back(numbers[0]);
}

/// Reports the peak memory of each of several ranks, and the ratios of the largest share to the mean share.
inline void report_ranks(Report& report, Imbalance const& imbalance) {
  auto const of_ranks = of_all_ranks({peak_memory_bytes()});
  if (!report.ranks) return;
  for (auto const& numbers : of_ranks) report.ranks->host_peak_bytes.push_back(numbers[0]);
  report.ranks->nonzeros = imbalance.nonzeros;
  report.ranks->rows     = imbalance.rows;
  report.ranks->bytes    = imbalance.bytes;
}

}  // namespace polyad::cli
