// SPDX-License-Identifier: BSD-3-Clause
// The help, the man page and the completion for bash. All three are generated from CLI11's table of commands
// and options, so that they agree with it.
#pragma once

#include <CLI/CLI.hpp>

#include <string>

namespace polyad::cli {

/// Help of at most 100 columns: names on the left, wrapped descriptions on the right.
class HelpFormatter : public CLI::Formatter {
public:
  std::string make_option(CLI::Option const* option, bool positional) const override;
  std::string make_positionals(CLI::App const* command) const override;
  std::string make_subcommand(CLI::App const* command) const override;
  std::string make_footer(CLI::App const* command) const override;
};

/// Adds --man and --completion, which print the manual page and the completion.
void add_manual(CLI::App& app);

}  // namespace polyad::cli
