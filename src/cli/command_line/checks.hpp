// SPDX-License-Identifier: BSD-3-Clause
// Checks of option values, in addition to CLI11's.
#pragma once

#include <filesystem>
#include <string>

#include "cli/streams/messages.hpp"

namespace polyad::cli {

/// Whether two names denote one thing that exists: a file, a pipe or a device.
[[nodiscard]] bool same_node(std::filesystem::path const& a, std::filesystem::path const& b);

/// Whether two names denote the same file, which need not exist.
[[nodiscard]] bool same_file(std::filesystem::path const& a, std::filesystem::path const& b);

/// Refuses a number below 0, NaN and infinity. \throws UsageError
void expect_not_negative(char const* option, double number);

/// For outputs that are always .npz: the name ends so, or is stdout, unless that is a terminal. An empty name
/// passes. \param what  the output, for the message; throws UsageError
void expect_npz(std::string const& option, std::filesystem::path const& output,
                std::string const& what = "this output");

}  // namespace polyad::cli
