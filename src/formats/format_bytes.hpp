// SPDX-License-Identifier: BSD-3-Clause
// The memory of the format that a driver will be given, for plans of a run's memory (core/memory_plan.hpp).
#pragma once

#include <string>

#include "polyad/core/types.hpp"
#include "polyad/formats/any_format.hpp"

namespace polyad::detail {

struct FormatBytes {
  std::string name;
  count_t stored    = 0;  // without the arrays of the tensor that it shares
  count_t built     = 0;  // the most that its build holds in addition to the coordinates
  count_t workspace = 0;
  bool shares       = false;  // the tensor's coordinates and values
};

/// The format that any_format will choose for nonzeros of these extents, or the named one. Without
/// options.survey it assumes that as many rows occur as the nonzeros allow.
template <class Scalar, class Index, class Space>
[[nodiscard]] FormatBytes format_bytes(Space const& space, Extents const& extents, count_t nnz,
                                       AnyFormatOptions const& options);

}  // namespace polyad::detail
