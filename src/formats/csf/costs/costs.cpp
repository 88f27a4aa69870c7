// SPDX-License-Identifier: BSD-3-Clause
// The memory traffic of the walks over trees.
#include <algorithm>
#include <vector>

#include "formats/cost_model.hpp"
#include "formats/csf/costs/weights.hpp"

namespace polyad::detail {
namespace {

/// Nodes of each level with pointers. The root has its rows and the last such level the fibers. The used rows
/// bound the levels between.
std::vector<double> nodes_of(CostInput const& input, std::vector<int> const& levels) {
  auto const& root = input.tensor.modes[levels[0]];
  std::vector<double> nodes{static_cast<double>(root.used())};
  for (std::size_t l = 1; l + 1 < levels.size(); ++l) {
    auto const used = static_cast<double>(input.tensor.modes[levels[l]].used());
    nodes.push_back(std::min(nodes.back() * used, root.fibers));
  }
  if (nodes.size() > 1) nodes.back() = root.fibers;
  return nodes;
}

double tree_bytes(CostInput const& input, int root) {
  double bytes = static_cast<double>(input.tensor.nnz) * (input.scalar_bytes + input.index_bytes);
  for (double const nodes : nodes_of(input, costs::ordered_modes(input, root)))
    bytes += 2 * nodes * input.index_bytes;
  return bytes;
}

int shortest_mode(CostInput const& input) {
  auto const& modes = input.tensor.modes;
  return static_cast<int>(std::min_element(modes.begin(), modes.end(),
                                           [](auto const& a, auto const& b) { return a.extent < b.extent; }) -
                          modes.begin());
}

/// The mode of a tree's root.
ModeTerms root_walk(CostInput const& input, int mode) {
  auto const nnz    = static_cast<double>(input.tensor.nnz + 1);
  ModeTerms terms   = costs::walk(input, mode, tree_bytes(input, mode) / nnz);
  auto const levels = costs::ordered_modes(input, mode);
  auto const nodes  = nodes_of(input, levels);
  for (std::size_t l = 1; l + 1 < levels.size(); ++l)  // the leaf has one row per nonzero anyway
    terms.upper += nodes[l] / nnz * costs::gather_seconds(input, levels[l], costs::row_bytes(input));
  costs::add_atomics(terms, input, mode,
                     costs::border_rows(input, mode));  // the slices at the borders of bins
  return terms;
}

// --- csf: one tree, rooted at the shortest mode

std::uint64_t csf_bytes(CostInput const& input) {
  return static_cast<std::uint64_t>(tree_bytes(input, shortest_mode(input)));
}

std::uint64_t csf_build_bytes(CostInput const& input) {
  return costs::build_in_turn(input, {csf_bytes(input)}, costs::sort_bytes(input, 8), input.tensor.nnz);
}

ModeTerms csf_walk(CostInput const& input, int mode) {
  int const root = shortest_mode(input);
  if (mode == root) return root_walk(input, mode);
  auto const levels = costs::ordered_modes(input, root);
  auto const nodes  = nodes_of(input, levels);
  auto const nnz    = static_cast<double>(input.tensor.nnz + 1);
  ModeTerms terms   = costs::walk(input, mode, tree_bytes(input, root) / nnz);
  std::size_t level = 1;
  while (levels[level] != mode) ++level;
  // An atomic row for each node of the level, or for each nonzero in the leaf, in the order of the levels
  // above.
  double const atomics = level < nodes.size() ? nodes[level] / nnz : 1;
  costs::add_atomics(terms, input, mode, atomics);
  terms.ordered = level < nodes.size() ? costs::gathered(terms) : 0;
  terms.upper   = level < nodes.size() ? 0 : costs::gathered(terms);
  return terms;
}

BuildTerms csf_build(CostInput const& input) {
  return costs::sorted_build(input, csf_bytes(input), 1);
}

// --- b-csf, hb-csf: a tree per mode

ModeTerms b_csf_walk(CostInput const& input, int mode) {
  if (input.machine.is_device) return root_walk(input, mode);
  return costs::host_walk(input, mode,
                          costs::sorted_host_walk(input, costs::ordered_modes(input, mode), true));
}

std::uint64_t b_csf_bytes(CostInput const& input) {
  double bytes = 0;
  for (int n = 0; n < input.tensor.order(); ++n) bytes += tree_bytes(input, n);
  return static_cast<std::uint64_t>(bytes);
}

/// While a tree is made, there is an additional byte for each nonzero.
std::uint64_t b_csf_build_bytes(CostInput const& input) {
  std::vector<std::uint64_t> trees;
  for (int n = 0; n < input.tensor.order(); ++n)
    trees.push_back(static_cast<std::uint64_t>(tree_bytes(input, n)));
  return costs::build_in_turn(input, trees, costs::sort_bytes(input, 8), input.tensor.nnz);
}

BuildTerms b_csf_build(CostInput const& input) {
  return costs::sorted_build(input, b_csf_bytes(input), input.tensor.order());
}

}  // namespace

std::vector<FormatCosts> csf_costs() {
  FormatCosts const csf{.name            = "csf",
                        .terms_at_once   = {1, 1},  // in the modes below the root
                        .storage_bytes   = csf_bytes,
                        .build_bytes     = csf_build_bytes,
                        .workspace_bytes = costs::no_bytes,
                        .mttkrp          = csf_walk,
                        .build           = csf_build,
                        .weights         = csf_weights};
  FormatCosts const b_csf{.name            = "b-csf",
                          .terms_at_once   = {0, costs::of_a_chunk, true},
                          .storage_bytes   = b_csf_bytes,
                          .build_bytes     = b_csf_build_bytes,
                          .workspace_bytes = costs::no_bytes,
                          .mttkrp          = b_csf_walk,
                          .build           = b_csf_build,
                          .weights         = b_csf_weights};
  FormatCosts hb_csf = b_csf;
  hb_csf.name        = "hb-csf";
  hb_csf.weights     = hb_csf_weights;
  return {csf, b_csf, hb_csf};
}

}  // namespace polyad::detail
