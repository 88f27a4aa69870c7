// SPDX-License-Identifier: BSD-3-Clause
// Random labels for the rows of a partition. Cuts give each range of rows about as many nonzeros, but a block
// is one range of each mode. Where heavy rows of one mode meet heavy rows of another, some blocks are fuller
// than others. In a random order of the rows they are not (Smith & Karypis, IPDPS 2016, section V).
//
// The order is computed, not stored: a Feistel network permutes the numbers below a power of four. A number
// beyond the rows is permuted again, until it is one of them (Black & Rogaway, "Ciphers with arbitrary finite
// domains", CT-RSA 2002, the cycle-walking cipher). That takes four permutations on the average at most.
#pragma once

#include <bit>
#include <cstdint>

#include "polyad/core/counter_rng.hpp"
#include "polyad/core/types.hpp"

namespace polyad::detail {

/// A random order of the rows 0 ... rows - 1 of a mode, the same on all ranks.
class RandomOrder {
public:
  RandomOrder(count_t rows, int mode)
      : m_rows(rows), m_mode(mode), m_half(static_cast<int>(std::bit_width(rows | 1U) + 1) / 2) {}

  /// The row with this label, which is one of the rows' numbers.
  [[nodiscard]] count_t row(count_t label) const {
    if (m_rows < 2) return label;
    do label = permuted(label);
    while (label >= m_rows);
    return label;
  }
  /// The reverse.
  [[nodiscard]] count_t label(count_t row) const {
    if (m_rows < 2) return row;
    do row = permuted_back(row);
    while (row >= m_rows);
    return row;
  }

private:
  static constexpr std::uint64_t rounds = 6;

  [[nodiscard]] count_t bits_of(std::uint64_t round, count_t half) const {
    return counter_bits(0, m_mode, half, round) >> (64 - m_half);
  }
  [[nodiscard]] count_t permuted(count_t number) const {
    count_t left  = number >> m_half;
    count_t right = number & ((count_t(1) << m_half) - 1);
    for (std::uint64_t round = 0; round < rounds; ++round) {
      count_t const next = left ^ bits_of(round, right);
      left               = right;
      right              = next;
    }
    return left << m_half | right;
  }
  [[nodiscard]] count_t permuted_back(count_t number) const {
    count_t left  = number >> m_half;
    count_t right = number & ((count_t(1) << m_half) - 1);
    for (std::uint64_t round = rounds; round-- > 0;) {
      count_t const before = right ^ bits_of(round, left);
      right                = left;
      left                 = before;
    }
    return left << m_half | right;
  }

  count_t m_rows;
  std::uint64_t m_mode;
  int m_half;  // bits of a half
};

}  // namespace polyad::detail
