// SPDX-License-Identifier: BSD-3-Clause
// The state of a fast_tucker run between two epochs, in host memory: all that the next epoch depends on. It
// also has the facts by which a resumed run checks that its entries and options are the same.
// io/checkpoint.hpp keeps it in a file. Free of Kokkos.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "polyad/core/stop_reason.hpp"

namespace polyad {

/// Matrices are row-major; floats where precision is f32.
struct FastTuckerState {
  /// The file that it was read from, for messages; not part of the state.
  std::string file;

  std::string precision;  // f32 or f64
  std::string format;     // format of the training set
  std::string asked;      // the options that determine the iterates, as text
  std::vector<std::uint64_t> extents;
  std::uint64_t nnz = 0, validation_nnz = 0;
  double norm_squared = 0;  // that of the training set minus mean and biases

  /// The options after the search, which chose those that were left open (FastTuckerOptions).
  std::uint64_t rank = 0;
  std::vector<std::uint64_t> columns;
  std::vector<std::uint64_t> targets;  // numbers of RowTarget; empty: all are zero
  std::vector<double> shrinkage;       // three numbers, or none
  std::vector<double> ridge;           // one number, or none
  bool ridge_per_entry = false;
  std::vector<double> bias_damping;       // one number, or none: as the options of the run have it
  std::vector<std::uint64_t> drift_bins;  // one per mode, or none
  std::vector<double> drift_damping;      // likewise
  bool has_choice          = false;       // whether a search chose the options
  std::uint64_t candidates = 0;
  double choice_s          = 0;
  PredictionErrors choice_biases, choice_model;
  std::uint64_t choice_epochs = 0;            // the epochs that the search chose
  std::vector<std::uint64_t> left_to_biases;  // one per mode, or none (FastTuckerChoice::left_to_biases)

  double mean = 0;
  std::vector<std::vector<double>> biases;  // I_n numbers per mode, or none
  int time_mode = -1;
  std::vector<std::uint64_t> bins;          // one per mode if there is a time mode, else none
  std::vector<std::vector<double>> drifts;  // I_n x bins

  std::uint64_t epoch      = 0;  // epochs done so far
  std::uint64_t kept_epoch = 0;
  double best              = 0;                 // validation RMSE of the kept epoch, with patience
  std::array<PredictionErrors, 3> kept_errors;  // training, validation and test set; 0 entries before epoch 1
  std::vector<std::vector<double>> factors, cores, intermediates;  // A^(n), B^(n), C^(n)
  std::vector<double> squares;                                     // als only: N x R
  std::vector<std::vector<double>> moments;  // adam only, per mode: means and squares of A^(n), then of B^(n)
  std::vector<std::vector<double>> kept;     // with patience, per mode: A^(n) and B^(n) of the kept epoch

  /// Frees factors, cores, intermediates, moments and kept.
  void clear_matrices() {
    for (auto* const matrices : {&factors, &cores, &intermediates, &moments, &kept}) *matrices = {};
  }
  bool operator==(FastTuckerState const&) const = default;
};

/// The state of a run, without copies of its matrices: a checkpoint reads them in blocks.
struct FastTuckerSnapshot {
  struct Matrix {
    std::uint64_t rows = 0, columns = 0;
    /// Returns `count` rows from row `first` on. They are valid until the next call.
    std::function<std::span<double const>(std::uint64_t first, std::uint64_t count)> read;

    /// Calls f(std::span<double const>) with the elements in their order, whole rows at a time.
    template <class F>
    void for_each_block(F const& f) const {
      if (columns == 0) return;
      constexpr std::uint64_t elements = std::uint64_t{1} << 16;
      std::uint64_t const most         = std::max<std::uint64_t>(1, elements / columns);
      for (std::uint64_t first = 0; first < rows; first += most) f(read(first, std::min(most, rows - first)));
    }
  };

  FastTuckerState const& facts;  // without the matrices below
  std::vector<Matrix> factors = {}, cores = {}, intermediates = {}, moments = {}, kept = {};

  /// A copy of everything.
  [[nodiscard]] FastTuckerState state() const {
    FastTuckerState copy = facts;
    auto const copied    = [](std::vector<Matrix> const& matrices) {
      std::vector<std::vector<double>> lists;
      for (Matrix const& matrix : matrices) {
        auto& list = lists.emplace_back();
        list.reserve(matrix.rows * matrix.columns);
        matrix.for_each_block(
            [&](std::span<double const> block) { list.insert(list.end(), block.begin(), block.end()); });
      }
      return lists;
    };
    copy.factors       = copied(factors);
    copy.cores         = copied(cores);
    copy.intermediates = copied(intermediates);
    copy.moments       = copied(moments);
    copy.kept          = copied(kept);
    return copy;
  }
};

}  // namespace polyad
