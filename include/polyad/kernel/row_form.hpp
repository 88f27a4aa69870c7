// SPDX-License-Identifier: BSD-3-Clause
// The form of TinyVec for a launch: SIMD registers on a host, packed rows on a device. GenTen's strided form
// is used if it is faster, if it is requested, and if parts of rows are not aligned.
#pragma once

#include <type_traits>

#include "polyad/core/spaces.hpp"
#include "polyad/kernel/tiny_vec.hpp"

namespace polyad {

template <RowForm Form>
using row_form_constant = std::integral_constant<RowForm, Form>;

/// Calls f(row_form_constant<Form>), with the strided form if rows should be packed but are not.
template <class Space, class F>
void with_row_form(bool packed, F&& f) {
  if constexpr (row_form<Space> == RowForm::packed)
    if (!packed) return f(row_form_constant<RowForm::strided>{});
  f(row_form_constant<row_form<Space>>{});
}

/// Calls walk(columns) for the columns of one lane. A host's walk gets a type for whole blocks and
/// another one for blocks that are cut off (TinyVec's CutColumns): GCC runs out of registers if one walk
/// does both. The block is one of for_each_column_block, for_each_wide_block or for_each_kernel_shape.
template <class Row, class Walk>
KOKKOS_FORCEINLINE_FUNCTION void with_cut_columns(Columns const& columns, Walk const& walk) {
  if constexpr (Row::form == RowForm::simd) {
    if constexpr (!is_tight_block(Row::width))
      if (columns.count == Row::width) return walk(typename Row::WholeColumns(columns));
    walk(typename Row::CutColumns(columns));
  } else {
    walk(columns);
  }
}

/// Rows that a thread sums at the same time. On a host the registers limit them; on a device they are
/// `on_device`.
template <class Row>
constexpr int rows_at_once(int on_device) {
  if constexpr (requires { Row::rows_in_registers; })
    return Row::rows_in_registers;
  else
    return on_device;
}

}  // namespace polyad
