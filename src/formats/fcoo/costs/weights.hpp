// SPDX-License-Identifier: BSD-3-Clause
// The weights of F-COO in the cost model, fitted by scripts/fit_cost_model.py.
// A weight that is not named is zero.
#pragma once

#include "formats/cost_model.hpp"

namespace polyad::detail {

inline constexpr CostWeights f_coo_weights{
    .device_f32 = {.mttkrp = {.launch = 3.86, .stream = 0.214, .near = 1.01, .narrow = 1.1, .output = 1.34},
                   .build  = {.mode = 134, .stream = 1.31, .sort = 3.99, .rows = 143, .memory = 72.7},
                   .load_s = 0.0146},
    .device_f64 = {.mttkrp = {.launch = 3.82, .near = 1.51, .gather = 0.271, .narrow = 0.795, .output = 1.23},
                   .build  = {.mode = 117, .sort = 3.58, .rows = 178, .memory = 132},
                   .load_s = 0.0158},
    .host_f32   = {.mttkrp = {.near = 0.616, .gather = 3.38, .narrow = 0.423, .output = 8.68, .hot = 0.102},
                   .build  = {.stream = 10.1, .sort = 2.76, .scatter = 6.32, .rows = 201}},
    .host_f64   = {.mttkrp = {.near = 0.488, .gather = 2.66, .narrow = 0.506, .output = 8.83, .hot = 0.0359},
                   .build  = {.sort = 4.73, .scatter = 4.6, .rows = 125}}};

}  // namespace polyad::detail
