// SPDX-License-Identifier: BSD-3-Clause
// The rows of implicit feedback by a few steps of conjugate gradients, from the rows that are there (Takacs,
// Pilaszy & Tikk, "Applications of the conjugate gradient method for implicit feedback collaborative
// filtering", RecSys 2011). As in orthogonal_rows.hpp, the columns of B are orthogonal and the unknowns are
// c = B' a. A row solves M c = y with
//
//   M = H + w I + sum of alpha x p p',   y = sum over x > 0 of (1 + alpha x) p
//
// where H is RowProblem::others, and w is the ridge on |c|^2. M is never formed:
//
//   M v = H v + w v + sum of alpha x (p . v) p                    multiply(); add_nonzeros()
//   r = y - M c;  v = r                                           start_row()
//   s = r . r / (v . M v);  c += s v;  r -= s M v;                step_row()
//   v = r + (r . r / its last value) v
//   a = B c / squares                                             operator()
//
// No step raises the loss of a row. A team takes a group of rows, and multiplies H by all of their vectors,
// so that it reads H once for several rows. Each row of few nonzeros then belongs to a thread. The threads of
// a device's team share the nonzeros of other rows, and a row of many nonzeros has a team of its own. Rows of
// very many nonzeros are left to the exact solver, which divides them among teams (row_products.hpp).
//
// Memory is O(R) per row of a group. Multiply-adds: (steps + 1) (R^2 + 2 n R) and J R per row of n nonzeros.
#pragma once

#include <Kokkos_Core.hpp>
#include <limits>

#include "formats/coo/kernels/least_squares/conjugate_terms.hpp"
#include "formats/coo/kernels/least_squares/row_problem.hpp"
#include "formats/coo/kernels/least_squares/row_products.hpp"
#include "formats/coo/kernels/least_squares/row_scratch.hpp"
#include "kernel/launch.hpp"
#include "kernel/launch_shape.hpp"
#include "polyad/formats/format.hpp"
#include "polyad/kernel/lanes.hpp"
#include "polyad/kernel/machine.hpp"
#include "polyad/kernel/row_form.hpp"
#include "polyad/kernel/unrolled.hpp"

namespace polyad::detail {

/// The scratch memory of a team. Row g of each matrix belongs to row g of the group.
template <class Scalar>
struct ConjugatePad {
  Scalar* c;         // rows x width: the solution
  Scalar* residual;  // rows x width: y - M c
  Scalar* v;         // rows x width: the direction
  Scalar* product;   // rows x width: M v
  Scalar* parts;     // threads x width: parts of a long row's sum
  Scalar* squares;   // rows: |residual|^2
  Scalar* noise;     // rows: |residual|^2 at which a residual is rounding errors

  KOKKOS_FUNCTION ConjugatePad(Scalar* memory, int rows, int threads, int width)
      : c(memory),
        residual(c + rows * width),
        v(residual + rows * width),
        product(v + rows * width),
        parts(product + rows * width),
        squares(parts + (threads > 1 ? threads : 0) * width),
        noise(squares + rows) {}
  /// Scalars of a pad.
  [[nodiscard]] KOKKOS_FUNCTION static count_t size(int rows, int threads, int width) {
    count_t const vectors = 4 * rows + (threads > 1 ? threads : 0);
    return vectors * width + 2 * static_cast<count_t>(rows);
  }
};

template <class Space, class Products>
struct ConjugateRows : ConjugateTerms<Space, Products> {
  using Terms = ConjugateTerms<Space, Products>;
  using typename Terms::Row, typename Terms::Scalar;
  using Pad = ConjugatePad<Scalar>;
  using Terms::block, Terms::lanes, Terms::products, Terms::tells_whole_blocks, Terms::each_block, Terms::dot,
      Terms::add_part;

  /// Rows of a group. On a device each of a team's threads has one.
  static constexpr int rows_of_team = items_per_thread<Space>(team_threads<Space>(lanes), 8);
  /// Rows by which a thread multiplies H at the same time.
  static constexpr int height = rows_of_team < rows_at_once<Row>(2) ? rows_of_team : rows_at_once<Row>(2);
  static_assert(rows_of_team % height == 0);
  /// The threads of a device's team share a row of more nonzeros.
  static constexpr count_t most_of_thread =
      items_per_thread<Space>(128, std::numeric_limits<std::int64_t>::max());

  /// A row of so many nonzeros has a device's team of its own. With the other rows of a group it took most of
  /// the time.
  static constexpr count_t has_own_team =
      items_per_thread<Space>(512, std::numeric_limits<std::int64_t>::max());

  count_t const* starts;
  count_t rows;
  count_t group;        // rows of a team, rows_of_team at most
  count_t from;         // rows of fewer nonzeros are left as they are,
  count_t least;        // and rows of so many or more
  Scalar const* start;  // I x R: the rows of C^(mode) that are there
  count_t start_stride;
  Scalar const* H;  // R x R
  count_t H_stride;
  Scalar const* transposed;  // B', R x J
  count_t transposed_stride;
  int J;
  Scalar squares;  // B' B is this times the identity
  double ridge;    // on |c|^2
  bool ridge_per_entry;
  int steps;
  Scalar* A;  // I x J
  count_t A_stride;
  int level;

  [[nodiscard]] KOKKOS_FUNCTION count_t nonzeros(count_t k) const { return starts[k + 1] - starts[k]; }
  /// Whether this launch solves for rows of n nonzeros.
  [[nodiscard]] KOKKOS_FUNCTION bool takes(count_t n) const { return n >= from && n < least; }
  [[nodiscard]] KOKKOS_FUNCTION Scalar weight(count_t n) const {
    return static_cast<Scalar>(ridge_per_entry ? ridge * static_cast<double>(n) : ridge);
  }

  [[nodiscard]] KOKKOS_FUNCTION bool has_positive(count_t k) const {
    for (count_t p = starts[k]; p < starts[k + 1]; ++p)
      if (products.source.value(products.source.template at<1>(p - products.origin), 0) > 0) return true;
    return false;
  }

  /// keep(i, columns, row i of V X) for V (group x R) in the scratch pad and X (R x columns).
  template <class Member, class Keep>
  KOKKOS_FUNCTION void multiply(Member const& member, Scalar const* V, Scalar const* X, count_t stride,
                                int columns_of_X, Keep const& keep) const {
    constexpr int groups = rows_of_team / height;
    int const width      = products.width;
    int const blocks     = Products::whole_blocks(columns_of_X) / block;
    Kokkos::parallel_for(Kokkos::TeamThreadRange(member, groups * blocks), [&](int const item) {
      int const i     = item % groups * height;
      int const first = item / groups * block;
      Kokkos::parallel_for(Kokkos::ThreadVectorRange(member, lanes), [&](int const lane) {
        auto const walk = [&](Columns const& columns) {
          Row sum[height];
          unrolled<height>([&](auto h) { sum[h] = Row(Scalar(0)); });
          for (int k = 0; k < products.R; ++k) {
            Row const row(X + k * stride, columns);
            unrolled<height>([&](auto h) { sum[h].multiply_add(V[(i + h) * width + k], row); });
          }
          unrolled<height>([&](auto h) { keep(i + h, columns, sum[h]); });
        };
        Columns const columns = Row::columns(first, columns_of_X, lane);
        if (tells_whole_blocks && columns.count == Row::width)
          walk({columns.first, Row::width});
        else if (columns.count > 0)
          walk(columns);
      });
    });
    member.team_barrier();
  }

  /// Adds the nonzeros of each row to its product, from its v: first those of the rows that belong to a
  /// thread, then those of each row that the threads share. One call, since it is nearly all of the code.
  template <class Member>
  KOKKOS_FUNCTION void add_nonzeros(Member const& member, count_t first, int count, Scalar target,
                                    Pad const& pad) const {
    constexpr bool shares_rows = team_threads<Space>(lanes) > 1;  // a host's thread has all rows
    int const width            = products.width;
    int const threads          = member.team_size();
    for (int shared = -1; shared < (shares_rows ? count : 0); ++shared) {
      bool const is_shared = shared >= 0;
      if (is_shared && !is_shared_row(nonzeros(first + shared))) continue;
      Kokkos::parallel_for(Kokkos::TeamThreadRange(member, is_shared ? threads : count), [&](int const t) {
        int const g       = is_shared ? shared : t;
        count_t const n   = nonzeros(first + g);
        Scalar* const out = is_shared ? pad.parts + t * width : pad.product + g * width;
        if (is_shared)
          Kokkos::parallel_for(Kokkos::ThreadVectorRange(member, lanes), [&](int const lane) {
            each_block(lane, [&](Columns const& columns) { Row(Scalar(0)).store(out, columns); });
          });
        else if (!takes(n) || is_shared_row(n))
          return;
        add_part(member, starts[first + g] + (is_shared ? t : 0), starts[first + g + 1],
                 is_shared ? threads : 1, target, pad.v + g * width, out);
      });
      member.team_barrier();
      if (!is_shared) continue;
      Kokkos::parallel_for(Kokkos::TeamVectorRange(member, products.R), [&](int const r) {
        Scalar sum = pad.product[shared * width + r];
        for (int t = 0; t < threads; ++t) sum += pad.parts[t * width + r];
        pad.product[shared * width + r] = sum;
      });
      member.team_barrier();
    }
  }
  /// Whether the threads of a team share a row of n nonzeros.
  [[nodiscard]] KOKKOS_FUNCTION bool is_shared_row(count_t n) const { return takes(n) && n > most_of_thread; }

  /// From product = M c - y without w c: the residual, which is the first direction.
  KOKKOS_FUNCTION void start_row(int lane, int g, count_t n, Pad const& pad) const {
    int const at   = g * products.width;
    Scalar const w = weight(n);
    each_block(lane, [&](Columns const& columns) {
      Row residual(Scalar(0));
      residual.multiply_add(Scalar(-1), Row(pad.product + at, columns));
      residual.multiply_add(-w, Row(pad.c + at, columns));
      residual.store(pad.residual + at, columns);
      residual.store(pad.v + at, columns);
    });
    auto const residual = [&](Columns const& columns) { return Row(pad.residual + at, columns); };
    Scalar const first  = dot(lane, residual, residual);
    if (lane != 0) return;
    constexpr Scalar epsilon = Kokkos::Experimental::epsilon_v<Scalar>;
    pad.squares[g]           = first;
    pad.noise[g]             = epsilon * epsilon * first;
  }
  /// From product = M v without w v: the next solution, residual and direction.
  KOKKOS_FUNCTION void step_row(int lane, int g, count_t n, Pad const& pad) const {
    int const at        = g * products.width;
    Scalar const w      = weight(n);
    Scalar const before = pad.squares[g];
    if (!(before > pad.noise[g])) return;
    auto const v        = [&](Columns const& columns) { return Row(pad.v + at, columns); };
    Scalar const bent   = dot(lane, v, [&](Columns const& columns) {
      Row row(pad.product + at, columns);
      row.multiply_add(w, Row(pad.v + at, columns));
      return row;
    });
    Scalar const length = bent > 0 ? before / bent : Scalar(0);
    each_block(lane, [&](Columns const& columns) {
      Row c(pad.c + at, columns), residual(pad.residual + at, columns);
      Row const direction(pad.v + at, columns);
      c.multiply_add(length, direction);
      residual.multiply_add(-length, Row(pad.product + at, columns));
      residual.multiply_add(-length * w, direction);
      c.store(pad.c + at, columns);
      residual.store(pad.residual + at, columns);
    });
    auto const residual = [&](Columns const& columns) { return Row(pad.residual + at, columns); };
    Scalar const after  = dot(lane, residual, residual);
    each_block(lane, [&](Columns const& columns) {
      Row direction(pad.residual + at, columns);
      direction.multiply_add(after / before, Row(pad.v + at, columns));
      direction.store(pad.v + at, columns);
    });
    sync_lanes<lanes>();  // all lanes have read it: the shuffles of a sum do not order memory accesses
    if (lane == 0) pad.squares[g] = after;
  }

  template <class Member>
  KOKKOS_FUNCTION void operator()(Member const& member) const {
    int const width     = products.width;
    count_t const first = member.league_rank() * group;
    int const count     = static_cast<int>(Kokkos::min<count_t>(rows - first, group));
    if (count == 1 && !takes(nonzeros(first))) return;
    Pad const pad(
        static_cast<Scalar*>(member.team_scratch(level).get_shmem_aligned(
            Pad::size(rows_of_team, team_threads<Space>(lanes), width) * sizeof(Scalar), row_alignment)),
        rows_of_team, team_threads<Space>(lanes), width);
    // Rows without nonzeros above 0 are zero, as are those that the group lacks or leaves as they are.
    Kokkos::parallel_for(Kokkos::TeamThreadRange(member, rows_of_team), [&](int const g) {
      bool const is_there = g < count && takes(nonzeros(first + g)) && has_positive(first + g);
      Kokkos::parallel_for(Kokkos::ThreadVectorRange(member, lanes), [&](int const lane) {
        each_block(lane, [&](Columns const& columns) {
          Row const row = is_there ? Row(start + (first + g) * start_stride, columns) : Row(Scalar(0));
          row.store(pad.c + g * width, columns);
          row.store(pad.v + g * width, columns);
        });
      });
    });
    member.team_barrier();
    for (int step = 0; step <= steps; ++step) {
      bool const starts_rows = step == 0;  // v is c there
      multiply(member, pad.v, H, H_stride, products.R, [&](int g, Columns const& columns, Row const& row) {
        row.store(pad.product + g * width, columns);
      });
      add_nonzeros(member, first, count, starts_rows ? Scalar(1) : Scalar(0), pad);
      Kokkos::parallel_for(Kokkos::TeamThreadRange(member, count), [&](int const g) {
        count_t const n = nonzeros(first + g);
        if (!takes(n)) return;
        Kokkos::parallel_for(Kokkos::ThreadVectorRange(member, lanes), [&](int const lane) {
          if (starts_rows)
            start_row(lane, g, n, pad);
          else
            step_row(lane, g, n, pad);
        });
      });
      member.team_barrier();
    }
    multiply(member, pad.c, transposed, transposed_stride, J,
             [&](int g, Columns const& columns, Row const& row) {
               if (g >= count || !takes(nonzeros(first + g))) return;
               Row a(Scalar(0));
               a.multiply_add(1 / squares, row);
               a.store(A + (first + g) * A_stride, columns);
             });
  }
};

/// Solves for the rows of fewer than range.least nonzeros.
/// \param start  C^(mode) of all rows
/// \pre problem.squares > 0, problem.alpha > 0 and problem.steps > 0
template <class Space, class Products, class Scalar>
void solve_conjugate_rows(Space const& space, Products const& products, SolvedRows const& range,
                          RowProblem<Scalar, Space> const& problem, FactorMatrix<Scalar, Space> const& start,
                          FactorMatrix<Scalar, Space> const& A) {
  using Kernel        = ConjugateRows<Space, Products>;
  constexpr int lanes = Products::Row::lanes, threads = team_threads<Space>(lanes);
  auto const solve = [&](count_t group, count_t from, count_t least) {
    LaunchShape const shape{ceil_div(range.rows, group), threads, lanes};
    auto policy     = team_policy<Kokkos::Schedule<Kokkos::Dynamic>>(space, shape);  // rows differ in length
    int const level = set_row_scratch(
        space, shape, Kernel::Pad::size(Kernel::rows_of_team, threads, products.width) * sizeof(Scalar),
        policy);
    detail::launch("polyad::conjugate_rows", policy,
                   Kernel{{products},
                          range.starts,
                          range.rows,
                          group,
                          from,
                          least,
                          start.data() + range.first * start.stride(0),
                          start.stride(0),
                          problem.rounded.data(),
                          problem.rounded.stride(0),
                          problem.transposed.data(),
                          problem.transposed.stride(0),
                          checked_rank(problem.B.extent(0)),
                          static_cast<Scalar>(problem.squares),
                          problem.ridge / problem.squares,
                          problem.ridge_per_entry,
                          problem.steps,
                          A.data(),
                          A.stride(0),
                          level});
  };
  count_t const longer = Kokkos::min(Kernel::has_own_team, range.least);
  solve(Kernel::rows_of_team, 0, longer);
  if (longer < range.least && range.end - range.begin >= longer) solve(1, longer, range.least);
}

}  // namespace polyad::detail
