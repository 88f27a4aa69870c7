// SPDX-License-Identifier: BSD-3-Clause
// For check_text_files.py: reads lines "BASE FILE" from stdin and prints for each file the outcome of reading
// it, the tensor or the error's text, a line each. Every file is read serially and in parallel with chunks of
// several sizes, which must agree.
#include <charconv>
#include <cstdio>
#include <iostream>
#include <string>

#include "io/text/tns_reader.hpp"
#include "polyad/core/error.hpp"

namespace {

std::string shortest(double value) {
  char text[32];
  return {text, std::to_chars(text, text + sizeof text, value).ptr};
}

/// "DIALECT base B dims I J ...: i j ... x, ..." with indices counted from 0
std::string outcome(std::string const& path, polyad::io::ReadOptions const& options) {
  try {
    auto const file  = polyad::io::read_tns(path, options);
    std::string text = std::string(to_string(file.report.dialect)) + " base " +
                       std::to_string(file.report.index_base) + " dims";
    for (auto const extent : file.tensor.extents) text += " " + std::to_string(extent);
    text += ":";
    auto const order = file.tensor.extents.size();
    std::visit(
        [&](auto const& indices) {
          for (std::size_t p = 0; p < file.tensor.values.size(); ++p) {
            for (std::size_t n = 0; n < order; ++n) text += " " + std::to_string(indices[p * order + n]);
            text += " " + shortest(file.tensor.values[p]) + ",";
          }
        },
        file.tensor.indices);
    return text;
  } catch (polyad::InputError const& error) {
    return error.what();
  }
}

}  // namespace

int main() {
  int base = 0;
  std::string path;
  while (std::cin >> base >> std::ws && std::getline(std::cin, path)) {
    polyad::io::ReadOptions options;
    options.index_base     = base;
    options.threads        = 1;
    std::string const once = outcome(path, options);
    std::printf("%s\n", once.c_str());
    for (std::size_t const chunk : {1, 7, 64})
      for (int const threads : {1, 3}) {
        options.chunk_bytes     = chunk;
        options.threads         = threads;
        std::string const again = outcome(path, options);
        if (again == once) continue;
        std::printf("but with %d threads and chunks of %zu bytes %s\n", threads, chunk, again.c_str());
        return 1;
      }
  }
  return 0;
}
