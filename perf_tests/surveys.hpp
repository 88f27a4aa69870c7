// SPDX-License-Identifier: BSD-3-Clause
// What the cost model knows of tensors, for scripts/fit_cost_model.py --surveys.
#pragma once

#include "options.hpp"

namespace polyad::perf {

/// Writes the surveys of options.tensors at every scale to the file options.surveys, as JSON.
/// \throws WriteError if it cannot be written
void write_surveys(PerfOptions const& options);

}  // namespace polyad::perf
