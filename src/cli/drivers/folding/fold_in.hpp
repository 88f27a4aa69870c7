// SPDX-License-Identifier: BSD-3-Clause
// The part of `polyad project`, `recommend --ratings` and `update` that runs on the backend. Free of Kokkos,
// so that its callers are.
#pragma once

#include <optional>
#include <string>

#include "polyad/fast_tucker/fast_tucker_options.hpp"
#include "polyad/io/coordinate_list.hpp"
#include "polyad/io/fast_tucker_file.hpp"

namespace polyad::cli {

struct FoldInTask {
  io::CoordinateList entries;  // those of the rows to compute
  /// Entries whose rows are solved, as polyad::update_rows takes them. None: rows that the model lacks, or
  /// had no entries of, as polyad::fold_in computes them.
  std::optional<io::CoordinateList> added = {};
  int sweeps                              = 0;  // over all rows with entries, after that
  std::string precision                   = "f64";
};

/// The model with these rows, without names and without marks of observed rows. Needs a Session. On several
/// ranks, each passes some of the entries, and all get the model.
/// \param options  without observed rows: the model has them
/// \throws what polyad::fold_in throws; Interrupted between sweeps
[[nodiscard]] io::HostFastTucker fold_in_rows(io::HostFastTucker const& model, FoldInTask&& task,
                                              FoldInOptions options);

}  // namespace polyad::cli
