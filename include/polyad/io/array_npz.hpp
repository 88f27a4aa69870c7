// SPDX-License-Identifier: BSD-3-Clause
// Named dense arrays as .npz, as in numpy: the tool's matrices, products and Tucker decompositions.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

namespace polyad::io {

struct HostArray {
  std::vector<std::uint64_t> shape;
  std::vector<double> elements;  // row-major
};

/// An array of floats or doubles, all finite, with `order` indices (2: a matrix).
/// \throws InputError when there is none of that name, or it has another number of indices
[[nodiscard]] HostArray read_array_npz(std::filesystem::path const& path, std::string const& name,
                                       std::size_t order);

/// The matrices factor_0, factor_1, ... of a model or a Tucker decomposition, by their modes; gaps are
/// allowed.
/// \throws InputError
[[nodiscard]] std::map<int, HostArray> read_factors_npz(std::filesystem::path const& path);

/// All arrays or nothing. \param single_precision  float instead of double, rounded
/// \throws WriteError; the previous file then stays
void write_arrays_npz(std::filesystem::path const& path, std::map<std::string, HostArray> const& arrays,
                      bool single_precision);

}  // namespace polyad::io
