// SPDX-License-Identifier: BSD-3-Clause
// Sums of floats in pieces, for walks that sum a row in registers. A float that has added thousands of terms
// of one sign loses digits with each further term. So a walk moves the sum into doubles from time to time, and
// begins again at zero. At the end of the row it rounds the total once. A host's walk may sum millions of
// terms. The chunks of a device's threads are short, and sums of doubles need no pieces: there these
// functions do nothing.
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

/// The doubles of one sum: of a TinyVec, or of another class that is stored in `Elements` numbers with the
/// columns {0, Width}. Sums are passed by value: GCC keeps a sum in memory instead of registers if a reference
/// can reach it.
template <class Sum, class Scalar, RowForm Form, int Elements, int Width>
class PieceSumsOf {
public:
  static constexpr bool is_used = Form == RowForm::simd && sums_in_pieces<Scalar>;
  /// Terms after which a walk looks whether it is still in the same row. A float then adds less than twice as
  /// many. It is a multiple of 4, so that packs of nonzeros stay aligned.
  static constexpr int terms = static_cast<int>(terms_of_a_piece / 2 / 4 * 4);

  /// The end of the piece that begins with term p, if there are terms up to `end`.
  template <class Number>
  [[nodiscard]] KOKKOS_FORCEINLINE_FUNCTION static Number piece_end(Number p, Number end) {
    if constexpr (is_used)
      return end - p > Number(terms) ? p + Number(terms) : end;
    else
      return end;
  }
  /// Moves the sum into the doubles. Returns the sum to continue with: zero.
  [[nodiscard]] KOKKOS_FORCEINLINE_FUNCTION Sum take(Sum const sum) {
    if constexpr (is_used) {
      add(sum);
      return Sum(Scalar(0));
    } else {
      return sum;
    }
  }
  /// The sum together with the doubles, which are then empty.
  [[nodiscard]] KOKKOS_FORCEINLINE_FUNCTION Sum total(Sum const sum) {
    if constexpr (is_used) {
      if (m_pieces > 0) return rounded(sum);
    }
    return sum;
  }

private:
  static constexpr int elements = is_used ? Elements : 1;
  static constexpr Columns all() { return {0, Width}; }

  // These two run once for many terms. Inlined, they would take registers from the walk.
  [[gnu::noinline]] void add(Sum const sum) {
    alignas(64) Scalar element[elements];
    sum.store(element, all());
    for (int e = 0; e < elements; ++e) {
      double const before = m_pieces > 0 ? m_sums[e] : 0;
      m_sums[e]           = before + static_cast<double>(element[e]);
    }
    ++m_pieces;
  }
  [[nodiscard, gnu::noinline]] Sum rounded(Sum const sum) {
    alignas(64) Scalar element[elements];
    sum.store(element, all());
    for (int e = 0; e < elements; ++e)
      element[e] = static_cast<Scalar>(m_sums[e] + static_cast<double>(element[e]));
    m_pieces = 0;
    return Sum(element, all());
  }

  count_t m_pieces = 0;
  double m_sums[elements];  // set by the first add()
};

/// The doubles of a row.
template <class Row>
using PieceSums = PieceSumsOf<Row, typename Row::scalar_type, Row::form, Row::block, Row::block>;

}  // namespace polyad::detail
