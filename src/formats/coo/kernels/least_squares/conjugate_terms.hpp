// SPDX-License-Identifier: BSD-3-Clause
// ConjugateTerms: what the nonzeros of a row add to M v in conjugate_rows.hpp, the sum of alpha x (p . v) p.
//
// A row of at most two blocks of columns has its sum, v and the products p of some nonzeros in the registers
// of a device's lanes (add_in_registers): reading them from memory twice, as add_few does for other rows,
// took twice as long (R = 64, 30 million nonzeros, H200).
#pragma once

#include <Kokkos_Core.hpp>

#include "polyad/core/types.hpp"
#include "polyad/kernel/columns.hpp"
#include "polyad/kernel/lanes.hpp"
#include "polyad/kernel/machine.hpp"
#include "polyad/kernel/rank_dispatch.hpp"
#include "polyad/kernel/unrolled.hpp"

namespace polyad::detail {

template <class Space, class Products>
struct ConjugateTerms {
  using Row    = typename Products::Row;
  using Scalar = typename Products::scalar_type;

  static constexpr int block = Products::block;
  static constexpr int lanes = Row::lanes;
  /// Whether whole blocks have code of their own, in which the compiler knows their number of columns. Hosts
  /// have it. For a device, it would take minutes to compile.
  static constexpr bool tells_whole_blocks = team_threads<Space>(lanes) == 1;
  /// Nonzeros whose sums a thread forms at the same time.
  static constexpr int together = 4;

  Products products;

  /// The lane's columns of the block that starts at column `first`.
  [[nodiscard]] KOKKOS_FORCEINLINE_FUNCTION Columns of_block(int first, int lane) const {
    return Row::columns(first, products.R, lane);
  }
  /// The same for a block that column R does not cut off: the compiler knows how many they are.
  [[nodiscard]] KOKKOS_FORCEINLINE_FUNCTION Columns of_whole_block(int first, int lane) const {
    return {of_block(first, lane).first, Row::width};
  }
  /// Calls f(columns) for the blocks of a row that have columns of the lane.
  template <class F>
  KOKKOS_FORCEINLINE_FUNCTION void each_block(int lane, F const& f) const {
    int first = 0;
    if constexpr (tells_whole_blocks)
      for (; first + block <= products.R; first += block) f(of_whole_block(first, lane));
    for (; first < products.R; first += block) {
      Columns const columns = of_block(first, lane);
      if (columns.count > 0) f(columns);
    }
  }
  /// The sum over all columns of first(columns) times second(columns). All lanes of a thread call it.
  template <class First, class Second>
  KOKKOS_FORCEINLINE_FUNCTION Scalar dot(int lane, First const& first, Second const& second) const {
    Scalar all = 0;
    int at     = 0;
    if constexpr (tells_whole_blocks) {
      // The elements of whole blocks are summed first.
      Row sum(Scalar(0));
      for (; at + block <= products.R; at += block) {
        Columns const columns = of_whole_block(at, lane);
        sum.multiply_add(first(columns), second(columns));
      }
      all = sum.dot(Row(Scalar(1)), Columns{0, Row::width});
    }
    for (; at < products.R; at += block) {
      Columns const columns = of_block(at, lane);
      if (columns.count > 0) all += first(columns).dot(second(columns), columns);
    }
    return sum_over_lanes<lanes>(all);
  }

  /// What a nonzero x adds is this times p. `target` is 1 for M c - y, and 0 for M v.
  /// \param score  p . v
  [[nodiscard]] KOKKOS_FORCEINLINE_FUNCTION Scalar share_of(Scalar x, Scalar score, Scalar target) const {
    Scalar const w = static_cast<Scalar>(products.alpha) * x;
    return x > 0 ? w * score - (1 + w) * target : Scalar(0);
  }
  /// out += the sum over Count nonzeros with x > 0, from p on and `stride` apart, of
  /// (alpha x p . in - (1 + alpha x) target) p. Those from `end` on count as zeros.
  template <int Count>
  KOKKOS_FORCEINLINE_FUNCTION void add_few(int lane, count_t p, count_t end, count_t stride, Scalar target,
                                           Scalar const* in, Scalar* out) const {
    auto const& source  = products.source;
    auto const& factors = products.factors;
    using At            = decltype(source.template at<1>(p));
    At at[Count];
    Scalar const* rows_of_first[Count];
    Scalar share[Count];
    unrolled<Count>([&](auto u) {
      count_t const q  = p + u * stride;
      at[u]            = source.template at<1>((q < end ? q : p) - products.origin);
      rows_of_first[u] = factors.row(0, source.template indices<1>(at[u], 0).element[0]);
    });
    auto const product = [&](auto u, Columns const& columns) {
      Row row(rows_of_first[u], columns);
      for (int m = 1; m < factors.size(); ++m)
        row *= Row(factors.row(m, source.template indices<1>(at[u], m).element[0]), columns);
      return row;
    };
    unrolled<Count>([&](auto u) {
      Scalar const score = dot(
          lane, [&](Columns const& columns) { return product(u, columns); },
          [&](Columns const& columns) { return Row(in, columns); });
      Scalar const x = p + u * stride < end ? source.value(at[u], 0) : Scalar(0);
      share[u]       = share_of(x, score, target);
    });
    each_block(lane, [&](Columns const& columns) {
      Row sum(out, columns);
      unrolled<Count>([&](auto u) { sum.multiply_add(share[u], product(u, columns)); });
      sum.store(out, columns);
    });
  }
  /// As add_few for all nonzeros from begin to end - 1 that are `stride` apart, for a row of at most Blocks
  /// blocks of columns, whose numbers stay in registers.
  template <int Blocks>
  KOKKOS_FORCEINLINE_FUNCTION void add_in_registers(int lane, count_t begin, count_t end, count_t stride,
                                                    Scalar target, Scalar const* in, Scalar* out) const {
    auto const& source  = products.source;
    auto const& factors = products.factors;
    using At            = decltype(source.template at<1>(begin));
    auto const part     = [&](Scalar const* row, int b) {
      Columns const columns = of_block(b * block, lane);
      return columns.count > 0 ? Row(row, columns) : Row(Scalar(0));
    };
    Row from[Blocks], sum[Blocks];
    unrolled<Blocks>([&](auto b) {
      from[b] = part(in, b);
      sum[b]  = part(out, b);
    });
    for (count_t p = begin; p < end; p += together * stride) {
      At at[together];
      Row row[together][Blocks];
      unrolled<together>([&](auto u) {
        count_t const q           = p + u * stride;
        at[u]                     = source.template at<1>((q < end ? q : p) - products.origin);
        Scalar const* const first = factors.row(0, source.template indices<1>(at[u], 0).element[0]);
        unrolled<Blocks>([&](auto b) { row[u][b] = part(first, b); });
      });
      for (int m = 1; m < factors.size(); ++m)
        unrolled<together>([&](auto u) {
          Scalar const* const other = factors.row(m, source.template indices<1>(at[u], m).element[0]);
          unrolled<Blocks>([&](auto b) { row[u][b] *= part(other, b); });
        });
      unrolled<together>([&](auto u) {
        Row score(Scalar(0));
        unrolled<Blocks>([&](auto b) { score.multiply_add(row[u][b], from[b]); });
        Scalar const dot   = sum_over_lanes<lanes>(score.dot(Row(Scalar(1)), Columns{0, Row::width}));
        Scalar const x     = p + u * stride < end ? source.value(at[u], 0) : Scalar(0);
        Scalar const share = share_of(x, dot, target);
        unrolled<Blocks>([&](auto b) { sum[b].multiply_add(share, row[u][b]); });
      });
    }
    unrolled<Blocks>([&](auto b) {
      Columns const columns = of_block(b * block, lane);
      if (columns.count > 0) sum[b].store(out, columns);
    });
  }
  /// The same for all nonzeros from begin to end - 1 that are `stride` apart.
  template <class Member>
  KOKKOS_FUNCTION void add_part(Member const& member, count_t begin, count_t end, count_t stride,
                                Scalar target, Scalar const* in, Scalar* out) const {
    Kokkos::parallel_for(Kokkos::ThreadVectorRange(member, lanes), [&](int const lane) {
      if constexpr (!tells_whole_blocks) {
        if (products.R <= block) return add_in_registers<1>(lane, begin, end, stride, target, in, out);
        if constexpr (block == full_block)
          if (products.R <= 2 * block) return add_in_registers<2>(lane, begin, end, stride, target, in, out);
      }
      count_t p = begin;
      // The last few of a row are added one by one on a host, which would compute all of them.
      count_t const left = tells_whole_blocks ? (together - 1) * stride : 0;
      for (; p + left < end; p += together * stride) add_few<together>(lane, p, end, stride, target, in, out);
      if constexpr (tells_whole_blocks)
        for (; p < end; p += stride) add_few<1>(lane, p, end, stride, target, in, out);
    });
  }
};

}  // namespace polyad::detail
