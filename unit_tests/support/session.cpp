// SPDX-License-Identifier: BSD-3-Clause
// Catch2 2 compiles all of itself here: apart from main(), since nvcc would take far longer for it.
#define CATCH_CONFIG_RUNNER
#include "support/session.hpp"

#include "support/catch.hpp"

int polyad::test::run_session(int argc, char** argv) {
  return Catch::Session().run(argc, argv);
}
