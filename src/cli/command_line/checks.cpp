// SPDX-License-Identifier: BSD-3-Clause
#include "cli/command_line/checks.hpp"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmath>
#include <system_error>

#include "polyad/core/error.hpp"
#include "polyad/io/atomic_file.hpp"

namespace polyad::cli {

void expect_not_negative(char const* option, double number) {
  if (!(number >= 0) || std::isinf(number)) refuse("{} takes a number of at least 0, not {}", option, number);
}

void expect_range(std::vector<double> const& clip) {
  if (!clip.empty() && !(clip[0] <= clip[1]))
    refuse("--clip takes LOWEST,HIGHEST, not {}", fmt::join(clip, ","));
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

void refuse_overwriting(std::filesystem::path const& input, std::filesystem::path const& output,
                        std::string const& option, std::string const& unless) {
  if (same_file(input, output))
    refuse(option + " would overwrite the input " + input.string() +
           (unless.empty() ? "" : "; " + unless + " lets it"));
}

void expect_distinct_files(std::initializer_list<std::filesystem::path> inputs,
                           std::filesystem::path const& output, std::filesystem::path const& report) {
  for (auto const& input : inputs) {
    refuse_overwriting(input, output, "-o");
    refuse_overwriting(input, report, "--report");
  }
  if (same_file(output, report)) refuse("-o and --report name the same file");
}

void expect_checkpoints(std::initializer_list<std::filesystem::path> inputs,
                        std::filesystem::path const& checkpoint, std::filesystem::path const& resume,
                        std::filesystem::path const& output, std::filesystem::path const& report) {
  std::error_code ignored;
  if (io::own_descriptor(checkpoint) || std::filesystem::is_fifo(checkpoint, ignored))
    refuse("--checkpoint is written again and again, and read by --resume: it has to be a file");
  for (auto const& input : inputs) refuse_overwriting(input, checkpoint, "--checkpoint");
  if (same_file(checkpoint, output) || same_file(checkpoint, report))
    refuse("--checkpoint and another output name the same file");
  refuse_overwriting(resume, output, "-o");
  refuse_overwriting(resume, report, "--report");
}

}  // namespace polyad::cli
