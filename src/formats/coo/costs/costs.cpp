// SPDX-License-Identifier: BSD-3-Clause
// The memory traffic of the coordinate formats.
#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>
#include <vector>

#include "formats/coo/costs/weights.hpp"
#include "formats/coo/storage/locality_blocks.hpp"
#include "formats/cost_model.hpp"

namespace polyad::detail {
namespace {

/// At most 2^56 of a mode's rows, so that their bytes fit 64 bits.
std::uint64_t counted(std::uint64_t rows) {
  return std::min(rows, std::uint64_t(1) << 56);
}

/// A byte for each row of a mode, for one mode at a time.
std::uint64_t flags_of_rows(CostInput const& input) {
  std::uint64_t longest = 0;
  for (auto const& mode : input.tensor.modes) longest = std::max(longest, counted(mode.extent));
  return longest;
}

double coordinates(CostInput const& input) {
  return input.scalar_bytes + input.tensor.order() * input.index_bytes;
}

// --- coo-scratch, coo-tiny-vec: the tensor as it is, an atomic row per nonzero

BuildTerms no_build(CostInput const& input) {
  BuildTerms terms{};
  terms.mode = input.machine.launch_s;
  terms.rows = costs::copy_seconds(input, static_cast<double>(input.tensor.nnz) * input.scalar_bytes);
  return terms;  // the norm is all that is formed
}

ModeTerms atomic_walk(CostInput const& input, int mode) {
  ModeTerms terms = costs::walk(input, mode, coordinates(input));
  costs::add_atomics(terms, input, mode, 1);
  // Nonzeros that were sorted or summed are in the order of mode 0.
  if (mode == 0) terms.ordered = costs::ordered_seconds(input, mode);
  return terms;
}

// --- coo-permuted: coordinates and a permutation per mode

std::uint64_t permuted_bytes(CostInput const& input) {
  return coordinate_bytes(input) + input.tensor.nnz * (input.tensor.order() * input.index_bytes);
}

std::uint64_t permuted_build_bytes(CostInput const& input) {
  // A sort reorders the positions in place, which are kept. The coordinates are the tensor's own.
  std::uint64_t const before = input.tensor.order() - 1;
  return costs::sort_bytes(input, input.index_bytes) + before * input.tensor.nnz * input.index_bytes;
}

/// The number of runs in a permutation of `mode`: consecutive entries that are also consecutive in memory.
/// The nonzeros are in the order of mode 0, then of mode 1, and so on. The permutation of mode 0 is one run.
/// In the last mode's each nonzero is a run of its own. Other modes have runs like fibers.
double runs(CostInput const& input, int mode) {
  int const last = input.tensor.order() - 1;
  if (mode == 0) return 0;
  auto most = static_cast<double>(input.tensor.nnz);
  if (mode == last) return most;
  for (int root = 0; root < last; ++root)  // whose fibers are those along the last mode
    if (leaf_of(input.tensor, root) == last) most = std::min(most, input.tensor.modes[root].fibers);
  double distinct = 1;
  for (int m = 0; m <= mode; ++m) distinct *= static_cast<double>(input.tensor.modes[m].used());
  return std::min(most, distinct);
}

/// A host's walk: `mode`, then the others in their own order. The nonzeros are in the order of mode 0, then
/// of mode 1, and so on, so those that agree in all modes up to this one are neighbours in memory.
ModeTerms permuted_host_walk(CostInput const& input, int mode) {
  std::vector<int> levels{mode};
  for (int n = 0; n < input.tensor.order(); ++n)
    if (n != mode) levels.push_back(n);
  costs::HostWalk walk = costs::sorted_host_walk(input, levels, false);
  walk.node_rows       = 0;
  walk.bytes += costs::nonzeros_of(input) * input.index_bytes;
  if (mode > 0) walk.lookups = costs::distinct_tuples(input.tensor, (std::uint64_t(2) << mode) - 1);
  return costs::host_walk(input, mode, walk);
}

ModeTerms permuted_walk(CostInput const& input, int mode) {
  if (!input.machine.is_device) return permuted_host_walk(input, mode);
  ModeTerms terms = costs::walk(input, mode, coordinates(input) + input.index_bytes);
  terms.scattered = runs(input, mode) * 64 /
                    costs::gather_rate(input.machine, static_cast<double>(coordinate_bytes(input)));
  costs::add_atomics(terms, input, mode, costs::border_rows(input, mode));
  return terms;
}

BuildTerms permuted_build(CostInput const& input) {
  BuildTerms terms = costs::sorted_build(input, permuted_bytes(input), input.tensor.order());
  // Each mode's sort uses only the bits of that mode.
  terms.sort /= input.tensor.order();
  if (input.machine.is_device) terms.mode /= input.tensor.order();  // a permutation is one array
  return terms;
}

// --- sorted: a copy per mode

/// A copy for each mode that is kept, and the list of its rows that do not occur.
std::vector<std::uint64_t> sorted_copies(CostInput const& input) {
  std::vector<std::uint64_t> bytes;
  for (int n = 0; n < input.tensor.order(); ++n) {
    auto const& mode = input.tensor.modes[n];
    if (input.keeps(n))
      bytes.push_back(coordinate_bytes(input) + counted(mode.extent - mode.used()) * input.index_bytes);
  }
  return bytes;
}

std::uint64_t sorted_bytes(CostInput const& input) {
  auto const copies = sorted_copies(input);
  return std::accumulate(copies.begin(), copies.end(), std::uint64_t(0));
}

std::uint64_t sorted_build_bytes(CostInput const& input) {
  return costs::build_in_turn(input, sorted_copies(input), costs::sort_bytes(input, 8), flags_of_rows(input));
}

/// The effect of locality blocks in a copy of `sorted`.
struct LocalityBlocks {
  int mode;      // its rows are gathered from the first-level cache
  double added;  // rows a nonzero
};

/// Nothing if a copy is not cut into blocks.
std::optional<LocalityBlocks> locality_blocks(CostInput const& input, int mode) {
  auto const& modes = input.tensor.modes;
  if (!input.machine.is_device || modes.size() < 2) return std::nullopt;
  int const shortest   = costs::ordered_modes(input, mode)[1];
  auto const& survey   = modes[mode];
  std::uint64_t extent = modes[shortest].extent;
  std::uint64_t rows   = std::max<std::uint64_t>(survey.used(), 1);
  double const runs    = std::min(survey.fibers, static_cast<double>(rows) * static_cast<double>(extent));
  auto const nnz       = static_cast<double>(input.tensor.nnz);
  bool const hoists    = input.scalar_bytes == 4 && nnz >= 4 * runs;  // SortedTuning::hoist
  auto const in_block  = locality_block_rows(input.tensor.nnz, rows, extent, hoists, input.scalar_bytes);
  if (in_block == 0) return std::nullopt;
  double const blocks = std::ceil(static_cast<double>(extent) / static_cast<double>(in_block));
  return LocalityBlocks{shortest, std::min(1.0, blocks * static_cast<double>(rows) / nnz)};
}

/// A host's walk. It multiplies the row of the shortest other mode once per run if runs are long
/// (SortedTuning::hoist).
ModeTerms sorted_on_host(CostInput const& input, int mode) {
  auto const levels    = costs::ordered_modes(input, mode);
  costs::HostWalk walk = costs::sorted_host_walk(input, levels, false);
  double const nnz     = costs::nonzeros_of(input);
  double const runs    = input.tensor.order() < 3 ? nnz : walk.reads[levels[1]];
  bool const hoists    = nnz >= 4 * runs;
  walk.rows            = nnz * (input.tensor.order() - (hoists ? 2 : 1));
  walk.node_rows       = hoists ? runs : 0;
  walk.nodes += hoists ? runs : 0;
  return costs::host_walk(input, mode, walk);
}

ModeTerms sorted_walk(CostInput const& input, int mode) {
  if (!input.machine.is_device) return sorted_on_host(input, mode);
  ModeTerms terms    = costs::walk(input, mode, coordinates(input));
  auto const& survey = input.tensor.modes[mode];
  auto const blocks  = locality_blocks(input, mode);
  if (blocks) terms.gather -= costs::far_seconds(input, blocks->mode);
  costs::add_atomics(terms, input, mode, blocks ? blocks->added : costs::border_rows(input, mode));
  terms.upper = costs::gathered(terms) * survey.fibers / static_cast<double>(input.tensor.nnz + 1);
  return terms;
}

BuildTerms sorted_build_terms(CostInput const& input) {
  return costs::sorted_build(input, sorted_bytes(input), input.tensor.order());
}

// --- streamed-sorted: the copies in host memory

constexpr std::uint64_t short_extent = 65536;  // as streamed_sorted.hpp has it

/// Modes other than `mode` whose indices are sent in 16 bits.
std::uint64_t short_modes(CostInput const& input, int mode) {
  std::uint64_t count = 0;
  for (int m = 0; m < input.tensor.order(); ++m)
    count += m != mode && input.tensor.modes[m].extent <= short_extent ? 1 : 0;
  return count;
}

std::uint64_t bytes_of_starts(CostInput const& input) {
  std::uint64_t bytes = 0;
  for (auto const& mode : input.tensor.modes) bytes += (counted(mode.extent) + 1) * 8;
  return bytes;
}

std::uint64_t streamed_sorted_bytes(CostInput const& input) {
  std::uint64_t shorts = 0;
  for (int n = 0; n < input.tensor.order(); ++n) shorts += short_modes(input, n);
  return input.tensor.order() * coordinate_bytes(input) + 2 * shorts * input.tensor.nnz +
         bytes_of_starts(input);
}

/// The smallest buffers, and the starts of the rows. There are four buffers of 256 nonzeros, each with its
/// own instance. In host memory, where they are of no use, they hold all nonzeros of a mode.
std::uint64_t least_stretches(CostInput const& input) {
  std::uint64_t shorts = 0;
  for (int n = 0; n < input.tensor.order(); ++n) shorts = std::max(shorts, short_modes(input, n));
  auto const nonzero = static_cast<std::uint64_t>(coordinates(input)) + 2 * shorts;
  if (input.one_memory) return input.tensor.nnz * nonzero + bytes_of_starts(input);
  return 4 * (256 * nonzero + (input.machine.is_device ? costs::device_instance_bytes : 0)) +
         bytes_of_starts(input);
}

ModeTerms streamed_sorted_walk(CostInput const& input, int mode) {
  ModeTerms terms   = sorted_walk(input, mode);
  auto const shorts = static_cast<double>(short_modes(input, mode));
  double const sent =
      input.scalar_bytes + 2 * shorts + (input.tensor.order() - 1 - shorts) * input.index_bytes;
  // The copy from the host. The walk over a buffer overlaps the copies of the next ones.
  terms.scattered = static_cast<double>(input.tensor.nnz) * sent / input.machine.from_host;
  return terms;
}

BuildTerms streamed_sorted_build(CostInput const& input) {
  return costs::sorted_build(input, streamed_sorted_bytes(input), input.tensor.order());
}

}  // namespace

std::vector<FormatCosts> coo_costs() {
  FormatCosts const scratch{.name              = "coo-scratch",
                            .shares_the_tensor = true,
                            .terms_at_once     = {1, 1},
                            .storage_bytes     = coordinate_bytes,  // those of the tensor
                            .build_bytes       = costs::no_bytes,
                            .workspace_bytes   = costs::no_bytes,
                            .mttkrp            = atomic_walk,
                            .build             = no_build,
                            .weights           = scratch_weights};
  FormatCosts tiny_vec = scratch;
  tiny_vec.name        = "coo-tiny-vec";
  tiny_vec.weights     = tiny_vec_weights;
  FormatCosts const permuted{.name              = "coo-permuted",
                             .residual          = true,
                             .shares_the_tensor = true,
                             .is_permuted       = true,
                             .terms_at_once     = {0, costs::of_a_chunk, true},
                             .storage_bytes     = permuted_bytes,
                             .build_bytes       = permuted_build_bytes,
                             .workspace_bytes   = costs::no_bytes,
                             .mttkrp            = permuted_walk,
                             .build             = permuted_build,
                             .weights           = permuted_weights};
  FormatCosts const sorted{.name            = "sorted",
                           .residual        = true,
                           .deterministic   = true,
                           .storage_bytes   = sorted_bytes,
                           .build_bytes     = sorted_build_bytes,
                           .workspace_bytes = costs::no_bytes,
                           .mttkrp          = sorted_walk,
                           .build           = sorted_build_terms,
                           .weights         = sorted_weights};
  FormatCosts streamed     = sorted;
  streamed.name            = "streamed-sorted";
  streamed.on_host         = true;
  streamed.terms_at_once   = permuted.terms_at_once;  // a row may come in pieces, which cannot be merged
  streamed.storage_bytes   = streamed_sorted_bytes;
  streamed.build_bytes     = costs::no_bytes;
  streamed.workspace_bytes = least_stretches;
  streamed.mttkrp          = streamed_sorted_walk;
  streamed.build           = streamed_sorted_build;
  streamed.weights         = {};  // not fitted: the model does not know its times
  return {scratch, tiny_vec, permuted, sorted, streamed};
}

}  // namespace polyad::detail
