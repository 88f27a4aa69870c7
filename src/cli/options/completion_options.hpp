// SPDX-License-Identifier: BSD-3-Clause
// The user's options for the commands that complete tensors, one struct a command.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "cli/options/file_options.hpp"
#include "polyad/fast_tucker/fast_tucker_options.hpp"

namespace polyad::cli {

/// The treatment of entries outside the training set's extents.
enum class ColdStart { refuse, bias };

struct TrainOptions : FastTuckerOptions {
  CommonOptions common;
  std::filesystem::path tensor;
  std::filesystem::path test;       // empty: none
  double split           = 0;       // share of the entries held out as test set
  double validate        = 0;       // share of the training entries held out to tell the best epoch
  int index_base         = -1;      // -1: as the file says
  std::string duplicates = "keep";  // or sum, last, error
  // What is typed in another form than FastTuckerOptions has it.
  std::optional<std::uint64_t> typed_rank;
  std::string optimizer_name = "als";
  double learning_rate       = AdamRates().step;  // for adam and sgd
  std::string implicit_text;                      // alpha; empty: no implicit feedback
  std::vector<double> shrink;                     // the members of Shrinkage; empty: chosen
  std::vector<std::string> target_names;  // "zero", "one" or "out" for each mode; empty: chosen, or zero
  std::string time_mode_text = "-1";      // the number or the name of a mode; -1: none
  std::vector<std::uint64_t> time_bins;   // one number or one for each mode; empty: chosen, or at most 30
  std::vector<double> time_damping;       // likewise; empty: 30 if there are bins
  std::vector<double> clip;               // empty, or lowest and highest

  std::string format    = "auto";
  std::string precision = "f32";  // or "f64"
  bool deterministic    = false;
  std::optional<std::uint64_t> device_memory;  // bytes; none: what is free
  ColdStart cold_start = ColdStart::bias;
  std::filesystem::path output;  // empty: none

  [[nodiscard]] OptimizerFacts const& optimizer_facts() const { return facts_of(optimizer); }
  [[nodiscard]] bool shrinks() const {
    return optimizer_facts().draws_rows && !ridge && !ridge_per_entry && !implicit;
  }
};

struct PredictOptions {
  CommonOptions common;
  std::filesystem::path model;
  std::filesystem::path places;
  int index_base       = -1;  // -1: as the model says
  ColdStart cold_start = ColdStart::bias;
  std::vector<double> clip;  // empty: as the model says
  std::filesystem::path output;
};

struct RecommendOptions {
  CommonOptions common;
  std::filesystem::path model;
  std::string mode;             // whose rows are recommended: its number or name
  std::vector<std::string> at;  // a row of each other mode, or "*"
  std::filesystem::path file;   // these, a query a line; empty: `at` is the only one
  std::filesystem::path seen;   // entries whose rows are left out; empty: none
  ColdStart cold_start = ColdStart::bias;
  std::uint64_t count  = 10;
  int index_base       = -1;  // -1: as the model says
  std::vector<double> clip;   // empty: as the model says
  std::filesystem::path output;
};

struct SimilarOptions {
  CommonOptions common;
  std::filesystem::path model;
  std::string mode;                  // its number or name
  std::optional<std::string> index;  // the row that the others are compared with
  std::filesystem::path file;        // a row a line; empty: `index` is the only one
  std::uint64_t count = 10;
  int index_base      = -1;  // -1: as the model says
  std::filesystem::path output;
};

}  // namespace polyad::cli
