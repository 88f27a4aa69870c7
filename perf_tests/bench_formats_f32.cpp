// SPDX-License-Identifier: BSD-3-Clause
#include "bench_formats.hpp"

namespace polyad::perf {

template void register_formats_of<float>(Session&, TensorChoice const&, int);

}  // namespace polyad::perf
