// SPDX-License-Identifier: BSD-3-Clause
#include "polyad/distributed/distribute.hpp"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <memory>
#include <numeric>

#include "distributed/exchange.hpp"
#include "distributed/over_ranks.hpp"
#include "distributed/rows_of_blocks.hpp"
#include "polyad/core/error.hpp"
#include "polyad/core/instances.hpp"
#include "polyad/core/rank.hpp"
#include "polyad/tensor/sum_duplicates.hpp"

namespace polyad {

using namespace detail;

namespace {

ProcessGrid checked_grid(PartitionOptions const& options, Extents const& extents, int ranks) {
  if (options.grid.empty()) return cheapest_grid(extents, ranks);
  POLYAD_EXPECTS(std::ssize(options.grid) == extents.order(), "the grid has ", options.grid.size(),
                 " numbers, and the tensor ", extents.order(), " modes");
  count_t product = 1;
  for (int const p : options.grid) {
    POLYAD_EXPECTS(p >= 1 && p <= ranks, "the grid has a ", p, ", and there are ", ranks, " ranks");
    product *= p;
    POLYAD_EXPECTS(product <= static_cast<count_t>(ranks), "the grid has more than ", ranks, " ranks");
  }
  POLYAD_EXPECTS(product == static_cast<count_t>(ranks), "the grid has ", product, " ranks, and there are ",
                 ranks);
  return options.grid;
}

template <class Index>
std::vector<std::vector<count_t>> cut_modes(RankGroup const& ranks, LabelledNonzeros<Index> const& nonzeros) {
  std::vector<std::vector<count_t>> cuts;
  for (int n = 0; n < nonzeros.partition.extents.order(); ++n) {
    int const parts = nonzeros.partition.grid[n];
    if (parts == 1)
      cuts.push_back({0, nonzeros.partition.extents[n]});
    else
      cuts.push_back(cut_mode(ranks, nonzeros, n, parts));
  }
  return cuts;
}

/// Cuts the modes of nonzeros.partition, and labels their rows at random where that makes the blocks more
/// alike. Returns the number of nonzeros in each block.
template <class Index>
std::vector<count_t> make_blocks(RankGroup const& ranks, LabelledNonzeros<Index> const& nonzeros,
                                 double relabel_above, Partition& partition) {
  partition.cuts       = cut_modes(ranks, nonzeros);
  auto const as_it_is  = nonzeros_of_blocks(ranks, nonzeros);
  auto const cut_count = std::ranges::count_if(partition.grid, [](int p) { return p > 1; });
  if (cut_count < 2) return as_it_is;  // the ranges of one mode are alike already
  if (!(imbalance_of(as_it_is) > relabel_above)) return as_it_is;
  Partition const before = partition;
  partition.labelled     = true;
  partition.cuts         = cut_modes(ranks, nonzeros);
  auto labelled          = nonzeros_of_blocks(ranks, nonzeros);
  if (imbalance_of(labelled) < imbalance_of(as_it_is)) return labelled;
  partition = before;
  return as_it_is;
}

/// Bytes of a rank's nonzeros, its rows of the factors, and the MTTKRPs of its longest mode.
template <class Scalar, class Index>
count_t bytes_of_share(Partition const& partition, int of, count_t nnz, count_t rank) {
  count_t rows    = 0;
  count_t longest = 0;
  int const order = partition.extents.order();
  for (int n = 0; n < order; ++n) {
    rows += partition.row_count(of, n);
    longest = std::max(longest, partition.row_count(of, n));
  }
  return nnz * (sizeof(Scalar) + order * sizeof(Index)) +
         (rows + longest) * padded_rank<Scalar>(rank) * sizeof(Scalar);
}

/// Whether 32 bits number the rows and the nonzeros of each rank's block.
bool fits_narrow(Partition const& partition, std::vector<count_t> const& nonzeros) {
  constexpr count_t narrow = std::numeric_limits<std::uint32_t>::max();
  count_t largest          = *std::max_element(nonzeros.begin(), nonzeros.end());
  for (int k = 0; k < partition.ranks(); ++k)
    for (int n = 0; n < partition.extents.order(); ++n)
      largest = std::max(largest, partition.row_count(k, n));
  return largest < narrow;
}

/// How the nonzeros are divided: the partition, and how many each rank gets.
struct Division {
  Partition partition;
  std::vector<count_t> nonzeros;
};

template <class Index, class Space>
Division divided(Communicator<Space> const& ranks, Extents const& extents, std::span<Index const> indices,
                 std::span<double const> values, PartitionOptions const& options) {
  checked_rank(options.rank);
  expect_inside(ranks.host(), extents, indices, values);
  Division division;
  Partition& partition = division.partition;
  partition.extents    = extents;
  partition.rank       = ranks.rank();
  partition.grid       = checked_grid(options, extents, ranks.size());
  division.nonzeros    = make_blocks(ranks.host(), LabelledNonzeros<Index>{partition, indices, values},
                                     options.relabel_above, partition);
  return division;
}

/// \tparam Out  the type of the share's coordinates
template <class Scalar, class Out, class Index, class Space>
TensorShare<Scalar, Out, Space> share_of(Communicator<Space> const& ranks, Division const& division,
                                         std::span<Index const> indices, std::span<double const> values,
                                         count_t rank) {
  TensorShare<Scalar, Out, Space> share;
  share.partition            = division.partition;
  Partition const& partition = share.partition;
  auto const received = exchange<Out>(ranks.host(), LabelledNonzeros<Index>{partition, indices, values});

  std::vector<count_t> bytes;
  for (int k = 0; k < ranks.size(); ++k)
    bytes.push_back(bytes_of_share<Scalar, Out>(partition, k, division.nonzeros[k], rank));
  auto const memory = of_all_ranks(ranks.host(), available_memory(ranks.space()));
  for (std::size_t k = 0; k < bytes.size(); ++k)
    if (bytes[k] > memory[k])
      throw MemoryError("the share of rank " + std::to_string(k) + " and its rows of the model", bytes[k],
                        "only " + std::to_string(memory[k]) + " bytes are free there");

  int const order = partition.extents.order();
  std::vector<count_t> own_rows;
  for (int n = 0; n < order; ++n)
    own_rows.push_back(std::max<count_t>(1, partition.row_count(ranks.rank(), n)));
  auto const deduplicated = AllRanks<Space>(ranks).together([&] {
    return sum_duplicates(ranks.space(),
                          upload<Scalar, Out>(ranks.space(), Extents(std::span<count_t const>(own_rows)),
                                              std::span<Out const>(received.indices),
                                              std::span<double const>(received.values)));
  });
  share.block             = deduplicated.tensor;

  auto const nonzeros = of_all_ranks(ranks.host(), share.block.nnz());
  share.nnz           = std::accumulate(nonzeros.begin(), nonzeros.end(), count_t(0));
  count_t rows        = 0;
  for (int n = 0; n < order; ++n) rows += partition.row_count(ranks.rank(), n);
  share.imbalance  = {imbalance_of(nonzeros), imbalance_of(of_all_ranks(ranks.host(), rows)),
                      imbalance_of(bytes)};
  share.duplicates = deduplicated.duplicates;
  ranks.host().all_reduce(&share.duplicates, 1);
  share.norm_squared = norm_squared(ranks.space(), share.block);
  ranks.host().all_reduce(&share.norm_squared, 1);
  return share;
}

}  // namespace

template <class Scalar, class Index, class Space>
TensorShare<Scalar, Index, Space> distribute(Communicator<Space> const& ranks, Extents const& extents,
                                             std::span<Index const> indices, std::span<double const> values,
                                             PartitionOptions const& options) {
  auto const division = divided(ranks, extents, indices, values, options);
  return share_of<Scalar, Index>(ranks, division, indices, values, options.rank);
}

template <class Scalar, class Index, class Space>
NarrowShare<Scalar, Space> distribute_narrow(Communicator<Space> const& ranks, Extents const& extents,
                                             std::span<Index const> indices, std::span<double const> values,
                                             PartitionOptions const& options) {
  auto const division = divided(ranks, extents, indices, values, options);
  if (fits_narrow(division.partition, division.nonzeros))
    return share_of<Scalar, std::uint32_t>(ranks, division, indices, values, options.rank);
  return share_of<Scalar, std::uint64_t>(ranks, division, indices, values, options.rank);
}

template <class Scalar, class Index, class Space>
TensorByRank<Scalar, Space> tensor_by_rank(Communicator<Space> const& ranks,
                                           TensorShare<Scalar, Index, Space> const& share,
                                           AnyFormat<Scalar, Space> const& X) {
  if (ranks.size() == 1) return {ranks.space(), X};
  return {{share.partition.extents, share.nnz, share.duplicates, share.norm_squared, share.imbalance},
          {X},
          std::make_shared<RowsOfBlocks<Scalar, Space>>(ranks, share.partition)};
}

template <class Scalar, class Index, class Space>
TensorByRank<Scalar, Space> tensor_by_rank(Communicator<Space> const& ranks,
                                           TensorShare<Scalar, Index, Space> const& share,
                                           AnyFormatOptions const& format) {
  AllRanks<Space> const all(ranks);
  return tensor_by_rank(ranks, share,
                        all.together([&] { return any_format(ranks.space(), share.block, format); }));
}

#define POLYAD_DISTRIBUTE(Scalar, Index)                                                                   \
  template TensorShare<Scalar, Index, CompiledSpace> distribute(                                           \
      Communicator<CompiledSpace> const&, Extents const&, std::span<Index const>, std::span<double const>, \
      PartitionOptions const&);                                                                            \
  template NarrowShare<Scalar, CompiledSpace> distribute_narrow(                                           \
      Communicator<CompiledSpace> const&, Extents const&, std::span<Index const>, std::span<double const>, \
      PartitionOptions const&);                                                                            \
  template TensorByRank<Scalar, CompiledSpace> tensor_by_rank(                                             \
      Communicator<CompiledSpace> const&, TensorShare<Scalar, Index, CompiledSpace> const&,                \
      AnyFormat<Scalar, CompiledSpace> const&);                                                            \
  template TensorByRank<Scalar, CompiledSpace> tensor_by_rank(                                             \
      Communicator<CompiledSpace> const&, TensorShare<Scalar, Index, CompiledSpace> const&,                \
      AnyFormatOptions const&)
POLYAD_EACH_SCALAR_AND_INDEX(, POLYAD_DISTRIBUTE);

}  // namespace polyad
