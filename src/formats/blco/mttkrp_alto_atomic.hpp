// SPDX-License-Identifier: BSD-3-Clause
// The MTTKRP of the format alto on a device, and its residual sweep (formats/blco/nonzero_terms.hpp): as
// MTTKRP-B does (formats/coo/mttkrp_tiny_vec.hpp), in ALTO's order, and the products of nonzeros that follow
// each other in one row are summed before they are added with atomics.
#pragma once

#include <Kokkos_Core.hpp>

#include "formats/blco/nonzero_terms.hpp"
#include "polyad/kernel/chunk_walk.hpp"
#include "polyad/kernel/other_factors.hpp"
#include "polyad/kernel/tiny_vec.hpp"
#include "polyad/kernel/whole_row_walk.hpp"

namespace polyad::detail {

/// A thread's chunk of nonzeros; the sums of runs are added with atomics.
template <class Space, class Scalar, class Index, int Block, int Order, class Term>
struct MttkrpAltoAtomic {
  using Row = TinyVec<Space, Scalar, Block>;

  Index const* indices;  // N x P, row-major
  count_t index_stride;
  Scalar const* values;
  OtherFactors<Scalar, Order> factors;
  int mode;
  Scalar* output;  // I_n x R
  count_t output_stride;
  ChunkWalk chunks;
  Term term;

  /// Nonzeros whose rows are gathered at the same time (see MttkrpSorted, ResidualMttkrp).
  static constexpr int batch = Block < 32 && !Term::is_residual ? 4 : 2;

  struct Run {
    Index row;
    Row sum;
  };

  KOKKOS_FUNCTION void write(Run const& run, Columns columns) const {
    // Any thread may add to this row.
    run.sum.atomic_add_to(output + static_cast<count_t>(run.row) * output_stride, columns);
  }

  template <int Count>
  KOKKOS_FUNCTION void add(count_t p, Run& run, Columns columns) const {
    using Indices = Pack<Index, Count>;
    auto const row =
        *reinterpret_cast<Indices const*>(indices + static_cast<count_t>(mode) * index_stride + p);
    auto const x = *reinterpret_cast<Pack<Scalar, Count> const*>(values + p);
    Row product[Count];
    for (int u = 0; u < Count; ++u) product[u] = Row(term.first_factor(x.element[u]));
    for (int m = 0; m < factors.size(); ++m) {
      auto const k = *reinterpret_cast<Indices const*>(
          indices + static_cast<count_t>(factors.mode(m)) * index_stride + p);
      for (int u = 0; u < Count; ++u) product[u] *= Row(factors.row(m, k.element[u]), columns);
    }
    for (int u = 0; u < Count; ++u) term.complete(product[u], x.element[u], row.element[u], columns);
    for (int u = 0; u < Count; ++u) {
      if (row.element[u] != run.row) {
        write(run, columns);
        run.row = row.element[u];
        run.sum = product[u];
      } else {
        run.sum += product[u];
      }
    }
  }

  KOKKOS_FUNCTION void walk(count_t begin, count_t end, Columns columns) const {
    Run run;
    run.row   = indices[static_cast<count_t>(mode) * index_stride + begin];
    run.sum   = Row(Scalar(0));
    count_t p = begin;
    for (; p + batch <= end; p += batch) add<batch>(p, run, columns);
    for (; p < end; ++p) add<1>(p, run, columns);
    write(run, columns);
  }

  template <class Member>
  KOKKOS_FUNCTION void operator()(Member const& member) const {
    if constexpr (Term::is_residual)
      WholeRowWalk{chunks.nnz, chunks.chunk}.template operator()<Row>(
          member, [&](count_t begin, count_t end, int lane) {
            walk(begin, end, columns_or_none<Row>(0, chunks.blocks.rank, lane));
          });
    else
      chunks.template operator()<Row, Block>(
          member, [&](count_t begin, count_t end, Columns columns) { walk(begin, end, columns); });
  }
};

}  // namespace polyad::detail
