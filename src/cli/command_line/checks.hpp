// SPDX-License-Identifier: BSD-3-Clause
// Checks of option values, in addition to CLI11's.
#pragma once

#include <filesystem>
#include <initializer_list>
#include <string>
#include <vector>

#include "cli/streams/refuse.hpp"

namespace polyad::cli {

/// Whether two names denote one thing that exists: a file, a pipe or a device.
[[nodiscard]] bool same_node(std::filesystem::path const& a, std::filesystem::path const& b);

/// Whether two names denote the same file, which need not exist.
[[nodiscard]] bool same_file(std::filesystem::path const& a, std::filesystem::path const& b);

/// Refuses a number below 0, NaN and infinity. \throws UsageError
void expect_not_negative(char const* option, double number);
/// The two numbers of --clip are a range, or there are none. \throws UsageError
void expect_range(std::vector<double> const& clip);

/// For outputs that are always .npz: the name ends so, or is stdout, unless that is a terminal. An empty name
/// passes. \param what  the output, for the message; throws UsageError
void expect_npz(std::string const& option, std::filesystem::path const& output,
                std::string const& what = "this output");

/// \param unless  the option that permits it, if there is one
/// \throws UsageError when the output is the input
void refuse_overwriting(std::filesystem::path const& input, std::filesystem::path const& output,
                        std::string const& option, std::string const& unless = "");

/// Inputs, the -o file and the report are different files. \throws UsageError
void expect_distinct_files(std::initializer_list<std::filesystem::path> inputs,
                           std::filesystem::path const& output, std::filesystem::path const& report);

/// A checkpoint must differ from all other outputs and from all inputs, except the one to resume. \throws
/// UsageError
void expect_checkpoints(std::initializer_list<std::filesystem::path> inputs,
                        std::filesystem::path const& checkpoint, std::filesystem::path const& resume,
                        std::filesystem::path const& output, std::filesystem::path const& report);

}  // namespace polyad::cli
