// SPDX-License-Identifier: BSD-3-Clause
// What the library compiles once, for users' sources to link: a header declares it `extern` with the macro
// that a source of src/ then instantiates with.
#pragma once

#include <cstdint>

/// `prefix declaration(Scalar)` for every scalar; prefix is `extern` or empty.
#define POLYAD_EACH_SCALAR(prefix, declaration) \
  prefix declaration(float);                    \
  prefix declaration(double)

/// `prefix declaration(Scalar, Index)` for every scalar and index type.
#define POLYAD_EACH_SCALAR_AND_INDEX(prefix, declaration) \
  prefix declaration(float, std::uint32_t);               \
  prefix declaration(float, std::uint64_t);               \
  prefix declaration(double, std::uint32_t);              \
  prefix declaration(double, std::uint64_t)
