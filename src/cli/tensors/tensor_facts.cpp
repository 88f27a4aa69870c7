// SPDX-License-Identifier: BSD-3-Clause
// Slices and fibres are runs of nonzeros that agree in some modes: in one mode for slices, in all but one for
// fibres. Sorting makes them contiguous. Time and memory depend only on the nonzeros, not on the extents.
#include "cli/drivers/drivers.hpp"

#include <Kokkos_Core.hpp>
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <utility>

#include "cli/tensors/device_tensor.hpp"
#include "polyad/tensor/sort_by_mode.hpp"

namespace polyad::cli {

namespace {

using Range     = Kokkos::RangePolicy<Space, Kokkos::IndexType<count_t>>;
using Positions = Kokkos::View<std::uint64_t*, Space::device_type>;

/// A scan over sorted nonzeros. It numbers the runs that agree in the modes of the mask `modes`. Once there
/// is room, it writes the start of each run.
template <class Indices>
struct FindRuns {
  Indices indices;
  Positions permutation;
  std::uint32_t modes;
  Positions starts;

  KOKKOS_FUNCTION void operator()(count_t i, count_t& run, bool final) const {
    bool begins = i == 0;
    for (count_t n = 0; !begins && n < indices.extent(1); ++n)
      begins = (modes >> n & 1) != 0 && indices(permutation(i), n) != indices(permutation(i - 1), n);
    if (!begins) return;
    if (final && starts.extent(0) > 0) starts(run) = i;
    ++run;
  }
};

struct RunLengths {
  Positions starts;
  count_t nnz;
  double mean;
  KOKKOS_FUNCTION void operator()(count_t run, count_t& longest, count_t& single, double& squares) const {
    count_t const length = (run + 1 < starts.extent(0) ? starts(run + 1) : nnz) - starts(run);
    if (length > longest) longest = length;
    if (length == 1) ++single;
    double const off = static_cast<double>(length) - mean;
    squares += off * off;
  }
};

template <class Tensor>
RunReport find_runs(Space const& space, Tensor const& tensor, Positions const& permutation,
                    std::uint32_t modes) {
  using Find = FindRuns<typename Tensor::indices_type>;
  Find find{tensor.indices(), permutation, modes, {}};
  RunReport report;
  Kokkos::parallel_scan("polyad::count_runs", Range(space, 0, tensor.nnz()), find, report.nonempty);
  space.fence("polyad::find_runs");
  expect_fits(space, "the starts of slices and fibres", report.nonempty, sizeof(std::uint64_t));
  find.starts   = Positions(uninitialized(space, "polyad::run_starts"), report.nonempty);
  count_t again = 0;
  Kokkos::parallel_scan("polyad::find_runs", Range(space, 0, tensor.nnz()), find, again);
  double const runs = static_cast<double>(std::max<count_t>(report.nonempty, 1));
  double squares    = 0;
  Kokkos::parallel_reduce("polyad::run_lengths", Range(space, 0, report.nonempty),
                          RunLengths{find.starts, tensor.nnz(), static_cast<double>(tensor.nnz()) / runs},
                          Kokkos::Max<count_t>(report.longest), report.single, squares);
  report.deviation = std::sqrt(squares / runs);
  return report;
}

template <class Values>
struct ValueFacts {
  Values values;
  KOKKOS_FUNCTION void operator()(count_t p, double& smallest, double& largest, count_t& zeros) const {
    double const value = values(p);
    smallest           = Kokkos::min(smallest, value);
    largest            = Kokkos::max(largest, value);
    if (value == 0) ++zeros;
  }
};

/// Sums the squares of the values, each divided by a power of two.
template <class Values>
struct ScaledSquares {
  Values values;
  double scale;

  KOKKOS_FUNCTION void operator()(count_t p, double& sum) const {
    double const x = values(p) * scale;
    sum += x * x;
  }
};

/// The norm, even if the squares leave the range of doubles. \param largest  magnitude of a value
template <class Values>
double norm_of(Space const& space, Values const& values, double largest) {
  if (!(largest > 0) || !std::isfinite(largest)) return largest;
  int const exponent = std::max(std::ilogb(largest), -1000);
  double sum         = 0;
  Kokkos::parallel_reduce("polyad::scaled_squares", Range(space, 0, values.extent(0)),
                          ScaledSquares<Values>{values, std::ldexp(1.0, -exponent)}, sum);
  return std::ldexp(std::sqrt(sum), exponent);
}

template <class Index>
StatsReport facts_of(Space const& space, CooTensor<double, Index, Space> const& tensor, InputReport& input) {
  StatsReport stats;
  int const order = tensor.order();
  auto const all  = static_cast<std::uint32_t>((std::uint64_t{1} << order) - 1);
  double cells    = 1;
  for (int n = 0; n < order; ++n) cells *= static_cast<double>(tensor.extents()[n]);
  stats.density = static_cast<double>(tensor.nnz()) / cells;
  input.empty_slices.clear();
  for (int n = 0; n < order; ++n) {
    // Sorts with mode n last, so that its fibres are runs. Then once more by mode n alone, for its slices.
    Positions const permutation = identity_permutation<std::uint64_t>(space, tensor.nnz());
    sort_by_other_modes(space, tensor, n, permutation);
    stats.fibers.push_back(find_runs(space, tensor, permutation, all & ~(std::uint32_t{1} << n)));
    sort_by_mode(space, tensor, n, permutation);
    stats.slices.push_back(find_runs(space, tensor, permutation, std::uint32_t{1} << n));
    input.empty_slices.push_back(tensor.extents()[n] - stats.slices.back().nonempty);
  }
  using Values = typename CooTensor<double, Index, Space>::values_type;
  Kokkos::parallel_reduce("polyad::value_facts", Range(space, 0, tensor.nnz()),
                          ValueFacts<Values>{tensor.values()}, Kokkos::Min<double>(stats.smallest),
                          Kokkos::Max<double>(stats.largest), stats.zeros);
  stats.norm = norm_of(space, tensor.values(), std::max(std::abs(stats.smallest), std::abs(stats.largest)));
  for (int n = 0; n < order; ++n) stats.linear_bits += bits_for(tensor.extents()[n]);
  return stats;
}

}  // namespace

StatsReport tensor_facts(io::CoordinateList&& tensor, Report& report) {
  Space const space;
  return with_index_type(needs_wide_index(tensor), [&](auto index) {
    using Index       = typename decltype(index)::type;
    auto const device = to_device<double, Index>(space, std::move(tensor), *report.input);
    return facts_of(space, device, *report.input);
  });
}

}  // namespace polyad::cli
