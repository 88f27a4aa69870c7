// SPDX-License-Identifier: BSD-3-Clause
// CP and Tucker models in host memory and their files, text or npz. The name's ending decides the kind of a
// written file, the content that of a read one. Also scores of how close a model is to another, or to a
// tensor.
#pragma once

#include <cstdint>
#include <filesystem>
#include <vector>

#include "polyad/io/coordinate_list.hpp"
#include "polyad/io/labels.hpp"
#include "polyad/tensor/constraints.hpp"
#include "polyad/tensor/stored_rows.hpp"

namespace polyad::io {

/// A Kruskal tensor in host memory and double precision: the content of a file.
struct HostKtensor {
  /// lambda, R of them
  std::vector<double> weights;
  /// I_0, ..., I_{N-1}
  std::vector<std::uint64_t> extents;
  /// A^(n), I_n x R, row-major; for a mode with a list of rows, one row for each of them
  std::vector<std::vector<double>> factors;
  /// The rows that are stored: one for each mode, or empty if all rows are stored.
  std::vector<StoredRows> rows = {};
  /// The names of the rows, including rows that are not stored.
  RowNames names = {};
  /// As in Ktensor: one for each mode, or empty.
  std::vector<Constraints> constraints = {};

  [[nodiscard]] std::uint64_t rank() const noexcept { return weights.size(); }
  [[nodiscard]] int order() const noexcept { return static_cast<int>(extents.size()); }

  bool operator==(HostKtensor const&) const = default;
};

/// \throws UsageError unless the arrays have the sizes that the weights, extents and rows say
void expect_consistent(HostKtensor const& model);

/// The model with the rows that a tensor of the same extents has. Rows that the model does not store are
/// zero.
/// \param rows  one for each mode, or empty for all rows
/// \throws UsageError when the model or the lists are of other extents
[[nodiscard]] HostKtensor with_rows(HostKtensor model, std::vector<StoredRows> const& rows);

/// Keeps the nonzeros of X in rows that are stored, and replaces their indices by positions. The other
/// nonzeros contribute nothing to a product with the factors.
/// \param rows  one for each mode, or empty, which changes nothing
/// \param mode  a mode whose indices stay as they are; -1: none
/// \throws UsageError when X has other extents
void keep_stored(CoordinateList& X, std::vector<StoredRows> const& rows, int mode = -1);

enum class ModelKind { text, npz };

/// .ktns or .txt: text; .npz: npz. A descriptor of this process, such as /dev/stdout: text.
/// \throws UsageError for other endings
[[nodiscard]] ModelKind model_kind(std::filesystem::path const& path);

/// Writes all of the model or nothing, by the ending of the name (model_kind).
/// \param single_precision  the model was computed in float: an npz then holds floats
/// \throws UsageError for another ending or sizes that contradict; WriteError, and the previous file then
///         stays
void write_model(std::filesystem::path const& path, HostKtensor const& model, bool single_precision = false);

/// Whether the file begins as a model does: it may still turn out damaged. A pipe then loses what was read:
/// InputFile (polyad/io/input_file.hpp) recognises and reads it. \throws InputError when it cannot be read
[[nodiscard]] bool is_model_file(std::filesystem::path const& path);

/// \throws InputError for a file that is missing, damaged or not a CP model
[[nodiscard]] HostKtensor read_model(std::filesystem::path const& path);

/// A Tucker model in host memory and double precision: the content of a file.
struct HostTucker {
  /// I_0, ..., I_{N-1} and R_0, ..., R_{N-1}
  std::vector<std::uint64_t> extents, ranks;
  /// G, R_0 x ... x R_{N-1}, row-major
  std::vector<double> core;
  /// U^(n), I_n x R_n, row-major; for a mode with a list of rows, one row for each of them
  std::vector<std::vector<double>> factors;
  /// As in HostKtensor.
  std::vector<StoredRows> rows = {};
  RowNames names               = {};

  [[nodiscard]] int order() const noexcept { return static_cast<int>(extents.size()); }
};

/// Whether the file begins as a Tucker model does (an npz with an array `core`). \throws InputError when it
/// cannot be read
[[nodiscard]] bool is_tucker_file(std::filesystem::path const& path);

/// \throws InputError for a file that is missing, damaged or not a Tucker model
[[nodiscard]] HostTucker read_tucker(std::filesystem::path const& path);

/// Factor match score (Acar, Dunlavy, Kolda: "A scalable optimization approach for fitting canonical tensor
/// decompositions", J. Chemometrics 25(2), 2011, section 5): for components r of A and s of B
///   score(r, s) = prod_n |cos(a_r^(n), b_s^(n))|,
/// summed over the pairs of the assignment with the largest sum and divided by the larger rank. So a
/// component without a partner counts as 0. The second score multiplies each pair by
///   1 - |w_r - w_s| / max(w_r, w_s), w the components' norms.
struct MatchScore {
  double score, weighted;
  /// For each component of A: its partner in B, or -1.
  std::vector<std::int64_t> partner;
};

/// \throws UsageError when the extents differ, a model's sizes contradict or a rank is 0
[[nodiscard]] MatchScore match_score(HostKtensor const& a, HostKtensor const& b);

/// 1 - ||X - M|| / ||X||, as drivers report it at the end of a run: to 1e-12, or as the model allows. X has
/// no duplicates.
/// \throws UsageError when the extents differ or a coordinate is outside; NumericalError when X is zero, or
///         has duplicates that make ||X - M||^2 negative
[[nodiscard]] double fit_of_model(CoordinateList const& X, HostKtensor const& model);
[[nodiscard]] double fit_of_model(CoordinateList const& X, HostTucker const& model);

}  // namespace polyad::io
