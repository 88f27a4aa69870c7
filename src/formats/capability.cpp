// SPDX-License-Identifier: BSD-3-Clause
#include "polyad/formats/capability.hpp"

namespace polyad {

char const* to_string(Capability capability) {
  switch (capability) {
    case Capability::mttkrp:
      return "MTTKRP";
    case Capability::residual_sweep:
      return "residual sweep";
    case Capability::row_least_squares:
      return "least squares for rows";
    case Capability::sgd:
      return "updates for single observations";
    case Capability::ttmc:
      return "SpTTMc";
    case Capability::fixed_order:
      return "fixed order of summation";
    case Capability::streaming:
      return "streaming";
  }
  return "such operation";
}

}  // namespace polyad
