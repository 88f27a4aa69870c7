// SPDX-License-Identifier: BSD-3-Clause
// The strategy AltoAtomics of the format alto (formats/blco/costs/blco_tuning.hpp): its MTTKRP and its
// residual sweep (formats/blco/kernels/nonzero_terms.hpp). It is GenTen's MTTKRP-B in ALTO's order, with a
// sum for each run of nonzeros of one row.
//
//   for each nonzero p of the thread's chunk, a pack at a time    walk()
//     tmp = x times the other factors' rows                       add(): product[u]
//     in the run's row k: sum += tmp                              add(): the last loop
//     otherwise V(k, :) += sum, with atomics                      write()
//
// Summing runs first saves an atomic row for each nonzero that follows one of the same row.
//
// The walk is not WalkInOrder (formats/walks/walk_in_order.hpp): a row comes back in many runs of a chunk, so
// none is stored as a whole, and a residual's row of C is read for each nonzero, not for each run.
#pragma once

#include <Kokkos_Core.hpp>

#include "formats/blco/costs/blco_tuning.hpp"
#include "formats/blco/kernels/nonzero_terms.hpp"
#include "formats/blco/storage/alto.hpp"
#include "kernel/launch.hpp"
#include "kernel/launch_shape.hpp"
#include "kernel/rows_at.hpp"
#include "polyad/core/types.hpp"
#include "polyad/kernel/chunk_walk.hpp"
#include "polyad/kernel/other_factors.hpp"
#include "polyad/kernel/rank_dispatch.hpp"
#include "polyad/kernel/tiny_vec.hpp"
#include "polyad/tensor/factor_matrices.hpp"

namespace polyad::detail {

/// A thread's chunk of nonzeros; the sums of runs are added with atomics.
template <class Vec, class Index, int Order, class Term>
struct MttkrpAltoAtomics {
  using Row    = Vec;
  using Scalar = typename Row::scalar_type;

  Index const* indices;  // N x P, row-major
  count_t index_stride;
  Scalar const* values;
  OtherFactors<Scalar, Order> factors;
  int mode;
  RowsAt<Scalar> output;  // I_n x R
  ChunkWalk chunks;
  Term term;

  /// Nonzeros whose rows are gathered at the same time, limited by the registers. A residual keeps one more
  /// row.
  static constexpr int batch =
      rows_in_flight<typename Row::space_type>(Row::block < 32 && !Term::is_residual ? 4 : 2);

  struct Run {
    Index row;
    Row sum;
  };

  KOKKOS_FUNCTION void write(Run const& run, Columns columns) const {
    // Any thread may add to this row.
    run.sum.atomic_add_to(output.row(run.row), columns);
  }

  template <int Count>
  KOKKOS_FUNCTION void add(count_t p, Run& run, Columns columns) const {
    using Indices  = Pack<Index, Count>;
    auto const row = *reinterpret_cast<Indices const*>(indices + mode * index_stride + p);
    auto const x   = *reinterpret_cast<Pack<Scalar, Count> const*>(values + p);
    Row product[Count];
    for (int u = 0; u < Count; ++u) product[u] = Row(term.first_factor(x.element[u]));
    for (int m = 0; m < factors.size(); ++m) {
      auto const k = *reinterpret_cast<Indices const*>(indices + factors.mode(m) * index_stride + p);
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
    run.row   = indices[mode * index_stride + begin];
    run.sum   = Row(Scalar(0));
    count_t p = begin;
    for (; p + batch <= end; p += batch) add<batch>(p, run, columns);
    for (; p < end; ++p) add<1>(p, run, columns);
    write(run, columns);
  }

  template <class Member>
  KOKKOS_FUNCTION void operator()(Member const& member) const {
    walk_chunks<Row, Term>(chunks, member,
                           [&](count_t begin, count_t end, Columns columns) { walk(begin, end, columns); });
  }
};

/// What the walks of one mode read and write.
template <class Scalar, class Space>
struct AltoAtomicOperands {
  FactorMatrices<Scalar, Space> factors;
  FactorMatrix<Scalar, Space> V;
};

/// V is zero from here on. Does not wait.
template <class Space, class Scalar, class Index>
AltoAtomicOperands<Scalar, Space> alto_operands(AltoAtomics, Space const& space,
                                                Alto<Scalar, Index, Space> const& /*X*/,
                                                FactorMatrices<Scalar, Space> const& factors, int /*mode*/,
                                                AltoWorkspace<Scalar, Space> const& /*workspace*/,
                                                FactorMatrix<Scalar, Space> const& V) {
  zero_matrix(space, V);
  return {factors, V};
}

/// V += the terms of X's nonzeros with these values, for some blocks of columns. Does not wait. Residual
/// sweeps are compiled only for any order.
template <class Row, class Space, class Scalar, class Index, class Term>
void launch_alto(AltoAtomics, Space const& space, Alto<Scalar, Index, Space> const& X, Scalar const* values,
                 AltoAtomicOperands<Scalar, Space> const& operands, int mode, ColumnBlocks blocks,
                 Term const& term) {
  ChunkWalk const chunks{X.nnz(), chunk_length(space, X.nnz(), Row::lanes), blocks};
  with_order<sizeof(Index) == 8 || Term::is_residual>(X.extents().order(), [&](auto order) {
    detail::launch(
        "polyad::mttkrp_alto", chunks.template policy<Row>(space),
        MttkrpAltoAtomics<Row, Index, order(), Term>{X.indices().data(), X.indices().stride(0), values,
                                                     OtherFactors<Scalar, order()>(operands.factors, mode),
                                                     mode, RowsAt<Scalar>(operands.V), chunks, term});
  });
}

/// Nothing is left to do: the atomics added all terms to V.
template <class Space, class Scalar, class Index>
void finish_alto(AltoAtomics, Space const& /*space*/, Alto<Scalar, Index, Space> const& /*X*/, int /*mode*/,
                 AltoWorkspace<Scalar, Space> const& /*workspace*/,
                 FactorMatrix<Scalar, Space> const& /*V*/) {}

}  // namespace polyad::detail
