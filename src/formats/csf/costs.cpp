// SPDX-License-Identifier: BSD-3-Clause
// What the walks over trees move.
#include <algorithm>
#include <vector>

#include "polyad/formats/cost_model.hpp"

namespace polyad {
namespace {

using costs::at;

// Fitted by scripts/fit_cost_model.py.
constexpr CostWeights csf_weights{{
    {{19.5, 0, 0.396, 0.405, 0.633, 1.61, 0, 0.96, 0.0599, 1.85}, {300, 37.3, 0, 5.79, 9.56}},
    {{40.8, 0, 0.614, 0, 0.381, 0, 0, 1.66, 0.284, 1.32}, {277, 30.1, 0.352, 3.8, 18.9}},
    {{0, 0, 0.156, 0.592, 0, 123, 0, 0.619, 0, 0.361}, {0, 0.502, 5.54, 0, 1690}},
    {{0, 0, 0.726, 0, 0, 157, 0, 1.11, 0, 0.805}, {0, 10.9, 4.8, 0.423, 1400}}
}};
constexpr CostWeights b_csf_weights{{
    {{10.7, 2.18, 0.437, 0.0576, 0.483, 2.21, 0, 0, 0.0539, 0}, {313, 51.9, 0, 4.49, 0}},
    {{16.7, 0.305, 0.799, 0.2, 0.276, 1.63, 0, 0, 0.172, 0}, {316, 20, 3.43, 0, 5.44}},
    {{0, 0, 0.52, 0.242, 1.76, 10.7, 0, 0, 0.287, 0}, {0, 12.1, 7.68, 0, 2330}},
    {{0, 0, 0.69, 0.885, 1.06, 2.75, 0, 0, 0, 0}, {0, 5.5, 8.18, 0, 2280}}
}};
constexpr CostWeights hb_csf_weights{{
    {{12.1, 0, 0.567, 0.393, 0.649, 1.59, 0, 0, 0.0167, 0}, {414, 71.7, 0, 4.54, 0}},
    {{16.6, 0, 0.848, 0.232, 0.119, 1.35, 0, 0, 0.176, 0}, {391, 67.6, 0, 0, 27}},
    {{0, 1.59, 0.644, 0, 0.853, 2.98, 0, 0, 0, 0}, {343, 50.9, 2.03, 4.77, 925}},
    {{0, 0, 0.7, 0.595, 0.91, 3.71, 0, 0, 0, 0}, {0, 0, 9.97, 1.22, 150}}
}};

/// The modes of the levels of the tree that is rooted at `root`: the others from the shortest to the longest
/// (level_modes, formats/csf/csf_tree.hpp).
std::vector<int> levels_of(CostInput const& input, int root) {
  auto const& modes = input.tensor.modes;
  std::vector<int> levels;
  for (int n = 0; n < input.tensor.order(); ++n)
    if (n != root) levels.push_back(n);
  std::stable_sort(levels.begin(), levels.end(), [&](int a, int b) {
    return modes[static_cast<std::size_t>(a)].extent < modes[static_cast<std::size_t>(b)].extent;
  });
  levels.insert(levels.begin(), root);
  return levels;
}

/// Nodes of each level with pointers: the rows of the root, the fibers of the last one, and between them what the used
/// rows allow.
std::vector<double> nodes_of(CostInput const& input, std::vector<int> const& levels) {
  auto const& root = input.tensor.modes[static_cast<std::size_t>(levels[0])];
  std::vector<double> nodes{static_cast<double>(root.used())};
  for (std::size_t l = 1; l + 1 < levels.size(); ++l) {
    auto const used = static_cast<double>(input.tensor.modes[static_cast<std::size_t>(levels[l])].used());
    nodes.push_back(std::min(nodes.back() * used, root.fibers));
  }
  if (nodes.size() > 1) nodes.back() = root.fibers;
  return nodes;
}

double tree_bytes(CostInput const& input, int root) {
  double bytes = static_cast<double>(input.tensor.nnz) * (input.scalar_bytes + input.index_bytes);
  for (double const nodes : nodes_of(input, levels_of(input, root))) bytes += 2 * nodes * input.index_bytes;
  return bytes;
}

int shortest_mode(CostInput const& input) {
  auto const& modes = input.tensor.modes;
  return static_cast<int>(
      std::min_element(modes.begin(), modes.end(), [](auto const& a, auto const& b) { return a.extent < b.extent; }) -
      modes.begin());
}

/// Words and positions of the sort, and a byte a nonzero.
std::uint64_t build_bytes(CostInput const& input) { return costs::sort_bytes(input, 8) + input.tensor.nnz; }

/// The mode of a tree's root.
ModeTerms root_walk(CostInput const& input, int mode) {
  auto const nnz       = static_cast<double>(input.tensor.nnz + 1);
  ModeTerms terms      = costs::walk(input, mode, tree_bytes(input, mode) / nnz);
  auto const levels    = levels_of(input, mode);
  auto const nodes     = nodes_of(input, levels);
  for (std::size_t l = 1; l + 1 < levels.size(); ++l)  // the leaf's rows are one a nonzero anyway
    at(terms, ModeTerm::upper) += nodes[l] / nnz * costs::gather_seconds(input, levels[l], costs::row_bytes(input));
  costs::add_atomics(terms, input, mode, 1.0 / 64);  // the slices at the borders of bins
  return terms;
}

// --- csf: one tree, rooted at the shortest mode

std::uint64_t csf_bytes(CostInput const& input) {
  return static_cast<std::uint64_t>(tree_bytes(input, shortest_mode(input)));
}

ModeTerms csf_walk(CostInput const& input, int mode) {
  int const root = shortest_mode(input);
  if (mode == root) return root_walk(input, mode);
  auto const levels = levels_of(input, root);
  auto const nodes  = nodes_of(input, levels);
  auto const nnz    = static_cast<double>(input.tensor.nnz + 1);
  ModeTerms terms   = costs::walk(input, mode, tree_bytes(input, root) / nnz);
  std::size_t level = 1;
  while (levels[level] != mode) ++level;
  // An atomic row for each node of the level, each nonzero in the leaf; in the order of the levels above.
  double const atomics = level < nodes.size() ? nodes[level] / nnz : 1;
  costs::add_atomics(terms, input, mode, atomics);
  at(terms, ModeTerm::ordered) = level < nodes.size() ? at(terms, ModeTerm::gather) : 0;
  at(terms, ModeTerm::upper)   = level < nodes.size() ? 0 : at(terms, ModeTerm::gather);
  return terms;
}

BuildTerms csf_build(CostInput const& input) {
  return costs::sorted_build(input, static_cast<double>(csf_bytes(input)), 1);
}

// --- b-csf, hb-csf: a tree a mode

std::uint64_t b_csf_bytes(CostInput const& input) {
  double bytes = 0;
  for (int n = 0; n < input.tensor.order(); ++n) bytes += tree_bytes(input, n);
  return static_cast<std::uint64_t>(bytes);
}

BuildTerms b_csf_build(CostInput const& input) {
  return costs::sorted_build(input, static_cast<double>(b_csf_bytes(input)), input.tensor.order());
}

}  // namespace

std::vector<FormatCosts> csf_costs() {
  FormatCosts const csf{.name            = "csf",
                        .storage_bytes   = csf_bytes,
                        .build_bytes     = build_bytes,
                        .workspace_bytes = costs::no_bytes,
                        .mttkrp          = csf_walk,
                        .build           = csf_build,
                        .weights         = csf_weights};
  FormatCosts const b_csf{.name            = "b-csf",
                          .storage_bytes   = b_csf_bytes,
                          .build_bytes     = build_bytes,
                          .workspace_bytes = costs::no_bytes,
                          .mttkrp          = root_walk,
                          .build           = b_csf_build,
                          .weights         = b_csf_weights};
  FormatCosts hb_csf = b_csf;
  hb_csf.name        = "hb-csf";
  hb_csf.weights     = hb_csf_weights;
  return {csf, b_csf, hb_csf};
}

}  // namespace polyad
