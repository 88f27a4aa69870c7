// SPDX-License-Identifier: BSD-3-Clause
// How close models are to each other and to a tensor.
#pragma once

#include <cstdint>
#include <vector>

#include "polyad/io/coordinate_list.hpp"
#include "polyad/io/model_file.hpp"

namespace polyad::cli {

/// Factor match score (Acar, Dunlavy, Kolda: "A scalable optimization approach for fitting canonical tensor
/// decompositions", J. Chemometrics 25(2), 2011, section 5): for components r of A and s of B
///   score(r, s) = prod_n |cos(a_r^(n), b_s^(n))|,
/// summed over the pairs of the assignment that makes the sum largest and divided by the larger rank, so that
/// a component without a partner counts as 0. The second score multiplies each pair by
/// 1 - |w_r - w_s| / max(w_r, w_s), w the components' norms.
struct MatchScore {
  double score, weighted;
  /// Of each component of A: its partner in B, or -1.
  std::vector<std::int64_t> partner;
};

/// \throws UsageError when the extents differ
[[nodiscard]] MatchScore match_score(io::HostKtensor const& a, io::HostKtensor const& b);

/// 1 - ||X - M|| / ||X||; X has no duplicates. \throws UsageError when the extents differ
[[nodiscard]] double fit_of_model(io::CoordinateList const& X, io::HostKtensor const& model);

}  // namespace polyad::cli
