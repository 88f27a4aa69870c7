// SPDX-License-Identifier: BSD-3-Clause
// The user's options, one struct per command.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "cli/options/completion_options.hpp"
#include "cli/options/file_options.hpp"
#include "cli/options/product_options.hpp"
#include "cli/typed_text/mode_constraints.hpp"
#include "polyad/cp/cp_als_options.hpp"

namespace polyad::cli {

struct CpdOptions : CpAlsOptions, SummedTensorOptions {
  bool drop_zeros = false;
  TypedConstraints constraints;
  std::string inner_text = "1";                   // as typed
  int inner_sweeps       = default_inner_sweeps;  // or exact_inner
  std::string init       = "random";              // or "nvecs", or a model file
  std::filesystem::path start;                    // that file; empty: none
  std::string format    = "auto";
  bool tune             = false;               // auto tries all formats that fit
  std::string precision = "f64";               // or "f32"
  std::optional<std::uint64_t> device_memory;  // bytes; none: what is free
  std::vector<int> grid;                       // grid of ranks; empty: the cheapest
  bool deterministic = false;
  std::filesystem::path output;  // empty: none
};

struct StatsOptions : SummedTensorOptions {};

struct EstimateOptions : SummedTensorOptions {
  std::uint64_t rank    = 0;
  int iterations        = 50;  // over which the time of a build is spread
  std::string precision = "f64";
  std::optional<std::uint64_t> device_memory;  // bytes; none: all that is free
};

struct TuneOptions : EstimateOptions {
  std::string format;  // empty: all; a single one is tried with all its shapes
  bool store = false;  // next to the tensor
};

struct InfoOptions {
  CommonOptions common;
};

using Options = std::variant<CpdOptions, StatsOptions, InfoOptions, ConvertOptions, CheckOptions,
                             CompareOptions, GenOptions, MttkrpOptions, TtmOptions, TtmcOptions,
                             TuckerOptions, TrainOptions, PredictOptions, RecommendOptions, SimilarOptions,
                             EstimateOptions, TuneOptions, ProjectOptions, EvaluateOptions, UpdateOptions>;

}  // namespace polyad::cli
