// SPDX-License-Identifier: BSD-3-Clause
// Prints the tables of options (polyad/core/option_row.hpp) as JSON, for scripts/python_signatures and the
// test that compares the interfaces. Free of Kokkos, so that it compiles alone:
//   g++ -std=c++20 -Iinclude python/src/print_options.cpp
#include <cmath>
#include <cstdint>
#include <filesystem>
#include <iostream>
#include <optional>
#include <string_view>
#include <type_traits>

#include "polyad/cp/cp_als_options.hpp"
#include "polyad/fast_tucker/fast_tucker_options.hpp"
#include "polyad/formats/any_format_options.hpp"
#include "polyad/tucker/tucker_options.hpp"

namespace {

void print_text(std::string_view text) {
  std::cout << '"';
  for (char const c : text) std::cout << (c == '"' || c == '\\' ? "\\" : "") << c;
  std::cout << '"';
}

/// The type of a member in Python, and its default. "other" has a separate form there.
template <class Value>
void print_type(Value const& value) {
  if constexpr (std::is_same_v<Value, bool>) {
    std::cout << R"("type": "bool", "default": )" << (value ? "true" : "false");
  } else if constexpr (std::is_integral_v<Value>) {
    std::cout << R"("type": "int", "default": )" << value;
  } else if constexpr (std::is_floating_point_v<Value>) {
    std::cout << R"("type": "float", "default": )";
    if (std::isinf(value))
      print_text("inf");
    else
      std::cout << value;
  } else if constexpr (std::is_same_v<Value, std::optional<double>>) {
    std::cout << R"("type": "float or None", "default": null)";
  } else if constexpr (std::is_same_v<Value, std::filesystem::path>) {
    std::cout << R"("type": "path", "default": null)";
  } else if constexpr (std::is_same_v<Value, std::string>) {
    std::cout << R"("type": "str", "default": )";
    print_text(value);
  } else {
    std::cout << R"("type": "other", "default": null)";
  }
}

template <class Options>
void print_table(std::string_view name, char const* after) {
  Options options;
  char const* before = "\n";
  print_text(name);
  std::cout << ": [";
  polyad::for_each_option(options, [&](polyad::OptionRow const& row, auto const& value) {
    std::cout << before << "  {\"name\": ";
    print_text(row.name);
    std::cout << ", ";
    print_type(value);
    std::cout << ", \"least\": ";
    if (std::isinf(row.least))
      std::cout << "null";
    else
      std::cout << row.least;
    std::cout << ", \"tool\": ";
    print_text(row.tool);
    std::cout << ", \"help\": ";
    print_text(row.help);
    std::cout << ", \"differs\": ";
    print_text(row.differs);
    std::cout << ", \"python\": " << (row.in_python ? "true" : "false") << '}';
    before = ",\n";
  });
  std::cout << ']' << after;
}

}  // namespace

int main() {
  std::cout.precision(17);
  std::cout << '{';
  print_table<polyad::CpAlsOptions>("CpAlsOptions", ",\n");
  print_table<polyad::TuckerOptions>("TuckerOptions", ",\n");
  print_table<polyad::FastTuckerOptions>("FastTuckerOptions", ",\n");
  print_table<polyad::AnyFormatOptions>("AnyFormatOptions", "}\n");
}
