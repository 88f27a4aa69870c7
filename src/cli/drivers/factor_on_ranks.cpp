// SPDX-License-Identifier: BSD-3-Clause
#include "cli/drivers/factor_on_ranks.hpp"

#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "cli/drivers/cpd_run.hpp"
#include "cli/format_choice/machine.hpp"
#include "cli/memory/memory_of_ranks.hpp"
#include "cli/memory/plan_of_rank.hpp"
#include "cli/names/settle_modes.hpp"
#include "cli/report/host_facts.hpp"
#include "cli/run/communicator.hpp"
#include "cli/run/interrupt.hpp"
#include "cli/run/ranks.hpp"
#include "cli/tensors/compact_list.hpp"
#include "cli/tensors/compact_on_ranks.hpp"
#include "cli/tensors/device_tensor.hpp"
#include "cli/tensors/read_input.hpp"
#include "cli/tensors/read_on_ranks.hpp"
#include "polyad/core/error.hpp"
#include "polyad/core/memory_plan.hpp"
#include "polyad/core/quantity_text.hpp"
#include "polyad/core/spaces.hpp"
#include "polyad/distributed/distribute.hpp"
#include "polyad/io/model_file.hpp"
#include "polyad/io/saved_models.hpp"

namespace polyad::cli {
namespace {

template <class Scalar, class Index>
class FactoringOnRanks {
public:
  /// \param rows   the stored rows of the whole tensor
  /// \param start  with these rows, on the first rank; empty on the others, and everywhere if it is random
  FactoringOnRanks(CpdOptions const& options, Communicator<Space> const& world,
                   std::vector<StoredRows> const& rows, std::vector<std::vector<double>> const& start,
                   Report& report, OnIteration const& on_iteration)
      : m_options(options),
        m_world(world),
        m_rows(rows),
        m_start(start),
        m_report(report),
        m_on_iteration(on_iteration) {}

  /// \param share  that of this rank; its coordinates are released once the format has them
  /// \param plan  has the distribution, and the share's coordinates
  RanksOutcome run(TensorShare<Scalar, Index, Space>&& share, MemoryPlan&& plan,
                   MemoryPlan::Held&& coordinates) {
    if (is_root()) {
      m_report.input->nnz = share.nnz;
      m_report.input->duplicates += share.duplicates;
      m_report.ranks = RanksReport{m_world.size(),           share.partition.grid, m_world.data().name(),
                                   share.imbalance.nonzeros, share.imbalance.rows, share.imbalance.bytes,
                                   share.partition.labelled};
    }
    stop_if_interrupted("distributing the tensor");

    // If a format is to be chosen, the choice refuses what does not fit.
    bool const resumes     = !m_options.resume.empty();
    bool const by_mpi      = std::string_view(m_world.data().name()).starts_with("MPI") && !runs_on_device();
    count_t const nnz      = share.block.nnz();
    bool const named       = m_options.format != "auto";
    count_t const kept     = share.block.storage_bytes();
    auto const add_the_run = [&](std::string const& format) {
      plan_share<Scalar>(plan, share, nnz, std::move(coordinates), format, m_options.rank, resumes, by_mpi);
    };
    if (named) {
      MemoryPlan from_here;
      plan_share<Scalar>(from_here, share, nnz, from_here.hold("the coordinates of the share", kept),
                         m_options.format, m_options.rank, resumes, by_mpi);
      expect_fits_all(from_here.peak(), available_memory(m_world.space()) + kept,
                      " with its share in " + m_options.format);
    }
    auto const X = build(share);
    add_the_run(X.chosen());
    report_expected_memory(m_report, m_world.data().name(), plan.peak());
    auto const als = library_options(m_options, X.extents().order(), m_rows);
    RanksOutcome outcome;
    auto const reason =
        report_als(m_report, m_on_iteration, outcome.save, [&](CpAlsCallback const& callback) {
          if (starts_from_file(m_options)) return cp_als(m_world.space(), X, als, m_start, callback);
          return cp_als(m_world.space(), X, als, callback);
        });
    if (reason == StopReason::interrupted) outcome.signal = signal_of_ranks();
    report_peak_memory(m_report);
    return outcome;
  }

private:
  [[nodiscard]] bool is_root() const { return m_world.rank() == 0; }

  TensorByRank<Scalar, Space> build(TensorShare<Scalar, Index, Space>& share) {
    auto options   = format_options_of(m_options);
    options.format = m_options.format;
    auto X         = tensor_by_rank(m_world, share, options);
    // From here on only the format keeps the coordinates. The plan needs the block's extents.
    share.block = CooTensor<Scalar, Index, Space>(
        share.block.extents(),
        typename CooTensor<Scalar, Index, Space>::indices_type("polyad::no_indices", 0,
                                                               static_cast<count_t>(share.block.order())),
        typename CooTensor<Scalar, Index, Space>::values_type("polyad::no_values", 0));
    if (!is_root()) return X;
    auto const facts = X.format_facts();
    m_report.format  = FormatReport{facts.chosen,  facts.storage_bytes, facts.build_s,
                                    facts.because, facts.candidates,    facts.warning};
    warn_of_losses(*m_report.format);
    return X;
  }

  CpdOptions const& m_options;
  Communicator<Space> m_world;
  std::vector<StoredRows> const& m_rows;
  std::vector<std::vector<double>> const& m_start;
  Report& m_report;
  OnIteration const& m_on_iteration;
};

}  // namespace

RanksOutcome factor_on_ranks(CpdOptions options, TensorInput const& input,
                             std::optional<io::HostKtensor> start, Report& report,
                             OnIteration const& on_iteration) {
  count_t const base = peak_memory_bytes();  // MPI takes some
  auto const world   = make_communicator(options.deterministic);
  auto tensor        = read_on_ranks(input, options.common, report);
  settle_modes(options, tensor, *report.input, start);
  auto const rows            = zeros_are_allowed(options, tensor.order())
                                   ? compact_list_on_ranks(world, tensor, *report.input)
                                   : std::vector<StoredRows>();
  report.input->empty_slices = empty_slices_on_ranks(tensor);
  add_empty_slices(rows, *report.input);
  std::vector<std::vector<double>> factors;
  if (start && world.rank() == 0) factors = io::with_rows(std::move(*start), rows).factors;
  start.reset();
  Extents const extents{std::span<count_t const>(tensor.extents)};
  bool const is_wide = extents_need_wide_index(tensor.extents);
  PartitionOptions partition;
  partition.grid = options.grid;
  partition.rank = options.rank;
  auto const run = [&](auto scalar, auto index) {
    using Scalar    = typename decltype(scalar)::type;
    using Index     = typename decltype(index)::type;
    auto const part = part_that_was_read(tensor);
    auto share      = [&] {
      auto list          = std::exchange(tensor, {});
      auto const indices = take_indices<Index>(list);
      return distribute_narrow<Scalar>(world, extents, std::span<Index const>(indices),
                                       std::span<double const>(list.values), partition);
    }();
    return std::visit(
        [&](auto& of_rank) {
          using Block = std::remove_cvref_t<decltype(of_rank.block)>;
          MemoryPlan plan;
          auto const process = plan.hold("the process", base);
          auto coordinates   = plan_distribution<Scalar>(plan, part, sizeof(Index), of_rank, world.size());
          return FactoringOnRanks<Scalar, typename Block::index_type>(options, world, rows, factors, report,
                                                                      on_iteration)
              .run(std::move(of_rank), std::move(plan), std::move(coordinates));
        },
        share);
  };
  auto const with_scalar = [&](auto index) {
    if (options.precision == "f32") return run(std::type_identity<float>{}, index);
    return run(std::type_identity<double>{}, index);
  };
  // The coordinates of the whole tensor. Those of the ranks' blocks may be narrower.
  if (is_wide) return with_scalar(std::type_identity<std::uint64_t>{});
  return with_scalar(std::type_identity<std::uint32_t>{});
}

}  // namespace polyad::cli
