// SPDX-License-Identifier: BSD-3-Clause
// Factor matrices A^(n), I_n x R, row-major. Their rows are packed: each starts at a multiple of 16 bytes and
// is padded to whole 16 bytes, on a host mostly to more (padded_rank). Kernels on a device accept only packed
// rows; those on a host accept any stride.
#pragma once

#include <Kokkos_Core.hpp>
#include <array>
#include <string>
#include <vector>

#include "polyad/core/counter_rng.hpp"
#include "polyad/core/instances.hpp"
#include "polyad/core/rank.hpp"
#include "polyad/core/spaces.hpp"
#include "polyad/core/types.hpp"

namespace polyad {

/// A^(n): I_n x R, row-major. The row stride may exceed R: make_factor_matrix makes packed rows.
template <class Scalar, class Space>
using FactorMatrix = Kokkos::View<Scalar**, Kokkos::LayoutRight, typename Space::device_type>;

namespace detail {

/// Zeroes the rows of a matrix, whose padding keeps its numbers: 16 bytes for each call, except for the last
/// ones of a row.
template <class Scalar>
struct ZeroRows {
  static constexpr count_t width = row_alignment / sizeof(Scalar);
  struct alignas(row_alignment) Zeros {
    Scalar numbers[width];
  };

  Scalar* data;
  count_t stride, rank, in_row;  // in_row: calls

  KOKKOS_FUNCTION void operator()(count_t e) const {
    count_t const row = e / in_row, column = (e - row * in_row) * width;
    Scalar* const at = data + row * stride + column;
    if (column + width <= rank)
      *reinterpret_cast<Zeros*>(at) = Zeros{};
    else
      for (count_t c = 0; column + c < rank; ++c) at[c] = Scalar(0);
  }
};

/// Asks the system for huge pages in a host's array that nothing has touched yet. Rows that are read in
/// random order then miss the TLB less often.
void advise_huge_pages(void* memory, std::size_t bytes) noexcept;

// Compiled once: Kokkos::deep_copy costs up to two seconds of compile time in each source that calls it.

/// matrix = 0. Does not wait.
template <class Scalar, class Space>
void zero_matrix(Space const& space, FactorMatrix<Scalar, Space> const& matrix) {
  // Kokkos fills rows with gaps element by element: 0.1 to 0.3 TB/s on an H200 for R = 5, 25 or 50.
  if constexpr (takes_packed_rows<Space>) {
    count_t const rank = matrix.extent(1), stride = matrix.stride(0);
    if (stride != rank && rows_are_aligned(matrix.data(), stride, rank)) {
      count_t const in_row = ceil_div(rank, ZeroRows<Scalar>::width);
      return Kokkos::parallel_for(
          "polyad::zero_matrix",
          Kokkos::RangePolicy<Space, Kokkos::IndexType<count_t>>(space, 0, matrix.extent(0) * in_row),
          ZeroRows<Scalar>{matrix.data(), stride, rank, in_row});
    }
  }
  Kokkos::deep_copy(space, matrix, Scalar(0));
}

/// to = from, of the same shape. Does not wait.
template <class Scalar, class Space>
void copy_matrix(Space const& space, FactorMatrix<Scalar, Space> const& to,
                 FactorMatrix<Scalar, Space> const& from) {
  Kokkos::deep_copy(space, to, from);
}

#define POLYAD_ZERO_MATRIX(Scalar) \
  template void zero_matrix(CompiledSpace const&, FactorMatrix<Scalar, CompiledSpace> const&)
POLYAD_EACH_SCALAR(extern, POLYAD_ZERO_MATRIX);
#define POLYAD_COPY_MATRIX(Scalar)                                                            \
  template void copy_matrix(CompiledSpace const&, FactorMatrix<Scalar, CompiledSpace> const&, \
                            FactorMatrix<Scalar, CompiledSpace> const&)
POLYAD_EACH_SCALAR(extern, POLYAD_COPY_MATRIX);

}  // namespace detail

/// Allocates rows x R, zero, with packed rows: the stride is padded_rank, so that a device's kernels read 16
/// bytes at once, and a host's kernels no more cache lines than they must. A single column of floats thus
/// takes four times its memory. A host's matrices are in huge pages if the system has them. Does not wait.
/// \throws MemoryError before allocating when it does not fit
template <class Scalar, class Space>
[[nodiscard]] FactorMatrix<Scalar, Space> make_factor_matrix(Space const& space, std::string const& label,
                                                             count_t rows, count_t rank) {
  count_t const stride = padded_rank<Scalar>(rank);
  expect_fits(space, label, checked_product(label, rows, stride), sizeof(Scalar));
  FactorMatrix<Scalar, Space> const storage(uninitialized(space, label), rows, stride);
  if constexpr (!takes_packed_rows<Space>)
    detail::advise_huge_pages(storage.data(), storage.size() * sizeof(Scalar));
  detail::zero_matrix(space, storage);
  return Kokkos::subview(storage, Kokkos::ALL, Kokkos::make_pair(count_t(0), rank));
}

/// The same for an output that a walk over nonzeros adds to. On a host its rows start at multiples of 64
/// bytes and are padded to whole 64 bytes. A walk then reads and writes full registers whatever R is. Other
/// matrices also work, but unless R is a multiple of 8, `alto` takes up to twice as long with them. Does not
/// wait.
/// \throws MemoryError before allocating when it does not fit
template <class Scalar, class Space>
[[nodiscard]] FactorMatrix<Scalar, Space> make_output_matrix(Space const& space, std::string const& label,
                                                             count_t rows, count_t rank) {
  auto const storage = make_factor_matrix<Scalar>(space, label, rows, output_columns<Scalar, Space>(rank));
  return Kokkos::subview(storage, Kokkos::ALL, Kokkos::make_pair(count_t(0), rank));
}

/// Whether kernels on Space accept the rows of this matrix.
template <class Scalar, class Space>
[[nodiscard]] bool rows_are_packed(FactorMatrix<Scalar, Space> const& matrix) {
  return !takes_packed_rows<Space> || rows_are_aligned(matrix.data(), matrix.stride(0), matrix.extent(1));
}

/// Throws UsageError unless kernels on Space accept the rows of this matrix.
template <class Scalar, class Space>
void expect_packed_rows(FactorMatrix<Scalar, Space> const& matrix) {
  POLYAD_EXPECTS((rows_are_packed<Scalar, Space>(matrix)), "the rows of ", matrix.label(),
                 " are not packed (make_factor_matrix)");
}

/// The matrix itself if its rows are packed, otherwise a copy with packed rows. Does not wait.
/// \throws MemoryError
template <class Scalar, class Space>
[[nodiscard]] FactorMatrix<Scalar, Space> with_packed_rows(Space const& space,
                                                           FactorMatrix<Scalar, Space> const& matrix) {
  if (rows_are_packed<Scalar, Space>(matrix)) return matrix;
  auto const copy =
      make_factor_matrix<Scalar>(space, "polyad::packed_rows", matrix.extent(0), matrix.extent(1));
  detail::copy_matrix(space, copy, matrix);
  return copy;
}

/// The factor matrices of one model, one per mode; all have R columns.
template <class Scalar, class Space>
class FactorMatrices {
public:
  using matrix_type = FactorMatrix<Scalar, Space>;

  FactorMatrices() = default;

  /// Allocates I_n x R zeros for every mode, packed. \throws UsageError unless 1 <= R <= largest_rank;
  /// MemoryError
  FactorMatrices(Space const& space, Extents const& extents, count_t rank)
      : m_order(extents.order()), m_rank(rank) {
    checked_rank(rank);
    for (int n = 0; n < m_order; ++n)
      (*this)[n] = make_factor_matrix<Scalar>(space, "polyad::factor_" + std::to_string(n), extents[n], rank);
  }

  [[nodiscard]] int order() const { return m_order; }
  [[nodiscard]] count_t rank() const { return m_rank; }
  template <std::integral Mode>
  [[nodiscard]] matrix_type& operator[](Mode n) {
    return m_matrices[n];
  }
  template <std::integral Mode>
  [[nodiscard]] matrix_type const& operator[](Mode n) const {
    return m_matrices[n];
  }

private:
  int m_order    = 0;
  count_t m_rank = 0;
  std::array<matrix_type, max_order> m_matrices;
};

/// The same for all factors: those that are not packed are copied. Does not wait. \throws MemoryError
template <class Scalar, class Space>
[[nodiscard]] FactorMatrices<Scalar, Space> with_packed_rows(Space const& space,
                                                             FactorMatrices<Scalar, Space> factors) {
  for (int n = 0; n < factors.order(); ++n) factors[n] = with_packed_rows<Scalar, Space>(space, factors[n]);
  return factors;
}

namespace detail {

template <class Scalar, class Space>
[[nodiscard]] bool rows_are_packed(FactorMatrices<Scalar, Space> const& factors) {
  bool packed = true;
  for (int n = 0; n < factors.order(); ++n)
    packed = packed && polyad::rows_are_packed<Scalar, Space>(factors[n]);
  return packed;
}

/// Calls f(factors, V) with packed rows, as its kernels require. If some rows are not packed, f gets copies,
/// V is filled from its copy, and the call waits for `space`.
template <class Scalar, class Space, class F>
void on_packed_rows(Space const& space, FactorMatrices<Scalar, Space> const& factors,
                    FactorMatrix<Scalar, Space> const& V, F const& f) {
  bool const output_is_packed = polyad::rows_are_packed<Scalar, Space>(V);
  if (output_is_packed && rows_are_packed(factors)) return f(factors, V);
  auto const copy = with_packed_rows<Scalar, Space>(space, V);
  f(with_packed_rows(space, factors), copy);
  if (!output_is_packed) copy_matrix(space, V, copy);
  space.fence("polyad::packed_rows");
}

}  // namespace detail

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
  std::uint64_t seed, mode;
  count_t first = 0;  // the matrix' first row in its mode
  KOKKOS_FUNCTION void operator()(count_t row) const {
    for (count_t r = 0; r < matrix.extent(1); ++r)
      matrix(row, r) = static_cast<Scalar>(counter_uniform(seed, mode, first + row, r));
  }
};

/// matrix(i, r) = counter_uniform(seed, mode, first + i, r): a rank's rows equal those of the whole factor.
template <class Scalar, class Space>
void fill_random_rows(Space const& space, FactorMatrix<Scalar, Space> const& matrix, std::uint64_t seed,
                      int mode, count_t first = 0) {
  Kokkos::parallel_for("polyad::fill_random",
                       Kokkos::RangePolicy<Space, Kokkos::IndexType<count_t>>(space, 0, matrix.extent(0)),
                       FillRandom<Scalar, Space>{matrix, seed, static_cast<std::uint64_t>(mode), first});
}

}  // namespace detail

/// Fills every factor with counter_uniform(seed, mode, row, column), numbers in [0, 1) rounded to Scalar: the
/// same bits on every backend. Launches on `space` and returns without waiting.
template <class Scalar, class Space>
void fill_random(Space const& space, FactorMatrices<Scalar, Space> const& factors, std::uint64_t seed) {
  for (int n = 0; n < factors.order(); ++n) detail::fill_random_rows(space, factors[n], seed, n);
}

namespace detail {

/// Whether the host can read and write the matrices of this space where they are.
template <class Space>
inline constexpr bool host_reaches_matrices =
    Kokkos::SpaceAccessibility<Kokkos::DefaultHostExecutionSpace, typename Space::memory_space>::accessible;

/// A matrix on the device without padding, which one copy sends to the host or from it.
template <class Scalar, class Space>
auto make_unpadded(Space const& space, FactorMatrix<Scalar, Space> const& matrix) {
  return Kokkos::View<Scalar**, Kokkos::LayoutRight, typename Space::device_type>(
      uninitialized(space, "polyad::unpadded"), matrix.extent(0), matrix.extent(1));
}

}  // namespace detail

/// Row-major copy of a matrix on the host, contiguous, without padding. Waits for `space`.
template <class Scalar, class Space>
[[nodiscard]] std::vector<double> to_host(Space const& space, FactorMatrix<Scalar, Space> const& matrix) {
  if constexpr (detail::host_reaches_matrices<Space>) {
    space.fence("polyad::to_host");
    std::vector<double> data;
    data.reserve(matrix.extent(0) * matrix.extent(1));
    for (count_t k = 0; k < matrix.extent(0); ++k)
      for (count_t r = 0; r < matrix.extent(1); ++r) data.push_back(static_cast<double>(matrix(k, r)));
    return data;
  } else {
    auto const unpadded = detail::make_unpadded<Scalar>(space, matrix);
    Kokkos::deep_copy(space, unpadded, matrix);
    auto const host = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), unpadded);
    space.fence("polyad::to_host");
    return std::vector<double>(host.data(), host.data() + host.size());
  }
}

/// Fills a matrix from contiguous row-major host data of the same shape. Waits for `space`.
/// \throws UsageError when the number of elements differs
template <class Scalar, class Space>
void from_host(Space const& space, std::vector<double> const& data,
               FactorMatrix<Scalar, Space> const& matrix) {
  POLYAD_EXPECTS(data.size() == matrix.extent(0) * matrix.extent(1), data.size(), " numbers for a matrix of ",
                 matrix.extent(0), " x ", matrix.extent(1));
  if constexpr (detail::host_reaches_matrices<Space>) {
    space.fence("polyad::from_host");
    for (count_t k = 0; k < matrix.extent(0); ++k)
      for (count_t r = 0; r < matrix.extent(1); ++r)
        matrix(k, r) = static_cast<Scalar>(data[k * matrix.extent(1) + r]);
  } else {
    auto const unpadded = detail::make_unpadded<Scalar>(space, matrix);
    auto const host     = Kokkos::create_mirror_view(Kokkos::HostSpace(), unpadded);
    for (std::size_t i = 0; i < data.size(); ++i) host.data()[i] = static_cast<Scalar>(data[i]);
    Kokkos::deep_copy(space, unpadded, host);
    Kokkos::deep_copy(space, matrix, unpadded);
    space.fence("polyad::from_host");
  }
}

#define POLYAD_MAKE_FACTOR_MATRIX(Scalar)                                  \
  template FactorMatrix<Scalar, CompiledSpace> make_factor_matrix<Scalar>( \
      CompiledSpace const&, std::string const&, count_t, count_t)
POLYAD_EACH_SCALAR(extern, POLYAD_MAKE_FACTOR_MATRIX);
#define POLYAD_FILL_RANDOM(Scalar) \
  template void fill_random(CompiledSpace const&, FactorMatrices<Scalar, CompiledSpace> const&, std::uint64_t)
POLYAD_EACH_SCALAR(extern, POLYAD_FILL_RANDOM);
#define POLYAD_TO_HOST(Scalar)                                       \
  template std::vector<double> to_host<Scalar>(CompiledSpace const&, \
                                               FactorMatrix<Scalar, CompiledSpace> const&)
POLYAD_EACH_SCALAR(extern, POLYAD_TO_HOST);
#define POLYAD_FROM_HOST(Scalar)                                                    \
  template void from_host<Scalar>(CompiledSpace const&, std::vector<double> const&, \
                                  FactorMatrix<Scalar, CompiledSpace> const&)
POLYAD_EACH_SCALAR(extern, POLYAD_FROM_HOST);

}  // namespace polyad
