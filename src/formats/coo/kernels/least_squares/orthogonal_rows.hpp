// SPDX-License-Identifier: BSD-3-Clause
// Least squares for rows if the columns of B (J x R) are orthogonal, B' B = squares I. B starts like this if
// J >= R. Then any row c of C^(n) has a solution c = B' a, with a = B c / squares and
// |a|^2 = |c|^2 / squares. A single weight w therefore combines the ridge and the shrinkage. Let P (n x R) be
// the products of the row's n nonzeros, x (n) their values and t the target. A row is the solution of one of
//
//   (P' P + w I) c = P' x + w t                                  R unknowns
//   c = t + P' z,   (P P' + w I) z = x - P t                     n unknowns, for rows of n < R nonzeros
//
// The other cells of implicit feedback are added to P' P of the first one, and rule out the second one.
//
// A device's team handles one row at a time, and a host's thread several:
//
//   many nonzeros: P' P and P' x              RowProducts::sum_row(); solve_products()
//   few nonzeros: P', then P P'               solve_nonzeros()
//   c by elimination                          solve_row_system()
//   a = B c / squares                         store()
//
// Memory is O(R^2) per team. Flops: R^2 per nonzero and R^3 / 6 per row, or n^2 R + n^3 / 6; and J R.
#pragma once

#include <Kokkos_Core.hpp>

#include "formats/coo/kernels/least_squares/row_products.hpp"
#include "formats/coo/kernels/least_squares/row_scratch.hpp"
#include "formats/coo/kernels/least_squares/row_system.hpp"
#include "kernel/launch.hpp"
#include "kernel/launch_shape.hpp"
#include "polyad/formats/format.hpp"
#include "polyad/kernel/machine.hpp"
#include "polyad/kernel/row_form.hpp"

namespace polyad::detail {

/// The scratch memory of a team for a row: the pad of RowProducts with memory for R values, and a system.
template <class Scalar>
struct OrthogonalRowSizes {
  int R;
  count_t scalars;

  OrthogonalRowSizes(int rank, int width, int tile_rows)
      : R(rank), scalars(RowPad<Scalar>::size(tile_rows, width) + width) {}
  [[nodiscard]] KOKKOS_FUNCTION count_t bytes() const {
    return (scalars * sizeof(Scalar) + 15) / 16 * 16 + row_system_doubles(R) * sizeof(double);
  }
};

template <class Space, class Products>
struct OrthogonalRows {
  using Row                       = typename Products::Row;
  using Scalar                    = typename Products::scalar_type;
  using Pad                       = RowPad<Scalar>;
  static constexpr double epsilon = Kokkos::Experimental::epsilon_v<Scalar>;

  Products products;
  count_t const* starts;
  Scalar const* transposed;  // B', R x J
  count_t transposed_stride;
  int J;
  double squares;
  double ridge;  // on |c|^2
  bool ridge_per_entry;
  RowShrinkage shrinkage;
  Scalar* A;  // I x J
  count_t A_stride;
  count_t rows;
  count_t rows_of_team;
  count_t least;         // as in SolvedRows
  double const* others;  // as in RowProblem, or null
  OrthogonalRowSizes<Scalar> sizes;
  int level;

  /// Writes the lower triangle of sums + weight I into the system, with n unknowns.
  template <class Member>
  KOKKOS_FUNCTION void set_system(Member const& member, int n, Scalar const* sums, int stride, double weight,
                                  double* system) const {
    Kokkos::parallel_for(Kokkos::TeamThreadRange(member, n), [&](int const i) {
      Kokkos::parallel_for(Kokkos::ThreadVectorRange(member, i + 1), [&](int const j) {
        system[i * (n | 1) + j] = sums[i * stride + j] + (i == j ? weight : 0.0);
      });
    });
  }

  /// Solves with R unknowns, and leaves c in the system's last row.
  template <class Member>
  KOKKOS_FUNCTION void solve_products(Member const& member, count_t begin, count_t end, double weight,
                                      Pad const& pad, double* system) const {
    int const R = products.R;
    products.sum_row(member, begin, end, pad);
    set_system(member, R, pad.S, products.width, weight, system);
    if (others != nullptr) {
      member.team_barrier();
      Kokkos::parallel_for(Kokkos::TeamThreadRange(member, R), [&](int const i) {
        Kokkos::parallel_for(Kokkos::ThreadVectorRange(member, i + 1),
                             [&](int const j) { system[i * (R | 1) + j] += others[i * R + j]; });
      });
    }
    Kokkos::parallel_for(Kokkos::TeamVectorRange(member, R),
                         [&](int const r) { system[R * (R | 1) + r] = pad.y[r] + target_weight(weight); });
    member.team_barrier();
    solve_row_system(member, R, epsilon, system);
  }

  /// Solves with n unknowns, and leaves c in y.
  template <class Member>
  KOKKOS_FUNCTION void solve_nonzeros(Member const& member, count_t begin, int n, double weight,
                                      Pad const& pad, double* system) const {
    int const R         = products.R;
    int const stride    = Products::whole_blocks(n);
    Scalar* const P     = pad.tile;        // P', R x stride
    Scalar* const gram  = P + R * stride;  // within the tile and S
    Scalar const target = static_cast<Scalar>(drawn_to());
    Products::zero(member, P, R * stride);
    member.team_barrier();
    products.fill(member, begin, n, pad.x, [&](int t, Columns const& columns, Row const& product) {
      alignas(64) Scalar numbers[Row::width];
      product.store(numbers, {0, Row::width});
      for (int e = 0; e < Row::width; ++e)
        if (e < columns.count) P[(columns.first + e) * stride + t] = numbers[e];
    });
    Products::template multiply<Triangle::lower>(
        member, n, R, stride, [&](int i, int r) { return P[r * stride + i]; }, P, gram, false);
    set_system(member, n, gram, stride, weight, system);
    Kokkos::parallel_for(Kokkos::TeamVectorRange(member, n), [&](int const i) {
      double rest = pad.x[i];
      if (target != 0)
        for (int r = 0; r < R; ++r) rest -= target * P[r * stride + i];
      system[n * (n | 1) + i] = rest;
    });
    member.team_barrier();
    solve_row_system(member, n, epsilon, system);
    double const* const z = system + n * (n | 1);
    Kokkos::parallel_for(Kokkos::TeamVectorRange(member, R), [&](int const r) {
      double c = target;
      for (int i = 0; i < n; ++i) c += z[i] * P[r * stride + i];
      pad.y[r] = static_cast<Scalar>(c);
    });
    member.team_barrier();
  }

  [[nodiscard]] KOKKOS_FUNCTION double drawn_to() const { return shrinkage.unit ? shrinkage.target : 0.0; }
  /// w t. A ridge shrinks towards zero, so it is never combined with another target.
  [[nodiscard]] KOKKOS_FUNCTION double target_weight(double weight) const {
    double const target = drawn_to();
    return target != 0 ? weight * target : 0.0;
  }

  /// a = B c / squares, where the c(r) are numbers in the scratch memory.
  template <class Member, class Number>
  KOKKOS_FUNCTION void store(Member const& member, Number const* c, Scalar* a) const {
    Kokkos::parallel_for(
        Kokkos::TeamThreadRange(member, Products::whole_blocks(J) / Products::block), [&](int const item) {
          Kokkos::parallel_for(Kokkos::ThreadVectorRange(member, Row::lanes), [&](int const lane) {
            Columns const columns = Row::columns(item * Products::block, J, lane);
            if (columns.count <= 0) return;
            Row sum(Scalar(0));
            for (int r = 0; r < products.R; ++r)
              sum.multiply_add(static_cast<Scalar>(c[r] / squares),
                               Row(transposed + r * transposed_stride, columns));
            sum.store(a, columns);
          });
        });
    member.team_barrier();  // before the next row takes the scratch memory
  }

  template <class Member>
  KOKKOS_FUNCTION void solve_row(Member const& member, count_t k, Pad const& pad, double* system) const {
    count_t const begin = starts[k];
    count_t const end   = starts[k + 1];
    count_t const n     = end - begin;
    Scalar* const a     = A + k * A_stride;
    if (n < least) return;
    if (n == 0) {
      auto const target = static_cast<Scalar>(drawn_to());
      Kokkos::parallel_for(Kokkos::TeamVectorRange(member, products.R),
                           [&](int const r) { pad.y[r] = target; });
      member.team_barrier();
      store(member, pad.y, a);
      return;
    }
    double weight = ridge_per_entry ? ridge * static_cast<double>(n) : ridge;
    if (shrinkage.unit) weight += shrinkage.weight(n);
    // Without a weight P P' may be singular, and P' P is used instead. The blocks of P' and P P' have to fit
    // into the memory of the tile and the sums.
    constexpr count_t block = Products::block;
    count_t const stride    = (n + block - 1) / block * block;
    count_t const R         = products.R;
    count_t const width     = products.width;
    if (n < R && weight > 0 && others == nullptr &&
        (R + stride) * stride <= (Products::tile_rows + width) * width) {
      solve_nonzeros(member, begin, static_cast<int>(n), weight, pad, system);
      store(member, pad.y, a);
    } else {
      solve_products(member, begin, end, weight, pad, system);
      store(member, system + products.R * (products.R | 1), a);
    }
  }

  template <class Member>
  KOKKOS_FUNCTION void operator()(Member const& member) const {
    auto* const memory =
        static_cast<char*>(member.team_scratch(level).get_shmem_aligned(sizes.bytes(), row_alignment));
    Pad const pad(reinterpret_cast<Scalar*>(memory), Products::tile_rows, products.width);
    auto* const system =
        reinterpret_cast<double*>(memory + (sizes.bytes() - row_system_doubles(sizes.R) * sizeof(double)));
    count_t const first = member.league_rank() * rows_of_team;
    count_t const last  = Kokkos::min(rows, first + rows_of_team);
    for (count_t k = first; k < last; ++k) solve_row(member, k, pad, system);
  }
};

template <class Space, class Products, class Scalar>
void solve_orthogonal_rows(Space const& space, Products const& products, SolvedRows const& range,
                           RowProblem<Scalar, Space> const& problem, FactorMatrix<Scalar, Space> const& A,
                           RowShrinkage const& shrinkage) {
  int const J         = checked_rank(problem.B.extent(0));
  constexpr int lanes = Products::Row::lanes;
  // A host's thread handles several rows at a time: scheduling one row takes as long as solving a short one.
  count_t const rows_of_team = items_per_thread<Space>(1, 8);
  OrthogonalRowSizes<Scalar> const sizes(products.R, products.width, Products::tile_rows);
  LaunchShape const shape{ceil_div(range.rows, rows_of_team), team_threads<Space>(lanes), lanes};
  auto policy     = team_policy<Kokkos::Schedule<Kokkos::Dynamic>>(space, shape);  // rows differ in length
  int const level = set_row_scratch(space, shape, sizes.bytes(), policy);
  detail::launch("polyad::least_squares_rows", policy,
                 OrthogonalRows<Space, Products>{
                     products, range.starts, problem.transposed.data(), problem.transposed.stride(0), J,
                     problem.squares, problem.ridge / problem.squares, problem.ridge_per_entry, shrinkage,
                     A.data(), A.stride(0), range.rows, rows_of_team, range.least,
                     problem.alpha > 0 ? problem.others.data() : nullptr, sizes, level});
}

}  // namespace polyad::detail
