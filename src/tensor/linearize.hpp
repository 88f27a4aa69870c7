// SPDX-License-Identifier: BSD-3-Clause
// ALTO's linear order of a tensor's cells: the bits of a nonzero's N indices are interleaved into one number.
// So nonzeros that are near in this order are near in every mode (BLCO, sections 3 and 4.1; Helal et al.,
// ALTO, ICS 2021). From the uppermost bit down, each bit halves the longest mode of the remaining box. So the
// layout adapts to modes of different length. For 4 x 8 x 2 rows (2, 3 and 1 bits) it is, uppermost first,
//
//   mode 1 bit 2, mode 1 bit 1, mode 0 bit 1, mode 1 bit 0, mode 0 bit 0, mode 2 bit 0
//
// The number may have up to 16 x 64 bits. It is kept in words of 64, the lowest first.
#pragma once

#include <Kokkos_Core.hpp>
#include <cstdint>

#include "polyad/core/sort.hpp"
#include "polyad/core/spaces.hpp"
#include "polyad/core/types.hpp"
#include "polyad/tensor/coo_tensor.hpp"
#include "polyad/tensor/sort_by_mode.hpp"

namespace polyad::detail {

/// The mode and the bit of its index for every bit of the interleaved number. Trivially copyable (2 KB).
///
/// A mode's own bits keep their order. So the lowest B bits of the number contain the lowest bits_below(n, B)
/// bits of mode n. Removing all bits above B leaves the index modulo 2^bits_below(n, B) of every mode.
class LinearLayout {
public:
  static constexpr int word_bits = 64;
  static constexpr int max_bits  = max_order * word_bits;

  LinearLayout() = default;

  /// ALTO's layout.
  explicit LinearLayout(Extents const& extents) : LinearLayout(extents, 0) {}

  /// The same in three parts, each laid out by halving. Uppermost are the highest `slab_bits` bits of mode
  /// `slab`. Below them are all bits of the modes in the mask `first` (mode n is its bit n), then the rest.
  /// So nonzeros with the same indices of the modes in `first` are consecutive, within slabs of mode `slab`.
  LinearLayout(Extents const& extents, std::uint32_t first, int slab = 0, int slab_bits = 0)
      : m_order(extents.order()) {
    int left[max_order]{};
    for (int n = 0; n < m_order; ++n) {
      left[n] = m_bits_of[n] = static_cast<std::uint8_t>(bits_for(extents[n]));
      m_bits += left[n];
    }
    for (int b = m_bits - 1; b >= 0; --b) {
      int mode = -1;
      if (m_bits - 1 - b < slab_bits) mode = slab;
      if (mode < 0) mode = longest(extents, left, first);
      if (mode < 0) mode = longest(extents, left, ~std::uint32_t(0));
      m_mode[b] = static_cast<std::uint8_t>(mode);
      m_bit[b]  = static_cast<std::uint8_t>(--left[mode]);
    }
  }

  /// N
  [[nodiscard]] KOKKOS_FUNCTION int order() const { return m_order; }
  /// Bits of the whole number; 0 when every mode has one row.
  [[nodiscard]] KOKKOS_FUNCTION int bits() const { return m_bits; }
  /// Words of 64 bits that the number fills.
  [[nodiscard]] KOKKOS_FUNCTION int words() const { return (m_bits + word_bits - 1) / word_bits; }
  /// Bits of mode n's indices: ceil(log2 I_n).
  [[nodiscard]] KOKKOS_FUNCTION int bits_of(int n) const { return m_bits_of[n]; }
  /// The mode whose index the number's bit b belongs to.
  [[nodiscard]] KOKKOS_FUNCTION int mode_at(int b) const { return m_mode[b]; }
  /// Which bit of that index it is.
  [[nodiscard]] KOKKOS_FUNCTION int bit_at(int b) const { return m_bit[b]; }
  /// How many of the number's lowest `low_bits` bits belong to mode n.
  [[nodiscard]] KOKKOS_FUNCTION int bits_below(int n, int low_bits) const {
    int count = 0;
    for (int b = 0; b < low_bits && b < m_bits; ++b) count += m_mode[b] == n ? 1 : 0;
    return count;
  }

  /// Up to 64 bits of the number of the indices index[0], ..., index[N - 1], from bit `first` up.
  template <class Indices>
  [[nodiscard]] KOKKOS_FUNCTION std::uint64_t bits_from(int first, Indices const& index) const {
    int const count    = m_bits - first < word_bits ? m_bits - first : word_bits;
    std::uint64_t word = 0;
    for (int b = 0; b < count; ++b)
      word |= (static_cast<std::uint64_t>(index[m_mode[first + b]]) >> m_bit[first + b] & 1U) << b;
    return word;
  }
  /// Word w of it.
  template <class Indices>
  [[nodiscard]] KOKKOS_FUNCTION std::uint64_t word(int w, Indices const& index) const {
    return bits_from(w * word_bits, index);
  }
  /// All words of it.
  template <class Indices>
  KOKKOS_FUNCTION void encode(Indices const& index, std::uint64_t* word_list) const {
    for (int w = 0; w < words(); ++w) word_list[w] = word(w, index);
  }
  /// The indices of the number in `word_list`.
  template <class Index>
  KOKKOS_FUNCTION void decode(std::uint64_t const* word_list, Index* index) const {
    for (int n = 0; n < m_order; ++n) index[n] = 0;
    for (int b = 0; b < m_bits; ++b)
      index[m_mode[b]] |= static_cast<Index>(word_list[b / word_bits] >> b % word_bits & 1U) << m_bit[b];
  }

private:
  /// The mode in the mask with the longest remaining range, of 2^left rows. Among equals it is the mode with
  /// the larger extent, then the later one. -1 when nothing is left of them.
  static int longest(Extents const& extents, int const* left, std::uint32_t modes) {
    int found = -1;
    for (int n = 0; n < extents.order(); ++n) {
      if ((modes >> n & 1U) == 0 || left[n] == 0) continue;
      if (found < 0 || left[n] > left[found] || (left[n] == left[found] && extents[n] >= extents[found]))
        found = n;
    }
    return found;
  }

  int m_order = 0;
  int m_bits  = 0;
  std::uint8_t m_bits_of[max_order]{};
  std::uint8_t m_mode[max_bits]{};
  std::uint8_t m_bit[max_bits]{};
};

/// The coordinates of nonzero p, as LinearLayout reads them.
template <class Indices>
struct CoordinatesOf {
  Indices const& indices;  // P x N
  count_t p;
  KOKKOS_FUNCTION auto operator[](int n) const { return indices(p, n); }
};

/// Word w of the linear form of every nonzero, in the order of a permutation.
template <class Indices, class Permutation, class Keys>
struct LinearKeys {
  LinearLayout layout;
  Indices indices;
  Permutation permutation;
  Keys keys;
  int w;
  KOKKOS_FUNCTION void operator()(count_t i) const {
    keys(i) = layout.word(w, CoordinatesOf<Indices>{indices, permutation(i)});
  }
};

/// The nonzeros' positions in the linear order of `layout`; equal cells keep their order. Linear in the
/// nonzeros: one radix sort for each word, the lowest word first. Waits for `space`.
/// \throws UsageError if Ordinal cannot number the nonzeros; MemoryError before it allocates. In addition
///         to the result it needs 16 + sizeof(Ordinal) bytes per nonzero.
template <class Ordinal, class Scalar, class Index, class Space>
Permutation<Ordinal, Space> linear_order(Space const& space, CooTensor<Scalar, Index, Space> const& coo,
                                         LinearLayout const& layout) {
  using Keys        = Kokkos::View<std::uint64_t*, typename Space::device_type>;
  using Indices     = typename CooTensor<Scalar, Index, Space>::indices_type;
  count_t const nnz = coo.nnz();
  POLYAD_EXPECTS(nnz <= std::numeric_limits<Ordinal>::max(), nnz, " nonzeros need 64-bit positions");
  expect_fits(space, "the sort into the linear order", nnz, 2 * (sizeof(std::uint64_t) + sizeof(Ordinal)));
  auto const permutation = identity_permutation<Ordinal>(space, nnz);
  Keys const keys(uninitialized(space, "polyad::linear_keys"), nnz);
  for (int w = 0; w < layout.words(); ++w) {
    Kokkos::parallel_for("polyad::linear_keys",
                         Kokkos::RangePolicy<Space, Kokkos::IndexType<count_t>>(space, 0, nnz),
                         detail::LinearKeys<Indices, Permutation<Ordinal, Space>, Keys>{
                             layout, coo.indices(), permutation, keys, w});
    int const above = layout.bits() - w * LinearLayout::word_bits;
    sort_pairs(space, keys, permutation, above < LinearLayout::word_bits ? above : LinearLayout::word_bits);
  }
  space.fence("polyad::linear_order");
  return permutation;
}

/// The same in the layout of the tensor's own extents, with positions of its index type.
template <class Scalar, class Index, class Space>
Permutation<Index, Space> linear_order(Space const& space, CooTensor<Scalar, Index, Space> const& coo) {
  return linear_order<Index>(space, coo, LinearLayout(coo.extents()));
}

}  // namespace polyad::detail
