// SPDX-License-Identifier: BSD-3-Clause
// The product X_(n) X_(n)' Q (nvecs.hpp) over fibers that are too long for a single thread. They are cut into
// pieces: first each fiber's z is summed over its pieces, then Y(i, :) += x z.
#pragma once

#include <Kokkos_Core.hpp>
#include <algorithm>

#include "dense/mode_fibers.hpp"
#include "kernel/launch_shape.hpp"
#include "polyad/tensor/factor_matrices.hpp"

namespace polyad::detail {

/// Position i into the list of long fibers, if one begins there.
template <class Tensor>
struct ListLongFibers {
  ModeFibers<Tensor> fibers;
  Kokkos::View<count_t* [2], Kokkos::LayoutRight, typename Tensor::space_type::device_type>
      list;  // begin, end

  KOKKOS_FUNCTION void operator()(count_t i, count_t& position, bool final) const {
    if (!fibers.starts_fiber(i) || !fibers.is_long(i)) return;
    if (final && list.extent(0) > 0) {
      list(position, 0) = i;
      list(position, 1) = fibers.end_of(i);
    }
    ++position;
  }
};

/// The long fibers of a mode, cut into pieces.
template <class Space>
struct FiberPieces {
  Kokkos::View<count_t* [3], Kokkos::LayoutRight, typename Space::device_type> pieces;  // fiber, begin, end
  FactorMatrix<double, Space> z;                                                        // long fibers x R
};

/// Waits for `space`. \throws MemoryError
template <class Space, class Tensor>
FiberPieces<Space> cut_long_fibers(Space const& space, ModeFibers<Tensor> const& fibers, count_t rank) {
  using Range = Kokkos::RangePolicy<Space, Kokkos::IndexType<count_t>>;
  ListLongFibers<Tensor> kernel{fibers, {}};
  count_t count = 0;
  Kokkos::parallel_scan("polyad::count_long_fibers", Range(space, 0, fibers.nnz()), kernel, count);
  space.fence("polyad::cut_long_fibers");
  if (count == 0) return {};
  kernel.list = decltype(kernel.list)(uninitialized(space, "polyad::long_fibers"), count);
  Kokkos::parallel_scan("polyad::list_long_fibers", Range(space, 0, fibers.nnz()), kernel, count);
  space.fence("polyad::cut_long_fibers");
  auto const list = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), kernel.list);
  count_t number  = 0;
  for (count_t f = 0; f < count; ++f) number += ceil_div(list(f, 1) - list(f, 0), longest_walked_fiber);
  expect_fits(space, "pieces of long fibers", number, 3 * sizeof(count_t));
  using Pieces = decltype(FiberPieces<Space>::pieces);
  FiberPieces<Space> const result{Pieces(uninitialized(space, "polyad::fiber_pieces"), number),
                                  make_factor_matrix<double>(space, "polyad::fiber_sums", count, rank)};
  auto const host = Kokkos::create_mirror_view(result.pieces);
  count_t p       = 0;
  for (count_t f = 0; f < count; ++f)
    for (count_t begin = list(f, 0); begin < list(f, 1); begin += longest_walked_fiber, ++p) {
      host(p, 0) = f;
      host(p, 1) = begin;
      host(p, 2) = std::min(begin + longest_walked_fiber, list(f, 1));
    }
  Kokkos::deep_copy(space, result.pieces, host);
  space.fence("polyad::cut_long_fibers");
  return result;
}

/// z(f, :) += x Q(i, :), or Y(i, :) += x z(f, :), over a piece; the lanes share the columns. Atomic, since
/// several pieces belong to a fiber and several fibers to a row.
template <class Tensor, bool IsSum>
struct WalkPieces {
  using Space  = typename Tensor::space_type;
  using Scalar = typename Tensor::scalar_type;
  ModeFibers<Tensor> fibers;
  FiberPieces<Space> cut;
  FactorMatrix<Scalar, Space> matrix;  // Q or Y

  template <class Member>
  KOKKOS_FUNCTION void operator()(Member const& member) const {
    count_t const league = member.league_rank();
    count_t const p      = league * member.team_size() + member.team_rank();
    if (p >= cut.pieces.extent(0)) return;
    count_t const f   = cut.pieces(p, 0);
    count_t const end = cut.pieces(p, 2);
    Kokkos::parallel_for(Kokkos::ThreadVectorRange(member, matrix.extent(1)), [&](count_t const r) {
      double const whole = IsSum ? 0 : cut.z(f, r);
      double sum         = 0;
      for (count_t i = cut.pieces(p, 1); i < end; ++i) {
        if (IsSum)
          sum += fibers.value(i) * matrix(fibers.row(i), r);
        else
          Kokkos::atomic_add(&matrix(fibers.row(i), r), static_cast<Scalar>(fibers.value(i) * whole));
      }
      if (IsSum) Kokkos::atomic_add(&cut.z(f, r), sum);
    });
  }
};

/// Y(i, :) += x z over the long fibers, where z = sum over the fiber of x Q(i, :). Launches on `space` and
/// returns without waiting.
template <class Space, class Tensor, class Matrix>
void add_long_fibers(Space const& space, ModeFibers<Tensor> const& fibers, FiberPieces<Space> const& cut,
                     Matrix const& Q, Matrix const& Y) {
  if (cut.pieces.extent(0) == 0) return;
  LaunchShape const shape = thread_for_each<Space>(cut.pieces.extent(0), 4, 32);
  zero_matrix(space, cut.z);
  Kokkos::parallel_for("polyad::sum_long_fibers", team_policy(space, shape),
                       WalkPieces<Tensor, true>{fibers, cut, Q});
  Kokkos::parallel_for("polyad::add_long_fibers", team_policy(space, shape),
                       WalkPieces<Tensor, false>{fibers, cut, Y});
}

}  // namespace polyad::detail
