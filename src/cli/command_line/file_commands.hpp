// SPDX-License-Identifier: BSD-3-Clause
// The table of the commands that turn files into files and figures.
#pragma once

#include <CLI/CLI.hpp>

#include <optional>

#include "cli/command_line/command.hpp"
#include "cli/options/options.hpp"

namespace polyad::cli {

class FileCommands {
public:
  /// Adds the selected commands; must live while `app` parses.
  FileCommands(CLI::App& app, SelectedCommands const& meant);
  FileCommands(FileCommands const&)            = delete;
  FileCommands& operator=(FileCommands const&) = delete;

  /// The checked options of the command that was given, or nothing if it is not one of these.
  /// \throws UsageError
  [[nodiscard]] std::optional<Options> chosen();

private:
  void add_convert();
  void add_check();
  void add_compare();
  void add_gen();
  void add_mttkrp();

  CLI::App& m_app;
  ConvertOptions m_convert;
  CheckOptions m_check;
  CompareOptions m_compare;
  GenOptions m_gen;
  MttkrpOptions m_mttkrp;
};

}  // namespace polyad::cli
