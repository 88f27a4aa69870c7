// SPDX-License-Identifier: BSD-3-Clause
#include "formats/fcoo/build/build_fcoo.hpp"
#include "formats/fcoo/build/tune.hpp"
#include "formats/fcoo/kernels/mttkrp_fcoo.hpp"
#include "formats/fcoo/kernels/multiply_semi_sparse.hpp"

namespace polyad::detail {

// One file for all: they share their kernels.
POLYAD_FCOO(float, std::uint32_t);
POLYAD_MTTKRP(FCoo, float, std::uint32_t);
POLYAD_BUILD_SPTTM(float, std::uint32_t);
POLYAD_SPTTM(float, std::uint32_t);
POLYAD_MATRIX_PRODUCT(float, std::uint32_t);
POLYAD_TUNE_FCOO(float, std::uint32_t);
template std::vector<FCooOptions> fcoo_grid<Kokkos::DefaultExecutionSpace>();

}  // namespace polyad::detail

namespace polyad {

POLYAD_MULTIPLY_SEMI_SPARSE(float, std::uint32_t);

}  // namespace polyad
