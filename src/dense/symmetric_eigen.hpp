// SPDX-License-Identifier: BSD-3-Clause
// Eigenvalues and eigenvectors of a symmetric R x R matrix H by one team of threads: Householder's reduction
// to tridiagonal form (Golub & Van Loan, Matrix Computations, 4th ed., section 8.3.1), then the implicit QR
// algorithm with Wilkinson's shifts (sections 8.3.3 to 8.3.5).
//
// Q's rows become the eigenvectors, so that all loops run along rows. Lanes walk through neighbouring columns
// on a device, and SIMD registers hold them on a host.
//
// The shifts need only the tridiagonal matrix. One thread makes the rotations of R / 2 sweeps ahead. All
// threads then apply these to columns of Q, each to its own, without a barrier.
//
// Errors of the eigenvalues are relative to the largest one, not to each.
#pragma once

#include <Kokkos_Core.hpp>
#include <type_traits>

#include "dense/power_of_two.hpp"
#include "kernel/launch_shape.hpp"

namespace polyad::detail {

/// The matrices as a team sees them: R x R, row-major, in scratch or global memory.
struct SquareMatrix {
  double* data;
  int size;
  int stride;  // from row to row
  KOKKOS_FUNCTION double& operator()(int i, int j) const { return data[i * stride + j]; }
  [[nodiscard]] KOKKOS_FUNCTION double* row(int i) const { return data + i * stride; }
};

/// Calls f(i, j) for all entries of an R x R matrix: rows over the threads of a team, columns over lanes.
template <class Member, class F>
KOKKOS_FUNCTION void for_each_entry(Member const& member, int size, F const& f) {
  Kokkos::parallel_for(Kokkos::TeamThreadRange(member, size), [&](int const i) {
    Kokkos::parallel_for(Kokkos::ThreadVectorRange(member, size), [&](int const j) { f(i, j); });
  });
}

/// The steps of symmetric_eigen.
template <class Member>
struct SymmetricEigen {
  /// Columns that a lane has at a time: one on a device, a block of SIMD registers on a host.
  static constexpr int width = narrowest_block<typename Member::execution_space>(1, 32);
  /// Anything smaller than this has no influence on a matrix whose largest entry is about 1. Its square is
  /// still a normal number.
  static constexpr double tiny = 1e-140;

  Member const& member;
  SquareMatrix H;
  SquareMatrix Q;
  double* work;  // 2 R numbers

  /// Number of blocks of `count` columns.
  KOKKOS_FUNCTION static int blocks(int count) { return (count + width - 1) / width; }

  /// Calls f(j, count) for block b of the columns from `first` on. Full blocks have a count that is known
  /// when this is compiled.
  template <class F>
  KOKKOS_FUNCTION void with_block(int first, int b, F const& f) const {
    int const j = first + b * width;
    if (j + width <= H.size)
      f(j, std::integral_constant<int, width>{});
    else if constexpr (width > 1)
      f(j, H.size - j);
  }

  /// Divides H by a power of two, so that its largest entry is between 1 and 2. Returns this power.
  KOKKOS_FUNCTION double scale_matrix() const {
    double largest = 0;
    member.team_barrier();
    Kokkos::parallel_reduce(
        Kokkos::TeamVectorRange(member, H.size * H.size),
        [&](int const e, double& most) { most = Kokkos::max(most, Kokkos::abs(H(e / H.size, e % H.size))); },
        Kokkos::Max<double>(largest));
    double const scale   = power_of_two_below(Kokkos::min(Kokkos::max(largest, 0x1p-1022), 0x1p1022));
    double const inverse = 1 / scale;
    for_each_entry(member, H.size, [&](int const i, int const j) { H(i, j) *= inverse; });
    return scale;
  }

  /// T = Q H Q' with the diagonal and the subdiagonal of T in H. Step k reflects by I - u u', where u'u = 2,
  /// and u's entries from k + 1 on replace row k right of the diagonal.
  ///
  /// The rest of H becomes H - u w' - w u' with w = p - u (u'p / 2) and p = H u. This is put off until the
  /// next step, which reads the rest of H for its own p. So each step passes through H once. Each thread sums
  /// its rows' part of p in a row of Q, which has no other use yet.
  KOKKOS_FUNCTION void tridiagonalize() const {
    int const size  = H.size;
    double* const x = work;         // row k after the reflections before it
    double* const p = work + size;  // the reflection before step k; at first none
    int const parts = Kokkos::min(member.team_size(), size);
    Kokkos::parallel_for(Kokkos::TeamVectorRange(member, size), [&](int const j) { p[j] = 0; });
    for (int k = 0; k < size; ++k) {
      double* const u            = H.row(k);
      double const* const before = k > 0 ? H.row(k - 1) : p;  // u of the reflection before
      member.team_barrier();
      double half = 0;
      Kokkos::parallel_reduce(
          Kokkos::ThreadVectorRange(member, k, size),
          [&](int const j, double& sum) { sum += before[j] * p[j]; }, half);
      half /= 2;
      auto const w = [&](int j) { return p[j] - half * before[j]; };
      Kokkos::parallel_for(Kokkos::TeamVectorRange(member, k, size),
                           [&](int const j) { x[j] = u[j] - before[k] * w(j) - w(k) * before[j]; });
      member.team_barrier();
      if (k + 1 == size) break;
      // The reflection turns x into (alpha, 0, ..., 0).
      double beyond = 0;
      Kokkos::parallel_reduce(
          Kokkos::ThreadVectorRange(member, k + 2, size),
          [&](int const j, double& sum) { sum += x[j] * x[j]; }, beyond);
      double alpha = x[k + 1];
      double scale = 0;
      if (!(beyond <= tiny * tiny)) {  // true for NaN
        double const norm = Kokkos::sqrt(x[k + 1] * x[k + 1] + beyond);
        alpha             = x[k + 1] > 0 ? -norm : norm;
        scale             = 1 / Kokkos::sqrt(alpha * (alpha - x[k + 1]));
      }
      Kokkos::parallel_for(Kokkos::TeamVectorRange(member, k + 1, size),
                           [&](int const j) { u[j] = scale * (j == k + 1 ? x[j] - alpha : x[j]); });
      Kokkos::single(Kokkos::PerTeam(member), [&] {
        H(k, k)     = x[k];
        H(k + 1, k) = alpha;
      });
      member.team_barrier();
      Kokkos::parallel_for(Kokkos::ThreadVectorRange(member, blocks(size - k - 1)), [&](int const b) {
        with_block(k + 1, b, [&](int const j, auto const count) {
          double sum[width] = {}, before_j[width] = {}, w_j[width] = {};
          for (int l = 0; l < count; ++l) {
            before_j[l] = before[j + l];
            w_j[l]      = w(j + l);
          }
          for (int i = k + 1 + member.team_rank(); i < size; i += member.team_size()) {
            double* const row     = H.row(i) + j;
            double const before_i = before[i];
            double const w_i      = w(i);
            double const u_i      = u[i];
            for (int l = 0; l < count; ++l) {
              double const entry = row[l] - before_i * w_j[l] - w_i * before_j[l];
              row[l]             = entry;
              sum[l] += u_i * entry;
            }
          }
          if (member.team_rank() < parts)
            for (int l = 0; l < count; ++l) Q(member.team_rank(), j + l) = sum[l];
        });
      });
      member.team_barrier();
      Kokkos::parallel_for(Kokkos::TeamVectorRange(member, k + 1, size), [&](int const j) {
        double sum = 0;
        for (int part = 0; part < parts; ++part) sum += Q(part, j);
        p[j] = sum;
      });
    }
    Kokkos::single(Kokkos::PerTeam(member), [&] { H(size - 1, size - 1) = x[size - 1]; });
    member.team_barrier();
  }

  /// Q = the product of the reflections, the first one on the right. As above, the reflection of step k - 1
  /// is applied while step k sums u'Q. The last two rows of H hold none and end it.
  KOKKOS_FUNCTION void multiply_reflections() const {
    int const size = H.size;
    Kokkos::parallel_for(Kokkos::TeamVectorRange(member, blocks(size)), [&](int const b) {
      with_block(0, b, [&](int const j, auto const count) {
        for (int i = 0; i < size; ++i)
          for (int l = 0; l < count; ++l) Q(i, j + l) = i == j + l ? 1 : 0;
        double product[width] = {};  // u'Q of the step before
        for (int l = 0; l < count; ++l) product[l] = j + l > 0 ? H(0, j + l) : 0;
        for (int k = 1; k + 1 < size; ++k) {
          double const* const before = H.row(k - 1);
          double const* const u      = H.row(k);
          double sum[width]          = {};
          for (int i = k; i < size; ++i) {
            double* const row     = Q.row(i) + j;
            double const before_i = before[i];
            double const u_i      = i > k ? u[i] : 0;
            for (int l = 0; l < count; ++l) {
              double const entry = row[l] - before_i * product[l];
              row[l]             = entry;
              sum[l] += u_i * entry;
            }
          }
          for (int l = 0; l < count; ++l) product[l] = sum[l];
        }
      });
    });
  }

  /// One sweep through the rows from `first` to `last` of T, of which no subdiagonal entry is negligible.
  /// Rotation i turns rows i and i + 1 by the angle with cosine[i] and sine[i].
  KOKKOS_FUNCTION static void sweep(int first, int last, double* diagonal, double* subdiagonal,
                                    double* cosine, double* sine) {
    // Wilkinson's shift: the eigenvalue of the last 2 x 2 block that is nearer to its last entry.
    double const corner   = subdiagonal[last - 1];
    double const distance = (diagonal[last - 1] - diagonal[last]) / 2;
    double const root     = Kokkos::sqrt(distance * distance + corner * corner);
    double const shift    = diagonal[last] - corner * (corner / (distance + (distance < 0 ? -root : root)));

    double upper    = diagonal[first];
    double entry    = subdiagonal[first];
    double along    = upper - shift;
    double to_clear = entry;  // the entry that rotation i turns into zero
    for (int i = first; i < last; ++i) {
      double const lower  = diagonal[i + 1];  // read early, so that a device need not wait for them
      double const next   = i + 1 < last ? subdiagonal[i + 1] : 0;
      double const square = along * along + to_clear * to_clear;
      double c            = 1;
      double s            = 0;
      if (square > tiny * tiny) {
        double const inverse = Kokkos::rsqrt(square);
        c                    = along * inverse;
        s                    = to_clear * inverse;
        if (i > first) subdiagonal[i - 1] = square * inverse;
      } else if (i > first) {
        subdiagonal[i - 1] = along;
      }
      double const change = s * (lower - upper) + 2 * c * entry;
      diagonal[i]         = upper + s * change;
      upper               = lower - s * change;
      along               = c * change - entry;
      to_clear            = s * next;
      entry               = c * next;
      cosine[i]           = c;
      sine[i]             = s;
    }
    subdiagonal[last - 1] = along;
    diagonal[last]        = upper;
  }

  /// Makes sweeps for as many rows of H as there are, and returns their number, or 0 if T is diagonal. Rows
  /// 2 t and 2 t + 1 of H get the cosines and sines of sweep t, and as their last entries its first and last
  /// row.
  [[nodiscard]] KOKKOS_FUNCTION int make_sweeps(double* diagonal, double* subdiagonal,
                                                double negligible) const {
    int const size = H.size;
    int last       = size - 1;
    for (int sweeps = 0; sweeps < size / 2; ++sweeps) {
      while (last > 0 && Kokkos::abs(subdiagonal[last - 1]) <= negligible) --last;
      if (last == 0) return sweeps;
      int first = last - 1;
      while (first > 0 && Kokkos::abs(subdiagonal[first - 1]) > negligible) --first;
      double* const cosine = H.row(2 * sweeps);
      double* const sine   = H.row(2 * sweeps + 1);
      sweep(first, last, diagonal, subdiagonal, cosine, sine);
      cosine[size - 1] = first;
      sine[size - 1]   = last;
    }
    return size / 2;
  }

  /// Applies sweeps to the rows of Q, a block of columns at a time.
  KOKKOS_FUNCTION void apply_sweeps(int sweeps) const {
    int const size = H.size;
    Kokkos::parallel_for(Kokkos::TeamVectorRange(member, blocks(size)), [&](int const b) {
      with_block(0, b, [&](int const j, auto const count) {
        for (int t = 0; t < sweeps; ++t) {
          double const* const cosine = H.row(2 * t);
          double const* const sine   = H.row(2 * t + 1);
          auto const first           = static_cast<int>(cosine[size - 1]);
          auto const last            = static_cast<int>(sine[size - 1]);
          double upper[width]        = {};  // row i, which the next rotation turns again
          for (int l = 0; l < count; ++l) upper[l] = Q(first, j + l);
          for (int i = first; i < last; ++i) {
            double* const row = Q.row(i) + j;
            double const c    = cosine[i];
            double const s    = sine[i];
            for (int l = 0; l < count; ++l) {
              double const lower = row[Q.stride + l];
              row[l]             = c * upper[l] + s * lower;
              upper[l]           = c * lower - s * upper[l];
            }
          }
          for (int l = 0; l < count; ++l) Q(last, j + l) = upper[l];
        }
      });
    });
  }

  /// The implicit QR algorithm: T becomes diagonal.
  KOKKOS_FUNCTION void iterate(double* diagonal, double* subdiagonal) const {
    constexpr int max_batches = 60;  // R / 2 sweeps each; an eigenvalue takes two sweeps, so 4 in practice
    int const size            = H.size;
    double squares            = 0;
    Kokkos::parallel_reduce(
        Kokkos::ThreadVectorRange(member, size),
        [&](int const i, double& sum) {
          sum += diagonal[i] * diagonal[i] + 2 * subdiagonal[i] * subdiagonal[i];
        },
        squares);
    member.team_barrier();
    if (!(squares < 0x1p1000)) {
      Kokkos::parallel_for(Kokkos::TeamVectorRange(member, size),
                           [&](int const i) { diagonal[i] = squares - squares; });
      return;
    }
    double const negligible = 0x1p-53 * Kokkos::sqrt(squares / size);
    for (int batch = 0; batch < max_batches; ++batch) {
      int sweeps = 0;
      Kokkos::single(
          Kokkos::PerTeam(member), [&](int& made) { made = make_sweeps(diagonal, subdiagonal, negligible); },
          sweeps);
      member.team_barrier();
      if (sweeps == 0) return;
      apply_sweeps(sweeps);
      member.team_barrier();
    }
  }

  KOKKOS_FUNCTION void operator()() const {
    int const size            = H.size;
    double const scale        = scale_matrix();
    double* const diagonal    = work;
    double* const subdiagonal = work + size;
    tridiagonalize();
    multiply_reflections();
    Kokkos::parallel_for(Kokkos::TeamVectorRange(member, size), [&](int const i) {
      diagonal[i]    = H(i, i);
      subdiagonal[i] = i + 1 < size ? H(i + 1, i) : 0;
    });
    member.team_barrier();
    iterate(diagonal, subdiagonal);
    member.team_barrier();
    Kokkos::parallel_for(Kokkos::TeamVectorRange(member, size), [&](int const i) { diagonal[i] *= scale; });
    member.team_barrier();
  }
};

/// Overwrites Q's rows by the orthonormal eigenvectors of H, and the first R of `work` by the eigenvalues in
/// the same order, which is any. H is lost. `work` has room for 2 R numbers. All threads of the team call it
/// together. If H is not finite, no eigenvalue is.
template <class Member>
KOKKOS_FUNCTION void symmetric_eigen(Member const& member, SquareMatrix H, SquareMatrix Q, double* work) {
  SymmetricEigen<Member>{member, H, Q, work}();
}

}  // namespace polyad::detail
