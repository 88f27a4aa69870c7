// SPDX-License-Identifier: BSD-3-Clause
#include "formats/conformance.hpp"

POLYAD_CONFORMANCE_TESTS(std::uint32_t, 0)
POLYAD_CONFORMANCE_TESTS(std::uint64_t, 1)
