// SPDX-License-Identifier: BSD-3-Clause
// Checks of names before they are written, and after they were read.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "polyad/io/labels.hpp"

namespace polyad::io {

/// \throws UsageError unless there are no labels, or some for each of these modes and rows
void expect_names_fit(RowNames const& names, std::vector<std::uint64_t> const& extents);

/// Whether a mode has a name, or rows have labels.
[[nodiscard]] bool holds_names(Labels const& labels);

/// Whether the ends of texts that were read increase up to the number of their bytes.
[[nodiscard]] bool do_ends_fit(std::string_view bytes, std::vector<std::uint64_t> const& ends);

/// Whether each of these texts is UTF-8. Their ends must fit.
[[nodiscard]] bool are_utf8(std::string_view bytes, std::vector<std::uint64_t> const& ends);

}  // namespace polyad::io
