// SPDX-License-Identifier: BSD-3-Clause
// A tensor divided among many ranks. The drivers accept it like a tensor of one rank: cp_als by the
// medium-grained decomposition of Smith & Karypis, IPDPS 2016, section IV (also GenTen, section 5), and
// tucker by rows.
//
//   auto const share  = distribute<double>(ranks, extents, indices, values, {.rank = 32});
//   auto const X      = tensor_by_rank(ranks, share, format_options(options));
//   auto const result = cp_als(ranks.space(), X, options);   // the model is on rank 0
//
// For cp_als the ranks form a grid p_0 x ... x p_{N-1}. Mode n is cut into p_n ranges of rows. A rank has the
// nonzeros of one range of each mode. The P / p_n ranks with the same range of mode n own its rows together.
// They add up their products (reduce-scatter), and each solves for its rows and sends them to the others
// (all-gather). All ranks add up one R x R matrix per mode. For tucker each rank owns a range of rows of
// every mode, with about as many nonzeros as others, and has all of these, in one format per mode.
// docs/distributed.md has the number of words sent.
#pragma once

#include <cstdint>
#include <span>
#include <variant>
#include <vector>

#include "polyad/core/instances.hpp"
#include "polyad/distributed/communicator.hpp"
#include "polyad/formats/any_format.hpp"
#include "polyad/formats/tensor_by_rank.hpp"
#include "polyad/tensor/compact.hpp"
#include "polyad/tensor/coo_tensor.hpp"

namespace polyad {

/// p_0, ..., p_{N-1}, whose product is the number of ranks. Rank (c_0, ..., c_{N-1}) is numbered row-major.
using ProcessGrid = std::vector<int>;

/// Elements sent for the rows in an iteration, divided by R: the sum over the modes n of 2 (P / p_n - 1) I_n.
[[nodiscard]] double words_of_grid(Extents const& extents, ProcessGrid const& grid);

/// The grid that sends least; of several, that with the fewest rows. \throws UsageError when ranks < 1
[[nodiscard]] ProcessGrid cheapest_grid(Extents const& extents, int ranks);

/// Cuts a mode into `parts` ranges of rows with about as many nonzeros each. nonzeros[i] are those of row i.
/// Returns parts + 1 rows, from 0 to the last; ranges may be empty.
[[nodiscard]] std::vector<count_t> balanced_cuts(std::span<count_t const> nonzeros, int parts);

/// compact_coordinates (tensor/compact.hpp) of a tensor of which each rank has some of the nonzeros: the rows
/// that occur on any rank count. All ranks get the same lists, and renumber alike; CpAlsOptions::rows and
/// TuckerOptions::rows take them, with the new extents for the tensor. Ranks exchange a bit for each row of a
/// mode that has at most 64 rows for each nonzero, and otherwise the numbers of the rows that occur.
/// \throws UsageError on all ranks for a coordinate outside a mode that may be renumbered; MemoryError
template <class Index, class Space>
[[nodiscard]] std::vector<StoredRows> compact_coordinates(Communicator<Space> const& ranks,
                                                          std::span<Index> indices, Extents const& extents,
                                                          CompactRule const& rule = {});

struct PartitionOptions {
  ProcessGrid grid = {};  // empty: cheapest_grid
  count_t rank     = 16;  // R, to compute the memory that a rank needs
  double relabel_above =
      1.2;  // with fuller blocks (Imbalance::nonzeros) rows get random labels, if that helps
};

/// The rows of each mode that the ranks have. The same on all ranks except for `rank`.
struct Partition {
  Extents extents;  // I_n, the whole tensor's
  ProcessGrid grid;
  std::vector<std::vector<count_t>> cuts;  // for each mode p_n + 1 rows
  bool labelled = false;  // whether the rows of the modes that are cut have random labels. Cuts are of labels
  int rank      = 0;

  [[nodiscard]] int ranks() const;
  [[nodiscard]] int block_of(int rank, int n) const;  // c_n of a rank
  /// The rows of mode n that a rank has: the first one, and how many.
  [[nodiscard]] count_t first_row(int rank, int n) const;
  [[nodiscard]] count_t row_count(int rank, int n) const;
  /// P / p_n, and a rank's number among those that share its rows of mode n.
  [[nodiscard]] int sharers(int n) const;
  [[nodiscard]] int number_among_sharers(int rank, int n) const;
  /// How many rows each of those owns, in their order; and the first row of mode n that a rank owns.
  [[nodiscard]] std::vector<count_t> owned_rows(int rank, int n) const;
  [[nodiscard]] count_t first_owned_row(int rank, int n) const;
  /// The tensor's row with a label, and the reverse. Both are computed: no order of labels is stored.
  [[nodiscard]] count_t row_of_label(int n, count_t label) const;
  [[nodiscard]] count_t label_of_row(int n, count_t row) const;
};

/// A rank's share of a tensor.
template <class Scalar, class Index, class Space>
struct TensorShare {
  Partition partition;
  /// Its coordinates count from the ranges' first rows. An empty range counts as one row without nonzeros.
  CooTensor<Scalar, Index, Space> block;
  count_t nnz = 0, duplicates = 0;  // here and below for the whole tensor, its duplicates summed
  double norm_squared = 0;
  Imbalance imbalance;
};

/// Sends each nonzero to the rank whose block contains it, and sums duplicates. Each rank passes some of the
/// nonzeros, or one all of them. Waits. All ranks throw alike, unless an allocation of one rank fails.
/// \param extents  the same on all ranks
/// \param indices  P x N, row-major, from 0; \param values  P
/// \throws UsageError when the grid is not one of these ranks and modes, or a coordinate is outside;
///         MemoryError naming the rank that its share and the model do not fit
template <class Scalar, class Index, class Space>
[[nodiscard]] TensorShare<Scalar, Index, Space> distribute(Communicator<Space> const& ranks,
                                                           Extents const& extents,
                                                           std::span<Index const> indices,
                                                           std::span<double const> values,
                                                           PartitionOptions const& options = {});

/// A share with the narrowest coordinates that hold the rows and the nonzeros of each rank's block: those of
/// the whole tensor may need 64 bits.
template <class Scalar, class Space>
using NarrowShare =
    std::variant<TensorShare<Scalar, std::uint32_t, Space>, TensorShare<Scalar, std::uint64_t, Space>>;

/// The same with the same type on all ranks. Otherwise as distribute.
template <class Scalar, class Index, class Space>
[[nodiscard]] NarrowShare<Scalar, Space> distribute_narrow(Communicator<Space> const& ranks,
                                                           Extents const& extents,
                                                           std::span<Index const> indices,
                                                           std::span<double const> values,
                                                           PartitionOptions const& options = {});

/// A share in a format, for cp_als. Formats may differ from rank to rank.
/// \param X  share.block in this format
template <class Scalar, class Index, class Space>
[[nodiscard]] TensorByRank<Scalar, Space> tensor_by_rank(Communicator<Space> const& ranks,
                                                         TensorShare<Scalar, Index, Space> const& share,
                                                         AnyFormat<Scalar, Space> const& X);

/// The same, in the format that any_format chooses for the block. \throws as any_format, on all ranks
template <class Scalar, class Index, class Space>
[[nodiscard]] TensorByRank<Scalar, Space> tensor_by_rank(Communicator<Space> const& ranks,
                                                         TensorShare<Scalar, Index, Space> const& share,
                                                         AnyFormatOptions const& format);

/// Sends each nonzero to the owners of its rows, sums duplicates, and builds the formats, for tucker. One
/// rank has one format for all modes.
/// \param indices  with values: as in distribute
/// \param format  format_options of tucker
/// \param columns  R_n of the factors, for Imbalance::bytes
/// \throws UsageError on all ranks for a coordinate outside or another number of columns; otherwise as
///         any_format, on all ranks
template <class Scalar, class Index, class Space>
[[nodiscard]] TensorByRank<Scalar, Space> distribute_rows(
    Communicator<Space> const& ranks, Extents const& extents, std::span<Index const> indices,
    std::span<double const> values, AnyFormatOptions const& format, std::vector<count_t> const& columns);

/// What this rank will own in fast_tucker and tucker, for plan_fast_tucker and plan_tucker. Counts the
/// nonzeros in the rows of each rank, without a count for each row. All ranks call it, and each gets its own.
/// \param indices  those of this rank's part: P x N, row-major, from 0, below the extents
template <class Index, class Space>
[[nodiscard]] OwnedRows owned_rows(Communicator<Space> const& ranks, Extents const& extents,
                                   std::span<Index const> indices);

}  // namespace polyad
