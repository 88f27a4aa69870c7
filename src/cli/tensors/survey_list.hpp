// SPDX-License-Identifier: BSD-3-Clause
// What the cost model wants to know of a list of coordinates. Free of Kokkos.
#pragma once

#include "polyad/io/coordinate_list.hpp"
#include "polyad/tensor/survey.hpp"

namespace polyad::cli {

/// The survey of a list, on so many threads (0: all).
[[nodiscard]] TensorSurvey survey_list(io::CoordinateList const& list, int threads);

}  // namespace polyad::cli
