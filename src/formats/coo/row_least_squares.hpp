// SPDX-License-Identifier: BSD-3-Clause
// Least squares for the rows of one mode on `sorted` and `coo-permuted` (the concept RowLeastSquaresFormat of
// formats/format.hpp): the factor update of an alternating least squares for FastTucker. A row a of A^(n)
// solves
//
//   (B S B' + ridge I) a = B y,   S = sum over the row's nonzeros of p p',   y = sum of x p
//
// where p is the product of the other modes' rows of C. With a RowShrinkage, S + weight I takes the place of
// S, and y + weight target the place of y. (If B has orthogonal columns: orthogonal_rows.hpp.) One team
// solves for one row:
//
//   for each tile of the row's nonzeros                           operator(): the loop over `first`
//     the products p, and the values x, into the scratch pad      fill()
//     y += sum of x p;  S += sum of p p'                          operator(); multiply()
//   S += weight I; U = B S                                        operator(); multiply()
//   system = U B' + ridge I, with B y as one more row             operator()
//   a = the solution, by elimination                              solve_row_system()
//
// Memory is O(J R + R^2) a team. Multiply-adds: R^2 a nonzero, and J R (J + R) + J^3 / 6 a row.
#pragma once

#include <Kokkos_Core.hpp>
#include <algorithm>

#include "formats/coo/nonzero_sources.hpp"
#include "formats/coo/orthogonal_rows.hpp"
#include "formats/coo/row_problem.hpp"
#include "formats/coo/row_scratch.hpp"
#include "formats/coo/row_system.hpp"
#include "formats/coo/sorted.hpp"
#include "formats/coo/streamed_sorted.hpp"
#include "kernel/launch.hpp"
#include "kernel/launch_shape.hpp"
#include "polyad/core/per_mode.hpp"
#include "polyad/formats/format.hpp"
#include "polyad/kernel/machine.hpp"
#include "polyad/kernel/other_factors.hpp"
#include "polyad/kernel/rank_dispatch.hpp"
#include "polyad/kernel/row_form.hpp"
#include "polyad/kernel/unrolled.hpp"
#include "polyad/kernel/whole_row_walk.hpp"

namespace polyad::detail {

/// The scratch memory of a team for a row: T x R products p and T values, S, y, U = B S, the system's J + 1
/// rows and two vectors.
struct RowSolveSizes {
  int J;
  int R;
  int J_width;  // J and R rounded up to whole blocks
  int R_width;
  int tile_rows;  // T

  [[nodiscard]] KOKKOS_FUNCTION count_t scalars() const {
    auto const width = static_cast<count_t>(R_width);
    return (static_cast<count_t>(tile_rows) + width) * (width + 1) + static_cast<count_t>(J_width) * width;
  }
  [[nodiscard]] KOKKOS_FUNCTION count_t doubles() const { return row_system_doubles(J); }
  template <class Scalar>
  [[nodiscard]] KOKKOS_FUNCTION count_t bytes() const {
    return (scalars() * sizeof(Scalar) + 15) / 16 * 16 + doubles() * sizeof(double);
  }
};

template <class Space, class Scalar, class Index, int Block, class Source>
struct RowLeastSquares {
  using Row = TinyVec<Space, Scalar, Block>;
  /// Rows of a product that a thread sums at the same time. With 32 columns and two rows, a team needs one
  /// round.
  static constexpr int height = static_cast<int>(items_per_thread<Space>(2, 4));
  static_assert(Block % height == 0);
  static constexpr int whole_blocks(int columns) { return (columns + Block - 1) / Block * Block; }
  /// A pivot below this share of its diagonal entry is a rounding error: its unknown becomes zero.
  static constexpr double epsilon = static_cast<double>(Kokkos::Experimental::epsilon_v<Scalar>);

  Source source;
  OtherFactors<Scalar, any_order> factors;
  count_t const* starts;
  count_t origin;   // the position of the source's first nonzero
  Scalar const* B;  // J x R
  count_t B_stride;
  Scalar const* transposed;  // R x J
  count_t transposed_stride;
  double ridge;
  bool ridge_per_entry;
  RowShrinkage shrinkage;
  Scalar* A;  // I x J
  count_t A_stride;
  RowSolveSizes sizes;
  int level;

  /// out (rows x columns) = [out +] left right. left(i, k) is read for i < rows and k < inner. right and out
  /// are rows of whole blocks in the scratch pad. The rows after the last one, up to a multiple of `height`,
  /// are computed too.
  template <class Member, class Left>
  KOKKOS_FUNCTION void multiply(Member const& member, int rows, int inner, int columns, Left const& left,
                                Scalar const* right, Scalar* out, bool accumulate) const {
    int const groups = (rows + height - 1) / height;
    int const blocks = columns / Block;
    Kokkos::parallel_for(Kokkos::TeamThreadRange(member, groups * blocks), [&](int const item) {
      int const i     = item % groups * height;
      int const block = item / groups * Block;
      Kokkos::parallel_for(Kokkos::ThreadVectorRange(member, Row::lanes), [&](int const lane) {
        Columns const own{Row::columns(block, columns, lane).first, Row::width};  // blocks are whole
        Row sum[height];
        unrolled<height>(
            [&](auto h) { sum[h] = accumulate ? Row(out + (i + h) * columns, own) : Row(Scalar(0)); });
        for (int k = 0; k < inner; ++k) {
          Row const row(right + k * columns, own);
          unrolled<height>([&](auto h) { sum[h].multiply_add(left(i + h, k), row); });
        }
        unrolled<height>([&](auto h) { sum[h].store(out + (i + h) * columns, own); });
      });
    });
    member.team_barrier();
  }

  /// Writes the products p of the nonzeros first ... first + count - 1 into the pad, and their values.
  template <class Member>
  KOKKOS_FUNCTION void fill(Member const& member, count_t first, int count, Scalar* tile, Scalar* x) const {
    Kokkos::parallel_for(Kokkos::TeamThreadRange(member, count), [&](int const t) {
      auto const at = source.template at<1>(first + static_cast<count_t>(t));
      Kokkos::parallel_for(Kokkos::ThreadVectorRange(member, Row::lanes), [&](int const lane) {
        for (int block = 0; block < sizes.R; block += Block) {
          Columns const columns = Row::columns(block, sizes.R, lane);
          if (columns.count <= 0) continue;
          Row product(factors.row(0, source.template indices<1>(at, 0).element[0]), columns);
          for (int m = 1; m < factors.size(); ++m)
            product *= Row(factors.row(m, source.template indices<1>(at, m).element[0]), columns);
          product.store(tile + t * sizes.R_width, columns);
        }
        if (lane == 0) x[t] = source.value(at, 0);
      });
    });
    member.team_barrier();
  }

  template <class Member>
  KOKKOS_FUNCTION void zero(Member const& member, Scalar* numbers, int count) const {
    Kokkos::parallel_for(Kokkos::TeamVectorRange(member, count), [&](int const i) { numbers[i] = 0; });
  }

  template <class Member>
  KOKKOS_FUNCTION void operator()(Member const& member) const {
    auto const k        = static_cast<count_t>(member.league_rank());
    count_t const begin = starts[k] - origin;
    count_t const end   = starts[k + 1] - origin;
    Scalar* const a     = A + k * A_stride;
    int const J         = sizes.J;
    if (begin == end && !shrinkage.draws_empty_rows()) {
      Kokkos::parallel_for(Kokkos::TeamVectorRange(member, J), [&](int const j) { a[j] = 0; });
      return;
    }
    auto* const pad = static_cast<char*>(
        member.team_scratch(level).get_shmem_aligned(sizes.bytes<Scalar>(), row_alignment));
    int const width  = sizes.R_width;
    auto* const tile = reinterpret_cast<Scalar*>(pad);
    Scalar* const S  = tile + sizes.tile_rows * width;
    Scalar* const y  = S + width * width;
    Scalar* const U  = y + width;
    Scalar* const x  = U + sizes.J_width * width;
    auto* const system =
        reinterpret_cast<double*>(pad + (sizes.bytes<Scalar>() - sizes.doubles() * sizeof(double)));

    zero(member, tile,
         sizes.tile_rows * width + width * width + width);  // what lies right of column R stays zero
    member.team_barrier();
    for (count_t first = begin; first < end; first += static_cast<count_t>(sizes.tile_rows)) {
      int const count = static_cast<int>(Kokkos::min<count_t>(end - first, sizes.tile_rows));
      fill(member, first, count, tile, x);
      Kokkos::parallel_for(Kokkos::TeamVectorRange(member, sizes.R), [&](int const r) {
        Scalar sum = 0;
        for (int t = 0; t < count; ++t) sum += x[t] * tile[t * width + r];
        y[r] += sum;
      });
      multiply(
          member, sizes.R, count, width, [&](int r, int t) { return tile[t * width + r]; }, tile, S, true);
    }
    if (shrinkage.unit) {
      auto const weight = static_cast<Scalar>(shrinkage.weight(end - begin));
      Kokkos::parallel_for(Kokkos::TeamVectorRange(member, sizes.R), [&](int const r) {
        S[r * width + r] += weight;
        y[r] += weight * static_cast<Scalar>(shrinkage.target);
      });
      member.team_barrier();
    }
    multiply(
        member, J, sizes.R, width,
        [&](int j, int r) {
          return j < J ? B[static_cast<count_t>(j) * B_stride + static_cast<count_t>(r)] : Scalar(0);
        },
        S, U, false);
    // B' is in global memory. Its rows of J numbers need not be whole blocks.
    int const stride = J | 1;
    Kokkos::parallel_for(Kokkos::TeamThreadRange(member, J + 1), [&](int const i) {
      Kokkos::parallel_for(Kokkos::ThreadVectorRange(member, J), [&](int const j) {
        Scalar const* const left = i < J ? U + i * width : y;
        double sum               = 0;
        for (int r = 0; r < sizes.R; ++r)
          sum += static_cast<double>(left[r]) *
                 static_cast<double>(
                     transposed[static_cast<count_t>(r) * transposed_stride + static_cast<count_t>(j)]);
        if (i == j) sum += ridge_per_entry ? ridge * static_cast<double>(end - begin) : ridge;
        system[i * stride + j] = sum;
      });
    });
    member.team_barrier();
    solve_row_system(member, J, epsilon, system);
    Kokkos::parallel_for(Kokkos::TeamVectorRange(member, J),
                         [&](int const j) { a[j] = static_cast<Scalar>(system[J * stride + j]); });
  }
};

/// \param origin  the position, as `starts` count them, of the source's first nonzero
template <class Space, class Scalar, class Index, class Source>
void solve_rows_of(Space const& space, Source const& source, OtherFactors<Scalar, any_order> const& factors,
                   count_t const* starts, count_t rows, RowProblem<Scalar, Space> const& problem,
                   FactorMatrix<Scalar, Space> const& A, RowShrinkage const& shrinkage, count_t origin = 0) {
  if (problem.squares > 0)
    return solve_orthogonal_rows<Space, Scalar, Index>(space, source, factors, starts, rows, problem, A,
                                                       shrinkage, origin);
  int const J = checked_rank(problem.B.extent(0));
  int const R = checked_rank(problem.B.extent(1));
  with_block(static_cast<count_t>(R), [&](auto block) {
    using Kernel        = RowLeastSquares<Space, Scalar, Index, block(), Source>;
    constexpr int lanes = Kernel::Row::lanes;
    RowSolveSizes const sizes{J, R, Kernel::whole_blocks(J), Kernel::whole_blocks(R),
                              static_cast<int>(items_per_thread<Space>(32, 16))};
    LaunchShape const shape{rows, team_threads<Space>(lanes), lanes};
    auto policy     = team_policy<Kokkos::Schedule<Kokkos::Dynamic>>(space, shape);  // rows differ in length
    int const level = set_row_scratch(space, shape, sizes.template bytes<Scalar>(), policy);
    detail::launch(
        "polyad::least_squares_rows", policy,
        Kernel{source, factors, starts, origin, problem.B.data(), static_cast<count_t>(problem.B.stride(0)),
               problem.transposed.data(), static_cast<count_t>(problem.transposed.stride(0)), problem.ridge,
               problem.ridge_per_entry, shrinkage, A.data(), static_cast<count_t>(A.stride(0)), sizes,
               level});
  });
}

template <class Space, class Scalar, class Index>
void least_squares_rows(Space const& space, CooPermuted<Scalar, Index, Space> const& X,
                        FactorMatrices<Scalar, Space> const& C, int mode,
                        RowProblem<Scalar, Space> const& problem, RowStarts<Space> const& starts,
                        FactorMatrix<Scalar, Space> const& A, RowShrinkage const& shrinkage) {
  detail::expect_row_problem(X.extents(), C, mode, problem, starts, A, shrinkage);
  using Source = detail::PermutedSource<Scalar, Index>;
  detail::solve_rows_of<Space, Scalar, Index>(
      space, Source(X, mode), OtherFactors<Scalar, any_order>(C, mode), of_mode(starts, mode).data(),
      X.extents()[mode], problem, A, shrinkage);
}

template <class Space, class Scalar, class Index>
void least_squares_rows(Space const& space, Sorted<Scalar, Index, Space> const& X,
                        FactorMatrices<Scalar, Space> const& C, int mode,
                        RowProblem<Scalar, Space> const& problem, RowStarts<Space> const& starts,
                        FactorMatrix<Scalar, Space> const& A, RowShrinkage const& shrinkage) {
  if (X.permuted()) return least_squares_rows(space, *X.permuted(), C, mode, problem, starts, A, shrinkage);
  detail::expect_row_problem(X.extents(), C, mode, problem, starts, A, shrinkage);
  using Source = detail::SortedSource<Scalar, Index>;
  detail::solve_rows_of<Space, Scalar, Index>(
      space, Source(X.copy(mode)), OtherFactors<Scalar, any_order>(C, X.copy(mode).modes),
      of_mode(starts, mode).data(), X.extents()[mode], problem, A, shrinkage);
}

template <class Space, class Scalar, class Index>
void solve_stretch(Space const& space, SortedCopy<Scalar, Index, Space> const& stretch, count_t origin,
                   FactorMatrices<Scalar, Space> const& C, count_t const* starts, count_t rows,
                   RowProblem<Scalar, Space> const& problem, FactorMatrix<Scalar, Space> const& A,
                   RowShrinkage const& shrinkage) {
  solve_rows_of<Space, Scalar, Index>(space, SortedSource<Scalar, Index>(stretch),
                                      OtherFactors<Scalar, any_order>(C, stretch.modes), starts, rows,
                                      problem, A, shrinkage, origin);
}

#define POLYAD_SOLVE_STRETCH(Scalar, Index)                                                                  \
  template void solve_stretch(                                                                               \
      Kokkos::DefaultExecutionSpace const&, SortedCopy<Scalar, Index, Kokkos::DefaultExecutionSpace> const&, \
      count_t, FactorMatrices<Scalar, Kokkos::DefaultExecutionSpace> const&, count_t const*, count_t,        \
      RowProblem<Scalar, Kokkos::DefaultExecutionSpace> const&,                                              \
      FactorMatrix<Scalar, Kokkos::DefaultExecutionSpace> const&, RowShrinkage const&)

#define POLYAD_LEAST_SQUARES_ROWS(Format, Scalar, Index)                                                 \
  template void least_squares_rows(                                                                      \
      Kokkos::DefaultExecutionSpace const&, Format<Scalar, Index, Kokkos::DefaultExecutionSpace> const&, \
      FactorMatrices<Scalar, Kokkos::DefaultExecutionSpace> const&, int,                                 \
      RowProblem<Scalar, Kokkos::DefaultExecutionSpace> const&,                                          \
      RowStarts<Kokkos::DefaultExecutionSpace> const&,                                                   \
      FactorMatrix<Scalar, Kokkos::DefaultExecutionSpace> const&, RowShrinkage const&)

}  // namespace polyad::detail
