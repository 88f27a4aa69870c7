// SPDX-License-Identifier: BSD-3-Clause
// --format auto: which format, and why, from the cost model (polyad/formats/cost_model.hpp). Free of Kokkos.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "polyad/formats/cost_model.hpp"
#include "polyad/io/coordinate_list.hpp"
#include "report.hpp"

namespace polyad::cli {

/// What a run wants of its format.
struct FormatWish {
  double iterations   = 1;      // that it is expected to take
  bool deterministic  = false;  // a fixed order of summation
  bool residual       = false;  // the residual sweep of FastTucker
  bool may_stream     = true;   // from host memory, where nothing else fits
  std::uint64_t bytes = 0;      // of memory that are free where the tensor goes
  char const* what    = "iterations";
};

/// "1.23 GB"
[[nodiscard]] std::string bytes_text(std::uint64_t bytes);

/// The survey of a list, on so many threads (0: all).
[[nodiscard]] TensorSurvey survey_list(io::CoordinateList const& list, int threads);

/// All formats that the wish allows, the fastest first; those that do not fit, and then those that the model does not
/// know on this machine, after the others.
[[nodiscard]] std::vector<CandidateReport> candidates(CostInput const& input, FormatWish const& wish);

/// Puts them in that order again, once some were measured.
void sort_candidates(std::vector<CandidateReport>& candidates, FormatWish const& wish);

/// The best of the candidates, by measured times where there are some; `failed` are left out: they were tried, and did
/// not fit after all.
/// \returns its place, and why
/// \throws MemoryError with the smallest need and what would make it fit, when none fits
struct FormatChoice {
  std::size_t candidate = 0;
  std::string because;
};
[[nodiscard]] FormatChoice choose(std::vector<CandidateReport> const& candidates, FormatWish const& wish,
                                  std::set<std::string> const& failed = {});

/// Iterations that a run to a tolerance is taken to need, of `most`: runs that stop by themselves are not known before.
[[nodiscard]] double expected_iterations(int most, double tolerance);

}  // namespace polyad::cli
