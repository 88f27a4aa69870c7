// SPDX-License-Identifier: BSD-3-Clause
// The weights of the trees in the cost model, fitted by scripts/fit_cost_model.py.
// A weight that is not named is zero.
#pragma once

#include "formats/cost_model.hpp"

namespace polyad::detail {

inline constexpr CostWeights csf_weights{
    .device_f32 = {.mttkrp = {.launch  = 4.33,
                              .stream  = 5.08,
                              .near    = 0.184,
                              .gather  = 0.286,
                              .upper   = 0.232,
                              .output  = 2.5,
                              .atomics = 0.805,
                              .hot     = 1.11,
                              .ordered = 1.84},
                   .build  = {.mode = 123, .stream = 29.5, .sort = 0.799, .scatter = 7.5, .memory = 106},
                   .load_s = 0.0182},
    .device_f64 = {.mttkrp = {.launch  = 4.17,
                              .stream  = 1.73,
                              .near    = 1.2,
                              .gather  = 0.00591,
                              .upper   = 1.03,
                              .atomics = 1.55,
                              .hot     = 1.65,
                              .ordered = 1.52},
                   .build  = {.mode = 124, .stream = 37.8, .scatter = 4.87, .rows = 2.9, .memory = 86},
                   .load_s = 0.0183},
    .host_f32   = {.mttkrp = {.stream  = 1.69,
                              .gather  = 2.23,
                              .upper   = 0.253,
                              .output  = 30.4,
                              .atomics = 0.882,
                              .ordered = 0.3},
                   .build  = {.sort = 5.4, .scatter = 4.42, .rows = 52.4}},
    .host_f64   = {.mttkrp = {.stream  = 0.953,
                              .gather  = 1.39,
                              .upper   = 1.29,
                              .output  = 22.3,
                              .atomics = 0.967,
                              .ordered = 0.457},
                   .build  = {.stream = 19.4, .sort = 3.13, .scatter = 3.31, .rows = 155}}};

inline constexpr CostWeights b_csf_weights{
    .device_f32 = {.mttkrp = {.launch = 3.47,
                              .stream = 2.82,
                              .near   = 0.665,
                              .narrow = 0.253,
                              .upper  = 0.743,
                              .output = 2.19,
                              .hot    = 0.699},
                   .build  = {.mode = 125, .stream = 60.6, .scatter = 4.83, .memory = 101},
                   .load_s = 0.0194},
    .device_f64 = {.mttkrp = {.launch = 3.4,
                              .stream = 0.996,
                              .near   = 1.16,
                              .gather = 0.289,
                              .narrow = 0.186,
                              .upper  = 0.807,
                              .output = 1.61,
                              .hot    = 1.64},
                   .build  = {.mode = 122, .stream = 46.6, .scatter = 4.51, .memory = 126},
                   .load_s = 0.0197},
    .host_f32   = {.mttkrp = {.stream = 2.79, .gather = 2.59, .upper = 1.31, .output = 1.73},
                   .build  = {.sort = 7.36, .scatter = 3.68, .rows = 41.1}},
    .host_f64   = {
        .mttkrp =
            {.stream = 1.68, .gather = 1.62, .upper = 1.66, .output = 1.25, .atomics = 0.267, .hot = 0.0189},
        .build = {.stream = 0.766, .sort = 7.41, .scatter = 1.63, .rows = 609}}};

inline constexpr CostWeights hb_csf_weights{
    .device_f32 = {.mttkrp = {.launch  = 4.31,
                              .stream  = 3.69,
                              .near    = 0.651,
                              .gather  = 0.101,
                              .upper   = 0.552,
                              .output  = 1.78,
                              .atomics = 0.448,
                              .hot     = 0.917},
                   .build  = {.mode = 175, .stream = 83.9, .scatter = 3.81, .memory = 117},
                   .load_s = 0.0185},
    .device_f64 = {.mttkrp = {.launch  = 4.25,
                              .stream  = 1.47,
                              .near    = 1.14,
                              .gather  = 0.336,
                              .upper   = 0.707,
                              .output  = 1.43,
                              .atomics = 0.571,
                              .hot     = 1.28},
                   .build  = {.mode = 175, .stream = 78.1, .memory = 130},
                   .load_s = 0.0245},
    .host_f32 = {.mttkrp = {.stream = 2.76, .gather = 2.05, .upper = 1.09, .output = 1.7, .atomics = 0.0337},
                 .build  = {.sort = 9.36, .scatter = 3.12}},
    .host_f64 = {
        .mttkrp =
            {.stream = 1.6, .gather = 1.36, .upper = 1.74, .output = 1.05, .atomics = 0.304, .hot = 0.00453},
        .build = {.stream = 3.19, .sort = 8.49, .rows = 968}}};

}  // namespace polyad::detail
