// SPDX-License-Identifier: BSD-3-Clause
#include "auto_format.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <span>
#include <utility>
#include <variant>

#include "polyad/core/error.hpp"
#include "progress.hpp"

namespace polyad::cli {

namespace {

/// Runs to the default tolerance on the tensors of data/ end after 5 to 50 iterations.
constexpr double iterations_to_tolerance = 20;

CandidateReport candidate(FormatCosts const& format, CostInput const& input, FormatWish const& wish) {
  Cost const cost = predict(format, input);
  CandidateReport report;
  report.name        = format.name;
  report.bytes       = cost.storage_bytes;
  report.build_bytes = cost.build_bytes;
  report.need_bytes  = cost.need_bytes();
  report.fits        = report.need_bytes <= wish.bytes;
  report.streams     = format.on_host;
  if (!cost.is_known()) return report;
  report.predicted = {cost.build_s, cost.mode_s, cost.iteration_s};
  report.total_s   = cost.total_s(wish.iterations);
  return report;
}

double total(CandidateReport const& candidate, FormatWish const& wish) {
  auto const& known = candidate.measured ? candidate.measured : candidate.predicted;
  if (!known) return std::numeric_limits<double>::infinity();
  return candidate.measured ? known->build_s + wish.iterations * known->iteration_s : candidate.total_s;
}

/// What is taken first: what fits in memory, then what is streamed; the fastest of each.
bool is_better(CandidateReport const& a, CandidateReport const& b, FormatWish const& wish) {
  auto const rank = [](CandidateReport const& c) { return c.fits ? (c.streams ? 1 : 0) : 2; };
  if (rank(a) != rank(b)) return rank(a) < rank(b);
  if (rank(a) == 2) return a.need_bytes < b.need_bytes;
  return total(a, wish) < total(b, wish);
}

}  // namespace

std::string bytes_text(std::uint64_t bytes) {
  if (bytes < 10'000) return fmt::format("{} B", bytes);
  auto number = static_cast<double>(bytes);
  char const* unit = "";
  for (char const* larger : {"kB", "MB", "GB", "TB"}) {
    if (number < 1000) break;
    number /= 1000;
    unit = larger;
  }
  return fmt::format("{:.3g} {}", number, unit);
}

TensorSurvey survey_list(io::CoordinateList const& list, int threads) {
  return std::visit(
      [&](auto const& indices) {
        using Index = typename std::remove_cvref_t<decltype(indices)>::value_type;
        return survey_tensor<Index>(list.extents, std::span<Index const>(indices.data(), indices.size()), threads);
      },
      list.indices);
}

std::vector<CandidateReport> candidates(CostInput const& input, FormatWish const& wish) {
  std::vector<CandidateReport> list;
  for (auto const& format : all_format_costs()) {
    if (wish.deterministic && !format.deterministic) continue;
    if (wish.residual && !format.residual) continue;
    if (format.on_host && !wish.may_stream) continue;
    list.push_back(candidate(format, input, wish));
  }
  sort_candidates(list, wish);
  return list;
}

void sort_candidates(std::vector<CandidateReport>& candidates, FormatWish const& wish) {
  std::stable_sort(candidates.begin(), candidates.end(),
                   [&](auto const& a, auto const& b) { return is_better(a, b, wish); });
}

FormatChoice choose(std::vector<CandidateReport> const& candidates, FormatWish const& wish,
                    std::set<std::string> const& failed) {
  auto const is_open = [&](CandidateReport const& c) { return c.fits && !failed.contains(c.name); };
  CandidateReport const *best = nullptr, *wanted = nullptr, *second = nullptr, *smallest = nullptr;
  for (auto const& c : candidates) {
    if (!smallest || c.need_bytes < smallest->need_bytes) smallest = &c;
    if (!c.streams && (!wanted || total(c, wish) < total(*wanted, wish))) wanted = &c;
    if (!is_open(c)) continue;
    if (!best || is_better(c, *best, wish))
      second = std::exchange(best, &c);
    else if (!second || is_better(c, *second, wish))
      second = &c;
  }
  if (!best) {
    std::string const need = smallest ? smallest->name : "no format";
    throw MemoryError("the tensor in any format", smallest ? smallest->need_bytes : 0,
                      fmt::format("{} needs the least, {}, and {} are free; {}", need,
                                  bytes_text(smallest ? smallest->need_bytes : 0), bytes_text(wish.bytes),
                                  wish.deterministic ? "without --deterministic a smaller format may fit"
                                                     : "a smaller -r, or --precision f32, needs less"));
  }
  FormatChoice choice{static_cast<std::size_t>(best - candidates.data()), {}};
  if (wanted && wanted != best && !is_open(*wanted)) {
    choice.because = fmt::format("{}, the fastest, needs {} and {} are free", wanted->name,
                                 bytes_text(wanted->need_bytes), bytes_text(wish.bytes));
    if (failed.contains(wanted->name))
      choice.because = fmt::format("{}, the fastest, did not fit when it was built", wanted->name);
    if (best->streams) choice.because += ", and so it is with every other in memory";
    return choice;
  }
  if (wish.deterministic) {
    choice.because = "it sums in a fixed order";
  } else if (!best->predicted && !best->measured) {
    choice.because = "the model knows no other on this machine";
  } else {
    choice.because = fmt::format("{:.0f} {} with its build take {} ({})", wish.iterations, wish.what,
                                 duration_text(total(*best, wish)), best->measured ? "measured" : "predicted");
    if (second && !second->streams && (second->predicted || second->measured))
      choice.because += fmt::format(", with {} {}", second->name, duration_text(total(*second, wish)));
  }
  return choice;
}

double expected_iterations(int most, double tolerance) {
  return tolerance > 0 ? std::min<double>(most, iterations_to_tolerance) : most;
}

}  // namespace polyad::cli
