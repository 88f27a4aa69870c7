// SPDX-License-Identifier: BSD-3-Clause
// Least squares for rows if the columns of B (J x R) are orthogonal, B' B = squares I. B starts like this if
// J >= R. Then any row c of C^(n) has a solution c = B' a, with a = B c / squares and
// |a|^2 = |c|^2 / squares. A single weight w therefore combines the ridge and the shrinkage. Let P (n x R) be
// the products of the row's n nonzeros, x (n) their values and t the target. A row is the solution of one of
//
//   (P' P + w I) c = P' x + w t                                  R unknowns
//   c = t + P' z,   (P P' + w I) z = x - P t                     n unknowns, for rows of n < R nonzeros
//
// A device's team takes one row at a time, and a host's thread several:
//
//   many nonzeros: for each tile of them      operator(); solve_products()
//     the products P and the values x         fill()
//     P' P += ..., P' x += ...                multiply()
//   few nonzeros: P', then P P'               solve_nonzeros()
//   c by elimination                          solve_row_system()
//   a = B c / squares                         store()
//
// Memory is O(R^2) a team. Flops: R^2 a nonzero and R^3 / 6 a row, or n^2 R + n^3 / 6; and J R.
#pragma once

#include <Kokkos_Core.hpp>
#include <algorithm>

#include "formats/coo/nonzero_sources.hpp"
#include "formats/coo/row_scratch.hpp"
#include "formats/coo/row_system.hpp"
#include "kernel/launch.hpp"
#include "kernel/launch_shape.hpp"
#include "polyad/formats/format.hpp"
#include "polyad/kernel/machine.hpp"
#include "polyad/kernel/other_factors.hpp"
#include "polyad/kernel/rank_dispatch.hpp"
#include "polyad/kernel/row_form.hpp"
#include "polyad/kernel/unrolled.hpp"

namespace polyad::detail {

/// The scratch memory of a team for a row: T x R products, their R x R sums, the right-hand side, values, a
/// system.
struct OrthogonalRowSizes {
  int R;
  int width;      // R rounded up to whole blocks
  int tile_rows;  // T

  [[nodiscard]] KOKKOS_FUNCTION count_t scalars() const {
    return static_cast<count_t>(tile_rows + width) * static_cast<count_t>(width + 1) +
           static_cast<count_t>(width);
  }
  template <class Scalar>
  [[nodiscard]] KOKKOS_FUNCTION count_t bytes() const {
    return (scalars() * sizeof(Scalar) + 15) / 16 * 16 + row_system_doubles(R) * sizeof(double);
  }
};

template <class Space, class Scalar, class Index, int Block, class Source>
struct OrthogonalRows {
  using Row = TinyVec<Space, Scalar, Block>;
  /// Rows of a product that a thread sums at the same time, as in row_least_squares.hpp.
  static constexpr int height = static_cast<int>(items_per_thread<Space>(2, 4));
  static_assert(Block % height == 0);
  static constexpr double epsilon = static_cast<double>(Kokkos::Experimental::epsilon_v<Scalar>);
  [[nodiscard]] KOKKOS_FUNCTION static constexpr int whole_blocks(int columns) {
    return (columns + Block - 1) / Block * Block;
  }

  Source source;
  OtherFactors<Scalar, any_order> factors;
  count_t const* starts;
  count_t origin;            // the position of the source's first nonzero
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
  OrthogonalRowSizes sizes;
  int level;

  /// The parts of the scratch memory.
  struct Pad {
    Scalar* tile;    // T x width
    Scalar* sums;    // width x width
    Scalar* y;       // width
    Scalar* x;       // T + width
    double* system;  // as solve_row_system wants it
  };

  /// out (rows x columns) = [out +] the sum over k < inner of left(i, k) right(k, :). Blocks right of the
  /// diagonal are left out, since the products are symmetric and only the lower triangle is read.
  template <class Member, class Left>
  KOKKOS_FUNCTION void multiply(Member const& member, int count, int inner, int columns, Left const& left,
                                Scalar const* right, Scalar* out, bool accumulate) const {
    int const groups = (count + height - 1) / height;
    int const blocks = columns / Block;
    Kokkos::parallel_for(Kokkos::TeamThreadRange(member, groups * blocks), [&](int const item) {
      int const i     = item % groups * height;
      int const block = item / groups * Block;
      if (block >= i + height) return;
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

  /// Calls keep(t, columns, p) for the blocks of the product p of each nonzero first + t, t < count. Fills x
  /// with the values.
  template <class Member, class Keep>
  KOKKOS_FUNCTION void fill(Member const& member, count_t first, int count, Scalar* x,
                            Keep const& keep) const {
    Kokkos::parallel_for(Kokkos::TeamThreadRange(member, count), [&](int const t) {
      auto const at = source.template at<1>(first + static_cast<count_t>(t));
      Kokkos::parallel_for(Kokkos::ThreadVectorRange(member, Row::lanes), [&](int const lane) {
        for (int block = 0; block < sizes.R; block += Block) {
          Columns const columns = Row::columns(block, sizes.R, lane);
          if (columns.count <= 0) continue;
          Row product(factors.row(0, source.template indices<1>(at, 0).element[0]), columns);
          for (int m = 1; m < factors.size(); ++m)
            product *= Row(factors.row(m, source.template indices<1>(at, m).element[0]), columns);
          keep(t, columns, product);
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

  /// Writes the lower triangle of sums + weight I into the system, with n unknowns.
  template <class Member>
  KOKKOS_FUNCTION void set_system(Member const& member, int n, int stride, double weight,
                                  Pad const& pad) const {
    Kokkos::parallel_for(Kokkos::TeamThreadRange(member, n), [&](int const i) {
      Kokkos::parallel_for(Kokkos::ThreadVectorRange(member, i + 1), [&](int const j) {
        pad.system[i * (n | 1) + j] = static_cast<double>(pad.sums[i * stride + j]) + (i == j ? weight : 0.0);
      });
    });
  }

  /// Solves with R unknowns, and leaves c in the system's last row.
  template <class Member>
  KOKKOS_FUNCTION void solve_products(Member const& member, count_t begin, count_t end, double weight,
                                      Pad const& pad) const {
    int const R     = sizes.R;
    int const width = sizes.width;
    zero(member, pad.tile, sizes.tile_rows * width);  // what lies right of column R stays zero
    zero(member, pad.sums, width * (width + 1));
    member.team_barrier();
    for (count_t first = begin; first < end; first += static_cast<count_t>(sizes.tile_rows)) {
      int const count = static_cast<int>(Kokkos::min<count_t>(end - first, sizes.tile_rows));
      fill(member, first, count, pad.x, [&](int t, Columns const& columns, Row const& product) {
        product.store(pad.tile + t * width, columns);
      });
      Kokkos::parallel_for(Kokkos::TeamVectorRange(member, R), [&](int const r) {
        Scalar sum = 0;
        for (int t = 0; t < count; ++t) sum += pad.x[t] * pad.tile[t * width + r];
        pad.y[r] += sum;
      });
      multiply(
          member, R, count, width, [&](int r, int t) { return pad.tile[t * width + r]; }, pad.tile, pad.sums,
          true);
    }
    set_system(member, R, width, weight, pad);
    Kokkos::parallel_for(Kokkos::TeamVectorRange(member, R), [&](int const r) {
      pad.system[R * (R | 1) + r] = static_cast<double>(pad.y[r]) + target_weight(weight);
    });
    member.team_barrier();
    solve_row_system(member, R, epsilon, pad.system);
  }

  /// Solves with n unknowns, and leaves c in y.
  template <class Member>
  KOKKOS_FUNCTION void solve_nonzeros(Member const& member, count_t begin, int n, double weight,
                                      Pad const& pad) const {
    int const R         = sizes.R;
    int const stride    = whole_blocks(n);
    Scalar* const P     = pad.tile;        // P', R x stride
    Scalar* const gram  = P + R * stride;  // within the tile and the sums
    Scalar const target = static_cast<Scalar>(drawn_to());
    zero(member, P, R * stride);
    member.team_barrier();
    fill(member, begin, n, pad.x, [&](int t, Columns const& columns, Row const& product) {
      alignas(64) Scalar numbers[Row::width];
      product.store(numbers, {0, Row::width});
      for (int e = 0; e < Row::width; ++e)
        if (e < columns.count) P[(columns.first + e) * stride + t] = numbers[e];
    });
    multiply(member, n, R, stride, [&](int i, int r) { return P[r * stride + i]; }, P, gram, false);
    Pad const own{pad.tile, gram, pad.y, pad.x, pad.system};
    set_system(member, n, stride, weight, own);
    Kokkos::parallel_for(Kokkos::TeamVectorRange(member, n), [&](int const i) {
      double rest = static_cast<double>(pad.x[i]);
      if (target != 0)
        for (int r = 0; r < R; ++r) rest -= static_cast<double>(target * P[r * stride + i]);
      pad.system[n * (n | 1) + i] = rest;
    });
    member.team_barrier();
    solve_row_system(member, n, epsilon, pad.system);
    double const* const z = pad.system + n * (n | 1);
    Kokkos::parallel_for(Kokkos::TeamVectorRange(member, R), [&](int const r) {
      double c = static_cast<double>(target);
      for (int i = 0; i < n; ++i) c += z[i] * static_cast<double>(P[r * stride + i]);
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
    Kokkos::parallel_for(Kokkos::TeamThreadRange(member, whole_blocks(J) / Block), [&](int const item) {
      Kokkos::parallel_for(Kokkos::ThreadVectorRange(member, Row::lanes), [&](int const lane) {
        Columns const columns = Row::columns(item * Block, J, lane);
        if (columns.count <= 0) return;
        Row sum(Scalar(0));
        for (int r = 0; r < sizes.R; ++r)
          sum.multiply_add(static_cast<Scalar>(static_cast<double>(c[r]) / squares),
                           Row(transposed + static_cast<count_t>(r) * transposed_stride, columns));
        sum.store(a, columns);
      });
    });
    member.team_barrier();  // before the next row takes the scratch memory
  }

  template <class Member>
  KOKKOS_FUNCTION void solve_row(Member const& member, count_t k, Pad const& pad) const {
    count_t const begin = starts[k] - origin;
    count_t const end   = starts[k + 1] - origin;
    count_t const n     = end - begin;
    Scalar* const a     = A + k * A_stride;
    if (n == 0) {
      auto const target = static_cast<Scalar>(drawn_to());
      Kokkos::parallel_for(Kokkos::TeamVectorRange(member, sizes.R), [&](int const r) { pad.y[r] = target; });
      member.team_barrier();
      store(member, pad.y, a);
      return;
    }
    double weight = ridge_per_entry ? ridge * static_cast<double>(n) : ridge;
    if (shrinkage.unit) weight += shrinkage.weight(n);
    // Without a weight P P' may be singular, and P' P is used instead. The blocks of P' and P P' have to fit
    // into the memory of the tile and the sums.
    count_t const stride = (n + Block - 1) / Block * Block;
    auto const R         = static_cast<count_t>(sizes.R);
    auto const width     = static_cast<count_t>(sizes.width);
    if (n < R && weight > 0 &&
        (R + stride) * stride <= (static_cast<count_t>(sizes.tile_rows) + width) * width) {
      solve_nonzeros(member, begin, static_cast<int>(n), weight, pad);
      store(member, pad.y, a);
    } else {
      solve_products(member, begin, end, weight, pad);
      store(member, pad.system + sizes.R * (sizes.R | 1), a);
    }
  }

  template <class Member>
  KOKKOS_FUNCTION void operator()(Member const& member) const {
    auto* const bytes = static_cast<char*>(
        member.team_scratch(level).get_shmem_aligned(sizes.bytes<Scalar>(), row_alignment));
    Pad pad{};
    pad.tile   = reinterpret_cast<Scalar*>(bytes);
    pad.sums   = pad.tile + sizes.tile_rows * sizes.width;
    pad.y      = pad.sums + sizes.width * sizes.width;
    pad.x      = pad.y + sizes.width;
    pad.system = reinterpret_cast<double*>(
        bytes + (sizes.bytes<Scalar>() - row_system_doubles(sizes.R) * sizeof(double)));
    count_t const first = static_cast<count_t>(member.league_rank()) * rows_of_team;
    count_t const last  = Kokkos::min(rows, first + rows_of_team);
    for (count_t k = first; k < last; ++k) solve_row(member, k, pad);
  }
};

template <class Space, class Scalar, class Index, class Source>
void solve_orthogonal_rows(Space const& space, Source const& source,
                           OtherFactors<Scalar, any_order> const& factors, count_t const* starts,
                           count_t rows, RowProblem<Scalar, Space> const& problem,
                           FactorMatrix<Scalar, Space> const& A, RowShrinkage const& shrinkage,
                           count_t origin) {
  int const J = checked_rank(problem.B.extent(0));
  int const R = checked_rank(problem.B.extent(1));
  with_block(static_cast<count_t>(R), [&](auto block) {
    using Kernel        = OrthogonalRows<Space, Scalar, Index, block(), Source>;
    constexpr int lanes = Kernel::Row::lanes;
    // A host's thread takes several rows at a time: scheduling one row takes as long as solving a short one.
    count_t const rows_of_team = items_per_thread<Space>(1, 8);
    OrthogonalRowSizes const sizes{R, Kernel::whole_blocks(R),
                                   static_cast<int>(items_per_thread<Space>(32, 16))};
    LaunchShape const shape{ceil_div(rows, rows_of_team), team_threads<Space>(lanes), lanes};
    auto policy     = team_policy<Kokkos::Schedule<Kokkos::Dynamic>>(space, shape);  // rows differ in length
    int const level = set_row_scratch(space, shape, sizes.template bytes<Scalar>(), policy);
    detail::launch("polyad::least_squares_rows", policy,
                   Kernel{source, factors, starts, origin, problem.transposed.data(),
                          static_cast<count_t>(problem.transposed.stride(0)), J, problem.squares,
                          problem.ridge / problem.squares, problem.ridge_per_entry, shrinkage, A.data(),
                          static_cast<count_t>(A.stride(0)), rows, rows_of_team, sizes, level});
  });
}

}  // namespace polyad::detail
