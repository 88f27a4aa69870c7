// SPDX-License-Identifier: BSD-3-Clause
// OwnedRows: what one of several ranks will hold in a run that divides the rows of every mode, for the plan
// of its memory. `owned_rows` (distributed/distribute.hpp) counts it. Free of Kokkos.
#pragma once

#include <algorithm>
#include <vector>

#include "polyad/core/types.hpp"

namespace polyad {

struct OwnedRows {
  struct OfMode {
    count_t rows = 0;
    count_t nnz  = 0;  // in these rows
  };
  std::vector<OfMode> modes;
  count_t part    = 0;  // nonzeros that this rank has before they are exchanged
  count_t nnz     = 0;  // the nonzeros of all ranks together
  int ranks       = 1;
  int rank        = 0;
  int longest     = 0;      // the mode with the most rows
  bool is_ordered = false;  // every part is in lexicographic order, and has no nonzero twice
  bool by_mpi     = false;  // MPI adds up arrays in host memory, and copies them

  /// The most nonzeros of a mode.
  [[nodiscard]] count_t most_nnz() const {
    count_t most = 0;
    for (auto const& mode : modes) most = std::max(most, mode.nnz);
    return most;
  }
};

}  // namespace polyad
