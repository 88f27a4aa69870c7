// SPDX-License-Identifier: BSD-3-Clause
// Building FlaggedNonzeros on the device: sorts, gathers and scans, linear in the nonzeros.
#pragma once

#include <Kokkos_Core.hpp>
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>

#include "formats/fcoo/costs/fcoo_tuning.hpp"
#include "formats/fcoo/storage/flagged_nonzeros.hpp"
#include "formats/walks/cleared_rows.hpp"
#include "polyad/core/error.hpp"
#include "polyad/core/spaces.hpp"
#include "polyad/core/types.hpp"
#include "polyad/tensor/coo_tensor.hpp"
#include "polyad/tensor/sort_by_mode.hpp"

namespace polyad::detail {

/// \throws UsageError unless threadlen is one of 8, 16, 32, 64
inline void expect_threadlen(int threadlen) {
  POLYAD_EXPECTS(threadlen == 8 || threadlen == 16 || threadlen == 32 || threadlen == 64,
                 "a partition has 8, 16, 32 or 64 nonzeros, not ", threadlen);
}

/// Writes index coordinates (K x P, in the segments' order), product indices and values, by a permutation.
template <class Tensor, class Nonzeros, class Permutation>
struct GatherFlagged {
  typename Tensor::indices_type indices;
  typename Tensor::values_type values;
  Permutation permutation;
  typename Nonzeros::indices_type index;
  typename Nonzeros::indices_type product;
  typename Nonzeros::values_type product_values;
  Kokkos::Array<int, max_order> modes;
  KOKKOS_FUNCTION void operator()(count_t i) const {
    count_t const p    = permutation(i);
    count_t const kept = index.extent(0);
    for (count_t k = 0; k < kept; ++k) index(k, i) = indices(p, modes[k]);
    for (count_t m = 0; m < product.extent(0); ++m) product(m, i) = indices(p, modes[kept + m]);
    product_values(i) = values(p);
  }
};

/// Writes one word of bit flags. A flag is 0 after the last nonzero, and where the index coordinates of the
/// next nonzero differ.
template <class Nonzeros>
struct SetBitFlags {
  typename Nonzeros::indices_type index;  // K x P
  typename Nonzeros::flags_type flags;
  count_t nnz;
  [[nodiscard]] KOKKOS_FUNCTION bool goes_on(count_t p) const {
    if (p + 1 >= nnz) return false;
    for (count_t k = 0; k < index.extent(0); ++k)
      if (index(k, p) != index(k, p + 1)) return false;
    return true;
  }
  KOKKOS_FUNCTION void operator()(count_t word) const {
    std::uint64_t bits = 0;
    for (count_t b = 0; b < Nonzeros::flags_bits; ++b)
      if (goes_on(word * Nonzeros::flags_bits + b)) bits |= std::uint64_t(1) << b;
    flags(word) = bits;
  }
};

/// Reads the flags of FlaggedNonzeros.
template <class Nonzeros>
struct FlagReader {
  typename Nonzeros::flags_type flags;
  count_t nnz;
  count_t threadlen;
  [[nodiscard]] KOKKOS_FUNCTION bool ends(count_t p) const {
    return (flags(p / Nonzeros::flags_bits) >> p % Nonzeros::flags_bits & 1U) == 0;
  }
  /// Whether partition q begins a segment: its start flag.
  [[nodiscard]] KOKKOS_FUNCTION bool begins(count_t q) const { return q == 0 || ends(q * threadlen - 1); }
  /// Segments that end in partition q.
  [[nodiscard]] KOKKOS_FUNCTION count_t ends_in(count_t q) const {
    count_t const begin      = q * threadlen;
    count_t const count      = Kokkos::min(threadlen, nnz - begin);
    std::uint64_t const mask = ~std::uint64_t(0) >> (Nonzeros::flags_bits - count);
    std::uint64_t const bits = ~flags(begin / Nonzeros::flags_bits) >> begin % Nonzeros::flags_bits;
    return Kokkos::popcount(bits & mask);
  }
};

template <class Nonzeros>
struct SetStartFlags {
  FlagReader<Nonzeros> reader;
  typename Nonzeros::starts_type starts;
  count_t partitions;
  KOKKOS_FUNCTION void operator()(count_t word) const {
    std::uint32_t bits = 0;
    for (count_t b = 0; b < Nonzeros::starts_bits; ++b) {
      count_t const q = word * Nonzeros::starts_bits + b;
      if (q < partitions && reader.begins(q)) bits |= std::uint32_t(1) << b;
    }
    starts(word) = bits;
  }
};

template <class Nonzeros>
struct NumberPartitions {
  FlagReader<Nonzeros> reader;
  typename Nonzeros::numbers_type first_segment;
  KOKKOS_FUNCTION void operator()(count_t q, count_t& segment, bool final) const {
    if (final) first_segment(q) = static_cast<typename Nonzeros::index_type>(segment);
    segment += reader.ends_in(q);
  }
};

/// Writes the coordinates of the segments that end in partition q.
template <class Nonzeros>
struct SetCoordinates {
  FlagReader<Nonzeros> reader;
  typename Nonzeros::numbers_type first_segment;
  typename Nonzeros::indices_type index;        // K x P
  typename Nonzeros::indices_type coordinates;  // K x (S + 1)
  KOKKOS_FUNCTION void operator()(count_t q) const {
    count_t segment   = first_segment(q);
    count_t const end = Kokkos::min(reader.nnz, (q + 1) * reader.threadlen);
    for (count_t p = q * reader.threadlen; p < end; ++p) {
      if (!reader.ends(p)) continue;
      for (count_t k = 0; k < index.extent(0); ++k) coordinates(k, segment) = index(k, p);
      ++segment;
    }
  }
};

/// With `partitions` false, flags the output rows of all segments. Otherwise it removes the flag of a row
/// whose segment crosses the border before partition q: several threads may share that row. Of all borders
/// that a segment crosses the first one counts, so that only one thread removes the flag.
template <class Nonzeros, class Flags>
struct FlagWholeRows {
  typename Nonzeros::indices_type coordinates;
  typename Nonzeros::numbers_type first_segment;
  FlagReader<Nonzeros> reader;
  Flags flags;
  FCooRows rows;
  bool partitions;
  KOKKOS_FUNCTION void operator()(count_t i) const {
    if (partitions && (reader.begins(i) || crosses_earlier_border(i))) return;
    count_t const segment = partitions ? first_segment(i) : i;
    count_t const row     = rows == FCooRows::of_mode ? coordinates(0, segment) : segment;
    flags(row)            = partitions ? 0 : 1;
  }

private:
  /// For a partition in whose first segment the one before ends. Partition 0 is none: it begins one.
  [[nodiscard]] KOKKOS_FUNCTION bool crosses_earlier_border(count_t q) const {
    return !reader.begins(q - 1) && first_segment(q - 1) == first_segment(q);
  }
};

/// Counts the nonzeros with all indices of the one before: of its segment, and of its product modes.
template <class Nonzeros>
struct CountRepeated {
  FlagReader<Nonzeros> reader;
  typename Nonzeros::indices_type indices;  // M x P
  KOKKOS_FUNCTION void operator()(count_t p, count_t& repeated) const {
    if (p == 0 || reader.ends(p - 1)) return;
    for (count_t m = 0; m < indices.extent(0); ++m)
      if (indices(m, p) != indices(m, p - 1)) return;
    ++repeated;
  }
};

/// Nonzeros that have the coordinates of an earlier one. Waits for `space`.
template <class Scalar, class Index, class Space>
count_t count_repeated(Space const& space, FlaggedNonzeros<Scalar, Index, Space> const& X) {
  using Nonzeros   = FlaggedNonzeros<Scalar, Index, Space>;
  count_t repeated = 0;
  Kokkos::parallel_reduce(
      "polyad::count_repeated", Kokkos::RangePolicy<Space, Kokkos::IndexType<count_t>>(space, 0, X.nnz),
      CountRepeated<Nonzeros>{{X.flags, X.nnz, static_cast<count_t>(X.threadlen)}, X.indices}, repeated);
  return repeated;
}

/// The same nonzeros in partitions of another length. Start flags, partitions' segments and cleared rows are
/// new; everything else is shared. Waits for `space`.
/// \throws UsageError unless threadlen is one of 8, 16, 32, 64; MemoryError
template <class Scalar, class Index, class Space>
FlaggedNonzeros<Scalar, Index, Space> repartitioned(Space const& space,
                                                    FlaggedNonzeros<Scalar, Index, Space> X, int threadlen) {
  using Nonzeros = FlaggedNonzeros<Scalar, Index, Space>;
  using Range    = Kokkos::RangePolicy<Space, Kokkos::IndexType<count_t>>;
  using Flags    = RowFlags<Space>;
  expect_threadlen(threadlen);
  X.threadlen         = threadlen;
  count_t const count = X.partitions();
  count_t const words = ceil_div(count, Nonzeros::starts_bits);
  expect_fits(space, "the partitions' segments", count, sizeof(Index) + 1);
  X.starts        = typename Nonzeros::starts_type(uninitialized(space, "polyad::start_flags"), words);
  X.first_segment = typename Nonzeros::numbers_type(uninitialized(space, "polyad::first_segments"), count);
  detail::FlagReader<Nonzeros> const reader{X.flags, X.nnz, static_cast<count_t>(threadlen)};
  Kokkos::parallel_for("polyad::set_start_flags", Range(space, 0, words),
                       detail::SetStartFlags<Nonzeros>{reader, X.starts, count});
  Kokkos::parallel_scan("polyad::number_partitions", Range(space, 0, count),
                        detail::NumberPartitions<Nonzeros>{reader, X.first_segment}, X.segments);
  space.fence("polyad::repartitioned");
  if (X.coordinates.extent(1) == 0) return X;  // not made yet

  count_t const output_rows = X.output_rows();
  expect_fits(space, "the flags of the output's rows", output_rows, sizeof(typename Flags::value_type));
  Flags const whole(Kokkos::view_alloc(space, "polyad::whole_rows"), output_rows);
  detail::FlagWholeRows<Nonzeros, Flags> flag{X.coordinates, X.first_segment, reader, whole, X.rows, false};
  Kokkos::parallel_for("polyad::flag_whole_rows", Range(space, 0, X.segments), flag);
  flag.partitions = true;
  Kokkos::parallel_for("polyad::flag_whole_rows", Range(space, 0, count), flag);
  X.cleared = list_unflagged<Index>(space, whole);
  return X;
}

/// The nonzeros of `coo` for an operation that keeps the first `index_modes` of `modes` and multiplies along
/// the others. This function orders the product modes. Linear in the nonzeros; waits for `space`.
/// \throws UsageError when Index cannot number the nonzeros; MemoryError naming the array and its bytes
template <class Scalar, class Index, class Space>
FlaggedNonzeros<Scalar, Index, Space> make_flagged(Space const& space,
                                                   CooTensor<Scalar, Index, Space> const& coo,
                                                   Kokkos::Array<int, max_order> const& modes,
                                                   int index_modes, FCooRows rows, int threadlen) {
  using Tensor   = CooTensor<Scalar, Index, Space>;
  using Nonzeros = FlaggedNonzeros<Scalar, Index, Space>;
  using Range    = Kokkos::RangePolicy<Space, Kokkos::IndexType<count_t>>;
  POLYAD_EXPECTS(coo.nnz() < std::numeric_limits<Index>::max(), coo.nnz(),
                 " nonzeros need 64-bit indices in this format");
  POLYAD_EXPECTS(index_modes >= 1 && (rows == FCooRows::of_segments || index_modes == 1),
                 "an output with a row for ", "each of ", index_modes, " modes' coordinates is not a matrix");
  expect_threadlen(threadlen);
  Nonzeros X;
  X.extents     = coo.extents();
  X.rows        = rows;
  X.index_modes = index_modes;
  X.modes       = modes;
  X.nnz         = coo.nnz();
  X.threadlen   = threadlen;
  // The order within a segment is free. This one keeps the row of the shortest product mode the same for a
  // while.
  std::stable_sort(X.modes.data() + index_modes, X.modes.data() + coo.order(),
                   [&](int a, int b) { return X.extents[a] < X.extents[b]; });

  count_t const stored  = Nonzeros::padded(X.nnz);
  count_t const product = X.product_modes();
  count_t const kept    = index_modes;
  expect_fits(space, "the flagged nonzeros", stored, sizeof(Scalar) + (product + kept) * sizeof(Index));
  auto const uninitialised = [&](char const* label) { return uninitialized(space, label); };
  typename Nonzeros::indices_type index;
  {
    auto const permutation = identity_permutation<Index>(space, X.nnz);
    sort_by_modes(space, coo, X.modes, coo.order(), permutation);
    // Not before the sort's scratch is free.
    X.indices = typename Nonzeros::indices_type(uninitialised("polyad::flagged_indices"), product, stored);
    X.values  = typename Nonzeros::values_type(uninitialised("polyad::flagged_values"), stored);
    X.flags   = typename Nonzeros::flags_type(uninitialised("polyad::bit_flags"),
                                              ceil_div(X.nnz, Nonzeros::flags_bits));
    index     = typename Nonzeros::indices_type(uninitialised("polyad::index_coordinates"), kept, X.nnz);
    Kokkos::parallel_for("polyad::gather_flagged", Range(space, 0, X.nnz),
                         detail::GatherFlagged<Tensor, Nonzeros, Permutation<Index, Space>>{
                             coo.indices(), coo.values(), permutation, index, X.indices, X.values, X.modes});
    space.fence("polyad::make_flagged");
  }
  Kokkos::parallel_for("polyad::set_bit_flags", Range(space, 0, X.flags.extent(0)),
                       detail::SetBitFlags<Nonzeros>{index, X.flags, X.nnz});
  X = repartitioned(space, X, threadlen);
  expect_fits(space, "the segments' coordinates", X.segments + 1, kept * sizeof(Index));
  X.coordinates = typename Nonzeros::indices_type(Kokkos::view_alloc(space, "polyad::segment_coordinates"),
                                                  kept, X.segments + 1);
  detail::FlagReader<Nonzeros> const reader{X.flags, X.nnz, static_cast<count_t>(threadlen)};
  Kokkos::parallel_for("polyad::set_segment_coordinates", Range(space, 0, X.partitions()),
                       detail::SetCoordinates<Nonzeros>{reader, X.first_segment, index, X.coordinates});
  return repartitioned(space, X, threadlen);
}

/// All modes of a tensor of order N with mode n first, the index mode of SpMTTKRP and SpTTMc on mode n.
inline Kokkos::Array<int, max_order> mode_first(int order, int mode) {
  Kokkos::Array<int, max_order> modes{};
  modes[0]        = mode;
  std::size_t end = 1;
  for (int n = 0; n < order; ++n)
    if (n != mode) modes[end++] = n;
  return modes;
}

/// All modes of a tensor of order N with mode n last. The others are the index modes of SpTTM on mode n.
inline Kokkos::Array<int, max_order> mode_last(int order, int mode) {
  Kokkos::Array<int, max_order> modes{};
  std::size_t end = 0;
  for (int n = 0; n < order; ++n)
    if (n != mode) modes[end++] = n;
  modes[end] = mode;
  return modes;
}

}  // namespace polyad::detail
