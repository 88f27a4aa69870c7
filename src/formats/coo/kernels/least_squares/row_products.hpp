// SPDX-License-Identifier: BSD-3-Clause
// RowProducts: what least squares need of the nonzeros of a row. Each nonzero has the product p of the other
// modes' rows of C. The sums over a row are S = sum of p p' and y = sum of x p. One team forms them, tile
// after tile, in its scratch memory.
//
// A single team would take long for a row of millions of nonzeros. So the positions of a mode's order are
// divided into chunks of row_chunk(R) nonzeros. First, a separate team sums each chunk that is within one row
// (SumChunks). Then the team that solves for a row adds these sums to those of the row's two ends. The chunks
// depend only on the positions, so the sums have the same bits in every run.
#pragma once

#include <Kokkos_Core.hpp>

#include "formats/coo/kernels/least_squares/row_problem.hpp"
#include "formats/coo/kernels/least_squares/row_scratch.hpp"
#include "formats/coo/storage/row_starts.hpp"
#include "kernel/launch.hpp"
#include "kernel/launch_shape.hpp"
#include "polyad/formats/format.hpp"
#include "polyad/kernel/machine.hpp"
#include "polyad/kernel/other_factors.hpp"
#include "polyad/kernel/row_form.hpp"
#include "polyad/kernel/unrolled.hpp"

namespace polyad::detail {

/// The scratch memory of a team for RowProducts.
template <class Scalar>
struct RowPad {
  Scalar* tile;  // T x width: products
  Scalar* S;     // width x width, the lower triangle
  Scalar* y;     // width
  Scalar* x;     // T: values

  RowPad() = default;
  KOKKOS_FUNCTION RowPad(Scalar* memory, int tile_rows, int width)
      : tile(memory), S(tile + tile_rows * width), y(S + width * width), x(y + width) {}
  /// Scalars of a pad.
  [[nodiscard]] KOKKOS_FUNCTION static count_t size(int tile_rows, int width) {
    count_t const T = tile_rows, W = width;
    return (T + W) * (W + 1);
  }
};

/// Which blocks of a product are computed. The lower triangle of a symmetric one suffices.
enum class Triangle { all, lower };

template <class Space, class Scalar, class Index, int Block, class Source>
struct RowProducts {
  using scalar_type          = Scalar;
  using Row                  = TinyVec<Space, Scalar, Block>;
  using Pad                  = RowPad<Scalar>;
  static constexpr int block = Block;
  /// Rows of a product that a thread sums at the same time. With 32 columns and two rows, a team needs one
  /// round.
  static constexpr int height = items_per_thread<Space>(2, 4);
  static_assert(Block % height == 0);
  static constexpr int tile_rows = items_per_thread<Space>(32, 16);
  /// Nonzeros between one that is read and one that is prefetched: those of a tile.
  static constexpr count_t prefetched_ahead = tile_rows;
  [[nodiscard]] KOKKOS_FUNCTION static constexpr int whole_blocks(int columns) {
    return (columns + Block - 1) / Block * Block;
  }

  Source source;
  OtherFactors<Scalar, any_order> factors;
  int R;
  int width;           // R rounded up to whole blocks
  Scalar* chunk_sums;  // R (R + 1) numbers for each chunk: S by rows, then y; null: no chunks
  count_t chunk;       // nonzeros
  count_t origin;      // as in SolvedRows
  double alpha;        // as in RowProblem

  RowProducts(Source const& nonzeros, OtherFactors<Scalar, any_order> const& others, int rank,
              RowProblem<Scalar, Space> const& problem, SolvedRows const& range)
      : source(nonzeros),
        factors(others),
        R(rank),
        width(whole_blocks(rank)),
        chunk_sums(problem.sums.data()),
        chunk(row_chunk(rank)),
        origin(range.origin),
        alpha(problem.alpha) {}

  /// out (rows x columns) = [out +] the sum over k < inner of left(i, k) right(k, :). right and out are rows
  /// of whole blocks in the scratch pad. The rows after the last one, up to a multiple of `height`, are
  /// computed too.
  template <Triangle which, class Member, class Left>
  KOKKOS_FUNCTION static void multiply(Member const& member, int rows, int inner, int columns,
                                       Left const& left, Scalar const* right, Scalar* out, bool accumulate) {
    int const groups = (rows + height - 1) / height;
    int const blocks = columns / Block;
    Kokkos::parallel_for(Kokkos::TeamThreadRange(member, groups * blocks), [&](int const item) {
      int const i     = item % groups * height;
      int const block = item / groups * Block;
      if (which == Triangle::lower && block >= i + height) return;
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
      count_t const p = first - origin + t;
      auto const at   = source.template at<1>(p);
      source.template prefetch<Row>(p + prefetched_ahead);
      Kokkos::parallel_for(Kokkos::ThreadVectorRange(member, Row::lanes), [&](int const lane) {
        for (int block = 0; block < R; block += Block) {
          Columns const columns = Row::columns(block, R, lane);
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
  KOKKOS_FUNCTION static void zero(Member const& member, Scalar* numbers, int count) {
    Kokkos::parallel_for(Kokkos::TeamVectorRange(member, count), [&](int const i) { numbers[i] = 0; });
  }

  /// Makes the sums zero.
  template <class Member>
  KOKKOS_FUNCTION void start(Member const& member, Pad const& pad) const {
    zero(member, pad.tile, tile_rows * width);  // what lies right of column R stays zero
    zero(member, pad.S, width * (width + 1));
    member.team_barrier();
  }

  /// Implicit feedback adds alpha x p p' and (1 + alpha x) p. So the products of the tile become q p with
  /// q = (alpha x)^(1/2), and the values 1 / q + q. Nonzeros with x = 0 add nothing.
  template <class Member>
  KOKKOS_FUNCTION void weigh(Member const& member, int count, Pad const& pad) const {
    Kokkos::parallel_for(Kokkos::TeamThreadRange(member, count), [&](int const t) {
      double const q    = Kokkos::sqrt(alpha * static_cast<double>(pad.x[t]));
      auto const factor = static_cast<Scalar>(q);
      Kokkos::parallel_for(Kokkos::ThreadVectorRange(member, R),
                           [&](int const r) { pad.tile[t * width + r] *= factor; });
      Kokkos::single(Kokkos::PerThread(member),
                     [&] { pad.x[t] = static_cast<Scalar>(q > 0 ? 1 / q + q : q); });
    });
    member.team_barrier();
  }

  /// Adds the nonzeros at positions begin ... end - 1.
  template <class Member>
  KOKKOS_FUNCTION void add(Member const& member, count_t begin, count_t end, Pad const& pad) const {
    for (count_t first = begin; first < end; first += tile_rows) {
      int const count = static_cast<int>(Kokkos::min<count_t>(end - first, tile_rows));
      fill(member, first, count, pad.x, [&](int t, Columns const& columns, Row const& product) {
        product.store(pad.tile + t * width, columns);
      });
      if (alpha > 0) weigh(member, count, pad);
      Kokkos::parallel_for(Kokkos::TeamVectorRange(member, R), [&](int const r) {
        Scalar sum = 0;
        for (int t = 0; t < count; ++t) sum += pad.x[t] * pad.tile[t * width + r];
        pad.y[r] += sum;
      });
      multiply<Triangle::lower>(
          member, R, count, width, [&](int r, int t) { return pad.tile[t * width + r]; }, pad.tile, pad.S,
          true);
    }
  }

  /// Adds the stored sums of the chunks first ... last - 1.
  template <class Member>
  KOKKOS_FUNCTION void add_chunks(Member const& member, count_t first, count_t last, Pad const& pad) const {
    count_t const numbers = R * (R + 1);
    Kokkos::parallel_for(Kokkos::TeamVectorRange(member, R * (R + 1)), [&](int const i) {
      int const r = i / R, s = i % R;
      if (r < R && s > r) return;
      Scalar& into = r < R ? pad.S[r * width + s] : pad.y[s];
      Scalar sum   = into;
      for (count_t c = first; c < last; ++c) sum += chunk_sums[c * numbers + i];
      into = sum;
    });
    member.team_barrier();
  }

  /// The sums of a row with the nonzeros at positions begin ... end - 1.
  template <class Member>
  KOKKOS_FUNCTION void sum_row(Member const& member, count_t begin, count_t end, Pad const& pad) const {
    start(member, pad);
    count_t const first = ceil_div(begin, chunk), last = end / chunk;
    if (chunk_sums == nullptr || first >= last) return add(member, begin, end, pad);
    add(member, begin, first * chunk, pad);
    add_chunks(member, first, last, pad);
    add(member, last * chunk, end, pad);
  }
};

/// Stores the sums of each chunk that lies within one row.
template <class Products>
struct SumChunks {
  using Pad    = RowPad<typename Products::scalar_type>;
  using Scalar = typename Products::scalar_type;
  Products products;
  count_t const* starts;
  count_t rows;
  count_t first;  // chunk
  count_t least;  // as in SolvedRows
  int level;

  template <class Member>
  KOKKOS_FUNCTION void operator()(Member const& member) const {
    count_t const c     = first + member.league_rank();
    count_t const begin = c * products.chunk, end = begin + products.chunk;
    count_t const k = row_of_position(starts, 0, rows, begin);
    if (starts[k + 1] < end || starts[k + 1] - starts[k] < least) return;
    int const R = products.R, width = products.width;
    Pad const pad(static_cast<Scalar*>(member.team_scratch(level).get_shmem_aligned(
                      Pad::size(Products::tile_rows, width) * sizeof(Scalar), row_alignment)),
                  Products::tile_rows, width);
    products.start(member, pad);
    products.add(member, begin, end, pad);
    Scalar* const sums = products.chunk_sums + c * (R * (R + 1));
    Kokkos::parallel_for(Kokkos::TeamVectorRange(member, R * (R + 1)), [&](int const i) {
      int const r = i / R, s = i % R;
      sums[i] = r < R ? pad.S[r * width + s] : pad.y[s];
    });
  }
};

/// Launches SumChunks for the rows of a range, unless the problem has no workspace for sums.
template <class Space, class Products>
void sum_chunks(Space const& space, Products const& products, SolvedRows const& range) {
  count_t const first = ceil_div(range.begin, products.chunk), last = range.end / products.chunk;
  if (products.chunk_sums == nullptr || first >= last) return;
  using Pad           = typename Products::Pad;
  constexpr int lanes = Products::Row::lanes;
  LaunchShape const shape{last - first, team_threads<Space>(lanes), lanes};
  auto policy     = team_policy<Kokkos::Schedule<Kokkos::Dynamic>>(space, shape);
  int const level = set_row_scratch(
      space, shape, Pad::size(Products::tile_rows, products.width) * sizeof(typename Products::scalar_type),
      policy);
  launch("polyad::sum_chunks", policy,
         SumChunks<Products>{products, range.starts, range.rows, first, range.least, level});
}

}  // namespace polyad::detail
