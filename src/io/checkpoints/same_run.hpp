// SPDX-License-Identifier: BSD-3-Clause
// Comparisons of a checkpoint with the run that is to continue it. `Checkpoint` is one of io/checkpoint.hpp.
#pragma once

#include <cmath>
#include <string>

namespace polyad::io {

/// "is a checkpoint of rank 4, not 5", or nothing if both are alike. \param what  "rank"
[[nodiscard]] inline std::string difference_of(std::string const& what, std::string const& found,
                                               std::string const& here) {
  return found == here ? std::string() : "is a checkpoint of " + what + " " + found + ", not " + here;
}

/// Whether extents, nonzeros and norm are the same. The norm of a tensor depends on how threads split its
/// sum.
template <class Checkpoint>
[[nodiscard]] bool is_same_tensor(Checkpoint const& found, Checkpoint const& run) {
  if (found.extents != run.extents || found.nnz != run.nnz) return false;
  double const difference = std::abs(found.norm_squared - run.norm_squared);
  return found.norm_squared == run.norm_squared || difference <= 1e-6 * run.norm_squared;
}

}  // namespace polyad::io
