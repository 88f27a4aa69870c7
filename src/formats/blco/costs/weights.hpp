// SPDX-License-Identifier: BSD-3-Clause
// The weights of the formats in ALTO's order in the cost model, fitted by scripts/fit_cost_model.py.
// A weight that is not named is zero.
#pragma once

#include "formats/cost_model.hpp"

namespace polyad::detail {

inline constexpr FormatWeights blco_on_hosts{
    .mttkrp = {.stream     = 0.886,
               .near       = 0.176,
               .output     = 0.428,
               .nonzeros   = 0.48,
               .nodes      = 1.2,
               .second     = 0.57,
               .third      = 0.792,
               .own_second = 0.951,
               .locks      = 4.7,
               .copies     = 7.2},
    .build  = {.mode = 28.7, .stream = 1.84, .sort = 10.1, .scatter = 9.81, .rows = 15}};
inline constexpr CostWeights blco_weights{
    .device_f32 = {.mttkrp = {.launch = 5.1,
                              .stream = 4.89,
                              .near   = 0.021,
                              .narrow = 2.91,
                              .output = 1.01,
                              .hot    = 0.0214},
                   .build  = {.mode = 31.9, .sort = 5, .rows = 16.6, .memory = 51.4},
                   .load_s = 0.0109},
    .device_f64 = {.mttkrp = {.launch = 5.63,
                              .stream = 1.94,
                              .near   = 1.04,
                              .gather = 0.361,
                              .narrow = 2.77,
                              .output = 1,
                              .hot    = 0.00874},
                   .build  = {.mode = 33.8, .sort = 5.17, .rows = 16.5, .memory = 56.8},
                   .load_s = 0.0141},
    .host_f32   = blco_on_hosts,
    .host_f64   = blco_on_hosts};

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

inline constexpr FormatWeights alto_on_hosts{
    .mttkrp = {.stream     = 0.287,
               .near       = 0.264,
               .upper      = 2.27,
               .output     = 0.362,
               .nonzeros   = 1.18,
               .nodes      = 2.74,
               .second     = 0.104,
               .third      = 0.471,
               .own_second = 0.363,
               .locks      = 14.8,
               .copies     = 4.9},
    .build  = {.stream = 94.6, .sort = 2.68, .scatter = 6.41, .rows = 9.09, .search = 0.91, .windows = 11.5}};
inline constexpr CostWeights alto_weights{
    .device_f32 = {.mttkrp = {.launch  = 3,
                              .gather  = 0.524,
                              .narrow  = 2.38,
                              .output  = 0.879,
                              .atomics = 0.286,
                              .hot     = 0.687},
                   .build  = {.mode = 26, .sort = 4.46, .rows = 12.9, .memory = 59.1},
                   .load_s = 0.00591},
    .device_f64 = {.mttkrp = {.launch  = 1.94,
                              .gather  = 1.26,
                              .narrow  = 1.47,
                              .output  = 0.839,
                              .atomics = 1.3,
                              .hot     = 1.77},
                   .build  = {.mode = 27, .stream = 23.8, .sort = 1.52, .rows = 23.8, .memory = 64},
                   .load_s = 0.00819},
    .host_f32   = alto_on_hosts,
    .host_f64   = alto_on_hosts};

}  // namespace polyad::detail
