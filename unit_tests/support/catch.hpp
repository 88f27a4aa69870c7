// SPDX-License-Identifier: BSD-3-Clause
// Catch2 in either of the two forms that distributions ship. CMake defines POLYAD_CATCH2_V3 when it found
// version 3; without CMake the headers that exist decide.
#pragma once

#if !defined(POLYAD_CATCH2_V3) && __has_include(<catch2/catch_test_macros.hpp>)
#define POLYAD_CATCH2_V3
#endif

#if defined(POLYAD_CATCH2_V3)
#include <catch2/catch_message.hpp>
#include <catch2/catch_session.hpp>
#include <catch2/catch_template_test_macros.hpp>
#include <catch2/catch_test_macros.hpp>
#include <catch2/catch_tostring.hpp>
#else
#include <catch2/catch.hpp>
#endif
