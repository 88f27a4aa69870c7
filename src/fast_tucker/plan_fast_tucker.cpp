// SPDX-License-Identifier: BSD-3-Clause
// The memory of fast_tucker: the arrays of fast_tucker.cpp, epochs.hpp, kept_model.hpp and choose.cpp, in
// their order.
#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "dense/dense_tuning.hpp"
#include "fast_tucker/drift.hpp"
#include "fast_tucker/entries.hpp"
#include "fast_tucker/sample_rows.hpp"
#include "formats/format_bytes.hpp"
#include "polyad/core/instances.hpp"
#include "polyad/core/memory_plan.hpp"
#include "polyad/core/per_mode.hpp"
#include "polyad/core/rank.hpp"
#include "polyad/fast_tucker/fast_tucker.hpp"

namespace polyad {

using namespace detail;
namespace {

using Held = MemoryPlan::Held;

/// The matrices of a state in host memory.
count_t bytes_of(FastTuckerState const& state) {
  count_t numbers = 0;
  for (auto const* matrices : {&state.factors, &state.cores, &state.intermediates, &state.moments,
                               &state.kept, &state.biases, &state.drifts})
    for (auto const& matrix : *matrices) numbers += matrix.size();
  return MemoryPlan::product({numbers, sizeof(double)});
}

/// The plan of a run on entries of one tensor.
template <class Scalar, class Index, class Space>
class FastTuckerPlan {
public:
  FastTuckerPlan(MemoryPlan& plan, Space const& space, Extents const& extents,
                 FastTuckerOptions const& options, AnyFormatOptions const& format)
      : m_plan(plan), m_space(space), m_extents(extents), m_options(options), m_format(format) {
    for (int n = 0; n < extents.order(); ++n) {
      m_rows    = MemoryPlan::sum(m_rows, extents[n]);
      m_longest = std::max(m_longest, extents[n]);
    }
  }

  /// The bytes of matrices of I_n rows, given the number of their columns.
  [[nodiscard]] count_t factors(std::vector<count_t> const& columns) const {
    count_t bytes = 0;
    for (int n = 0; n < m_extents.order(); ++n)
      bytes = MemoryPlan::sum(bytes, matrix(m_extents[n], of_mode(columns, n)));
    return bytes;
  }
  [[nodiscard]] count_t factors(count_t columns) const {
    return factors(std::vector<count_t>(static_cast<std::size_t>(m_extents.order()), columns));
  }

  /// The numbers of the biases and the drifts.
  [[nodiscard]] count_t biases(count_t nnz) const {
    if (!m_options.biases) return 0;
    count_t numbers  = m_rows;
    auto const drift = drift_of_modes(m_options.bias, m_extents, std::max<count_t>(nnz, 1));
    for (int n = 0; n < m_extents.order(); ++n)
      numbers = MemoryPlan::sum(numbers, MemoryPlan::product({m_extents[n], of_mode(drift, n).bins}));
    return numbers;
  }
  void fit_biases(count_t nnz) {
    if (!m_options.biases) return;
    count_t longest  = m_longest;
    auto const drift = drift_of_modes(m_options.bias, m_extents, std::max<count_t>(nnz, 1));
    for (int n = 0; n < m_extents.order(); ++n)
      longest = std::max(longest, MemoryPlan::product({m_extents[n], of_mode(drift, n).bins}));
    m_plan.pass("the sums of biases", MemoryPlan::product({longest, 2 * sizeof(std::int64_t)}));
  }

  /// interactions()
  [[nodiscard]] std::vector<Held> interactions(count_t nnz) {
    auto const format = format_bytes<Scalar, Index>(m_space, m_extents, nnz, asked_of(m_format, m_options));
    std::vector<Held> held;
    if (m_options.biases)
      held.push_back(m_plan.hold("values without biases", MemoryPlan::product({nnz, sizeof(Scalar)})));
    m_plan.pass("the build of " + format.name, format.built);
    if (!format.shares) held.clear();
    held.push_back(m_plan.hold("the entries in " + format.name, format.stored));
    return held;
  }

  /// FastTuckerEpochs
  [[nodiscard]] std::vector<Held> epochs(count_t nnz, FastTuckerOptions const& options) {
    std::vector<Held> held;
    held.push_back(m_plan.hold("the products C of factors and cores", factors(options.rank)));
    auto const& facts = facts_of(options.optimizer);
    if (!facts.needs_of_format(Capability::residual_sweep)) return held;
    held.push_back(m_plan.hold("the sums of a sweep", matrix(m_longest, options.rank)));
    if (facts.moments > 0) {
      auto const moments = static_cast<std::uint64_t>(facts.moments);
      held.push_back(m_plan.hold("the gradients of the factors", factors(options.columns)));
      held.push_back(m_plan.hold("the moments of the optimizer",
                                 MemoryPlan::product({moments, factors(options.columns)})));
    }
    if (!facts.needs_of_format(Capability::row_least_squares)) return held;
    held.push_back(m_plan.hold("where the rows of all modes begin", MemoryPlan::product({m_rows, 8})));
    held.push_back(m_plan.hold("the sums of long rows",
                               MemoryPlan::product({row_sums_size(nnz, options.rank), sizeof(Scalar)})));
    bool const shrinks = draws_rows(options);
    for (int n = 0; n < m_extents.order(); ++n)
      if (options.update_cores && !(shrinks && of_mode(options.columns, n) >= options.rank))
        held.push_back(m_plan.hold("the products of a core's step", matrix(m_extents[n], options.rank)));
    return held;
  }

  /// CandidateRun. \param most  a larger rank, and with it every J, is reduced to it
  [[nodiscard]] std::vector<Held> of_candidate(count_t nnz, count_t rank, count_t most) {
    auto options = m_options;
    options.rank = std::min(rank, most);
    if (most != m_options.rank) options.columns.assign(options.columns.size(), options.rank);
    auto held = epochs(nnz, options);
    held.push_back(m_plan.hold("the factors of a candidate", factors(options.columns)));
    held.push_back(m_plan.hold("the best factors of a candidate", factors(options.columns)));
    return held;
  }

  /// choose()
  void choose(count_t nnz, bool chooses_rank) {
    RowSample const sample =
        m_options.bias.time_mode >= 0 ? RowSample{} : row_sample(m_extents, nnz, most_searched);
    Held sampled;
    if (sample.share < 1) {
      nnz     = std::min(nnz, most_searched);
      sampled = m_plan.hold("a sample of the entries", coordinates(nnz));
    }
    auto counts     = m_plan.hold("the entries of each row", MemoryPlan::product({m_rows, 4}));
    auto const kept = m_plan.hold("the entries that are not held out", coordinates(nnz));
    counts.release();
    auto const alone = m_plan.hold("mean and biases", MemoryPlan::product({biases(nnz), sizeof(Scalar)}));
    auto const ones  = m_plan.hold("a model of mean and biases", MemoryPlan::product({2, factors(1)}));
    fit_biases(nnz);
    auto const X     = interactions(nnz);
    bool const equal = std::all_of(m_options.columns.begin(), m_options.columns.end(),
                                   [&](count_t J) { return J == m_options.rank; });
    // A candidate is made while the best one so far is there.
    auto best = of_candidate(nnz, m_options.rank, equal && m_options.targets.empty() ? 8 : m_options.rank);
    if (m_options.targets.empty()) {
      if (m_extents.order() > 2)
        static_cast<void>(of_candidate(nnz, m_options.rank, equal ? 8 : m_options.rank));
      if (equal && m_options.rank > 8) best = of_candidate(nnz, m_options.rank, m_options.rank);
    }
    if (chooses_rank) static_cast<void>(of_candidate(nnz, 16, 16));
  }

  /// fit()
  void fit(count_t nnz, bool saves) {
    auto const model = m_plan.hold("the factors", factors(m_options.columns));
    auto const bias  = m_plan.hold("mean and biases", MemoryPlan::product({biases(nnz), sizeof(Scalar)}));
    fit_biases(nnz);
    Held saved;
    if (saves)
      saved = m_plan.hold("the biases of checkpoints", MemoryPlan::product({biases(nnz), sizeof(double)}));
    {
      auto const X = interactions(nnz);
      m_plan.pass("a model of mean and biases", MemoryPlan::product({2, factors(1)}));
      auto const run  = epochs(nnz, m_options);
      auto const kept = m_plan.hold("the factors of the best epoch", factors(m_options.columns));
    }
    m_plan.pass("the biases of the model's file", MemoryPlan::product({biases(nnz), sizeof(double)}));
  }

private:
  [[nodiscard]] static count_t matrix(count_t rows, count_t columns) {
    return MemoryPlan::product({rows, padded_rank<Scalar>(columns), sizeof(Scalar)});
  }
  [[nodiscard]] count_t coordinates(count_t nnz) const {
    auto const order = static_cast<count_t>(m_extents.order());
    return MemoryPlan::product({nnz, order * sizeof(Index) + sizeof(Scalar)});
  }

  MemoryPlan& m_plan;
  Space m_space;
  Extents m_extents;
  FastTuckerOptions m_options;
  AnyFormatOptions m_format;
  count_t m_rows = 0, m_longest = 0;
};

}  // namespace

template <class Scalar, class Index, class Space>
void plan_fast_tucker(MemoryPlan& plan, Space const& space, Extents const& extents, count_t entries,
                      FastTuckerOptions const& options, AnyFormatOptions const& format,
                      FastTuckerCheckpoints const& checkpoints) {
  auto shaped       = with_shape(options, extents.order());
  auto const* state = checkpoints.resume;
  bool const fits   = shaped.columns.size() == static_cast<std::size_t>(extents.order());
  if (!fits || entries == 0) return;  // fast_tucker refuses them
  if (state != nullptr && state->columns.size() == shaped.columns.size()) {
    shaped.rank = state->rank;
    shaped.columns.assign(state->columns.begin(), state->columns.end());
  }
  FastTuckerPlan<Scalar, Index, Space> run(plan, space, extents, shaped, format);
  Held resumed;
  if (state != nullptr) resumed = plan.hold("the state that is resumed", bytes_of(*state));
  if (leaves_choice(options) && state == nullptr)
    run.choose(entries, options.rank == 0 && options.columns.empty());
  run.fit(entries, state != nullptr || checkpoints.save);
}

#define POLYAD_PLAN_FAST_TUCKER(Scalar, Index)                                                     \
  template void plan_fast_tucker<Scalar, Index>(MemoryPlan&, Kokkos::DefaultExecutionSpace const&, \
                                                Extents const&, count_t, FastTuckerOptions const&, \
                                                AnyFormatOptions const&, FastTuckerCheckpoints const&)
POLYAD_EACH_SCALAR_AND_INDEX(, POLYAD_PLAN_FAST_TUCKER);

}  // namespace polyad
