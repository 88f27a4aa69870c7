// SPDX-License-Identifier: BSD-3-Clause
#include "formats/fcoo/build/build_fcoo.hpp"
#include "formats/fcoo/build/tune.hpp"
#include "formats/fcoo/kernels/mttkrp_fcoo.hpp"
#include "formats/fcoo/kernels/multiply_semi_sparse.hpp"

namespace polyad::detail {

// One file for all: they share their kernels.
POLYAD_FCOO(double, std::uint32_t);
POLYAD_MTTKRP(FCoo, double, std::uint32_t);
POLYAD_BUILD_SPTTM(double, std::uint32_t);
POLYAD_SPTTM(double, std::uint32_t);
POLYAD_MATRIX_PRODUCT(double, std::uint32_t);
POLYAD_TUNE_FCOO(double, std::uint32_t);

}  // namespace polyad::detail

namespace polyad {

POLYAD_MULTIPLY_SEMI_SPARSE(double, std::uint32_t);

}  // namespace polyad
