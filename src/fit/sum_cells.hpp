// SPDX-License-Identifier: BSD-3-Clause
// Sums over the nonzeros of a tensor in any readable format, a block of coordinates at a time.
#pragma once

#include <Kokkos_Core.hpp>
#include <algorithm>
#include <cmath>

#include "fit/fit.hpp"
#include "fit/sum_over_ranks.hpp"
#include "polyad/core/spaces.hpp"
#include "polyad/formats/held_format.hpp"
#include "tensor/largest_value.hpp"

namespace polyad::detail {

/// The most nonzeros in a block. They take 2 MiB per mode.
inline constexpr count_t cells_at_a_time = count_t(1) << 18;

/// Calls use(block) for the nonzeros of X, block by block. The calls may enqueue work on `space`.
/// \throws UsageError if X is not readable
template <class Scalar, class Space, class Use>
void for_each_block(Space const& space, FormatInterface<Scalar, Space> const& X, Use const& use) {
  using Block         = NonzeroBlock<Scalar, Space>;
  count_t const order = X.extents().order();
  // The end of a run must not fail for lack of memory: a smaller block also works.
  count_t const fitting = available_memory(space) / 4 / (order * sizeof(count_t) + sizeof(Scalar));
  count_t const count   = std::min(X.nnz(), std::clamp<count_t>(fitting, 1, cells_at_a_time));
  auto const made       = [&](char const* label) { return uninitialized(space, label); };
  Block const room{decltype(Block::indices)(made("polyad::cell_indices"), count, order),
                   decltype(Block::values)(made("polyad::cell_values"), count)};
  for (count_t first = 0; first < X.nnz(); first += count) {
    auto const part = Kokkos::make_pair(count_t(0), std::min(count, X.nnz() - first));
    Block const block{Kokkos::subview(room.indices, part, Kokkos::ALL), Kokkos::subview(room.values, part)};
    X.do_read_nonzeros(space, first, block);
    use(block);
  }
  space.fence("polyad::fit");
}

template <class Space, class Scalar, class Cells>
struct SumCells {
  using value_type = CellSums;
  NonzeroBlock<Scalar, Space> block;
  Cells cells;
  double scale;  // multiplies the values

  KOKKOS_FUNCTION void operator()(count_t k, CellSums& sum) const {
    sum.add(block.values(k) * scale, cells(&block.indices(k, 0)));
  }
  KOKKOS_FUNCTION void init(CellSums& sum) const { sum = CellSums(); }
  KOKKOS_FUNCTION void join(CellSums& sum, CellSums const& other) const { sum += other; }
};

/// The sums over the nonzeros of all ranks. `cells` is the model's entries for this rank's indices.
/// \param scale  a power of two, by which the values are multiplied
template <class Scalar, class Space, class Cells>
CellSums sum_cells(Space const& space, FormatInterface<Scalar, Space> const& X, Cells const& cells,
                   double scale, RankSums const& ranks) {
  CellSums total;
  for_each_block(space, X, [&](NonzeroBlock<Scalar, Space> const& block) {
    CellSums sums;
    Kokkos::parallel_reduce("polyad::sum_cells",
                            Kokkos::RangePolicy<Space, Kokkos::IndexType<count_t>>(space, 0, block.count()),
                            SumCells<Space, Scalar, Cells>{block, cells, scale}, sums);
    total += sums;
  });
  DoubleDouble numbers[3] = {total.tensor, total.residual, total.model};
  sum_over_ranks(ranks, numbers);
  return {numbers[0], numbers[1], numbers[2]};
}

template <class Space, class Scalar>
struct SumScaledSquares {
  NonzeroBlock<Scalar, Space> block;
  double scale;
  KOKKOS_FUNCTION void operator()(count_t k, double& sum) const {
    double const x = block.values(k) * scale;
    sum += x * x;
  }
};

/// ||X||^2 of the tensor times `scale`, a power of two. The scale is 1 as long as the squares of the norm and
/// of its reciprocal are far inside the range of doubles.
struct ScaledNorm {
  double squared = 0;
  double scale   = 1;
};

/// \throws NumericalError for a norm that allows no fit
inline void expect_fit_exists(ScaledNorm const& norm) {
  if (norm.squared == 0) throw NumericalError("a tensor of zeros has no fit");
  if (!std::isfinite(norm.squared)) throw NumericalError("the tensor's norm is not a finite number");
  if (!std::isfinite(std::sqrt(norm.squared) / norm.scale))
    throw NumericalError(
        "the tensor's norm is beyond the range of doubles: multiply its values by a number "
        "below 1");
}

/// The norm from X's format if it is inside the range, else from the values of X.
/// \param squared  the format's ||X||^2, for all ranks together
template <class Scalar, class Space>
ScaledNorm scaled_norm(Space const& space, FormatInterface<Scalar, Space> const& X, double squared,
                       RankSums const& ranks) {
  constexpr double most = 0x1p600;
  if ((squared >= 1 / most && squared <= most) || !X.is_readable()) return {squared, 1};
  using Range    = Kokkos::RangePolicy<Space, Kokkos::IndexType<count_t>>;
  double largest = 0;
  for_each_block(space, X, [&](NonzeroBlock<Scalar, Space> const& block) {
    double here = 0;
    Kokkos::parallel_reduce("polyad::largest_value", Range(space, 0, block.count()),
                            LargestValue<Scalar>{block.values.data()}, Kokkos::Max<double>(here));
    largest = std::max(largest, here);
  });
  largest = ranks.largest_of(largest);
  if (largest == 0 || !std::isfinite(largest)) return {largest, 1};
  // Reciprocals of subnormal numbers are not finite, and those of the largest numbers are subnormal.
  double const scale = std::ldexp(1.0, -std::clamp(std::ilogb(largest), -1000, 1000));
  DoubleDouble sum;
  for_each_block(space, X, [&](NonzeroBlock<Scalar, Space> const& block) {
    double here = 0;
    Kokkos::parallel_reduce("polyad::scaled_squares", Range(space, 0, block.count()),
                            SumScaledSquares<Space, Scalar>{block, scale}, here);
    sum += DoubleDouble(here);
  });
  sum_over_ranks(ranks, {&sum, 1});
  return {static_cast<double>(sum), scale};
}

}  // namespace polyad::detail
