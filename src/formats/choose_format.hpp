// SPDX-License-Identifier: BSD-3-Clause
// The choice of a format and its reason: the candidates by the cost model (formats/cost_model.hpp), and the
// choice among them. any_format and the tool's `--format auto` share it. Free of Kokkos.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "formats/cost_model.hpp"
#include "polyad/core/error.hpp"
#include "polyad/formats/format_candidate.hpp"

namespace polyad::detail {

/// The requirements of a run on its format.
struct ChoiceInput {
  double iterations   = 1;      // the expected number
  bool deterministic  = false;  // a fixed order of summation
  bool residual       = false;  // the residual sweep of FastTucker
  bool rows           = false;  // FastTucker's least squares for rows
  bool may_stream     = true;   // from host memory
  std::uint64_t bytes = 0;      // free memory where the tensor goes
  bool one_memory     = false;  // on a host: `bytes` is host memory, not the limit of a simulated device
  /// AnyFormatOptions::loading_bytes
  std::uint64_t loading_bytes = 0;
  char const* what            = "iterations";
  /// Seconds after which the run ends, or infinity. They do not include the build.
  double time_limit_s = std::numeric_limits<double>::infinity();
};

/// The wish with the iterations that fit into its time limit, in the format with the shortest predicted
/// iteration; at least one.
[[nodiscard]] ChoiceInput within_limit(std::vector<FormatCandidate> const& candidates, ChoiceInput wish);

/// All formats that the wish allows. First come those that fit in memory, the fastest first, then those that
/// are streamed, then those that lose digits of the longest row, then those that do not fit. On a device, a
/// streamed format is first if it is clearly faster than all that fit. Formats that the model does not cover
/// on this machine are last in the first group.
[[nodiscard]] std::vector<FormatCandidate> candidates(CostInput const& input, ChoiceInput const& wish);

/// The same, with the ceilings that `machine_of` returns for a run of a given length in seconds. It is called
/// with 0 first, and then with the predicted time of the best candidate.
[[nodiscard]] std::vector<FormatCandidate> candidates(TensorSurvey const& tensor, std::uint64_t rank,
                                                      int scalar_bytes, int index_bytes,
                                                      ChoiceInput const& wish,
                                                      std::function<Ceilings(double)> const& machine_of);

/// Seconds of the shortest run for which measured ceilings pay. In a shorter run, a choice from the usual
/// ceilings loses less time than a measurement takes.
inline constexpr double worth_measuring_s = 2;

/// usual_ceilings of the machine that Space runs on.
template <class Space>
[[nodiscard]] Ceilings usual_ceilings_of(int concurrency, int scalar_bytes);

/// Restores that order after some candidates were measured.
void sort_candidates(std::vector<FormatCandidate>& candidates, ChoiceInput const& wish);

struct FormatChoice {
  std::size_t candidate = 0;  // its position
  std::string because;
};

/// The best of the candidates, by measured times where available. The candidates in `failed` are left out:
/// they were tried, and did not fit after all.
/// \throws MemoryError with the smallest need and what would make it fit, when none fits
[[nodiscard]] FormatChoice choose(std::vector<FormatCandidate> const& candidates, ChoiceInput const& wish,
                                  std::set<std::string> const& failed = {});

/// Calls take(candidate, because) for the best candidate. If it throws a MemoryError, because the model was
/// wrong, the next best is tried, until one succeeds.
/// \param may_go_on  called after such a failure; false if the coordinates to build from are no longer there
/// \throws MemoryError when none is left
template <class Take, class MayGoOn>
auto with_best_candidate(std::vector<FormatCandidate> const& candidates, ChoiceInput const& wish,
                         Take const& take, MayGoOn const& may_go_on) {
  for (std::set<std::string> failed;;) {
    FormatChoice const choice   = choose(candidates, wish, failed);
    FormatCandidate const& best = candidates[choice.candidate];
    try {
      return take(best, choice.because);
    } catch (MemoryError const&) {
      if (!may_go_on()) throw;
      failed.insert(best.name);
    }
  }
}

}  // namespace polyad::detail
