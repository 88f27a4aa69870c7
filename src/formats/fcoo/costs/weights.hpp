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
    .device_f32 = {.mttkrp = {.launch = 3.76, .stream = 0.233, .near = 1.06, .narrow = 1.07, .output = 1.21},
                   .build  = {.mode = 41.7, .sort = 4.34, .rows = 118, .memory = 72.6},
                   .load_s = 0.00545},
    .device_f64 = {.mttkrp = {.launch = 3.8, .near = 1.52, .gather = 0.277, .narrow = 0.753, .output = 1.09},
                   .build  = {.mode = 44, .sort = 3.84, .rows = 117, .memory = 93},
                   .load_s = 0.0092},
    .host_f32   = f_coo_on_hosts,
    .host_f64   = f_coo_on_hosts};

}  // namespace polyad::detail
