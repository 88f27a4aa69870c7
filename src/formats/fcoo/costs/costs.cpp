// SPDX-License-Identifier: BSD-3-Clause
// The memory traffic of F-COO: for each mode the other modes' indices, a value and a bit per nonzero.
#include <numeric>
#include <vector>

#include "formats/cost_model.hpp"
#include "formats/fcoo/costs/weights.hpp"

namespace polyad::detail {
namespace {

double nonzero_bytes(CostInput const& input) {
  return input.scalar_bytes + (input.tensor.order() - 1) * input.index_bytes + 0.25;
}

/// The nonzeros for each mode that is kept, and its segments' coordinates.
std::vector<std::uint64_t> copies(CostInput const& input) {
  std::vector<std::uint64_t> bytes;
  for (int n = 0; n < input.tensor.order(); ++n) {
    auto const used = static_cast<double>(input.tensor.modes[n].used());
    if (input.keeps(n))
      bytes.push_back(static_cast<std::uint64_t>(
          static_cast<double>(input.tensor.nnz) * nonzero_bytes(input) + used * input.index_bytes));
  }
  return bytes;
}

std::uint64_t storage_bytes(CostInput const& input) {
  auto const bytes = copies(input);
  return std::accumulate(bytes.begin(), bytes.end(), std::uint64_t(0));
}

/// Next to a copy that is made there are the indices of its mode.
std::uint64_t fcoo_build_bytes(CostInput const& input) {
  return costs::build_in_turn(input, copies(input), costs::sort_bytes(input, 8),
                              input.tensor.nnz * input.index_bytes);
}

ModeTerms walk(CostInput const& input, int mode) {
  if (!input.machine.is_device)
    return costs::host_walk(input, mode,
                            costs::sorted_host_walk(input, costs::ordered_modes(input, mode), false));
  ModeTerms terms = costs::walk(input, mode, nonzero_bytes(input));
  costs::add_atomics(terms, input, mode, 1.0 / 512);  // two borders of a team's 1024 nonzeros
  return terms;
}

BuildTerms build(CostInput const& input) {
  return costs::sorted_build(input, storage_bytes(input), input.tensor.order());
}

}  // namespace

std::vector<FormatCosts> fcoo_costs() {
  return {{.name            = "f-coo",
           .storage_bytes   = storage_bytes,
           .build_bytes     = fcoo_build_bytes,
           .workspace_bytes = costs::no_bytes,
           .mttkrp          = walk,
           .build           = build,
           .weights         = f_coo_weights}};
}

}  // namespace polyad::detail
