// SPDX-License-Identifier: BSD-3-Clause
// The warning for formats whose walks add the terms of long rows to floats of the output. In such rows the
// floats lose digits (formats/cost_model.hpp, loses_digits).
#pragma once

#include <Kokkos_Core.hpp>
#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "formats/cost_model.hpp"
#include "polyad/core/spaces.hpp"
#include "polyad/core/types.hpp"
#include "polyad/tensor/coo_tensor.hpp"

namespace polyad::detail {

/// Counts one nonzero of each stretch of `step` by its row. Rows that share a counter are counted together.
template <class Indices, class Counts>
struct CountSampledRows {
  Indices indices;
  int mode;
  count_t step;
  count_t nnz;
  Counts counts;

  KOKKOS_FUNCTION void operator()(count_t i) const {
    // The place in the stretch varies, since a fixed one may meet the same row each time.
    count_t const offset = i * count_t(2654435761) % step;
    count_t const p      = Kokkos::min(i * step + offset, nnz - 1);
    count_t const row    = indices(p, mode);
    Kokkos::atomic_inc(&counts(row % counts.extent(0)));
  }
};

template <class Counts>
struct LargestCount {
  Counts counts;
  KOKKOS_FUNCTION void operator()(count_t i, std::uint32_t& largest) const {
    largest = Kokkos::max(largest, counts(i));
  }
};

/// About how many nonzeros the fullest row of each mode has, from a sample of at most 2^20 nonzeros. Exact up
/// to that number, unless a mode has more rows. Takes 4 MiB at most. Waits for `space`. \throws MemoryError
template <class Scalar, class Index, class Space, class On>
std::vector<count_t> longest_rows(On const& space, CooTensor<Scalar, Index, Space> const& coo) {
  constexpr count_t most = count_t(1) << 20;
  using Range            = Kokkos::RangePolicy<On, Kokkos::IndexType<count_t>>;
  using Counts           = Kokkos::View<std::uint32_t*, typename On::device_type>;
  using Indices          = typename CooTensor<Scalar, Index, Space>::indices_type;
  if (coo.nnz() == 0) return {};
  count_t const step    = ceil_div(coo.nnz(), most);
  count_t const samples = ceil_div(coo.nnz(), step);
  std::vector<count_t> longest;
  for (int n = 0; n < coo.order(); ++n) {
    count_t const length = std::min<count_t>(coo.extents()[n], most);
    expect_fits(space, "the counts of rows", length, sizeof(std::uint32_t));
    Counts const counts(Kokkos::view_alloc(space, "polyad::row_counts"), length);
    Kokkos::parallel_for("polyad::count_sampled_rows", Range(space, 0, samples),
                         CountSampledRows<Indices, Counts>{coo.indices(), n, step, coo.nnz(), counts});
    std::uint32_t of_mode = 0;
    Kokkos::parallel_reduce("polyad::largest_count", Range(space, 0, length), LargestCount<Counts>{counts},
                            Kokkos::Max<std::uint32_t>(of_mode));
    space.fence("polyad::longest_rows");
    longest.push_back(of_mode * step);
  }
  return longest;
}

/// The warning for a format of this name, or nothing.
template <class Scalar, class Index, class Space, class On>
std::string warning_of_lost_digits(On const& space, char const* format,
                                   CooTensor<Scalar, Index, Space> const& coo) {
  auto const* const costs    = find_format_costs(format);
  constexpr bool is_device   = is_device_space<On>;
  constexpr int scalar_bytes = sizeof(Scalar);
  if (costs == nullptr || !loses_digits(*costs, is_device, scalar_bytes, {coo.nnz(), 0})) return "";
  count_t longest = 0;
  int mode        = 0;
  for (count_t const of_mode : longest_rows(space, coo)) {
    // Rows that do not occur count here: the average is at most too small.
    double const average =
        static_cast<double>(coo.nnz()) / static_cast<double>(std::max<count_t>(coo.extents()[mode++], 1));
    if (loses_digits(*costs, is_device, scalar_bytes, {of_mode, average}))
      longest = std::max(longest, of_mode);
  }
  if (longest == 0) return "";
  return std::string(format) + " adds the terms of a row to floats, and a row has about " +
         std::to_string(longest) +
         " nonzeros: its sums may be wrong by more than 1e-5. Doubles, and formats that sum rows in pieces "
         "(sorted, b-csf), keep these digits";
}

}  // namespace polyad::detail
