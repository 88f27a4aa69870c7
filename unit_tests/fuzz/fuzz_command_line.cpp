// SPDX-License-Identifier: BSD-3-Clause
// libFuzzer: command lines, a word a line. Nothing but UsageError may come of one. No command is run. The
// formats, which need Kokkos, are stood in for by their names, where the library is not linked. A first byte
// from 128 on stands for a command's name, so that mutations do not break it.
#include <algorithm>
#include <cstdint>
#include <iostream>
#include <streambuf>
#include <string>
#include <string_view>
#include <vector>

#include "cli/command_line/command.hpp"
#include "cli/command_line/command_line.hpp"
#include "fuzz_file.hpp"
#include "mutate_lines.hpp"
#include "polyad/core/error.hpp"
#include "polyad/formats/capability.hpp"
#include "polyad/formats/option_text.hpp"

#ifndef POLYAD_FUZZ_WITH_LIBRARY
namespace polyad {

std::string format_names(std::vector<Capability> const&) {
  return "coo, csf";
}

void expect_format(std::string_view text) {
  auto const format = split_format_text(text);
  if (format.name != "auto" && format.name != "coo" && format.name != "csf")
    throw UsageError("there is no format '" + format.name + "'");
  OptionText options(format.options);
  int number = 0;
  options.read("number", number);
  options.expect_all_read(format.name);
}

bool format_offers(std::string_view text, Capability) {
  expect_format(text);
  return split_format_text(text).name == "coo";
}

}  // namespace polyad

extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size, std::size_t capacity,
                                               unsigned seed) {
  return polyad::fuzz::mutate_lines(data, size, capacity, seed);
}
#endif

namespace {

/// Takes the help and drops it.
class Nowhere : public std::streambuf {
  int_type overflow(int_type c) override { return traits_type::not_eof(c); }
  std::streamsize xsputn(char const*, std::streamsize count) override { return count; }
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
  static Nowhere nowhere;
  std::cout.rdbuf(&nowhere);
  // The system hands over words that end with a zero byte.
  std::string text(reinterpret_cast<char const*>(data), size);
  std::replace(text.begin(), text.end(), '\n', '\0');
  std::vector<char const*> words = {"polyad"};
  std::size_t first              = 0;
  if (size > 0 && data[0] >= 128) {
    using polyad::cli::command_names;
    words.push_back(command_names[data[0] % command_names.size()]);
    first = 1;
  }
  for (std::size_t at = first; at < text.size(); at += std::char_traits<char>::length(&text[at]) + 1)
    words.push_back(&text[at]);
  int const count = static_cast<int>(words.size());
  words.push_back(nullptr);
  try {
    (void)polyad::cli::parse_command_line(count, words.data());
  } catch (polyad::UsageError const& error) {
    polyad::fuzz::expect(*error.what() != '\0', "an error without words");
  }
  return 0;
}
