// SPDX-License-Identifier: BSD-3-Clause
// normal_equations: the R x R side of an ALS update. H = Hadamard product of the Gram matrices of all
// modes but one, factored by Cholesky and inverted; where H is singular to the factors' precision its
// pseudo-inverse is formed from its eigenvectors instead, which gives the minimum-norm update (Kolda & Bader,
// "Tensor decompositions and applications", SIAM Review 51(3), 2009, section 3.4).
//
// The factors need not be normalised: with D = diag(H)^(1/2) it is the scaled D^-1 H D^-1, the H of
// normalised factors, that is factored and whose pseudo-inverse is taken, and W = D^-1 (D^-1 H D^-1)^+ D^-1
// that is formed. Where H is regular W is its inverse.
//
// W underflows in floats where many modes are long: W ~ 1 / H, a product of N - 1 squared norms. So the new
// factor is V W S, its columns scaled by powers of two S = diag(1 / w), which change no mantissa, and the
// model is sum_r w_r a^(0)_r o ... o a^(N-1)_r with the weights w. S is known before V is: w_r is the norm of
// component r in the model so far, divided by one number for all components, and an update rarely changes a
// component's norm by more than the root of its rows. That number, the norm that a component's columns have
// together, is the product of I_n^(1/4) over all modes. Halfway on the scale of exponents between dense
// columns with entries of order one and columns with a single one, it keeps the products of N - 1 rows in
// the range of floats for either. Errors of the guess do not pile up: each update aims at that norm anew.
//
// The inverse is formed once so that the I_n rows of the solve become one streaming product. R^3 flops are
// little, so latency is all that counts: one team does everything in its scratch pad, with one barrier for
// each of R steps, no square root and no reduction, and the host is never asked.
#pragma once

#include <Kokkos_Core.hpp>
#include <algorithm>
#include <cmath>

#include "dense/dense_tuning.hpp"
#include "dense/gram.hpp"
#include "dense/jacobi_eigen.hpp"
#include "dense/power_of_two.hpp"
#include "kernel/launch_shape.hpp"
#include "polyad/core/instances.hpp"
#include "polyad/kernel/machine.hpp"

namespace polyad::detail {

/// The Gram matrices A^(n)' A^(n) of all modes: N x R x R.
template <class Space>
using GramMatrices = Kokkos::View<double***, Kokkos::LayoutRight, typename Space::device_type>;

/// Numbers that an iteration leaves on the device until the host asks for them (cp/fit.hpp).
template <class Space>
using DeviceNumbers = Kokkos::View<double*, typename Space::device_type>;

/// Doubles from row to row: odd, so that a column's entries lie in different banks of shared memory.
KOKKOS_INLINE_FUNCTION constexpr int scratch_stride(int size) {
  return size | 1;
}

template <class Space, class Scalar>
struct NormalEquations {
  /// What H's eigenvalues are compared with. H is summed in double, but the MTTKRP that it is solved for
  /// carries the rounding of Scalar, which an eigenvalue w enlarges by 1 / w: with floats and the bounds of
  /// doubles, one update from a start with collinear columns left a model a million times the tensor.
  static constexpr double epsilon = static_cast<double>(Kokkos::Experimental::epsilon_v<Scalar>);

  GramMatrices<Space> grams;
  int mode;
  double component_norm;
  DeviceNumbers<Space> weights;
  FactorMatrix<Scalar, Space> inverse;
  DeviceNumbers<Space> fallbacks;
  DeviceNumbers<Space> scratch;  // normal_equations_scratch
  int pad_bytes;                 // of the scratch pad; 0: everything lies in `scratch`

  template <class Member>
  KOKKOS_FUNCTION void operator()(Member const& member) const {
    int const size   = static_cast<int>(inverse.extent(0));
    int const stride = scratch_stride(size);
    double* const memory =
        pad_bytes > 0 ? static_cast<double*>(member.team_scratch(0).get_shmem(pad_bytes)) : scratch.data();
    SquareMatrix const H{memory, size, stride};
    double* const vectors = memory + size * stride;  // 4 R numbers

    double* const power = vectors + 2 * size;  // S, once H is factored
    double* const scale = vectors + 3 * size;  // D^-1

    fill(member, H, scale);
    if (factor(member, H, vectors)) {
      weigh(member, power, size);
      multiply(member, H, vectors, scale, power);
    } else {
      SquareMatrix const Q{scratch.data() + (scratch.extent(0) - size * stride), size, stride};
      fill(member, H, scale);
      jacobi_eigen(member, H, Q, vectors);
      weigh(member, power, size);
      pseudo_inverse(member, H, Q, scale, power);
      Kokkos::single(Kokkos::PerTeam(member), [&] { fallbacks(0) += 1; });
    }
  }

  [[nodiscard]] KOKKOS_FUNCTION double product(int i, int j) const {
    double product = 1;
    for (int n = 0; n < static_cast<int>(grams.extent(0)); ++n)
      if (n != mode) product *= grams(n, i, j);
    return product;
  }

  /// The scaled H. A column of zeros keeps them; what is not a number stays so.
  template <class Member>
  KOKKOS_FUNCTION void fill(Member const& member, SquareMatrix H, double* scale) const {
    member.team_barrier();
    Kokkos::parallel_for(Kokkos::TeamVectorRange(member, H.size), [&](int const i) {
      double const square = product(i, i);
      scale[i]            = square == 0 ? 0 : 1 / Kokkos::sqrt(square);
    });
    member.team_barrier();
    for_each_entry(member, H.size,
                   [&](int const i, int const j) { H(i, j) = scale[i] * product(i, j) * scale[j]; });
    member.team_barrier();
  }

  /// weights = w and power = S. While w is 0, S makes the diagonal of W S at least 1/2: A is then as large
  /// as V.
  template <class Member>
  KOKKOS_FUNCTION void weigh(Member const& member, double* power, int size) const {
    member.team_barrier();
    Kokkos::parallel_for(Kokkos::TeamVectorRange(member, size), [&](int const r) {
      double const square = product(r, r);
      double weight       = weights(r) * Kokkos::sqrt(square * grams(mode, r, r)) / component_norm;
      if (!is_scale(weight)) weight = is_scale(square) ? 1 / power_of_two_below(square) : 1;
      weight     = power_of_two_below(weight);
      weights(r) = weight;
      power[r]   = 1 / weight;
    });
    member.team_barrier();
  }

  /// H = L D L', Cholesky's factorisation without square roots (Golub & Van Loan, section 4.1.2), right-
  /// looking. The same row operations turn the identity into M = L^-1, which takes the places of the
  /// eliminated columns: below the diagonal H becomes M. The first R of `vectors` become the reciprocals of
  /// D. False when a pivot shrinks below rounding against its diagonal entry (or is not a number): H is then
  /// singular to working precision.
  template <class Member>
  KOKKOS_FUNCTION bool factor(Member const& member, SquareMatrix H, double* vectors) const {
    int const size           = H.size;
    double const tolerance   = 8 * size * epsilon;
    double* const reciprocal = vectors;
    double* column           = vectors + size;      // column k of H before step k
    double* next_column      = vectors + 2 * size;  // column k + 1, filled during step k
    Kokkos::parallel_for(Kokkos::TeamVectorRange(member, size), [&](int const i) { column[i] = H(i, 0); });
    member.team_barrier();
    for (int k = 0; k < size; ++k) {
      double const pivot = column[k];
      if (!(pivot > tolerance)) return false;
      double const inverse_pivot = 1 / pivot;
      Kokkos::single(Kokkos::PerTeam(member), [&] { reciprocal[k] = inverse_pivot; });
      Kokkos::parallel_for(Kokkos::TeamThreadRange(member, k + 1, size), [&](int const i) {
        double const l = column[i] * inverse_pivot;
        Kokkos::parallel_for(Kokkos::ThreadVectorRange(member, i + 1), [&](int const j) {
          // Left of column k stands row k of M, which ends in an implied 1; right of it the row of H, which
          // is the column of H.
          double const entry = j == k ? -l : H(i, j) - l * (j < k ? H(k, j) : column[j]);
          H(i, j)            = entry;
          if (j == k + 1) next_column[i] = entry;
        });
      });
      member.team_barrier();
      double* const done = column;
      column             = next_column;
      next_column        = done;
    }
    return true;
  }

  /// inverse = scale M' D^-1 M scale S.
  template <class Member>
  KOKKOS_FUNCTION void multiply(Member const& member, SquareMatrix M, double const* reciprocal,
                                double const* scale, double const* power) const {
    Kokkos::parallel_for(Kokkos::TeamThreadRange(member, M.size), [&](int const i) {
      Kokkos::parallel_for(Kokkos::ThreadVectorRange(member, i + 1), [&](int const j) {
        double sum = reciprocal[i] * (i == j ? 1.0 : M(i, j));
        for (int m = i + 1; m < M.size; ++m) sum += reciprocal[m] * M(m, i) * M(m, j);
        sum *= scale[i] * scale[j];
        inverse(i, j) = static_cast<Scalar>(sum * power[j]);
        inverse(j, i) = static_cast<Scalar>(sum * power[i]);
      });
    });
  }

  /// inverse = scale Q diag(1 / e, 0 where e is negligible) Q' scale S for the eigenvalues e on H's diagonal.
  template <class Member>
  KOKKOS_FUNCTION void pseudo_inverse(Member const& member, SquareMatrix H, SquareMatrix Q,
                                      double const* scale, double const* power) const {
    double largest = 0;
    Kokkos::parallel_reduce(
        Kokkos::TeamVectorRange(member, H.size),
        [&](int const i, double& most) { most = Kokkos::max(most, Kokkos::abs(H(i, i))); },
        Kokkos::Max<double>(largest));
    double const negligible = largest * H.size * epsilon;
    for_each_entry(member, H.size, [&](int const i, int const j) {
      double sum = 0;
      for (int k = 0; k < H.size; ++k)
        if (!(H(k, k) <= negligible)) sum += Q(i, k) * Q(j, k) / H(k, k);
      inverse(i, j) = static_cast<Scalar>(sum * scale[i] * scale[j] * power[j]);
    });
  }
};

/// One team; 16 threads of a full warp leave 128 registers a thread and hide the latency of its steps.
template <class Space>
LaunchShape normal_equations_shape() {
  return launch_shape<Space>(1, 16, 32);
}

/// Doubles of global scratch that normal_equations needs for rank R: H, four vectors, eigenvectors.
inline count_t normal_equations_scratch(count_t rank) {
  return 2 * (rank | 1) * rank + 4 * rank;
}

/// The norm near which each mode's columns are kept: I_n^(1/4), rounded to a power of two.
inline double column_norm(count_t rows) {
  return std::exp2(std::round(std::log2(std::max(static_cast<double>(rows), 1.0)) / 4));
}

/// inverse (R x R) = W S, where W is the (pseudo-)inverse of the Hadamard product of grams(m) over m != mode.
/// \param component_norm  a power of two, that the norms of a component's columns shall have for a product
/// \param weights    in: w of the model so far, with all its grams, or 0 where it does not tell the scale of
///                   the component to come; out: the powers of two w that go with V W S. S = diag(1 / w)
/// \param fallbacks  (0) is increased by 1 when the pseudo-inverse was needed
/// Launches on `space` and returns without waiting.
template <class Space, class Scalar>
void normal_equations(Space const& space, GramMatrices<Space> const& grams, int mode, double component_norm,
                      DeviceNumbers<Space> const& scratch, DeviceNumbers<Space> const& weights,
                      DeviceNumbers<Space> const& fallbacks, FactorMatrix<Scalar, Space> const& inverse) {
  count_t const rank = inverse.extent(0);
  POLYAD_EXPECTS(inverse.extent(1) == rank && grams.extent(1) == rank && grams.extent(2) == rank,
                 "the inverse is ", rank, " x ", inverse.extent(1), " but the Gram matrices are ",
                 grams.extent(1), " x ", grams.extent(2));
  POLYAD_EXPECTS(weights.extent(0) == rank, weights.extent(0), " weights for the rank ", rank);
  POLYAD_EXPECTS(scratch.extent(0) >= normal_equations_scratch(rank), "the scratch holds ", scratch.extent(0),
                 " numbers, not ", normal_equations_scratch(rank));
  // The matrix and the vectors in the scratch pad up to R = 73. Beyond, they stay in the first-level cache
  // of the team's multiprocessor.
  count_t const bytes = (normal_equations_scratch(rank) - (rank | 1) * rank) * sizeof(double);
  int const pad_bytes = pad_for<Space>(bytes);
  auto policy         = team_policy(space, detail::normal_equations_shape<Space>());
  if (pad_bytes > 0) policy.set_scratch_size(0, Kokkos::PerTeam(pad_bytes));
  Kokkos::parallel_for("polyad::normal_equations", policy,
                       detail::NormalEquations<Space, Scalar>{grams, mode, component_norm, weights, inverse,
                                                              fallbacks, scratch, pad_bytes});
}

#define POLYAD_NORMAL_EQUATIONS(Scalar)                                                           \
  template void normal_equations(Kokkos::DefaultExecutionSpace const&,                            \
                                 GramMatrices<Kokkos::DefaultExecutionSpace> const&, int, double, \
                                 DeviceNumbers<Kokkos::DefaultExecutionSpace> const&,             \
                                 DeviceNumbers<Kokkos::DefaultExecutionSpace> const&,             \
                                 DeviceNumbers<Kokkos::DefaultExecutionSpace> const&,             \
                                 FactorMatrix<Scalar, Kokkos::DefaultExecutionSpace> const&)
POLYAD_EACH_SCALAR(extern, POLYAD_NORMAL_EQUATIONS);

}  // namespace polyad::detail
