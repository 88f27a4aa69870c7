// SPDX-License-Identifier: BSD-3-Clause
// The user's options for the commands that complete tensors, one struct a command.
#pragma once

#include <cstdint>
#include <filesystem>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "cli/options/file_options.hpp"
#include "polyad/fast_tucker/optimizers.hpp"

namespace polyad::cli {

/// The treatment of entries outside the training set's extents.
enum class ColdStart { refuse, bias };

struct TrainOptions {
  CommonOptions common;
  std::filesystem::path tensor;
  std::filesystem::path test;          // empty: none
  double split           = 0;          // share of the entries held out as test set
  double validate        = 0;          // share of the training entries held out to tell the best epoch
  int index_base         = -1;         // -1: as the file says
  std::string duplicates = "keep";     // or sum, last, error
  std::vector<std::uint64_t> columns;  // J, one number or one a mode; empty: R
  std::optional<std::uint64_t> rank;   // unset: J, or with neither chosen, or 8
  int max_epochs            = 20;
  std::string optimizer     = "als";  // a name of polyad/fast_tucker/optimizers.hpp
  double learning_rate      = 0.01;
  double core_learning_rate = 0.1;  // this and the next three: of sgd
  double decay              = 0.1;
  bool intermediates        = true;
  bool share_fibers         = true;
  std::vector<double> shrink;  // empty: chosen; or observations, their share, those of modes drawn to one
  std::vector<std::string> targets;  // "zero", "one" or "out", one a mode; empty: chosen, or zero
  std::optional<double> ridge;       // 5 where there is none and rows are not shrunk
  bool ridge_per_entry       = false;
  double core_ridge          = 0;
  bool fixed_cores           = false;
  bool biases                = true;
  double bias_damping        = 5;
  std::string time_mode_text = "-1";     // as typed: the number or the name of a mode; -1: none
  int time_mode              = -1;       // what it says, once the names of the modes are known
  std::vector<std::uint64_t> time_bins;  // one number or one a mode; empty: chosen, or at most 30
  std::vector<double> time_damping;      // likewise; empty: 30 where there are bins
  int patience          = 0;
  double time_limit_s   = std::numeric_limits<double>::infinity();
  std::uint64_t seed    = 0;
  std::string format    = "auto";
  std::string precision = "f32";  // or "f64"
  bool deterministic    = false;
  std::optional<std::uint64_t> device_memory;  // bytes; none: what is free
  std::vector<double> clip;                    // empty, or lowest and highest
  ColdStart cold_start = ColdStart::bias;
  std::filesystem::path output;              // empty: none
  std::filesystem::path checkpoint, resume;  // empty: none
  int checkpoint_every = 10;

  /// \throws UsageError for an unknown name
  [[nodiscard]] OptimizerFacts const& optimizer_facts() const { return find_optimizer(optimizer); }
  [[nodiscard]] bool shrinks() const { return optimizer_facts().draws_rows && !ridge && !ridge_per_entry; }
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
