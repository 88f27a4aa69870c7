// SPDX-License-Identifier: BSD-3-Clause
// What the coordinate formats move.
#include <algorithm>

#include "polyad/formats/cost_model.hpp"

namespace polyad {
namespace {

using costs::at;

// Fitted by scripts/fit_cost_model.py.
constexpr CostWeights scratch_weights{{
    {{8.12, 48.4, 0.491, 0, 0, 0, 0, 0, 0.652, 1.03, 0.177}, {2.52, 0, 0, 0, 1.91}},
    {{0, 35.7, 0, 0, 2.58, 0, 1.6, 0, 0.117, 1.17, 0.349}, {2.46, 0, 0, 0, 1.37}},
    {{6820, 0, 29.8, 0, 0, 0, 0, 0, 0, 0.148, 0}, {0, 0, 0, 0, 0}},
    {{0, 0, 0, 0, 0.732, 0, 0, 0, 0.923, 1.13, 0}, {0, 0, 0, 0, 0}}
}};
constexpr CostWeights tiny_vec_weights{{
    {{0, 1.01, 0.092, 0, 1.36, 0, 1.06, 0, 0.459, 1.23, 0.339}, {2.58, 0, 0, 0, 1.93}},
    {{0, 5.98, 0.687, 0, 0, 0, 0.969, 0, 0.427, 1.45, 0.446}, {2.76, 0, 0, 0, 1.34}},
    {{3750, 0, 34.6, 0, 0, 0, 0, 0, 0, 0.259, 0}, {0, 0, 0, 0, 0}},
    {{0, 0, 0, 0, 0, 0, 0, 0, 0.874, 1.34, 0}, {0, 0, 0, 0, 0}}
}};
constexpr CostWeights permuted_weights{{
    {{9.47, 0.472, 0, 0, 1.87, 0, 1.55, 1.28, 11.6, 0, 0}, {82.8, 0, 1.49, 1.47, 0}},
    {{18.1, 0.897, 0.569, 0, 0.816, 0, 1.55, 1.8, 5.45, 0.438, 0}, {86, 7.47, 0, 1.28, 2.14}},
    {{0, 0, 0, 0, 0.922, 0, 54, 2.78, 2.27, 0, 0}, {4.86, 8.36, 1.65, 0, 29}},
    {{0, 0, 0.676, 0, 3.41, 0, 0, 2.27, 0, 0, 0}, {10.7, 5.7, 1.85, 0.0669, 256}}
}};
constexpr CostWeights sorted_weights{{
    {{4.75, 0.164, 0, 0, 1.19, 0.195, 1.17, 0, 7.41, 0.0616, 0}, {289, 0, 3.99, 0, 0}},
    {{9, 1.19, 0.522, 0, 0.391, 0.00143, 1.26, 0, 3.62, 0.146, 0}, {165, 0, 4.68, 0, 0}},
    {{0, 0.0311, 0, 0, 0.433, 0, 22.2, 0, 2.12, 0, 0}, {385, 0, 4.58, 2.06, 673}},
    {{0, 0, 0.975, 0, 0.507, 0, 12.8, 0, 0, 0.00584, 0}, {0, 0, 4.56, 1.57, 1860}}
}};

double coordinates(CostInput const& input) {
  return input.scalar_bytes + static_cast<double>(input.tensor.order()) * input.index_bytes;
}

// --- coo-scratch, coo-tiny-vec: the tensor as it is, an atomic row a nonzero

BuildTerms no_build(CostInput const& input) {
  BuildTerms terms{};
  at(terms, BuildTerm::mode) = input.machine.launch_s;
  at(terms, BuildTerm::rows) = costs::copy_seconds(input, static_cast<double>(input.tensor.nnz) * input.scalar_bytes);
  return terms;  // the norm is all that is formed
}

std::uint64_t shared_with_the_tensor(CostInput const& input) {
  return coordinate_bytes(input);  // the same arrays: the build does not hold them twice
}

ModeTerms atomic_walk(CostInput const& input, int mode) {
  ModeTerms terms = costs::walk(input, mode, coordinates(input));
  costs::add_atomics(terms, input, mode, 1);
  // Nonzeros that were sorted, or summed, come in the order of mode 0.
  if (mode == 0) at(terms, ModeTerm::ordered) = costs::ordered_seconds(input, mode);
  return terms;
}

// --- coo-permuted: coordinates and a permutation a mode

std::uint64_t permuted_bytes(CostInput const& input) {
  return coordinate_bytes(input) +
         input.tensor.nnz * static_cast<std::uint64_t>(input.tensor.order() * input.index_bytes);
}

std::uint64_t permuted_build_bytes(CostInput const& input) { return costs::sort_bytes(input, input.index_bytes); }

/// Runs of nonzeros that a permutation of `mode` visits one after another, where they stand in the order of mode 0, then
/// of mode 1, and so on: one in mode 0's, each nonzero alone in the last mode's, and fibers between.
double runs(CostInput const& input, int mode) {
  int const last = input.tensor.order() - 1;
  if (mode == 0) return 0;
  auto most = static_cast<double>(input.tensor.nnz);
  if (mode == last) return most;
  for (int root = 0; root < last; ++root)  // whose fibers are those along the last mode
    if (leaf_of(input.tensor, root) == last)
      most = std::min(most, input.tensor.modes[static_cast<std::size_t>(root)].fibers);
  double distinct = 1;
  for (int m = 0; m <= mode; ++m) distinct *= static_cast<double>(input.tensor.modes[static_cast<std::size_t>(m)].used());
  return std::min(most, distinct);
}

ModeTerms permuted_walk(CostInput const& input, int mode) {
  ModeTerms terms = costs::walk(input, mode, coordinates(input) + input.index_bytes);
  at(terms, ModeTerm::scattered) = runs(input, mode) * 64 /
                                   costs::gather_rate(input.machine, static_cast<double>(coordinate_bytes(input)));
  costs::add_atomics(terms, input, mode, costs::border_rows(input, mode));
  return terms;
}

BuildTerms permuted_build(CostInput const& input) {
  BuildTerms terms = costs::sorted_build(input, static_cast<double>(permuted_bytes(input)), input.tensor.order());
  // Each mode sorts by its own bits alone.
  at(terms, BuildTerm::sort) /= input.tensor.order();
  return terms;
}

// --- sorted: a copy a mode

std::uint64_t sorted_bytes(CostInput const& input) {
  std::uint64_t bytes = static_cast<std::uint64_t>(input.tensor.order()) * coordinate_bytes(input);
  for (auto const& mode : input.tensor.modes)
    bytes += (mode.extent - mode.used()) * static_cast<std::uint64_t>(input.index_bytes);
  return bytes;
}

/// As sorted.hpp asks for: words and positions of the sort, flags and lists of the rows.
std::uint64_t sorted_build_bytes(CostInput const& input) {
  std::uint64_t bytes = costs::sort_bytes(input, 8);
  for (auto const& mode : input.tensor.modes)
    bytes += mode.extent * static_cast<std::uint64_t>(input.index_bytes + 1);
  return bytes;
}

ModeTerms sorted_walk(CostInput const& input, int mode) {
  ModeTerms terms = costs::walk(input, mode, coordinates(input));
  costs::add_atomics(terms, input, mode, costs::border_rows(input, mode));
  auto const& survey = input.tensor.modes[static_cast<std::size_t>(mode)];
  at(terms, ModeTerm::upper) = at(terms, ModeTerm::gather) * survey.fibers / static_cast<double>(input.tensor.nnz + 1);
  return terms;
}

BuildTerms sorted_build_terms(CostInput const& input) {
  return costs::sorted_build(input, static_cast<double>(sorted_bytes(input)), input.tensor.order());
}

}  // namespace

std::vector<FormatCosts> coo_costs() {
  FormatCosts const scratch{.name            = "coo-scratch",
                            .storage_bytes   = shared_with_the_tensor,
                            .build_bytes     = costs::no_bytes,
                            .workspace_bytes = costs::no_bytes,
                            .mttkrp          = atomic_walk,
                            .build           = no_build,
                            .weights         = scratch_weights};
  FormatCosts tiny_vec = scratch;
  tiny_vec.name        = "coo-tiny-vec";
  tiny_vec.weights     = tiny_vec_weights;
  FormatCosts const permuted{.name            = "coo-permuted",
                             .residual        = true,
                             .storage_bytes   = permuted_bytes,
                             .build_bytes     = permuted_build_bytes,
                             .workspace_bytes = costs::no_bytes,
                             .mttkrp          = permuted_walk,
                             .build           = permuted_build,
                             .weights         = permuted_weights};
  FormatCosts const sorted{.name            = "sorted",
                           .residual        = true,
                           .deterministic   = true,
                           .storage_bytes   = sorted_bytes,
                           .build_bytes     = sorted_build_bytes,
                           .workspace_bytes = costs::no_bytes,
                           .mttkrp          = sorted_walk,
                           .build           = sorted_build_terms,
                           .weights         = sorted_weights};
  return {scratch, tiny_vec, permuted, sorted};
}

}  // namespace polyad
