// SPDX-License-Identifier: BSD-3-Clause
// Sums of floats in pieces, for walks that sum a row in registers. A float that has added thousands of terms
// of one sign loses digits with each further term. So a walk adds the sum to a second row of floats after a
// few hundred terms, and begins again at zero. After some pieces the second row is added to doubles. At the
// end of the row the total is rounded once. A host's walk may sum millions of terms. The chunks of a device's
// threads are short, and sums of doubles need no pieces: there these functions do nothing.
#pragma once

#include <Kokkos_Core.hpp>
#include <type_traits>

#include "polyad/core/types.hpp"
#include "polyad/kernel/columns.hpp"

namespace polyad::detail {

/// Whether sums of this type are formed in pieces.
template <class Scalar>
inline constexpr bool sums_in_pieces = std::is_same_v<Scalar, float>;

/// The most terms that a float adds. The sum of n terms of one sign has an error of at most n / 2 rounding
/// errors of the sum, here 8e-6 of it. Counts of up to 255 fit a byte.
inline constexpr count_t terms_of_a_piece = 255;

/// The pieces of one sum: of a TinyVec, or of another class that is stored in `Elements` numbers with the
/// columns {0, Width}. Sums are passed by value: GCC keeps a sum in memory instead of registers if a
/// reference can reach it.
template <class Sum, class Scalar, RowForm Form, int Elements, int Width>
class PieceSumsOf {
public:
  static constexpr bool is_used = Form == RowForm::simd && sums_in_pieces<Scalar>;
  /// Terms after which a walk calls take(). A multiple of 4, so that packs of nonzeros stay aligned.
  static constexpr int terms = static_cast<int>(terms_of_a_piece / 4 * 4) - 4;

  /// The end of the piece that begins with term p, if there are terms up to `end`.
  template <class Number>
  [[nodiscard]] KOKKOS_FORCEINLINE_FUNCTION static Number piece_end(Number p, Number end) {
    if constexpr (is_used)
      return end - p > Number(terms) ? p + Number(terms) : end;
    else
      return end;
  }
  /// Takes the sum of a piece. Returns the sum to continue with: zero.
  [[nodiscard]] KOKKOS_FORCEINLINE_FUNCTION Sum take(Sum const sum) {
    if constexpr (is_used) {
      add_piece(sum);
      return Sum(Scalar(0));
    } else {
      return sum;
    }
  }
  /// The sum of all pieces and the last one, `sum`. The next sum begins.
  [[nodiscard]] KOKKOS_FORCEINLINE_FUNCTION Sum total(Sum const sum) {
    if constexpr (is_used)
      if (m_pieces > 0) [[unlikely]]
        return total_of_pieces(sum);
    return sum;
  }

private:
  /// Pieces that a float adds: together with the terms of a piece this keeps the error below 1e-5.
  static constexpr int most_pieces = 64;
  static constexpr int elements    = is_used ? Elements : 1;
  static constexpr Columns all() { return {0, Width}; }

  // These run once for hundreds of terms. Inlined, they would take registers from the walk.
  [[gnu::noinline]] void add_piece(Sum const sum) {
    if (m_pieces == most_pieces) add_to_doubles();
    Sum pieces(m_floats, all());
    pieces += sum;
    pieces.store(m_floats, all());
    ++m_pieces;
  }
  [[nodiscard, gnu::noinline]] Sum total_of_pieces(Sum const sum) {
    if (m_has_doubles) return rounded(sum);
    Sum pieces(m_floats, all());
    pieces += sum;
    Sum(Scalar(0)).store(m_floats, all());
    m_pieces = 0;
    return pieces;
  }
  void add_to_doubles() {
    for (int e = 0; e < elements; ++e) {
      m_doubles[e] += static_cast<double>(m_floats[e]);
      m_floats[e] = Scalar(0);
    }
    m_has_doubles = true;
    m_pieces      = 0;
  }
  [[nodiscard]] Sum rounded(Sum const sum) {
    add_to_doubles();
    sum.store(m_floats, all());
    add_to_doubles();
    for (int e = 0; e < elements; ++e) m_floats[e] = static_cast<Scalar>(m_doubles[e]);
    Sum const total(m_floats, all());
    for (int e = 0; e < elements; ++e) {
      m_doubles[e] = 0;
      m_floats[e]  = Scalar(0);
    }
    m_has_doubles = false;
    return total;
  }

  alignas(64) Scalar m_floats[elements]{};
  double m_doubles[elements]{};
  int m_pieces       = 0;
  bool m_has_doubles = false;
};

/// The pieces of a row.
template <class Row>
using PieceSums = PieceSumsOf<Row, typename Row::scalar_type, Row::form, Row::block, Row::block>;

}  // namespace polyad::detail
