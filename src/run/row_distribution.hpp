// SPDX-License-Identifier: BSD-3-Clause
// RowDistribution: how the rows of a tensor's modes are divided among ranks. The class itself is the form of
// one rank, which owns all rows: it exchanges and copies nothing. The other forms are in src/distributed.
#pragma once

#include <Kokkos_Core.hpp>
#include <cstdint>
#include <vector>

#include "core/phase_timer.hpp"
#include "polyad/core/types.hpp"
#include "polyad/formats/any_format.hpp"
#include "polyad/formats/tensor_by_rank.hpp"
#include "polyad/tensor/compact.hpp"
#include "polyad/tensor/coo_tensor.hpp"
#include "polyad/tensor/factor_matrices.hpp"
#include "run/run_ranks.hpp"

namespace polyad::detail {

/// A rank holds some rows of each mode, or all, and owns some of these. `n` is a mode, and A a matrix with
/// the rows that this rank holds. Functions of matrices and of numbers on the device are enqueued on the
/// space; the others wait.
template <class Scalar, class Space>
class RowDistribution : public RunRanks {
public:
  using Matrix = FactorMatrix<Scalar, Space>;

  /// \param extents  those of the whole tensor
  RowDistribution(Space const& space, Extents const& extents) : m_space(space), m_extents(extents) {}

  [[nodiscard]] Space const& space() const { return m_space; }
  [[nodiscard]] Extents const& extents() const { return m_extents; }
  /// The rows that this rank owns: the first one, and how many.
  [[nodiscard]] virtual count_t first_row(int /*n*/) const { return 0; }
  [[nodiscard]] virtual count_t rows(int n) const { return m_extents[n]; }
  [[nodiscard]] virtual Matrix owned(int /*n*/, Matrix const& A) const { return A; }
  /// A matrix for products of the held rows, which sum_rows accepts.
  [[nodiscard]] virtual Matrix make_output(char const* label, count_t rows, count_t columns) {
    return make_output_matrix<Scalar>(m_space, label, rows, columns);
  }
  /// The owned rows of V, summed over the ranks that hold them. V is scratch afterwards.
  [[nodiscard]] virtual Matrix sum_rows(int /*n*/, Matrix const& V) { return V; }
  /// Gets A's other rows from their owners.
  virtual void gather_rows(int /*n*/, Matrix const& /*A*/) const {}
  /// Sums over all ranks, on the device.
  virtual void sum(double* /*numbers*/, count_t /*count*/) const {}
  virtual void sum(std::uint64_t* /*numbers*/, count_t /*count*/) const {}
  virtual void sum(Matrix const& /*numbers*/) const {}
  /// Replaces numbers on the device by those of the first rank.
  using RunRanks::broadcast_from_root;
  virtual void broadcast_from_root(Matrix const& /*numbers*/) const {}
  virtual void broadcast_on_device(double* /*numbers*/, count_t /*count*/) const {}

  /// Fills A with the random start of the whole factor, whatever the distribution. Returns A's rows that the
  /// tensor has. \param stored  the rows that the whole tensor stores (CpAlsOptions::rows)
  virtual Matrix fill_random(Space const& space, int n, Matrix const& A,
                             std::vector<StoredRows> const& stored, std::uint64_t seed) const {
    fill_stored_rows<Scalar, Space>(space, A, stored, seed, n);
    return A;
  }
  /// Rows `first` to first + count - 1 of the whole factor, row-major, on the first rank; nothing elsewhere.
  [[nodiscard]] virtual std::vector<double> rows_to_root(int /*n*/, Matrix const& A, count_t first,
                                                         count_t count) const {
    auto const rows = Kokkos::make_pair(first, first + count);
    return to_host<Scalar>(m_space, Matrix(Kokkos::subview(A, rows, Kokkos::ALL)));
  }
  /// The reverse, for all rows. `whole` is read on the first rank only. \throws UsageError on all ranks
  virtual void from_root(int /*n*/, std::vector<double> const& whole, Matrix const& A) const {
    from_host<Scalar>(m_space, whole, A);
  }
  /// The whole factor on the first rank, and nothing elsewhere. Releases A.
  [[nodiscard]] virtual Matrix whole_on_root(int /*n*/, Matrix& A) const { return A; }
  /// The reverse: this rank's rows of the factor `whole` of the first rank, which is released.
  [[nodiscard]] virtual Matrix held_of_root(int /*n*/, Matrix& whole, count_t /*columns*/) const {
    return whole;
  }

  /// The phases of this timer are those in which ranks wait: reduce_scatter, all_gather and all_reduce.
  void time_by(PhaseTimer* timer) { m_timer = timer; }

protected:
  template <class Work>
  void timed(char const* phase, Work const& work) const {
    if (m_timer == nullptr) return work();
    (*m_timer)(m_space, phase, work);
  }

private:
  Space m_space;
  Extents m_extents;
  PhaseTimer* m_timer = nullptr;
};

/// The same for a driver that divides nonzeros itself.
template <class Scalar, class Index, class Space>
class NonzeroDistribution : public RowDistribution<Scalar, Space> {
public:
  using Format = AnyFormat<Scalar, Space>;
  using Tensor = CooTensor<Scalar, Index, Space>;
  using RowDistribution<Scalar, Space>::RowDistribution;

  /// The nonzeros of the owned rows, in one format for all modes or in one for each. In the latter the owned
  /// rows count from 0; if there are none, the format has one. \param part  this rank's part of all nonzeros
  [[nodiscard]] virtual std::vector<Format> by_rows(Tensor const& part, AnyFormatOptions const& options) {
    return {any_format(this->space(), part, options)};
  }
  /// The imbalance that resulted from the last by_rows.
  [[nodiscard]] virtual Imbalance imbalance() const { return {}; }
  /// Brings this rank's part of a set, which is on the device or in host memory, to the owners of its rows.
  /// One rank keeps it where it is.
  virtual void deal(Tensor& /*set*/, CooTensor<Scalar, Index, HostOf<Space>>& /*on_host*/) const {}
  /// The parts of all ranks together on the first one, and no nonzeros elsewhere.
  [[nodiscard]] virtual Tensor to_root(Tensor const& part) const { return part; }
};

}  // namespace polyad::detail
