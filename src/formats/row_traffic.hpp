// SPDX-License-Identifier: BSD-3-Clause
// The rates at which a machine gathers random rows and adds to random rows with atomics. Rows are read and
// written through TinyVec in the MTTKRPs' blocks of columns, four at a time. The benchmarks compare the
// kernels with these two rates, and the cost model uses them as ceilings.
#pragma once

#include <Kokkos_Core.hpp>
#include <cstdint>

#include "kernel/launch.hpp"
#include "polyad/core/counter_rng.hpp"
#include "polyad/kernel/chunk_walk.hpp"
#include "polyad/kernel/rank_dispatch.hpp"
#include "polyad/kernel/row_form.hpp"
#include "polyad/tensor/factor_matrices.hpp"

namespace polyad::detail {

/// Row numbers spread over `distinct` of the table's rows.
template <class Space>
struct RandomRows {
  Kokkos::View<std::uint32_t*, Space> rows;
  count_t table_rows;
  count_t distinct;
  KOKKOS_FUNCTION void operator()(count_t p) const {
    count_t const which = counter_bits(1, 0, p, 0) % distinct;
    rows(p)             = static_cast<std::uint32_t>(which * (table_rows / distinct));
  }
};

/// Sums the rows of the table that a chunk names. Each chunk writes one sum, so that no read is optimized
/// away.
template <class Space, class Scalar, int Block, RowForm Form>
struct GatherRows {
  using Row = TinyVec<Space, Scalar, Block, Form>;
  std::uint32_t const* rows;
  Scalar const* table;
  count_t stride;
  Scalar* sums;  // chunks x R
  ChunkWalk chunks;

  template <class Member>
  KOKKOS_FUNCTION void operator()(Member const& member) const {
    chunks.template operator()<Row, Block>(member, [&](count_t begin, count_t end, Columns columns) {
      Row sum[4] = {Row(Scalar(0)), Row(Scalar(0)), Row(Scalar(0)), Row(Scalar(0))};
      count_t p  = begin;
      for (; p + 4 <= end; p += 4) {
        auto const row = *reinterpret_cast<Pack<std::uint32_t, 4> const*>(rows + p);
        for (int u = 0; u < 4; ++u) sum[u] += Row(table + row.element[u] * stride, columns);
      }
      for (; p < end; ++p) sum[0] += Row(table + rows[p] * stride, columns);
      for (int u = 1; u < 4; ++u) sum[0] += sum[u];
      sum[0].store(sums + begin / chunks.chunk * stride, columns);
    });
  }
};

/// Adds a row of ones to every row that a chunk names.
template <class Space, class Scalar, int Block, RowForm Form>
struct AddRows {
  using Row = TinyVec<Space, Scalar, Block, Form>;
  std::uint32_t const* rows;
  Scalar* table;
  count_t stride;
  ChunkWalk chunks;

  template <class Member>
  KOKKOS_FUNCTION void operator()(Member const& member) const {
    chunks.template operator()<Row, Block>(member, [&](count_t begin, count_t end, Columns columns) {
      Row const one(Scalar(1));
      for (count_t p = begin; p < end; ++p) one.atomic_add_to(table + rows[p] * stride, columns);
    });
  }
};

/// rows(0), rows(1), ...: random ones of `distinct` rows that are spread over the table.
template <class Space>
void choose_rows(Space const& space, Kokkos::View<std::uint32_t*, Space> const& rows, count_t table_rows,
                 count_t distinct) {
  Kokkos::parallel_for("polyad::choose_rows",
                       Kokkos::RangePolicy<Space, Kokkos::IndexType<count_t>>(space, 0, rows.extent(0)),
                       RandomRows<Space>{rows, table_rows, Kokkos::min(distinct, table_rows)});
}

template <class Kernel, class Space, class Make>
void walk_rows(Space const& space, char const* label, count_t accesses, ColumnBlocks blocks,
               Make const& make) {
  using Row = typename Kernel::Row;
  ChunkWalk const chunks{accesses, chunk_length(space, accesses, Row::lanes), blocks};
  detail::launch(label, chunks.template policy<Row>(space), make(chunks));
}

/// Gathers the rows that `rows` names, in blocks of columns of the width Block.
/// \param sums  accesses / 16 rows of the table's stride
template <int Block, class Space, class Scalar>
void gather_rows(Space const& space, std::uint32_t const* rows, count_t accesses,
                 FactorMatrix<Scalar, Space> const& table, Scalar* sums, ColumnBlocks blocks) {
  with_row_form<Space>(true, [&](auto form) {
    using Kernel = GatherRows<Space, Scalar, Block, form()>;
    detail::walk_rows<Kernel>(space, "polyad::gather_rows", accesses, blocks, [&](ChunkWalk const& chunks) {
      return Kernel{rows, table.data(), table.stride(0), sums, chunks};
    });
  });
}

/// Adds one to the rows that `rows` names. If others add to the same row, its entries are added with atomics.
template <int Block, class Space, class Scalar>
void add_rows(Space const& space, std::uint32_t const* rows, count_t accesses,
              FactorMatrix<Scalar, Space> const& table, ColumnBlocks blocks) {
  // Doubles have no wide atomic. Strided lanes are faster there, since their addresses are next to each
  // other.
  with_row_form<Space>(sizeof(Scalar) == sizeof(float), [&](auto form) {
    using Kernel = AddRows<Space, Scalar, Block, form()>;
    detail::walk_rows<Kernel>(space, "polyad::add_rows", accesses, blocks, [&](ChunkWalk const& chunks) {
      return Kernel{rows, table.data(), table.stride(0), chunks};
    });
  });
}

}  // namespace polyad::detail
