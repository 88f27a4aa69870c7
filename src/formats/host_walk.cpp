// SPDX-License-Identifier: BSD-3-Clause
// The terms of a host's walks. A row of a factor comes from the nearest cache if it was read shortly before.
// Nobody knows the order in which a walk comes to the rows, so the model assumes none: the fullest rows of a
// mode fill a cache, and all nonzeros in other rows miss it. A row that is read for a node of a tree, or for
// a group of nonzeros, misses it once for all of them.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "formats/cost_model.hpp"
#include "polyad/core/row_alignment.hpp"

namespace polyad::detail::costs {
namespace {

constexpr double line = 64;  // bytes
static_assert(output_alignment == 64);
// What the rows of one mode may take of a core's second-level cache of 0.5 to 2 MB, and of the third-level
// cache that the cores share. Fitted: the other modes' rows and the streamed nonzeros take the rest.
constexpr double second_cache = 0.4e6;
constexpr double third_cache  = 16e6;
// Tables whose rows come from the third-level cache and from memory, as Ceilings::gather has them.
constexpr double in_third_cache = 8e6;
constexpr double in_memory      = 134e6;

double lines_of_row(CostInput const& input) {
  return std::ceil(row_bytes(input) / line);
}

/// The bytes that a row occupies in a cache. Two short ones share a line.
double cached_bytes(CostInput const& input) {
  double const bytes = row_bytes(input);
  return bytes > line / 2 ? lines_of_row(input) * line : bytes;
}

/// The share of the nonzeros whose row of `mode` does not fit the cache.
double missed_share(CostInput const& input, int mode, double cache) {
  auto const& survey = input.tensor.modes[mode];
  double const bytes = cached_bytes(input);
  double rows = 0, missed = 0;
  for (std::size_t b = ModeSurvey::bins; b > 0; --b) {
    if (survey.nonzeros[b - 1] == 0) continue;
    double const before = rows * bytes;
    rows += static_cast<double>(survey.rows[b - 1]);
    double const share = (rows * bytes - cache) / (rows * bytes - before);
    missed += std::clamp(share, 0.0, 1.0) * static_cast<double>(survey.nonzeros[b - 1]);
  }
  return missed / std::max(nonzeros_of(input), 1.0);
}

/// Bytes of memory that move for each row of an output. A row that ends within a line of a cache is read
/// before it is written.
double written_bytes(CostInput const& input) {
  double const padded = lines_of_row(input) * line;
  return padded == row_bytes(input) ? padded : 2 * padded;
}

double line_seconds(CostInput const& input, double table) {
  return line / gather_rate(input.machine, table);
}

}  // namespace

double nonzeros_of(CostInput const& input) {
  return static_cast<double>(input.tensor.nnz);
}

double distinct_tuples(TensorSurvey const& tensor, std::uint64_t modes) {
  auto most      = static_cast<double>(tensor.nnz);
  double product = 1;
  for (int n = 0; n < tensor.order(); ++n) {
    if ((modes >> n & 1U) != 0)
      product *= static_cast<double>(tensor.modes[n].used());
    else
      most = std::min(most, tensor.modes[n].fibers_along);
  }
  return std::min(most, product);
}

HostWalk sorted_host_walk(CostInput const& input, std::vector<int> const& levels, bool tree) {
  double const nnz = nonzeros_of(input);
  HostWalk walk;
  walk.reads.resize(levels.size());
  std::uint64_t above = 0;  // the modes of the levels down to here
  double nodes = 0, parents = 0;
  for (std::size_t l = 0; l < levels.size(); ++l) {
    bool const leaf = l + 1 == levels.size();
    above |= std::uint64_t(1) << levels[l];
    double const of_level = leaf ? nnz : distinct_tuples(input.tensor, above);
    if (l > 0) walk.reads[levels[l]] = of_level;
    if (!leaf) nodes += of_level;
    if (!leaf && l > 0) parents = of_level;
  }
  if (tree) {
    walk.rows      = nnz;
    walk.node_rows = walk.nodes = nodes;
    walk.bytes = nnz * (input.scalar_bytes + input.index_bytes) + 2 * nodes * input.index_bytes;
  } else {
    walk.rows      = nnz * (input.tensor.order() - 1);
    walk.node_rows = parents;
    walk.nodes     = distinct_tuples(input.tensor, std::uint64_t(1) << levels[0]);
    walk.bytes     = static_cast<double>(coordinate_bytes(input));
  }
  return walk;
}

ModeTerms host_walk(CostInput const& input, int mode, HostWalk const& walk) {
  double const nnz         = nonzeros_of(input);
  auto const& machine      = input.machine;
  double const nearest     = line_seconds(input, 0);
  double const from_third  = line_seconds(input, in_third_cache) * lines_of_row(input);
  double const from_memory = line_seconds(input, in_memory) * lines_of_row(input);
  double const row_seconds = row_bytes(input) / gather_rate(machine, 0);
  double const blocks      = passes(input);
  ModeTerms terms{};
  terms.near     = walk.rows * row_seconds;
  terms.upper    = walk.node_rows * row_seconds;
  terms.stream   = copy_seconds(input, blocks * walk.bytes);
  terms.nonzeros = blocks * nnz * nearest;
  terms.nodes    = blocks * walk.nodes * nearest;
  terms.locks    = blocks * walk.locks * nearest;
  terms.output =
      copy_seconds(input, static_cast<double>(input.tensor.modes[mode].extent) * written_bytes(input));
  terms.copies = copy_seconds(input, walk.copies * lines_of_row(input) * line);
  for (int n = 0; n < input.tensor.order(); ++n) {
    double const of_second = missed_share(input, n, second_cache);
    double const of_third  = missed_share(input, n, third_cache);
    if (n == mode) {
      terms.own_second = walk.adds * of_second * from_third;
      terms.own_third  = walk.adds * of_third * from_memory;
    } else {
      terms.second += walk.reads[n] * of_second * from_third;
      terms.third += walk.reads[n] * of_third * from_memory;
    }
  }
  auto const stored = std::max(static_cast<double>(coordinate_bytes(input)), 1.0);
  terms.scattered =
      blocks * walk.lookups * std::max(0.0, 1 - second_cache / stored) * line_seconds(input, in_third_cache);
  return terms;
}

}  // namespace polyad::detail::costs
