// SPDX-License-Identifier: BSD-3-Clause
// A candidate in the choice of a format, with its predicted and its measured costs.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace polyad {

/// The time of an iteration of CP-ALS without its MTTKRPs: solving, normalising, Gram matrices, fit.
struct DensePart {
  double algebra_s = 0;  // the R x R algebra of one mode
  /// It runs at the same time as the mode's MTTKRP, as on devices (CpAlsOptions::one_instance).
  bool overlaps_mttkrp = false;
  double rest_s        = 0;

  /// Seconds of an iteration whose MTTKRPs take mode_s, one number per mode.
  [[nodiscard]] double iteration_s(std::vector<double> const& mode_s) const;
};

/// Seconds that a format takes.
struct FormatTimes {
  /// Additional seconds of the first use in a process, when a device loads the kernels. Always predicted.
  double load_s  = 0;
  double build_s = 0;
  std::vector<double> mode_s;  // an MTTKRP of each mode
  double iteration_s = 0;      // one CP-ALS iteration; its dense part is always predicted
};

/// A format that was considered.
struct FormatCandidate {
  std::string name;
  std::uint64_t bytes       = 0;  // stored
  std::uint64_t build_bytes = 0;  // the most while it is built
  std::uint64_t need_bytes  = 0;  // the most of all, factors included
  bool fits                 = false;
  bool streams              = false;     // it stays in host memory
  bool loses_digits         = false;     // it adds the terms of the tensor's longest rows to floats
  bool on_device            = false;     // the run is on a device
  std::optional<FormatTimes> predicted;  // unset if the model does not cover it on this kind of machine
  std::optional<FormatTimes> measured;   // set if it was tried
  double total_s = 0;                    // a build and the iterations, predicted with caution
  DensePart dense;                       // the same for all
};

/// The format that a tensor was kept in, as AnyFormat says.
struct FormatFacts {
  std::string chosen;
  std::string because                     = {};  // why; if it was named, why it differs from the request
  std::uint64_t storage_bytes             = 0;
  double build_s                          = 0;
  std::vector<FormatCandidate> candidates = {};  // the best first
  std::string warning                     = {};  // what its results may lose
};

}  // namespace polyad
