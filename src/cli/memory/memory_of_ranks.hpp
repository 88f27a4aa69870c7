// SPDX-License-Identifier: BSD-3-Clause
// The memory of ranks: what one of them needs, and what they tell each other.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "cli/memory/loading_bytes.hpp"
#include "cli/report/host_facts.hpp"
#include "cli/report/report.hpp"
#include "cli/run/ranks.hpp"
#include "formats/plan_owned_formats.hpp"
#include "polyad/core/error.hpp"
#include "polyad/core/memory_plan.hpp"
#include "polyad/core/quantity_text.hpp"
#include "polyad/core/rank.hpp"
#include "polyad/distributed/distribute.hpp"
#include "polyad/io/coordinate_list.hpp"

namespace polyad::cli {

/// Refuses a run on all ranks, which call it together, if one of them lacks the memory for it.
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

/// Whether every rank has enough memory. All call it together.
[[nodiscard]] inline bool fits_all(std::uint64_t needs, std::uint64_t free) {
  return sums_of_ranks(needs > free ? 1 : 0).all == 0;
}

/// Reports the memory that each rank expects to need. All call it together. Several ranks are listed, and
/// theirs includes the process.
/// \param expected  bytes without the process
inline void report_expected_memory(Report& report, std::uint64_t expected) {
  if (report.ranks) expected += report.process_bytes;
  report.memory.expected_peak_bytes = expected;
  auto const of_ranks               = of_all_ranks({expected});
  if (!report.ranks) return;
  for (auto const& numbers : of_ranks) report.ranks->expected_peak_bytes.push_back(numbers[0]);
}

/// Reports the peak memory of each of several ranks, and the ratios of the largest share to the mean share.
/// All call it together.
inline void report_ranks(Report& report, Imbalance const& imbalance) {
  auto const of_ranks = of_all_ranks({peak_memory_bytes()});
  if (!report.ranks) return;
  for (auto const& numbers : of_ranks) report.ranks->host_peak_bytes.push_back(numbers[0]);
  report.ranks->nonzeros = imbalance.nonzeros;
  report.ranks->rows     = imbalance.rows;
  report.ranks->bytes    = imbalance.bytes;
}

/// The part of the tensor that a rank has read.
struct PartThatWasRead {
  std::uint64_t nnz         = 0;
  std::uint64_t order       = 0;
  std::uint64_t index_bytes = 4;  // as it was read
  bool is_ordered           = false;
};

inline PartThatWasRead part_that_was_read(io::CoordinateList const& list) {
  return {list.nnz(), list.extents.size(), list.wide() ? 8U : 4U, is_ordered(list)};
}

/// Adds the part that was read to the plan, as it is passed to the library, which keeps it until its arrays
/// are released.
/// \param index_bytes  the size of an index that is passed
[[nodiscard]] inline std::vector<MemoryPlan::Held> plan_part(MemoryPlan& plan, PartThatWasRead const& part,
                                                             std::uint64_t index_bytes) {
  std::vector<MemoryPlan::Held> held;
  held.push_back(plan.hold("the values as they were read", part.nnz * sizeof(double)));
  auto const read = plan.hold("the indices as they were read", part.nnz * part.order * part.index_bytes);
  held.push_back(plan.hold("the indices that are sent", part.nnz * part.order * index_bytes));
  return held;
}

/// Adds distribute() to the plan: the part that was read, what is sent and received, and the sort that sums
/// duplicates. Returns the coordinates of the share.
/// \param index_bytes  the size of an index that is sent
template <class Scalar, class Index, class Space>
MemoryPlan::Held plan_distribution(MemoryPlan& plan, PartThatWasRead const& part, std::uint64_t index_bytes,
                                   TensorShare<Scalar, Index, Space> const& share, int ranks) {
  std::uint64_t const count = share.block.nnz();
  auto const read           = plan_part(plan, part, index_bytes);
  auto coordinates =
      detail::plan_received_tensor<Scalar, Index>(plan, part.nnz, count, static_cast<int>(part.order), ranks);
  if (!part.is_ordered) detail::plan_sort_of_duplicates(plan, count);
  return coordinates;
}

/// Adds a run of CP-ALS on a rank's share to the plan, in a format of that name: the build, the factors, and
/// on the first rank the whole model.
/// \param resumes  whether the first rank has the factors of a checkpoint
/// \param by_mpi   whether MPI adds up outputs in host memory: Open MPI 4 then holds up to two copies of one
template <class Scalar, class Index, class Space>
void plan_share(MemoryPlan& plan, TensorShare<Scalar, Index, Space> const& share,
                MemoryPlan::Held coordinates, std::string const& format, std::uint64_t rank, bool resumes,
                bool by_mpi) {
  auto const& partition = share.partition;
  bool const is_root    = partition.rank == 0;
  auto const matrix     = [&](std::uint64_t rows) {
    return MemoryPlan::product({rows, padded_rank<Scalar>(rank), sizeof(Scalar)});
  };
  std::uint64_t own = 0, longest = 0, whole = 0, longest_whole = 0, sums = 0, added = 0;
  for (int n = 0; n < partition.extents.order(); ++n) {
    std::uint64_t const rows = share.block.extents()[n];
    own                      = MemoryPlan::sum(own, matrix(rows));
    longest                  = std::max(longest, matrix(rows));
    whole                    = MemoryPlan::sum(whole, matrix(partition.extents[n]));
    longest_whole            = std::max(longest_whole, matrix(partition.extents[n]));
    if (partition.sharers(n) == 1) continue;
    added = std::max(added, matrix(rows));
    for (auto const owned : partition.owned_rows(partition.rank, n)) sums = std::max(sums, matrix(owned));
  }
  AnyFormatOptions named;
  named.format = format;
  named.rank   = rank;
  auto const in =
      detail::format_bytes<Scalar, Index>(Space(), share.block.extents(), share.block.nnz(), named);
  plan.pass("the build of " + format, in.built);
  auto const stored = plan.hold("the share in " + format, in.stored);
  if (!in.shares) coordinates.release();
  {
    auto const factors = plan.hold("the factors of the share", own);
    if (is_root && resumes) {
      auto const resumed = plan.hold("the checkpoint that is resumed",
                                     MemoryPlan::product({whole / sizeof(Scalar), sizeof(double)}));
      plan.pass("a factor that is sent",
                MemoryPlan::product({2, longest_whole / sizeof(Scalar), sizeof(double)}));
    }
    auto const summed = plan.hold("the sums of ranks", sums);
    {
      auto const scratch = plan.hold("the scratch of " + format, in.workspace);
      auto const output  = plan.hold("the output of the longest mode", longest);
      if (by_mpi) plan.pass("MPI's copies of the outputs that it adds up", MemoryPlan::product({2, added}));
    }
    if (is_root) plan.pass("the whole model", whole);
  }
  if (!is_root) return;
  auto const model = plan.hold("the whole model", whole);
  plan.pass("a factor in the order of its components", longest_whole);
}

}  // namespace polyad::cli
