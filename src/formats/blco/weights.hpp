// SPDX-License-Identifier: BSD-3-Clause
// The weights of the formats in ALTO's order in the cost model, fitted by scripts/fit_cost_model.py.
// A weight that is not named is zero.
#pragma once

#include "formats/cost_model.hpp"

namespace polyad::detail {

inline constexpr CostWeights blco_weights{
    .device_f32 =
        {.mttkrp = {.launch = 5.14, .stream = 7.71, .gather = 0.116, .narrow = 1.95, .output = 3.32},
         .build  = {.mode = 90.5, .stream = 23.6, .sort = 2.42, .rows = 194, .memory = 37.7},
         .load_s = 0.0106},
    .device_f64 =
        {.mttkrp = {.launch = 5.56, .stream = 3, .near = 1, .gather = 0.397, .narrow = 2.31, .output = 3.69},
         .build  = {.mode = 83, .stream = 22.9, .sort = 1.91, .rows = 214, .memory = 60.2},
         .load_s = 0.017},
    .host_f32 = {.mttkrp = {.stream = 2.47, .near = 0.447, .gather = 3.29, .narrow = 0.509, .output = 6.23},
                 .build  = {.stream = 3.08, .sort = 7.91, .scatter = 1.25}},
    .host_f64 = {.mttkrp = {.stream  = 3.19,
                            .near    = 0.543,
                            .gather  = 2.23,
                            .narrow  = 0.156,
                            .output  = 4.66,
                            .atomics = 0.0177},
                 .build  = {.sort = 8.93}}};

/// The walk of blco, and the copy of what does not stay on the device.
constexpr FormatWeights streamed_from(FormatWeights weights) {
  weights.mttkrp.scattered = 1.05;
  weights.build            = {.stream = 1000};
  return weights;
}

// On devices the copy and the build on the host are set by hand.
inline constexpr CostWeights streamed_weights{
    .device_f32 = streamed_from(blco_weights.device_f32),
    .device_f64 = streamed_from(blco_weights.device_f64),
    .host_f32   = {.mttkrp = {.stream    = 8.65,
                              .near      = 0.499,
                              .gather    = 10.2,
                              .output    = 29.6,
                              .scattered = 27.9,
                              .atomics   = 0.311},
                   .build  = {.stream = 122, .sort = 3.63, .scatter = 2.05}},
    .host_f64   = {.mttkrp = {.stream    = 5.16,
                              .near      = 0.521,
                              .gather    = 3.68,
                              .output    = 15,
                              .scattered = 20.9,
                              .atomics   = 0.329},
                   .build  = {.sort = 15.8}}};

inline constexpr CostWeights alto_weights{
    .device_f32 = {.mttkrp = {.launch  = 3.21,
                              .near    = 0.0789,
                              .gather  = 0.304,
                              .narrow  = 2.69,
                              .output  = 4.87,
                              .atomics = 0.145,
                              .hot     = 0.655},
                   .build  = {.mode = 72, .stream = 6.16, .sort = 3.54, .rows = 43.1, .memory = 46.3},
                   .load_s = 0.00306},
    .device_f64 = {.mttkrp = {.launch  = 1.88,
                              .gather  = 1.12,
                              .narrow  = 2.14,
                              .output  = 0.885,
                              .atomics = 1.23,
                              .hot     = 1.84},
                   .build  = {.mode = 63.7, .stream = 30.7, .rows = 124, .memory = 85.9},
                   .load_s = 0.00549},
    .host_f32   = {.mttkrp = {.stream = 0.954, .near = 0.0543, .gather = 0.819, .output = 6.25},
                   .build  = {.mode = 13300, .sort = 19.5, .rows = 352}},
    .host_f64   = {.mttkrp = {.stream = 0.659, .near = 0.157, .gather = 0.58, .output = 6.17},
                   .build  = {.mode = 14800, .sort = 17.9}}};

}  // namespace polyad::detail
