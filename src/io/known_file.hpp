// SPDX-License-Identifier: BSD-3-Clause
// Files that are neither tensors nor models, by their first bytes, so that a message can name them instead of
// quoting their bytes.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "io/archive/zip.hpp"

namespace polyad::io {

/// What a file of another program is and what to do with it, for a message, after its name: "is a Parquet
/// file: read it with pandas, and give the table to polyad.asarray". Nothing for files that are not known.
[[nodiscard]] std::optional<std::string> describe_foreign_file(std::string_view start);

/// The same for a file of Polyad that is not text, found where text is expected.
[[nodiscard]] std::optional<std::string> describe_own_file(std::string_view start);

inline constexpr std::string_view cp_model          = "a CP model";
inline constexpr std::string_view tucker_model      = "a Tucker model";
inline constexpr std::string_view fast_tucker_model = "a model of fast-tucker";
inline constexpr std::string_view sparse_tensor     = "a sparse tensor";

/// What an archive holds, according to the names of its members; empty if they do not say.
[[nodiscard]] std::string archive_kind(std::vector<ZipMember> const& members);

}  // namespace polyad::io
