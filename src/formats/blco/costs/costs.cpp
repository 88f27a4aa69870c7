// SPDX-License-Identifier: BSD-3-Clause
// The memory traffic of the formats with one copy of the nonzeros in ALTO's order.
#include <algorithm>
#include <bit>
#include <limits>
#include <set>
#include <vector>

#include "formats/blco/costs/most_private_rows.hpp"
#include "formats/blco/costs/weights.hpp"
#include "formats/cost_model.hpp"

namespace polyad::detail {
namespace {

/// Nonzeros that a team of a device groups by row before it adds them (docs/developer/decisions.md).
constexpr double tile = 1792;

/// The distinct rows of a tile's nonzeros, as a share of the tile. Each of them costs one atomic row.
double rows_of_a_tile(CostInput const& input, int mode) {
  auto const& survey = input.tensor.modes[mode];
  return std::min(1.0, static_cast<double>(std::max<std::uint64_t>(survey.used(), 1)) / tile);
}

// --- blco, streamed-blco: a linear index and a value

std::uint64_t blco_bytes(CostInput const& input) {
  return input.tensor.nnz * (8 + input.scalar_bytes);
}

std::uint64_t blco_build_bytes(CostInput const& input) {
  // A linear index that is longer than a word may have two of them.
  std::uint64_t const second_word = input.tensor.linear_bits() > 64 ? input.tensor.nnz * 8 : 0;
  return costs::build_in_turn(input, {blco_bytes(input)}, costs::sort_bytes(input, 8), second_word);
}

/// The private rows of a host's threads (formats/blco/storage/private_rows.hpp), of the mode that keeps most
/// of them. The longest mode has the first bit of the order, so two threads meet only in the rows of a block
/// of it. In the other modes all threads but one may keep a copy of each row. Orders of alto that group modes
/// often have fewer.
std::uint64_t private_rows_bytes(CostInput const& input) {
  std::uint64_t const threads = std::max(input.machine.concurrency, 1);
  if (input.machine.is_device || threads == 1) return 0;
  std::uint64_t const limit = most_private_rows(input.tensor.nnz);
  std::uint64_t longest = 0, most = 0;
  for (auto const& mode : input.tensor.modes) longest = std::max(longest, mode.extent);
  for (auto const& mode : input.tensor.modes) {
    std::uint64_t const rows = mode.extent == longest
                                   ? std::min(limit, std::bit_ceil(longest) / (2 * threads) * (threads - 1))
                                   : (threads - 1) * mode.used();
    if (rows <= limit) most = std::max(most, rows);
  }
  std::uint64_t const pack = 16 / input.scalar_bytes;
  return most * ((input.rank + pack - 1) / pack) * 16;
}

/// Whether a host's mode has more private rows than are copied. In ALTO's order, each thread has nonzeros in
/// all parts of most modes.
bool locks_rows(CostInput const& input, int mode) {
  return input.machine.concurrency > 1 &&
         input.tensor.modes[mode].extent > most_private_rows(input.tensor.nnz);
}

/// The rows of a host's mode that all threads but one keep a copy of: those that have several nonzeros.
double copied_rows(CostInput const& input, int mode) {
  auto const& survey = input.tensor.modes[mode];
  if (input.machine.concurrency == 1 || locks_rows(input, mode)) return 0;
  double rows = 0;
  for (std::size_t b = 1; b < ModeSurvey::bins; ++b) rows += static_cast<double>(survey.rows[b]);
  return rows * (input.machine.concurrency - 1);
}

ModeTerms tiled_walk(CostInput const& input, int mode) {
  ModeTerms terms = costs::walk(input, mode, 8 + input.scalar_bytes);
  costs::add_atomics(terms, input, mode, rows_of_a_tile(input, mode));
  return terms;
}

ModeTerms blco_walk(CostInput const& input, int mode) {
  if (input.machine.is_device) return tiled_walk(input, mode);
  double const nnz   = costs::nonzeros_of(input);
  double const order = input.tensor.order();
  return costs::host_walk(input, mode,
                          {.rows      = nnz * (order + 1),
                           .node_rows = 0,
                           .nodes     = nnz * order,  // indices are decoded
                           .bytes     = static_cast<double>(blco_bytes(input)),
                           .reads     = std::vector<double>(input.tensor.modes.size(), nnz),
                           .adds      = nnz,
                           .locks     = locks_rows(input, mode) ? nnz : 0,
                           .copies    = copied_rows(input, mode),
                           .lookups   = 0});
}

BuildTerms blco_build(CostInput const& input) {
  return costs::sorted_build(input, blco_bytes(input), 1);
}

/// The smallest buffers: four of 256 nonzeros each (formats/blco/storage/streamed_blco.hpp), each with its
/// own instance. In host memory, where they are of no use, they hold all nonzeros.
std::uint64_t least_buffers(CostInput const& input) {
  if (input.one_memory) return blco_bytes(input);
  std::uint64_t const instance = input.machine.is_device ? costs::device_instance_bytes : 0;
  return 4 * (256 * (8 + input.scalar_bytes) + instance);
}

ModeTerms streamed_walk(CostInput const& input, int mode) {
  ModeTerms terms = tiled_walk(input, mode);
  // The copy from the host, without the sections that the buffers keep from the pass before. The walk over a
  // buffer overlaps the copy of the next one.
  auto const sent = blco_bytes(input) - std::min(blco_bytes(input), input.free_bytes);
  terms.scattered = static_cast<double>(sent) / input.machine.from_host;
  return terms;
}

// --- alto: plain indices

std::uint64_t alto_bytes(CostInput const& input) {
  return coordinate_bytes(input);
}

std::uint64_t alto_build_bytes(CostInput const& input) {
  return costs::build_in_turn(input, {alto_bytes(input)}, costs::sort_bytes(input, 8), 0);
}

/// The modes that a host's order is expected to group (formats/blco/build/fastest_order.hpp), and the groups.
struct Grouping {
  std::uint64_t modes = 0;
  double groups       = 0;
};

bool contains(std::uint64_t modes, int n) {
  return (modes >> n & 1U) != 0;
}

/// The masks that alto_candidates tries: no mode, one, two or all but one.
std::vector<std::uint64_t> grouping_candidates(int order) {
  std::uint64_t const all = (std::uint64_t(1) << order) - 1;
  std::set<std::uint64_t> masks{0};
  for (int n = 0; n < order; ++n) {
    std::uint64_t const one = std::uint64_t(1) << n;
    if (order > 1) masks.insert({one, all ^ one});
    for (int m = 0; m < n && order <= 5 && order > 2; ++m) masks.insert(one | std::uint64_t(1) << m);
  }
  return {masks.begin(), masks.end()};
}

/// The fastest grouping by alto_cycles (formats/blco/build/fastest_order.hpp), without the rows that the
/// caches miss.
Grouping likely_grouping(CostInput const& input) {
  double const N   = input.tensor.order();
  double const nnz = std::max(costs::nonzeros_of(input), 1.0);
  Grouping best;
  double least = std::numeric_limits<double>::infinity();
  for (auto const modes : grouping_candidates(input.tensor.order())) {
    double const g      = std::popcount(modes);
    double const groups = modes == 0 ? 0 : costs::distinct_tuples(input.tensor, modes);
    double const rows   = (N - g) * (N - g + 1) + g * (N - g);
    double cycles       = 4 * rows + (4 * ((N - g) * g + g * (g + 1)) + 40 * N) * groups / nnz;
    if (modes == 0) cycles *= 0.9;
    if (cycles >= least) continue;
    least = cycles;
    best  = {modes, groups};
  }
  return best;
}

ModeTerms alto_host_walk(CostInput const& input, int mode) {
  double const nnz          = costs::nonzeros_of(input);
  double const order        = input.tensor.order();
  auto const [modes, group] = likely_grouping(input);
  double const grouped = std::popcount(modes), single = order - grouped;
  bool const of_group = contains(modes, mode);  // a row is added for each group
  costs::HostWalk walk;
  walk.rows      = nnz * (of_group ? single : single + 1);
  walk.node_rows = group * (of_group ? grouped + 1 : grouped);
  walk.nodes     = group;
  walk.bytes =
      nnz * (input.scalar_bytes + single * input.index_bytes) + group * (1 + grouped) * input.index_bytes;
  for (int n = 0; n < input.tensor.order(); ++n) walk.reads.push_back(contains(modes, n) ? group : nnz);
  walk.adds   = of_group ? group : nnz;
  walk.locks  = locks_rows(input, mode) ? walk.adds : 0;
  walk.copies = copied_rows(input, mode);
  return costs::host_walk(input, mode, walk);
}

ModeTerms alto_walk(CostInput const& input, int mode) {
  if (!input.machine.is_device) return alto_host_walk(input, mode);
  ModeTerms terms = costs::walk(input, mode, input.scalar_bytes + input.tensor.order() * input.index_bytes);
  costs::add_atomics(terms, input, mode, input.machine.is_device ? 1 : 0);
  return terms;
}

BuildTerms alto_build(CostInput const& input) {
  BuildTerms terms = costs::sorted_build(input, alto_bytes(input), 1);
  if (input.machine.is_device) return terms;
  // Both are bound by the cores, not by the memory (formats/blco/build/fastest_order.hpp).
  constexpr double in_windows = 1 << 14;
  constexpr double line       = 64;
  double const nnz            = costs::nonzeros_of(input);
  auto const orders           = static_cast<double>(grouping_candidates(input.tensor.order()).size());
  double const indices        = orders * input.tensor.order() / costs::gather_rate(input.machine, 0);
  terms.mode                  = 0;
  terms.search                = indices * nnz * input.index_bytes;
  terms.windows               = indices * std::min(nnz, in_windows) * line;
  return terms;
}

}  // namespace

std::vector<FormatCosts> blco_costs() {
  // A thread's chunk of a tile has tens of nonzeros.
  constexpr std::uint64_t of_a_tile = 16;
  FormatCosts const blco{.name            = "blco",
                         .terms_at_once   = {0, of_a_tile},
                         .storage_bytes   = blco_bytes,
                         .build_bytes     = blco_build_bytes,
                         .workspace_bytes = private_rows_bytes,
                         .mttkrp          = blco_walk,
                         .build           = blco_build,
                         .weights         = blco_weights};
  FormatCosts streamed     = blco;
  streamed.name            = "streamed-blco";
  streamed.on_host         = true;
  streamed.terms_at_once   = {of_a_tile, of_a_tile};
  streamed.build_bytes     = costs::no_bytes;
  streamed.workspace_bytes = least_buffers;
  streamed.mttkrp          = streamed_walk;
  streamed.weights         = streamed_weights;
  FormatCosts const alto{.name            = "alto",
                         .terms_at_once   = {0, 1},
                         .storage_bytes   = alto_bytes,
                         .build_bytes     = alto_build_bytes,
                         .workspace_bytes = private_rows_bytes,
                         .mttkrp          = alto_walk,
                         .build           = alto_build,
                         .weights         = alto_weights};
  return {blco, streamed, alto};
}

}  // namespace polyad::detail
