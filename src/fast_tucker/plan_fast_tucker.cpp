// SPDX-License-Identifier: BSD-3-Clause
// The memory of fast_tucker: the arrays of fast_tucker.cpp, epochs.hpp, kept_model.hpp and choose.cpp, in
// their order. On several ranks also those of distribute_entries.cpp and distributed/rows_by_cuts.hpp.
#include <algorithm>
#include <utility>
#include <vector>

#include "dense/dense_tuning.hpp"
#include "fast_tucker/drift.hpp"
#include "fast_tucker/entries.hpp"
#include "fast_tucker/search/sample_rows.hpp"
#include "formats/format_bytes.hpp"
#include "formats/plan_owned_formats.hpp"
#include "polyad/core/instances.hpp"
#include "polyad/core/memory_plan.hpp"
#include "polyad/core/rank.hpp"
#include "polyad/fast_tucker/fast_tucker.hpp"

namespace polyad {

using namespace detail;
namespace {

using Held = MemoryPlan::Held;

/// The numbers of a state that has matrices, in host memory, as bytes. The matrices themselves may be empty.
count_t bytes_of(FastTuckerState const& state) {
  std::size_t const order = state.factors.size();
  count_t const models    = 1 + (state.kept.empty() ? 0 : 1) + (state.moments.empty() ? 0 : 2);
  count_t numbers         = 0;
  for (std::size_t n = 0; n < order && n < state.columns.size() && n < state.extents.size(); ++n) {
    count_t const I = state.extents[n], J = state.columns[n];
    for (count_t const size :
         {MemoryPlan::product({models, I, J}), MemoryPlan::product({models, J, state.rank}),
          MemoryPlan::product({I, state.rank})})
      numbers = MemoryPlan::sum(numbers, size);
  }
  for (std::size_t n = 0; n < state.biases.size() && n < state.extents.size(); ++n)
    numbers = MemoryPlan::sum(numbers, state.extents[n]);
  for (std::size_t n = 0; n < state.drifts.size() && n < state.bins.size() && n < state.extents.size(); ++n)
    numbers = MemoryPlan::sum(numbers, MemoryPlan::product({state.extents[n], state.bins[n]}));
  return MemoryPlan::product({numbers, sizeof(double)});
}

/// The options of the model that a run resumes. \param state  null: those of a new one
FastTuckerOptions of_state(FastTuckerOptions shaped, FastTuckerState const* state) {
  if (state != nullptr && state->columns.size() == shaped.columns.size()) {
    shaped.rank = state->rank;
    shaped.columns.assign(state->columns.begin(), state->columns.end());
  }
  return shaped;
}

/// The options of the largest model that a search may find.
FastTuckerOptions of_largest_model(FastTuckerOptions shaped, bool chooses_rank) {
  for (count_t const rank : searched_ranks)
    if (chooses_rank && rank <= shaped.most_rank) {
      shaped.rank = rank;
      shaped.columns.assign(shaped.columns.size(), rank);
    }
  return shaped;
}

/// The plan of a run on entries of one tensor.
template <class Scalar, class Index, class Space>
class FastTuckerPlan {
public:
  /// \param owned  for a run on several ranks, which divide the rows; null on one rank, and in a search
  FastTuckerPlan(MemoryPlan& plan, Space const& space, Extents const& extents,
                 FastTuckerOptions const& options, AnyFormatOptions const& format,
                 OwnedRows const* owned = nullptr)
      : m_plan(plan),
        m_space(space),
        m_extents(extents),
        m_options(options),
        m_format(format),
        m_owned(owned) {
    for (int n = 0; n < extents.order(); ++n) {
      m_all_rows       = MemoryPlan::sum(m_all_rows, extents[n]);
      m_rows           = MemoryPlan::sum(m_rows, rows(n));
      m_longest_of_all = std::max(m_longest_of_all, extents[n]);
      m_longest        = std::max(m_longest, rows(n));
    }
  }

  /// The rows of mode n whose factor this rank has.
  [[nodiscard]] count_t rows(int n) const {
    return m_owned == nullptr ? m_extents[n] : m_owned->modes[n].rows;
  }
  /// The bytes of the factors, given the number of their columns.
  [[nodiscard]] count_t factors(std::vector<count_t> const& columns) const {
    count_t bytes = 0;
    for (int n = 0; n < m_extents.order(); ++n) bytes = MemoryPlan::sum(bytes, matrix(rows(n), columns[n]));
    return bytes;
  }
  /// The bytes of matrices with all rows.
  [[nodiscard]] count_t whole(count_t columns) const {
    count_t bytes = 0;
    for (int n = 0; n < m_extents.order(); ++n) bytes = MemoryPlan::sum(bytes, matrix(m_extents[n], columns));
    return bytes;
  }

  /// The numbers of the biases and the drifts.
  [[nodiscard]] count_t biases(count_t nnz) const {
    if (!m_options.biases) return 0;
    count_t numbers  = m_all_rows;
    auto const drift = drift_of_modes(m_options.bias, m_extents, std::max<count_t>(nnz, 1));
    for (int n = 0; n < m_extents.order(); ++n)
      numbers = MemoryPlan::sum(numbers, MemoryPlan::product({m_extents[n], drift[n].bins}));
    return numbers;
  }
  void fit_biases(count_t nnz) {
    if (!m_options.biases) return;
    count_t longest  = 0;
    auto const drift = drift_of_modes(m_options.bias, m_extents, std::max<count_t>(nnz, 1));
    for (int n = 0; n < m_extents.order(); ++n)
      longest = std::max({longest, m_extents[n], MemoryPlan::product({m_extents[n], drift[n].bins})});
    // Open MPI 4 holds up to two copies of what it adds up.
    count_t const copies = m_owned != nullptr && m_owned->by_mpi ? 3 : 1;
    count_t const sums   = MemoryPlan::product({copies, longest, 2 * sizeof(std::int64_t)});
    bool const drifts    = std::any_of(drift.begin(), drift.end(), [](auto const& d) { return d.bins > 0; });
    // Where drifts end, the biases of a fit without them are needed.
    count_t const steady = MemoryPlan::sum(whole(1), MemoryPlan::product({m_all_rows, sizeof(Scalar)}));
    m_plan.pass("the sums of biases", drifts ? MemoryPlan::sum(MemoryPlan::sum(sums, sums), steady) : sums);
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
    held.push_back(m_plan.hold("the products C of factors and cores", whole(options.rank)));
    auto const& facts = facts_of(options.optimizer);
    if (!facts.needs_of_format(Capability::residual_sweep)) return held;
    held.push_back(m_plan.hold("the sums of a sweep", matrix(m_longest, options.rank)));
    if (facts.moments > 0) {
      std::uint64_t const moments = facts.moments;
      held.push_back(m_plan.hold("the gradients of the factors", factors(options.columns)));
      held.push_back(m_plan.hold("the moments of the optimizer",
                                 MemoryPlan::product({moments, factors(options.columns)})));
    }
    if (!facts.needs_of_format(Capability::row_least_squares)) return held;
    held.push_back(m_plan.hold("where the rows of all modes begin", MemoryPlan::product({m_rows, 8})));
    held.push_back(m_plan.hold("the sums of long rows",
                               MemoryPlan::product({row_sums_size(nnz, options.rank), sizeof(Scalar)})));
    if (options.implicit) {
      held.push_back(m_plan.hold("the Gram matrices of implicit feedback",
                                 MemoryPlan::product({static_cast<count_t>(m_extents.order()) + 1,
                                                      options.rank, options.rank, sizeof(double)})));
      held.push_back(m_plan.hold("the same of a mode, rounded", matrix(options.rank, options.rank)));
    }
    bool const shrinks = draws_rows(options);
    for (int n = 0; n < m_extents.order(); ++n)
      if (options.update_cores && !(shrinks && options.columns[n] >= options.rank))
        held.push_back(m_plan.hold("the products of a core's step", matrix(rows(n), options.rank)));
    return held;
  }

  /// CandidateRun. \param most  larger ranks, and with them every J, are reduced to it
  [[nodiscard]] std::vector<Held> of_candidate(count_t nnz, count_t rank, count_t most) {
    auto options = m_options;
    options.rank = std::min(rank, most);
    if (most != m_options.rank) options.columns.assign(options.columns.size(), options.rank);
    auto held = epochs(nnz, options);
    held.push_back(m_plan.hold("the factors of a candidate", factors(options.columns)));
    held.push_back(m_plan.hold("the best factors of a candidate", factors(options.columns)));
    return held;
  }

  /// choose() on one rank
  void choose(count_t nnz, bool chooses_rank) {
    Held sampled;
    if (count_t const searched = entries_searched(nnz); searched < nnz) {
      nnz     = searched;
      sampled = m_plan.hold("a sample of the entries", coordinates(nnz));
    }
    search(nnz, chooses_rank);
  }
  /// The entries that a search gets, of all.
  [[nodiscard]] count_t entries_searched(count_t nnz) const {
    RowSample const sample =
        m_options.bias.time_mode >= 0 ? RowSample{} : row_sample(m_extents, nnz, most_searched);
    return sample.share < 1 ? std::min(nnz, most_searched) : nnz;
  }
  /// choose_as_they_are()
  void search(count_t nnz, bool chooses_rank) {
    // hold_out(): the places, whose sort holds them twice, and whether they repeat
    m_plan.pass("the places of the entries", MemoryPlan::product({nnz, 4 * sizeof(std::uint64_t) + 1}));
    auto const kept  = m_plan.hold("the entries that are not held out", coordinates(nnz));
    auto const alone = m_plan.hold("mean and biases", MemoryPlan::product({biases(nnz), sizeof(Scalar)}));
    auto const ones  = m_plan.hold("a model of mean and biases", MemoryPlan::product({2, whole(1)}));
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
    for (count_t const rank : searched_ranks)
      if (chooses_rank && rank <= m_options.most_rank) best = of_candidate(nnz, rank, rank);
  }

  /// sets_of() of implicit feedback, if entries repeat
  [[nodiscard]] Held sum_repeated(count_t nnz) {
    if (!m_options.implicit) return {};
    plan_sort_of_duplicates(m_plan, nnz);
    return m_plan.hold("the entries with repeated ones summed", coordinates(nnz));
  }
  /// fit()
  void fit(count_t nnz, bool saves) {
    auto const summed = sum_repeated(nnz);
    auto const model  = m_plan.hold("the factors", factors(m_options.columns));
    auto const bias   = m_plan.hold("mean and biases", MemoryPlan::product({biases(nnz), sizeof(Scalar)}));
    fit_biases(nnz);
    Held saved;
    if (saves)
      saved = m_plan.hold("the biases of checkpoints", MemoryPlan::product({biases(nnz), sizeof(double)}));
    {
      auto const X = interactions(nnz);
      run_epochs(nnz);
    }
    m_plan.pass("the biases of the model's file", MemoryPlan::product({biases(nnz), sizeof(double)}));
  }

  /// RowsByCuts::dealt() and to_root()
  [[nodiscard]] Held deal(count_t sent, count_t received) {
    Held taken;
    {
      auto const values =
          m_plan.hold("the values that are sent", MemoryPlan::product({sent, sizeof(double)}));
      taken = plan_exchange(m_plan, sent, received, bytes_of_nonzeros<double, Index>(1, m_extents.order()),
                            m_owned->ranks);
    }
    return m_plan.hold("the entries of this rank", coordinates(received));
  }
  /// The search of fit_chosen(), for which the root gets the entries of all ranks. Returns its best
  /// candidate. \param options  those of a search
  [[nodiscard]] Held choose_on_root(FastTuckerOptions const& options, bool chooses_rank) {
    count_t const all = m_owned->nnz, searched = entries_searched(all);
    count_t own = m_owned->modes[m_owned->longest].nnz;
    Held sampled;
    if (searched < all) {
      own     = share_of(own, searched, all);
      sampled = m_plan.hold("a sample of the entries", coordinates(own));
    }
    auto const entries = deal(own, is_root() ? searched : 0);
    sampled.release();
    if (!is_root()) return {};
    FastTuckerPlan(m_plan, m_space, m_extents, options, m_format).search(searched, chooses_rank);
    FastTuckerPlan const best(m_plan, m_space, m_extents, m_options, m_format);
    return m_plan.hold("the best candidate",
                       MemoryPlan::sum(best.factors(m_options.columns),
                                       MemoryPlan::product({biases(searched), sizeof(Scalar)})));
  }
  /// A run after its search, and the whole factors on the root
  /// \param start  the best candidate of a search, which the root sends to all, or nothing
  void fit_owned_rows(Held start, bool searched) {
    count_t const nnz = m_owned->nnz, own = m_owned->modes[m_owned->longest].nnz;
    auto const summed = sum_repeated(own);
    auto const bias   = m_plan.hold("mean and biases", MemoryPlan::product({biases(nnz), sizeof(Scalar)}));
    m_plan.pass("factors of one column", whole(1));
    auto const model = m_plan.hold("the owned rows of the factors", factors(m_options.columns));
    if (searched) {
      count_t most = 0;
      for (int n = 0; n < m_extents.order(); ++n) most = std::max(most, sent_from_root(n));
      m_plan.pass("a factor of the best candidate, for all ranks", most);
    }
    fit_biases(nnz);
    {
      std::vector<Held> X;
      {
        auto const values = m_plan.hold("values without biases", MemoryPlan::product({own, sizeof(Scalar)}));
        auto const sent = m_plan.hold("the values that are sent", MemoryPlan::product({own, sizeof(double)}));
        X               = plan_owned_formats<Scalar, Index>(m_plan, m_space, m_extents, *m_owned, own,
                                                            asked_of(m_format, m_options), false);
      }
      run_epochs(m_owned->most_nnz());
    }
    start.release();
    std::vector<Held> gathered;
    for (int n = 0; n < m_extents.order(); ++n) {
      count_t const J = m_options.columns[n];
      if (is_root()) gathered.push_back(m_plan.hold("a whole factor", matrix(m_extents[n], J)));
      m_plan.pass("a factor on its way to the root",
                  MemoryPlan::sum(numbers(rows(n), J, sizeof(double)),
                                  numbers(is_root() ? m_extents[n] : rows(n), J,
                                          (is_root() ? sizeof(double) : 0) + sizeof(Scalar))));
    }
    if (is_root())
      m_plan.pass("the biases of the model's file", MemoryPlan::product({biases(nnz), sizeof(double)}));
  }
  /// The entries of another set that this rank will own, if its part of that set has this size.
  [[nodiscard]] count_t owned_of(count_t part) const {
    return share_of(part, m_owned->modes[m_owned->longest].nnz, m_owned->part);
  }

private:
  [[nodiscard]] static count_t matrix(count_t rows, count_t columns) {
    return MemoryPlan::product({rows, padded_rank<Scalar>(columns), sizeof(Scalar)});
  }
  [[nodiscard]] static count_t numbers(count_t rows, count_t columns, count_t bytes) {
    return MemoryPlan::product({rows, columns, bytes});
  }
  [[nodiscard]] count_t coordinates(count_t nnz) const {
    return bytes_of_nonzeros<Scalar, Index>(nnz, m_extents.order());
  }
  [[nodiscard]] static count_t share_of(count_t number, count_t part, count_t all) {
    double const share = static_cast<double>(part) / static_cast<double>(std::max<count_t>(all, 1));
    return static_cast<count_t>(static_cast<double>(number) * share);
  }
  [[nodiscard]] bool is_root() const { return m_owned->rank == 0; }
  /// owned_start(): the numbers of a factor on the root, those of the owned rows, and their copies.
  [[nodiscard]] count_t sent_from_root(int n) const {
    count_t const J   = m_options.columns[n];
    count_t const own = numbers(rows(n), J, sizeof(double) + sizeof(Scalar));
    if (!is_root()) return own;
    return MemoryPlan::sum(numbers(m_extents[n], J, sizeof(double)),
                           std::max(own, numbers(m_extents[n], J, sizeof(Scalar))));
  }
  /// FastTuckerBody
  void run_epochs(count_t nnz) {
    m_plan.pass("a model of mean and biases", MemoryPlan::product({2, whole(1)}));
    auto const run = epochs(nnz, m_options);
    m_plan.pass("the entries of each row", MemoryPlan::product({m_longest_of_all, sizeof(std::uint64_t)}));
    auto const kept = m_plan.hold("the factors of the best epoch", factors(m_options.columns));
  }

  MemoryPlan& m_plan;
  Space m_space;
  Extents m_extents;
  FastTuckerOptions m_options;
  AnyFormatOptions m_format;
  OwnedRows const* m_owned;
  count_t m_all_rows = 0, m_longest_of_all = 0;
  count_t m_rows = 0, m_longest = 0;  // this rank's
};

}  // namespace

template <class Scalar, class Index, class Space>
void plan_fast_tucker(MemoryPlan& plan, Space const& space, Extents const& extents, count_t entries,
                      FastTuckerOptions const& options, AnyFormatOptions const& format,
                      FastTuckerState const* state) {
  auto const shaped = of_state(with_shape(options, extents.order()), state);
  bool const fits   = shaped.columns.size() == static_cast<std::size_t>(extents.order());
  if (!fits || entries == 0) return;  // fast_tucker refuses them
  Held resumed;
  if (state != nullptr) resumed = plan.hold("the state that is resumed", bytes_of(*state));
  bool const chooses_rank = leaves_rank(options) && state == nullptr;
  if (leaves_choice(options) && state == nullptr)
    FastTuckerPlan<Scalar, Index, Space>(plan, space, extents, shaped, format).choose(entries, chooses_rank);
  FastTuckerPlan<Scalar, Index, Space> run(plan, space, extents, of_largest_model(shaped, chooses_rank),
                                           format);
  run.fit(entries, state != nullptr || !options.checkpoint.empty());
}

template <class Scalar, class Index, class Space>
void plan_fast_tucker(MemoryPlan& plan, Space const& space, Extents const& extents, OwnedRows const& owned,
                      std::span<count_t const> others, FastTuckerOptions const& options,
                      AnyFormatOptions const& format, FastTuckerState const* state) {
  auto const shaped = of_state(with_shape(options, extents.order()), state);
  if (shaped.columns.size() != static_cast<std::size_t>(extents.order()) || owned.nnz == 0)
    return;  // fast_tucker refuses them
  bool const searches     = leaves_choice(options) && state == nullptr;
  bool const chooses_rank = searches && leaves_rank(options);
  FastTuckerPlan<Scalar, Index, Space> run(plan, space, extents, of_largest_model(shaped, chooses_rank),
                                           format, &owned);
  std::vector<count_t> parts{owned.part};
  parts.insert(parts.end(), others.begin(), others.end());
  std::vector<Held> given, sets;
  for (count_t const part : parts)
    given.push_back(
        plan.hold("the coordinates of a set", bytes_of_nonzeros<Scalar, Index>(part, extents.order())));
  for (std::size_t k = 0; k < parts.size(); ++k) {
    sets.push_back(run.deal(parts[k], k == 0 ? owned.modes[owned.longest].nnz : run.owned_of(parts[k])));
    given[k].release();
  }
  Held start;
  if (searches) start = run.choose_on_root(shaped, chooses_rank);
  if (state != nullptr) start = plan.hold("the state that is resumed", bytes_of(*state));
  run.fit_owned_rows(std::move(start), searches);
}

#define POLYAD_PLAN_FAST_TUCKER(Scalar, Index)                                                              \
  template void plan_fast_tucker<Scalar, Index>(MemoryPlan&, CompiledSpace const&, Extents const&, count_t, \
                                                FastTuckerOptions const&, AnyFormatOptions const&,          \
                                                FastTuckerState const*);                                    \
  template void plan_fast_tucker<Scalar, Index>(                                                            \
      MemoryPlan&, CompiledSpace const&, Extents const&, OwnedRows const&, std::span<count_t const>,        \
      FastTuckerOptions const&, AnyFormatOptions const&, FastTuckerState const*)
POLYAD_EACH_SCALAR_AND_INDEX(, POLYAD_PLAN_FAST_TUCKER);

}  // namespace polyad
