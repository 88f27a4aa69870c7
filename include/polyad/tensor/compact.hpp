// SPDX-License-Identifier: BSD-3-Clause
// compact: renumbers the rows of long modes that are mostly empty, so that empty rows cost nothing.
//
//   auto const small = compact(space, X);
//   CpAlsOptions options{.rank = 16, .rows = small.rows};
//   auto const result = cp_als(space, small.tensor, options);   // result.model.rows are the original numbers
//
// Neither time nor memory depends on the extents, only on the nonzeros.
#pragma once

#include <Kokkos_Core.hpp>
#include <cstdint>
#include <span>
#include <vector>

#include "polyad/tensor/coo_tensor.hpp"
#include "polyad/tensor/factor_matrices.hpp"
#include "polyad/tensor/stored_rows.hpp"

namespace polyad {

/// Which modes are renumbered. This depends on the tensor alone, so every run on it makes the same choice.
struct CompactRule {
  count_t least_rows = 1'000'000;  // shorter modes stay
  double empty_share = 0.5;        // a mode is renumbered if more than this share of its rows is empty

  /// Whether a mode of which `occurring` rows occur is renumbered, if it is long enough.
  [[nodiscard]] bool is_empty_enough(count_t extent, count_t occurring) const {
    return static_cast<double>(extent - occurring) > empty_share * static_cast<double>(extent);
  }
};

template <class Tensor>
struct CompactTensor {
  /// A renumbered mode has as many rows as occur in it, in their old order. The values are shared with X.
  Tensor tensor;
  /// One for each mode; empty if no mode was renumbered, and `tensor` is then X itself.
  std::vector<StoredRows> rows;
};

/// Waits for `space`. \throws UsageError for a coordinate outside a mode that may be renumbered; MemoryError
template <class Scalar, class Index, class Space>
[[nodiscard]] CompactTensor<CooTensor<Scalar, Index, Space>> compact(Space const& space,
                                                                     CooTensor<Scalar, Index, Space> const& X,
                                                                     CompactRule const& rule = {});

/// The same in place, for coordinates P x N in host memory, of a tensor with these extents. Returns what
/// CompactTensor::rows is; compact_extents has the new extents.
/// \throws as compact
template <class Index>
[[nodiscard]] std::vector<StoredRows> compact_coordinates(std::span<Index> indices, Extents const& extents,
                                                          CompactRule const& rule = {});

/// The rows that are stored of each mode.
/// \throws UsageError unless `rows` is empty or has a list for each mode with these extents
[[nodiscard]] Extents compact_extents(Extents const& extents, std::vector<StoredRows> const& rows);

/// Throws UsageError unless `rows` is empty, or has as many rows of each mode as `stored` says.
void expect_stored_rows(std::vector<StoredRows> const& rows, Extents const& stored);

/// Maps a position to the number of its row, on the device.
template <class Space>
struct RowNumbers {
  Kokkos::View<count_t const*, typename Space::device_type> numbers;  // empty: all rows are stored
  [[nodiscard]] KOKKOS_FUNCTION count_t operator()(count_t position) const {
    return numbers.extent(0) == 0 ? position : numbers(position);
  }
};

/// Copies a list to the device. `rows` may have no lists, which means all rows of each mode.
/// Waits for `space`. \throws MemoryError
template <class Space>
[[nodiscard]] RowNumbers<Space> row_numbers(Space const& space, std::vector<StoredRows> const& rows, int n);

/// Fills the stored rows with the random numbers that fill_random gives them in a factor of all rows.
/// Waits for `space`. \throws UsageError unless the lists have the factors' rows; MemoryError
template <class Scalar, class Space>
void fill_random(Space const& space, FactorMatrices<Scalar, Space> const& factors,
                 std::vector<StoredRows> const& rows, std::uint64_t seed);

namespace detail {

/// The same for the factor of mode n. Waits for `space`.
template <class Scalar, class Space>
void fill_stored_rows(Space const& space, FactorMatrix<Scalar, Space> const& matrix,
                      std::vector<StoredRows> const& rows, std::uint64_t seed, int n);

/// Fills row i with the random numbers of row numbers[i] of mode n. Waits for `space`. \throws MemoryError
template <class Scalar, class Space>
void fill_numbered_rows(Space const& space, FactorMatrix<Scalar, Space> const& matrix,
                        std::vector<std::uint64_t> const& numbers, std::uint64_t seed, int n);

}  // namespace detail

/// The rows `to` of a factor that has the rows `from`, both of one mode. A row that `from` does not store is
/// zero. Waits for `space`.
/// \throws UsageError unless the factor has from.size() rows and the modes have the same extent; MemoryError
template <class Scalar, class Space>
[[nodiscard]] FactorMatrix<Scalar, Space> look_up_rows(Space const& space,
                                                       FactorMatrix<Scalar, Space> const& factor,
                                                       StoredRows const& from, StoredRows const& to);

}  // namespace polyad
