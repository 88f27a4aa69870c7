// SPDX-License-Identifier: BSD-3-Clause
// The table of the commands estimate and tune.
#pragma once

#include <CLI/CLI.hpp>

#include <optional>

#include "cli/command_line/command.hpp"
#include "cli/options/options.hpp"

namespace polyad::cli {

class ChoiceCommands {
public:
  /// Adds the selected commands; must live while `app` parses.
  ChoiceCommands(CLI::App& app, SelectedCommands const& meant);
  ChoiceCommands(ChoiceCommands const&)            = delete;
  ChoiceCommands& operator=(ChoiceCommands const&) = delete;

  /// The checked options of the command that was given, or nothing if it is not one of these.
  /// \throws UsageError
  [[nodiscard]] std::optional<Options> chosen();

private:
  void add_estimate();
  void add_tune();

  CLI::App& m_app;
  EstimateOptions m_estimate;
  TuneOptions m_tune;
};

}  // namespace polyad::cli
