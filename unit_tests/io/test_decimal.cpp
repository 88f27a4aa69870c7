// SPDX-License-Identifier: BSD-3-Clause
// Numbers in text never become infinite, zero or another integer.
#include <array>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <string>

#include "io/text/decimal.hpp"
#include "polyad/core/error.hpp"
#include "polyad/io/model_file.hpp"
#include "polyad/io/tensor_file.hpp"
#include "support/catch.hpp"
#include "temporary_folder.hpp"

using namespace polyad::io;
using polyad::test::TemporaryFolder;

namespace {

DecimalFault fault_of(std::string const& text, bool integer = false) {
  double value = 0;
  return read_decimal(text, integer, value);
}

/// All digits of a double without a fraction.
std::string digits_of(double value) {
  std::array<char, 400> text{};
  std::snprintf(text.data(), text.size(), "%.0f", value);
  return text.data();
}

std::string error_of(TemporaryFolder const& folder, std::string const& name, std::string const& text) {
  folder.write(name, text);
  try {
    if (name.ends_with(".ktns"))
      static_cast<void>(read_model(folder / name));
    else
      static_cast<void>(read_tensor(folder / name));
  } catch (polyad::InputError const& error) {
    return std::string(error.what()).substr((folder / name).string().size());
  }
  return "";
}

}  // namespace

TEST_CASE("decimal: an integer is exact or refused", "[io]") {
  std::mt19937_64 random(1);
  int exact = 0, refused = 0;
  for (int k = 0; k < 20000; ++k) {
    std::string digits = std::to_string(1 + random() % 9);
    for (auto count = random() % 24; count > 0; --count) digits += std::to_string(random() % 10);
    if (random() % 2 == 0) digits = digits_of(std::strtod(digits.c_str(), nullptr));
    std::string const sign = random() % 3 == 0 ? "-" : random() % 3 == 0 ? "+" : "";
    double value           = 0;
    auto const fault       = read_decimal(sign + digits, false, value);
    bool const is_double   = digits_of(std::strtod(digits.c_str(), nullptr)) == digits;
    INFO(sign + digits);
    REQUIRE(fault == (is_double ? DecimalFault::none : DecimalFault::not_that_integer));
    if (is_double) REQUIRE(value == std::strtod((sign + digits).c_str(), nullptr));
    (is_double ? exact : refused) += 1;
    // A point makes it a number that is rounded, unless it has to be an integer.
    REQUIRE(fault_of(sign + digits + ".0") == DecimalFault::none);
    REQUIRE(fault_of(sign + digits + ".0", true) == fault);
    REQUIRE(fault_of(sign + digits + "00e-2", true) == fault);
  }
  REQUIRE(exact > 5000);
  REQUIRE(refused > 2000);
}

TEST_CASE("decimal: a number is not rounded to zero or infinity", "[io]") {
  std::mt19937_64 random(2);
  int small = 0, large = 0;
  for (int k = 0; k < 20000; ++k) {
    std::string text = std::string(random() % 4, '0') + std::to_string(random() >> (random() % 60));
    if (random() % 2 == 0)
      text += "." + std::string(random() % 30, '0') + std::to_string(random() >> (random() % 60));
    text += (random() % 2 == 0 ? "e-" : "e") + std::to_string(280 + random() % 80);
    double const expected = std::strtod(text.c_str(), nullptr);
    bool const is_zero    = text.substr(0, text.find('e')).find_first_not_of("0.") == std::string::npos;
    auto const fault      = std::isinf(expected)        ? DecimalFault::too_large
                            : expected == 0 && !is_zero ? DecimalFault::too_small
                                                        : DecimalFault::none;
    INFO(text);
    REQUIRE(fault_of(text) == fault);
    small += fault == DecimalFault::too_small ? 1 : 0;
    large += fault == DecimalFault::too_large ? 1 : 0;
  }
  REQUIRE(small > 1000);
  REQUIRE(large > 1000);
  REQUIRE(fault_of("0e-99999999999999999999") == DecimalFault::none);
  REQUIRE(fault_of("1e-99999999999999999999") == DecimalFault::too_small);
  REQUIRE(fault_of("0.001e99999999999999999999") == DecimalFault::too_large);
  REQUIRE(fault_of("1.5x") == DecimalFault::not_a_number);
  REQUIRE(fault_of("") == DecimalFault::not_a_number);
}

TEST_CASE("decimal: every text reader refuses what a double cannot hold", "[io]") {
  TemporaryFolder const folder;
  std::string const mtx = "%%MatrixMarket matrix coordinate ", sizes = " general\n2 2 1\n1 2 ";
  std::string const ktns = "ktensor\n2\n1 1\n1\n1\nmatrix\n2\n1 1\n1\nmatrix\n2\n1 1\n";
  for (std::string const digits :
       {"9007199254740993", "-18446744073709551615", "1000000000000000000000001"}) {
    std::string const reason = "is an integer beyond 2^53 that no double equals: '" + digits + "'";
    std::string const hint   = "; with a point after its digits it is rounded";
    REQUIRE(error_of(folder, "t.tns", "1 2 " + digits + "\n") == ":1:5: the value " + reason + hint);
    REQUIRE(error_of(folder, "t.mtx", mtx + "real" + sizes + digits + "\n") ==
            ":3:5: the value " + reason + hint);
    REQUIRE(error_of(folder, "t.mtx", mtx + "integer" + sizes + digits + "\n") ==
            ":3:5: the value " + reason);
    REQUIRE(error_of(folder, "t.ktns", ktns + digits + "\n") == ":13:1: an element " + reason);
    REQUIRE(error_of(folder, "t.tns", "1 2 " + digits + ".\n") == "");
    REQUIRE(error_of(folder, "t.mtx", mtx + "integer" + sizes + digits + ".0\n") ==
            ":3:5: the value is an integer beyond 2^53 that no double equals: '" + digits + ".0'");
  }
  for (std::string const number : {"1e-400", "1e400"}) {
    REQUIRE(error_of(folder, "t.tns", "1 2 " + number + "\n") != "");
    REQUIRE(error_of(folder, "t.mtx", mtx + "real" + sizes + number + "\n") != "");
    REQUIRE(error_of(folder, "t.ktns", ktns + number + "\n") != "");
  }
}

TEST_CASE("decimal: large integers come back from every kind of text", "[io]") {
  TemporaryFolder const folder;
  CoordinateList list;
  list.extents = {2, 3};
  list.indices = UninitializedVector<std::uint32_t>{0, 2, 1, 1, 1, 2};
  list.values  = {0x1p53 + 2, -0x1p63, 1e300};
  for (char const* name : {"t.tns", "t.mtx", "t.pten", "t.npz"}) {
    write_tensor(folder / name, list);
    REQUIRE(read_tensor(folder / name).tensor.values == list.values);
  }
}
