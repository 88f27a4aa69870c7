// SPDX-License-Identifier: BSD-3-Clause
// Checkpoint files of runs between two iterations (docs/file-formats.md), for CP-ALS, Tucker and fast_tucker
// (tensor/fast_tucker_state.hpp). They have all that the next iteration depends on, and facts to verify that
// the tensor and the options are the same.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "polyad/tensor/fast_tucker_state.hpp"
#include "polyad/tensor/stored_rows.hpp"

namespace polyad::io {

struct Checkpoint {
  std::string precision;  // f32 or f64
  std::string format;     // the storage format's name
  std::uint64_t seed = 0;
  std::uint64_t rank = 0;
  /// The extents of the tensor, whose duplicates were summed.
  std::vector<std::uint64_t> extents;
  std::uint64_t nnz   = 0;
  double norm_squared = 0;
  /// The rows that the factors have: one for each mode, or empty if they have all rows.
  std::vector<StoredRows> rows = {};
  /// Iterations done, and their fit.
  std::uint64_t iteration      = 0;
  double fit                   = 0;
  std::uint64_t gram_fallbacks = 0;
  /// A^(n), a row for each stored row, R columns, row-major, not normalised; floats if precision is f32.
  std::vector<std::vector<double>> factors;
  /// Their Gram matrices, N x R x R.
  std::vector<double> grams;
  /// lambda, R powers of two; empty in files of version 1, in which all are 1.
  std::vector<double> weights;
  /// The ridge of each mode, and with it the powers of two of the columns of all modes (s of
  /// cp/factor_update.hpp), N x R; both empty if there is none.
  std::vector<double> penalties = {}, scales = {};
  /// With bounds or an l1 in some mode, or with fixed modes: five numbers for each mode, and scales, but no
  /// penalties. The numbers are lower, upper (without a bound the largest double, negative for lower; an
  /// empty interval for a fixed mode), l1, ridge (tensor/constraints.hpp), and the inner sweeps.
  std::vector<double> constraints = {};

  bool operator==(Checkpoint const&) const = default;
};

/// \throws UsageError if there are penalties or constraints, but not those of each mode and N x R scales;
///         WriteError, and the previous file then stays
void write_checkpoint(std::filesystem::path const& path, Checkpoint const& checkpoint);

/// Returns `count` rows of A^(n) from row `first` on, row-major.
using ReadFactorRows =
    std::function<std::vector<double>(std::size_t n, std::uint64_t first, std::uint64_t count)>;
/// The same for factors that are read in blocks; those of `checkpoint` are ignored. \throws WriteError
void write_checkpoint(std::filesystem::path const& path, Checkpoint const& checkpoint,
                      ReadFactorRows const& read);

/// \throws InputError for a file that is damaged, cut short or not a checkpoint
[[nodiscard]] Checkpoint read_checkpoint(std::filesystem::path const& path);

/// Its format alone, from the beginning of the file. \throws InputError as read_checkpoint, unless the damage
/// is elsewhere
[[nodiscard]] std::string read_checkpoint_format(std::filesystem::path const& path);

/// The state of Tucker. The factors determine the next iteration; the rest is as in Checkpoint.
struct TuckerCheckpoint {
  std::string precision, format;
  std::uint64_t seed = 0;
  std::vector<std::uint64_t> extents, ranks;
  std::uint64_t nnz            = 0;
  double norm_squared          = 0;
  std::uint64_t iteration      = 0;
  double fit                   = 0;
  std::vector<StoredRows> rows = {};
  /// U^(n), a row for each stored row, R_n columns, row-major.
  std::vector<std::vector<double>> factors;

  bool operator==(TuckerCheckpoint const&) const = default;
};

/// Writes `checkpoint` with the factors that `read` returns. \throws WriteError, and the previous file then
/// stays; UsageError unless each mode has a rank
void write_tucker_checkpoint(std::filesystem::path const& path, TuckerCheckpoint const& checkpoint,
                             ReadFactorRows const& read);
/// \throws InputError for a file that is damaged, cut short or not a checkpoint of tucker
[[nodiscard]] TuckerCheckpoint read_tucker_checkpoint(std::filesystem::path const& path);

/// \throws UsageError unless the arrays have the sizes that the state says; WriteError, and the previous file
///         then stays
void write_fast_tucker_checkpoint(std::filesystem::path const& path, FastTuckerState const& state);
/// The same for a state whose matrices are read in blocks from where they are.
void write_fast_tucker_checkpoint(std::filesystem::path const& path, FastTuckerSnapshot const& snapshot);

/// \throws InputError for a file that is damaged, cut short or not a checkpoint of fast_tucker
[[nodiscard]] FastTuckerState read_fast_tucker_checkpoint(std::filesystem::path const& path);

/// The same without the numbers of the matrices, which are not read: each list has its length, and its
/// matrices are empty. \throws InputError as above, unless the damage is in the matrices
[[nodiscard]] FastTuckerState read_fast_tucker_facts(std::filesystem::path const& path);

}  // namespace polyad::io
