// SPDX-License-Identifier: BSD-3-Clause
// The elements of an array, read in blocks from where they are: a vector, or a matrix of any execution space
// (io/models/saved_models.cpp). A writer that uses them never holds a copy of the array.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <span>
#include <utility>
#include <vector>

#include "io/lists/single_precision.hpp"

namespace polyad::io {

class ElementBlocks {
public:
  /// Elements are doubles here, and at least one whole row is in a block.
  static constexpr std::uint64_t elements_per_block = std::uint64_t{1} << 16;

  /// Returns `rows` rows from row `first` on. What it returns is valid until the next call.
  using ReadRows = std::function<std::span<double const>(std::uint64_t first, std::uint64_t rows)>;

  /// \param are_floats  each element is a float's value
  ElementBlocks(std::uint64_t rows, std::uint64_t columns, ReadRows read, bool are_floats)
      : m_rows(rows), m_columns(columns), m_read(std::move(read)), m_are_floats(are_floats) {}

  /// Refers to `elements`, rows x columns of them, row-major.
  ElementBlocks(std::uint64_t rows, std::uint64_t columns, std::vector<double> const& elements)
      : ElementBlocks(
            rows, columns,
            [all = std::span<double const>(elements), columns](std::uint64_t first, std::uint64_t count) {
              return all.subspan(first * columns, count * columns);
            },
            false) {}

  [[nodiscard]] std::uint64_t rows() const noexcept { return m_rows; }
  [[nodiscard]] std::uint64_t columns() const noexcept { return m_columns; }
  [[nodiscard]] std::uint64_t size() const noexcept { return m_rows * m_columns; }

  /// Calls f(std::span<double const>) with the elements in their order, whole rows at a time.
  template <class F>
  void for_each_block(F const& f) const {
    if (m_columns == 0) return;
    std::uint64_t const most = std::max<std::uint64_t>(1, elements_per_block / m_columns);
    for (std::uint64_t first = 0; first < m_rows; first += most)
      f(m_read(first, std::min(most, m_rows - first)));
  }

  /// Whether no element would become infinite or zero as a float.
  [[nodiscard]] bool fit_floats() const {
    bool fit = true;
    if (!m_are_floats)
      for_each_block([&](std::span<double const> block) {
        fit = fit && std::all_of(block.begin(), block.end(), fits_float);
      });
    return fit;
  }

private:
  std::uint64_t m_rows, m_columns;
  ReadRows m_read;
  bool m_are_floats;
};

}  // namespace polyad::io
