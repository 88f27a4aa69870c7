// SPDX-License-Identifier: BSD-3-Clause
#include "cli/drivers/factor_on_ranks.hpp"

#include <chrono>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "cli/drivers/resumable_als.hpp"
#include "cli/format_choice/machine.hpp"
#include "cli/memory/memory_of_ranks.hpp"
#include "cli/memory/plan_of_rank.hpp"
#include "cli/report/host_facts.hpp"
#include "cli/run/communicator.hpp"
#include "cli/run/interrupt.hpp"
#include "cli/run/ranks.hpp"
#include "cli/tensors/compact_list.hpp"
#include "cli/tensors/compact_on_ranks.hpp"
#include "cli/tensors/device_tensor.hpp"
#include "cli/tensors/read_on_ranks.hpp"
#include "polyad/core/error.hpp"
#include "polyad/core/memory_plan.hpp"
#include "polyad/core/quantity_text.hpp"
#include "polyad/core/spaces.hpp"
#include "polyad/distributed/cp_als.hpp"
#include "polyad/io/saved_models.hpp"

namespace polyad::cli {
namespace {

/// Gives a run of all ranks the interface that expect_same_run and to_checkpoint need.
struct WholeTensor {
  std::string format;
  Extents of;
  double squares;
  [[nodiscard]] std::string const& chosen() const { return format; }
  [[nodiscard]] Extents const& extents() const { return of; }
  [[nodiscard]] double norm_squared() const { return squares; }
};

template <class Scalar, class Index>
class FactoringOnRanks {
public:
  /// \param rows  that are stored, of the whole tensor
  FactoringOnRanks(CpdOptions const& options, Communicator<Space> const& world,
                   std::vector<StoredRows> const& rows, Report& report, OnIteration const& on_iteration,
                   Checkpoints const& checkpoints)
      : m_options(options),
        m_world(world),
        m_rows(rows),
        m_report(report),
        m_on_iteration(on_iteration),
        m_checkpoints(checkpoints) {}

  /// \param share  of this rank; its coordinates are released once the format has them
  /// \param plan  has the distribution, and the share's coordinates
  RanksOutcome run(Extents const& extents, TensorShare<Scalar, Index, Space>&& share, bool resumes,
                   MemoryPlan&& plan, MemoryPlan::Held&& coordinates) {
    if (is_root()) {
      m_report.input->nnz = share.nnz;
      m_report.input->duplicates += share.duplicates;
      m_report.ranks = RanksReport{m_world.size(),           share.partition.grid, m_world.data().name(),
                                   share.imbalance.nonzeros, share.imbalance.rows, share.imbalance.bytes,
                                   share.partition.labelled};
    }
    stop_if_interrupted("distributing the tensor");

    // If a format is to be chosen, the choice refuses what does not fit.
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
    WholeTensor const whole{X.chosen(), extents, share.norm_squared};
    if (m_options.restarts > 1) return with_peaks(best_of_restarts(share, X));
    auto run = cp_als_run(m_world, share, X, als_options(extents.order()));
    if (resumes) run.restore(resumed(whole, share.nnz));
    while (run.is_running()) {
      run.launch();
      int done = 0;
      run.finish([&](CpAlsIteration const& it) {
        done = it.iteration;
        if (!is_root()) return interrupt_signal() == 0;
        return m_on_iteration({it.iteration, it.fit, it.delta, it.seconds, it.phases});
      });
      if (m_options.checkpoint.empty() || (run.is_running() && done % m_options.checkpoint_every != 0))
        continue;
      auto const checkpoint = to_checkpoint(m_options, whole, share.nnz, run.state_without_factors(), m_rows);
      io::ReadFactorRows const read = [&](std::size_t n, std::uint64_t first, std::uint64_t count) {
        return run.factor_rows(static_cast<int>(n), first, count);
      };
      if (is_root())
        io::write_checkpoint(m_checkpoints.file, checkpoint, read);
      else
        io::read_factors_in_blocks(checkpoint, read);
    }
    return with_peaks(outcome(run.take_result()));
  }

private:
  RanksOutcome with_peaks(RanksOutcome outcome) const {
    report_peak_memory(m_report);
    return outcome;
  }

  [[nodiscard]] bool is_root() const { return m_world.rank() == 0; }
  [[nodiscard]] CpAlsOptions als_options(int order) const {
    CpAlsOptions als = library_options(m_options, order);
    als.rows         = m_rows;
    return als;
  }

  AnyFormat<Scalar, Index, Space> build(TensorShare<Scalar, Index, Space>& share) {
    AnyFormatOptions options;
    options.rank = m_options.rank;
    options.iterations =
        m_options.restarts * expected_iterations(m_options.max_iterations, m_options.tolerance);
    options.time_limit_s  = m_options.restarts * m_options.time_limit_s;
    options.format        = m_options.format;
    options.deterministic = m_options.deterministic;
    options.duplicates    = Duplicates::keep;  // distribute() has summed them
    options.as_named      = m_options.format == "auto";
    auto X                = any_format(m_world.space(), share.block, options);
    // From here on only the format keeps the coordinates. The run needs the block's extents.
    share.block = CooTensor<Scalar, Index, Space>(
        share.block.extents(),
        typename CooTensor<Scalar, Index, Space>::indices_type("polyad::no_indices", 0,
                                                               static_cast<count_t>(share.block.order())),
        typename CooTensor<Scalar, Index, Space>::values_type("polyad::no_values", 0));
    if (!is_root()) return X;
    m_report.format = FormatReport{X.chosen(),         X.storage_bytes(), X.build_seconds(),
                                   X.chosen_because(), X.candidates(),    X.warning()};
    warn_of_losses(*m_report.format);
    return X;
  }

  /// The state of rank 0's checkpoint, its factors on rank 0 alone.
  CpAlsState resumed(WholeTensor whole, std::uint64_t nnz) {
    auto const order = static_cast<std::size_t>(whole.of.order());
    CpAlsState state;
    std::vector<double> facts(4, 0);
    std::string foreign;
    if (is_root()) {
      auto const& from = *m_checkpoints.resume;
      whole.format     = from.format;  // any: the iterates of formats differ by rounding alone
      foreign          = difference_of_runs(m_options, from, whole, nnz, m_rows);
    }
    expect_none(foreign);
    if (is_root()) {
      auto const& from = *m_checkpoints.resume;
      state            = state_of(from);
      keep_stored_rows(from, m_rows, state);
      facts = {static_cast<double>(state.iteration), state.fit, static_cast<double>(state.gram_fallbacks),
               state.weights.empty() ? 0.0 : 1.0};
    }
    m_world.host().broadcast(facts.data(), facts.size(), 0);
    state.iteration      = static_cast<int>(facts[0]);
    state.fit            = facts[1];
    state.gram_fallbacks = static_cast<count_t>(facts[2]);
    state.factors.resize(order);
    state.grams.resize(order * m_options.rank * m_options.rank);
    if (facts[3] != 0) state.weights.resize(m_options.rank);
    if (!penalties_of_modes("--ridge", m_options.ridge, whole.of.order()).empty())
      state.scales.resize(order * m_options.rank);
    m_world.host().broadcast(state.grams.data(), state.grams.size(), 0);
    m_world.host().broadcast(state.weights.data(), state.weights.size(), 0);
    m_world.host().broadcast(state.scales.data(), state.scales.size(), 0);
    return state;
  }

  /// Rank 0 alone has read the checkpoint. \throws InputError on all ranks if it finds a difference
  void expect_none(std::string foreign) {
    std::uint64_t length = foreign.size();
    m_world.host().broadcast(&length, 1, 0);
    std::vector<std::uint32_t> text(foreign.begin(), foreign.end());
    text.resize(length);
    m_world.host().broadcast(text.data(), length, 0);
    foreign.assign(text.begin(), text.end());
    if (!foreign.empty()) throw InputError(m_options.resume.string(), 0, 0, foreign);
  }

  /// As on one rank: the progress line shows the first run, and the report has the best run's iterations.
  RanksOutcome best_of_restarts(TensorShare<Scalar, Index, Space> const& share,
                                AnyFormat<Scalar, Index, Space> const& X) {
    auto const start = std::chrono::steady_clock::now();
    auto const result =
        cp_als_restarts(m_world, share, X, als_options(X.extents().order()), m_options.restarts,
                        [&](int run, CpAlsIteration const& it) {
                          if (run > 0 || !is_root()) return interrupt_signal() == 0;
                          return m_on_iteration({it.iteration, it.fit, it.delta, it.seconds, it.phases});
                        });
    CpdReport summary;
    summary.restarts_s = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    for (auto const& run : result.runs)
      summary.restarts.push_back(
          {run.seed, run.fit, run.iterations, to_string(run.reason), run.seconds, run.error});
    summary.best_restart = result.best_run;
    m_report.iterations.clear();
    for (auto const& it : result.best.history)
      m_report.iterations.push_back({it.iteration, it.fit, it.delta, it.seconds, it.phases});
    return outcome(result.best, std::move(summary));
  }

  RanksOutcome outcome(CpAlsResult<Scalar, Space> const& result, CpdReport summary = {}) {
    RanksOutcome outcome;
    if (result.reason == StopReason::interrupted) outcome.signal = signal_of_ranks();
    if (!is_root()) return outcome;
    set_result(summary, result);
    m_report.result = std::move(summary);
    outcome.save    = [space = m_world.space(), model = result.model, names = m_report.input->names()](
                          std::filesystem::path const& path) { save(space, model, path, names); };
    return outcome;
  }

  CpdOptions const& m_options;
  Communicator<Space> m_world;
  std::vector<StoredRows> const& m_rows;
  Report& m_report;
  OnIteration const& m_on_iteration;
  Checkpoints const& m_checkpoints;
};

}  // namespace

RanksOutcome factor_on_ranks(CpdOptions const& options, TensorInput const& input, Report& report,
                             OnIteration const& on_iteration, Checkpoints const& checkpoints) {
  count_t const base = peak_memory_bytes();  // MPI takes some
  auto const world   = make_communicator(options.deterministic);
  auto tensor        = read_on_ranks(input, options.common, report);
  if (tensor.order() < 2)
    throw InputError(input.path.string(), 0, 0, "has one mode only; CP needs two or more");
  auto const rows            = compact_list_on_ranks(world, tensor, *report.input);
  report.input->empty_slices = empty_slices_on_ranks(tensor);
  add_empty_slices(rows, *report.input);
  // Rank 0 has read the checkpoint and tells the others whether there is one.
  bool const resumes = sums_of_ranks(world.rank() == 0 && checkpoints.resume ? 1 : 0).all > 0;
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
          return FactoringOnRanks<Scalar, typename Block::index_type>(options, world, rows, report,
                                                                      on_iteration, checkpoints)
              .run(extents, std::move(of_rank), resumes, std::move(plan), std::move(coordinates));
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
