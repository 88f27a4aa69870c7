// SPDX-License-Identifier: BSD-3-Clause
// Starts of modes with bounds: random numbers within them, and the refusal of a start outside them.
#pragma once

#include <Kokkos_Core.hpp>
#include <algorithm>
#include <cmath>
#include <vector>

#include "cp/constraints/constrained_update.hpp"
#include "cp/fixed_modes.hpp"
#include "cp/run/run_updates.hpp"
#include "polyad/core/error.hpp"
#include "polyad/cp/factor_update.hpp"
#include "polyad/tensor/factor_matrices.hpp"
#include "polyad/tensor/stored_rows.hpp"
#include "run/run_ranks.hpp"

namespace polyad::detail {

/// u -> first + u * factor, within the bounds.
template <class Space, class Scalar>
struct MoveWithinBounds {
  FactorMatrix<Scalar, Space> matrix;
  double first, factor, lower, upper;

  KOKKOS_FUNCTION void operator()(count_t e) const {
    count_t const i = e / matrix.extent(1), r = e % matrix.extent(1);
    double const number = first + matrix(i, r) * factor;
    matrix(i, r)        = static_cast<Scalar>(number < lower ? lower : number > upper ? upper : number);
  }
};

/// Moves random numbers u in [0, 1) of mode n within the bounds of its update: lower + u (upper - lower), or
/// lower + u, or upper - u. Launches on `space` and returns without waiting.
template <class Scalar, class Space>
void move_random_within(Space const& space, ModeUpdate const& update, int n,
                        FactorMatrix<Scalar, Space> const& matrix) {
  if (!update.constraints()) return;
  auto const bounds = rounded_bounds<Scalar>(*update.constraints(), n);
  bool const is_low = std::isfinite(bounds.lower), is_high = std::isfinite(bounds.upper);
  double const first  = is_low ? bounds.lower : is_high ? bounds.upper : 0;
  double const factor = is_low && is_high ? bounds.upper - bounds.lower : is_high ? -1 : 1;
  if (first == 0 && factor == 1) return;
  Kokkos::parallel_for("polyad::move_within_bounds",
                       Kokkos::RangePolicy<Space, Kokkos::IndexType<count_t>>(space, 0, matrix.size()),
                       MoveWithinBounds<Space, Scalar>{matrix, first, factor, bounds.lower, bounds.upper});
}

/// Flips columns, and moves entries to the nearest bound (move_within_bounds of cp/cp_als.hpp).
/// \param numbers  row-major, `rank` columns
inline void move_columns_within(Constraints const& bounds, count_t rank, std::vector<double>& numbers) {
  for (count_t r = 0; r < rank; ++r) {
    double positive = 0, negative = 0;
    for (std::size_t e = r; e < numbers.size(); e += rank)
      (numbers[e] > 0 ? positive : negative) += numbers[e] * numbers[e];
    bool const flips =
        (bounds.lower >= 0 && negative > positive) || (bounds.upper <= 0 && positive > negative);
    for (std::size_t e = r; e < numbers.size(); e += rank)
      numbers[e] = std::min(std::max(flips ? -numbers[e] : numbers[e], bounds.lower), bounds.upper);
  }
}

/// Counts the entries of a matrix outside the bounds, and those that are not numbers.
template <class Space, class Scalar>
struct CountOutside {
  FactorMatrix<Scalar, Space> matrix;
  double lower, upper;

  KOKKOS_FUNCTION void operator()(count_t e, count_t& count) const {
    auto const number = static_cast<double>(matrix(e / matrix.extent(1), e % matrix.extent(1)));
    if (!(number >= lower && number <= upper)) ++count;
  }
};

/// The entries outside the bounds of mode n. Waits.
template <class Scalar, class Space>
[[nodiscard]] count_t count_outside(Space const& space, ModeUpdate const& update, int n,
                                    FactorMatrix<Scalar, Space> const& matrix) {
  if (!update.constraints()) return 0;
  auto const bounds = rounded_bounds<Scalar>(*update.constraints(), n);
  count_t count     = 0;
  Kokkos::parallel_reduce("polyad::count_outside",
                          Kokkos::RangePolicy<Space, Kokkos::IndexType<count_t>>(space, 0, matrix.size()),
                          CountOutside<Space, Scalar>{matrix, bounds.lower, bounds.upper}, count);
  return count;
}

/// \param A  this rank's rows of mode n
/// \throws UsageError on all ranks for a start outside the bounds of mode n. Waits.
template <class Scalar, class Space>
void expect_within_bounds(Space const& space, std::vector<ModeUpdate> const& updates, int n,
                          FactorMatrix<Scalar, Space> const& A, RunRanks const& ranks) {
  auto const update = update_of_mode(updates, n);
  if (!update.constraints()) return;
  bool const is_bad = count_outside<Scalar, Space>(space, update, n, A) > 0;
  POLYAD_EXPECTS(!ranks.any(is_bad), "the start of mode ", n, " violates the bounds of the mode, ",
                 update.constraints()->lower, " and ", update.constraints()->upper);
}

/// The free modes whose columns may be multiplied by any positive number: the first of them, or `all`, as
/// with penalties, which decide how the modes share a component's scale. A start with all its scale in one
/// mode would cost so much there that the first updates make the model zero.
[[nodiscard]] inline std::vector<int> scalable_modes(CpAlsOptions const& options, int order, bool all) {
  std::vector<int> modes;
  for (int n = 0; n < order && (all || modes.empty()); ++n) {
    if (is_fixed(options, n)) continue;
    auto const update = update_of_mode(options.updates, n);
    if (update.own() == nullptr && (!update.constraints() || update.constraints()->is_cone()))
      modes.push_back(n);
  }
  return modes;
}

/// \throws UsageError if rows that are not stored, and are therefore zero, would have to be something else
inline void expect_zero_allowed(std::vector<ModeUpdate> const& updates, std::vector<StoredRows> const& rows) {
  for (int n = 0; n < std::ssize(rows); ++n) {
    auto const update = update_of_mode(updates, n);
    POLYAD_EXPECTS(!update.constraints() || update.constraints()->allows_zero() || !rows[n].is_list(),
                   "mode ", n, " has rows that are not stored, and its bounds exclude the zeros there");
  }
}

}  // namespace polyad::detail
