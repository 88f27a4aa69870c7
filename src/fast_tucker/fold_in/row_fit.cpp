// SPDX-License-Identifier: BSD-3-Clause
#include "fast_tucker/implicit/implicit.hpp"
#include "polyad/fast_tucker/fast_tucker.hpp"

namespace polyad {

RowFit row_fit(FastTuckerOptions const& options, int order) {
  auto const settled = detail::settled(options, order);
  RowFit fit;
  fit.implicit = settled.implicit;
  if (draws_rows(settled))
    fit.shrinkage = settled.shrinkage.value_or(Shrinkage{});
  else
    fit.ridge = settled.ridge.value_or(usual_ridge);
  fit.ridge_per_entry = settled.ridge_per_entry;
  fit.targets         = settled.targets;
  fit.bias_damping    = settled.bias.damping;
  return fit;
}

}  // namespace polyad
