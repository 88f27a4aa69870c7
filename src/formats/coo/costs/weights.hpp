// SPDX-License-Identifier: BSD-3-Clause
// The weights of the coordinate formats in the cost model, fitted by scripts/fit_cost_model.py.
// A weight that is not named is zero.
#pragma once

#include "formats/cost_model.hpp"

namespace polyad::detail {

inline constexpr CostWeights scratch_weights{
    .device_f32 = {.mttkrp = {.launch  = 5.86,
                              .stream  = 16.6,
                              .near    = 11.1,
                              .narrow  = 0.197,
                              .output  = 0.932,
                              .atomics = 0.952,
                              .hot     = 1.11,
                              .ordered = 0.245},
                   .build  = {.mode = 4.2, .rows = 1.47},
                   .load_s = 0.00754},
    .device_f64 = {.mttkrp = {.launch  = 4.45,
                              .stream  = 12.7,
                              .near    = 3.31,
                              .gather  = 0.119,
                              .narrow  = 2.4,
                              .output  = 1.03,
                              .atomics = 0.455,
                              .hot     = 1.56,
                              .ordered = 0.471},
                   .build  = {.mode = 4.11, .rows = 1.23},
                   .load_s = 0.00578},
    .host_f32   = {.mttkrp = {.near = 2.5, .gather = 16.8, .output = 14.4, .atomics = 0.891, .hot = 0.12},
                   .build  = {.mode = 0.153, .rows = 2.76}},
    .host_f64   = {
        .mttkrp =
            {.launch = 14.7, .stream = 4.36, .gather = 5.38, .output = 0.448, .atomics = 0.99, .hot = 0.321},
        .build = {.mode = 0.111, .rows = 1.26}}};

inline constexpr CostWeights tiny_vec_weights{
    .device_f32 = {.mttkrp = {.launch  = 2.65,
                              .near    = 0.408,
                              .narrow  = 1.57,
                              .output  = 1,
                              .atomics = 0.504,
                              .hot     = 1.45,
                              .ordered = 0.271},
                   .build  = {.mode = 4.13, .rows = 1.54},
                   .load_s = 0.00546},
    .device_f64 = {.mttkrp = {.launch  = 1.8,
                              .near    = 0.659,
                              .gather  = 0.416,
                              .narrow  = 0.625,
                              .output  = 1.02,
                              .atomics = 0.716,
                              .hot     = 1.79,
                              .ordered = 0.46},
                   .build  = {.mode = 4.09, .rows = 1.22},
                   .load_s = 0.00551},
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
    .device_f32 = {.mttkrp = {.launch    = 3.02,
                              .stream    = 0.824,
                              .near      = 0.78,
                              .narrow    = 1.92,
                              .output    = 0.957,
                              .scattered = 1.26,
                              .hot       = 0.0877},
                   .build  = {.mode = 38.9, .sort = 0.692, .scatter = 1.45, .rows = 20.3, .memory = 64},
                   .load_s = 0.00898},
    .device_f64 = {.mttkrp = {.launch    = 3.17,
                              .stream    = 0.71,
                              .near      = 1.38,
                              .gather    = 0.317,
                              .narrow    = 1.36,
                              .output    = 1.01,
                              .scattered = 1.79,
                              .hot       = 0.71},
                   .build  = {.mode = 48.2, .stream = 13.2, .rows = 19.5, .memory = 52.5},
                   .load_s = 0.0107},
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
    .device_f32 = {.mttkrp = {.launch  = 3.11,
                              .stream  = 0.704,
                              .near    = 0.386,
                              .narrow  = 1.11,
                              .upper   = 0.141,
                              .output  = 1.14,
                              .atomics = 0.466,
                              .hot     = 0.75},
                   .build  = {.mode = 30.6, .stream = 23.3, .sort = 2.32, .rows = 104, .memory = 75.7},
                   .load_s = 0.00787},
    .device_f64 = {.mttkrp = {.launch  = 3.09,
                              .stream  = 0.0407,
                              .near    = 1.11,
                              .gather  = 0.244,
                              .narrow  = 1.12,
                              .upper   = 0.0542,
                              .output  = 1.07,
                              .atomics = 0.154,
                              .hot     = 1.47},
                   .build  = {.mode = 32.2, .stream = 11.3, .sort = 3.36, .rows = 113, .memory = 71.3},
                   .load_s = 0.00993},
    .host_f32   = sorted_on_hosts,
    .host_f64   = sorted_on_hosts};

}  // namespace polyad::detail
