// SPDX-License-Identifier: BSD-3-Clause
// ModeFibers: the nonzeros in the order of a mode's fibers, and the distribution of fibers among threads.
#pragma once

#include <Kokkos_Core.hpp>

#include "kernel/launch_shape.hpp"
#include "polyad/core/spaces.hpp"
#include "polyad/core/types.hpp"
#include "polyad/tensor/sort_by_mode.hpp"

namespace polyad::detail {

/// Nonzeros of a fiber that a thread walks alone. Longer fibers are cut into pieces of this length.
inline constexpr count_t longest_walked_fiber = 1024;

/// Positions at which a thread looks for the beginning of a fiber. It has several, since Kokkos counts teams
/// in an int, and 2^33 nonzeros would need too many teams.
template <class Space>
inline constexpr count_t fiber_positions = items_per_thread<Space>(4, 2048);

/// The launch of threads for the fibers of that many nonzeros.
template <class Space>
[[nodiscard]] constexpr LaunchShape fibers_shape(count_t nnz) {
  return thread_for_each<Space>(ceil_div(nnz, fiber_positions<Space>), 4, 32);
}

template <class Tensor>
struct ModeFibers {
  using Space  = typename Tensor::space_type;
  using Scalar = typename Tensor::scalar_type;
  using Index  = typename Tensor::index_type;
  typename Tensor::indices_type indices;
  typename Tensor::values_type values;
  Permutation<std::uint64_t, Space> by_fiber;
  int mode;
  double scale = 1;  // a factor of the values

  [[nodiscard]] KOKKOS_FUNCTION count_t nnz() const { return values.extent(0); }
  [[nodiscard]] KOKKOS_FUNCTION Index row(count_t i) const { return indices(by_fiber(i), mode); }
  [[nodiscard]] KOKKOS_FUNCTION double value(count_t i) const { return scale * values(by_fiber(i)); }
  [[nodiscard]] KOKKOS_FUNCTION bool are_in_one_fiber(count_t i, count_t j) const {
    for (int m = 0; m < indices.extent_int(1); ++m)
      if (m != mode && indices(by_fiber(i), m) != indices(by_fiber(j), m)) return false;
    return true;
  }
  [[nodiscard]] KOKKOS_FUNCTION bool starts_fiber(count_t i) const {
    return i == 0 || !are_in_one_fiber(i - 1, i);
  }
  /// Whether the fiber that begins there has more than longest_walked_fiber nonzeros.
  [[nodiscard]] KOKKOS_FUNCTION bool is_long(count_t begin) const {
    return nnz() - begin > longest_walked_fiber && are_in_one_fiber(begin, begin + longest_walked_fiber);
  }
  /// The end of the fiber that begins there, by bisection.
  [[nodiscard]] KOKKOS_FUNCTION count_t end_of(count_t begin) const {
    count_t inside  = begin;
    count_t outside = nnz();
    while (outside - inside > 1) {
      count_t const middle = inside + (outside - inside) / 2;
      if (are_in_one_fiber(begin, middle))
        inside = middle;
      else
        outside = middle;
    }
    return outside;
  }
  /// Calls f(begin, end) for the fibers that begin at this thread's positions, the long ones if asked to.
  template <class Member, class F>
  KOKKOS_FUNCTION void for_each_fiber(Member const& member, bool with_long, F const& f) const {
    count_t const league = member.league_rank();
    count_t const thread = league * member.team_size() + member.team_rank();
    count_t const first  = thread * fiber_positions<Space>;
    count_t const last   = Kokkos::min(nnz(), first + fiber_positions<Space>);
    for (count_t begin = first; begin < last; ++begin) {
      if (!starts_fiber(begin) || (!with_long && is_long(begin))) continue;
      count_t end = begin + 1;
      while (end < nnz() && are_in_one_fiber(begin, end)) ++end;
      f(begin, end);
    }
  }
};

}  // namespace polyad::detail
