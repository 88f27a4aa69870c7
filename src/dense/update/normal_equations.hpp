// SPDX-License-Identifier: BSD-3-Clause
// normal_equations: the R x R part of an ALS update. H is the Hadamard product of the Gram matrices of all
// modes but one, and a ridge on its diagonal. It is factored by Cholesky and inverted. If H is singular to
// the factors' precision, its pseudo-inverse is formed from its eigenvectors instead. This gives the
// minimum-norm update (Kolda & Bader, "Tensor decompositions and applications", SIAM Review 51(3), 2009,
// section 3.4).
//
// The factors need not be normalised. With D = diag(H)^(1/2), the scaled matrix D^-1 H D^-1 is the H of
// normalised factors. It is this matrix that is factored or pseudo-inverted, which gives W = D^-1 (D^-1 H
// D^-1)^+ D^-1. If H is regular, W is its inverse.
//
// With many long modes W underflows in floats. So the new factor is V W S, whose columns are scaled by powers
// of two S = diag(1 / w) (dense/update/hadamard_of_grams.hpp).
//
// A ridge penalty rho/2 ||B||^2 on B = A diag(s), of a tensor that was multiplied by c, adds rho c^2 s^2 /
// w^2 to the diagonal of H: the columns' normal equations are A (diag(w) H diag(w) + rho c^2 diag(s)^2) =
// V diag(w).
//
// The inverse is formed explicitly, so that the solve for I_n rows becomes one streaming product. Up to R =
// 128 its R^3 flops are few, and only latency matters. One team does everything in its scratch pad, with one
// barrier for each of R steps, no square root and no reduction. For larger R many teams do the same by blocks
// (dense/update/block_inverse.hpp). If H is singular, many teams of a host form the pseudo-inverse
// (dense/update/low_rank_inverse.hpp), and one team of a device. The device never waits for the host.
#pragma once

#include <Kokkos_Core.hpp>
#include <algorithm>
#include <cmath>

#include "dense/dense_tuning.hpp"
#include "dense/symmetric_eigen.hpp"
#include "dense/update/block_inverse.hpp"
#include "dense/update/hadamard_of_grams.hpp"
#include "dense/update/low_rank_inverse.hpp"
#include "kernel/launch_shape.hpp"
#include "polyad/core/instances.hpp"
#include "polyad/kernel/machine.hpp"

namespace polyad::detail {

/// H, and the powers of two of the factor that is solved for.
template <class Space>
struct ScaledHadamard {
  using Numbers = Kokkos::View<double const*, typename Space::device_type>;
  Kokkos::View<double const**, Kokkos::LayoutRight, typename Space::device_type> H;  // R x R
  Numbers weights;                                                                   // w, R
  Numbers scale;                   // s, R; read only if there is a ridge
  double of_tensor       = 1;      // c
  double ridge           = 0;      // rho
  bool may_have_vanished = false;  // next to bounds, what is left of a component may be rounding errors
};

/// Doubles from row to row: odd, so that the entries of a column are in different banks of shared memory.
KOKKOS_INLINE_FUNCTION constexpr int scratch_stride(int size) {
  return size | 1;
}

template <class Space, class Scalar>
struct NormalEquations {
  using scalar_type = Scalar;
  /// The bound for H's eigenvalues. H is summed in double, but the MTTKRP has rounding errors of Scalar,
  /// which an eigenvalue w amplifies by 1 / w. For floats the bound of doubles is too small: after a start
  /// with collinear columns, one update left a model a million times the tensor.
  static constexpr double epsilon = Kokkos::Experimental::epsilon_v<Scalar>;
  /// R times this is negligible compared with the largest eigenvalue. The errors of the eigenvalues of
  /// singular matrices were up to 0.9 R epsilon of the largest one in 20,000 tries.
  static constexpr double of_eigenvalues = epsilon + 4 * Kokkos::Experimental::epsilon_v<double>;
  /// A component of a smaller H_rr w_r may have vanished and counts as zero: W S might overflow.
  static constexpr double least_curvature = sizeof(Scalar) < sizeof(double) ? 0x1p-100 : 0x1p-900;
  /// H is nearly singular if the scaled H's inverse has a larger entry on its diagonal (cp/correct_rows.hpp).
  static constexpr double nearly_singular_from = sizeof(Scalar) < sizeof(double) ? 0x1p10 : 0x1p20;

  ScaledHadamard<Space> matrix;
  FactorMatrix<Scalar, Space> inverse;
  DeviceNumbers<Space> fallbacks;
  DeviceNumbers<Space> scratch;  // normal_equations_scratch
  int pad_bytes;                 // size of the scratch pad; 0: everything is in `scratch`
  bool forms_H                    = false;
  HadamardOfGrams<Space> hadamard = {};  // then it has written nothing yet

  template <class Member>
  KOKKOS_FUNCTION void operator()(Member const& member) const {
    int const size   = inverse.extent_int(0);
    int const stride = scratch_stride(size);
    double* const memory =
        pad_bytes > 0 ? static_cast<double*>(member.team_scratch(0).get_shmem(pad_bytes)) : scratch.data();
    SquareMatrix const H{memory, size, stride};
    double* const vectors = memory + size * stride;  // 4 R numbers
    double* const power   = vectors + 2 * size;      // S, once the scaled H is factored
    double* const scale   = vectors + 3 * size;      // D^-1

    if (forms_H) form(member);
    fill(member, H, scale);
    if (factor(member, H, vectors)) {
      weigh(member, power, size);
      multiply(member, H, vectors, scale, power);
    } else {
      weigh(member, power, size);
      fall_back(member, H, vectors);
    }
  }

  /// H and the weights, in memory where the team then reads them.
  template <class Member>
  KOKKOS_FUNCTION void form(Member const& member) const {
    int const size = static_cast<int>(inverse.extent(0));
    Kokkos::parallel_for(Kokkos::TeamVectorRange(member, size * size),
                         [&](int const e) { hadamard(static_cast<count_t>(e)); });
    member.team_barrier();
  }

  /// Forms the pseudo-inverse. S is already in its place among the vectors.
  template <class Member>
  KOKKOS_FUNCTION void fall_back(Member const& member, SquareMatrix H, double* vectors) const {
    double* const power = vectors + 2 * H.size;
    double* const scale = vectors + 3 * H.size;
    SquareMatrix const Q{scratch.data() + (scratch.extent(0) - H.size * H.stride), H.size, H.stride};
    fill(member, H, scale);
    symmetric_eigen(member, H, Q, vectors);
    pseudo_inverse(member, vectors, Q, scale, power);
    Kokkos::single(Kokkos::PerTeam(member), [&] { fallbacks(0) += 1; });
  }

  /// An entry of H with its ridge.
  [[nodiscard]] KOKKOS_FUNCTION double product(int i, int j) const {
    double const entry = matrix.H(i, j);
    if (i != j || matrix.ridge == 0) return entry;
    // A ridge lets components vanish. The column of one that has is zero in H and V, and becomes zero in A.
    if (entry == 0) return 1;
    double const scale = matrix.of_tensor * matrix.scale(i) / matrix.weights(i);
    return entry + Kokkos::fmin(matrix.ridge * scale * scale, 0x1p1000);  // before that its scale overflows
  }

  [[nodiscard]] KOKKOS_FUNCTION double scale_of(int i) const {
    double const square = product(i, i);
    bool const vanished = matrix.may_have_vanished && square * matrix.weights(i) < least_curvature;
    return square == 0 || vanished ? 0 : 1 / Kokkos::sqrt(square);
  }

  /// The scaled H. The column of a component that has vanished is zero, and NaN stays NaN.
  template <class Member>
  KOKKOS_FUNCTION void fill(Member const& member, SquareMatrix H, double* scale) const {
    member.team_barrier();
    Kokkos::parallel_for(Kokkos::TeamVectorRange(member, H.size),
                         [&](int const i) { scale[i] = scale_of(i); });
    member.team_barrier();
    for_each_entry(member, H.size,
                   [&](int const i, int const j) { H(i, j) = scale[i] * product(i, j) * scale[j]; });
    member.team_barrier();
  }

  /// power = S.
  template <class Member>
  KOKKOS_FUNCTION void weigh(Member const& member, double* power, int size) const {
    member.team_barrier();
    Kokkos::parallel_for(Kokkos::TeamVectorRange(member, size),
                         [&](int const r) { power[r] = 1 / matrix.weights(r); });
    member.team_barrier();
  }

  /// H = L D L', Cholesky's factorisation without square roots (Golub & Van Loan, section 4.1.2),
  /// right-looking. The same row operations turn the identity into M = L^-1, which replaces the eliminated
  /// columns: H becomes M below the diagonal. The first R of `vectors` become the reciprocals of D. Returns
  /// false if H is singular to working precision: a pivot is below the rounding of its diagonal entry, or not
  /// a number.
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
          // Row k of M is stored left of column k and ends in an implied 1. Right of it is the row of H,
          // which equals the column of H.
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
        if (i == j) note(sum);
        sum *= scale[i] * scale[j];
        inverse(i, j) = static_cast<Scalar>(sum * power[j]);
        inverse(j, i) = static_cast<Scalar>(sum * power[i]);
      });
    });
  }

  /// Counts an entry on the diagonal of the scaled H's inverse if it means that H is nearly singular.
  KOKKOS_FUNCTION void note(double entry) const {
    if (entry > nearly_singular_from && fallbacks.extent(0) > 1) Kokkos::atomic_add(&fallbacks(1), 1.0);
  }

  /// inverse = scale Q' diag(1 / e, 0 where e is negligible) Q scale S for the eigenvalues e.
  template <class Member>
  KOKKOS_FUNCTION void pseudo_inverse(Member const& member, double const* values, SquareMatrix Q,
                                      double const* scale, double const* power) const {
    double largest = 0;
    Kokkos::parallel_reduce(
        Kokkos::TeamVectorRange(member, Q.size),
        [&](int const i, double& most) { most = Kokkos::max(most, Kokkos::abs(values[i])); },
        Kokkos::Max<double>(largest));
    double const negligible = largest * Q.size * of_eigenvalues;
    for_each_entry(member, Q.size, [&](int const i, int const j) {
      double sum = 0;
      for (int k = 0; k < Q.size; ++k)
        if (!(values[k] <= negligible)) sum += Q(k, i) * Q(k, j) / values[k];
      inverse(i, j) = static_cast<Scalar>(sum * scale[i] * scale[j] * power[j]);
    });
  }
};

/// The most columns of H that one team inverts.
inline constexpr count_t one_team_rank = 128;

/// The scaled H by blocks, S and D^-1, a team for each row.
template <class Equations>
struct FillBlocks {
  Equations equations;
  BlockedMatrix matrix;
  double* vectors;
  int rank;

  template <class Member>
  KOKKOS_FUNCTION void operator()(Member const& member) const {
    int const i        = member.league_rank();
    bool const inside  = i < rank;
    double const scale = inside ? equations.scale_of(i) : 0;
    Kokkos::parallel_for(Kokkos::TeamVectorRange(member, matrix.size), [&](int const j) {
      double entry = i == j ? 1 : 0;
      if (inside && j < rank) entry = scale * equations.product(i, j) * equations.scale_of(j);
      matrix.row(0, 0, i)[j] = entry;
    });
    Kokkos::single(Kokkos::PerTeam(member), [&] {
      if (inside) vectors[2 * rank + i] = 1 / equations.matrix.weights(i);
      if (inside) vectors[3 * rank + i] = scale;
      if (i == 0) *matrix.flag = 0;
    });
  }
};

/// An entry of the inverse and the one that mirrors it, scaled.
template <class Equations>
struct StoreInverse {
  using Scalar = typename Equations::scalar_type;
  Equations equations;
  double const* vectors;
  int rank;

  KOKKOS_FUNCTION void operator()(int i, int j, double entry) const {
    double const* const power = vectors + 2 * rank;
    double const* const scale = vectors + 3 * rank;
    if (i == j) equations.note(entry);
    entry *= scale[i] * scale[j];
    equations.inverse(i, j) = static_cast<Scalar>(entry * power[j]);
    equations.inverse(j, i) = static_cast<Scalar>(entry * power[i]);
  }
};

/// An entry of the scaled H, once D^-1 is among the vectors.
template <class Equations>
struct ScaledEntries {
  Equations equations;
  double const* scale;
  KOKKOS_FUNCTION double operator()(int i, int j) const {
    return scale[i] * equations.product(i, j) * scale[j];
  }
};

/// The pseudo-inverse by one team, where H is singular and many teams have not formed it.
template <class Equations>
struct FallBackFromBlocks {
  Equations equations;
  double const* flag;
  double const* not_formed;  // 0 where many teams have; null: they were not asked
  double* vectors;
  int rank;

  template <class Member>
  KOKKOS_FUNCTION void operator()(Member const& member) const {
    if (*flag == 0) return;
    if (not_formed != nullptr && *not_formed == 0)
      return Kokkos::single(Kokkos::PerTeam(member), [&] { equations.fallbacks(0) += 1; });
    int const stride = scratch_stride(rank);
    equations.fall_back(member, SquareMatrix{vectors + 4 * rank, rank, stride}, vectors);
  }
};

/// One team. With 16 threads of a full warp, each thread has 128 registers, and the warps hide the latency of
/// the steps.
template <class Space>
LaunchShape normal_equations_shape() {
  return launch_shape<Space>(1, 16, 32);
}

/// Doubles of global scratch that normal_equations needs for rank R: H, four vectors and the eigenvectors.
/// Beyond one_team_rank it is the vectors, the blocks, and what the pseudo-inverse by many teams needs.
inline count_t normal_equations_scratch(count_t rank) {
  count_t const of_one_team = 2 * (rank | 1) * rank;
  return 4 * rank + (rank > one_team_rank ? std::max(of_one_team, LowRankMatrix::memory(rank)) : of_one_team);
}

/// R beyond one_team_rank. The scratch holds the vectors, then the matrix by blocks.
template <class Space, class Scalar>
void solve_by_blocks(Space const& space, NormalEquations<Space, Scalar> const& equations) {
  using Equations       = NormalEquations<Space, Scalar>;
  count_t const rank    = equations.inverse.extent(0);
  auto const size       = static_cast<int>(rank);
  double* const vectors = equations.scratch.data();
  auto const matrix     = BlockedMatrix::in(vectors + 4 * rank, rank);
  detail::launch("polyad::fill_blocks",
                 team_policy(space, launch_shape<Space>(BlockedMatrix::padded(rank), 4, 32)),
                 FillBlocks<Equations>{equations, matrix, vectors, size});
  invert_blocks(space, matrix, rank, 8 * static_cast<double>(rank) * Equations::epsilon,
                StoreInverse<Equations>{equations, vectors, size});
  double const* not_formed = nullptr;
  if constexpr (many_teams_for_singular<Space>) {
    if (*matrix.flag == 0) return;  // a host's kernels have ended when their launch returns
    auto const low_rank = LowRankMatrix::in(vectors + 4 * rank, matrix, rank);
    not_formed          = low_rank.matrix.flag;
    invert_low_rank(space, low_rank, rank, Equations::of_eigenvalues,
                    ScaledEntries<Equations>{equations, vectors + 3 * rank},
                    StoreInverse<Equations>{equations, vectors, size});
  }
  detail::launch("polyad::normal_equations", team_policy(space, normal_equations_shape<Space>()),
                 FallBackFromBlocks<Equations>{equations, matrix.flag, not_formed, vectors, size});
}

/// inverse (R x R) = W S, where W is the (pseudo-)inverse of H and its ridge, and S = diag(1 / w).
/// \param fallbacks  (0) is increased by 1 when the pseudo-inverse was needed, and (1), if there is one, by 1
///                   or more when H was regular but nearly singular
/// \param hadamard   forms H and w first, up to one_team_rank in the same launch: a second one took 4 us more
///                   of 16, H200; null if they are there
/// Launches on `space` and returns without waiting.
/// \throws UsageError when shapes do not match
template <class Space, class Scalar>
void normal_equations(Space const& space, ScaledHadamard<Space> const& matrix,
                      DeviceNumbers<Space> const& scratch, DeviceNumbers<Space> const& fallbacks,
                      FactorMatrix<Scalar, Space> const& inverse,
                      HadamardOfGrams<Space> const* hadamard = nullptr) {
  count_t const rank = inverse.extent(0);
  POLYAD_EXPECTS(inverse.extent(1) == rank && matrix.H.extent(0) == rank && matrix.H.extent(1) == rank,
                 "the inverse is ", rank, " x ", inverse.extent(1), " but H is ", matrix.H.extent(0), " x ",
                 matrix.H.extent(1));
  POLYAD_EXPECTS(matrix.weights.extent(0) == rank && (matrix.ridge == 0 || matrix.scale.extent(0) == rank),
                 matrix.weights.extent(0), " weights and ", matrix.scale.extent(0), " scales for the rank ",
                 rank);
  POLYAD_EXPECTS(scratch.extent(0) >= normal_equations_scratch(rank), "the scratch holds ", scratch.extent(0),
                 " numbers, not ", normal_equations_scratch(rank));
  // Up to R = 73 the matrix and the vectors are in the scratch pad. For larger R they stay in the first-level
  // cache of the team's multiprocessor.
  count_t const bytes = (normal_equations_scratch(rank) - (rank | 1) * rank) * sizeof(double);
  int const pad_bytes = pad_for<Space>(bytes);
  auto policy         = team_policy(space, detail::normal_equations_shape<Space>());
  if (pad_bytes > 0) policy.set_scratch_size(0, Kokkos::PerTeam(pad_bytes));
  NormalEquations<Space, Scalar> equations{matrix, inverse, fallbacks, scratch, pad_bytes};
  if (rank > one_team_rank) {
    if (hadamard != nullptr) hadamard_of_grams(space, *hadamard);
    return solve_by_blocks(space, equations);
  }
  if (hadamard != nullptr) {
    equations.forms_H  = true;
    equations.hadamard = *hadamard;
  }
  Kokkos::parallel_for("polyad::normal_equations", without_waiting(policy), equations);
}

#define POLYAD_NORMAL_EQUATIONS(Scalar)                                                                    \
  template void normal_equations(CompiledSpace const&, ScaledHadamard<CompiledSpace> const&,               \
                                 DeviceNumbers<CompiledSpace> const&, DeviceNumbers<CompiledSpace> const&, \
                                 FactorMatrix<Scalar, CompiledSpace> const&,                               \
                                 HadamardOfGrams<CompiledSpace> const*)
POLYAD_EACH_SCALAR(extern, POLYAD_NORMAL_EQUATIONS);

}  // namespace polyad::detail
