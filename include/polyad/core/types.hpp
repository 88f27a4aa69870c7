// SPDX-License-Identifier: BSD-3-Clause
// Index and count types, and Extents, the sizes of a tensor's modes.
//
// Counts, offsets and products are 64-bit everywhere (count_t). The coordinates that a format stores are
// a template parameter `Index`: std::uint32_t by default, std::uint64_t for modes of 2^32 rows and more.
#pragma once

#include <Kokkos_Core.hpp>
#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>

#include "polyad/core/error.hpp"

namespace polyad {

/// Number of nonzeros, rows, bytes; offsets into arrays.
using count_t = std::uint64_t;

/// Orders 1 to 16 are supported.
inline constexpr int max_order = 16;

/// The sizes I_0, ..., I_{N-1} of a tensor's modes 0 ... N - 1. Small, trivially copyable, also on devices.
class Extents {
public:
  Extents() = default;

  /// \throws UsageError unless 1 <= sizes.size() <= max_order
  explicit Extents(std::span<count_t const> sizes) : m_order(static_cast<int>(sizes.size())) {
    POLYAD_EXPECTS(sizes.size() >= 1 && sizes.size() <= max_order, "a tensor has 1 to ", max_order,
                   " modes, not ", sizes.size());
    for (int n = 0; n < m_order; ++n) m_sizes[n] = sizes[n];
  }
  Extents(std::initializer_list<count_t> sizes)
      : Extents(std::span<count_t const>(sizes.begin(), sizes.size())) {}

  /// N, the number of modes; 0 only for a default-constructed object.
  KOKKOS_FUNCTION int order() const { return m_order; }

  /// I_n
  template <std::integral Mode>
  KOKKOS_FUNCTION count_t operator[](Mode n) const {
    return m_sizes[n];
  }

  KOKKOS_FUNCTION friend bool operator==(Extents const& a, Extents const& b) {
    if (a.m_order != b.m_order) return false;
    for (int n = 0; n < a.m_order; ++n)
      if (a.m_sizes[n] != b.m_sizes[n]) return false;
    return true;
  }

private:
  int m_order = 0;
  count_t m_sizes[max_order]{};
};

/// "I_0 x I_1 x ...", for messages.
[[nodiscard]] inline std::string to_string(Extents const& extents) {
  std::string text;
  for (int n = 0; n < extents.order(); ++n) text += (n == 0 ? "" : " x ") + std::to_string(extents[n]);
  return text;
}

/// Throws UsageError unless 0 <= mode < N. Modes count from 0 everywhere.
inline void expect_mode(int mode, Extents const& extents) {
  POLYAD_EXPECTS(mode >= 0 && mode < extents.order(), "mode ", mode, " of a tensor of order ",
                 extents.order(), " (modes count from 0)");
}

}  // namespace polyad
