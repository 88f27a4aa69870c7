// SPDX-License-Identifier: BSD-3-Clause
// The error for a nonzero whose indices are not all below the extents. Free of Kokkos.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <type_traits>

#include "polyad/core/error.hpp"

namespace polyad::detail {

/// The text of an index. If its highest bit is set, the text also shows the negative number that the same
/// bits mean as a signed integer.
template <class Index>
std::string index_text(Index index) {
  std::string text = std::to_string(index);
  if (index > std::numeric_limits<Index>::max() / 2)
    text += " (" + std::to_string(static_cast<std::make_signed_t<Index>>(index)) + " as a signed number)";
  return text;
}

/// \param index  of nonzero p, one for each mode
/// \throws UsageError naming the first mode whose index is outside
template <class Index>
void expect_nonzero_inside(std::span<std::uint64_t const> extents, std::uint64_t p, Index const* index) {
  for (std::size_t n = 0; n < extents.size(); ++n)
    POLYAD_EXPECTS(index[n] < extents[n], "nonzero ", p, " is outside the tensor: it has index ",
                   index_text(index[n]), " in mode ", n, " of ", extents[n], " rows");
}

}  // namespace polyad::detail
