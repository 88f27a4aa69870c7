// SPDX-License-Identifier: BSD-3-Clause
// TinyVec: a block of columns of one factor row, held in registers (GenTen, section 5 and Table 4).
//
// A row of a factor matrix is cut into blocks of `Block` columns; a block is spread over `lanes` vector
// lanes of `width` elements each (lanes * width = Block). One kernel source serves every architecture,
// because only this class knows which elements belong to a lane:
//
//   RowForm::packed   device: a lane holds 16 contiguous bytes (float4, double2), so a row is read with
//                     16-byte loads. Needs rows that start at multiples of 16 bytes. The default.
//   RowForm::strided  device: a lane holds every lanes-th element, as GenTen does. Serves rows of any
//                     alignment, and stays selectable for comparison.
//   RowForm::simd     host: one lane holds the whole block in SIMD registers (kernel/tiny_vec_simd.hpp).
//
// The last block of a row may be cut off at column R; `Columns` says which elements of a lane exist.
// Elements beyond R are read as zero, or as whatever the row's padding holds, and are never written.
#pragma once

#include <Kokkos_Core.hpp>
#include <cstdint>

#include "polyad/core/spaces.hpp"
#include "polyad/core/types.hpp"
#include "polyad/kernel/columns.hpp"
#include "polyad/kernel/scratch_atomics.hpp"
#include "polyad/kernel/tiny_vec_simd.hpp"  // RowForm::simd

namespace polyad {

/// Device, packed: lane l holds the columns [l * width, (l + 1) * width) of the block.
template <class Space, class Scalar, int Block>
class TinyVec<Space, Scalar, Block, RowForm::packed> {
public:
  using space_type           = Space;
  using scalar_type          = Scalar;
  static constexpr int block = Block;
  static constexpr auto form = RowForm::packed;
  static constexpr int width =
      Block < row_alignment / int(sizeof(Scalar)) ? Block : row_alignment / int(sizeof(Scalar));
  static constexpr int lanes = Block / width;
  /// Whether the lanes add to a row faster together than one by one: doubles have no wide atomic.
  static constexpr bool adds_together = sizeof(Scalar) == sizeof(double) && lanes > 1;

  /// Lane `lane`'s share of the block that starts at column `block_first` of a row of R columns.
  KOKKOS_FUNCTION static Columns columns(int block_first, int rank, int lane) {
    int const first = block_first + lane * width;
    return {first, rank - first < width ? rank - first : width};
  }

  KOKKOS_FUNCTION TinyVec() = default;
  KOKKOS_FUNCTION explicit TinyVec(Scalar value) {
    for (int e = 0; e < width; ++e) m_pack.element[e] = value;
  }
  /// Reads the row's elements; those beyond R come from the row's padding.
  KOKKOS_FUNCTION TinyVec(Scalar const* row, Columns columns)
      : m_pack(*reinterpret_cast<Pack<Scalar, width> const*>(row + columns.first)) {}

  KOKKOS_FUNCTION TinyVec& operator*=(TinyVec const& other) {
    for (int e = 0; e < width; ++e) m_pack.element[e] *= other.m_pack.element[e];
    return *this;
  }
  KOKKOS_FUNCTION TinyVec& operator+=(TinyVec const& other) {
    for (int e = 0; e < width; ++e) m_pack.element[e] += other.m_pack.element[e];
    return *this;
  }
  /// this += a * b
  KOKKOS_FUNCTION void multiply_add(Scalar a, TinyVec const& b) {
    for (int e = 0; e < width; ++e) m_pack.element[e] += a * b.m_pack.element[e];
  }
  /// this += a * b, element by element
  KOKKOS_FUNCTION void multiply_add(TinyVec const& a, TinyVec const& b) {
    for (int e = 0; e < width; ++e) m_pack.element[e] += a.m_pack.element[e] * b.m_pack.element[e];
  }
  /// The sum of the products of the elements that lie left of column R.
  KOKKOS_FUNCTION Scalar dot(TinyVec const& other, Columns columns) const {
    Scalar sum = 0;
    for (int e = 0; e < width; ++e)
      if (e < columns.count) sum += m_pack.element[e] * other.m_pack.element[e];
    return sum;
  }

  KOKKOS_FUNCTION void store(Scalar* row, Columns columns) const {
    if (columns.count == width)
      *reinterpret_cast<Pack<Scalar, width>*>(row + columns.first) = m_pack;
    else
      for (int e = 0; e < width; ++e)
        if (e < columns.count) row[columns.first + e] = m_pack.element[e];
  }
  KOKKOS_FUNCTION void atomic_add_to(Scalar* row, Columns columns) const {
    if constexpr (adds_packs<Scalar, width>) {
      // All lanes add packs: if one lane added single elements, the others would wait for each. The padding
      // gets -0, which changes no number.
      if (columns.count <= 0) return;
      auto pack = m_pack;
      for (int e = 1; e < width; ++e)
        if (e >= columns.count) pack.element[e] = -Scalar(0);
      atomic_add_pack(row + columns.first, pack);
    } else {
      for (int e = 0; e < width; ++e)
        if (e < columns.count) Kokkos::atomic_add(row + columns.first + e, m_pack.element[e]);
    }
  }
  /// The same, called by all lanes of the thread that have columns, at the same time. `lane` is the number of
  /// the caller, and `left` the number of columns from the block's first one to column R.
  KOKKOS_FUNCTION void atomic_add_together(Scalar* row, Columns columns, int lane, int left) const {
    static_assert(adds_together);
    atomic_add_pairs<lanes>(row + (columns.first - lane * width), left < Block ? left : Block, m_pack, lane);
  }
  /// The same in scratch memory, where packs cannot be added as a whole.
  KOKKOS_FUNCTION void atomic_add_to_scratch(Scalar* row, Columns columns) const {
    for (int e = 0; e < width; ++e)
      if (e < columns.count) scratch_add(row + columns.first + e, m_pack.element[e]);
  }

private:
  Pack<Scalar, width> m_pack;
};

/// Device, strided: lane l holds the columns l, l + lanes, l + 2 lanes, ... of the block.
template <class Space, class Scalar, int Block>
class TinyVec<Space, Scalar, Block, RowForm::strided> {
public:
  using space_type           = Space;
  using scalar_type          = Scalar;
  static constexpr int block = Block;
  static constexpr auto form = RowForm::strided;
  static constexpr int lanes = Block < 8 ? Block : 8;  // GenTen, Table 4: vector size 8 from R = 8 to 47
  static constexpr int width = Block / lanes;
  static constexpr bool adds_together = false;

  KOKKOS_FUNCTION static Columns columns(int block_first, int rank, int lane) {
    int const first = block_first + lane;
    int const left  = rank - first;  // columns from this lane's first one on
    int const count = left > 0 ? (left + lanes - 1) / lanes : 0;
    return {first, count < width ? count : width};
  }

  KOKKOS_FUNCTION TinyVec() = default;
  KOKKOS_FUNCTION explicit TinyVec(Scalar value) {
    for (int e = 0; e < width; ++e) m_element[e] = value;
  }
  KOKKOS_FUNCTION TinyVec(Scalar const* row, Columns columns) {
    for (int e = 0; e < width; ++e)
      m_element[e] = e < columns.count ? row[columns.first + e * lanes] : Scalar(0);
  }

  KOKKOS_FUNCTION TinyVec& operator*=(TinyVec const& other) {
    for (int e = 0; e < width; ++e) m_element[e] *= other.m_element[e];
    return *this;
  }
  KOKKOS_FUNCTION TinyVec& operator+=(TinyVec const& other) {
    for (int e = 0; e < width; ++e) m_element[e] += other.m_element[e];
    return *this;
  }
  KOKKOS_FUNCTION void multiply_add(Scalar a, TinyVec const& b) {
    for (int e = 0; e < width; ++e) m_element[e] += a * b.m_element[e];
  }
  KOKKOS_FUNCTION void multiply_add(TinyVec const& a, TinyVec const& b) {
    for (int e = 0; e < width; ++e) m_element[e] += a.m_element[e] * b.m_element[e];
  }
  /// The sum of the products of the elements that lie left of column R.
  KOKKOS_FUNCTION Scalar dot(TinyVec const& other, Columns columns) const {
    Scalar sum = 0;
    for (int e = 0; e < width; ++e)
      if (e < columns.count) sum += m_element[e] * other.m_element[e];
    return sum;
  }
  KOKKOS_FUNCTION void store(Scalar* row, Columns columns) const {
    for (int e = 0; e < width; ++e)
      if (e < columns.count) row[columns.first + e * lanes] = m_element[e];
  }
  KOKKOS_FUNCTION void atomic_add_to(Scalar* row, Columns columns) const {
    for (int e = 0; e < width; ++e)
      if (e < columns.count) Kokkos::atomic_add(row + columns.first + e * lanes, m_element[e]);
  }
  KOKKOS_FUNCTION void atomic_add_to_scratch(Scalar* row, Columns columns) const {
    for (int e = 0; e < width; ++e)
      if (e < columns.count) scratch_add(row + columns.first + e * lanes, m_element[e]);
  }

private:
  Scalar m_element[width];
};

}  // namespace polyad
