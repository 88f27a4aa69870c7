// SPDX-License-Identifier: BSD-3-Clause
// What one copy of the nonzeros in ALTO's order moves.
#include <algorithm>

#include "polyad/formats/cost_model.hpp"

namespace polyad {
namespace {

using costs::at;

// Fitted by scripts/fit_cost_model.py.
constexpr CostWeights blco_weights{
    {{{5.14, 7.71, 0, 0.116, 1.95, 0, 3.32, 0, 0, 0, 0}, {90.5, 23.6, 2.42, 0, 194, 37.7}, 0.0106},
     {{5.56, 3, 1, 0.397, 2.31, 0, 3.69, 0, 0, 0, 0}, {83, 22.9, 1.91, 0, 214, 60.2}, 0.017},
     {{0, 2.47, 0.447, 3.29, 0.509, 0, 6.23, 0, 0, 0, 0}, {0, 3.08, 7.91, 1.25, 0, 0}},
     {{0, 3.19, 0.543, 2.23, 0.156, 0, 4.66, 0, 0.0177, 0, 0}, {0, 0, 8.93, 0, 0, 0}}}};
// Devices: the copy from the host, which takes the longest where a tensor does not fit.
constexpr CostWeights streamed_weights{
    {{{0, 0, 0, 0, 0, 0, 0, 1.05}, {0, 100}},
     {{0, 0, 0, 0, 0, 0, 0, 1.05}, {0, 100}},
     {{0, 8.65, 0.499, 10.2, 0, 0, 29.6, 27.9, 0.311, 0, 0}, {0, 122, 3.63, 2.05, 0, 0}},
     {{0, 5.16, 0.521, 3.68, 0, 0, 15, 20.9, 0.329, 0, 0}, {0, 0, 15.8, 0, 0, 0}}}};
constexpr CostWeights alto_weights{
    {{{3.21, 0, 0.0789, 0.304, 2.69, 0, 4.87, 0, 0.145, 0.655, 0}, {72, 6.16, 3.54, 0, 43.1, 46.3}, 0.00306},
     {{1.88, 0, 0, 1.12, 2.14, 0, 0.885, 0, 1.23, 1.84, 0}, {63.7, 30.7, 0, 0, 124, 85.9}, 0.00549},
     {{0, 0.954, 0.0543, 0.819, 0, 0, 6.25, 0, 0, 0, 0}, {13300, 0, 19.5, 0, 352, 0}},
     {{0, 0.659, 0.157, 0.58, 0, 0, 6.17, 0, 0, 0, 0}, {14800, 0, 17.9, 0, 0, 0}}}};

/// Nonzeros that a team of a device groups by row before it adds them (docs/design-notes.md).
constexpr double tile = 1792;

/// Rows that a tile's nonzeros fall into, as a share of the tile: one atomic row each.
double rows_of_a_tile(CostInput const& input, int mode) {
  auto const& survey = input.tensor.modes[static_cast<std::size_t>(mode)];
  return std::min(1.0, static_cast<double>(std::max<std::uint64_t>(survey.used(), 1)) / tile);
}

// --- blco, streamed-blco: a linear index and a value

std::uint64_t blco_bytes(CostInput const& input) {
  return input.tensor.nnz * static_cast<std::uint64_t>(8 + input.scalar_bytes);
}

std::uint64_t blco_build_bytes(CostInput const& input) {
  return costs::sort_bytes(input, input.tensor.linear_bits() > 64 ? 16 : 8);
}

ModeTerms blco_walk(CostInput const& input, int mode) {
  ModeTerms terms = costs::walk(input, mode, 8 + input.scalar_bytes);
  costs::add_atomics(terms, input, mode, rows_of_a_tile(input, mode));
  return terms;
}

BuildTerms blco_build(CostInput const& input) {
  return costs::sorted_build(input, static_cast<double>(blco_bytes(input)), 1);
}

/// Four buffers of 256 nonzeros are the least (formats/blco/streamed_blco.hpp), each with an instance of its
/// own.
std::uint64_t least_buffers(CostInput const& input) {
  std::uint64_t const instance = input.machine.is_device ? costs::device_instance_bytes : 0;
  return 4 * (256 * static_cast<std::uint64_t>(8 + input.scalar_bytes) + instance);
}

ModeTerms streamed_walk(CostInput const& input, int mode) {
  ModeTerms terms = blco_walk(input, mode);
  // The copy from the host; what a buffer holds is walked while the next one comes.
  at(terms, ModeTerm::scattered) = static_cast<double>(blco_bytes(input)) / input.machine.from_host;
  return terms;
}

// --- alto: plain indices

std::uint64_t alto_bytes(CostInput const& input) {
  return coordinate_bytes(input);
}

ModeTerms alto_walk(CostInput const& input, int mode) {
  ModeTerms terms = costs::walk(
      input, mode, input.scalar_bytes + static_cast<double>(input.tensor.order()) * input.index_bytes);
  costs::add_atomics(terms, input, mode, input.machine.is_device ? 1 : 0);
  return terms;
}

BuildTerms alto_build(CostInput const& input) {
  return costs::sorted_build(input, static_cast<double>(alto_bytes(input)), 1);
}

}  // namespace

std::vector<FormatCosts> blco_costs() {
  FormatCosts const blco{.name            = "blco",
                         .storage_bytes   = blco_bytes,
                         .build_bytes     = blco_build_bytes,
                         .workspace_bytes = costs::no_bytes,
                         .mttkrp          = blco_walk,
                         .build           = blco_build,
                         .weights         = blco_weights};
  FormatCosts streamed     = blco;
  streamed.name            = "streamed-blco";
  streamed.on_host         = true;
  streamed.build_bytes     = costs::no_bytes;
  streamed.workspace_bytes = least_buffers;
  streamed.mttkrp          = streamed_walk;
  streamed.weights         = streamed_weights;
  FormatCosts const alto{.name            = "alto",
                         .storage_bytes   = alto_bytes,
                         .build_bytes     = blco_build_bytes,
                         .workspace_bytes = costs::no_bytes,
                         .mttkrp          = alto_walk,
                         .build           = alto_build,
                         .weights         = alto_weights};
  return {blco, streamed, alto};
}

}  // namespace polyad
