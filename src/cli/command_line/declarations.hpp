// SPDX-License-Identifier: BSD-3-Clause
// The commands' options: how they are declared, and what they exclude, a pair of functions for each command,
// and parts of them that are written elsewhere.
#pragma once

#include <string>
#include <vector>

#include "cli/command_line/command.hpp"
#include "cli/options/options.hpp"

namespace polyad::cli {

/// Declare the options, which must live while the command line is parsed.
void declare(Command& command, CpdOptions& options);
void declare(Command& command, StatsOptions& options);
void declare(Command& command, TuckerOptions& options);
void declare(Command& command, TtmOptions& options);
void declare(Command& command, TtmcOptions& options);
void declare(Command& command, ProjectOptions& options);
void declare(Command& command, TrainOptions& options);
void declare(Command& command, PredictOptions& options);
void declare(Command& command, RecommendOptions& options);
void declare(Command& command, SimilarOptions& options);
void declare(Command& command, EvaluateOptions& options);
void declare(Command& command, UpdateOptions& options);
void declare(Command& command, ConvertOptions& options);
void declare(Command& command, CheckOptions& options);
void declare(Command& command, CompareOptions& options);
void declare(Command& command, GenOptions& options);
void declare(Command& command, MttkrpOptions& options);
void declare(Command& command, EstimateOptions& options);
void declare(Command& command, TuneOptions& options);
void declare(Command& command, InfoOptions& options);

/// Most commands exclude some options or values.
template <class CommandOptions>
void check(CommandOptions const&) {}
/// \throws UsageError
void check(CpdOptions const& options);
void check(TuckerOptions const& options);
void check(TtmOptions const& options);
void check(ProjectOptions const& options);
void check(TrainOptions const& options);
void check(PredictOptions const& options);
void check(RecommendOptions const& options);
void check(SimilarOptions const& options);
void check(EvaluateOptions const& options);
void check(UpdateOptions const& options);
void check(ConvertOptions const& options);
void check(CheckOptions const& options);
void check(CompareOptions const& options);
void check(GenOptions const& options);
void check(TuneOptions const& options);

/// The options of fast-tucker that say how a test set is held out.
void add_splits(Command& command, TrainOptions& options);
/// \throws UsageError
void check_splits(TrainOptions const& options);

/// alpha of --implicit=ALPHA. \throws UsageError
[[nodiscard]] double typed_alpha(std::string const& typed);

/// The members that --shrink gives, and the defaults of the others.
[[nodiscard]] Shrinkage typed_shrinkage(std::vector<double> const& numbers);

/// The words of --targets.
[[nodiscard]] std::vector<RowTarget> typed_targets(std::vector<std::string> const& words);

/// --implicit, --reg, --reg-per-entry, --shrink, --targets and --bias-reg
void add_fold_in(Command& command, TypedFoldIn& options);

}  // namespace polyad::cli
