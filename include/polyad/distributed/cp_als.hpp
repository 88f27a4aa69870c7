// SPDX-License-Identifier: BSD-3-Clause
// CP-ALS on many ranks: the driver of cp/cp_als.hpp on each rank's block of the tensor. It uses the
// medium-grained decomposition of Smith & Karypis, "A medium-grained algorithm for distributed sparse tensor
// factorization", IPDPS 2016, section IV (also GenTen, section 5).
//
//   auto const share  = distribute<double>(ranks, extents, indices, values, {.rank = 32});
//   auto const result = cp_als(ranks, share, {.rank = 32});   // the model is on rank 0
//
// The ranks form a grid p_0 x ... x p_{N-1}. Mode n is cut into p_n ranges of rows. A rank has the nonzeros
// of one range of each mode. The P / p_n ranks with the same range of mode n own its rows together. For each
// mode a rank multiplies its block. A reduce-scatter among those ranks gives each the sums of the rows that
// it owns. It solves for these rows and sends them to the others (all-gather). All ranks add up one R x R
// matrix a mode. docs/distributed.md has the number of words sent.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "polyad/core/instances.hpp"
#include "polyad/cp/cp_als.hpp"
#include "polyad/distributed/communicator.hpp"
#include "polyad/fast_tucker/fast_tucker.hpp"
#include "polyad/formats/any_format.hpp"
#include "polyad/tensor/coo_tensor.hpp"

namespace polyad {

/// p_0, ..., p_{N-1}, whose product is the number of ranks. Rank (c_0, ..., c_{N-1}) is numbered row-major.
using ProcessGrid = std::vector<int>;

/// Elements that all ranks together send for the rows in an iteration, divided by R: the sum over the modes n
/// of 2 (P / p_n - 1) I_n.
[[nodiscard]] double words_of_grid(Extents const& extents, ProcessGrid const& grid);

/// The grid that sends least. If several do, the one whose blocks have the fewest rows in total.
/// \throws UsageError when ranks < 1
[[nodiscard]] ProcessGrid cheapest_grid(Extents const& extents, int ranks);

/// Cuts a mode into `parts` ranges of rows with about as many nonzeros each. nonzeros[i] are those of row i.
/// Returns parts + 1 rows, from 0 to the last; ranges may be empty.
[[nodiscard]] std::vector<count_t> balanced_cuts(std::span<count_t const> nonzeros, int parts);

struct PartitionOptions {
  ProcessGrid grid = {};  // empty: cheapest_grid
  count_t rank     = 16;  // R, for the memory that a rank needs
};

/// Largest over mean of all ranks: 1 is perfect.
struct Imbalance {
  double nonzeros = 1;
  double rows     = 1;  // of all modes' ranges
  double bytes    = 1;  // of nonzeros, factors and MTTKRPs
};

/// The rows of each mode that the ranks have. The same on all ranks except for `rank`.
struct Partition {
  Extents extents;  // of the whole tensor
  ProcessGrid grid;
  std::vector<std::vector<count_t>> cuts;  // of each mode: p_n + 1 rows
  int rank = 0;

  [[nodiscard]] int ranks() const;
  /// c_n of a rank.
  [[nodiscard]] int block_of(int rank, int n) const;
  /// The rows of mode n that a rank has: the first one, and how many.
  [[nodiscard]] count_t first_row(int rank, int n) const;
  [[nodiscard]] count_t row_count(int rank, int n) const;
  /// P / p_n, and a rank's number among those that share its rows of mode n.
  [[nodiscard]] int sharers(int n) const;
  [[nodiscard]] int number_among_sharers(int rank, int n) const;
  /// How many rows each of those owns, in their order.
  [[nodiscard]] std::vector<count_t> owned_rows(int rank, int n) const;
  /// The first row of mode n that a rank owns.
  [[nodiscard]] count_t first_owned_row(int rank, int n) const;
};

/// A rank's share of a tensor.
template <class Scalar, class Index, class Space>
struct TensorShare {
  Partition partition;
  /// Coordinates count from the first rows of the rank's ranges, and its extents are the ranges' lengths. An
  /// empty range counts as one row without nonzeros.
  CooTensor<Scalar, Index, Space> block;
  /// Of the whole tensor, its duplicates summed.
  count_t nnz         = 0;
  count_t duplicates  = 0;
  double norm_squared = 0;
  Imbalance imbalance;
};

/// Sends each nonzero to the rank whose block contains it, and sums duplicates. Each rank passes some of the
/// nonzeros: one rank may pass all, or each a part. Waits. All ranks throw alike, except for errors of a
/// rank's own allocations.
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

/// One run, an iteration at a time, as CpAlsRun describes. All ranks call its functions together. If a
/// callback returns false on one rank, the run ends on all. On rank 0 state() has the whole factors,
/// elsewhere empty ones; the rest is the same on all. A state may be restored on another number of ranks. On
/// rank 0 take_result() has the model, which must fit its memory; elsewhere the model is empty.
/// \param X  share.block in any format; formats may differ from rank to rank
template <class Scalar, class Index, class Space>
[[nodiscard]] CpAlsRun<Scalar, Space> cp_als_run(Communicator<Space> const& ranks,
                                                 TensorShare<Scalar, Index, Space> const& share,
                                                 AnyFormat<Scalar, Index, Space> const& X,
                                                 CpAlsOptions const& options);

/// Runs to the end, from the random start of options.seed, which does not depend on the number of ranks. All
/// ranks get the same history and fit, and rank 0 gets the model. Waits.
/// \throws as cp_als of one rank; where one rank alone throws, the others wait for it: end the job
template <class Scalar, class Index, class Space>
CpAlsResult<Scalar, Space> cp_als(Communicator<Space> const& ranks,
                                  TensorShare<Scalar, Index, Space> const& share,
                                  AnyFormat<Scalar, Index, Space> const& X, CpAlsOptions const& options,
                                  CpAlsCallback const& callback = {}) {
  auto run = cp_als_run(ranks, share, X, options);
  while (run.is_running()) {
    run.launch();
    run.finish(callback);
  }
  return run.take_result();
}

/// The same, in the format that any_format chooses for the block.
template <class Scalar, class Index, class Space>
CpAlsResult<Scalar, Space> cp_als(Communicator<Space> const& ranks,
                                  TensorShare<Scalar, Index, Space> const& share, CpAlsOptions const& options,
                                  CpAlsCallback const& callback = {}) {
  return cp_als(ranks, share, any_format(ranks.space(), share.block, format_options(options)), options,
                callback);
}

/// `count` runs, one after the other, from the random starts of cp_als_restarts on one rank. All ranks get
/// the runs' fits, and rank 0 the best model. The callback also gets the run's number.
/// \throws as cp_als; UsageError when count < 1
template <class Scalar, class Index, class Space>
[[nodiscard]] RestartsResult<Scalar, Space> cp_als_restarts(Communicator<Space> const& ranks,
                                                            TensorShare<Scalar, Index, Space> const& share,
                                                            AnyFormat<Scalar, Index, Space> const& X,
                                                            CpAlsOptions const& options, int count,
                                                            RestartsCallback const& callback = {});

template <class Scalar, class Space>
struct FastTuckerOfRanks : FastTuckerResult<Scalar, Space> {
  Imbalance imbalance;  // of observations, rows and bytes
};

/// FastTucker's als. Each rank owns a range of rows of every mode, with about as many observations as others.
/// It has all of these, in a format a mode, and solves for its rows of A^(n). It sends its rows of C^(n) to
/// all (all-gather). All ranks get the same result, but only rank 0 the model, which must fit its memory. If
/// a callback returns false on one rank, the run ends on all. Rank 0 alone searches, if the options leave
/// something to choose. It gets the entries that choose_fast_tucker takes; the choice then has no start.
/// \param parts  some of the entries of each set, which all ranks together have once; whole extents
/// \throws as fast_tucker; UsageError for other optimisers
template <class Scalar, class Index, class Space>
FastTuckerOfRanks<Scalar, Space> fast_tucker(Communicator<Space> const& ranks,
                                             FastTuckerData<Scalar, Index, Space> const& parts,
                                             FastTuckerOptions const& options,
                                             FastTuckerCallback const& callback = {},
                                             AnyFormatOptions const& format     = {});

}  // namespace polyad
