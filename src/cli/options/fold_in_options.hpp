// SPDX-License-Identifier: BSD-3-Clause
// The user's options for rows that a completion model gets without a new fit.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "cli/options/file_options.hpp"
#include "polyad/fast_tucker/fast_tucker_options.hpp"

namespace polyad::cli {

/// What the model was fitted with. What is not typed comes from its file (settle_fit).
struct TypedFoldIn : FoldInOptions {
  bool is_typed          = false;         // the command line has one of these options
  bool has_typed_damping = false;         // it has --bias-reg
  std::string implicit_text;              // alpha; empty: no implicit feedback
  std::vector<double> shrink;             // the members of Shrinkage; empty: the defaults
  std::vector<std::string> target_names;  // "zero", "one" or "out" for each mode; empty: zero
};

struct UpdateOptions {
  CommonOptions common;
  std::filesystem::path model;
  std::filesystem::path entries;  // new ones
  std::filesystem::path train;    // those that the model was fitted to; empty: they are not known
  TypedFoldIn fold;
  int sweeps             = 0;
  int index_base         = -1;      // -1: as the model says
  std::string duplicates = "keep";  // or sum, last: of all entries together
  std::string precision  = "f64";   // or "f32"
  std::filesystem::path output;
};

}  // namespace polyad::cli
