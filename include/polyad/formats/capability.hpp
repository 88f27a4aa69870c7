// SPDX-License-Identifier: BSD-3-Clause
// Capability: what a format can do.
#pragma once

namespace polyad {

/// What a format can do. CP-ALS asks for MTTKRP, which only formats for completion may lack.
enum class Capability {
  mttkrp,
  residual_sweep,     // ResidualFormat: als and adam of fast_tucker
  row_least_squares,  // RowShrinkageFormat: als of fast_tucker
  sgd,                // SgdFormat: sgd of fast_tucker
  ttmc,               // TtmcFormat: Tucker
  streaming           // the nonzeros stay in host memory; a run takes the device's memory that is left
};

/// "a residual sweep", "updates for single observations" and the like.
[[nodiscard]] char const* to_string(Capability capability);

}  // namespace polyad
