// SPDX-License-Identifier: BSD-3-Clause
// The commands. Each fills its report as it proceeds, so that after a failure the report has everything known
// so far. Returns the exit code. Results go to stdout, everything else to stderr.
//
// Also what most commands use: their drivers, a Session, messages, and how a tensor is read.
#pragma once

#include "cli/drivers/drivers.hpp"
#include "cli/run/session.hpp"
#include "cli/streams/messages.hpp"
#include "cli/tensors/read_input.hpp"

namespace polyad::cli {

int run(CpdOptions const& options, Report& report);
int run(TtmOptions const& options, Report& report);
int run(TtmcOptions const& options, Report& report);
int run(TuckerOptions const& options, Report& report);
int run(TrainOptions const& options, Report& report);
int run(PredictOptions const& options, Report& report);
int run(RecommendOptions const& options, Report& report);
int run(SimilarOptions const& options, Report& report);
int run(EvaluateOptions const& options, Report& report);
int run(StatsOptions const& options, Report& report);
int run(InfoOptions const& options, Report& report);
int run(ConvertOptions const& options, Report& report);
int run(CheckOptions const& options, Report& report);
int run(CompareOptions const& options, Report& report);
int run(GenOptions const& options, Report& report);
int run(MttkrpOptions const& options, Report& report);
int run(ProjectOptions const& options, Report& report);
int run(UpdateOptions const& options, Report& report);
int run(EstimateOptions const& options, Report& report);
int run(TuneOptions const& options, Report& report);

}  // namespace polyad::cli
