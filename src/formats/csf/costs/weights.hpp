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
    .host_f32 = b_csf_on_hosts,
    .host_f64 = b_csf_on_hosts};

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
    .host_f32   = hb_csf_on_hosts,
    .host_f64   = hb_csf_on_hosts};

}  // namespace polyad::detail
