// SPDX-License-Identifier: BSD-3-Clause
// RowFit: how the rows of a FastTucker model were fitted. Its file stores this (io/fast_tucker_file.hpp), and
// fold_in computes further rows by it (fast_tucker/fast_tucker.hpp). Plain C++.
#pragma once

#include <optional>
#include <vector>

namespace polyad {

/// The value toward which als pulls the rows of C^(n). If a mode has little influence on the interaction,
/// pulling its rows toward zero would drive the whole product to zero.
enum class RowTarget {
  zero,
  one,
  left_out,  // not fitted: ones, as fill_start makes them, so that the mode has no part in the product
};

/// How strongly als pulls a row of n observations. The weight towards zero is observations + share n, and the
/// weight towards one is to_one (docs/fast-tucker.md). No member may be negative.
struct Shrinkage {
  double observations                     = 10;
  double share                            = 0.05;  // a fraction
  double to_one                           = 1000;
  bool operator==(Shrinkage const&) const = default;
};

/// The names are those of FastTuckerOptions.
struct RowFit {
  std::optional<double> implicit     = {};  // alpha
  std::optional<double> ridge        = {};  // unset: implicit_ridge with implicit, else the shrinkage
  bool ridge_per_entry               = false;
  std::optional<Shrinkage> shrinkage = {};  // unset: Shrinkage(); not with a ridge or implicit
  /// One for each mode. None: zero, or left_out for modes whose rows are all ones.
  std::vector<RowTarget> targets       = {};
  double bias_damping                  = 5;  // as BiasOptions::damping
  bool operator==(RowFit const&) const = default;
};

}  // namespace polyad
