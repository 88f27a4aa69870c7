// SPDX-License-Identifier: BSD-3-Clause
// RowOwners: the communication of a run with other ranks, where each rank owns some rows of each mode and has
// all their nonzeros. FastTucker solves for the owned rows of A^(n) and forms those of C^(n). Tucker forms
// those of X times the factors, and of U^(n). A rank receives the other rows of C^(n) or U^(n). A run of one
// rank has a null pointer instead.
#pragma once

#include <Kokkos_Core.hpp>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "polyad/formats/any_format.hpp"
#include "polyad/tensor/coo_tensor.hpp"
#include "polyad/tensor/factor_matrices.hpp"

namespace polyad::detail {

/// All ranks make the same calls in the same order. `n` is a mode, and C a matrix with a row for each of the
/// mode. Functions of matrices and of numbers on the device are enqueued by the communicator; the others
/// wait.
template <class Scalar, class Space>
class RowOwners {
public:
  using Matrix = FactorMatrix<Scalar, Space>;

  virtual ~RowOwners() = default;

  /// The rows that this rank owns: the first one, and how many.
  [[nodiscard]] virtual count_t first_row(int n) const = 0;
  [[nodiscard]] virtual count_t rows(int n) const      = 0;
  [[nodiscard]] Matrix owned(int n, Matrix const& C) const {
    return Kokkos::subview(C, Kokkos::make_pair(first_row(n), first_row(n) + rows(n)), Kokkos::ALL);
  }
  /// C's other rows, from their owners.
  virtual void gather_rows(int n, Matrix const& C) = 0;
  /// Sums over all ranks, on the device.
  virtual void sum(Matrix const& numbers)                       = 0;
  virtual void sum(double* numbers, count_t count)              = 0;
  virtual void sum(std::uint64_t* numbers, count_t count) const = 0;
  /// The root's numbers on the device, for all.
  virtual void agree(Matrix const& numbers)          = 0;
  virtual void agree(double* numbers, count_t count) = 0;
  /// Sums over all ranks, in host memory: the same bits on all.
  virtual void sum_on_host(std::span<double> numbers) const                   = 0;
  [[nodiscard]] virtual std::uint64_t sum_on_host(std::uint64_t number) const = 0;
  [[nodiscard]] virtual double largest(double here) const                     = 0;
  /// Whether `here` is true on any rank.
  [[nodiscard]] virtual bool any(bool here) const = 0;

  [[nodiscard]] virtual bool is_root() const = 0;
  /// The root's numbers, for all.
  [[nodiscard]] virtual std::vector<double> from_root(std::vector<double> numbers) const = 0;
};

template <class Scalar, class Index, class Space>
class NonzeroOwners : public RowOwners<Scalar, Space> {
public:
  using Format = AnyFormat<Scalar, Index, Space>;
  using Tensor = CooTensor<Scalar, Index, Space>;

  /// For each mode the nonzeros of the owned rows, from all ranks. The owned rows count from 0 there, and are
  /// one if there are none. \param part  this rank's part of all nonzeros
  [[nodiscard]] virtual std::vector<Format> by_rows(Tensor const& part, AnyFormatOptions const& options) = 0;
  /// The parts of all ranks together on the root, and no nonzeros elsewhere.
  [[nodiscard]] virtual Tensor to_root(Tensor const& part) const = 0;
};

/// A run's tensor: all nonzeros in one format or, on several ranks, those of the owned rows, in a format a
/// mode.
template <class Scalar, class Index, class Space>
class DividedTensor {
public:
  using Format = AnyFormat<Scalar, Index, Space>;
  using Owners = std::shared_ptr<NonzeroOwners<Scalar, Index, Space>>;

  // NOLINTNEXTLINE(google-explicit-constructor)
  DividedTensor(Format X)
      : m_extents(X.extents()), m_nnz(X.nnz()), m_norm_squared(X.norm_squared()), m_formats{std::move(X)} {}
  /// Of a tensor of these extents, one format a mode. All ranks call it.
  DividedTensor(Extents const& extents, std::vector<Format> formats, Owners owners)
      : m_extents(extents), m_formats(std::move(formats)), m_owners(std::move(owners)) {
    // Each nonzero is in one rank's rows of mode 0.
    double sums[2] = {static_cast<double>(m_formats[0].nnz()), m_formats[0].norm_squared()};
    m_owners->sum_on_host(sums);
    m_nnz          = static_cast<count_t>(sums[0]);
    m_norm_squared = sums[1];
  }

  /// Of all ranks' nonzeros together.
  [[nodiscard]] Extents const& extents() const { return m_extents; }
  [[nodiscard]] count_t nnz() const { return m_nnz; }
  [[nodiscard]] double norm_squared() const { return m_norm_squared; }

  [[nodiscard]] std::vector<Format> const& formats() const { return m_formats; }
  [[nodiscard]] Format const& format(int n) const {
    return m_formats[m_owners ? static_cast<std::size_t>(n) : 0];
  }
  [[nodiscard]] std::string chosen() const { return m_formats[0].chosen(); }
  /// Null on one rank.
  [[nodiscard]] Owners const& owners() const { return m_owners; }

private:
  Extents m_extents;
  count_t m_nnz         = 0;
  double m_norm_squared = 0;
  std::vector<Format> m_formats;
  Owners m_owners;
};

}  // namespace polyad::detail
