// SPDX-License-Identifier: BSD-3-Clause
// hadamard_of_grams: H (R x R), the Hadamard product of the Gram matrices of all modes but one, and the scale
// of that mode's next factor.
//
// The model is sum_r w_r a^(0)_r o ... o a^(N-1)_r with weights w, which are powers of two. With many long
// modes the solution for a factor would leave the range of floats, since H is a product of N - 1 squared
// norms. So w is chosen before the factor is computed, and the factor is divided by w. This changes no
// mantissa.
//
// w_r is the norm of component r in the current model, divided by one number for all components. An update
// rarely changes a component's norm by more than the root of its number of rows. The divisor is the product
// of I_n^(1/4) over all modes, the target for the product of a component's column norms. Its exponent is
// halfway between two cases: dense columns with entries of order one, and columns with a single such entry.
// In both cases it keeps products of N - 1 rows in the range of floats. Errors of this estimate do not
// accumulate, because each update aims at the same norm.
//
// Next to bounds, a component may have almost vanished: coordinate descent leaves rounding errors where an
// entry's best value is 0. Least squares may then give it any norm up to the tensor's, so the estimate takes
// it for a component of at least 2^-40 of the tensor's norm. If w followed it further down, the factor or the
// inverse of H would overflow.
//
// A penalty is on B^(n) = A^(n) diag(s_n), the factors of a model without weights: the product of all modes'
// s_n, and of the number c by which the tensor was multiplied, is w.
#pragma once

#include <Kokkos_Core.hpp>
#include <algorithm>
#include <cmath>
#include <cstdint>

#include "dense/gram.hpp"
#include "dense/power_of_two.hpp"
#include "polyad/core/error.hpp"
#include "polyad/core/types.hpp"

namespace polyad::detail {

/// The Gram matrices A^(n)' A^(n) of all modes: N x R x R.
template <class Space>
using GramMatrices = Kokkos::View<double***, Kokkos::LayoutRight, typename Space::device_type>;

/// Numbers that an iteration leaves on the device until the host asks for them
/// (cp/run/iteration_numbers.hpp).
template <class Space>
using DeviceNumbers = Kokkos::View<double*, typename Space::device_type>;

/// The powers of two of the columns of all modes.
template <class Space>
struct ColumnScales {
  DeviceNumbers<Space> weights;   // w, R
  DeviceNumbers<Space> of_modes;  // s, N x R
  double of_tensor = 1;           // c
  /// w before the last choice, that of the factor that is there, R; or no memory.
  DeviceNumbers<Space> before = {};
};

/// Whether the weights of the next factor are chosen, or stay, and the ridge under which it is computed.
struct NextWeights {
  bool are_chosen = true;
  double ridge    = 0;
  /// Bit n: mode n keeps its norms, which may be of any size and count in no target.
  std::uint32_t kept = 0;
  /// The norm at which each component is estimated at least, divided by the target of this mode's columns; 0
  /// without bounds.
  double least_norm = 0;
};

/// The share of the tensor's norm that is the least estimate of a component's. The new columns' squares are
/// then in the range of floats.
inline constexpr double least_component = 0x1p-40;

/// The target for the norms of each mode's columns: I_n^(1/4), rounded to a power of two.
inline double column_norm(count_t rows) {
  return std::exp2(std::round(std::log2(std::max(static_cast<double>(rows), 1.0)) / 4));
}

template <class Space>
struct HadamardOfGrams {
  GramMatrices<Space> grams;
  int mode;
  double component_norm;
  NextWeights next;
  ColumnScales<Space> scales;
  GramMatrix<Space> H;

  KOKKOS_FUNCTION void operator()(count_t e) const {
    count_t const i = e / H.extent(1);
    count_t const j = e % H.extent(1);
    double product  = 1;
    for (int n = 0; n < grams.extent_int(0); ++n)
      if (n != mode) product *= grams(n, i, j);
    H(i, j) = product;
    if (i == j && next.are_chosen) weigh(i, product);
  }

  /// Chooses w_r. If it is 0, the next factor becomes about as large as the MTTKRP.
  /// \param square  H(r, r)
  KOKKOS_FUNCTION void weigh(count_t r, double square) const {
    double others = 1;  // the others' s
    count_t own   = r;
    for (int n = 0; n < grams.extent_int(0); ++n) {
      count_t const at = n * H.extent(0) + r;
      if (n == mode)
        own = at;
      else
        others *= scales.of_modes(at);
    }
    double squares = square;
    if (next.kept != 0 && square != 0) {
      squares = 1;
      for (int n = 0; n < static_cast<int>(grams.extent(0)); ++n)
        if (n != mode && (next.kept >> n & 1U) == 0) squares *= grams(n, r, r);
    }
    double weight          = scales.weights(r) * Kokkos::sqrt(squares * grams(mode, r, r)) / component_norm;
    double const curvature = with_ridge(square, others);
    if (!is_scale(weight))
      weight = weight_for(curvature);
    else if (curvature > 0)
      weight = Kokkos::fmax(weight, Kokkos::fmin(next.least_norm / Kokkos::sqrt(curvature), 0x1p1022));
    weight = power_of_two_below(weight);
    if (scales.before.data() != nullptr) scales.before(r) = scales.weights(r);
    scales.weights(r) = weight;
    // A ridge may let a component vanish, and the scales of other modes with it.
    scales.of_modes(own) = Kokkos::fmin(weight / (scales.of_tensor * others), 0x1p1022);
  }
  [[nodiscard]] KOKKOS_FUNCTION double with_ridge(double square, double others) const {
    return next.ridge == 0 || square == 0 ? square : square + next.ridge / others / others;
  }
  /// 1 for a component that has vanished.
  [[nodiscard]] KOKKOS_FUNCTION double weight_for(double square) const {
    bool const is_in_range = is_scale(square) && (next.ridge == 0 || square > 0x1p-400);
    return is_in_range ? 1 / power_of_two_below(square) : 1;
  }
};

/// H = the Hadamard product of grams(m) over m != mode, for hadamard_of_grams or normal_equations.
/// \param component_norm  a power of two, the target for the product of the norms of a component's columns in
///                        modes that do not keep their norms
/// \param scales  in: those of the current model with all its grams, or weights of 0 if they do not give the
///                scale of the new component; out: those of the new one, if `next` says so
/// \throws UsageError when shapes do not match
template <class Space>
[[nodiscard]] HadamardOfGrams<Space> make_hadamard(GramMatrices<Space> const& grams, int mode,
                                                   double component_norm, NextWeights next,
                                                   ColumnScales<Space> const& scales,
                                                   GramMatrix<Space> const& H) {
  count_t const rank = H.extent(0);
  POLYAD_EXPECTS(H.extent(1) == rank && grams.extent(1) == rank && grams.extent(2) == rank, "H is ", rank,
                 " x ", H.extent(1), " but the Gram matrices are ", grams.extent(1), " x ", grams.extent(2));
  POLYAD_EXPECTS(scales.weights.extent(0) == rank && scales.of_modes.extent(0) == grams.extent(0) * rank,
                 scales.weights.extent(0), " weights and ", scales.of_modes.extent(0), " scales for ",
                 grams.extent(0), " modes and the rank ", rank);
  return {grams, mode, component_norm, next, scales, H};
}

/// Launches on `space` and returns without waiting.
template <class Space>
void hadamard_of_grams(Space const& space, HadamardOfGrams<Space> const& hadamard) {
  Kokkos::parallel_for("polyad::hadamard_of_grams",
                       Kokkos::RangePolicy<Space, Kokkos::IndexType<count_t>>(space, 0, hadamard.H.size()),
                       hadamard);
}

}  // namespace polyad::detail
