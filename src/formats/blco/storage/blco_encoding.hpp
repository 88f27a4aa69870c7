// SPDX-License-Identifier: BSD-3-Clause
// BLCO's encoding of a nonzero's N indices in one number (BLCO, section 4). The nonzeros are in ALTO's order.
// But inside the number the bits of a mode are contiguous, so an index is one shift and one mask. If ALTO's
// interleaved number has more bits than the linear index, its uppermost bits are stripped. They are the key
// of a block. The block stores them once, as the amount to add to each mode's index.
#pragma once

#include <Kokkos_Core.hpp>
#include <cstdint>
#include <type_traits>

#include "polyad/core/types.hpp"
#include "tensor/linearize.hpp"

namespace polyad::detail {

/// A linear index of one or two words of 64 bits.
template <int Words>
struct LinearIndex {
  std::uint64_t word[Words]{};
};

/// The position of each mode's lowest bits in a linear index. Trivially copyable and 40 bytes long, since it
/// is an argument of every launch.
class BlcoEncoding {
public:
  static constexpr int word_bits = 64;
  static constexpr int max_bits  = 2 * word_bits;

  BlcoEncoding() = default;

  /// Keeps the lowest `bits` bits of the interleaved number. \throws UsageError unless 0 <= bits <= 128
  BlcoEncoding(LinearLayout const& layout, int bits) : m_order(static_cast<std::uint8_t>(layout.order())) {
    POLYAD_EXPECTS(bits >= 0 && bits <= max_bits, "a linear index of ", bits, " bits; 0 to ", max_bits,
                   " can be had");
    for (int n = 0; n < layout.order(); ++n) {
      m_kept[n]  = static_cast<std::uint8_t>(layout.bits_below(n, bits));
      m_shift[n] = static_cast<std::uint8_t>(m_kept[n] > 0 ? m_bits : 0);  // an empty field may be anywhere
      m_bits     = static_cast<std::uint8_t>(m_bits + m_kept[n]);
      if (m_kept[n] < layout.bits_of(n)) m_strips = true;
    }
  }

  [[nodiscard]] KOKKOS_FUNCTION int order() const { return m_order; }
  /// Bits of the linear index that are in use.
  [[nodiscard]] KOKKOS_FUNCTION int bits() const { return m_bits; }
  /// 1 or 2
  [[nodiscard]] KOKKOS_FUNCTION int words() const { return m_bits > word_bits ? 2 : 1; }
  /// Bits of mode n's index that the linear index holds.
  [[nodiscard]] KOKKOS_FUNCTION int kept(int n) const { return m_kept[n]; }
  /// Whether any bits are stripped. If not, there is one key.
  [[nodiscard]] KOKKOS_FUNCTION bool strips() const { return m_strips; }

  /// The part of an index of mode n that the linear index holds ...
  [[nodiscard]] KOKKOS_FUNCTION std::uint64_t lower(int n, std::uint64_t index) const {
    return index & mask(n);
  }
  /// ... and the part that the block holds.
  [[nodiscard]] KOKKOS_FUNCTION std::uint64_t upper(int n, std::uint64_t index) const {
    return index & ~mask(n);
  }

  template <int Words, class Indices>
  [[nodiscard]] KOKKOS_FUNCTION LinearIndex<Words> encode(Indices const& index) const {
    LinearIndex<Words> linear;
    for (int n = 0; n < m_order; ++n) {
      std::uint64_t const field = lower(n, index[n]);
      int const shift           = m_shift[n];
      if (shift < word_bits)
        linear.word[0] |= field << shift;
      else if constexpr (Words == 2)
        linear.word[1] |= field << (shift - word_bits);
      if constexpr (Words == 2) {
        bool const straddles = shift > 0 && shift < word_bits && shift + m_kept[n] > word_bits;
        if (straddles) linear.word[1] |= field >> (word_bits - shift);
      }
    }
    return linear;
  }

  /// The lower part of mode n's index: a shift and a mask.
  template <int Words>
  [[nodiscard]] KOKKOS_FUNCTION std::uint64_t decode(int n, LinearIndex<Words> const& linear) const {
    int const shift = m_shift[n];
    if constexpr (Words == 1) {
      return linear.word[0] >> shift & mask(n);
    } else {
      if (shift >= word_bits) return linear.word[1] >> (shift - word_bits) & mask(n);
      // A shift by 64 is undefined: the upper word is shifted left in two steps.
      return (linear.word[0] >> shift | linear.word[1] << 1 << (word_bits - 1 - shift)) & mask(n);
    }
  }

private:
  [[nodiscard]] KOKKOS_FUNCTION std::uint64_t mask(int n) const {
    return m_kept[n] == word_bits ? ~std::uint64_t(0) : (std::uint64_t(1) << m_kept[n]) - 1;
  }

  std::uint8_t m_kept[max_order]{};
  std::uint8_t m_shift[max_order]{};
  std::uint8_t m_order = 0;
  std::uint8_t m_bits  = 0;
  bool m_strips        = false;
};
static_assert(std::is_trivially_copyable_v<BlcoEncoding>);

}  // namespace polyad::detail
