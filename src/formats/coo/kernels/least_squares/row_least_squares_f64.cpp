// SPDX-License-Identifier: BSD-3-Clause
#include "formats/coo/kernels/least_squares/row_least_squares.hpp"

namespace polyad::detail {

POLYAD_LEAST_SQUARES_ROWS(Sorted, double, std::uint32_t);
POLYAD_LEAST_SQUARES_ROWS(Sorted, double, std::uint64_t);
POLYAD_LEAST_SQUARES_ROWS(CooPermuted, double, std::uint32_t);
POLYAD_LEAST_SQUARES_ROWS(CooPermuted, double, std::uint64_t);
POLYAD_SOLVE_STRETCH(double, std::uint32_t);
POLYAD_SOLVE_STRETCH(double, std::uint64_t);

}  // namespace polyad::detail
