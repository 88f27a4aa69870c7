// SPDX-License-Identifier: BSD-3-Clause
// What becomes of a run whose device fails, by an access out of bounds or a fault of its memory.
#pragma once

#include <string_view>

namespace polyad::cli {

/// From now on a failure of the device ends the process with exit status 7, where Kokkos would abort it.
/// Files are as they were: a checkpoint is kept, and an output that was not whole is not there.
void catch_device_failures();

/// Whether this is the text of an error of CUDA's that Kokkos throws, which has no type for them.
[[nodiscard]] bool tells_of_device(std::string_view text);

}  // namespace polyad::cli
