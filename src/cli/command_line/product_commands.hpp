// SPDX-License-Identifier: BSD-3-Clause
// The table of the commands ttm, ttmc, tucker and project.
#pragma once

#include <CLI/CLI.hpp>

#include <optional>

#include "cli/command_line/command.hpp"
#include "cli/options/options.hpp"

namespace polyad::cli {

class ProductCommands {
public:
  /// Adds the selected commands; must live while `app` parses.
  ProductCommands(CLI::App& app, SelectedCommands const& meant);
  ProductCommands(ProductCommands const&)            = delete;
  ProductCommands& operator=(ProductCommands const&) = delete;

  /// The checked options of the command that was given, or nothing if it is not one of these.
  /// \throws UsageError
  [[nodiscard]] std::optional<Options> chosen();

private:
  void add_ttm();
  void add_ttmc();
  void add_tucker();
  void add_project();

  CLI::App& m_app;
  TtmOptions m_ttm;
  TtmcOptions m_ttmc;
  TuckerOptions m_tucker;
  ProjectOptions m_project;
};

}  // namespace polyad::cli
