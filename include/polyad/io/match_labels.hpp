// SPDX-License-Identifier: BSD-3-Clause
// One numbering for two tables: the rows of the second get those of the labels of the first.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "polyad/io/labels.hpp"
#include "polyad/io/tensor_file.hpp"

namespace polyad::io {

/// Labels of one mode that the first table does not have.
struct UnknownLabels {
  std::uint64_t count = 0;
  std::string first   = {};  // one of them
};

/// Numbers the rows of `second` as `first` does. Modes with the same names in another order are put into that
/// of the first. Labels that the first does not have become new rows, after those of the first. Returns them
/// for each mode.
/// \param first    a tensor's or a model's labels; \param extents  its rows, one number for each mode
/// \throws UsageError if only one of them has labels in a mode, or names or the number of modes differ
std::vector<UnknownLabels> match_labels(TensorFile& second, Labels const& first,
                                        std::vector<std::uint64_t> const& extents);

}  // namespace polyad::io
