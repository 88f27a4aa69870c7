// SPDX-License-Identifier: BSD-3-Clause
// Factor matrices A^(n), I_n x R, row-major, with rows that start at multiples of 16 bytes.
#pragma once

#include <Kokkos_Core.hpp>
#include <array>
#include <string>
#include <vector>

#include "polyad/core/counter_rng.hpp"
#include "polyad/core/instances.hpp"
#include "polyad/core/per_mode.hpp"
#include "polyad/core/rank.hpp"
#include "polyad/core/spaces.hpp"
#include "polyad/core/types.hpp"

namespace polyad {

/// A^(n): I_n x R. The row stride may exceed R (see make_factor_matrix).
template <class Scalar, class Space>
using FactorMatrix = Kokkos::View<Scalar**, Kokkos::LayoutRight, typename Space::device_type>;

/// Allocates rows x R, zero, with the row stride padded so that kernels may use 16-byte packs.
/// \throws MemoryError before allocating when it does not fit
template <class Scalar, class Space>
FactorMatrix<Scalar, Space> make_factor_matrix(Space const& space, std::string const& label, count_t rows,
                                               count_t rank) {
  count_t const stride = padded_rank<Scalar>(rank);
  expect_fits(space, label, checked_product(label, rows, stride), sizeof(Scalar));
  Kokkos::View<Scalar**, Kokkos::LayoutRight, typename Space::device_type> storage(
      Kokkos::view_alloc(space, label), rows, stride);
  return Kokkos::subview(storage, Kokkos::ALL, Kokkos::make_pair(count_t(0), rank));
}

/// The same with rows that allow 16-byte packs for any R: one or two columns are padded too.
template <class Scalar, class Space>
FactorMatrix<Scalar, Space> make_packed_matrix(Space const& space, std::string const& label, count_t rows,
                                               count_t rank) {
  count_t const pack = row_alignment / sizeof(Scalar);
  auto const storage = make_factor_matrix<Scalar>(space, label, rows, ceil_div(rank, pack) * pack);
  return Kokkos::subview(storage, Kokkos::ALL, Kokkos::make_pair(count_t(0), rank));
}

/// The factor matrices of one model, one per mode; all have R columns.
template <class Scalar, class Space>
class FactorMatrices {
public:
  using matrix_type = FactorMatrix<Scalar, Space>;

  FactorMatrices() = default;

  /// Allocates I_n x R zeros for every mode.
  FactorMatrices(Space const& space, Extents const& extents, count_t rank)
      : m_order(extents.order()), m_rank(rank) {
    checked_rank(rank);
    for (int n = 0; n < m_order; ++n)
      (*this)[n] = make_factor_matrix<Scalar>(space, "polyad::factor_" + std::to_string(n), extents[n], rank);
  }

  [[nodiscard]] int order() const { return m_order; }
  [[nodiscard]] count_t rank() const { return m_rank; }
  [[nodiscard]] matrix_type& operator[](int n) { return of_mode(m_matrices, n); }
  [[nodiscard]] matrix_type const& operator[](int n) const { return of_mode(m_matrices, n); }

private:
  int m_order    = 0;
  count_t m_rank = 0;
  std::array<matrix_type, max_order> m_matrices;
};

/// Throws UsageError unless the factors have I_n rows each and R columns in common.
template <class Scalar, class Space>
void expect_factors(FactorMatrices<Scalar, Space> const& factors, Extents const& extents) {
  POLYAD_EXPECTS(factors.order() == extents.order(), factors.order(),
                 " factor matrices for a tensor of order ", extents.order());
  for (int n = 0; n < extents.order(); ++n)
    POLYAD_EXPECTS(factors[n].extent(0) == extents[n] && factors[n].extent(1) == factors.rank(),
                   "factor matrix ", n, " is ", factors[n].extent(0), " x ", factors[n].extent(1), ", not ",
                   extents[n], " x ", factors.rank());
}

namespace detail {

template <class Scalar, class Space>
struct FillRandom {
  FactorMatrix<Scalar, Space> matrix;
  std::uint64_t seed;
  std::uint64_t mode;
  KOKKOS_FUNCTION void operator()(count_t row) const {
    for (count_t r = 0; r < matrix.extent(1); ++r)
      matrix(row, r) = static_cast<Scalar>(counter_uniform(seed, mode, row, r));
  }
};

}  // namespace detail

/// Fills every factor with counter_uniform(seed, mode, row, column): the same bits on every backend.
template <class Scalar, class Space>
void fill_random(Space const& space, FactorMatrices<Scalar, Space> const& factors, std::uint64_t seed) {
  for (int n = 0; n < factors.order(); ++n)
    Kokkos::parallel_for(
        "polyad::fill_random",
        Kokkos::RangePolicy<Space, Kokkos::IndexType<count_t>>(space, 0, factors[n].extent(0)),
        detail::FillRandom<Scalar, Space>{factors[n], seed, static_cast<std::uint64_t>(n)});
}

/// Row-major copy of a matrix on the host, without padding. Waits for `space`.
template <class Scalar, class Space>
std::vector<double> to_host(Space const& space, FactorMatrix<Scalar, Space> const& matrix) {
  using Packed = Kokkos::View<Scalar**, Kokkos::LayoutRight, typename Space::device_type>;
  Packed packed(Kokkos::view_alloc(space, Kokkos::WithoutInitializing, "polyad::packed"), matrix.extent(0),
                matrix.extent(1));
  Kokkos::deep_copy(space, packed, matrix);
  auto const host = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), packed);
  space.fence("polyad::to_host");
  return std::vector<double>(host.data(), host.data() + host.size());
}

/// Fills a matrix from row-major host data of the same shape. Waits for `space`.
template <class Scalar, class Space>
void from_host(Space const& space, std::vector<double> const& data,
               FactorMatrix<Scalar, Space> const& matrix) {
  POLYAD_EXPECTS(data.size() == matrix.extent(0) * matrix.extent(1), data.size(), " numbers for a matrix of ",
                 matrix.extent(0), " x ", matrix.extent(1));
  using Packed = Kokkos::View<Scalar**, Kokkos::LayoutRight, typename Space::device_type>;
  Packed packed(Kokkos::view_alloc(space, Kokkos::WithoutInitializing, "polyad::packed"), matrix.extent(0),
                matrix.extent(1));
  auto const host = Kokkos::create_mirror_view(Kokkos::HostSpace(), packed);
  for (std::size_t i = 0; i < data.size(); ++i) host.data()[i] = static_cast<Scalar>(data[i]);
  Kokkos::deep_copy(space, packed, host);
  Kokkos::deep_copy(space, matrix, packed);
  space.fence("polyad::from_host");
}

#define POLYAD_MAKE_FACTOR_MATRIX(Scalar)                                                  \
  template FactorMatrix<Scalar, Kokkos::DefaultExecutionSpace> make_factor_matrix<Scalar>( \
      Kokkos::DefaultExecutionSpace const&, std::string const&, count_t, count_t)
POLYAD_EACH_SCALAR(extern, POLYAD_MAKE_FACTOR_MATRIX);
#define POLYAD_FILL_RANDOM(Scalar)                                \
  template void fill_random(Kokkos::DefaultExecutionSpace const&, \
                            FactorMatrices<Scalar, Kokkos::DefaultExecutionSpace> const&, std::uint64_t)
POLYAD_EACH_SCALAR(extern, POLYAD_FILL_RANDOM);
#define POLYAD_TO_HOST(Scalar)                                                       \
  template std::vector<double> to_host<Scalar>(Kokkos::DefaultExecutionSpace const&, \
                                               FactorMatrix<Scalar, Kokkos::DefaultExecutionSpace> const&)
POLYAD_EACH_SCALAR(extern, POLYAD_TO_HOST);
#define POLYAD_FROM_HOST(Scalar)                                                                    \
  template void from_host<Scalar>(Kokkos::DefaultExecutionSpace const&, std::vector<double> const&, \
                                  FactorMatrix<Scalar, Kokkos::DefaultExecutionSpace> const&)
POLYAD_EACH_SCALAR(extern, POLYAD_FROM_HOST);

}  // namespace polyad
