// SPDX-License-Identifier: BSD-3-Clause
// What the walks over trees move.
#include <algorithm>
#include <vector>

#include "polyad/formats/cost_model.hpp"

namespace polyad {
namespace {

using costs::at;

// Fitted by scripts/fit_cost_model.py.
constexpr CostWeights csf_weights{
    {{{4.33, 5.08, 0.184, 0.286, 0, 0.232, 2.5, 0, 0.805, 1.11, 1.84},
      {123, 29.5, 0.799, 7.5, 0, 106},
      0.0182},
     {{4.17, 1.73, 1.2, 0.00591, 0, 1.03, 0, 0, 1.55, 1.65, 1.52}, {124, 37.8, 0, 4.87, 2.9, 86}, 0.0183},
     {{0, 1.69, 0, 2.23, 0, 0.253, 30.4, 0, 0.882, 0, 0.3}, {0, 0, 5.4, 4.42, 52.4, 0}},
     {{0, 0.953, 0, 1.39, 0, 1.29, 22.3, 0, 0.967, 0, 0.457}, {0, 19.4, 3.13, 3.31, 155, 0}}}};
constexpr CostWeights b_csf_weights{
    {{{3.47, 2.82, 0.665, 0, 0.253, 0.743, 2.19, 0, 0, 0.699, 0}, {125, 60.6, 0, 4.83, 0, 101}, 0.0194},
     {{3.4, 0.996, 1.16, 0.289, 0.186, 0.807, 1.61, 0, 0, 1.64, 0}, {122, 46.6, 0, 4.51, 0, 126}, 0.0197},
     {{0, 2.79, 0, 2.59, 0, 1.31, 1.73, 0, 0, 0, 0}, {0, 0, 7.36, 3.68, 41.1, 0}},
     {{0, 1.68, 0, 1.62, 0, 1.66, 1.25, 0, 0.267, 0.0189, 0}, {0, 0.766, 7.41, 1.63, 609, 0}}}};
constexpr CostWeights hb_csf_weights{
    {{{4.31, 3.69, 0.651, 0.101, 0, 0.552, 1.78, 0, 0.448, 0.917, 0}, {175, 83.9, 0, 3.81, 0, 117}, 0.0185},
     {{4.25, 1.47, 1.14, 0.336, 0, 0.707, 1.43, 0, 0.571, 1.28, 0}, {175, 78.1, 0, 0, 0, 130}, 0.0245},
     {{0, 2.76, 0, 2.05, 0, 1.09, 1.7, 0, 0.0337, 0, 0}, {0, 0, 9.36, 3.12, 0, 0}},
     {{0, 1.6, 0, 1.36, 0, 1.74, 1.05, 0, 0.304, 0.00453, 0}, {0, 3.19, 8.49, 0, 968, 0}}}};

/// Nodes of each level with pointers: the rows of the root, the fibers of the last one, and between them what
/// the used rows allow.
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

/// Words and positions of the sort, and a byte a nonzero.
std::uint64_t build_bytes(CostInput const& input) {
  return costs::sort_bytes(input, 8) + input.tensor.nnz;
}

/// The mode of a tree's root.
ModeTerms root_walk(CostInput const& input, int mode) {
  auto const nnz    = static_cast<double>(input.tensor.nnz + 1);
  ModeTerms terms   = costs::walk(input, mode, tree_bytes(input, mode) / nnz);
  auto const levels = costs::ordered_modes(input, mode);
  auto const nodes  = nodes_of(input, levels);
  for (std::size_t l = 1; l + 1 < levels.size(); ++l)  // the leaf's rows are one a nonzero anyway
    at(terms, ModeTerm::upper) +=
        nodes[l] / nnz * costs::gather_seconds(input, levels[l], costs::row_bytes(input));
  costs::add_atomics(terms, input, mode,
                     costs::border_rows(input, mode));  // the slices at the borders of bins
  return terms;
}

// --- csf: one tree, rooted at the shortest mode

std::uint64_t csf_bytes(CostInput const& input) {
  return static_cast<std::uint64_t>(tree_bytes(input, shortest_mode(input)));
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
  // An atomic row for each node of the level, each nonzero in the leaf; in the order of the levels above.
  double const atomics = level < nodes.size() ? nodes[level] / nnz : 1;
  costs::add_atomics(terms, input, mode, atomics);
  at(terms, ModeTerm::ordered) = level < nodes.size() ? costs::gathered(terms) : 0;
  at(terms, ModeTerm::upper)   = level < nodes.size() ? 0 : costs::gathered(terms);
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
