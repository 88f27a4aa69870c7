// SPDX-License-Identifier: BSD-3-Clause
// The table of the commands that complete tensors.
#pragma once

#include <CLI/CLI.hpp>

#include <optional>

#include "cli/command_line/command.hpp"
#include "cli/options/options.hpp"

namespace polyad::cli {

class CompletionCommands {
public:
  /// Adds those that are meant; must live while `app` parses.
  CompletionCommands(CLI::App& app, SelectedCommands const& meant);
  CompletionCommands(CompletionCommands const&)            = delete;
  CompletionCommands& operator=(CompletionCommands const&) = delete;

  /// The options of the command that was given, checked; nothing when it was none of these.
  /// \throws UsageError
  [[nodiscard]] std::optional<Options> chosen();

private:
  CLI::App& m_app;
  TrainOptions m_train;
  PredictOptions m_predict;
  RecommendOptions m_recommend;
  SimilarOptions m_similar;
  EvaluateOptions m_evaluate;
  UpdateOptions m_update;
};

}  // namespace polyad::cli
