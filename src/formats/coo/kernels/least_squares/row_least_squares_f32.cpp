// SPDX-License-Identifier: BSD-3-Clause
#include "formats/coo/kernels/least_squares/row_least_squares.hpp"

namespace polyad::detail {

POLYAD_LEAST_SQUARES_ROWS(Sorted, float, std::uint32_t);
POLYAD_LEAST_SQUARES_ROWS(Sorted, float, std::uint64_t);
POLYAD_LEAST_SQUARES_ROWS(CooPermuted, float, std::uint32_t);
POLYAD_LEAST_SQUARES_ROWS(CooPermuted, float, std::uint64_t);
POLYAD_SOLVE_STRETCH(float, std::uint32_t);
POLYAD_SOLVE_STRETCH(float, std::uint64_t);

}  // namespace polyad::detail
