// SPDX-License-Identifier: BSD-3-Clause
// A sparse tensor as a file gives it: a list of coordinates and values in host memory, in the file's order,
// duplicates included. What the readers return and what polyad::upload takes.
#pragma once

#include <cstdint>
#include <type_traits>
#include <variant>
#include <vector>

#include "polyad/io/uninitialized_vector.hpp"

namespace polyad::io {

struct CoordinateList {
  /// I_0, ..., I_{N-1}
  std::vector<std::uint64_t> extents;
  /// nnz x N, row-major, counted from 0; 32-bit whenever every extent fits 32 bits.
  std::variant<UninitializedVector<std::uint32_t>, UninitializedVector<std::uint64_t>> indices;
  UninitializedVector<double> values;

  [[nodiscard]] int order() const noexcept { return static_cast<int>(extents.size()); }
  [[nodiscard]] std::uint64_t nnz() const noexcept { return values.size(); }
  [[nodiscard]] bool wide() const noexcept { return indices.index() == 1; }

  /// Bytes of the arrays.
  [[nodiscard]] std::uint64_t bytes() const {
    return std::visit(
        [&](auto const& list) {
          using Index = typename std::remove_cvref_t<decltype(list)>::value_type;
          return list.size() * sizeof(Index) + values.size() * sizeof(double);
        },
        indices);
  }
};

}  // namespace polyad::io
