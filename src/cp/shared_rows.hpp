// SPDX-License-Identifier: BSD-3-Clause
// SharedRows: the communication of CP-ALS with other ranks. A rank holds the rows of a block of each mode.
// Ranks with the same block of a mode share these rows: each owns some of them, solves only for those, and
// receives the others. A run of one rank has a null pointer instead, so that it costs nothing.
#pragma once

#include <span>
#include <vector>

#include "polyad/tensor/factor_matrices.hpp"
#include "run/run_ranks.hpp"

namespace polyad::detail {

/// All ranks make the same calls in the same order. `n` is a mode, and A the rows of its factor that this
/// rank holds. Functions of matrices and of numbers on the device are enqueued by the communicator; the
/// others wait.
template <class Scalar, class Space>
class SharedRows : public RunRanks {
public:
  using Matrix = FactorMatrix<Scalar, Space>;

  /// I_n, P and ||X||^2, of the whole tensor.
  [[nodiscard]] virtual count_t rows(int n) const   = 0;
  [[nodiscard]] virtual count_t nnz() const         = 0;
  [[nodiscard]] virtual double norm_squared() const = 0;
  /// The rows of A that this rank owns.
  [[nodiscard]] virtual Matrix owned(int n, Matrix const& A) const = 0;
  /// The owned rows of V, summed over the ranks that share them. V is scratch afterwards.
  [[nodiscard]] virtual Matrix sum_rows(int n, Matrix const& V) = 0;
  /// A's other rows, from their owners.
  virtual void gather_rows(int n, Matrix const& A) = 0;
  /// Numbers on the device, summed over all ranks.
  virtual void sum(double* numbers, count_t count) = 0;
  /// The sums over all ranks of numbers in host memory, and the largest of all ranks: the same bits on all.
  virtual void sum_on_host(std::span<double> numbers) const = 0;
  [[nodiscard]] virtual double largest(double here) const   = 0;
  /// Rows `first` to first + count - 1 of the whole factor, row-major, on rank 0; nothing elsewhere.
  [[nodiscard]] virtual std::vector<double> rows_to_root(int n, Matrix const& A, count_t first,
                                                         count_t count) = 0;
  /// The reverse. `whole` is read on rank 0 only.
  virtual void from_root(int n, std::vector<double> const& whole, Matrix const& A) = 0;
};

/// The number of rows of each mode that this rank owns. \param ranks  null: it owns all
template <class Scalar, class Space>
[[nodiscard]] std::vector<count_t> owned_counts(FactorMatrices<Scalar, Space> const& factors,
                                                SharedRows<Scalar, Space> const* ranks) {
  std::vector<count_t> counts;
  for (int n = 0; n < factors.order(); ++n)
    counts.push_back((ranks ? ranks->owned(n, factors[n]) : factors[n]).extent(0));
  return counts;
}

}  // namespace polyad::detail
