// SPDX-License-Identifier: BSD-3-Clause
// Ends a run whose device fails, by an access out of bounds or a fault of its memory.
#pragma once

#include <string_view>

namespace polyad::cli {

/// From now on a failure of the device ends the process with exit status 7, where Kokkos would abort it.
/// Files stay as they were: a checkpoint is kept, and an incomplete output does not appear.
void catch_device_failures();

/// Whether this is the text of a CUDA error as Kokkos throws it. Kokkos has no type for these errors.
[[nodiscard]] bool tells_of_device(std::string_view text);

}  // namespace polyad::cli
