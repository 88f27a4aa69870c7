// SPDX-License-Identifier: BSD-3-Clause
#include "formats/choose_format.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "polyad/core/quantity_text.hpp"

namespace polyad::detail {
namespace {

FormatCandidate candidate(FormatCosts const& format, CostInput const& input, ChoiceInput const& wish) {
  CostInput with_memory     = input;
  with_memory.free_bytes    = wish.bytes;
  with_memory.one_memory    = wish.one_memory && !input.machine.is_device;
  with_memory.loading_bytes = wish.loading_bytes;
  Cost cost                 = predict(format, with_memory);
  if (wish.rows && cost.is_known()) add_row_solves(cost, format, with_memory);
  FormatCandidate found;
  found.name        = format.name;
  found.bytes       = cost.storage_bytes;
  found.build_bytes = cost.build_bytes;
  found.need_bytes  = cost.need_bytes();
  found.fits        = found.need_bytes <= wish.bytes;
  found.streams     = format.on_host;
  found.on_device   = input.machine.is_device;
  found.dense       = cost.dense;
  for (auto const& mode : input.tensor.modes) {
    auto const rows = static_cast<double>(std::max<std::uint64_t>(mode.used(), 1));
    RowLengths const lengths{mode.longest, static_cast<double>(input.tensor.nnz) / rows};
    if (loses_digits(format, input.machine.is_device, input.scalar_bytes, lengths)) found.loses_digits = true;
  }
  if (!cost.is_known()) return found;
  found.predicted = {cost.load_s, cost.build_s, cost.mode_s, cost.iteration_s};
  found.total_s   = cost.total_s(wish.iterations);
  return found;
}

double total(FormatCandidate const& candidate, ChoiceInput const& wish) {
  auto const& known = candidate.measured ? candidate.measured : candidate.predicted;
  if (!known) return std::numeric_limits<double>::infinity();
  return candidate.measured ? known->load_s + known->build_s + wish.iterations * known->iteration_s
                            : candidate.total_s;
}

/// Whether the build alone takes longer than the run may. Such a format only suits runs without a limit.
bool builds_too_long(FormatCandidate const& candidate, ChoiceInput const& wish) {
  auto const& known = candidate.measured ? candidate.measured : candidate.predicted;
  return known && known->load_s + known->build_s > wish.time_limit_s;
}

/// The order of preference: formats that fit in memory, the fastest first, then those that are streamed, then
/// those that fit but lose digits. In each of these groups formats whose build exceeds the time limit come
/// last. Among the streamed ones the smallest comes first, since the free host memory is not known.
bool is_better(FormatCandidate const& a, FormatCandidate const& b, ChoiceInput const& wish) {
  auto const rank = [](FormatCandidate const& c) {
    return c.fits ? (c.loses_digits ? 2 : 0) + (c.streams ? 1 : 0) : 4;
  };
  if (rank(a) != rank(b)) return rank(a) < rank(b);
  if (rank(a) == 4) return a.need_bytes < b.need_bytes;
  if (builds_too_long(a, wish) != builds_too_long(b, wish)) return builds_too_long(b, wish);
  if (a.streams) return a.bytes < b.bytes;
  return total(a, wish) < total(b, wish);
}

/// Whether a device is better served by streaming than by the best format that fits its memory. The streamed
/// format may be a faster one, most of which stays on the device. The prediction has to be clear. A measured
/// time is not given up for a predicted one.
bool streams_faster(FormatCandidate const& streamed, FormatCandidate const& in_memory,
                    ChoiceInput const& wish) {
  constexpr double margin = 1.25;
  return streamed.on_device && streamed.fits && in_memory.fits &&
         (!streamed.loses_digits || in_memory.loses_digits) && (streamed.measured || !in_memory.measured) &&
         margin * total(streamed, wish) < total(in_memory, wish);
}

[[noreturn]] void refuse(FormatCandidate const* smallest, ChoiceInput const& wish) {
  std::uint64_t const need = smallest ? smallest->need_bytes : 0;
  throw MemoryError("the tensor in any format", need,
                    (smallest ? smallest->name : "no format") + " needs the least, " + bytes_text(need) +
                        ", but only " + bytes_text(wish.bytes) + " are free; " +
                        (wish.deterministic
                             ? "without a fixed order of summation (--deterministic) a smaller format may fit"
                             : "a smaller rank (-r), or floats (--precision f32), need less"));
}

}  // namespace

ChoiceInput within_limit(std::vector<FormatCandidate> const& candidates, ChoiceInput wish) {
  double fastest = std::numeric_limits<double>::infinity();
  for (auto const& c : candidates)
    if (c.fits && c.predicted) fastest = std::min(fastest, c.predicted->iteration_s);
  // Either nothing is predicted, or no time at all: the product is infinite or not above the limit.
  if (std::isfinite(fastest) && wish.iterations * fastest > wish.time_limit_s)
    wish.iterations = std::min(wish.iterations, std::max(1.0, wish.time_limit_s / fastest));
  return wish;
}

std::vector<FormatCandidate> candidates(CostInput const& input, ChoiceInput const& wish) {
  auto const all_for = [&](ChoiceInput const& planned) {
    std::vector<FormatCandidate> list;
    for (auto const& format : all_format_costs()) {
      if (wish.deterministic && !format.deterministic) continue;
      if (wish.residual && !format.residual) continue;
      if (format.on_host && !wish.may_stream) continue;
      list.push_back(candidate(format, input, planned));
    }
    return list;
  };
  auto list = all_for(wish);
  if (std::isfinite(wish.time_limit_s)) list = all_for(within_limit(list, wish));
  sort_candidates(list, wish);
  return list;
}

std::vector<FormatCandidate> candidates(TensorSurvey const& tensor, std::uint64_t rank, int scalar_bytes,
                                        int index_bytes, ChoiceInput const& wish,
                                        std::function<Ceilings(double)> const& machine_of) {
  auto const by = [&](Ceilings const& machine) {
    return candidates(CostInput{tensor, machine, rank, scalar_bytes, index_bytes}, wish);
  };
  auto const usual = by(machine_of(0));
  return by(machine_of(usual.empty() ? 0 : usual.front().total_s));
}

void sort_candidates(std::vector<FormatCandidate>& candidates, ChoiceInput const& whole) {
  ChoiceInput const wish = within_limit(candidates, whole);
  std::stable_sort(candidates.begin(), candidates.end(),
                   [&](auto const& a, auto const& b) { return is_better(a, b, wish); });
  auto const streamed =
      std::find_if(candidates.begin(), candidates.end(), [](FormatCandidate const& c) { return c.streams; });
  if (streamed != candidates.end() && !candidates.front().streams &&
      streams_faster(*streamed, candidates.front(), wish))
    std::rotate(candidates.begin(), streamed, streamed + 1);
}

FormatChoice choose(std::vector<FormatCandidate> const& candidates, ChoiceInput const& whole,
                    std::set<std::string> const& failed) {
  ChoiceInput const wish      = within_limit(candidates, whole);
  auto const is_open          = [&](FormatCandidate const& c) { return c.fits && !failed.contains(c.name); };
  FormatCandidate const *best = nullptr, *wanted = nullptr, *second = nullptr, *smallest = nullptr,
                        *streamed = nullptr;
  for (auto const& c : candidates) {
    if (!smallest || c.need_bytes < smallest->need_bytes) smallest = &c;
    if (!c.streams && !c.loses_digits && (!wanted || total(c, wish) < total(*wanted, wish))) wanted = &c;
    if (!is_open(c)) continue;
    if (c.streams && (!streamed || is_better(c, *streamed, wish))) streamed = &c;
    if (!best || is_better(c, *best, wish))
      second = std::exchange(best, &c);
    else if (!second || is_better(c, *second, wish))
      second = &c;
  }
  if (!best) refuse(smallest, wish);
  if (streamed && streamed != best && streams_faster(*streamed, *best, wish))
    second = std::exchange(best, streamed);
  FormatChoice choice{static_cast<std::size_t>(best - candidates.data()), {}};
  if (wanted && wanted != best && !is_open(*wanted)) {
    choice.because = wanted->name + ", the fastest, ";
    choice.because += failed.contains(wanted->name) ? "did not fit when it was built"
                                                    : "needs " + bytes_text(wanted->need_bytes) +
                                                          " but only " + bytes_text(wish.bytes) + " are free";
    if (best->streams)
      choice.because += second && !second->streams
                            ? "; " + second->name + ", the fastest that fits, takes " +
                                  duration_text(total(*second, wish)) + " and this one " +
                                  duration_text(total(*best, wish)) + " (predicted)"
                            : "; no other in-memory format fits either";
    return choice;
  }
  if (wish.deterministic) {
    choice.because = "it sums in a fixed order";
  } else if (!best->predicted && !best->measured) {
    choice.because = "the cost model covers no other format on this machine";
  } else {
    choice.because = std::to_string(std::llround(wish.iterations)) + " " + wish.what +
                     (wish.iterations < whole.iterations ? " in the time limit" : "") +
                     " including the build take " + duration_text(total(*best, wish)) +
                     (best->measured ? " (measured)" : " (predicted)");
    if (second && !second->streams && (second->predicted || second->measured))
      choice.because += ", with " + second->name + " " + duration_text(total(*second, wish));
  }
  return choice;
}

}  // namespace polyad::detail
