// SPDX-License-Identifier: BSD-3-Clause
// Least squares for the rows of one mode on `sorted` and `coo-permuted` (the concept RowLeastSquaresFormat of
// formats/format.hpp): the factor update of an alternating least squares for FastTucker. A row a of A^(n)
// solves
//
//   (B S B' + ridge I) a = B y,   S = sum over the row's nonzeros of p p',   y = sum of x p
//
// where p is the product of the other modes' rows of C. With a RowShrinkage, S + weight I takes the place of
// S, and y + weight target the place of y. With implicit feedback S = H + sum of alpha x p p' and
// y = sum of (1 + alpha x) p, where H is RowProblem::others. (If B has orthogonal columns:
// orthogonal_rows.hpp, and conjugate_rows.hpp with RowProblem::steps.) One team solves for one row, after
// other teams have summed the chunks of long rows (row_products.hpp):
//
//   S = sum of p p', y = sum of x p                               RowProducts::sum_row()
//   S += weight I; U = B S                                        operator(); multiply()
//   system = U B' + ridge I, with B y as one more row             operator()
//   a = the solution, by elimination                              solve_row_system()
//
// Memory is O(J R + R^2) per team. Multiply-adds: R^2 per nonzero, and J R (J + R) + J^3 / 6 per row.
#pragma once

#include <Kokkos_Core.hpp>
#include <algorithm>

#include "formats/coo/kernels/least_squares/conjugate_rows.hpp"
#include "formats/coo/kernels/least_squares/orthogonal_rows.hpp"
#include "formats/coo/kernels/least_squares/row_problem.hpp"
#include "formats/coo/kernels/least_squares/row_products.hpp"
#include "formats/coo/kernels/least_squares/row_scratch.hpp"
#include "formats/coo/kernels/least_squares/row_system.hpp"
#include "formats/coo/storage/nonzero_sources.hpp"
#include "formats/coo/storage/sorted.hpp"
#include "formats/coo/storage/streamed_sorted.hpp"
#include "kernel/launch.hpp"
#include "kernel/launch_shape.hpp"
#include "polyad/formats/format.hpp"
#include "polyad/kernel/machine.hpp"
#include "polyad/kernel/other_factors.hpp"
#include "polyad/kernel/rank_dispatch.hpp"
#include "polyad/kernel/row_form.hpp"
#include "polyad/kernel/unrolled.hpp"
#include "polyad/kernel/whole_row_walk.hpp"

namespace polyad::detail {

/// The scratch memory of a team for a row: the pad of RowProducts, U = B S, and the system's J + 1 rows with
/// two vectors.
template <class Scalar>
struct RowSolveSizes {
  int J;
  count_t scalars;  // scalars of the pad and of U

  RowSolveSizes(int columns, int J_width, int R_width, int tile_rows)
      : J(columns),
        scalars(RowPad<Scalar>::size(tile_rows, R_width) + static_cast<count_t>(J_width) * R_width) {}
  [[nodiscard]] KOKKOS_FUNCTION count_t bytes() const {
    return (scalars * sizeof(Scalar) + 15) / 16 * 16 + row_system_doubles(J) * sizeof(double);
  }
};

template <class Space, class Scalar, class Index, int Block, class Source>
struct RowLeastSquares {
  using Products = RowProducts<Space, Scalar, Index, Block, Source>;
  using Pad      = RowPad<Scalar>;
  /// A pivot below this share of its diagonal entry is a rounding error: its unknown becomes zero.
  static constexpr double epsilon = Kokkos::Experimental::epsilon_v<Scalar>;

  Products products;
  count_t const* starts;
  Scalar const* B;  // J x R
  count_t B_stride;
  Scalar const* transposed;  // R x J
  count_t transposed_stride;
  double ridge;
  bool ridge_per_entry;
  RowShrinkage shrinkage;
  Scalar* A;  // I x J
  count_t A_stride;
  double const* others;  // as in RowProblem, or null
  RowSolveSizes<Scalar> sizes;
  int level;

  template <class Member>
  KOKKOS_FUNCTION void operator()(Member const& member) const {
    count_t const k     = member.league_rank();
    count_t const begin = starts[k];
    count_t const end   = starts[k + 1];
    Scalar* const a     = A + k * A_stride;
    int const J         = sizes.J;
    int const R         = products.R;
    if (begin == end && !shrinkage.draws_empty_rows()) {
      Kokkos::parallel_for(Kokkos::TeamVectorRange(member, J), [&](int const j) { a[j] = 0; });
      return;
    }
    auto* const memory =
        static_cast<char*>(member.team_scratch(level).get_shmem_aligned(sizes.bytes(), row_alignment));
    int const width = products.width;
    Pad const pad(reinterpret_cast<Scalar*>(memory), Products::tile_rows, width);
    Scalar* const U = pad.x + Products::tile_rows;
    auto* const system =
        reinterpret_cast<double*>(memory + (sizes.bytes() - row_system_doubles(J) * sizeof(double)));

    products.sum_row(member, begin, end, pad);
    double const weight = shrinkage.unit ? shrinkage.weight(end - begin) : 0.0;
    Kokkos::parallel_for(Kokkos::TeamVectorRange(member, R * R), [&](int const i) {
      int const r = i / R, s = i % R;
      if (r < s) pad.S[r * width + s] = pad.S[s * width + r];
      if (shrinkage.unit && r == s) {
        pad.S[r * width + r] += static_cast<Scalar>(weight);
        pad.y[r] += static_cast<Scalar>(weight) * static_cast<Scalar>(shrinkage.target);
      }
    });
    member.team_barrier();
    if (others != nullptr) {
      Kokkos::parallel_for(Kokkos::TeamVectorRange(member, R * R), [&](int const i) {
        pad.S[i / R * width + i % R] += static_cast<Scalar>(others[i]);
      });
      member.team_barrier();
    }
    Products::template multiply<Triangle::all>(
        member, J, R, width, [&](int j, int r) { return j < J ? B[j * B_stride + r] : Scalar(0); }, pad.S, U,
        false);
    // B' is in global memory. Its rows of J numbers need not be whole blocks.
    int const stride = J | 1;
    Kokkos::parallel_for(Kokkos::TeamThreadRange(member, J + 1), [&](int const i) {
      Kokkos::parallel_for(Kokkos::ThreadVectorRange(member, J), [&](int const j) {
        Scalar const* const left = i < J ? U + i * width : pad.y;
        double sum               = 0;
        for (int r = 0; r < R; ++r)
          sum += static_cast<double>(left[r]) * transposed[r * transposed_stride + j];
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

/// Rows of so many nonzeros have at least one chunk of their own, which another team may sum.
[[nodiscard]] constexpr count_t least_of_chunks(count_t rank) {
  return 2 * row_chunk(rank);
}

/// \param start  C^(mode) of all rows
template <class Space, class Scalar, class Index, class Source>
void solve_rows_of(Space const& space, Source const& source, OtherFactors<Scalar, any_order> const& factors,
                   SolvedRows range, RowProblem<Scalar, Space> const& problem,
                   FactorMatrix<Scalar, Space> const& start, FactorMatrix<Scalar, Space> const& A,
                   RowShrinkage const& shrinkage) {
  int const J = checked_rank(problem.B.extent(0));
  int const R = checked_rank(problem.B.extent(1));
  if (problem.steps > 0 && problem.alpha > 0 && problem.squares > 0 && shrinkage.unit == nullptr) {
    range.least = least_of_chunks(problem.B.extent(1));
    // Few people have R <= 4 here, and nvcc takes seconds for each block.
    with_block<(team_threads<Space>(1) > 1 ? 8 : 4)>(R, [&](auto block) {
      using Products = RowProducts<Space, Scalar, Index, block(), Source>;
      solve_conjugate_rows(space, Products(source, factors, R, problem, range), range, problem, start, A);
    });
    if (range.end - range.begin < range.least) return;  // no row has so many
  }
  with_block(R, [&](auto block) {
    using Products = RowProducts<Space, Scalar, Index, block(), Source>;
    Products const products(source, factors, R, problem, range);
    sum_chunks(space, products, range);
    if (problem.squares > 0) return solve_orthogonal_rows(space, products, range, problem, A, shrinkage);
    constexpr int lanes = Products::Row::lanes;
    RowSolveSizes<Scalar> const sizes(J, Products::whole_blocks(J), products.width, Products::tile_rows);
    LaunchShape const shape{range.rows, team_threads<Space>(lanes), lanes};
    auto policy     = team_policy<Kokkos::Schedule<Kokkos::Dynamic>>(space, shape);  // rows differ in length
    int const level = set_row_scratch(space, shape, sizes.bytes(), policy);
    detail::launch(
        "polyad::least_squares_rows", policy,
        RowLeastSquares<Space, Scalar, Index, block(), Source>{
            products, range.starts, problem.B.data(), problem.B.stride(0), problem.transposed.data(),
            problem.transposed.stride(0), problem.ridge, problem.ridge_per_entry, shrinkage, A.data(),
            A.stride(0), problem.alpha > 0 ? problem.others.data() : nullptr, sizes, level});
  });
}

template <class Space, class Scalar, class Index>
void least_squares_rows(Space const& space, CooPermuted<Scalar, Index, Space> const& X,
                        FactorMatrices<Scalar, Space> const& C, int mode,
                        RowProblem<Scalar, Space> const& problem, RowStarts<Space> const& starts,
                        FactorMatrix<Scalar, Space> const& A, RowShrinkage const& shrinkage) {
  detail::expect_row_problem(X, C, mode, problem, starts, A, shrinkage);
  using Source = detail::PermutedSource<Scalar, Index>;
  detail::solve_rows_of<Space, Scalar, Index>(
      space, Source(X, mode), OtherFactors<Scalar, any_order>(C, mode),
      {starts[mode].data(), X.extents()[mode], 0, X.nnz()}, problem, C[mode], A, shrinkage);
}

template <class Space, class Scalar, class Index>
void least_squares_rows(Space const& space, Sorted<Scalar, Index, Space> const& X,
                        FactorMatrices<Scalar, Space> const& C, int mode,
                        RowProblem<Scalar, Space> const& problem, RowStarts<Space> const& starts,
                        FactorMatrix<Scalar, Space> const& A, RowShrinkage const& shrinkage) {
  if (X.permuted()) return least_squares_rows(space, *X.permuted(), C, mode, problem, starts, A, shrinkage);
  detail::expect_row_problem(X, C, mode, problem, starts, A, shrinkage);
  using Source = detail::SortedSource<Scalar, Index>;
  detail::solve_rows_of<Space, Scalar, Index>(
      space, Source(X.copy(mode)), OtherFactors<Scalar, any_order>(C, X.copy(mode).modes),
      {starts[mode].data(), X.extents()[mode], 0, X.nnz()}, problem, C[mode], A, shrinkage);
}

template <class Space, class Scalar, class Index>
void solve_stretch(Space const& space, SortedCopy<Scalar, Index, Space> const& stretch,
                   FactorMatrices<Scalar, Space> const& C, SolvedRows const& range,
                   RowProblem<Scalar, Space> const& problem, FactorMatrix<Scalar, Space> const& A,
                   RowShrinkage const& shrinkage) {
  solve_rows_of<Space, Scalar, Index>(space, SortedSource<Scalar, Index>(stretch),
                                      OtherFactors<Scalar, any_order>(C, stretch.modes), range, problem,
                                      C[stretch.modes[0]], A, shrinkage);
}

#define POLYAD_SOLVE_STRETCH(Scalar, Index)                                                          \
  template void solve_stretch(CompiledSpace const&, SortedCopy<Scalar, Index, CompiledSpace> const&, \
                              FactorMatrices<Scalar, CompiledSpace> const&, SolvedRows const&,       \
                              RowProblem<Scalar, CompiledSpace> const&,                              \
                              FactorMatrix<Scalar, CompiledSpace> const&, RowShrinkage const&)

#define POLYAD_LEAST_SQUARES_ROWS(Format, Scalar, Index)                                           \
  template void least_squares_rows(                                                                \
      CompiledSpace const&, Format<Scalar, Index, CompiledSpace> const&,                           \
      FactorMatrices<Scalar, CompiledSpace> const&, int, RowProblem<Scalar, CompiledSpace> const&, \
      RowStarts<CompiledSpace> const&, FactorMatrix<Scalar, CompiledSpace> const&, RowShrinkage const&)

}  // namespace polyad::detail
