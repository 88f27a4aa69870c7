// SPDX-License-Identifier: BSD-3-Clause
// The weights of F-COO in the cost model, fitted by scripts/fit_cost_model.py.
// A weight that is not named is zero.
#pragma once

#include "formats/cost_model.hpp"

namespace polyad::detail {

inline constexpr CostWeights f_coo_weights{
    .device_f32 = {.mttkrp = {.launch = 3.89, .stream = 0.43, .near = 1.02, .narrow = 0.981, .output = 1.75},
                   .build  = {.mode = 131, .stream = 23.2, .sort = 1.97, .rows = 153, .memory = 43.2},
                   .load_s = 0.0146},
    .device_f64 = {.mttkrp = {.launch = 3.79, .near = 1.49, .gather = 0.254, .narrow = 0.746, .output = 1.61},
                   .build  = {.mode = 108, .sort = 1.92, .scatter = 5.14, .rows = 274, .memory = 103},
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
