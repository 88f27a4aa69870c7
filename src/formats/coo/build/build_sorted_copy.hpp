// SPDX-License-Identifier: BSD-3-Clause
// Building a SortedCopy: N stable sorts, and the counts that decide how to walk it.
#pragma once

#include <Kokkos_Core.hpp>
#include <algorithm>
#include <limits>

#include "formats/coo/costs/sorted_tuning.hpp"
#include "formats/coo/storage/sorted.hpp"
#include "formats/coo/storage/sorted_copy.hpp"
#include "formats/walks/cleared_rows.hpp"
#include "polyad/tensor/coo_tensor.hpp"
#include "polyad/tensor/sort_by_mode.hpp"

namespace polyad::detail {

template <class Tensor, class Copy, class Permutation>
struct GatherSorted {
  typename Tensor::indices_type indices;
  typename Tensor::values_type values;
  Permutation permutation;
  Copy copy;
  KOKKOS_FUNCTION void operator()(count_t i) const {
    count_t const p = permutation(i);
    for (count_t m = 0; m < copy.indices.extent(0); ++m) copy.indices(m, i) = indices(p, copy.modes[m]);
    copy.values(i) = values(p);
  }
};

/// Counts the runs of equal indices of the first `count` modes.
template <class Indices>
struct CountRuns {
  Indices indices;
  int count;
  KOKKOS_FUNCTION void operator()(count_t i, count_t& runs) const {
    bool starts = i == 0;
    for (int m = 0; m < count && !starts; ++m) starts = indices(m, i) != indices(m, i - 1);
    if (starts) ++runs;
  }
};

/// Counts the chunks whose first row continues for more than `length` nonzeros.
template <class Indices>
struct CountLongRows {
  Indices indices;
  count_t chunk;
  count_t length;
  KOKKOS_FUNCTION void operator()(count_t i, count_t& found) const {
    if (indices(0, i * chunk) == indices(0, i * chunk + length)) ++found;
  }
};

/// Whether a row is so long that its borders must be merged.
template <class Tuning, class Space, class Indices>
bool has_drowning_row(Tuning const& tuning, Space const& space, Indices const& indices, count_t chunk) {
  count_t const length = tuning.drowning_row(chunk);
  if (length == 0) return false;
  count_t found = 0;
  Kokkos::parallel_reduce(
      "polyad::count_long_rows",
      Kokkos::RangePolicy<Space, Kokkos::IndexType<count_t>>(space, 0, (tuning.nnz - length - 1) / chunk + 1),
      CountLongRows<Indices>{indices, chunk, length}, found);
  return found > 0;
}

/// The locality block of a nonzero of a copy.
template <class Indices, class Keys>
struct BlockKeys {
  Indices indices;
  Keys keys;
  count_t block_rows;
  KOKKOS_FUNCTION void operator()(count_t i) const {
    keys(i) = static_cast<std::uint32_t>(indices(1, i) / block_rows);
  }
};

/// Flags the rows that a single chunk writes whole, with a plain store. With `all` it flags every row that
/// occurs.
template <class Indices, class Flags>
struct FlagStoredRows {
  Indices indices;
  Flags flags;
  count_t nnz;
  count_t chunk;
  bool all;
  KOKKOS_FUNCTION void operator()(count_t i) const {
    auto const row = indices(0, i);
    if (i > 0 && indices(0, i - 1) == row) return;
    count_t const last  = Kokkos::min(nnz, (i / chunk + 1) * chunk) - 1;  // the last of the chunk
    bool const interior = i % chunk != 0 && indices(0, last) != row;
    if (all || interior) flags(row) = 1;
  }
};

/// The modes in the order of a copy: the output mode, then the others from the shortest on.
inline Kokkos::Array<int, max_order> sorted_modes(Extents const& extents, int mode) {
  Kokkos::Array<int, max_order> modes{};
  modes[0]        = mode;
  std::size_t end = 1;
  for (int n = 0; n < extents.order(); ++n)
    if (n != mode) modes[end++] = n;
  std::stable_sort(modes.data() + 1, modes.data() + end,
                   [&](int a, int b) { return extents[a] < extents[b]; });
  return modes;
}

/// Sorts and copies the tensor for one output mode. Linear in the nonzeros; waits for `space`.
/// \param duplicates  gets the number of nonzeros that have the coordinates of an earlier one; may be null
/// \throws MemoryError naming the array and its bytes
template <class Scalar, class Index, class Space>
SortedCopy<Scalar, Index, Space> make_sorted_copy(Space const& space,
                                                  CooTensor<Scalar, Index, Space> const& coo, int mode,
                                                  SortedOptions const& options,
                                                  count_t* duplicates = nullptr) {
  using Tensor         = CooTensor<Scalar, Index, Space>;
  using Copy           = SortedCopy<Scalar, Index, Space>;
  using Range          = Kokkos::RangePolicy<Space, Kokkos::IndexType<count_t>>;
  using Flags          = RowFlags<Space>;
  int const order      = coo.order();
  count_t const nnz    = coo.nnz();
  count_t const stored = Copy::padded(nnz);
  auto const extents   = coo.extents();

  Copy copy;
  copy.nnz   = nnz;
  copy.modes = sorted_modes(extents, mode);

  // Even a tensor of few nonzeros may have a mode that is too long for one flag per row.
  expect_fits(space, "the flags of a mode's rows", extents[mode], sizeof(typename Flags::value_type));
  expect_fits(space, "a sorted copy of the nonzeros", stored, sizeof(Scalar) + (order + 1) * sizeof(Index));
  auto const permutation = identity_permutation<Index>(space, nnz);
  sort_by_modes(space, coo, copy.modes, order, permutation);
  // Not before the sort's scratch is free.
  copy.indices = typename Copy::indices_type(uninitialized(space, "polyad::sorted_indices"), order, stored);
  copy.values  = typename Copy::values_type(uninitialized(space, "polyad::sorted_values"), stored);
  auto const gather = [&] {
    Kokkos::parallel_for("polyad::gather_sorted", Range(space, 0, nnz),
                         detail::GatherSorted<Tensor, Copy, Permutation<Index, Space>>{
                             coo.indices(), coo.values(), permutation, copy});
  };
  gather();

  count_t rows = 0;
  count_t runs = 0;
  Kokkos::parallel_reduce("polyad::count_rows", Range(space, 0, nnz),
                          detail::CountRuns<typename Copy::indices_type>{copy.indices, 1}, rows);
  Kokkos::parallel_reduce("polyad::count_runs", Range(space, 0, nnz),
                          detail::CountRuns<typename Copy::indices_type>{copy.indices, std::min(order, 2)},
                          runs);
  if (duplicates != nullptr) {
    count_t distinct = 0;
    Kokkos::parallel_reduce("polyad::count_distinct", Range(space, 0, nnz),
                            detail::CountRuns<typename Copy::indices_type>{copy.indices, order}, distinct);
    *duplicates = nnz - distinct;
  }
  SortedTuning<Space, Scalar> const tuning{nnz, std::max<count_t>(rows, 1), runs};
  copy.rows            = rows;
  copy.chunk           = tuning.chunk(space, options.deterministic);
  bool const merges    = options.deterministic || has_drowning_row(tuning, space, copy.indices, copy.chunk);
  copy.borders         = merges ? Borders::merge : tuning.hot(copy.chunk) ? Borders::hot : Borders::atomics;
  bool const is_forced = !options.runs.empty();
  if (order > 1 && copy.borders == Borders::atomics)
    copy.block_rows = options.block_rows.value_or(is_forced ? 0 : tuning.block_rows(extents[copy.modes[1]]));
  bool const hoists = is_forced ? options.runs == "hoisted" : tuning.hoist();
  copy.hoist        = order > 2 && copy.block_rows == 0 && hoists;  // kernels do one or the other
  if (copy.block_rows > 0) {
    using Keys           = Kokkos::View<std::uint32_t*, typename Space::device_type>;
    count_t const blocks = ceil_div(extents[copy.modes[1]], copy.block_rows);
    POLYAD_EXPECTS(blocks <= std::numeric_limits<std::uint32_t>::max(), blocks, " locality blocks of ",
                   copy.block_rows, " rows are too many");
    expect_fits(space, "the sort's keys", nnz, sizeof(std::uint32_t));
    Keys const keys(uninitialized(space, "polyad::sort_keys"), nnz);
    Kokkos::parallel_for(
        "polyad::block_keys", Range(space, 0, nnz),
        detail::BlockKeys<typename Copy::indices_type, Keys>{copy.indices, keys, copy.block_rows});
    sort_pairs(space, keys, permutation, bits_for(blocks));  // stable: inside a block the order stays
    gather();
  }

  Flags const flags(Kokkos::view_alloc(space, "polyad::stored_rows"), extents[mode]);
  if (copy.block_rows == 0)  // otherwise no row is stored whole
    Kokkos::parallel_for("polyad::flag_stored_rows", Range(space, 0, nnz),
                         detail::FlagStoredRows<typename Copy::indices_type, Flags>{
                             copy.indices, flags, nnz, copy.chunk, copy.borders == Borders::merge});
  copy.cleared = list_unflagged<Index>(space, flags);
  return copy;
}

}  // namespace polyad::detail
