// SPDX-License-Identifier: BSD-3-Clause
// The expected cost of an MTTKRP on this machine.
#pragma once

#include "ceilings.hpp"
#include "polyad/core/types.hpp"

namespace polyad::perf {

/// The gather model, in seconds: for each other factor P rows at the measured rate for a table of its size,
/// and one pass over the nonzeros and the output at copy speed. It ignores reuse along fibers, so a kernel
/// may be faster.
template <class Scalar, class Space>
double gather_model(Ceilings<Space>& ceilings, Extents const& extents, count_t nnz, int mode, int rank) {
  auto const P = static_cast<double>(nnz);
  auto const each =
      static_cast<double>(sizeof(Scalar) + static_cast<count_t>(extents.order()) * sizeof(std::uint32_t));
  double seconds =
      (P * each + static_cast<double>(extents[mode]) * rank * sizeof(Scalar)) / ceilings.copy_rate();
  for (int m = 0; m < extents.order(); ++m)
    if (m != mode) seconds += P * ceilings.template gather_seconds<Scalar>(extents[m], rank);
  return seconds;
}

/// Bytes of GenTen's bandwidth model (section 7.1), which papers use for comparisons: ((N R + 3) s_r + N s_o)
/// P for one mode, as if nothing were ever found in a cache.
template <class Scalar>
double genten_bytes(int order, count_t nnz, int rank) {
  return ((order * rank + 3.0) * sizeof(Scalar) + order * sizeof(std::uint32_t)) * static_cast<double>(nnz);
}

}  // namespace polyad::perf
