// SPDX-License-Identifier: BSD-3-Clause
#include "polyad/fast_tucker/recommend.hpp"

#include <algorithm>

#include "dense/intermediates.hpp"
#include "fast_tucker/ranking/interaction_metric.hpp"
#include "fast_tucker/ranking/query_weights.hpp"
#include "fast_tucker/ranking/ranking.hpp"
#include "polyad/core/instances.hpp"
#include "tensor/coordinates_inside.hpp"

namespace polyad {

using namespace detail;
namespace {

/// Marks the rows of a mode that occur, and counts the nonzeros whose index is outside.
template <class Index, class Space>
struct MarkObserved {
  Kokkos::View<Index**, Kokkos::LayoutRight, typename Space::device_type> indices;
  int mode;
  Kokkos::View<std::uint32_t*, typename Space::device_type> marks;
  KOKKOS_FUNCTION void operator()(count_t p, count_t& outside) const {
    count_t const row = indices(p, mode);
    if (row >= marks.extent(0))
      ++outside;
    else
      Kokkos::atomic_store(&marks(row), std::uint32_t(1));  // other nonzeros of the row store the same
  }
};

template <class Scalar, class Space>
void expect_ranking(FastTuckerModel<Scalar, Space> const& model, int mode, RankingOptions const& options) {
  POLYAD_EXPECTS(mode >= 0 && mode < model.order(), "mode ", mode, " of a model of ", model.order(),
                 " modes, which count from 0");
  POLYAD_EXPECTS(options.count >= 1 && options.count <= count_t(1) << 31, options.count,
                 " rows are requested for each query: 1 to 2^31 are possible");
  expect_observed_fits(model, options.observed);
}

}  // namespace

template <class Scalar, class Index, class Space>
Rankings recommend(Space const& space, FastTuckerModel<Scalar, Space> const& model, int mode,
                   std::span<count_t const> queries, RankingOptions const& options,
                   CooTensor<Scalar, Index, Space> const& seen) {
  expect_ranking(model, mode, options);
  std::size_t const width = model.order() - 1;
  POLYAD_EXPECTS(queries.size() % width == 0, queries.size(), " indices for queries of ", width, " each");
  POLYAD_EXPECTS(seen.nnz() == 0 || seen.order() == model.order(), "entries of order ", seen.order(),
                 " were seen, but the model has ", model.order(), " modes");
  expect_coordinates_inside(space, seen);
  Rankings result;
  result.starts.push_back(0);
  count_t const Q = queries.size() / width;
  if (Q == 0) return result;
  for (count_t q = 0; q < Q; ++q) {
    bool unknown = false;
    for (std::size_t m = 0; m < width; ++m) {
      count_t const index = queries[q * width + m];
      int const n         = static_cast<int>(m) + (static_cast<int>(m) < mode ? 0 : 1);
      unknown = unknown || (index != every_row &&
                            (index >= model.extents()[n] || !is_observed(options.observed, n, index)));
    }
    result.unknown += unknown ? 1 : 0;
  }
  Ranking<Scalar, Space> ranking(space, model, mode, Q, options, false);
  count_t const batch = ranking.blocks().queries;
  QueryWeights<Scalar, Space> const weights(space, model, mode, batch, options.observed);
  SeenRows<Space> left_out;
  if (seen.nnz() > 0) left_out = find_seen(space, seen, mode, model.extents()[mode], queries);
  for (count_t first = 0; first < Q; first += batch) {
    count_t const count = std::min(batch, Q - first);
    auto const begin    = queries.begin() + first * width;
    weights.form(std::vector<count_t>(begin, begin + static_cast<std::ptrdiff_t>(count * width)),
                 ranking.weights, ranking.base);
    // What is ranked is what is returned: clipped, the best ones would all be the largest value.
    ranking.rank(first, count, left_out, ValueRange(), result);
  }
  return result;
}

template <class Scalar, class Space>
Rankings similar(Space const& space, FastTuckerModel<Scalar, Space> const& given, int mode,
                 std::span<count_t const> rows, RankingOptions const& options) {
  expect_ranking(given, mode, options);
  Rankings result;
  result.starts.push_back(0);
  auto const& A = given.A(mode);
  for (count_t const row : rows)
    POLYAD_EXPECTS(row < A.extent(0), "row ", row, " of mode ", mode, ", which has ", A.extent(0), " rows");
  if (rows.empty()) return result;
  auto const model = with_interaction_metric(space, given, mode);
  Ranking<Scalar, Space> ranking(space, model, mode, rows.size(), options, true);
  count_t const batch = ranking.blocks().queries;
  auto const own      = make_factor_matrix<Scalar>(space, "polyad::query_rows", batch, A.extent(1));
  auto const C        = make_factor_matrix<Scalar>(space, "polyad::query_factors", batch, model.rank());
  auto const by_rows  = make_factor_matrix<Scalar>(space, "polyad::query_turned", model.rank(), batch);
  for (count_t first = 0; first < rows.size(); first += batch) {
    count_t const count = std::min<count_t>(batch, rows.size() - first);
    std::vector<count_t> indices(rows.begin() + first, rows.begin() + (first + count));
    auto const on_device = numbers_from(space, "polyad::queries", indices);
    auto const range     = [&](count_t end) {
      return Kokkos::RangePolicy<Space, Kokkos::IndexType<count_t>>(space, 0, end);
    };
    Kokkos::parallel_for("polyad::take_rows", range(count * A.extent(1)),
                         GatherRows<Scalar, Space>{on_device, 1, 0, A, QueryDoubles<Space>(), own});
    intermediates(space, ranking.first_rows(own, count), model.B(mode), ranking.first_rows(C, count));
    // Turned twice: the first turn scales the rows.
    FactorMatrix<Scalar, Space> const transposed =
        Kokkos::subview(by_rows, Kokkos::ALL, Kokkos::make_pair(count_t(0), count));
    Kokkos::parallel_for("polyad::turn_rows", range(count),
                         TransposeRows<Scalar, Space>{ranking.first_rows(C, count), transposed, true});
    Kokkos::parallel_for("polyad::turn_rows", range(model.rank()),
                         TransposeRows<Scalar, Space>{transposed, ranking.weights, false});
    // A query has seen its own row.
    SeenRows<Space> seen;
    std::vector<count_t> starts(count + 1);
    for (count_t q = 0; q <= count; ++q) starts[q] = q;
    seen.rows   = on_device;
    seen.starts = numbers_from(space, "polyad::seen_starts", starts);
    starts.pop_back();
    seen.slots = numbers_from(space, "polyad::seen_slots", starts);
    ranking.rank(0, count, seen, {-1, 1}, result);
  }
  return result;
}

template <class Scalar, class Index, class Space>
ObservedRows observed_rows(Space const& space, CooTensor<Scalar, Index, Space> const& X) {
  using Marks = Kokkos::View<std::uint32_t*, typename Space::device_type>;
  ObservedRows observed(static_cast<std::size_t>(X.order()));
  bool some_are_empty = false;
  for (int n = 0; n < X.order(); ++n) {
    expect_fits(space, "the rows that were observed", X.extents()[n], sizeof(std::uint32_t));
    Marks const marks(Kokkos::view_alloc(space, "polyad::observed_rows"), X.extents()[n]);
    count_t outside = 0;
    Kokkos::parallel_reduce("polyad::mark_observed",
                            Kokkos::RangePolicy<Space, Kokkos::IndexType<count_t>>(space, 0, X.nnz()),
                            MarkObserved<Index, Space>{X.indices(), n, marks}, outside);
    space.fence("polyad::observed_rows");
    POLYAD_EXPECTS(outside == 0, outside, " nonzeros have an index outside mode ", n, " of ", X.extents()[n],
                   " rows");
    auto const on_host = to_host_copy(space, marks);
    space.fence("polyad::observed_rows");
    auto& rows = observed[n];
    rows.assign(on_host.data(), on_host.data() + on_host.size());
    if (std::find(rows.begin(), rows.end(), Mark(0)) == rows.end())
      rows = {};
    else
      some_are_empty = true;
  }
  if (!some_are_empty) observed.clear();
  return observed;
}

#define POLYAD_RECOMMEND(Scalar, Index)                                                                 \
  template Rankings recommend(CompiledSpace const&, FastTuckerModel<Scalar, CompiledSpace> const&, int, \
                              std::span<count_t const>, RankingOptions const&,                          \
                              CooTensor<Scalar, Index, CompiledSpace> const&);                          \
  template ObservedRows observed_rows(CompiledSpace const&, CooTensor<Scalar, Index, CompiledSpace> const&)
#define POLYAD_SIMILAR(Scalar)                                                                        \
  template Rankings similar(CompiledSpace const&, FastTuckerModel<Scalar, CompiledSpace> const&, int, \
                            std::span<count_t const>, RankingOptions const&)
POLYAD_EACH_SCALAR_AND_INDEX(, POLYAD_RECOMMEND);
POLYAD_EACH_SCALAR(, POLYAD_SIMILAR);

}  // namespace polyad
