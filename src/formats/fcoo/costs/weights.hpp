// SPDX-License-Identifier: BSD-3-Clause
// The weights of F-COO in the cost model, fitted by scripts/fit_cost_model.py.
// A weight that is not named is zero.
#pragma once

#include "formats/cost_model.hpp"

namespace polyad::detail {

inline constexpr FormatWeights f_coo_on_hosts{
    .mttkrp = {.stream   = 1.47,
               .near     = 0.639,
               .upper    = 0.298,
               .output   = 0.4,
               .nonzeros = 1.1,
               .nodes    = 9.71,
               .second   = 0.834,
               .third    = 0.846},
    .build  = {.mode = 16.9, .stream = 1.51, .sort = 3.22, .scatter = 12.4, .rows = 19.7}};
inline constexpr CostWeights f_coo_weights{
    .device_f32 = {.mttkrp = {.launch = 3.86, .stream = 0.214, .near = 1.01, .narrow = 1.1, .output = 1.34},
                   .build  = {.mode = 134, .stream = 1.31, .sort = 3.99, .rows = 143, .memory = 72.7},
                   .load_s = 0.0146},
    .device_f64 = {.mttkrp = {.launch = 3.82, .near = 1.51, .gather = 0.271, .narrow = 0.795, .output = 1.23},
                   .build  = {.mode = 117, .sort = 3.58, .rows = 178, .memory = 132},
                   .load_s = 0.0158},
    .host_f32   = f_coo_on_hosts,
    .host_f64   = f_coo_on_hosts};

}  // namespace polyad::detail
