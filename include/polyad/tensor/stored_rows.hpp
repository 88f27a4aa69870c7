// SPDX-License-Identifier: BSD-3-Clause
// StoredRows: which rows of a mode a model stores. Either all of them, or those of a list. Rows that are not
// in the list do not occur in the tensor that the model was fitted to, and count as zero. Free of Kokkos,
// since files have lists of rows, too.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "polyad/core/error.hpp"

namespace polyad {

/// The rows that are stored of a mode with I_n rows. A position is a stored row's place among them, which is
/// its row in the factor matrix.
class StoredRows {
public:
  /// "This row is not stored."
  static constexpr std::uint64_t none = std::numeric_limits<std::uint64_t>::max();

  StoredRows() = default;
  /// All rows.
  explicit StoredRows(std::uint64_t extent) : m_extent(extent) {}
  /// \param numbers  row numbers in the tensor, from 0
  /// \throws UsageError unless they increase strictly and are below the extent
  StoredRows(std::uint64_t extent, std::vector<std::uint64_t> numbers)
      : m_extent(extent), m_numbers(std::move(numbers)), m_is_list(true) {
    std::string const fault = fault_of(extent, m_numbers);
    if (!fault.empty()) throw UsageError("a list of rows " + fault);
  }

  /// What is wrong with the numbers of a list, as the end of a sentence; empty if nothing is.
  [[nodiscard]] static std::string fault_of(std::uint64_t extent, std::span<std::uint64_t const> numbers) {
    for (std::size_t k = 0; k < numbers.size(); ++k) {
      if (k > 0 && numbers[k] <= numbers[k - 1])
        return "does not increase: row " + std::to_string(numbers[k]) + " follows row " +
               std::to_string(numbers[k - 1]);
      if (numbers[k] >= extent)
        return "has row " + std::to_string(numbers[k]) + " of a mode of " + std::to_string(extent) + " rows";
    }
    return {};
  }

  [[nodiscard]] bool is_list() const noexcept { return m_is_list; }
  /// I_n, the rows of the tensor.
  [[nodiscard]] std::uint64_t extent() const noexcept { return m_extent; }
  /// The rows that are stored.
  [[nodiscard]] std::uint64_t size() const noexcept { return m_is_list ? m_numbers.size() : m_extent; }
  /// The numbers of the stored rows, which increase; empty if all rows are stored.
  [[nodiscard]] std::vector<std::uint64_t> const& numbers() const noexcept { return m_numbers; }
  /// The number of the row at a position below size().
  [[nodiscard]] std::uint64_t number(std::uint64_t position) const {
    return m_is_list ? m_numbers[position] : position;
  }
  /// The position of a row, or `none`. Logarithmic in the length of a list.
  [[nodiscard]] std::uint64_t position(std::uint64_t row) const {
    if (!m_is_list) return row < m_extent ? row : none;
    auto const found = std::lower_bound(m_numbers.begin(), m_numbers.end(), row);
    return found != m_numbers.end() && *found == row ? found - m_numbers.begin() : none;
  }

  bool operator==(StoredRows const&) const = default;

private:
  std::uint64_t m_extent = 0;
  std::vector<std::uint64_t> m_numbers;
  bool m_is_list = false;
};

/// The number of rows that are stored of mode n, which has `extent` rows.
/// \param rows  one for each mode, or empty if all rows of all modes are stored
[[nodiscard]] inline std::uint64_t stored_rows(std::vector<StoredRows> const& rows, std::size_t n,
                                               std::uint64_t extent) {
  return rows.empty() ? extent : rows[n].size();
}

}  // namespace polyad
