// SPDX-License-Identifier: BSD-3-Clause
// The instantiations of tensor/. They are in one source, since most of the cost of compiling is in the
// headers.
#include "tensor/coordinates_inside.hpp"

#include "polyad/tensor/coo_tensor.hpp"
#include "polyad/tensor/factor_matrices.hpp"
#include "polyad/tensor/sort_by_mode.hpp"
#include "polyad/tensor/sum_duplicates.hpp"

namespace polyad {

POLYAD_EACH_SCALAR(, POLYAD_MAKE_FACTOR_MATRIX);
POLYAD_EACH_SCALAR(, POLYAD_FILL_RANDOM);
POLYAD_EACH_SCALAR(, POLYAD_TO_HOST);
POLYAD_EACH_SCALAR(, POLYAD_FROM_HOST);
POLYAD_EACH_SCALAR_AND_INDEX(, POLYAD_UPLOAD);
POLYAD_EACH_SCALAR_AND_INDEX(, POLYAD_NORM_SQUARED);
POLYAD_EACH_SCALAR_AND_INDEX(, POLYAD_SUM_DUPLICATES);
POLYAD_EACH_SCALAR_AND_INDEX(, POLYAD_COUNT_DUPLICATES);
POLYAD_IDENTITY_PERMUTATION(std::uint32_t);
POLYAD_IDENTITY_PERMUTATION(std::uint64_t);
POLYAD_EACH_SCALAR_AND_INDEX(, POLYAD_SORT_BY_MODES);

namespace detail {
POLYAD_EACH_SCALAR(, POLYAD_ZERO_MATRIX);
POLYAD_EACH_SCALAR(, POLYAD_COPY_MATRIX);
POLYAD_COORDINATES_INSIDE(Kokkos::DefaultExecutionSpace, std::uint32_t);
POLYAD_COORDINATES_INSIDE(Kokkos::DefaultExecutionSpace, std::uint64_t);
}  // namespace detail

}  // namespace polyad
