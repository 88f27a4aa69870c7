// SPDX-License-Identifier: BSD-3-Clause
// ModelDefect: what is wrong with a model whose fit has converged. Free of Kokkos.
#pragma once

namespace polyad {

/// A reason why a model is of little or no use although its fit has converged.
enum class ModelDefect {
  none,
  zero,           // the whole model: the numbers underflowed
  never_regular,  // every update took the pseudo-inverse: the components were never independent
  /// Two components nearly cancel each other (the cosine of their angle is below -0.9), and their norms grow
  /// from iteration to iteration. The tensor has no best model of this rank.
  degenerate
};

/// Empty for none.
[[nodiscard]] inline char const* to_string(ModelDefect defect) {
  return defect == ModelDefect::zero            ? "the model is zero"
         : defect == ModelDefect::never_regular ? "every update took the pseudo-inverse"
         : defect == ModelDefect::degenerate    ? "two components grow and cancel each other"
                                                : "";
}

}  // namespace polyad
