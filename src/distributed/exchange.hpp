// SPDX-License-Identifier: BSD-3-Clause
// Sends nonzeros to the ranks whose block they belong to, a block of them at a time.
#pragma once

#include <algorithm>
#include <numeric>
#include <span>
#include <string>
#include <vector>

#include "core/host_memory.hpp"
#include "distributed/cut_mode.hpp"
#include "distributed/host_chunks.hpp"
#include "formats/plan_owned_formats.hpp"
#include "polyad/core/error.hpp"
#include "polyad/distributed/distribute.hpp"

namespace polyad::detail {

/// Gathers a number of each rank.
template <class T>
std::vector<T> of_all_ranks(RankGroup const& ranks, T number) {
  std::vector<T> numbers(ranks.size(), T(0));
  numbers[ranks.rank()] = number;
  ranks.all_gather(numbers.data(), std::vector<count_t>(numbers.size(), 1));
  return numbers;
}

inline double imbalance_of(std::vector<count_t> const& numbers) {
  double const sum     = static_cast<double>(std::accumulate(numbers.begin(), numbers.end(), count_t(0)));
  double const largest = static_cast<double>(*std::max_element(numbers.begin(), numbers.end()));
  return sum == 0 ? 1 : largest / sum * static_cast<double>(numbers.size());
}

/// \throws UsageError on all ranks when a coordinate of one is outside, or is missing
template <class Index>
void expect_inside(RankGroup const& ranks, Extents const& extents, std::span<Index const> indices,
                   std::span<double const> values) {
  count_t const order = extents.order();
  count_t wrong       = indices.size() == values.size() * order ? 0 : 1;
  if (wrong == 0)
    wrong = count_kinds(values.size(), 1, [&](count_t p) {
      count_t inside = 1;
      for (count_t n = 0; n < order; ++n)
        if (indices[p * order + n] >= extents[n]) inside = 0;
      return inside;
    })[0];
  auto const wrong_on = of_all_ranks(ranks, wrong);
  for (std::size_t k = 0; k < wrong_on.size(); ++k)
    POLYAD_EXPECTS(wrong_on[k] == 0, "rank ", k, " has a coordinate outside ", to_string(extents),
                   ", or not as many coordinates as values");
}

/// \throws MemoryError on all ranks, naming one that lacks the memory for these bytes of its own
inline void expect_fits_on_ranks(RankGroup const& ranks, std::string const& what, count_t bytes,
                                 count_t available) {
  auto const bytes_of  = of_all_ranks(ranks, bytes);
  auto const memory_of = of_all_ranks(ranks, available);
  for (std::size_t k = 0; k < bytes_of.size(); ++k)
    if (bytes_of[k] > memory_of[k])
      throw MemoryError(what + " of rank " + std::to_string(k), bytes_of[k],
                        "only " + std::to_string(memory_of[k]) + " bytes are free there");
}

/// The nonzeros of a rank in host memory, with the labels of their rows.
template <class Index>
struct LabelledNonzeros {
  Partition const& partition;
  std::span<Index const> indices;  // P x N, the tensor's rows
  std::span<double const> values;

  [[nodiscard]] count_t count() const { return values.size(); }
  [[nodiscard]] count_t row(count_t p, int n) const {
    count_t const row = indices[p * partition.grid.size() + n];
    return partition.label_of_row(n, row);
  }
  /// The rank whose block has nonzero p.
  [[nodiscard]] count_t owner(count_t p) const {
    count_t rank = 0;
    for (int n = 0; n < std::ssize(partition.grid); ++n) {
      if (partition.grid[n] == 1) continue;
      auto const& cuts = partition.cuts[n];
      // The last range that begins at or before the row: empty ones begin there too.
      auto const after = std::upper_bound(cuts.begin(), cuts.end() - 1, row(p, n));
      rank             = rank * partition.grid[n] + (after - cuts.begin()) - 1;
    }
    return rank;
  }
};

/// Cuts mode n into parts of about as many nonzeros each, of all ranks together.
template <class Index>
std::vector<count_t> cut_mode(RankGroup const& ranks, LabelledNonzeros<Index> const& nonzeros, int n,
                              int parts) {
  return cut_rows(
      ranks, nonzeros.partition.extents[n], nonzeros.count(), [&](count_t p) { return nonzeros.row(p, n); },
      parts);
}

/// How many nonzeros of all ranks each block has.
template <class Index>
std::vector<count_t> nonzeros_of_blocks(RankGroup const& ranks, LabelledNonzeros<Index> const& nonzeros) {
  auto counts = count_kinds(nonzeros.count(), ranks.size(), [&](count_t p) { return nonzeros.owner(p); });
  ranks.all_reduce(counts.data(), counts.size());
  return counts;
}

/// The nonzeros of this rank, in the order of their senders. Their coordinates count from the rank's first
/// rows.
template <class Index>
struct Received {
  std::vector<Index> indices;
  std::vector<double> values;
};

/// Some nonzeros of this rank, sorted by the ranks that get them.
template <class Out, class Index>
struct SentBlock {
  std::vector<count_t> to;  // how many each rank gets
  std::vector<int> owner;
  Received<Out> sorted;

  /// Takes the nonzeros first ... end - 1, in their order for each rank.
  void take(LabelledNonzeros<Index> const& nonzeros, count_t first, count_t end, count_t ranks) {
    auto const order     = nonzeros.partition.grid.size();
    count_t const count  = end - first;
    count_t const chunks = host_chunks(count);
    owner.resize(count);
    sorted.values.resize(count);
    sorted.indices.resize(count * order);
    std::vector<count_t> next(chunks * ranks, 0);  // where a chunk writes its next nonzero for a rank
    for_each_host_chunk(count, chunks, [&](count_t chunk, count_t begin, count_t stop) {
      for (count_t i = begin; i < stop; ++i) {
        count_t const rank = nonzeros.owner(first + i);
        owner[i]           = static_cast<int>(rank);
        ++next[chunk * ranks + rank];
      }
    });
    to.assign(ranks, 0);
    count_t sum = 0;
    for (count_t rank = 0; rank < ranks; ++rank)
      for (count_t chunk = 0; chunk < chunks; ++chunk) {
        count_t& at         = next[chunk * ranks + rank];
        count_t const begin = sum;
        sum += at;
        to[rank] += at;
        at = begin;
      }
    for_each_host_chunk(count, chunks, [&](count_t chunk, count_t begin, count_t stop) {
      for (count_t i = begin; i < stop; ++i) {
        count_t const at  = next[chunk * ranks + owner[i]]++;
        sorted.values[at] = nonzeros.values[first + i];
        for (std::size_t n = 0; n < order; ++n) {
          auto const mode = static_cast<int>(n);
          sorted.indices[at * order + n] =
              static_cast<Out>(nonzeros.row(first + i, mode) - nonzeros.partition.first_row(owner[i], mode));
        }
      }
    });
  }
};

/// \tparam Out  for the coordinates in the ranks' blocks, which must hold them
/// \throws MemoryError on all ranks where one lacks the memory for what it receives
template <class Out, class Index>
Received<Out> exchange(RankGroup const& ranks, LabelledNonzeros<Index> const& nonzeros,
                       count_t at_a_time = sent_at_a_time) {
  auto const order   = nonzeros.partition.grid.size();
  count_t const size = ranks.size();
  auto const to      = count_kinds(nonzeros.count(), size, [&](count_t p) { return nonzeros.owner(p); });
  auto const from    = ranks.counts_from(to);

  count_t const count = std::accumulate(from.begin(), from.end(), count_t(0));
  count_t const bytes = order * sizeof(Out) + sizeof(double);
  count_t const block = std::max<count_t>(at_a_time / size, 1);
  expect_fits_on_ranks(ranks, "the nonzeros", (count + std::min(count, at_a_time) + block) * bytes,
                       available_host_memory());
  SentBlock<Out, Index> sent;
  if (size == 1) {
    sent.take(nonzeros, 0, nonzeros.count(), 1);
    return std::move(sent.sorted);
  }
  Received<Out> received{std::vector<Out>(count * order), std::vector<double>(count)};
  Received<Out> piece;
  std::vector<count_t> next(from.size());  // where the next nonzeros of each sender go
  std::exclusive_scan(from.begin(), from.end(), next.begin(), count_t(0));
  auto const counts_of = of_all_ranks(ranks, nonzeros.count());
  count_t const most   = *std::max_element(counts_of.begin(), counts_of.end());
  auto const scaled    = [&](std::vector<count_t> counts) {
    for (auto& k : counts) k *= order;
    return counts;
  };
  for (count_t first = 0; first < most; first += block) {
    count_t const begin = std::min(first, nonzeros.count());
    sent.take(nonzeros, begin, std::min(first + block, nonzeros.count()), size);
    auto const pieces = ranks.counts_from(sent.to);
    piece.values.resize(std::accumulate(pieces.begin(), pieces.end(), count_t(0)));
    piece.indices.resize(piece.values.size() * order);
    ranks.all_to_all(sent.sorted.values.data(), sent.to, piece.values.data(), pieces);
    ranks.all_to_all(sent.sorted.indices.data(), scaled(sent.to), piece.indices.data(), scaled(pieces));
    count_t at = 0;
    for (std::size_t k = 0; k < pieces.size(); ++k) {
      std::copy_n(piece.values.data() + at, pieces[k], received.values.data() + next[k]);
      std::copy_n(piece.indices.data() + at * order, pieces[k] * order,
                  received.indices.data() + next[k] * order);
      at += pieces[k];
      next[k] += pieces[k];
    }
  }
  return received;
}

}  // namespace polyad::detail
