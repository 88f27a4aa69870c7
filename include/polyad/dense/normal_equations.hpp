// SPDX-License-Identifier: BSD-3-Clause
// normal_equations: the R x R side of an ALS update. H = Hadamard product of the Gram matrices of all
// modes but one, factored by Cholesky and inverted; where H is numerically singular its pseudo-inverse is
// formed from its eigenvectors instead, which gives the minimum-norm update (Kolda & Bader, "Tensor
// decompositions and applications", SIAM Review 51(3), 2009, section 3.4).
//
// The inverse is formed once so that the I_n rows of the solve become one streaming product. One team
// does it, in its scratch pad where 2 R^2 + 2 R doubles fit there; the host is never asked.
#pragma once

#include <KokkosBatched_Trsv_Decl.hpp>
#include <KokkosBatched_Trsv_Serial_Impl.hpp>
#include <Kokkos_Core.hpp>

#include "polyad/dense/gram.hpp"
#include "polyad/dense/jacobi_eigen.hpp"

namespace polyad {

/// The Gram matrices A^(n)' A^(n) of all modes: N x R x R.
template <class Space>
using GramMatrices = Kokkos::View<double***, Kokkos::LayoutRight, typename Space::device_type>;

/// Numbers that an iteration leaves on the device until the host asks for them (cp/fit.hpp).
template <class Space>
using DeviceNumbers = Kokkos::View<double*, typename Space::device_type>;

namespace detail {

template <class Space, class Scalar>
struct NormalEquations {
  GramMatrices<Space> grams;
  int mode;
  FactorMatrix<Scalar, Space> inverse;
  DeviceNumbers<Space> fallbacks;
  DeviceNumbers<Space> global_scratch;  // used when empty scratch is asked of the team
  int scratch_bytes;

  template <class Member>
  KOKKOS_FUNCTION void operator()(Member const& member) const {
    int const size = static_cast<int>(inverse.extent(0));
    double* const scratch =
        scratch_bytes > 0 ? static_cast<double*>(member.team_scratch(0).get_shmem(scratch_bytes)) : global_scratch.data();
    SquareMatrix const H{scratch, size};
    SquareMatrix const X{scratch + size * size, size};
    double* const vector = scratch + 2 * size * size;  // 2 R numbers

    fill(member, H);
    double const tolerance = 8 * size * 2.22e-16;  // of a pivot against its diagonal entry
    Kokkos::parallel_for(Kokkos::TeamThreadRange(member, size), [&](int const i) { vector[i] = H(i, i); });
    member.team_barrier();
    if (cholesky(member, H, vector, tolerance)) {
      invert(member, H, X);
      member.team_barrier();
      Kokkos::parallel_for(Kokkos::TeamThreadRange(member, size * size), [&](int const e) {
        inverse(e / size, e % size) = static_cast<Scalar>(X.data[e]);
      });
    } else {
      fill(member, H);
      jacobi_eigen(member, H, X, vector);
      pseudo_inverse(member, H, X);
      Kokkos::single(Kokkos::PerTeam(member), [&] { fallbacks(0) += 1; });
    }
  }

  template <class Member>
  KOKKOS_FUNCTION void fill(Member const& member, SquareMatrix H) const {
    member.team_barrier();
    Kokkos::parallel_for(Kokkos::TeamThreadRange(member, H.size * H.size), [&](int const e) {
      double product = 1;
      for (int n = 0; n < static_cast<int>(grams.extent(0)); ++n)
        if (n != mode) product *= grams(n, e / H.size, e % H.size);
      H.data[e] = product;
    });
    member.team_barrier();
  }

  /// H = L L', L in H's lower triangle. False when a pivot shrinks below `tolerance` times its diagonal
  /// entry (or is not a number): H is then singular to working precision.
  template <class Member>
  KOKKOS_FUNCTION bool cholesky(Member const& member, SquareMatrix H, double const* diagonal,
                                double tolerance) const {
    for (int k = 0; k < H.size; ++k) {
      double const pivot = H(k, k);
      if (!(pivot > tolerance * diagonal[k])) return false;
      double const root = Kokkos::sqrt(pivot);
      member.team_barrier();  // everyone has read the pivot
      Kokkos::parallel_for(Kokkos::TeamThreadRange(member, k, H.size),
                           [&](int const i) { H(i, k) = i == k ? root : H(i, k) / root; });
      member.team_barrier();
      int const left = H.size - k - 1;
      Kokkos::parallel_for(Kokkos::TeamThreadRange(member, left * left), [&](int const e) {
        int const i = k + 1 + e / left;
        int const j = k + 1 + e % left;
        if (j <= i) H(i, j) -= H(i, k) * H(j, k);
      });
      member.team_barrier();
    }
    return true;
  }

  /// X = (L L')^-1; each thread solves for whole columns, which are rows too, X being symmetric.
  template <class Member>
  KOKKOS_FUNCTION void invert(Member const& member, SquareMatrix L, SquareMatrix X) const {
    using namespace KokkosBatched;
    using Unmanaged = Kokkos::MemoryTraits<Kokkos::Unmanaged>;
    using Matrix    = Kokkos::View<double**, Kokkos::LayoutRight, Kokkos::AnonymousSpace, Unmanaged>;
    using Vector    = Kokkos::View<double*, Kokkos::LayoutRight, Kokkos::AnonymousSpace, Unmanaged>;
    Matrix const lower(L.data, L.size, L.size);
    Kokkos::parallel_for(Kokkos::TeamThreadRange(member, L.size), [&](int const j) {
      Vector const column(X.data + j * X.size, X.size);
      for (int i = 0; i < X.size; ++i) column(i) = i == j ? 1.0 : 0.0;
      SerialTrsv<Uplo::Lower, Trans::NoTranspose, Diag::NonUnit, Algo::Trsv::Unblocked>::invoke(1.0, lower, column);
      SerialTrsv<Uplo::Lower, Trans::Transpose, Diag::NonUnit, Algo::Trsv::Unblocked>::invoke(1.0, lower, column);
    });
  }

  /// inverse = Q diag(1 / w, 0 where w is negligible) Q' for the eigenvalues w on H's diagonal.
  template <class Member>
  KOKKOS_FUNCTION void pseudo_inverse(Member const& member, SquareMatrix H, SquareMatrix Q) const {
    int const size = H.size;
    double largest = 0;
    Kokkos::parallel_reduce(
        Kokkos::TeamThreadRange(member, size),
        [&](int const i, double& most) { most = Kokkos::max(most, Kokkos::abs(H(i, i))); },
        Kokkos::Max<double>(largest));
    double const negligible = largest * size * 2.22e-16;
    Kokkos::parallel_for(Kokkos::TeamThreadRange(member, size * size), [&](int const e) {
      int const i = e / size;
      int const j = e % size;
      double sum  = 0;
      for (int k = 0; k < size; ++k)
        if (!(H(k, k) <= negligible)) sum += Q(i, k) * Q(j, k) / H(k, k);
      inverse(i, j) = static_cast<Scalar>(sum);
    });
  }
};

}  // namespace detail

/// Doubles of global scratch that normal_equations needs for rank R.
inline count_t normal_equations_scratch(count_t rank) { return 2 * rank * rank + 2 * rank; }

/// inverse (R x R) = (pseudo-)inverse of the Hadamard product of grams(m) over m != mode. Adds 1 to
/// fallbacks(0) when the pseudo-inverse was needed. Launches on `space` and returns without waiting.
template <class Space, class Scalar>
void normal_equations(Space const& space, GramMatrices<Space> const& grams, int mode,
                      DeviceNumbers<Space> const& scratch, DeviceNumbers<Space> const& fallbacks,
                      FactorMatrix<Scalar, Space> const& inverse) {
  count_t const rank = inverse.extent(0);
  POLYAD_EXPECTS(inverse.extent(1) == rank && grams.extent(1) == rank && grams.extent(2) == rank,
                 "the inverse is ", rank, " x ", inverse.extent(1), " but the Gram matrices are ",
                 grams.extent(1), " x ", grams.extent(2));
  POLYAD_EXPECTS(scratch.extent(0) >= normal_equations_scratch(rank), "the scratch holds ", scratch.extent(0),
                 " numbers, not ", normal_equations_scratch(rank));
  auto policy = team_policy(space, LaunchShape{1, is_device_space<Space> ? 256 : 1, 1});
  count_t const bytes    = normal_equations_scratch(rank) * sizeof(double);
  bool const fits        = is_device_space<Space> && bytes <= 160 * 1024;  // an sm_80 or sm_90 scratch pad
  int const scratch_size = fits ? static_cast<int>(bytes) : 0;
  if (fits) policy.set_scratch_size(0, Kokkos::PerTeam(scratch_size));
  Kokkos::parallel_for("polyad::normal_equations", policy,
                       detail::NormalEquations<Space, Scalar>{grams, mode, inverse, fallbacks, scratch, scratch_size});
}

#define POLYAD_NORMAL_EQUATIONS(Scalar)                                                                   \
  template void normal_equations(Kokkos::DefaultExecutionSpace const&,                                    \
                                 GramMatrices<Kokkos::DefaultExecutionSpace> const&, int,                 \
                                 DeviceNumbers<Kokkos::DefaultExecutionSpace> const&,                     \
                                 DeviceNumbers<Kokkos::DefaultExecutionSpace> const&,                     \
                                 FactorMatrix<Scalar, Kokkos::DefaultExecutionSpace> const&);
extern POLYAD_NORMAL_EQUATIONS(float)
extern POLYAD_NORMAL_EQUATIONS(double)

}  // namespace polyad
