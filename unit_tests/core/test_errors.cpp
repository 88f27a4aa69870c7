// SPDX-License-Identifier: BSD-3-Clause
// Every kind of error carries its exit code and what a user needs to know.
#include <string>
#include <type_traits>

#include "polyad/core/error.hpp"
#include "support/catch.hpp"

namespace polyad::test {

TEST_CASE("errors: each kind has its exit code", "[core]") {
  // The numbers are promised to users: docs/tool.md, "Exit status".
  CHECK(static_cast<int>(ExitCode::success) == 0);
  CHECK(static_cast<int>(UsageError("").exit_code()) == 2);
  CHECK(static_cast<int>(InputError("f", 1, 1, "").exit_code()) == 3);
  CHECK(static_cast<int>(MemoryError("a", 1).exit_code()) == 4);
  CHECK(static_cast<int>(NumericalError("").exit_code()) == 5);
  CHECK(static_cast<int>(WriteError("").exit_code()) == 6);
  CHECK(static_cast<int>(BackendError("").exit_code()) == 7);
  CHECK(static_cast<int>(ExitCode::differences_found) == 8);
}

TEST_CASE("errors: all kinds are caught as polyad::Error and as std::runtime_error", "[core]") {
  static_assert(std::is_base_of_v<std::runtime_error, Error>);
  static_assert(std::is_base_of_v<Error, UsageError> && std::is_base_of_v<Error, InputError> &&
                std::is_base_of_v<Error, MemoryError> && std::is_base_of_v<Error, NumericalError> &&
                std::is_base_of_v<Error, WriteError> && std::is_base_of_v<Error, BackendError>);
  try {
    throw WriteError("the disk is full");
  } catch (Error const& error) {
    CHECK(error.exit_code() == ExitCode::cannot_write);
    CHECK(std::string(error.what()) == "the disk is full");
  }
}

TEST_CASE("errors: an input error names file, line and column", "[core]") {
  InputError const full("x.tns", 3, 14, "a letter");
  CHECK(std::string(full.what()) == "x.tns:3:14: a letter");
  CHECK(full.file() == "x.tns");
  CHECK(full.line() == 3);
  CHECK(full.column() == 14);
  CHECK(std::string(InputError("x.tns", 3, 0, "too short").what()) == "x.tns:3: too short");
  CHECK(std::string(InputError("x.tns", 0, 0, "no such file").what()) == "x.tns: no such file");
  CHECK(std::string(InputError("x.tns", 0, 5, "no line").what()) == "x.tns: no line");
}

TEST_CASE("errors: a memory error names the array and its bytes", "[core]") {
  MemoryError const error("the factor of mode 2", 1ULL << 40, "only 5 bytes are free");
  CHECK(error.array() == "the factor of mode 2");
  CHECK(error.bytes() == 1ULL << 40);
  CHECK(std::string(error.what()) == "the factor of mode 2 needs 1099511627776 bytes: only 5 bytes are free");
}

TEST_CASE("expects: throws a usage error made of its parts, and only when false", "[core]") {
  int evaluated    = 0;
  auto const count = [&] { return ++evaluated; };
  CHECK_NOTHROW([&] { POLYAD_EXPECTS(1 < 2, "never ", count()); }());
  CHECK(evaluated == 0);
  try {
    POLYAD_EXPECTS(2 < 1, "got ", 2.5, " of ", std::string("three"), ", call ", count());
    FAIL("nothing was thrown");
  } catch (UsageError const& error) {
    CHECK(std::string(error.what()) == "got 2.5 of three, call 1");
  }
  // One statement: it does not swallow an else.
  if (evaluated == 0)
    POLYAD_EXPECTS(false, "not reached");
  else
    ++evaluated;
  CHECK(evaluated == 2);
}

}  // namespace polyad::test
