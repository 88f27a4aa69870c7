// SPDX-License-Identifier: BSD-3-Clause
// Biases that drift over time: their data for kernels, and limits on the number of bins.
#pragma once

#include <Kokkos_Core.hpp>
#include <algorithm>
#include <cmath>
#include <vector>

#include "polyad/core/error.hpp"
#include "polyad/fast_tucker/fast_tucker.hpp"

namespace polyad::detail {

/// The drifts of a model, for kernels. A zero-initialised aggregate has no drifts.
template <class Scalar>
struct DriftTerms {
  Scalar const* drift[max_order];  // null: the mode's biases stay
  count_t stride[max_order];
  count_t bins[max_order];
  count_t times;
  int time_mode;
  int modes;  // 0: nothing drifts, else all modes

  /// The drifts of an entry at its time: none at a later time than the model has.
  /// \param index  N of them  \param skipped  a mode, or -1
  template <class Index>
  [[nodiscard]] KOKKOS_FUNCTION double at(Index const* index, int skipped) const {
    double sum = 0;
    if (modes > 0 && index[time_mode] >= times) return sum;
    for (int n = 0; n < modes; ++n)
      if (drift[n] != nullptr && n != skipped)
        sum += static_cast<double>(drift[n][static_cast<count_t>(index[n]) * stride[n] + bin(n, index)]);
    return sum;
  }
  template <class Index>
  [[nodiscard]] KOKKOS_FUNCTION count_t bin(int n, Index const* index) const {
    return time_bin(static_cast<count_t>(index[time_mode]), bins[n], times);
  }
};

template <class Scalar, class Space>
DriftTerms<Scalar> drift_terms(FastTuckerModel<Scalar, Space> const& model) {
  DriftTerms<Scalar> terms{};
  if (model.time_mode < 0) return terms;
  terms.time_mode = model.time_mode;
  terms.times     = model.extents()[model.time_mode];
  terms.modes     = model.order();
  for (int n = 0; n < model.order(); ++n) {
    auto const& drift = model.drift(n);
    if (drift.extent(1) == 0) continue;
    terms.drift[n]  = drift.data();
    terms.stride[n] = static_cast<count_t>(drift.stride(0));
    terms.bins[n]   = drift.extent(1);
  }
  return terms;
}

/// The most bins of mode n: all its bins together are at most twice the entries, or eight per row, as in a
/// factor of eight columns.
inline count_t most_bins(Extents const& extents, count_t entries, int n, int time_mode) {
  count_t const room = 2 * (entries / std::max<count_t>(extents[n], 1));
  return n == time_mode ? 0 : std::min(extents[time_mode], std::max<count_t>(room, 8));
}

/// The bins of a drift over all times, of a drift that was fitted to `bins` bins of the first `seen` times.
/// These bins are about as long or shorter, and one of them begins with time `seen`, or, if there are many
/// times, as near to it as possible.
inline count_t bins_over_all(count_t bins, count_t seen, count_t times) {
  if (bins == 0 || seen >= times) return bins;
  constexpr count_t always_exact = 64;
  count_t const of_all           = checked_product("the bins of time", bins, times);
  count_t const least            = std::min(times, of_all / seen + (of_all % seen > 0 ? 1 : 0));
  count_t best = least, best_off = times;
  for (count_t count = least; count <= std::min(times, std::max(2 * least, always_exact)); ++count) {
    count_t const over = checked_product("the bins of time", seen, count) % times;
    if (over < count) return count;                    // the time before `seen` is in the bin before
    count_t const off = std::min(over, times - over);  // in parts of 1 / count of a time
    if (off * best >= best_off * count) continue;
    best     = count;
    best_off = off;
  }
  return best;
}

/// Thirty bins, as in Koren's model for items, but at most most_bins.
inline std::vector<BiasDrift> usual_drift(Extents const& extents, count_t entries, int time_mode) {
  std::vector<BiasDrift> drift(static_cast<std::size_t>(extents.order()));
  for (int n = 0; n < extents.order(); ++n)
    drift[static_cast<std::size_t>(n)].bins =
        std::min<count_t>(30, most_bins(extents, entries, n, time_mode));
  return drift;
}

/// The drift of each mode by the options, with at most as many bins as times. Without a mode of time no mode
/// has bins.
/// \throws UsageError when the options make no sense
inline std::vector<BiasDrift> drift_of_modes(BiasOptions const& options, Extents const& extents,
                                             count_t entries) {
  int const time = options.time_mode, order = extents.order();
  POLYAD_EXPECTS(time >= -1 && time < order, "mode ", time,
                 " cannot be time: the modes of a tensor of order ", order, " count from 0");
  POLYAD_EXPECTS(options.drift.empty() || options.drift.size() == static_cast<std::size_t>(order),
                 "there are ", options.drift.size(), " drifts for ", order, " modes");
  for (auto const& drift : options.drift)
    POLYAD_EXPECTS(drift.damping >= 0 && std::isfinite(drift.damping), "a drift is damped by ", drift.damping,
                   " observations");
  if (time < 0) return std::vector<BiasDrift>(static_cast<std::size_t>(order));
  auto result = options.drift.empty() ? usual_drift(extents, entries, time) : options.drift;
  for (int n = 0; n < order; ++n) {
    auto& bins = result[static_cast<std::size_t>(n)].bins;
    bins       = n == time ? 0 : std::min(bins, extents[time]);
    static_cast<void>(checked_product("the bins of time", bins, extents[time]));  // time_bin multiplies them
  }
  return result;
}

/// The same options for biases that do not drift. Times share their biases as before.
inline BiasOptions without_drifts(BiasOptions options, int order) {
  if (options.drift.empty()) options.drift.resize(static_cast<std::size_t>(order));
  for (int n = 0; n < order; ++n)
    if (n != options.time_mode) options.drift[static_cast<std::size_t>(n)].bins = 0;
  return options;
}

/// The number of bins in which times share a bias, instead of one bias for each time: what the options say
/// about the mode of time itself. 0: each time has its own. Fine times have few entries each, and their
/// biases would follow the noise.
/// \pre there is a mode of time
inline count_t bins_of_time(BiasOptions const& options, Extents const& extents) {
  if (options.drift.empty()) return 0;
  count_t const bins = options.drift[static_cast<std::size_t>(options.time_mode)].bins;
  return bins < extents[options.time_mode] ? bins : 0;
}

}  // namespace polyad::detail
