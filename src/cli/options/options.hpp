// SPDX-License-Identifier: BSD-3-Clause
// The user's options, one struct a command.
#pragma once

#include <cstdint>
#include <filesystem>
#include <limits>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "cli/options/choice_options.hpp"
#include "cli/options/completion_options.hpp"
#include "cli/options/file_options.hpp"
#include "cli/options/product_options.hpp"
#include "cli/typed_text/mode_constraints.hpp"

namespace polyad::cli {

struct CpdOptions {
  CommonOptions common;
  std::filesystem::path tensor;
  int index_base         = -1;     // -1: told by the file
  std::string duplicates = "sum";  // or last, error
  bool drop_zeros        = false;
  std::uint64_t rank     = 0;
  int max_iterations     = 50;
  double tolerance       = 1e-4;
  TypedConstraints constraints;
  std::string inner_text = "1";                   // as typed
  int inner_sweeps       = default_inner_sweeps;  // or exact_inner
  double kkt_tolerance   = 0;
  double time_limit_s    = std::numeric_limits<double>::infinity();
  std::uint64_t seed     = 0;
  std::string init       = "random";  // or "nvecs", or a model file
  std::filesystem::path start;        // that file; empty: none
  std::string format    = "auto";
  bool tune             = false;               // auto tries all formats that fit
  std::string precision = "f64";               // or "f32"
  int restarts          = 1;                   // random starts, of which the best wins
  std::optional<std::uint64_t> device_memory;  // bytes; none: what is free
  std::vector<int> grid;                       // of ranks; empty: the cheapest
  bool deterministic = false;
  bool time_phases   = false;
  std::filesystem::path output;              // empty: none
  std::filesystem::path checkpoint, resume;  // empty: none
  int checkpoint_every = 10;
};

/// Whether the start comes from a model file.
[[nodiscard]] inline bool starts_from_file(CpdOptions const& options) {
  return !options.start.empty();
}

struct StatsOptions {
  CommonOptions common;
  std::filesystem::path tensor;
  int index_base = -1;
};

struct InfoOptions {
  CommonOptions common;
};

using Options = std::variant<CpdOptions, StatsOptions, InfoOptions, ConvertOptions, CheckOptions,
                             CompareOptions, GenOptions, MttkrpOptions, TtmOptions, TtmcOptions,
                             TuckerOptions, TrainOptions, PredictOptions, RecommendOptions, SimilarOptions,
                             EstimateOptions, TuneOptions, ProjectOptions>;

}  // namespace polyad::cli
