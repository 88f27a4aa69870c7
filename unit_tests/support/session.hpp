// SPDX-License-Identifier: BSD-3-Clause
#pragma once

namespace polyad::test {

/// Runs the tests that the arguments of Catch2 choose. Returns the program's exit code.
int run_session(int argc, char** argv);

}  // namespace polyad::test
