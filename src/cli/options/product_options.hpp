// SPDX-License-Identifier: BSD-3-Clause
// The user's options for products with matrices and for the Tucker decomposition, one struct per command.
#pragma once

#include <filesystem>
#include <string>

#include <optional>

#include "cli/options/completion_options.hpp"
#include "cli/options/file_options.hpp"
#include "polyad/tucker/tucker_options.hpp"

namespace polyad::cli {

/// The options of all products of a tensor with matrices.
struct ProductOptions : SummedTensorOptions {
  std::string mode_text;      // as typed: its number or name
  int mode              = 0;  // that it names
  std::string precision = "f64";
  std::filesystem::path output;
};

/// The tensor times a matrix along a mode, which is a tensor file.
struct TtmOptions : ProductOptions {
  std::filesystem::path matrix;  // npz with "matrix"
};

/// The tensor times the matrices of all modes but this one, which is a matrix in an npz file.
struct TtmcOptions : ProductOptions {
  std::filesystem::path matrices;  // npz with "factor_0", ...
};

/// Rows of one mode of a model for new slices.
struct ProjectOptions {
  CommonOptions common;
  std::filesystem::path model;
  TensorInput input;
  std::string mode_text;      // a number or a name
  int mode              = 0;  // which mode_text names
  std::string precision = "f64";
  // These are for models of fast-tucker alone.
  TypedFoldIn fold;
  std::optional<ColdStart> cold_start;  // nothing: bias
  bool duplicates_typed = false;        // else repeated entries are kept
  std::filesystem::path output;         // a model file
};

struct TuckerOptions : polyad::TuckerOptions, SummedTensorOptions {
  std::string init      = "random";  // or "hosvd"
  std::string precision = "f64";
  std::filesystem::path output;  // npz; empty: none
};

}  // namespace polyad::cli
