// SPDX-License-Identifier: BSD-3-Clause
// StopReason: why a driver's run ended. RestartSummary: how one of several runs ended. PredictionErrors: how
// far a model is from given values. Free of Kokkos.
#pragma once

#include <cstdint>
#include <string>

namespace polyad {

enum class StopReason {
  converged,       // the fit changes by less than the tolerance allows (CpAlsOptions, TuckerOptions)
  max_iterations,  // the run performed as many iterations as were allowed
  time_limit,
  interrupted,  // the callback returned false
  early_stop,   // the validation error has not fallen for the allowed number of epochs
  diverged,     // the numbers grew beyond all bounds; the result is the last model before that
  stalled,      // converged, but the result has a ModelDefect (core/model_defect.hpp)
  rounding      // rounding errors hide the changes of the fit that the tolerance asks for
};

[[nodiscard]] inline char const* to_string(StopReason reason) {
  switch (reason) {
    case StopReason::converged:
      return "converged";
    case StopReason::max_iterations:
      return "iteration limit";
    case StopReason::time_limit:
      return "time limit";
    case StopReason::interrupted:
      return "interrupted";
    case StopReason::early_stop:
      return "no better validation error";
    case StopReason::diverged:
      return "diverged";
    case StopReason::stalled:
      return "stalled";
    case StopReason::rounding:
      return "rounding hides the change";
  }
  return "unknown";
}

/// How one of several starts ended.
struct RestartSummary {
  std::uint64_t seed;
  double fit;  // minus infinity if the run broke down
  int iterations;
  StopReason reason;       // diverged if the run broke down
  double seconds    = 0;   // time of its iterations, including that of concurrent runs
  std::string error = {};  // the text of its NumericalError if it broke down; else empty
};

/// Errors over `entries` observations; zero if there are none, not finite if a prediction is not.
struct PredictionErrors {
  std::uint64_t entries                          = 0;
  double rmse                                    = 0;
  double mae                                     = 0;
  bool operator==(PredictionErrors const&) const = default;
};

}  // namespace polyad
