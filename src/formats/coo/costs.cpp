// SPDX-License-Identifier: BSD-3-Clause
// What the coordinate formats move.
#include <algorithm>
#include <cmath>
#include <optional>

#include "formats/coo/locality_blocks.hpp"
#include "polyad/formats/cost_model.hpp"

namespace polyad {
namespace {

using costs::at;

// Fitted by scripts/fit_cost_model.py.
constexpr CostWeights scratch_weights{
    {{{5.39, 16.7, 11.1, 0, 0, 0, 0, 0, 1.06, 1.09, 0.222}, {3.66, 0, 0, 0, 1.66, 0}, 0.000837},
     {{4.5, 13.6, 0.261, 0.293, 1.71, 0, 0.701, 0, 1.09, 1.58, 0.46}, {3.67, 0, 0, 0, 1.31, 0}, 0.000893},
     {{0, 0, 2.11, 16.2, 0, 0, 18.7, 0, 1.07, 0.124, 0}, {0.152, 0, 0, 0, 2.76, 0}},
     {{0, 4.28, 0, 5.38, 0, 0, 5.64, 0, 1.13, 0.442, 0}, {0.11, 0, 0, 0, 1.26, 0}}}};
constexpr CostWeights tiny_vec_weights{
    {{{2.95, 0, 0.929, 0, 1.58, 0, 1.7, 0, 0.31, 1.34, 0.271}, {3.63, 0, 0, 0, 1.72, 0}, 0.00141},
     {{1.85, 0, 0, 0.434, 0.593, 0, 0.691, 0, 0.868, 1.76, 0.445}, {3.62, 0, 0, 0, 1.3, 0}, 0.0014},
     {{0, 0, 0, 12.7, 0, 0, 18, 0, 1.05, 0.103, 0}, {0.119, 0, 0, 0, 2.75, 0}},
     {{0, 0, 0, 3.9, 0, 0, 11.1, 0, 1.05, 0.448, 0}, {0.133, 0, 0, 0, 1.26, 0}}}};
constexpr CostWeights permuted_weights{
    {{{3.24, 1.15, 0.68, 0, 1.84, 0, 1.79, 1.22, 0, 0.0245, 0}, {29.8, 3.94, 1.2, 0.924, 0, 45.4}, 0.00364},
     {{3.17, 1.61, 1.26, 0.422, 0.824, 0, 1.66, 1.68, 0, 0.812, 0}, {33.1, 13.3, 0, 0.554, 0, 38.5}, 0.00522},
     {{0, 1.23, 0.33, 5.36, 0.168, 0, 1.43, 1.64, 0, 0, 0}, {4.18, 8.67, 0, 0.702, 113, 0}},
     {{0, 0.0446, 0.177, 2.84, 0.761, 0, 1.48, 2.3, 0.893, 0, 0}, {0, 6.76, 0.954, 0.476, 18.3, 0}}}};
constexpr CostWeights sorted_weights{
    {{{3.29, 0.875, 0.333, 0, 1.03, 0.107, 1.51, 0, 0.659, 0.669, 0}, {78, 14.4, 3.14, 0, 0, 94.5}, 0.0145},
     {{3.1, 0.258, 1.09, 0.256, 1.01, 0.0387, 1.31, 0, 0.195, 1.45, 0},
      {79.9, 12.8, 3.08, 0, 0, 62.1},
      0.0175},
     {{0, 1.72, 0.0428, 3.87, 0, 0.0571, 2.14, 0, 0.398, 0, 0}, {0, 22.1, 0.071, 4.77, 547, 0}},
     {{0, 0.957, 0.102, 2.48, 0, 0.101, 2.08, 0, 1.02, 0.0425, 0}, {0, 2.33, 4.1, 3.32, 0, 0}}}};

double coordinates(CostInput const& input) {
  return input.scalar_bytes + static_cast<double>(input.tensor.order()) * input.index_bytes;
}

// --- coo-scratch, coo-tiny-vec: the tensor as it is, an atomic row a nonzero

BuildTerms no_build(CostInput const& input) {
  BuildTerms terms{};
  at(terms, BuildTerm::mode) = input.machine.launch_s;
  at(terms, BuildTerm::rows) =
      costs::copy_seconds(input, static_cast<double>(input.tensor.nnz) * input.scalar_bytes);
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

std::uint64_t permuted_build_bytes(CostInput const& input) {
  return costs::sort_bytes(input, input.index_bytes);
}

/// Runs of nonzeros that a permutation of `mode` visits one after another, where they stand in the order of
/// mode 0, then of mode 1, and so on: one in mode 0's, each nonzero alone in the last mode's, and fibers
/// between.
double runs(CostInput const& input, int mode) {
  int const last = input.tensor.order() - 1;
  if (mode == 0) return 0;
  auto most = static_cast<double>(input.tensor.nnz);
  if (mode == last) return most;
  for (int root = 0; root < last; ++root)  // whose fibers are those along the last mode
    if (leaf_of(input.tensor, root) == last)
      most = std::min(most, input.tensor.modes[static_cast<std::size_t>(root)].fibers);
  double distinct = 1;
  for (int m = 0; m <= mode; ++m)
    distinct *= static_cast<double>(input.tensor.modes[static_cast<std::size_t>(m)].used());
  return std::min(most, distinct);
}

ModeTerms permuted_walk(CostInput const& input, int mode) {
  ModeTerms terms = costs::walk(input, mode, coordinates(input) + input.index_bytes);
  at(terms, ModeTerm::scattered) =
      runs(input, mode) * 64 /
      costs::gather_rate(input.machine, static_cast<double>(coordinate_bytes(input)));
  costs::add_atomics(terms, input, mode, costs::border_rows(input, mode));
  return terms;
}

BuildTerms permuted_build(CostInput const& input) {
  BuildTerms terms =
      costs::sorted_build(input, static_cast<double>(permuted_bytes(input)), input.tensor.order());
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

/// What locality blocks of `sorted` change.
struct LocalityBlocks {
  int mode;      // its rows are gathered from the first-level cache
  double added;  // rows a nonzero
};

/// Nothing where a copy is not cut into blocks.
std::optional<LocalityBlocks> locality_blocks(CostInput const& input, int mode) {
  auto const& modes = input.tensor.modes;
  if (!input.machine.is_device || modes.size() < 2) return std::nullopt;
  int const shortest   = costs::ordered_modes(input, mode)[1];
  auto const& survey   = modes[static_cast<std::size_t>(mode)];
  std::uint64_t extent = modes[static_cast<std::size_t>(shortest)].extent;
  std::uint64_t rows   = std::max<std::uint64_t>(survey.used(), 1);
  double const runs    = std::min(survey.fibers, static_cast<double>(rows) * static_cast<double>(extent));
  auto const nnz       = static_cast<double>(input.tensor.nnz);
  bool const hoists    = input.scalar_bytes == 4 && nnz >= 4 * runs;  // SortedTuning::hoist
  auto const in_block  = locality_block_rows(input.tensor.nnz, rows, extent, hoists, input.scalar_bytes);
  if (in_block == 0) return std::nullopt;
  double const blocks = std::ceil(static_cast<double>(extent) / static_cast<double>(in_block));
  return LocalityBlocks{shortest, std::min(1.0, blocks * static_cast<double>(rows) / nnz)};
}

ModeTerms sorted_walk(CostInput const& input, int mode) {
  ModeTerms terms    = costs::walk(input, mode, coordinates(input));
  auto const& survey = input.tensor.modes[static_cast<std::size_t>(mode)];
  auto const blocks  = locality_blocks(input, mode);
  if (blocks) at(terms, ModeTerm::gather) -= costs::far_seconds(input, blocks->mode);
  costs::add_atomics(terms, input, mode, blocks ? blocks->added : costs::border_rows(input, mode));
  at(terms, ModeTerm::upper) =
      costs::gathered(terms) * survey.fibers / static_cast<double>(input.tensor.nnz + 1);
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
