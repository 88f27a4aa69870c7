// SPDX-License-Identifier: BSD-3-Clause
// The host's TinyVec: a block of columns in SIMD registers (GenTen, section 5). The accumulator of a
// kernel stays in registers only because its type is a SIMD type. With a plain array in a class g++ 12
// kept it in memory, and every nonzero paid a store and a load (measured: uber, R = 16, 61 against 25 ms).
#pragma once

#include <Kokkos_Core.hpp>
#include <Kokkos_SIMD.hpp>
#include <algorithm>
#include <bit>
#include <type_traits>

#include "polyad/kernel/columns.hpp"
#include "polyad/kernel/unrolled.hpp"

namespace polyad {

/// Bytes of the widest SIMD register that Kokkos was configured for.
#if defined(KOKKOS_ARCH_AVX512XEON)
inline constexpr int simd_bytes     = 64;
inline constexpr int simd_bytes_min = 32;  // narrowest pack that Kokkos SIMD offers there
#elif defined(KOKKOS_ARCH_AVX2)
inline constexpr int simd_bytes     = 32;
inline constexpr int simd_bytes_min = 16;
#elif defined(KOKKOS_ARCH_ARM_NEON)
inline constexpr int simd_bytes     = 16;
inline constexpr int simd_bytes_min = 8;
#else
inline constexpr int simd_bytes     = 1;
inline constexpr int simd_bytes_min = 1;
#endif

namespace detail {

/// Elements in one SIMD pack for a block: the widest register that the block fills, else single elements.
template <class Scalar, int Block>
constexpr int simd_width() {
  constexpr int element = int(sizeof(Scalar));
  for (int bytes = simd_bytes; bytes >= simd_bytes_min && bytes > element; bytes /= 2) {
    if (element == 8 && bytes != simd_bytes) break;  // doubles come in full registers only
    if (bytes / element <= Block && Block % (bytes / element) == 0) return bytes / element;
  }
  return 1;
}

template <class Scalar, int Width>
struct SimdPack {
  using type = Kokkos::Experimental::simd<Scalar, Width>;
};
template <class Scalar>
struct SimdPack<Scalar, 1> {
  using type = Kokkos::Experimental::basic_simd<Scalar, Kokkos::Experimental::simd_abi::scalar>;
};

}  // namespace detail

/// Host: the one lane holds the whole block as `packs` SIMD registers.
template <class Space, class Scalar, int Block>
class TinyVec<Space, Scalar, Block, RowForm::simd> {
public:
  using space_type                    = Space;
  using scalar_type                   = Scalar;
  static constexpr int block          = Block;
  static constexpr auto form          = RowForm::simd;
  static constexpr int lanes          = 1;
  static constexpr int width          = Block;
  static constexpr bool adds_together = false;
  static constexpr int pack_width     = detail::simd_width<Scalar, Block>();
  static constexpr int packs          = Block / pack_width;
  /// Rows that a kernel may sum at the same time. They take half of the registers; the rest is for operands.
  static constexpr int rows_in_registers =
      std::clamp((simd_bytes == 64 ? 16 : 8) / packs, 1, std::min(8, Block));
  using pack_type = typename detail::SimdPack<Scalar, pack_width>::type;
  using mask_type = typename pack_type::mask_type;

  /// The columns of a block from which column R cuts off at most Most. It has the masks of the registers that
  /// may be cut. They are formed once for a walk: their origin is hidden from GCC, which would form them for
  /// every row again if registers are few (alto, f64, R = 20, AVX2: 74 ms instead of 14).
  template <int Most>
  class CutBy : public Columns {
  public:
    /// The registers before this one are whole.
    static constexpr int first_cut = std::max(0, Block - Most) / pack_width;

    KOKKOS_FORCEINLINE_FUNCTION explicit CutBy(Columns const& columns) : Columns(columns) {
      KOKKOS_ASSERT(columns.count >= Block - Most);
      unrolled<packs - first_cut>([&](auto k) {
        m_mask[k] = TinyVec::first(columns.count, first_cut + k);
        hide(m_mask[k]);
      });
    }
    /// The elements of register P that are left of column R. The register is one that may be cut.
    template <int P>
    [[nodiscard]] KOKKOS_FORCEINLINE_FUNCTION mask_type mask() const {
      return m_mask[P - first_cut];
    }
    /// Whether register P has columns of the row.
    template <int P>
    [[nodiscard]] KOKKOS_FORCEINLINE_FUNCTION bool has() const {
      return P * pack_width < Block - Most || P * pack_width < this->count;
    }

  private:
    KOKKOS_FORCEINLINE_FUNCTION static void hide([[maybe_unused]] mask_type& mask) {
#if defined(KOKKOS_ARCH_AVX2) && !defined(KOKKOS_ARCH_AVX512XEON)
      auto const hidden = [&mask](auto native) {
        __asm__("" : "+x"(native));
        mask = mask_type(native);
      };
      if constexpr (sizeof(Scalar) == 8 && pack_width == 4)
        hidden(static_cast<__m256d>(mask));
      else if constexpr (pack_width == 8)
        hidden(static_cast<__m256>(mask));
#endif
    }
    mask_type m_mask[std::max(1, packs - first_cut)];
  };
  /// What column R may cut off from a block of kernel/rank_dispatch.hpp.
  using CutColumns = CutBy<most_cut_columns(Block)>;
  /// The columns of a whole block. GCC did not see that Columns had the number of a whole block, and compared
  /// it for every row that was read.
  using WholeColumns = CutBy<0>;

  KOKKOS_FUNCTION static Columns columns(int block_first, int rank, int /*lane*/) {
    return {block_first, rank - block_first < Block ? rank - block_first : Block};
  }

  TinyVec() = default;
  // These are forced inline because of GCC: a call in a walk over nonzeros sends every row in registers to
  // memory and back (b-csf on uber, R = 16, one core of an AMD EPYC: 7.0 ms a mode instead of 1.6).
  KOKKOS_FORCEINLINE_FUNCTION explicit TinyVec(Scalar value) {
    unrolled<packs>([&](auto p) { m_pack[p] = pack_type(value); });
  }
  KOKKOS_FORCEINLINE_FUNCTION TinyVec(Scalar const* row, Columns columns) {
    row += columns.first;
    if (columns.count == Block && Block % pack_width == 0)
      unrolled<packs>([&](auto p) { m_pack[p].copy_from(row + p * pack_width, aligned()); });
    else
      unrolled<packs>([&](auto p) {
        m_pack[p] = pack_type(Scalar(0));
        where(first(columns.count, p), m_pack[p]).copy_from(row + p * pack_width, aligned());
      });
  }
  template <int Most>
  KOKKOS_FORCEINLINE_FUNCTION TinyVec(Scalar const* row, CutBy<Most> const& columns) {
    row += columns.first;
    unrolled<packs>([&](auto p) {
      if constexpr (p < CutBy<Most>::first_cut) {
        m_pack[p].copy_from(row + p * pack_width, aligned());
      } else {
        m_pack[p] = pack_type(Scalar(0));
        where(columns.template mask<p()>(), m_pack[p]).copy_from(row + p * pack_width, aligned());
      }
    });
  }

  KOKKOS_FORCEINLINE_FUNCTION TinyVec& operator*=(TinyVec const& other) {
    unrolled<packs>([&](auto p) { m_pack[p] = m_pack[p] * other.m_pack[p]; });
    return *this;
  }
  KOKKOS_FORCEINLINE_FUNCTION TinyVec& operator+=(TinyVec const& other) {
    unrolled<packs>([&](auto p) { m_pack[p] = m_pack[p] + other.m_pack[p]; });
    return *this;
  }
  KOKKOS_FORCEINLINE_FUNCTION void multiply_add(Scalar a, TinyVec const& b) {
    pack_type const scale(a);
    unrolled<packs>([&](auto p) { m_pack[p] = Kokkos::fma(scale, b.m_pack[p], m_pack[p]); });
  }
  KOKKOS_FORCEINLINE_FUNCTION void multiply_add(TinyVec const& a, TinyVec const& b) {
    unrolled<packs>([&](auto p) { m_pack[p] = Kokkos::fma(a.m_pack[p], b.m_pack[p], m_pack[p]); });
  }
  /// The sum of the products of the elements; those right of column R were read as zeros. Halves are added to
  /// halves, always in the same order. Added one by one, each addition would wait for the one before.
  KOKKOS_FORCEINLINE_FUNCTION Scalar dot(TinyVec const& other, Columns) const {
    pack_type sum = m_pack[0] * other.m_pack[0];
    unrolled<packs - 1>([&](auto p) { sum = Kokkos::fma(m_pack[p + 1], other.m_pack[p + 1], sum); });
    alignas(64) Scalar element[pack_width];
    sum.copy_to(element, aligned());
    unrolled<std::bit_width(unsigned{pack_width}) - 1>([&](auto step) {
      constexpr int half = pack_width >> (step + 1);
      for (int e = 0; e < half; ++e) element[e] += element[e + half];
    });
    return element[0];
  }
  KOKKOS_FORCEINLINE_FUNCTION void store(Scalar* row, Columns columns) const {
    row += columns.first;
    if (columns.count == Block && Block % pack_width == 0)
      unrolled<packs>([&](auto p) { m_pack[p].copy_to(row + p * pack_width, aligned()); });
    else
      unrolled<packs>([&](auto p) {
        where(first(columns.count, p), m_pack[p]).copy_to(row + p * pack_width, aligned());
      });
  }
  template <int Most>
  KOKKOS_FORCEINLINE_FUNCTION void store(Scalar* row, CutBy<Most> const& columns) const {
    row += columns.first;
    unrolled<packs>([&](auto p) {
      if constexpr (p < CutBy<Most>::first_cut)
        m_pack[p].copy_to(row + p * pack_width, aligned());
      else
        where(columns.template mask<p()>(), m_pack[p]).copy_to(row + p * pack_width, aligned());
    });
  }
  /// Reads whole registers, including the padding that shares a register with the row's columns. For rows
  /// with space for that (make_output_matrix).
  template <int Most>
  KOKKOS_FORCEINLINE_FUNCTION static TinyVec with_padding(Scalar const* row, CutBy<Most> const& columns) {
    TinyVec vec;
    row += columns.first;
    unrolled<packs>([&](auto p) {
      if (columns.template has<p()>())
        vec.m_pack[p].copy_from(row + p * pack_width, aligned());
      else
        vec.m_pack[p] = pack_type(Scalar(0));
    });
    return vec;
  }
  /// Writes whole registers. For a row that was read with its padding, and to which only zeros were added
  /// right of column R, so that the padding keeps its numbers. A load that follows a masked store to the same
  /// place waits for it: alto on uber, R = 10, one core, took 7.1 ms, not 4.2.
  template <int Most>
  KOKKOS_FORCEINLINE_FUNCTION void store_with_padding(Scalar* row, CutBy<Most> const& columns) const {
    row += columns.first;
    unrolled<packs>([&](auto p) {
      if (columns.template has<p()>()) m_pack[p].copy_to(row + p * pack_width, aligned());
    });
  }
  /// Zeros right of column R.
  template <int Most>
  KOKKOS_FORCEINLINE_FUNCTION void zero_padding(CutBy<Most> const& columns) {
    unrolled<packs>([&](auto p) {
      if constexpr (p >= CutBy<Most>::first_cut) {
        pack_type const whole                          = m_pack[p];
        m_pack[p]                                      = pack_type(Scalar(0));
        where(columns.template mask<p()>(), m_pack[p]) = whole;
      }
    });
  }
  void atomic_add_to(Scalar* row, Columns columns) const {
    alignas(64) Scalar element[Block];
    for (int p = 0; p < packs; ++p) m_pack[p].copy_to(element + p * pack_width, aligned());
    for (int e = 0; e < columns.count; ++e) Kokkos::atomic_add(row + columns.first + e, element[e]);
  }
  void atomic_add_to_scratch(Scalar* row, Columns columns) const { atomic_add_to(row, columns); }

private:
  static constexpr auto aligned() { return Kokkos::Experimental::simd_flag_default; }
  /// The elements of pack p that are among the first `count` of the block.
  KOKKOS_FORCEINLINE_FUNCTION static mask_type first(int count, int p) {
    if constexpr (pack_width == 1) return mask_type(p < count);
#if defined(KOKKOS_ARCH_AVX512XEON)
    using Bits = std::conditional_t<pack_width == 16, __mmask16, __mmask8>;
    return mask_type(static_cast<Bits>(~std::uint64_t(0) >> (64 - count) >> (p * pack_width)));
#else
    return pack_type([](std::size_t e) { return Scalar(e); }) < pack_type(Scalar(count - p * pack_width));
#endif
  }
  pack_type m_pack[packs];
};

}  // namespace polyad
