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

/// The same for seeds. A checkpoint has the numbers that its seed gave, so the run needs none: it may have
/// the usual seed of 0, or name that of the checkpoint.
template <class Checkpoint>
[[nodiscard]] std::string difference_of_seeds(Checkpoint const& found, Checkpoint const& run) {
  if (run.seed == 0) return {};
  return difference_of("seed", std::to_string(found.seed), std::to_string(run.seed));
}

/// What `found` is, if it is of another tensor than `run` or of options that give other iterates; otherwise
/// empty. The first difference counts: of the model's size, the precision, the format, the other options, the
/// seed.
/// \param keeps_format   whether iterates of other formats, which differ by rounding alone, are others
/// \param has_same_rows  whether the rows that both store are alike
template <class Checkpoint>
[[nodiscard]] std::string difference_of_runs(Checkpoint const& found, Checkpoint const& run,
                                             bool keeps_format, bool has_same_rows,
                                             std::string const& of_size, std::string const& of_options = {}) {
  for (auto const& difference :
       {of_size, difference_of("precision", found.precision, run.precision),
        difference_of("the format", keeps_format ? found.format : run.format, run.format), of_options,
        difference_of_seeds(found, run)})
    if (!difference.empty()) return difference;
  bool const is_same = is_same_tensor(found, run) && has_same_rows;
  return is_same ? std::string() : "is a checkpoint of another tensor";
}

}  // namespace polyad::io
