// SPDX-License-Identifier: BSD-3-Clause
// ActiveSet: the exact minimum of a row's subproblem with bounds, l1 and ridge,
//
//   minimise  1/2 x' (H + D) x - v' x + sum_r t_r |x_r|   subject to  low_r <= x_r <= high_r,
//
// by a primal active set method: that of Lawson & Hanson (Solving Least Squares Problems, 1974, chapter 23)
// with bounds on both sides and the kink of |x_r| at 0, which counts as a bound between two intervals. The
// free entries P move to the minimum over P, or towards it until the first of them meets the end of its
// interval and becomes fixed. At the minimum over P, the fixed entry whose release gains most becomes free.
// The objective never rises. U'U = (H + D)_PP is kept up to date: a new entry adds a column, one that leaves
// is removed by Givens rotations. The start's entries inside their intervals are free at first.
//
// If a new entry depends on those in P, H has no curvature along a line, on which the objective falls at the
// same rate: x follows it to the first end of an interval. If H_rr and the penalties are 0, x_r stays.
//
// All lanes of a thread call each member function together, and take the same branches. All sums have an
// order that depends on R alone.
#pragma once

#include <Kokkos_Core.hpp>
#include <cstddef>

#include "cp/constraints/column_numbers.hpp"
#include "polyad/core/types.hpp"
#include "polyad/kernel/lanes.hpp"

namespace polyad::detail {

/// \tparam Lanes  those of the thread that solves a row
template <class Space, class Scalar, int Lanes>
class ActiveSet {
public:
  /// Doubles of memory per row.
  static constexpr count_t doubles(count_t rank) { return rank * (rank + 1) / 2 + 4 * rank + 2 * rank; }

  /// \param lower, upper  numbers of the precision Scalar, on A
  KOKKOS_FUNCTION ActiveSet(double const* H, ColumnNumbers<Space> const& columns,
                            typename ModeProblem<Space>::Numbers const& weights, double lower, double upper,
                            double* memory, int lane)
      : m_H(H),
        m_columns(columns),
        m_weights(weights),
        m_lower(lower),
        m_upper(upper),
        m_rank(columns.extent_int(1)),
        m_lane(lane) {
    std::ptrdiff_t const rank = m_rank;
    m_x                       = memory;
    m_g                       = m_x + rank;
    m_z                       = m_g + rank;
    m_carry                   = m_z + rank;
    m_U                       = m_carry + rank;
    m_members                 = reinterpret_cast<int*>(m_U + rank * (rank + 1) / 2);
    m_place                   = m_members + rank;
    m_side                    = m_place + rank;
  }

  /// Replaces the row a. Returns the largest norm by which an entry's own update would change the model.
  /// \param v, a  R numbers
  KOKKOS_FUNCTION double solve(Scalar const* v, Scalar* a) {
    load(a);
    subtract_product(v);
    double const most = largest_change();
    for (int r = 0; r < m_rank; ++r)
      if (m_place[r] == fixed && m_x[r] > low(r) && m_x[r] < high(r)) enter(r, 2 * epsilon);
    int last = -1, refinements = 0;
    // Each entry usually moves once or twice. The limit ends steps that are only due to rounding.
    for (int step = 0; step < 10 * m_rank + 20; ++step) {
      if (m_count > 0) {
        auto const [position, length] = move_free();
        subtract_product(v);
        if (position >= 0) {
          int const r = m_members[position];
          leave(position);
          if (r == last && length == 0) set_place(r, left_out);  // only rounding made it free
          continue;
        }
      }
      auto const [r, direction] = best_release(v);
      if (r < 0) {
        if (refinements == 2 || is_least_of_free(v)) break;
        ++refinements;
        continue;
      }
      last = r;
      if (!enter(r)) {
        slide(r, direction);
        subtract_product(v);
      }
    }
    store(a);
    return most;
  }

private:
  /// V has rounding errors of Scalar, which a direction of little curvature would amplify: of the start's
  /// entries only those are free at first whose curvature is above them.
  static constexpr double epsilon = static_cast<double>(Kokkos::Experimental::epsilon_v<Scalar>);
  /// The largest magnitude of an entry without a bound: the minimum may be beyond the range of numbers if
  /// only rounding errors are left of the other modes' columns. Its square is in the range of doubles.
  static constexpr double reach = sizeof(Scalar) < sizeof(double) ? 0x1p120 : 0x1p400;

  enum Place : int { fixed = -1, left_out = -2 };  // else the position in P
  struct Move {
    int position;   // in P, of the entry that met the end of its interval; -1: none
    double length;  // the share of the whole step
  };
  struct Release {
    int entry;  // -1: none gains
    double direction;
  };

  KOKKOS_FORCEINLINE_FUNCTION void sync() const { sync_lanes<Lanes>(); }
  [[nodiscard]] KOKKOS_FORCEINLINE_FUNCTION std::ptrdiff_t row(int r) const {
    return static_cast<std::ptrdiff_t>(r) * m_rank;
  }
  /// The entry of U in row k and column t >= k.
  [[nodiscard]] KOKKOS_FORCEINLINE_FUNCTION double& U(int k, int t) const {
    return m_U[row(k) - static_cast<std::ptrdiff_t>(k) * (k + 1) / 2 + t];
  }
  /// Whether |x_r| has its kink inside the bounds.
  [[nodiscard]] KOKKOS_FORCEINLINE_FUNCTION bool has_kink(int r) const {
    return m_columns(threshold, r) > 0 && m_lower < 0 && m_upper > 0;
  }
  // The interval of x_r, and the slope of t_r |x_r| there.
  [[nodiscard]] KOKKOS_FORCEINLINE_FUNCTION double low(int r) const {
    return has_kink(r) && m_side[r] > 0 ? 0 : m_lower * m_weights(r);
  }
  [[nodiscard]] KOKKOS_FORCEINLINE_FUNCTION double high(int r) const {
    return has_kink(r) && m_side[r] < 0 ? 0 : m_upper * m_weights(r);
  }
  [[nodiscard]] KOKKOS_FORCEINLINE_FUNCTION double slope(int r) const {
    return m_side[r] * m_columns(threshold, r);
  }
  KOKKOS_FUNCTION void set_place(int r, int place) {
    sync();
    if (m_lane == 0) m_place[r] = place;
    sync();
  }

  KOKKOS_FUNCTION void load(Scalar const* a) {
    for (int t = m_lane; t < m_rank; t += Lanes) {
      double const inverse = m_columns(inverse_curvature, t);
      m_x[t]               = clipped(m_weights(t) * a[t], m_lower * m_weights(t), m_upper * m_weights(t));
      m_side[t]            = m_lower >= 0 || (m_upper > 0 && m_x[t] >= 0) ? 1 : -1;
      m_place[t]           = inverse > 0 ? fixed : left_out;
      if (inverse == 0) m_x[t] = clipped(0.0, m_lower * m_weights(t), m_upper * m_weights(t));  // l1 alone
    }
    m_count = 0;
    sync();
  }
  KOKKOS_FUNCTION void store(Scalar* a) const {
    for (int t = m_lane; t < m_rank; t += Lanes) {
      double const near = clipped(m_x[t] / m_weights(t), -reach, reach);
      a[t]              = static_cast<Scalar>(entry_in_range(clipped(near, m_lower, m_upper), m_g[t]));
    }
    sync();  // before the next row overwrites x
  }

  /// m_g = v - (H + D) x.
  KOKKOS_FUNCTION void subtract_product(Scalar const* v) {
    for (int t = m_lane; t < m_rank; t += Lanes) m_g[t] = v[t] - m_columns(added_curvature, t) * m_x[t];
    for (int s = 0; s < m_rank; ++s) {
      double const factor = m_x[s];
      if (factor == 0) continue;
      double const* const h = m_H + row(s);
      for (int t = m_lane; t < m_rank; t += Lanes) m_g[t] -= factor * h[t];
    }
    sync();
  }

  [[nodiscard]] KOKKOS_FUNCTION double largest_change() const {
    double most = 0;
    for (int r = 0; r < m_rank; ++r) {
      double const inverse = m_columns(inverse_curvature, r);
      if (!(inverse > 0)) continue;
      double const whole = m_g[r] + m_x[r] / inverse;
      double const best  = softened(whole, m_columns(threshold, r)) * inverse / m_weights(r);
      double const step  = m_weights(r) * entry_within<Scalar>(best, m_lower, m_upper) - m_x[r];
      most               = Kokkos::max(most, Kokkos::abs(step) * m_columns(column_length, r));
    }
    return most;
  }

  /// m_z = U'^-1 z and m_z = U^-1 z, of the first `count` entries.
  KOKKOS_FUNCTION void solve_transposed(int count) {
    for (int k = 0; k < count; ++k) {
      double const entry = m_z[k] / U(k, k);
      sync();
      if (m_lane == 0) m_z[k] = entry;
      for (int t = k + 1 + m_lane; t < count; t += Lanes) m_z[t] -= U(k, t) * entry;
      sync();
    }
  }
  KOKKOS_FUNCTION void solve_upper(int count) {
    for (int k = count - 1; k >= 0; --k) {
      double const entry = m_z[k] / U(k, k);
      sync();
      if (m_lane == 0) m_z[k] = entry;
      for (int t = m_lane; t < k; t += Lanes) m_z[t] -= U(t, k) * entry;
      sync();
    }
  }

  /// Frees entry r. False if it depends on those that are free; then m_z = U'^-1 H_Pr, and it stays fixed.
  /// \param negligible  a curvature below R times this share of H_rr counts as zero
  KOKKOS_FUNCTION bool enter(int r, double negligible = 0x1p-51) {
    int const p = m_count;
    for (int k = m_lane; k < p; k += Lanes) m_z[k] = m_H[row(r) + m_members[k]];
    sync();
    solve_transposed(p);
    double const square = m_H[row(r) + r] + m_columns(added_curvature, r);
    double rest         = square;
    for (int k = 0; k < p; ++k) rest -= m_z[k] * m_z[k];
    if (!(rest > negligible * (m_rank + 8) * square)) return false;  // its rounding error
    for (int k = m_lane; k < p; k += Lanes) U(k, p) = m_z[k];
    if (m_lane == 0) {
      U(p, p)      = Kokkos::sqrt(rest);
      m_members[p] = r;
      m_place[r]   = p;
    }
    ++m_count;
    sync();
    return true;
  }

  /// Fixes the entry at position q of P. Column q of U goes, and the rows from q on become a triangle again.
  KOKKOS_FUNCTION void leave(int q) {
    int const p = m_count;
    for (int k = m_lane; k < q; k += Lanes)
      for (int t = q + 1; t < p; ++t) U(k, t - 1) = U(k, t);
    for (int t = q + 1 + m_lane; t < p; t += Lanes) m_carry[t] = U(q, t);
    sync();
    for (int k = q; k + 1 < p; ++k) {
      double const one = m_carry[k + 1], other = U(k + 1, k + 1);
      double const length = Kokkos::hypot(one, other);
      double const c = one / length, s = other / length;
      sync();  // all lanes have read the two numbers
      for (int t = k + 1 + m_lane; t < p; t += Lanes) {
        double const upper = m_carry[t], under = U(k + 1, t);
        U(k, t - 1) = c * upper + s * under;
        m_carry[t]  = c * under - s * upper;
      }
      sync();
    }
    if (m_lane == 0) {
      m_place[m_members[q]] = fixed;
      for (int k = q; k + 1 < p; ++k) {
        m_members[k]          = m_members[k + 1];
        m_place[m_members[k]] = k;
      }
    }
    --m_count;
    sync();
  }

  /// Moves the free entries towards their minimum, as far as their intervals allow.
  KOKKOS_FUNCTION Move move_free() {
    for (int k = m_lane; k < m_count; k += Lanes) m_z[k] = m_g[m_members[k]] - slope(m_members[k]);
    sync();
    solve_transposed(m_count);
    solve_upper(m_count);
    Move move{-1, 1};
    for (int k = 0; k < m_count; ++k) shorten(m_members[k], k, m_z[k], move);
    sync();
    for (int k = m_lane; k < m_count; k += Lanes)
      follow(m_members[k], m_z[k], move.length, k == move.position);
    sync();
    return move;
  }
  /// Ends a move where the step of entry r, at position k, meets the end of the interval.
  KOKKOS_FUNCTION void shorten(int r, int k, double step, Move& move) const {
    double const end = step < 0 ? low(r) : high(r);
    if (step < 0 ? m_x[r] + step * move.length >= end : !(step > 0 && m_x[r] + step * move.length > end))
      return;
    double const length = Kokkos::max(0.0, (end - m_x[r]) / step);
    if (length < move.length) move = {k, length};
  }
  KOKKOS_FUNCTION void follow(int r, double step, double length, bool is_last) {
    double const end = step < 0 ? low(r) : high(r);
    m_x[r]           = is_last ? end : clipped(m_x[r] + length * step, low(r), high(r));
  }

  /// The rounding error of g_r, with that of V. \param size  the sum of the components' norms in the row
  [[nodiscard]] KOKKOS_FUNCTION double noise(int r, double v, double size) const {
    double const model = Kokkos::abs(v) + size * m_columns(column_length, r);
    double const terms =
        model + Kokkos::abs(m_x[r]) * m_columns(added_curvature, r) + m_columns(threshold, r);
    return 0x1p-53 * (m_rank + 16) * terms + (sizeof(Scalar) < sizeof(double) ? 2 * epsilon * model : 0.0);
  }
  /// Whether the free entries are at their minimum up to rounding. They are not after a move from far away,
  /// as from a start that a ridge makes much smaller: the move has a rounding error relative to the size of
  /// the start.
  [[nodiscard]] KOKKOS_FUNCTION bool is_least_of_free(Scalar const* v) const {
    double size = 0;
    for (int s = 0; s < m_rank; ++s) size += Kokkos::abs(m_x[s]) * m_columns(column_length, s);
    for (int k = 0; k < m_count; ++k) {
      int const r = m_members[k];
      if (Kokkos::abs(m_g[r] - slope(r)) > 8 * noise(r, static_cast<double>(v[r]), size)) return false;
    }
    return true;
  }
  /// How much the objective falls at first for each unit by which x_r rises; negative: by which it falls; 0:
  /// it falls in neither direction, or only by rounding.
  [[nodiscard]] KOKKOS_FUNCTION double release_slope(int r, double noise) const {
    double const t  = m_columns(threshold, r);
    double const up = m_g[r] - (m_x[r] >= 0 ? t : -t), down = -m_g[r] - (m_x[r] <= 0 ? t : -t);
    if (up > noise && m_x[r] < m_upper * m_weights(r)) return up;
    return down > noise && m_x[r] > m_lower * m_weights(r) ? -down : 0;
  }
  /// The fixed entry whose release gains most, for its curvature, and the direction in which it does. Sets
  /// its side.
  KOKKOS_FUNCTION Release best_release(Scalar const* v) {
    double size = 0;
    for (int s = 0; s < m_rank; ++s) size += Kokkos::abs(m_x[s]) * m_columns(column_length, s);
    Release best{-1, 0};
    double most = 0;
    for (int r = 0; r < m_rank; ++r) {
      if (m_place[r] != fixed) continue;
      double const slope = release_slope(r, noise(r, v[r], size));
      double const gain  = slope * slope * m_columns(inverse_curvature, r);
      if (gain > most) {
        most = gain;
        best = {r, slope > 0 ? 1.0 : -1.0};
      }
    }
    if (best.entry < 0) return best;
    double const from = m_x[best.entry];
    sync();
    if (m_lane == 0 && m_lower < 0 && m_upper > 0)
      m_side[best.entry] = from > 0 || (from == 0 && best.direction > 0) ? 1 : -1;
    sync();
    return best;
  }

  /// x follows the line on which entry r moves in this direction, and the free ones keep H x. Where it ends,
  /// r becomes free in place of the entry that ends it. \pre enter(r) has returned false
  KOKKOS_FUNCTION void slide(int r, double direction) {
    solve_upper(m_count);  // m_z = H_PP^-1 H_Pr
    double const farthest = Kokkos::Experimental::finite_max_v<double>;
    Move move{-1, farthest};
    int const itself = m_count;
    for (int k = 0; k < m_count; ++k) shorten(m_members[k], k, -direction * m_z[k], move);
    shorten(r, itself, direction, move);
    if (move.position < 0) return set_place(r, left_out);  // the objective is flat there, but for rounding
    sync();
    for (int k = m_lane; k < m_count; k += Lanes)
      follow(m_members[k], -direction * m_z[k], move.length, k == move.position);
    if (m_lane == 0) follow(r, direction, move.length, move.position == itself);
    sync();
    if (move.position == itself) return;
    leave(move.position);
    if (!enter(r)) set_place(r, left_out);
  }

  double const* m_H;
  ColumnNumbers<Space> const& m_columns;
  typename ModeProblem<Space>::Numbers const& m_weights;
  double m_lower, m_upper;
  int m_rank, m_lane;
  int m_count = 0;                    // entries of P
  double *m_x, *m_g, *m_z, *m_carry;  // R each: the row diag(w) a, v - (H + D) x, scratch, scratch of leave()
  double* m_U;                        // upper triangle, row by row
  int *m_members, *m_place, *m_side;  // P; Place of each entry; 1: at or above the kink, -1: below
};

}  // namespace polyad::detail
