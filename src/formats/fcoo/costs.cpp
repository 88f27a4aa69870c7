// SPDX-License-Identifier: BSD-3-Clause
// What F-COO moves: per mode the other modes' indices, a value and a bit a nonzero.

#include "polyad/formats/cost_model.hpp"

namespace polyad {
namespace {

// Fitted by scripts/fit_cost_model.py.
constexpr CostWeights f_coo_weights{
    {{{3.89, 0.43, 1.02, 0, 0.981, 0, 1.75, 0, 0, 0, 0}, {131, 23.2, 1.97, 0, 153, 43.2}, 0.0146},
     {{3.79, 0, 1.49, 0.254, 0.746, 0, 1.61, 0, 0, 0, 0}, {108, 0, 1.92, 5.14, 274, 103}, 0.0158},
     {{0, 1.16, 0.376, 3.24, 0, 0, 0, 0, 5.55, 0.0288, 0}, {0, 21.3, 0, 6.51, 906, 0}},
     {{0, 0.457, 0.464, 2.68, 0.0628, 0, 1.19, 0, 6.39, 0, 0}, {0, 0, 4.11, 5.01, 0, 0}}}};

double nonzero_bytes(CostInput const& input) {
  return input.scalar_bytes + static_cast<double>(input.tensor.order() - 1) * input.index_bytes + 0.25;
}

std::uint64_t storage_bytes(CostInput const& input) {
  double bytes = static_cast<double>(input.tensor.order()) * static_cast<double>(input.tensor.nnz) *
                 nonzero_bytes(input);
  for (auto const& mode : input.tensor.modes) bytes += static_cast<double>(mode.used()) * input.index_bytes;
  return static_cast<std::uint64_t>(bytes);
}

std::uint64_t build_bytes(CostInput const& input) {
  return costs::sort_bytes(input, 8);
}

ModeTerms walk(CostInput const& input, int mode) {
  ModeTerms terms = costs::walk(input, mode, nonzero_bytes(input));
  costs::add_atomics(terms, input, mode, 1.0 / 512);  // two borders of a team's 1024 nonzeros
  return terms;
}

BuildTerms build(CostInput const& input) {
  return costs::sorted_build(input, static_cast<double>(storage_bytes(input)), input.tensor.order());
}

}  // namespace

std::vector<FormatCosts> fcoo_costs() {
  return {{.name            = "f-coo",
           .storage_bytes   = storage_bytes,
           .build_bytes     = build_bytes,
           .workspace_bytes = costs::no_bytes,
           .mttkrp          = walk,
           .build           = build,
           .weights         = f_coo_weights}};
}

}  // namespace polyad
