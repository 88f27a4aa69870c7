// SPDX-License-Identifier: BSD-3-Clause
// The survey of a list of coordinates for the cost model. Free of Kokkos.
#pragma once

#include "polyad/io/coordinate_list.hpp"
#include "polyad/tensor/survey.hpp"

namespace polyad::cli {

/// Surveys a list with the given number of threads (0: all).
[[nodiscard]] TensorSurvey survey_list(io::CoordinateList const& list, int threads);

}  // namespace polyad::cli
