// SPDX-License-Identifier: BSD-3-Clause
// Catch2 in either of the two forms that distributions ship. CMake defines POLYAD_CATCH2_V2 or
// POLYAD_CATCH2_V3; without CMake the headers that exist decide.
#pragma once

#if !defined(POLYAD_CATCH2_V3) && !defined(POLYAD_CATCH2_V2) && __has_include(<catch2/catch_test_macros.hpp>)
#define POLYAD_CATCH2_V3
#endif

#if defined(POLYAD_CATCH2_V3)
#include <catch2/catch_approx.hpp>
#include <catch2/catch_message.hpp>
#include <catch2/catch_session.hpp>
#include <catch2/catch_template_test_macros.hpp>
#include <catch2/catch_test_macros.hpp>
#include <catch2/catch_tostring.hpp>
#include <catch2/generators/catch_generators.hpp>
using Catch::Approx;  // as version 2 has it
#else
#include <catch2/catch.hpp>
#endif

/// Tag of a test case that reads a format's arrays from the host, or needs what hosts alone have. A device's
/// tests hide it, and ctest lists it there as skipped.
#if defined(POLYAD_TESTS_ON_DEVICE)
#define POLYAD_HOST_ONLY "[.][host]"
#else
#define POLYAD_HOST_ONLY "[host]"
#endif

/// Ends a test case that cannot run here, and says why.
#if defined(SKIP)
#define POLYAD_SKIP(reason) SKIP(reason)
#else
#define POLYAD_SKIP(reason)   \
  do {                        \
    WARN("SKIPPED: " reason); \
    return;                   \
  } while (false)
#endif

// Tests look inside: what is private to the library is in polyad::detail.
namespace polyad::detail {}
namespace polyad::test {
using namespace polyad::detail;
}
