// SPDX-License-Identifier: BSD-3-Clause
// polyad recommend: the rows of a mode that a model predicts most for, with the other modes' indices given or
// averaged over. polyad similar: the rows of a mode whose products with the core are most alike.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <map>
#include <numeric>
#include <set>
#include <utility>

#include "cli/commands/commands.hpp"
#include "cli/drivers/completion.hpp"
#include "cli/run/session.hpp"
#include "cli/tensors/entries.hpp"
#include "cli/tensors/read_input.hpp"
#include "polyad/core/device.hpp"
#include "polyad/core/error.hpp"
#include "polyad/core/per_mode.hpp"
#include "polyad/io/atomic_file.hpp"
#include "polyad/io/tensor_file.hpp"

namespace polyad::cli {

namespace {

/// Places that are predicted at a time.
constexpr std::uint64_t places_at_a_time = 1 << 22;

/// The index of each mode but the one that is recommended from; nothing for a mode to average over.
using Query = std::vector<std::optional<std::uint64_t>>;

/// Appends a row to a mode: the mean of its rows, or zeros. A prediction is linear in the rows of a mode,
/// so that the mean of predictions is the prediction of the mean. Returns its index.
std::uint64_t append_row(io::HostFastTucker& model, int mode, bool mean) {
  auto const n             = static_cast<std::size_t>(mode);
  std::uint64_t const rows = model.extents[n], columns = model.columns[n];
  auto const append = [&](std::vector<double>& numbers, std::uint64_t width) {
    std::vector<double> row(width);
    if (mean)
      for (std::uint64_t i = 0; i < rows * width; ++i)
        row[i % width] += numbers[i] / static_cast<double>(rows);
    numbers.insert(numbers.end(), row.begin(), row.end());
  };
  append(model.factors[n], columns);
  if (!model.biases.empty()) append(model.biases[n], 1);
  if (model.time_mode >= 0) append(model.drifts[n], model.bins[n]);
  model.extents[n] += 1;
  return rows;
}

/// The drifts as they are on the mean over all times, or after the last one: the same at any time.
void fix_time(io::HostFastTucker& model, bool mean) {
  std::uint64_t const times = of_mode(model.extents, model.time_mode);
  for (std::size_t n = 0; n < model.drifts.size(); ++n) {
    std::uint64_t const bins = model.bins[n];
    if (bins == 0 || times == 0) continue;
    std::vector<double> weight(bins);  // how often a bin counts
    for (std::uint64_t t = 0; t < times && mean; ++t) weight[t * bins / times] += 1;
    if (!mean) weight.back() = static_cast<double>(times);
    std::vector<double> fixed(model.extents[n]);
    for (std::uint64_t i = 0; i < fixed.size() * bins; ++i)
      fixed[i / bins] += model.drifts[n][i] * weight[i % bins] / static_cast<double>(times);
    model.drifts[n] = std::move(fixed);
    model.bins[n]   = 1;
  }
}

void expect_mode_of(io::HostFastTucker const& model, int mode) {
  if (mode < 0 || mode >= model.order())
    throw UsageError(fmt::format("mode {} of a model of {} modes, which count from 0", mode, model.order()));
}

Query parse_query(std::vector<std::string> const& words, int order, int base) {
  if (words.size() + 1 != static_cast<std::size_t>(order))
    throw UsageError(fmt::format("--for gives {} indices for the {} other modes", words.size(), order - 1));
  Query query;
  for (auto const& word : words) {
    if (word == "*") {
      query.emplace_back();
      continue;
    }
    std::uint64_t number    = 0;
    auto const [end, error] = std::from_chars(word.data(), word.data() + word.size(), number);
    if (error != std::errc() || end != word.data() + word.size() || number < static_cast<std::uint64_t>(base))
      throw UsageError(fmt::format("--for takes indices from {} on, or *, not '{}'", base, word));
    query.emplace_back(number - static_cast<std::uint64_t>(base));
  }
  return query;
}

/// The candidates that entries with the query's indices have already.
class Seen {
public:
  Seen(io::CoordinateList&& entries, int mode) : m_entries(std::move(entries)), m_mode(mode) {}

  std::set<std::uint64_t> const& of(Query const& query) {
    std::vector<bool> given;
    Key key;
    for (auto const& index : query) {
      given.push_back(index.has_value());
      key.push_back(index.value_or(0));
    }
    auto const [found, is_new] = m_by_given.try_emplace(given);
    if (is_new)
      for (std::uint64_t p = 0; p < m_entries.nnz(); ++p) {
        Key other;
        for (int n = 0; n < m_entries.order(); ++n)
          if (n != m_mode) other.push_back(given[other.size()] ? index_of(m_entries, p, n) : 0);
        found->second[other].insert(index_of(m_entries, p, m_mode));
      }
    return found->second[key];
  }

private:
  using Key = std::vector<std::uint64_t>;
  io::CoordinateList m_entries;
  int m_mode;
  std::map<std::vector<bool>, std::map<Key, std::set<std::uint64_t>>> m_by_given;
};

/// The first `count` positions of the numbers by falling number, equal ones by position; NaN is least.
std::vector<std::uint64_t> largest(std::vector<double> const& numbers, std::uint64_t count) {
  std::vector<std::uint64_t> order(numbers.size());
  std::iota(order.begin(), order.end(), 0);
  auto const more = [&](std::uint64_t a, std::uint64_t b) {
    double const x = std::isnan(numbers[a]) ? -INFINITY : numbers[a];
    double const y = std::isnan(numbers[b]) ? -INFINITY : numbers[b];
    return x != y ? x > y : a < b;
  };
  auto const end = order.begin() + static_cast<std::ptrdiff_t>(std::min<std::uint64_t>(count, order.size()));
  std::partial_sort(order.begin(), end, order.end(), more);
  order.erase(end, order.end());
  return order;
}

void put(std::string const& text, std::filesystem::path const& output) {
  if (output.empty()) {
    fmt::print("{}", text);
    return;
  }
  io::AtomicFile file(output);
  file.write(text);
  file.commit();
  fmt::print("wrote    {}\n", output.string());
}

}  // namespace

int run(RecommendOptions const& options, Report& report) {
  expect_usable_device();
  if (!options.output.empty()) io::expect_writable(options.output);
  auto model = io::read_fast_tucker(options.model);
  expect_mode_of(model, options.mode);
  if (!options.clip.empty()) {
    model.lowest  = options.clip[0];
    model.highest = options.clip[1];
  }
  auto const query         = parse_query(options.at, model.order(), options.index_base);
  auto const& extents      = model.extents;
  std::uint64_t const rows = of_mode(extents, options.mode);
  std::set<std::uint64_t> seen;
  if (!options.seen.empty()) {
    auto entries = io::read_tensor(options.seen, {.index_base = options.index_base}).tensor;
    if (entries.order() != model.order())
      throw InputError(options.seen.string(), 0, 0,
                       fmt::format("has {} modes, but the model has {}", entries.order(), model.order()));
    seen = Seen(std::move(entries), options.mode).of(query);
  }
  std::vector<std::uint64_t> at(static_cast<std::size_t>(model.order()));
  std::uint64_t unknown = 0;
  auto next             = query.begin();
  for (int n = 0; n < model.order(); ++n) {
    if (n == options.mode) continue;
    auto const& index = *next++;
    bool const known  = index && *index < of_mode(extents, n);
    unknown += index && !known ? 1 : 0;
    if (n == model.time_mode && !known) fix_time(model, !index);
    at[static_cast<std::size_t>(n)] = known ? *index : append_row(model, n, !index);
  }
  warn_of_cold(unknown);
  Session const session(options.common.threads, options.common.verbose);
  report.backend = session.backend();
  std::vector<double> predictions;
  for (std::uint64_t first = 0; first < rows; first += places_at_a_time) {
    io::CoordinateList places;
    places.extents = model.extents;
    auto& indices  = places.indices.emplace<io::UninitializedVector<std::uint64_t>>();
    for (std::uint64_t k = first; k < std::min(rows, first + places_at_a_time); ++k) {
      at[static_cast<std::size_t>(options.mode)] = k;
      indices.insert(indices.end(), at.begin(), at.end());
      places.values.push_back(0);
    }
    auto const some = predict_entries(model, std::move(places));
    predictions.insert(predictions.end(), some.begin(), some.end());
  }
  for (auto const k : seen)
    if (k < rows) predictions[k] = NAN;
  std::string text;
  for (auto const k :
       largest(predictions, std::min(options.count, rows - std::min<std::uint64_t>(rows, seen.size()))))
    text += fmt::format("{} {:.6g}\n", k + static_cast<std::uint64_t>(options.index_base), predictions[k]);
  put(text, options.output);
  return 0;
}

int run(SimilarOptions const& options, Report&) {
  if (!options.output.empty()) io::expect_writable(options.output);
  auto const model = io::read_fast_tucker(options.model);
  expect_mode_of(model, options.mode);
  auto const n             = static_cast<std::size_t>(options.mode);
  std::uint64_t const rows = model.extents[n], J = model.columns[n], R = model.rank;
  std::uint64_t const base = static_cast<std::uint64_t>(options.index_base);
  if (options.index < base || options.index - base >= rows)
    throw UsageError(
        fmt::format("--index {} of a mode of {} rows, which count from {}", options.index, rows, base));
  std::vector<double> C(R);
  auto const row = [&](std::uint64_t k) {  // of C = A B
    std::fill(C.begin(), C.end(), 0.0);
    for (std::uint64_t j = 0; j < J; ++j)
      for (std::uint64_t r = 0; r < R; ++r) C[r] += model.factors[n][k * J + j] * model.cores[n][j * R + r];
  };
  std::uint64_t const own = options.index - base;
  row(own);
  auto const wanted = C;
  std::vector<double> cosines(rows, NAN);
  for (std::uint64_t k = 0; k < rows; ++k) {
    if (k == own) continue;
    row(k);
    double const dot    = std::inner_product(C.begin(), C.end(), wanted.begin(), 0.0);
    double const length = std::sqrt(std::inner_product(C.begin(), C.end(), C.begin(), 0.0) *
                                    std::inner_product(wanted.begin(), wanted.end(), wanted.begin(), 0.0));
    cosines[k]          = length > 0 ? dot / length : 0.0;
  }
  std::string text;
  for (auto const k : largest(cosines, std::min(options.count, rows - 1)))
    text += fmt::format("{} {:.6g}\n", k + base, cosines[k]);
  put(text, options.output);
  return 0;
}

}  // namespace polyad::cli
