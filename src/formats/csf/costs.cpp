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
    {{20.6, 0, 0.415, 0, 0.399, 0.608, 1.67, 0, 0.969, 0.0412, 1.89}, {346, 28.5, 0, 6.35, 21.4}},
    {{41.9, 0, 0.617, 0, 0, 0.348, 0, 0, 1.67, 0.251, 1.32}, {290, 31.5, 0, 4.28, 19.3}},
    {{0, 0, 0.156, 0, 0.592, 0, 123, 0, 0.619, 0, 0.361}, {0, 0.502, 5.54, 0, 1690}},
    {{0, 0, 0.726, 0, 0, 0, 157, 0, 1.11, 0, 0.805}, {0, 10.9, 4.8, 0.423, 1400}}
}};
constexpr CostWeights b_csf_weights{{
    {{9.19, 2.93, 0.412, 0, 0, 0.449, 2.21, 0, 0, 0.0452, 0}, {342, 11.6, 4.36, 0, 11.5}},
    {{13.1, 1.09, 0.765, 0, 0, 0.365, 1.65, 0, 0, 0.188, 0}, {353, 25.2, 2.2, 1.57, 21.9}},
    {{0, 0, 0.52, 0, 0.242, 1.76, 10.7, 0, 0, 0.287, 0}, {0, 12.1, 7.68, 0, 2330}},
    {{0, 0, 0.69, 0, 0.885, 1.06, 2.75, 0, 0, 0, 0}, {0, 5.5, 8.18, 0, 2280}}
}};
constexpr CostWeights hb_csf_weights{{
    {{12.9, 0, 0.587, 0, 0.399, 0.603, 1.61, 0, 0, 0.0188, 0}, {379, 80.7, 0, 1.82, 7.85}},
    {{17.8, 0, 0.873, 0, 0.116, 0.11, 1.36, 0, 0, 0.164, 0}, {413, 66.8, 0, 0, 30.4}},
    {{0, 1.59, 0.644, 0, 0, 0.853, 2.98, 0, 0, 0, 0}, {343, 50.9, 2.03, 4.77, 925}},
    {{0, 0, 0.7, 0, 0.595, 0.91, 3.71, 0, 0, 0, 0}, {0, 0, 9.97, 1.22, 150}}
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
  costs::add_atomics(terms, input, mode, costs::border_rows(input, mode));  // the slices at the borders of bins
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
