// SPDX-License-Identifier: BSD-3-Clause
// The exact minimum of a row under bounds, l1 and ridge in long double, by trying every set of active bounds.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <stdexcept>
#include <vector>

#include "polyad/tensor/constraints.hpp"
#include "support/oracle.hpp"

namespace polyad::test {

/// The objective of a row: 1/2 b' H b - v' b + l1 |b|_1 + ridge/2 ||b||^2.
inline long double row_objective(OracleSquare const& H, long double const* v, Constraints const& c,
                                 std::vector<long double> const& b) {
  long double sum = 0;
  for (std::size_t r = 0; r < b.size(); ++r) {
    sum += c.l1 * std::abs(b[r]) + c.ridge / 2 * b[r] * b[r] - v[r] * b[r];
    for (std::size_t s = 0; s < b.size(); ++s) sum += b[r] * H(r, s) * b[s] / 2;
  }
  return sum;
}

/// An entry is fixed at `value`, or free from `low` to `high` with the sign of its l1.
struct RowPiece {
  bool is_fixed;
  long double value, low, high, sign;
};

inline std::vector<RowPiece> pieces_of(Constraints const& c) {
  std::vector<RowPiece> pieces;
  for (double const end : {c.lower, c.upper})
    if (std::isfinite(end)) pieces.push_back({true, end, 0, 0, 0});
  if (c.l1 > 0 && c.lower < 0 && c.upper > 0) {
    pieces.push_back({true, 0, 0, 0, 0});
    pieces.push_back({false, 0, 0, c.upper, 1});
    pieces.push_back({false, 0, c.lower, 0, -1});
  } else {
    pieces.push_back({false, 0, c.lower, c.upper, c.lower >= 0 ? 1.0L : c.upper <= 0 ? -1.0L : 0.0L});
  }
  return pieces;
}

/// The best row. An entry whose H_rr and penalties are 0 stays. \param old  the row before
inline std::vector<long double> exact_row(OracleSquare const& H, long double const* v, Constraints const& c,
                                          std::vector<long double> const& old) {
  std::size_t const rank = old.size();
  auto const pieces      = pieces_of(c);
  std::vector<std::size_t> chosen(rank, 0);
  std::vector<long double> best = old;
  long double least             = std::numeric_limits<long double>::infinity();
  for (bool more = true; more;) {
    std::vector<std::size_t> free;
    std::vector<long double> b = old;
    for (std::size_t r = 0; r < rank; ++r) {
      if (H(r, r) + c.ridge == 0 && c.l1 == 0) continue;
      if (pieces[chosen[r]].is_fixed)
        b[r] = pieces[chosen[r]].value;
      else
        free.push_back(r);
    }
    OracleSquare part(free.size());
    std::vector<long double> right(free.size());
    for (std::size_t i = 0; i < free.size(); ++i) {
      right[i] = v[free[i]] - c.l1 * pieces[chosen[free[i]]].sign;
      for (std::size_t s = 0; s < rank; ++s)
        if (std::find(free.begin(), free.end(), s) == free.end()) right[i] -= H(free[i], s) * b[s];
      for (std::size_t j = 0; j < free.size(); ++j) part(i, j) = H(free[i], free[j]) + (i == j ? c.ridge : 0);
    }
    bool is_good = true;
    try {
      auto const inverse = oracle_inverse(part);
      for (std::size_t i = 0; i < free.size(); ++i) {
        b[free[i]] = 0;
        for (std::size_t j = 0; j < free.size(); ++j) b[free[i]] += inverse(i, j) * right[j];
        auto const& piece = pieces[chosen[free[i]]];
        is_good           = is_good && b[free[i]] >= piece.low && b[free[i]] <= piece.high;
      }
    } catch (std::domain_error const&) {
      is_good = false;  // another set has the same minimum
    }
    long double const objective = is_good ? row_objective(H, v, c, b) : least;
    if (objective < least) {
      least = objective;
      best  = b;
    }
    std::size_t r = 0;
    while (r < rank && ++chosen[r] == pieces.size()) chosen[r++] = 0;
    more = r < rank;
  }
  return best;
}

}  // namespace polyad::test
