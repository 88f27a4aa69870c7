// SPDX-License-Identifier: BSD-3-Clause
// Judgement: whether a model is better than mean and biases by the errors of held-out entries, for all rows
// and for each class of rows (row_classes.hpp). Free of Kokkos: it works on numbers in host memory.
//
// The gain of an entry is the square of its error with the biases, minus that with the model. Gains of
// entries of a row depend on each other, so the error of their sum is that of a sum over rows that are drawn
// anew, not entries: the largest of the errors by the rows of each mode (a cluster-robust variance).
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numeric>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "fast_tucker/search/row_classes.hpp"
#include "polyad/fast_tucker/fast_tucker.hpp"

namespace polyad::detail {

/// Held-out entries and two predictions of each.
struct JudgedEntries {
  int order = 0;
  std::vector<double> values, biases, model;
  std::vector<std::uint64_t> rows;             // N an entry
  std::vector<std::int8_t> classes;            // likewise: of the row by its kept entries; -1 if it has none
  std::vector<std::int8_t> classes_with_held;  // likewise: by its kept and held-out entries together
  std::vector<std::uint8_t> repeats;           // 1 where the place of the entry occurs again

  [[nodiscard]] std::size_t size() const { return values.size(); }
  [[nodiscard]] double squares_of_biases(std::size_t p) const {
    return (values[p] - biases[p]) * (values[p] - biases[p]);
  }
  [[nodiscard]] double gain(std::size_t p) const {
    return squares_of_biases(p) - (values[p] - model[p]) * (values[p] - model[p]);
  }
  [[nodiscard]] std::size_t at(std::size_t p, int n) const {
    return p * static_cast<std::size_t>(order) + static_cast<std::size_t>(n);
  }
  void append(JudgedEntries const& other) {
    order          = other.order;
    auto const add = [](auto& to, auto const& from) { to.insert(to.end(), from.begin(), from.end()); };
    add(values, other.values);
    add(biases, other.biases);
    add(model, other.model);
    add(rows, other.rows);
    add(classes, other.classes);
    add(classes_with_held, other.classes_with_held);
    add(repeats, other.repeats);
  }
};

/// The gain of some entries.
struct Gain {
  std::size_t entries = 0, rows = 0;  // rows: the fewest of a mode
  double sum = 0, error = 0;          // error: the standard error of the sum
  double squares     = 0;             // the squared errors of the biases
  double changes     = 0;             // the squared differences of the two predictions
  double in_each_row = 0;             // the mean of share_of_row in its standard errors: the least of a mode

  /// The sum in standard errors; 0 without entries.
  [[nodiscard]] double in_errors() const {
    if (sum == 0) return 0;
    return error > 0 ? sum / error : std::copysign(std::numeric_limits<double>::infinity(), sum);
  }
  /// How much likelier the sum is if the model is right than if it is noise: half the logarithm of this
  /// ratio. The sum is expected to be `changes` if the model is right, and minus that if it is noise. Where
  /// the error is larger than that, a lucky draw of noise gains as many standard errors as a right model.
  [[nodiscard]] double evidence() const {
    return sum == 0 ? 0 : error > 0 ? in_errors() * changes / error : in_errors();
  }
};

/// The part of a row's squared errors that the model explains, or minus one if it adds more than these.
[[nodiscard]] inline double share_of_row(double gain, double squares) {
  return squares > 0 ? std::max(-1.0, gain / squares) : gain < 0 ? -1.0 : 0.0;
}

/// The mean of numbers in its standard errors; 0 if the numbers are zeros. \pre there are two
[[nodiscard]] inline double mean_in_errors(std::vector<double> const& numbers) {
  auto const count  = static_cast<double>(numbers.size());
  double const mean = std::accumulate(numbers.begin(), numbers.end(), 0.0) / count;
  double squares    = 0;
  for (double const x : numbers) squares += (x - mean) * (x - mean);
  if (mean == 0) return 0;
  return squares > 0 ? mean / std::sqrt(squares / (count * (count - 1)))
                     : std::copysign(std::numeric_limits<double>::infinity(), mean);
}

/// The sum of the gains of the entries for which `counts(p)` is true, and its error.
/// \param modes  the modes whose rows are drawn anew
template <class Counts>
Gain gain_of(JudgedEntries const& entries, std::vector<int> const& modes, Counts const& counts) {
  Gain gain;
  double squared_gains = 0;
  for (std::size_t p = 0; p < entries.size(); ++p) {
    if (!counts(p)) continue;
    double const g = entries.gain(p);
    ++gain.entries;
    gain.sum += g;
    squared_gains += g * g;
    gain.squares += entries.squares_of_biases(p);
    gain.changes += (entries.model[p] - entries.biases[p]) * (entries.model[p] - entries.biases[p]);
  }
  if (gain.entries == 0) return gain;
  auto const count  = static_cast<double>(gain.entries);
  double const mean = gain.sum / count;
  double variance   = std::max(0.0, squared_gains - gain.sum * mean);
  struct Cluster {
    double sum = 0, entries = 0, squares = 0;
  };
  std::optional<double> in_each_row;
  for (int const n : modes) {
    std::unordered_map<std::uint64_t, Cluster> clusters;
    for (std::size_t p = 0; p < entries.size(); ++p) {
      if (!counts(p)) continue;
      auto& cluster = clusters[entries.rows[entries.at(p, n)]];
      cluster.sum += entries.gain(p);
      cluster.entries += 1;
      cluster.squares += entries.squares_of_biases(p);
    }
    gain.rows = gain.rows == 0 ? clusters.size() : std::min(gain.rows, clusters.size());
    // The variance between fewer rows is itself too uncertain.
    constexpr std::size_t least_rows = 10;
    if (clusters.size() < least_rows) continue;
    // In the order of the rows, so that the last bits do not depend on the table.
    std::vector<std::pair<std::uint64_t, Cluster>> ordered(clusters.begin(), clusters.end());
    std::sort(ordered.begin(), ordered.end(), [](auto const& a, auto const& b) { return a.first < b.first; });
    double of_rows = 0;
    std::vector<double> shares;
    for (auto const& [row, cluster] : ordered) {
      double const off = cluster.sum - cluster.entries * mean;
      of_rows += off * off;
      shares.push_back(share_of_row(cluster.sum, cluster.squares));
    }
    in_each_row =
        std::min(in_each_row.value_or(std::numeric_limits<double>::infinity()), mean_in_errors(shares));
    auto const rows = static_cast<double>(clusters.size());
    variance        = std::max(variance, of_rows * rows / (rows - 1));
  }
  gain.error       = std::sqrt(variance);
  gain.in_each_row = in_each_row.value_or(0);
  return gain;
}

/// The least relative fall of the held-out error that makes a candidate better. If the error is still falling
/// faster from epoch to epoch, any change would look good.
inline constexpr double min_gain = 1e-3;

/// Whether the model explains most of the squared errors, and explains some of them in row after row. Where a
/// few rows have most of the squares, the error of the sum is that of these rows' number, and may be half of
/// the sum even if the model explains nearly everything. Noise gains in no such way, least of all in most
/// rows.
[[nodiscard]] inline bool explains_most(Gain const& gain) {
  constexpr double least_share = 0.5, least_in_each_row = 3;
  return gain.sum > least_share * gain.squares && gain.in_each_row > least_in_each_row;
}

/// Whether a gain exceeds chance and a minimal share. Of 102 models that were accepted in random sets with an
/// interaction, the least evidence was 4.4. One that fitted noise gained by 3.2 errors, with evidence of 2.8.
/// \param least  the least gain in standard errors, unless the model explains most
[[nodiscard]] inline bool is_gain(Gain const& gain, double least) {
  constexpr double least_evidence = 4;
  if (!(gain.sum > 2 * min_gain * gain.squares)) return false;  // half of that for their roots
  return (gain.in_errors() > least && gain.evidence() > least_evidence) || explains_most(gain);
}

/// What held-out entries say about a model.
struct Judgement {
  Gain gain;                           // the model's, without the rows that are left to the biases
  std::vector<std::uint64_t> classes;  // that are left to the biases, one number per mode
  std::vector<RowClass> by_class;
  bool harms_new_places = false;  // while it gains where a place occurs again
};

inline PredictionErrors errors_of_entries(JudgedEntries const& entries, std::vector<std::size_t> const& which,
                                          std::vector<double> const& predictions) {
  PredictionErrors errors{which.size(), 0, 0};
  for (std::size_t const p : which) {
    double const e = entries.values[p] - predictions[p];
    errors.rmse += e * e;
    errors.mae += std::abs(e);
  }
  if (which.empty()) return errors;
  errors.rmse = std::sqrt(errors.rmse / static_cast<double>(which.size()));
  errors.mae /= static_cast<double>(which.size());
  return errors;
}

/// The model's errors of all entries.
inline PredictionErrors errors_of_model(JudgedEntries const& entries) {
  std::vector<std::size_t> all(entries.size());
  std::iota(all.begin(), all.end(), std::size_t{0});
  return errors_of_entries(entries, all, entries.model);
}

/// Whether the model may be used for the rows of class k, which have `count` of the judged entries. If a
/// class has no gain to show, mean and biases are safe. Rows with few entries lose most if they lose, so they
/// need a larger gain, from several rows. The same holds for a class with a small part of the entries, for
/// which the choice was not made.
///
/// Without their held-out entries rows may belong to a lower class. So a class may be judged by rows that
/// belong to another one in the end, and that differ from those that stay. Its own rows must gain, too.
/// \param own  the gain of the rows that belong to the class with all of their entries
inline bool class_learns(JudgedEntries const& entries, int k, std::size_t count, Gain const& gain,
                         Gain const& own) {
  // The least gain of a class in standard errors.
  constexpr double least_of_many = 1, large_share = 0.25;
  // If there are many entries, they are those of several parts, which chose nothing.
  constexpr std::size_t many_entries = 8000;
  double const least_of_few          = entries.size() < many_entries ? 2.5 : 2;
  constexpr std::size_t least_rows   = 10;
  constexpr double least_of_own = 1.5, least_evidence = 2;
  if (own.entries > 0 && !(own.in_errors() > least_of_own)) return false;
  if (k == row_classes - 1 && static_cast<double>(count) >= large_share * static_cast<double>(entries.size()))
    return gain.in_errors() > least_of_many;
  return gain.in_errors() > least_of_few && gain.evidence() > least_evidence && gain.rows >= least_rows;
}

/// The classes, bit k for class k, that have fewer rows than class_learns needs, and few of the entries.
/// \param counts  the number of entries of each row of a mode
inline std::uint64_t classes_of_few_rows(std::vector<double> const& counts) {
  constexpr double least_rows = 10, large_share = 0.25;
  double rows[row_classes] = {}, entries[row_classes] = {}, all = 0;
  for (double const count : counts) {
    if (count == 0) continue;
    int const k = class_of_row(static_cast<count_t>(count));
    rows[k] += 1;
    entries[k] += count;
    all += count;
  }
  std::uint64_t few = 0;
  for (int k = 0; k < row_classes; ++k)
    if (rows[k] > 0 && rows[k] < least_rows && entries[k] < large_share * all) few |= std::uint64_t(1) << k;
  return few;
}

/// Whether the model leaves so little of the errors of a class that a few more rows cannot be different.
[[nodiscard]] inline bool explains(RowClass const& of_class) {
  constexpr double most_left = 0.4;
  return of_class.learns && of_class.model.rmse < most_left * of_class.biases.rmse;
}

/// \param time_mode  the mode whose rows are not judged; -1: none
inline Judgement judge(JudgedEntries entries, int time_mode) {
  Judgement result;
  std::vector<int> modes;
  for (int n = 0; n < entries.order; ++n)
    if (n != time_mode) modes.push_back(n);
  result.classes.assign(static_cast<std::size_t>(entries.order), 0);
  for (int const n : modes) {
    // Rows that a lower class judges are still theirs, whatever becomes of that class.
    JudgedEntries const before = entries;
    for (int k = 0; k < row_classes; ++k) {
      std::vector<std::size_t> of_class;
      for (std::size_t p = 0; p < entries.size(); ++p)
        if (entries.classes[entries.at(p, n)] == k) of_class.push_back(p);
      Gain const gain =
          gain_of(entries, {n}, [&](std::size_t p) { return entries.classes[entries.at(p, n)] == k; });
      Gain const own =
          gain_of(before, {n}, [&](std::size_t p) { return before.classes_with_held[before.at(p, n)] == k; });
      bool const learns = class_learns(entries, k, of_class.size(), gain, own);
      if (!of_class.empty())
        result.by_class.push_back({n, class_begins[k], errors_of_entries(entries, of_class, entries.biases),
                                   errors_of_entries(entries, of_class, entries.model), learns});
      if (learns) continue;
      result.classes[n] |= std::uint64_t(1) << k;
      for (std::size_t const p : of_class) entries.model[p] = entries.biases[p];
    }
  }
  result.gain       = gain_of(entries, modes, [](std::size_t) { return true; });
  Gain const at_new = gain_of(entries, modes, [&](std::size_t p) { return entries.repeats[p] == 0; });
  result.harms_new_places =
      at_new.entries < entries.size() && at_new.in_errors() < -1.5 && at_new.sum < -0.02 * at_new.squares;
  return result;
}

/// The gain of a model whose rows of these classes are left to the biases.
/// \param classes  a number for each mode, or none  \param time_mode  as in judge
inline Gain gain_without(JudgedEntries entries, std::vector<std::uint64_t> const& classes, int time_mode) {
  std::vector<int> modes;
  for (int n = 0; n < entries.order; ++n)
    if (n != time_mode) modes.push_back(n);
  for (std::size_t p = 0; p < entries.size() && !classes.empty(); ++p)
    for (int const n : modes) {
      auto const k = entries.classes[entries.at(p, n)];
      if (k >= 0 && (classes[static_cast<std::size_t>(n)] >> k & 1) != 0)
        entries.model[p] = entries.biases[p];
    }
  return gain_of(entries, modes, [](std::size_t) { return true; });
}

/// Whether the model gains for a class of rows with at least `least` entries, but too little to stay.
[[nodiscard]] inline bool is_undecided(Judgement const& judgement, std::size_t least) {
  return std::any_of(judgement.by_class.begin(), judgement.by_class.end(), [&](RowClass const& of_class) {
    return !of_class.learns && of_class.model.entries >= least && of_class.model.rmse < of_class.biases.rmse;
  });
}

}  // namespace polyad::detail
