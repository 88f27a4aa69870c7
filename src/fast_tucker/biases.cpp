// SPDX-License-Identifier: BSD-3-Clause
#include "polyad/fast_tucker/fast_tucker.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

#include "fast_tucker/drift.hpp"
#include "fast_tucker/entries.hpp"
#include "fast_tucker/largest_entry.hpp"
#include "fast_tucker/search/row_classes.hpp"
#include "polyad/core/instances.hpp"
#include "tensor/coordinates_inside.hpp"

namespace polyad {

using namespace detail;
namespace {

/// x - mean - biases - drifts, without the bias or the drift of one mode.
template <class Scalar, class Index>
struct Remainder {
  Index const* indices;
  Scalar const* values;
  Scalar const* bias[max_order];
  DriftTerms<Scalar> drift;
  int order;
  int biased;  // modes with biases: all or none
  int skipped_bias;
  int skipped_drift;
  double mean;

  /// \param times  the times that the bins of drifts cover
  template <class Space>
  Remainder(CooTensor<Scalar, Index, Space> const& X, FastTuckerModel<Scalar, Space> const& model,
            int without_bias, int without_drift, count_t times)
      : Remainder(X, model, without_bias, without_drift) {
    drift.times = times;
  }
  template <class Space>
  Remainder(CooTensor<Scalar, Index, Space> const& X, FastTuckerModel<Scalar, Space> const& model,
            int without_bias, int without_drift)
      : indices(X.indices().data()),
        values(X.values().data()),
        bias{},
        drift(drift_terms(model)),
        order(X.order()),
        biased(model.has_biases() ? X.order() : 0),
        skipped_bias(without_bias),
        skipped_drift(without_drift),
        mean(model.mean) {
    for (int n = 0; n < biased; ++n) bias[n] = model.bias(n).data();
  }
  [[nodiscard]] KOKKOS_FUNCTION Index const* entry(count_t p) const { return indices + p * order; }
  [[nodiscard]] KOKKOS_FUNCTION double operator()(count_t p) const {
    Index const* const index = entry(p);
    double e                 = static_cast<double>(values[p]) - mean;
    for (int n = 0; n < biased; ++n)
      if (n != skipped_bias) e -= static_cast<double>(bias[n][index[n]]);
    return e - drift.at(index, skipped_drift);
  }
};

/// Kokkos has no one-instruction atomics for long long, only for the type of this width in <cstdint>.
using Sum = std::int64_t;

template <class Scalar>
struct SumOfValues {
  Scalar const* values;
  double scale;
  KOKKOS_FUNCTION void operator()(count_t p, Sum& sum) const {
    sum += static_cast<Sum>(Kokkos::round(static_cast<double>(values[p]) * scale));
  }
};

template <class Remainder, class Sums>
struct SumOfRows {
  Remainder remainder;
  int mode;
  bool drifts;  // a sum for each bin of time
  double scale;
  Sums sums;       // sums of remainders, and how many there are
  count_t pooled;  // bins in which the rows of the mode have one bias; 0: each has its own
  count_t extent;  // the mode's rows
  KOKKOS_FUNCTION void operator()(count_t p) const {
    auto const* const index = remainder.entry(p);
    auto row                = static_cast<count_t>(index[mode]);
    if (drifts) row = row * remainder.drift.bins[mode] + remainder.drift.bin(mode, index);
    if (pooled > 0) row = time_bin(row, pooled, extent);
    Kokkos::atomic_add(&sums(row, 0),
                       static_cast<Sum>(Kokkos::round(remainder(p) * scale)));  // other nonzeros too
    Kokkos::atomic_add(&sums(row, 1), Sum(1));
  }
};

/// Entry `row` of `matrix`, numbered by rows of `columns`, becomes a damped average. A vector of biases is a
/// matrix with one column.
template <class Sums, class Scalar>
struct SetBias {
  Sums sums;
  double scale;
  double damping;
  Scalar* matrix;
  count_t columns;
  count_t stride;
  count_t pooled;  // as in SumOfRows
  count_t extent;
  count_t seen;  // with pooled rows: those up to the last one with entries; later ones get zero
  KOKKOS_FUNCTION void operator()(count_t row) const {
    count_t const at = row / columns * stride + row % columns;
    if (pooled > 0 && row >= seen) {
      matrix[at] = 0;
      return;
    }
    count_t const from  = pooled > 0 ? time_bin(row, pooled, extent) : row;
    double const weight = damping + static_cast<double>(sums(from, 1));
    double const sum    = static_cast<double>(sums(from, 0)) / scale;
    matrix[at]          = static_cast<Scalar>(weight > 0 ? sum / weight : 0.0);
  }
};

/// Entry (i, b) of `to`, whose bins cover all times, from the drift at the middle of bin b. The bins of
/// `from` cover the first `seen` times. After these, bias and drift together become the steady bias: in the
/// k-th bin of that length, 1 / (1 + fade k) of the last drift's distance from it is left.
template <class Scalar, class Space>
struct SpreadDrift {
  FactorMatrix<Scalar, Space> from, to;
  BiasVector<Scalar, Space> bias, steady;
  count_t seen, times;
  double fade;
  KOKKOS_FUNCTION void operator()(count_t k) const {
    count_t const bins = from.extent(1), all = to.extent(1), i = k / all, b = k % all;
    count_t const first = (b * times + all - 1) / all;  // the first time in the bin
    if (first < seen) {
      count_t const whole = (2 * b + 1) * times * bins / (2 * all * seen);
      to(i, b)            = from(i, whole < bins ? whole : bins - 1);
      return;
    }
    auto const later  = static_cast<double>((first - seen) * bins / seen + 1);
    double const end  = static_cast<double>(steady(i)) - static_cast<double>(bias(i));
    double const last = static_cast<double>(from(i, bins - 1));
    to(i, b)          = static_cast<Scalar>(end + (last - end) / (1 + fade * later));
  }
};

template <class Remainder, class Values>
struct SetRemainder {
  Remainder remainder;
  Values values;
  KOKKOS_FUNCTION void operator()(count_t p) const {
    values(p) = static_cast<typename Values::value_type>(remainder(p));
  }
};

template <class Scalar, class Space>
void expect_same_extents(Extents const& extents, FastTuckerModel<Scalar, Space> const& model) {
  POLYAD_EXPECTS(extents == model.extents(), "the tensor is ", to_string(extents), " but the model is ",
                 to_string(model.extents()));
}

void expect_sound(BiasOptions const& options) {
  POLYAD_EXPECTS(options.damping >= 0 && options.sweeps >= 0, "a damping of ", options.damping, " and ",
                 options.sweeps, " sweeps are impossible");
}

template <class Space, class Scalar, class Index>
CooTensor<Scalar, Index, Space> remainder_of(Space const& space, CooTensor<Scalar, Index, Space> const& X,
                                             FastTuckerModel<Scalar, Space> const& model) {
  using Values = typename CooTensor<Scalar, Index, Space>::values_type;
  using Rest   = Remainder<Scalar, Index>;
  expect_same_extents(X.extents(), model);
  if (!model.has_biases() && model.mean == 0) return X;
  expect_fits(space, "values without biases", X.nnz(), sizeof(Scalar));
  Values const values(uninitialized(space, "polyad::values_without_biases"), X.nnz());
  Kokkos::parallel_for("polyad::without_biases",
                       Kokkos::RangePolicy<Space, Kokkos::IndexType<count_t>>(space, 0, X.nnz()),
                       SetRemainder<Rest, Values>{Rest(X, model, -1, -1), values});
  return {X.extents(), X.indices(), values};
}

}  // namespace

namespace detail {

/// The factor by which values are multiplied before they are rounded to integers, whose sums are the same in
/// any order. A bias is an average of remainders, so each bias at most doubles the largest remainder. Hence
/// (terms + 2) 2^terms times the largest value bounds the remainders of as many biases and drifts. With this
/// scale their sum stays below 2^62.
inline double scale_of_sums(double largest, int terms, count_t nnz) {
  double const bound = std::ldexp(std::max(largest, 1e-300) * (terms + 2), terms);
  // Very small values would need a scale beyond 2^1000. They are rounded to multiples of 2^-1000.
  return std::exp2(
      std::min(1000.0, std::floor(62 - std::log2(bound) - std::log2(static_cast<double>(nnz) + 1))));
}

/// The sum of the scaled values of all ranks.
template <class Space, class Scalar, class Index>
Sum sum_of_values(Space const& space, TrainingSet<Scalar, Index, Space> const& X, double scale,
                  RunRanks const& ranks) {
  using Range = Kokkos::RangePolicy<Space, Kokkos::IndexType<count_t>>;
  Sum sum     = 0;
  X.for_each_stretch(
      space, [&](Space const& on, CooTensor<Scalar, Index, Space> const& stretch, count_t /*first*/) {
        Sum of_stretch = 0;
        Kokkos::parallel_reduce("polyad::sum_of_values", Range(on, 0, stretch.nnz()),
                                SumOfValues<Scalar>{stretch.values().data(), scale}, of_stretch);
        sum += of_stretch;
      });
  return static_cast<Sum>(ranks.sum_on_host(static_cast<std::uint64_t>(sum)));
}

/// Sets all biases to zero and allocates the drifts. Returns the largest number of sums that a mode needs.
template <class Space, class Scalar>
count_t clear_biases(Space const& space, Extents const& extents, std::vector<BiasDrift> const& drift,
                     FastTuckerModel<Scalar, Space>& model) {
  count_t longest = 0;
  for (int n = 0; n < extents.order(); ++n) {
    count_t const bins = drift[n].bins;
    longest            = std::max({longest, extents[n], checked_product("the drift", extents[n], bins)});
    Kokkos::deep_copy(space, model.bias(n), Scalar(0));
    model.drift(n) = FactorMatrix<Scalar, Space>();
    if (bins > 0) model.drift(n) = make_factor_matrix<Scalar>(space, "polyad::drift", extents[n], bins);
  }
  return longest;
}

template <class Space, class Scalar, class Index>
count_t seen_times(Space const& space, TrainingSet<Scalar, Index, Space> const& X, int time_mode,
                   RowDistribution<Scalar, Space> const& rows) {
  return rows_with_entries(space, entries_of_rows(space, X, time_mode, rows));
}

/// Gives the drifts bins over all times, where they were fitted to the first `seen` ones, and lets them fade
/// out after these. The biases of modes that do not drift were fitted next to drifts of others. They lead to
/// those of a fit without drifts, too, so they get a drift that is zero until then. \throws MemoryError
/// \param entries  of the fit
/// \param steady   has the biases of a fit without drifts
template <class Space, class Scalar>
void fade_drifts(Space const& space, count_t entries, count_t seen, double fade,
                 FastTuckerModel<Scalar, Space> const& steady, FastTuckerModel<Scalar, Space>& model) {
  count_t const times = model.extents()[model.time_mode];
  for (int n = 0; n < model.order(); ++n) {
    if (n == model.time_mode) continue;  // later times have no bias
    bool const moves = model.drift(n).extent(1) > 0;
    auto const fitted =
        moves ? model.drift(n) : make_factor_matrix<Scalar>(space, "polyad::drift", model.extents()[n], 1);
    count_t const most = moves ? times : most_bins(model.extents(), entries, n, model.time_mode);
    count_t const bins = std::min(bins_over_all(fitted.extent(1), seen, times), most);
    count_t const size = checked_product("the drift", fitted.extent(0), bins);
    // SpreadDrift multiplies them, and time_bin some of them.
    static_cast<void>(checked_product(
        "the bins of time", checked_product("the bins of time", 2 * bins, times), fitted.extent(1)));
    auto const all = make_factor_matrix<Scalar>(space, "polyad::drift", fitted.extent(0), bins);
    Kokkos::parallel_for(
        "polyad::fade_drifts", Kokkos::RangePolicy<Space, Kokkos::IndexType<count_t>>(space, 0, size),
        SpreadDrift<Scalar, Space>{fitted, all, model.bias(n), steady.bias(n), seen, times, fade});
    model.drift(n) = all;
  }
  space.fence("polyad::fade_drifts");  // the fitted drifts go
}

/// What happens to drifts after the last seen time. \throws MemoryError
template <class Space, class Scalar, class Index>
void let_drifts_end(Space const& space, TrainingSet<Scalar, Index, Space> const& X,
                    BiasOptions const& options, count_t seen, FastTuckerModel<Scalar, Space>& model,
                    RowDistribution<Scalar, Space> const& rows, std::function<void()> const& between) {
  if (seen >= X.extents()[options.time_mode]) return;
  auto steady = rows.together([&] {
    std::vector<count_t> const one_column(static_cast<std::size_t>(X.order()), 1);
    return FastTuckerModel<Scalar, Space>(space, X.extents(), one_column, 1, true);
  });
  fit_biases(space, X, without_drifts(options, X.order()), steady, rows, between, seen);
  // By default drifts end at once. What would be left of them harms rows with few entries.
  double const usual    = BiasDrift{}.damping;
  double const given    = options.drift.empty() ? usual : options.drift[options.time_mode].damping;
  double const fade     = given < usual ? given : std::numeric_limits<double>::infinity();
  count_t const entries = rows.sum_on_host(std::uint64_t(X.nnz()));
  rows.together([&] { fade_drifts(space, entries, seen, fade, steady, model); });
}

/// The times up to the last one with entries, if the fit needs to know; else 0. \throws MemoryError
template <class Space, class Scalar, class Index>
count_t times_of_fit(Space const& space, TrainingSet<Scalar, Index, Space> const& X,
                     BiasOptions const& options, bool drifts, RowDistribution<Scalar, Space> const& rows) {
  bool const shares = options.time_mode >= 0 && bins_of_time(options, X.extents()) > 0;
  return drifts || shares ? seen_times(space, X, options.time_mode, rows) : 0;
}

template <class Space, class Scalar, class Index>
void fit_biases(Space const& space, TrainingSet<Scalar, Index, Space> const& X, BiasOptions const& options,
                FastTuckerModel<Scalar, Space>& model, RowDistribution<Scalar, Space> const& rows,
                std::function<void()> const& between, count_t known_times) {
  using Range   = Kokkos::RangePolicy<Space, Kokkos::IndexType<count_t>>;
  using Sums    = Kokkos::View<Sum**, Kokkos::LayoutRight, typename Space::device_type>;
  using Stretch = CooTensor<Scalar, Index, Space>;
  expect_same_extents(X.extents(), model);
  POLYAD_EXPECTS(model.has_biases(), "the model has no biases");
  expect_sound(options);
  count_t const nnz = rows.sum_on_host(std::uint64_t(X.nnz()));
  POLYAD_EXPECTS(nnz > 0, "there are no values to fit a mean to");
  double const largest = rows.largest(largest_value(space, X));
  if (!std::isfinite(largest)) throw NumericalError("a value of the training set is not a finite number");
  auto drift         = drift_of_modes(options, X.extents(), nnz);
  bool const drifts  = std::any_of(drift.begin(), drift.end(), [](auto const& d) { return d.bins > 0; });
  auto const pooled  = [&](int n) { return n == options.time_mode ? bins_of_time(options, X.extents()) : 0; };
  count_t const seen = known_times > 0 ? known_times : times_of_fit(space, X, options, drifts, rows);
  for (auto& of_mode : drift) of_mode.bins = std::min<count_t>(of_mode.bins, seen);
  int const terms    = X.order() + static_cast<int>(std::count_if(drift.begin(), drift.end(),
                                                                  [](auto const& d) { return d.bins > 0; }));
  double const scale = scale_of_sums(largest, terms, nnz);
  model.mean = static_cast<double>(sum_of_values(space, X, scale, rows)) / scale / static_cast<double>(nnz);
  model.time_mode = terms > X.order() ? options.time_mode : -1;
  Sums const sums = rows.together([&] {
    count_t const longest = clear_biases(space, X.extents(), drift, model);
    expect_fits(space, "the sums of biases", longest, 2 * sizeof(Sum));
    return Sums(uninitialized(space, "polyad::bias_sums"), longest, 2);
  });
  using Rest      = Remainder<Scalar, Index>;
  // Fits the biases, or the drifts, of mode n.
  auto const fit = [&](int n, bool drifts, SetBias<Sums, Scalar> const& set) {
    count_t const count = X.extents()[n] * set.columns;
    Kokkos::deep_copy(space, Kokkos::subview(sums, Kokkos::make_pair(count_t(0), count), Kokkos::ALL),
                      Sum(0));
    X.for_each_stretch(space, [&](Space const& on, Stretch const& stretch, count_t /*first*/) {
      Rest const remainder(stretch, model, drifts ? -1 : n, drifts ? n : -1, seen);
      Kokkos::parallel_for(
          "polyad::sum_of_rows", Range(on, 0, stretch.nnz()),
          SumOfRows<Rest, Sums>{remainder, n, drifts, scale, sums, pooled(n), X.extents()[n]});
    });
    rows.sum(reinterpret_cast<std::uint64_t*>(sums.data()), 2 * count);
    Kokkos::parallel_for("polyad::set_bias", Range(space, 0, count), set);
  };
  for (int sweep = 0; sweep < options.sweeps; ++sweep)
    for (int n = 0; n < X.order(); ++n) {
      if (between) between();
      fit(n, false,
          {sums, scale, options.damping, model.bias(n).data(), 1, 1, pooled(n), X.extents()[n], seen});
      auto const& moving = model.drift(n);
      if (moving.extent(1) > 0)
        fit(n, true,
            {sums, scale, drift[n].damping, moving.data(), moving.extent(1),
             static_cast<count_t>(moving.stride(0)), 0, X.extents()[n], seen});
    }
  space.fence("polyad::fit_biases");
  if (drifts) let_drifts_end(space, X, options, seen, model, rows, between);
}

template <class Space, class Scalar, class Index>
TrainingSet<Scalar, Index, Space> without_biases(Space const& space,
                                                 TrainingSet<Scalar, Index, Space> const& X,
                                                 FastTuckerModel<Scalar, Space> const& model) {
  if (!X.on_host()) return TrainingSet<Scalar, Index, Space>(remainder_of(space, X.tensor(), model));
  expect_same_extents(X.extents(), model);
  if (!model.has_biases() && model.mean == 0) return X;
  using Rest        = Remainder<Scalar, Index>;
  using Values      = typename CooTensor<Scalar, Index, Space>::values_type;
  auto const values = make_pinned_values<Scalar, Space>(X.nnz());
  // Computed in the stretch's buffer and sent back.
  X.for_each_stretch(
      space, [&](Space const& on, CooTensor<Scalar, Index, Space> const& stretch, count_t first) {
        Kokkos::parallel_for("polyad::without_biases",
                             Kokkos::RangePolicy<Space, Kokkos::IndexType<count_t>>(on, 0, stretch.nnz()),
                             SetRemainder<Rest, Values>{Rest(stretch, model, -1, -1), stretch.values()});
        Kokkos::deep_copy(on, Kokkos::View<Scalar*, PinnedSpace>(values.data() + first, stretch.nnz()),
                          stretch.values());
      });
  space.fence("polyad::without_biases");
  return {{X.extents(), X.pinned().indices, values}, X.buffers()};
}

}  // namespace detail

template <class Space, class Scalar, class Index>
void fit_biases(Space const& space, CooTensor<Scalar, Index, Space> const& X, BiasOptions const& options,
                FastTuckerModel<Scalar, Space>& model) {
  expect_coordinates_inside(space, X);
  detail::fit_biases(space, TrainingSet<Scalar, Index, Space>(X), options, model,
                     RowDistribution<Scalar, Space>(space, X.extents()), {}, 0);
}

template <class Space, class Scalar, class Index>
CooTensor<Scalar, Index, Space> without_biases(Space const& space, CooTensor<Scalar, Index, Space> const& X,
                                               FastTuckerModel<Scalar, Space> const& model) {
  expect_coordinates_inside(space, X);
  return remainder_of(space, X, model);
}

#define POLYAD_BIASES(Scalar, Index)                                                                       \
  template void fit_biases(CompiledSpace const&, CooTensor<Scalar, Index, CompiledSpace> const&,           \
                           BiasOptions const&, FastTuckerModel<Scalar, CompiledSpace>&);                   \
  template CooTensor<Scalar, Index, CompiledSpace> without_biases(                                         \
      CompiledSpace const&, CooTensor<Scalar, Index, CompiledSpace> const&,                                \
      FastTuckerModel<Scalar, CompiledSpace> const&);                                                      \
  template void detail::fit_biases(CompiledSpace const&, TrainingSet<Scalar, Index, CompiledSpace> const&, \
                                   BiasOptions const&, FastTuckerModel<Scalar, CompiledSpace>&,            \
                                   RowDistribution<Scalar, CompiledSpace> const&,                          \
                                   std::function<void()> const&, count_t);                                 \
  template count_t detail::seen_times(CompiledSpace const&,                                                \
                                      TrainingSet<Scalar, Index, CompiledSpace> const&, int,               \
                                      RowDistribution<Scalar, CompiledSpace> const&);                      \
  template TrainingSet<Scalar, Index, CompiledSpace> detail::without_biases(                               \
      CompiledSpace const&, TrainingSet<Scalar, Index, CompiledSpace> const&,                              \
      FastTuckerModel<Scalar, CompiledSpace> const&)
POLYAD_EACH_SCALAR_AND_INDEX(, POLYAD_BIASES);

}  // namespace polyad
