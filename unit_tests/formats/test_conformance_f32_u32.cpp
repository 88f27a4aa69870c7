// SPDX-License-Identifier: BSD-3-Clause
#include "formats/conformance.hpp"

POLYAD_CONFORMANCE_TESTS(float, std::uint32_t, 0)
