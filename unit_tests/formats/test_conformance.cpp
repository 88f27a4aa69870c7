// SPDX-License-Identifier: BSD-3-Clause
#include "formats/conformance.hpp"

POLYAD_CONFORMANCE_TESTS(float, std::uint32_t, 0)
POLYAD_CONFORMANCE_TESTS(float, std::uint64_t, 1)
POLYAD_CONFORMANCE_TESTS(double, std::uint32_t, 2)
POLYAD_CONFORMANCE_TESTS(double, std::uint64_t, 3)
