// SPDX-License-Identifier: BSD-3-Clause
// The facts by which a checkpoint of CP-ALS recognises its run.
#pragma once

#include <algorithm>
#include <limits>
#include <tuple>
#include <utility>
#include <vector>

#include "cp/fixed_modes.hpp"
#include "cp/held_tensor.hpp"
#include "cp/run/run_updates.hpp"
#include "polyad/cp/cp_als.hpp"
#include "polyad/io/checkpoint.hpp"

namespace polyad::detail {

/// io::Checkpoint::constraints. A fixed mode has an empty interval there.
/// \param updates  one for each mode
[[nodiscard]] inline std::vector<double> constraint_numbers(CpAlsOptions const& options,
                                                            std::vector<ModeUpdate> const& updates) {
  constexpr double most = std::numeric_limits<double>::max();
  std::vector<double> numbers;
  for (int n = 0; n < std::ssize(updates); ++n) {
    auto const& update = updates[n];
    auto c             = update.constraints().value_or(Constraints());
    if (!update.constraints()) c.ridge = update.penalty();
    if (is_fixed(options, n)) std::tie(c.lower, c.upper) = std::pair(most, -most);
    for (double const number : {std::max(c.lower, -most), std::min(c.upper, most), c.l1, c.ridge,
                                static_cast<double>(update.inner_sweeps())})
      numbers.push_back(number);
  }
  return numbers;
}

/// A checkpoint with only these facts.
template <class Scalar, class Space>
[[nodiscard]] io::Checkpoint facts_of_run(HeldTensor<Scalar, Space> const& X, CpAlsOptions const& options) {
  auto const& extents = X.rows->extents();
  io::Checkpoint facts;
  facts.precision    = sizeof(Scalar) == sizeof(float) ? "f32" : "f64";
  facts.format       = X.format->name();
  facts.seed         = options.seed;
  facts.rank         = options.rank;
  facts.rows         = options.rows;
  facts.nnz          = X.nnz;
  facts.norm_squared = X.norm_squared;
  auto const updates = updates_of_modes(options.updates, extents.order());
  for (int n = 0; n < extents.order(); ++n)
    facts.extents.push_back(options.rows.empty() ? extents[n] : options.rows[n].extent());
  auto const is_constrained = [](ModeUpdate const& update) { return update.constraints().has_value(); };
  if (!options.fixed_modes.empty() || std::ranges::any_of(updates, is_constrained))
    facts.constraints = constraint_numbers(options, updates);
  else if (!std::ranges::all_of(updates, is_least_squares))
    for (auto const& update : updates) facts.penalties.push_back(update.penalty());
  return facts;
}

}  // namespace polyad::detail
