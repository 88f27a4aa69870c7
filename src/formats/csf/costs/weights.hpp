// SPDX-License-Identifier: BSD-3-Clause
// The weights of the trees in the cost model, fitted by scripts/fit_cost_model.py.
// A weight that is not named is zero.
#pragma once

#include "formats/cost_model.hpp"

namespace polyad::detail {

inline constexpr CostWeights csf_weights{
    .device_f32 = {.mttkrp = {.launch  = 4.28,
                              .stream  = 5.64,
                              .gather  = 0.387,
                              .upper   = 0.0923,
                              .output  = 1.23,
                              .atomics = 0.995,
                              .hot     = 1.33,
                              .ordered = 2.05},
                   .build  = {.mode = 127, .stream = 21.2, .sort = 3.39, .rows = 26.6, .memory = 154},
                   .load_s = 0.0182},
    .device_f64 = {.mttkrp = {.launch  = 4.17,
                              .stream  = 1.95,
                              .near    = 1.15,
                              .upper   = 1.06,
                              .output  = 1.12,
                              .atomics = 1.57,
                              .hot     = 1.97,
                              .ordered = 1.6},
                   .build  = {.mode = 129, .stream = 22.2, .sort = 2.77, .rows = 36.6, .memory = 134},
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
    .device_f32 = {.mttkrp = {.launch = 3.37,
                              .stream = 3.3,
                              .near   = 0.68,
                              .narrow = 0.169,
                              .upper  = 0.767,
                              .output = 1.32,
                              .hot    = 0.69},
                   .build  = {.mode = 133, .stream = 75.4, .rows = 147, .memory = 148},
                   .load_s = 0.0194},
    .device_f64 =
        {.mttkrp = {.launch = 3.4,
                    .stream = 1.11,
                    .near   = 1.18,
                    .gather = 0.243,
                    .narrow = 0.174,
                    .upper  = 0.956,
                    .output = 1.22,
                    .hot    = 1.69},
         .build  = {.mode = 131, .stream = 49.2, .sort = 0.687, .scatter = 0.326, .rows = 159, .memory = 167},
         .load_s = 0.0197},
    .host_f32 = {.mttkrp = {.stream = 2.79, .gather = 2.59, .upper = 1.31, .output = 1.73},
                 .build  = {.sort = 7.36, .scatter = 3.68, .rows = 41.1}},
    .host_f64 = {
        .mttkrp =
            {.stream = 1.68, .gather = 1.62, .upper = 1.66, .output = 1.25, .atomics = 0.267, .hot = 0.0189},
        .build = {.stream = 0.766, .sort = 7.41, .scatter = 1.63, .rows = 609}}};

inline constexpr CostWeights hb_csf_weights{
    .device_f32 = {.mttkrp = {.launch  = 4.05,
                              .stream  = 3.86,
                              .near    = 0.645,
                              .gather  = 0.125,
                              .upper   = 0.498,
                              .output  = 1.26,
                              .atomics = 0.815,
                              .hot     = 0.922},
                   .build  = {.mode = 188, .stream = 93.4, .rows = 200, .memory = 147},
                   .load_s = 0.0185},
    .device_f64 = {.mttkrp = {.launch  = 4.32,
                              .stream  = 1.55,
                              .near    = 1.15,
                              .gather  = 0.315,
                              .upper   = 0.761,
                              .output  = 1.24,
                              .atomics = 0.751,
                              .hot     = 1.22},
                   .build  = {.mode = 226, .stream = 73.5, .rows = 214, .memory = 139},
                   .load_s = 0.0245},
    .host_f32 = {.mttkrp = {.stream = 2.76, .gather = 2.05, .upper = 1.09, .output = 1.7, .atomics = 0.0337},
                 .build  = {.sort = 9.36, .scatter = 3.12}},
    .host_f64 = {
        .mttkrp =
            {.stream = 1.6, .gather = 1.36, .upper = 1.74, .output = 1.05, .atomics = 0.304, .hot = 0.00453},
        .build = {.stream = 3.19, .sort = 8.49, .rows = 968}}};

}  // namespace polyad::detail
