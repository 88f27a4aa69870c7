// SPDX-License-Identifier: BSD-3-Clause
// FastTucker models (tensor/fast_tucker_model.hpp) as .npz, the archive of arrays that numpy.load knows. It
// has "factor_n" (I_n x J_n) and "core_n" (J_n x R) for every mode n, and "mean" (one number). A model with
// biases has "bias_n" (I_n), and one that clips its predictions "range" (lowest, highest). If biases drift,
// there are "time_mode" (one number, T) and "drift_n" (I_n x bins) for their modes. The model predicts:
//
//   C_n = factor_n @ core_n;  mean + sum_n bias_n[i_n] + (C_0[i_0] * C_1[i_1] * ...).sum(), clipped to range
//
// Before it is clipped, drift_n[i_n, i_T * bins // I_T] is added for each drift. Later times count as the
// last.
//
// "bias_damping" (one number) shows that the file says how rows were fitted (tensor/row_fit.hpp). It then has
// what was set of "implicit" (alpha), "ridge" (the ridge, and 1 if per entry), "shrinkage" (three numbers)
// and "targets" (N numbers: 0 for zero, 1 for one, 2 for left_out).
//
// "observed_n" (I_n booleans) says which rows of mode n the training set has entries of; without it, all rows
// have some. What the rows are called is stored as in every archive (docs/file-formats.md).
#pragma once

#include <cstdint>
#include <filesystem>
#include <limits>
#include <optional>
#include <vector>

#include "polyad/io/labels.hpp"
#include "polyad/tensor/row_fit.hpp"

namespace polyad::io {

/// A FastTucker model in host memory and double precision.
struct HostFastTucker {
  std::vector<std::uint64_t> extents;        // I_n
  std::vector<std::uint64_t> columns;        // J_n
  std::uint64_t rank = 0;                    // R
  std::vector<std::vector<double>> factors;  // A^(n), I_n x J_n, row-major
  std::vector<std::vector<double>> cores;    // B^(n), J_n x R, row-major
  double mean = 0;
  std::vector<std::vector<double>> biases;  // I_n numbers per mode, or nothing at all
  int time_mode = -1;                       // -1: no biases drift, and there are no drifts
  std::vector<std::uint64_t> bins;          // one per mode, 0 if its biases do not drift; or nothing at all
  std::vector<std::vector<double>> drifts;  // I_n x bins, row-major; or nothing at all
  double lowest  = -std::numeric_limits<double>::infinity();  // predictions are clipped to this range
  double highest = std::numeric_limits<double>::infinity();
  /// For each mode I_n numbers, 0 for a row without entries in the training set, or nothing if every row has
  /// some. Empty if that holds for all modes.
  std::vector<std::vector<std::uint8_t>> observed = {};
  RowNames names                                  = {};
  std::optional<RowFit> fit                       = {};  // nothing: not known, as in older files

  [[nodiscard]] int order() const noexcept { return static_cast<int>(extents.size()); }
  bool operator==(HostFastTucker const&) const = default;
};

/// \throws UsageError unless the arrays have the sizes that extents, columns and rank say
void expect_consistent(HostFastTucker const& model);

/// \param single_precision  floats in the arrays of factors, cores and biases: half the bytes, rounded
/// \throws UsageError for an ending other than .npz; WriteError, and the previous file then stays
void write_fast_tucker(std::filesystem::path const& path, HostFastTucker const& model,
                       bool single_precision = false);

/// \throws InputError saying what is missing or does not fit
[[nodiscard]] HostFastTucker read_fast_tucker(std::filesystem::path const& path);

}  // namespace polyad::io
