// SPDX-License-Identifier: BSD-3-Clause
#include "cli/command_line/checks.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <cmath>
#include <system_error>

#include "polyad/io/atomic_file.hpp"

namespace polyad::cli {

void expect_not_negative(char const* option, double number) {
  if (!(number >= 0) || std::isinf(number)) refuse("{} takes a number of at least 0, not {}", option, number);
}

// std::filesystem::equivalent cannot compare pipes.
bool same_node(std::filesystem::path const& a, std::filesystem::path const& b) {
  struct stat first{};
  struct stat second{};
  return ::stat(a.c_str(), &first) == 0 && ::stat(b.c_str(), &second) == 0 && first.st_dev == second.st_dev &&
         first.st_ino == second.st_ino;
}

bool same_file(std::filesystem::path const& a, std::filesystem::path const& b) {
  if (a.empty() || b.empty()) return false;
  std::error_code ignored;
  if (same_node(a, b))
    return !std::filesystem::is_character_file(a, ignored) && !std::filesystem::is_socket(a, ignored);
  return a.lexically_normal() == b.lexically_normal();
}

void expect_npz(std::string const& option, std::filesystem::path const& output, std::string const& what) {
  if (output.empty() || output.extension() == ".npz") return;
  auto const descriptor = io::own_descriptor(output);
  if (!descriptor) refuse(option + ": the name of " + what + " ends with .npz");
  if (::isatty(*descriptor) == 1) refuse(option + " -: an npz archive is not for a terminal");
}

}  // namespace polyad::cli
