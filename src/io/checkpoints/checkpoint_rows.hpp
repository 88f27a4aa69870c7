// SPDX-License-Identifier: BSD-3-Clause
// Rows in checkpoints: those of factors, which are read in blocks, and the lists of stored rows. A list is
// the number of the rows of a mode, or no_list, and their numbers.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "io/checkpoints/checkpoint_fields.hpp"
#include "io/memory/element_blocks.hpp"
#include "polyad/io/checkpoint.hpp"
#include "polyad/tensor/stored_rows.hpp"

namespace polyad::io {

/// The factor of mode n as `read` returns it, which must outlive the result. \param rows  the number of
/// stored rows
inline ElementBlocks blocks_read_by(ReadFactorRows const& read, std::size_t n, std::uint64_t rows,
                                    std::uint64_t columns) {
  auto next = [&read, n, block = std::vector<double>()](std::uint64_t first, std::uint64_t count) mutable {
    block = read(n, first, count);
    return std::span<double const>(block);
  };
  return {rows, columns, std::move(next), false};
}

inline constexpr std::uint64_t no_list = ~std::uint64_t(0);

/// \param rows  if it is empty, no mode has a list
inline void write_rows(FieldWriter& writer, std::vector<StoredRows> const& rows, std::size_t order) {
  for (std::size_t n = 0; n < order; ++n) {
    bool const is_list = !rows.empty() && rows[n].is_list();
    writer.u64(is_list ? rows[n].size() : no_list);
    if (!is_list) continue;
    for (std::uint64_t const row : rows[n].numbers()) writer.u64(row);
  }
}

/// Empty if no mode has a list.
inline std::vector<StoredRows> read_rows(CheckpointReader& reader,
                                         std::vector<std::uint64_t> const& extents) {
  std::vector<StoredRows> rows;
  for (std::uint64_t const extent : extents) {
    std::uint64_t const count = reader.u64();
    if (count == no_list) {
      rows.emplace_back(extent);
      continue;
    }
    if (count > reader.fields().left() / 8)
      reader.fields().refuse("is too short for " + std::to_string(count) + " rows");
    std::vector<std::uint64_t> numbers(count);
    for (auto& number : numbers) number = reader.u64();
    std::string const fault = StoredRows::fault_of(extent, numbers);
    if (!fault.empty()) reader.fields().refuse("has a list of rows that " + fault);
    rows.emplace_back(extent, std::move(numbers));
  }
  if (std::ranges::none_of(rows, [](StoredRows const& of_mode) { return of_mode.is_list(); })) rows.clear();
  return rows;
}

}  // namespace polyad::io
