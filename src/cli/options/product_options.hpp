// SPDX-License-Identifier: BSD-3-Clause
// The user's options for products with matrices and for the Tucker decomposition, one struct a command.
#pragma once

#include <cstdint>
#include <filesystem>
#include <limits>
#include <string>
#include <vector>

#include "cli/options/file_options.hpp"

namespace polyad::cli {

/// The tensor times a matrix along a mode.
struct TtmOptions {
  CommonOptions common;
  std::filesystem::path tensor;
  int index_base        = -1;
  int mode              = 0;
  std::string precision = "f64";
  std::filesystem::path matrix;  // npz with "matrix"
  std::filesystem::path output;  // a tensor file
};

/// The tensor times the matrices of all modes but one.
struct TtmcOptions {
  CommonOptions common;
  std::filesystem::path tensor;
  int index_base        = -1;
  int mode              = 0;  // the one that stays
  std::string precision = "f64";
  std::filesystem::path matrices;  // npz with "factor_0", ...
  std::filesystem::path output;    // npz
};

/// Rows of one mode of a model for new slices.
struct ProjectOptions {
  CommonOptions common;
  std::filesystem::path model;
  TensorInput input;
  int mode              = 0;
  std::string precision = "f64";
  std::filesystem::path output;  // a model file
};

struct TuckerOptions {
  CommonOptions common;
  std::filesystem::path tensor;
  int index_base = -1;
  std::vector<std::uint64_t> ranks;
  int max_iterations    = 50;
  double tolerance      = 1e-6;
  double time_limit_s   = std::numeric_limits<double>::infinity();
  std::uint64_t seed    = 0;
  std::string init      = "random";  // or "hosvd"
  std::string precision = "f64";
  std::filesystem::path output;              // npz; empty: none
  std::filesystem::path checkpoint, resume;  // empty: none
  int checkpoint_every = 10;
};

}  // namespace polyad::cli
