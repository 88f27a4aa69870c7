// SPDX-License-Identifier: BSD-3-Clause
#pragma once

namespace polyad::cli {

/// The commit that this was built from, "unknown" outside git.
[[nodiscard]] char const* git_hash() noexcept;

}  // namespace polyad::cli
