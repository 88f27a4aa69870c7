// SPDX-License-Identifier: BSD-3-Clause
// The tensor of `polyad cpd` on several ranks: brings the nonzeros to those that own their blocks, and builds
// the formats.
#pragma once

#include <span>
#include <string_view>
#include <utility>
#include <variant>

#include "cli/drivers/cpd_run.hpp"
#include "cli/format_choice/machine.hpp"
#include "cli/memory/memory_of_ranks.hpp"
#include "cli/memory/plan_of_rank.hpp"
#include "cli/run/interrupt.hpp"
#include "cli/tensors/device_tensor.hpp"
#include "cli/tensors/read_on_ranks.hpp"
#include "polyad/core/memory_plan.hpp"
#include "polyad/core/spaces.hpp"
#include "polyad/distributed/distribute.hpp"

namespace polyad::cli {

/// The format of this rank's share, and the report's facts about it.
/// \param plan         has the distribution
/// \param coordinates  the share's, in the plan
template <class Scalar, class Index>
[[nodiscard]] TensorByRank<Scalar, Space> build_share(Communicator<Space> const& world,
                                                      CpdOptions const& options,
                                                      TensorShare<Scalar, Index, Space> const& share,
                                                      MemoryPlan& plan, MemoryPlan::Held&& coordinates,
                                                      Report& report) {
  bool const by_mpi         = std::string_view(world.data().name()).starts_with("MPI") && !runs_on_device();
  count_t const kept        = share.block.storage_bytes();
  auto const add_the_run_to = [&](MemoryPlan& to, MemoryPlan::Held&& held, std::string const& format) {
    plan_share<Scalar>(to, share, std::move(held), format, options.rank, !options.resume.empty(), by_mpi);
  };
  if (options.format != "auto") {  // a choice refuses what does not fit itself
    MemoryPlan from_here;
    add_the_run_to(from_here, from_here.hold("the coordinates of the share", kept), options.format);
    expect_fits_all(from_here, available_memory(world.space()) + kept, "the run",
                    " with its share in " + options.format);
  }
  auto format   = format_options_of(options);
  format.format = options.format;
  auto X        = tensor_by_rank(world, share, format);
  report.format = X.format_facts();
  add_the_run_to(plan, std::move(coordinates), X.chosen());
  report_expected_memory(report, plan.peak());
  return X;
}

/// \param list  this rank's part of the nonzeros, renumbered
template <class Scalar>
[[nodiscard]] TensorByRank<Scalar, Space> divided_tensor(Communicator<Space> const& world,
                                                         CpdOptions const& options, io::CoordinateList&& list,
                                                         Report& report) {
  report.input->empty_slices = empty_slices_on_ranks(list);
  Extents const extents{std::span<count_t const>(list.extents)};
  auto const part = part_that_was_read(list);
  PartitionOptions partition;
  partition.grid = options.grid;
  partition.rank = options.rank;
  // Those of the whole tensor. The coordinates of the ranks' blocks may be narrower.
  auto const [index_bytes, share] = with_index_type(extents_need_wide_index(list.extents), [&](auto index) {
    using Index        = typename decltype(index)::type;
    auto const indices = take_indices<Index>(list);
    auto const values  = std::exchange(list.values, {});
    return std::pair(sizeof(Index), distribute_narrow<Scalar>(world, extents, std::span<Index const>(indices),
                                                              std::span<double const>(values), partition));
  });
  return std::visit(
      [&, sent = index_bytes](auto const& of_rank) {
        report.input->nnz = of_rank.nnz;
        report.input->duplicates += of_rank.duplicates;
        report.ranks->grid     = of_rank.partition.grid;
        report.ranks->labelled = of_rank.partition.labelled;
        stop_if_interrupted("distributing the tensor");
        MemoryPlan plan;
        auto coordinates = plan_distribution<Scalar>(plan, part, sent, of_rank, world.size());
        return build_share<Scalar>(world, options, of_rank, plan, std::move(coordinates), report);
      },
      share);
}

}  // namespace polyad::cli
