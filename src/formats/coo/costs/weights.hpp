// SPDX-License-Identifier: BSD-3-Clause
// The weights of the coordinate formats in the cost model, fitted by scripts/fit_cost_model.py.
// A weight that is not named is zero.
#pragma once

#include "formats/cost_model.hpp"

namespace polyad::detail {

inline constexpr CostWeights scratch_weights{
    .device_f32 = {.mttkrp = {.launch  = 5.66,
                              .stream  = 16.6,
                              .near    = 13.6,
                              .narrow  = 0.412,
                              .output  = 0.972,
                              .atomics = 0.119,
                              .hot     = 1.1,
                              .ordered = 0.21},
                   .build  = {.mode = 4.08, .rows = 1.51},
                   .load_s = 0.000837},
    .device_f64 = {.mttkrp = {.launch  = 4.46,
                              .stream  = 13.5,
                              .near    = 1.85,
                              .gather  = 0.162,
                              .narrow  = 2.44,
                              .output  = 1.1,
                              .atomics = 0.701,
                              .hot     = 1.61,
                              .ordered = 0.463},
                   .build  = {.mode = 4.06, .rows = 1.26},
                   .load_s = 0.000893},
    .host_f32   = {.mttkrp = {.near = 2.5, .gather = 16.8, .output = 14.4, .atomics = 0.891, .hot = 0.12},
                   .build  = {.mode = 0.153, .rows = 2.76}},
    .host_f64   = {
        .mttkrp =
            {.launch = 14.7, .stream = 4.36, .gather = 5.38, .output = 0.448, .atomics = 0.99, .hot = 0.321},
        .build = {.mode = 0.111, .rows = 1.26}}};

inline constexpr CostWeights tiny_vec_weights{
    .device_f32 = {.mttkrp = {.launch  = 2.72,
                              .near    = 0.607,
                              .narrow  = 1.59,
                              .output  = 0.991,
                              .atomics = 0.439,
                              .hot     = 1.43,
                              .ordered = 0.263},
                   .build  = {.mode = 4, .rows = 1.58},
                   .load_s = 0.00141},
    .device_f64 = {.mttkrp = {.launch  = 1.82,
                              .near    = 0.145,
                              .gather  = 0.444,
                              .narrow  = 0.647,
                              .output  = 1.03,
                              .atomics = 0.816,
                              .hot     = 1.81,
                              .ordered = 0.457},
                   .build  = {.mode = 4.02, .rows = 1.24},
                   .load_s = 0.0014},
    .host_f32   = {.mttkrp = {.gather = 13.1, .output = 13, .atomics = 0.881, .hot = 0.0996},
                   .build  = {.mode = 0.119, .rows = 2.75}},
    .host_f64   = {.mttkrp = {.gather = 3.83, .output = 4.9, .atomics = 0.945, .hot = 0.326},
                   .build  = {.mode = 0.134, .rows = 1.26}}};

inline constexpr FormatWeights permuted_on_hosts{
    .mttkrp = {.stream    = 3.84,
               .near      = 0.445,
               .output    = 0.414,
               .scattered = 2.87,
               .nonzeros  = 0.403,
               .nodes     = 10.6,
               .second    = 0.661,
               .third     = 1.35},
    .build  = {.mode = 3.57, .stream = 0.323, .sort = 3.39, .scatter = 3.57, .rows = 12.1}};
inline constexpr CostWeights permuted_weights{
    .device_f32 = {.mttkrp = {.launch    = 3.17,
                              .stream    = 0.811,
                              .near      = 0.728,
                              .narrow    = 2,
                              .output    = 0.98,
                              .scattered = 1.31,
                              .hot       = 0.0038},
                   .build  = {.mode = 30.1, .sort = 0.716, .scatter = 1.59, .rows = 17.5, .memory = 63.8},
                   .load_s = 0.00364},
    .device_f64 = {.mttkrp = {.launch    = 3.2,
                              .stream    = 0.813,
                              .near      = 1.35,
                              .gather    = 0.295,
                              .narrow    = 1.41,
                              .output    = 1.09,
                              .scattered = 1.81,
                              .hot       = 0.758},
                   .build  = {.mode = 38.6, .stream = 12.2, .scatter = 0.418, .rows = 20.3, .memory = 45.1},
                   .load_s = 0.00522},
    .host_f32   = permuted_on_hosts,
    .host_f64   = permuted_on_hosts};

inline constexpr FormatWeights sorted_on_hosts{
    .mttkrp = {.stream   = 1.61,
               .near     = 0.644,
               .output   = 0.317,
               .nonzeros = 0.309,
               .nodes    = 6.04,
               .second   = 0.38,
               .third    = 0.323},
    .build  = {.mode = 13.5, .stream = 0.631, .sort = 3.4, .scatter = 9.81, .rows = 19.6}};
inline constexpr CostWeights sorted_weights{
    .device_f32 = {.mttkrp = {.launch  = 3.26,
                              .stream  = 0.647,
                              .near    = 0.338,
                              .narrow  = 1.17,
                              .upper   = 0.113,
                              .output  = 1.26,
                              .atomics = 0.538,
                              .hot     = 0.655},
                   .build  = {.mode = 83.1, .stream = 9.13, .sort = 3.55, .rows = 77.7, .memory = 116},
                   .load_s = 0.0145},
    .device_f64 = {.mttkrp = {.launch  = 3.11,
                              .stream  = 0.0522,
                              .near    = 1.12,
                              .gather  = 0.208,
                              .narrow  = 1.16,
                              .upper   = 0.0766,
                              .output  = 1.19,
                              .atomics = 0.088,
                              .hot     = 1.53},
                   .build  = {.mode = 86.1, .stream = 12.2, .sort = 2.88, .rows = 138, .memory = 87.8},
                   .load_s = 0.0175},
    .host_f32   = sorted_on_hosts,
    .host_f64   = sorted_on_hosts};

}  // namespace polyad::detail
