// SPDX-License-Identifier: BSD-3-Clause
// Named dense arrays as .npz, as in numpy: the tool's matrices, products and Tucker decompositions.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "polyad/io/labels.hpp"
#include "polyad/tensor/stored_rows.hpp"

namespace polyad::io {

struct HostArray {
  std::vector<std::uint64_t> shape;
  std::vector<double> elements;  // row-major
};

/// An array of floats or doubles, all finite, with `order` indices (2: a matrix).
/// \throws InputError if there is none of that name, or it has another number of indices
[[nodiscard]] HostArray read_array_npz(std::filesystem::path const& path, std::string const& name,
                                       std::size_t order);

/// The matrices factor_0, factor_1, ... of a model or a Tucker decomposition, by their modes; gaps are
/// allowed.
/// \throws InputError
[[nodiscard]] std::map<int, HostArray> read_factors_npz(std::filesystem::path const& path);

/// The rows that a model's archive stores (docs/file-formats.md): the arrays `rows_n` and `extents`. Empty if
/// all rows are stored.
/// \param extents  the rows of the factors, one for each mode; they are replaced by the extents of the modes
/// \throws InputError unless each list increases strictly, is below the mode's extent and has the factor's
///         rows
[[nodiscard]] std::vector<StoredRows> read_rows_npz(std::filesystem::path const& path,
                                                    std::vector<std::uint64_t>& extents);

/// The names of the rows of an archive's modes (docs/file-formats.md).
/// \param extents  the rows of each mode
/// \throws InputError for names of other modes and rows
[[nodiscard]] RowNames read_names_npz(std::filesystem::path const& path,
                                      std::vector<std::uint64_t> const& extents);

/// Writes all arrays or none. \param single_precision  float instead of double, rounded
/// \param rows  lists of rows, which are written as read_rows_npz reads them; empty: none
/// \param names  what the rows are called
/// \throws WriteError; the previous file then stays
void write_arrays_npz(std::filesystem::path const& path, std::map<std::string, HostArray> const& arrays,
                      bool single_precision, std::vector<StoredRows> const& rows = {},
                      RowNames const& names = {});

}  // namespace polyad::io
