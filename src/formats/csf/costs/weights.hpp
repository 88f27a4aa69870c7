// SPDX-License-Identifier: BSD-3-Clause
// The weights of the trees in the cost model, fitted by scripts/fit_cost_model.py.
// A weight that is not named is zero.
#pragma once

#include "formats/cost_model.hpp"

namespace polyad::detail {

inline constexpr CostWeights csf_weights{
    .device_f32 = {.mttkrp = {.launch  = 4.05,
                              .stream  = 5.63,
                              .near    = 0.151,
                              .gather  = 0.193,
                              .upper   = 0.27,
                              .output  = 1.22,
                              .atomics = 0.942,
                              .hot     = 1.44,
                              .ordered = 2.16},
                   .build  = {.mode = 52.9, .stream = 34.8, .sort = 3.01, .rows = 15.2, .memory = 112},
                   .load_s = 0.012},
    .device_f64 = {.mttkrp = {.launch  = 4.17,
                              .stream  = 2.07,
                              .near    = 1.13,
                              .upper   = 1.07,
                              .output  = 1.08,
                              .atomics = 1.59,
                              .hot     = 1.97,
                              .ordered = 1.59},
                   .build  = {.mode = 52.2, .stream = 44, .sort = 1.26, .rows = 18.3, .memory = 107},
                   .load_s = 0.0146},
    .host_f32   = {.mttkrp = {.stream  = 2.1,
                              .gather  = 2.38,
                              .upper   = 0.535,
                              .output  = 6.59,
                              .atomics = 0.691,
                              .ordered = 0.347},
                   .build  = {.stream = 9.14, .sort = 5.21, .scatter = 4.74, .rows = 58.4}},
    .host_f64   = {.mttkrp = {.stream  = 0.949,
                              .gather  = 1.38,
                              .upper   = 1.54,
                              .output  = 10.2,
                              .atomics = 0.779,
                              .ordered = 0.51},
                   .build  = {.stream = 26.5, .sort = 2.74, .scatter = 3.49, .rows = 149}}};

inline constexpr FormatWeights b_csf_on_hosts{
    .mttkrp = {.stream   = 0.89,
               .near     = 0.149,
               .upper    = 1.55,
               .output   = 0.365,
               .nonzeros = 1.12,
               .nodes    = 2.16,
               .second   = 0.155,
               .third    = 0.273},
    .build  = {.mode = 17.1, .stream = 33.1, .sort = 0.895, .scatter = 19.8, .rows = 19.7}};
inline constexpr CostWeights b_csf_weights{
    .device_f32 = {.mttkrp = {.launch = 3.21,
                              .stream = 3.56,
                              .near   = 0.718,
                              .narrow = 0.0874,
                              .upper  = 0.755,
                              .output = 1.18,
                              .hot    = 0.808},
                   .build  = {.mode = 48, .stream = 77.4, .rows = 129, .memory = 134},
                   .load_s = 0.0113},
    .device_f64 = {.mttkrp = {.launch = 3.37,
                              .stream = 0.839,
                              .near   = 1.22,
                              .gather = 0.22,
                              .narrow = 0.252,
                              .upper  = 0.965,
                              .output = 1.12,
                              .hot    = 1.62},
                   .build  = {.mode = 52.1, .stream = 61.9, .rows = 116, .memory = 125},
                   .load_s = 0.0196},
    .host_f32   = b_csf_on_hosts,
    .host_f64   = b_csf_on_hosts};

inline constexpr FormatWeights hb_csf_on_hosts{
    .mttkrp = {.stream   = 1.07,
               .near     = 0.568,
               .upper    = 1.01,
               .output   = 0.382,
               .nonzeros = 1.29,
               .nodes    = 0.292,
               .second   = 0.402},
    .build  = {.mode = 24.6, .stream = 34.1, .sort = 1.13, .scatter = 17.9, .rows = 20.7}};
inline constexpr CostWeights hb_csf_weights{
    .device_f32 =
        {.mttkrp = {.launch  = 3.73,
                    .stream  = 3.82,
                    .near    = 0.677,
                    .gather  = 0.122,
                    .upper   = 0.44,
                    .output  = 1.14,
                    .atomics = 1.12,
                    .hot     = 1.04},
         .build  = {.mode = 67.3, .stream = 46.3, .sort = 3.94, .scatter = 0.53, .rows = 159, .memory = 146},
         .load_s = 0.0113},
    .device_f64 = {.mttkrp = {.launch  = 4.26,
                              .stream  = 1.51,
                              .near    = 1.16,
                              .gather  = 0.341,
                              .upper   = 0.69,
                              .output  = 1.1,
                              .atomics = 0.863,
                              .hot     = 1.14},
                   .build  = {.mode = 68.2, .stream = 80.5, .rows = 150, .memory = 157},
                   .load_s = 0.0178},
    .host_f32   = hb_csf_on_hosts,
    .host_f64   = hb_csf_on_hosts};

}  // namespace polyad::detail
