// SPDX-License-Identifier: BSD-3-Clause
// Which form of TinyVec a launch takes: SIMD registers on a host; on a device packed rows where all rows
// are aligned, strided ones otherwise or where a benchmark asks for GenTen's form.
#pragma once

#include <type_traits>

#include "polyad/core/spaces.hpp"
#include "polyad/kernel/tiny_vec.hpp"

namespace polyad {

template <RowForm Form>
using row_form_constant = std::integral_constant<RowForm, Form>;

/// Calls f(row_form_constant<Form>) with the form that serves rows on Space.
template <class Space, class F>
void with_row_form(bool packed, F&& f) {
  if constexpr (!is_device_space<Space>)
    f(row_form_constant<RowForm::simd>{});
  else if (packed)
    f(row_form_constant<RowForm::packed>{});
  else
    f(row_form_constant<RowForm::strided>{});
}

/// Rows that a thread sums at the same time: what the registers hold on a host, `on_device` on a device.
template <class Row>
constexpr int rows_at_once(int on_device) {
  if constexpr (requires { Row::rows_in_registers; })
    return Row::rows_in_registers;
  else
    return on_device;
}

}  // namespace polyad
