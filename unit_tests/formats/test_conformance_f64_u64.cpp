// SPDX-License-Identifier: BSD-3-Clause
#include "formats/conformance.hpp"

POLYAD_CONFORMANCE_TESTS(double, std::uint64_t, 3)
