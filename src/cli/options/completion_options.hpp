// SPDX-License-Identifier: BSD-3-Clause
// The user's options for the commands that complete tensors, one struct per command.
#pragma once

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "cli/options/file_options.hpp"
#include "polyad/fast_tucker/evaluation.hpp"
#include "polyad/fast_tucker/fast_tucker_options.hpp"

namespace polyad::cli {

/// The treatment of entries outside the training set's extents. Zero is for models without biases.
enum class ColdStart { refuse, bias, zero };

struct TrainOptions : FastTuckerOptions {
  CommonOptions common;
  std::filesystem::path tensor;
  std::filesystem::path test;              // empty: none
  double split      = 0;                   // share of the entries held out as test set
  double validate   = 0;                   // share of the training entries held out to tell the best epoch
  double split_time = 0;                   // share of the entries, the latest, held out as test set
  std::string split_last;                  // a mode: the last entry of each of its rows is held out
  std::string split_rows;                  // a mode: `split` is the share of its rows that are held out
  std::string split_mode;                  // the mode of time for these; empty: time_mode_text
  std::string split_repeats = "together";  // or "apart": entries at the same place
  std::string split_ties    = "one";       // or "all": entries of the last time of a row
  int index_base            = -1;          // -1: as the file says
  std::string duplicates    = "keep";      // or sum, last, error
  // What is typed in another form than FastTuckerOptions has it.
  std::optional<std::uint64_t> typed_rank;
  std::string optimizer_name = "als";
  double learning_rate       = AdamRates().step;  // for adam and sgd
  std::string implicit_text;                      // alpha or "auto"; empty: no implicit feedback
  bool chooses_by_ranking = false;                // alpha, the ridge and R of implicit feedback
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
  /// Whether a test set is held out.
  [[nodiscard]] bool splits() const { return split > 0 || split_time > 0 || !split_last.empty(); }
  [[nodiscard]] bool shrinks() const {
    return optimizer_facts().draws_rows && !ridge && !ridge_per_entry && !implicit;
  }
  /// Whether a set is a random choice of entries.
  [[nodiscard]] bool draws_entries() const {
    return (split > 0 || validate > 0) && split_time == 0 && split_last.empty() && split_rows.empty();
  }
  /// Whether the run updates core matrices. With shrinkage it does so for modes with J_n < R only.
  [[nodiscard]] bool steps_cores() const {
    std::uint64_t const least = columns.empty() ? rank : std::ranges::min(columns);
    std::uint64_t const R     = rank > 0 || columns.empty() ? rank : std::ranges::max(columns);
    return update_cores && !implicit && (!shrinks() || least < R);
  }
};

/// What the model was fitted with. What is not typed comes from its file (settle_fit).
struct TypedFoldIn : FoldInOptions {
  bool is_typed          = false;         // the command line has one of these options
  bool has_typed_damping = false;         // it has --bias-reg
  std::string implicit_text;              // alpha; empty: no implicit feedback
  std::vector<double> shrink;             // the members of Shrinkage; empty: the defaults
  std::vector<std::string> target_names;  // "zero", "one" or "out" for each mode; empty: zero
};

/// What the commands that apply a model have.
struct ModelOptions {
  CommonOptions common;
  std::filesystem::path model;
  int index_base = -1;           // -1: as the model says
  std::filesystem::path output;  // where evaluate writes the metrics of each user; empty: nowhere
};

struct PredictOptions : ModelOptions {
  std::filesystem::path places;
  std::optional<ColdStart> cold_start;  // nothing: bias if the model has biases, else refuse
  std::vector<double> clip;             // empty: as the model says
  std::filesystem::path residuals;      // empty: none
};

struct RecommendOptions : ModelOptions {
  std::string mode;               // whose rows are recommended: its number or name
  std::vector<std::string> at;    // a row of each other mode, or "*"
  std::filesystem::path file;     // these, a query a line; empty: `at` is the only one
  std::filesystem::path seen;     // entries whose rows are left out; empty: none
  std::filesystem::path ratings;  // entries of users who get rows from them; empty: none
  std::string users;              // their mode, its number or name; empty: 0, or 1 if `mode` is 0
  bool rank_seen = false;         // what `ratings` has is recommended, too
  TypedFoldIn fold;
  ColdStart cold_start = ColdStart::bias;
  std::uint64_t count  = 10;
  std::vector<double> clip;  // empty: as the model says
};

struct SimilarOptions : ModelOptions {
  std::string mode;                  // its number or name
  std::optional<std::string> index;  // the row that the others are compared with
  std::filesystem::path file;        // a row a line; empty: `index` is the only one
  std::uint64_t count = 10;
};

struct EvaluateOptions : ModelOptions {
  std::filesystem::path test;
  std::filesystem::path seen;     // the training set; empty: none
  std::string items    = "1";     // a mode, its number or name
  std::string users    = "0";     // likewise
  std::string contexts = "each";  // or "average"
  std::vector<double> clip;       // empty: as the model says
  EvaluationOptions evaluation;   // modes and observed rows are not settled yet
};

struct UpdateOptions : ModelOptions {
  std::filesystem::path entries;  // new ones
  std::filesystem::path train;    // those that the model was fitted to; empty: they are not known
  TypedFoldIn fold;
  int sweeps             = 0;
  std::string duplicates = "keep";  // or sum, last: of all entries together
  std::string precision  = "f64";   // or "f32"
};

}  // namespace polyad::cli
