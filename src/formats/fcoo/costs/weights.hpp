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
    .host_f32   = {.mttkrp = {.stream = 1.16, .near = 0.376, .gather = 3.24, .atomics = 5.55, .hot = 0.0288},
                   .build  = {.stream = 21.3, .scatter = 6.51, .rows = 906}},
    .host_f64   = {.mttkrp = {.stream  = 0.457,
                              .near    = 0.464,
                              .gather  = 2.68,
                              .narrow  = 0.0628,
                              .output  = 1.19,
                              .atomics = 6.39},
                   .build  = {.sort = 4.11, .scatter = 5.01}}};

}  // namespace polyad::detail
