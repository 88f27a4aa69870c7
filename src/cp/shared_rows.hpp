// SPDX-License-Identifier: BSD-3-Clause
// SharedRows: what CP-ALS asks of other ranks. A rank holds the rows of a block of each mode. Ranks whose
// blocks of a mode are the same share these rows: each owns some of them, solves for those alone, and gets
// the others. A run of one rank has none (a null pointer), so that it costs nothing.
#pragma once

#include <vector>

#include "polyad/tensor/factor_matrices.hpp"

namespace polyad::detail {

/// All ranks make the same calls in the same order. `n` is a mode, A its factor's rows that this rank holds.
/// What takes matrices or a device's numbers is enqueued as a communicator does it; the rest waits.
template <class Scalar, class Space>
class SharedRows {
public:
  using Matrix = FactorMatrix<Scalar, Space>;

  virtual ~SharedRows() = default;

  /// I_n, and ||X||^2, of the whole tensor.
  [[nodiscard]] virtual count_t rows(int n) const   = 0;
  [[nodiscard]] virtual double norm_squared() const = 0;
  /// The rows of A that this rank owns.
  [[nodiscard]] virtual Matrix owned(int n, Matrix const& A) const = 0;
  /// V's owned rows, summed over the ranks that share them; V is scratch afterwards.
  [[nodiscard]] virtual Matrix sum_rows(int n, Matrix const& V) = 0;
  /// A's other rows, from their owners.
  virtual void gather_rows(int n, Matrix const& A) = 0;
  /// Numbers on the device, summed over all ranks.
  virtual void sum(double* numbers, count_t count) = 0;
  /// Numbers in host memory: those of rank 0 for all.
  virtual void agree(double* numbers, count_t count) = 0;
  /// Whether it is so on any rank.
  [[nodiscard]] virtual bool any(bool here) = 0;
  /// The whole factor, row-major, on rank 0; nothing elsewhere.
  [[nodiscard]] virtual std::vector<double> to_root(int n, Matrix const& A) = 0;
  /// The reverse: `whole` is looked at on rank 0 alone.
  virtual void from_root(int n, std::vector<double> const& whole, Matrix const& A) = 0;
  [[nodiscard]] virtual bool is_root() const                                       = 0;
};

}  // namespace polyad::detail
