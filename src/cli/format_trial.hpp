// SPDX-License-Identifier: BSD-3-Clause
// Formats tried on the very tensor: built, timed and given up again. Each scalar is instantiated in
// format_trial.cpp.
#pragma once

#include <limits>
#include <string>
#include <vector>

#include "device_tensor.hpp"
#include "polyad/formats/format_candidate.hpp"
#include "report.hpp"

namespace polyad::cli {

struct TrialTimes {
  std::uint64_t bytes = 0;
  double build_s      = 0;
  std::vector<double> mode_s;  // of each mode that was asked for
};

/// Builds a format and times an MTTKRP of these modes: the least of two after one that warms up. A short
/// build is timed when it is repeated, without the loading of its kernels, which formats that were tried
/// before may share.
/// \throws MemoryError
template <class Scalar, class Index>
[[nodiscard]] TrialTimes try_format(Space const& space, CooTensor<Scalar, Index, Space> const& coo,
                                    std::string const& name, count_t rank, std::vector<int> const& modes);

/// Tries a candidate in these modes (none: in all) and fills in what was measured; modes that were not tried
/// are predicted, by the ratio of those that were. False, with `fits` taken back, where it does not fit after
/// all.
template <class Scalar, class Index>
bool try_candidate(Space const& space, CooTensor<Scalar, Index, Space> const& coo, count_t rank,
                   std::vector<int> modes, FormatCandidate& candidate) {
  bool const all = modes.empty();
  for (int n = 0; all && n < coo.order(); ++n) modes.push_back(n);
  TrialTimes times;
  try {
    times = try_format(space, coo, candidate.name, rank, modes);
  } catch (MemoryError const&) {
    candidate.fits = false;
    return false;
  }
  FormatTimes measured;
  measured.load_s  = candidate.predicted ? candidate.predicted->load_s : 0;
  measured.build_s = times.build_s;
  candidate.bytes  = times.bytes;
  if (all) {
    measured.mode_s = times.mode_s;
  } else {
    double predicted = 0, found = 0;
    for (std::size_t k = 0; k < modes.size(); ++k) {
      predicted += candidate.predicted->mode_s[static_cast<std::size_t>(modes[k])];
      found += times.mode_s[k];
    }
    for (double const seconds : candidate.predicted->mode_s)
      measured.mode_s.push_back(seconds * found / predicted);
  }
  measured.iteration_s = candidate.dense.iteration_s(measured.mode_s);
  candidate.measured   = measured;
  return true;
}

}  // namespace polyad::cli
